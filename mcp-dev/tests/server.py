"""A server for tests of the commands: server.py ERA KIND [NUMBER OF TOOLS]

ERA is `legacy` or `modern`. The server does not know any other option, and ignores `--describe`.
"""

import json
import os
import sys
import time

arguments = [argument for argument in sys.argv[1:] if argument != "--describe"]
era, kind = arguments[:2]
count = int(arguments[2]) if len(arguments) > 2 else 1
PAGE = 100
ESCAPES = "\x1b]0;title\x07\x1b[2J\x9b\u202e"


def write(message):
    sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
    sys.stdout.flush()


def tool(number):
    tool = {
        "name": f"tool_{number}",
        "description": f"Does the thing with the number {number}.",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "description": "An argument"}}, "required": ["a"], "additionalProperties": False},
    }
    if kind == "escapes":
        tool["name"] += ESCAPES
        tool["inputSchema"]["properties"]["b" + ESCAPES] = {"type": ["string", ESCAPES]}
    if kind == "older":
        tool["inputSchema"]["properties"]["a"]["maxLength"] = 3
    return tool


def asked(id, question, state):
    """Asks a question in the way of the era. Returns the answer, or None if the client has to repeat its request."""
    if era == "modern":
        write({"jsonrpc": "2.0", "id": id, "result": {"resultType": "input_required", "inputRequests": {"q": question}, "requestState": state}})
        return None
    write({"jsonrpc": "2.0", "id": "question", **question})
    reply = json.loads(sys.stdin.readline())
    return reply.get("result") or {"refused": reply["error"]["message"]}


def answer(id, method, params):
    result = lambda result: write({"jsonrpc": "2.0", "id": id, "result": result})
    capabilities = {"tools": {}, "resources": {}}
    if method == "server/discover" and era == "modern":
        result({"supportedVersions": ["2026-07-28"], "capabilities": capabilities, "instructions": "Be kind."})
    elif method == "initialize" and era == "legacy":
        result({"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": {"name": "s", "version": "1"}})
    elif method == "tools/list":
        start = int(params.get("cursor", 0))
        page = {"tools": [tool(number) for number in range(start, min(start + PAGE, count))]}
        if kind == "endless" or start + PAGE < count:
            page["nextCursor"] = str(start if kind == "endless" else start + PAGE)
        result(page)
    elif method == "resources/list" and kind == "asks":
        question = {"method": "elicitation/create", "params": {"message": "Whose?", "requestedSchema": {"type": "object", "properties": {}}}}
        given = params.get("inputResponses", {}).get("q") or asked(id, question, "s")
        if given is not None:
            result({"resources": [{"uri": "a:b", "name": given["action"], "description": "x"}]})
    elif method == "resources/list":
        result({"resources": []})
    else:
        write({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})


if kind == "hangs":
    print("I am thinking", file=sys.stderr, flush=True)
    time.sleep(600)
if kind == "garbage":
    print("Listening on port 3000\x1b[2J")
    sys.exit(3)
for line in sys.stdin:
    message = json.loads(line)
    if kind == "noisy":
        write("Listening on port 3000")
        write("{}")
    if "id" in message and "method" in message:
        answer(message["id"], message["method"], message.get("params") or {})
