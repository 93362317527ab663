"""Compares the example `shelf` with the FastMCP server that it is the port of: shelf.py PROGRAM SERVER_PY.

Both list the same tools, prompts and resources, give the same answers, and keep the same file.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from driving import over_stdio, run

PROGRAM, SERVER = sys.argv[1:]

# Each call, one after the other. Wrong arguments are refused by both, in words of their own.
CALLS = [
    ("find_books", {}),
    ("add_book", {"title": "Emma", "author": "Jane Austen", "pages": 474, "tags": ["classic", "comedy", "classic"]}),
    ("add_book", {"title": "emma", "author": "jane austen", "pages": 1}),
    ("import_books", {"text": 'Middlemarch, George Eliot, 880\nEmma,Jane Austen,474\n"Persuasion", Jane Austen, 249\nnonsense\nA,B,0\n'}),
    ("find_books", {"words": "AUSTEN", "sort": "title", "limit": 1}),
    ("find_books", {"sort": "author"}),
    ("find_books", {"tag": "comedy", "status": "unread"}),
    ("read_to", {"id": 1, "page": 475}),
    ("read_to", {"id": 9, "page": 1}),
    ("rate_book", {"id": 1, "rating": 5}),
    ("read_to", {"id": 1, "page": 474}),
    ("rate_book", {"id": 1, "rating": 5, "review": "What a plot."}),
    ("read_to", {"id": 2, "page": 80}),
    ("find_books", {"sort": "rating"}),
    ("statistics", {}),
    ("remove_book", {"id": 3}),
    ("remove_book", {"id": 3}),
    ("find_books", {"status": "reading"}),
]
WRONG = [
    ("add_book", {"title": "", "author": "x", "pages": 1}),
    ("add_book", {"title": "x", "author": "x", "pages": 0}),
    ("find_books", {"sort": "colour"}),
    ("find_books", {"unknown": 1}),
    ("rate_book", {"id": 1}),
]
PROMPTS = [("recommend", {"mood": "short"}), ("recommend", {"mood": "long", "tag": "none"}), ("discuss", {"id": "2"})]
URIS = ["shelf://statistics", "shelf://books/1", "shelf://books/2", "shelf://books/7"]


def arguments(tool):
    """What a schema says, in whichever way: the type, whether it may be left out, its bounds and its description."""

    def simplified(schema):
        options = [option for option in schema.get("anyOf", [schema]) if option != {"type": "null"}]
        merged = options[0] | {name: schema[name] for name in ("default", "description") if schema.get(name) is not None}
        kept = ("type", "enum", "minimum", "maximum", "minLength", "maxLength", "default", "description")
        kept = {name: merged[name] for name in kept if name in merged}
        # An integer of Rust has bounds of its own; what an enum is comes with it.
        if kept.get("maximum", 0) >= 2**32 - 1:
            del kept["maximum"]
        kept["description"] = kept.get("description", "").split("\n")[0]
        return kept

    schema = tool.input_schema
    properties = {name: simplified(property) for name, property in schema.get("properties", {}).items()}
    return properties, sorted(schema.get("required", [])), schema["additionalProperties"]


async def outcome(request):
    try:
        return await request
    except Exception as error:
        return str(error)


async def transcript(client):
    """Everything that the two have to agree on."""
    seen = {}
    for tool in (await client.list_tools()).tools:
        seen["tool", tool.name] = (tool.description, arguments(tool))
    for prompt in (await client.list_prompts()).prompts:
        named = [(argument.name, argument.required or False) for argument in prompt.arguments]
        seen["prompt", prompt.name] = (prompt.description, named)
    for resource in (await client.list_resources()).resources:
        seen["resource", resource.uri] = (resource.description, resource.mime_type)
    for template in (await client.list_resource_templates()).resource_templates:
        seen["template", template.uri_template] = (template.description, template.mime_type)
    for number, (tool, call) in enumerate(CALLS):
        result = await client.call_tool(tool, call)
        structured = result.structured_content
        # From 2026-07-28 on a list needs no wrapping; FastMCP wraps it all the same.
        if isinstance(structured, dict) and list(structured) == ["result"]:
            structured = structured["result"]
        # Two differences remain: FastMCP has no text for an empty list, and structures strings.
        said = [block.text for block in result.content] or ["[]"]
        structured = None if [structured] == said else structured
        seen["call", number, tool] = (result.is_error, said, structured)
    for number, (tool, call) in enumerate(WRONG):
        seen["wrong", number, tool] = (await client.call_tool(tool, call)).is_error
    for number, (name, values) in enumerate(PROMPTS):
        result = await outcome(client.get_prompt(name, values))
        seen["asked", number, name] = result if isinstance(result, str) else result.messages[0].content.text
    for uri in URIS:
        result = await outcome(client.read_resource(uri))
        seen["read", uri] = result if isinstance(result, str) else result.contents[0].text
    return seen


async def the_port_is_the_same_server(mode):
    seen, kept = [], []
    for command, arguments in ((sys.executable, ["-W", "ignore", SERVER]), (PROGRAM, [])):
        with TemporaryDirectory() as directory:
            file = Path(directory, "shelf.json")
            quiet = {"FASTMCP_SHOW_SERVER_BANNER": "false", "FASTMCP_LOG_LEVEL": "CRITICAL"}
            async with over_stdio(command, mode, arguments, quiet | {"SHELF_FILE": str(file)}) as client:
                seen.append(await transcript(client))
            kept.append(json.loads(file.read_text()))
    python, rust = seen
    assert python.keys() == rust.keys(), python.keys() ^ rust.keys()
    differences = [f"{key}:\n  {python[key]}\n  {rust[key]}" for key in python if python[key] != rust[key]]
    assert not differences, "\n".join(differences)
    assert kept[0] == kept[1], kept


run(the_port_is_the_same_server)
