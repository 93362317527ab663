"""Checks of the example `notes`."""

import mcp_types as types
from mcp.shared.exceptions import MCPError
from session import walk


async def works_on_notes(session):
    for number in range(60):  # more than a page
        await session.text("add", topic="even" if number % 2 == 0 else "odd", text=f"number {number}")
    result = await session.client.call_tool("search", {"words": "NUMBER 5", "limit": 3})
    if session.revision >= "2025-06-18":
        assert [note["id"] for note in result.structured_content["notes"]] == [60, 59, 58], result
    assert "number 59" in result.content[0].text, result
    await session.text("edit", id=1, topic="edited")
    await session.text("delete", id=2)
    result = await session.client.call_tool("delete", {"id": 2})
    assert result.is_error and "there is no note 2" in result.content[0].text, result
    result = await session.client.call_tool("add", {"topic": "x"})
    assert result.is_error and "text" in result.content[0].text, result


async def lists_notes_in_pages(session):
    resources, pages = await walk(session.client.list_resources, "resources")
    uris = [resource.uri for resource in resources]
    assert pages > 1 and len(uris) == len(set(uris)) == 59 and uris[0] == "notes:///1", (pages, uris)
    templates, _ = await walk(session.client.list_resource_templates, "resource_templates")
    assert [template.uri_template for template in templates] == ["notes:///{id}"], templates


async def reads_notes(session):
    result = await session.client.read_resource("notes:///3")
    assert (result.contents[0].text, result.contents[0].mime_type) == ("number 2", "text/plain"), result
    for uri in ("notes:///2", "notes:///two"):
        try:
            await session.client.read_resource(uri)
        except MCPError:
            pass
        else:
            raise AssertionError("served")


async def completes_notes(session):
    note = types.ResourceTemplateReference(type="ref/resource", uri="notes:///{id}")
    result = await session.client.complete(note, {"name": "id", "value": "6"})
    assert set(result.completion.values[:2]) == {"6", "60"}, result
    discuss = types.PromptReference(type="ref/prompt", name="discuss")
    result = await session.client.complete(discuss, {"name": "topic", "value": "ed"})
    assert result.completion.values[0] == "edited", result
    result = await session.client.get_prompt("discuss", {"topic": "edited"})
    embedded, question = (message.content for message in result.messages)
    assert embedded.resource.text == "number 0" and "edited" in question.text, result


async def follows_a_note(session):
    async with session.follows("notes:///4") as heard:
        await session.text("edit", id=4, text="followed")
        await heard()
    assert (await session.client.read_resource("notes:///4")).contents[0].text == "followed"
    async with session.follows_resources() as heard:
        await session.text("add", topic="new", text="new")
        await heard()


CHECKS = [works_on_notes, lists_notes_in_pages, reads_notes, completes_notes, follows_a_note]
