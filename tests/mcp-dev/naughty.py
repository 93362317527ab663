"""A server of the legacy era that misbehaves in the way that its tool is called."""

import json
import os
import sys
import time


def write(message):
    sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
    sys.stdout.flush()


TOOLS = ["flood", "hang", "nonsense", "die", "huge_line", "odd_result", "ask_much", "ask_in_flood", "ask_huge", "large", "large_error", "rules", "echo"]
schema = {"type": "object", "properties": {"text": {"type": "string"}}}

for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    answer = lambda result: write({"jsonrpc": "2.0", "id": id, "result": result})
    if method == "server/discover":
        write({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})
    elif method == "initialize":
        answer({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "naughty<b>", "version": "1"}})
    elif method == "tools/list":
        answer({"tools": [{"name": name, "inputSchema": schema} for name in TOOLS]})
    elif method == "tools/call":
        name = message["params"]["name"]
        text = {"content": [{"type": "text", "text": f"{name} is done"}]}
        if name == "flood":
            note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 200}}) + "\n"
            for _ in range(200):
                sys.stdout.write(note * 500)
            answer(text)
        elif name == "nonsense":
            write("Listening on port 3000")
            write("{\"jsonrpc\": \"2.0\"}")
            write({"jsonrpc": "2.0", "id": 4711, "result": {}})
            sys.stdout.buffer.write(b"\xff\xfe\n")
            answer(text)
        elif name == "die":
            print("something broke", file=sys.stderr, flush=True)
            os._exit(7)
        elif name == "huge_line":
            sys.stdout.write("x" * (40 << 20) + "\n")
            answer(text)
        elif name == "odd_result":
            answer({"content": "not a list"})
        elif name == "ask_much":
            for number in range(150):
                write({"jsonrpc": "2.0", "id": f"q{number}", "method": "roots/list"})
            answer(text)
        elif name == "ask_in_flood":
            note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}) + "\n"
            sys.stdout.write(note * 2_000)
            write({"jsonrpc": "2.0", "id": "drowned", "method": "elicitation/create", "params": {"message": "Can you hear me?", "requestedSchema": {"type": "object", "properties": {}}}})
            reply = json.loads(sys.stdin.readline())
            answer({"content": [{"type": "text", "text": f"{reply['id']}: {reply['result']['action']}"}]})
        elif name == "ask_huge":
            write({"jsonrpc": "2.0", "id": "huge", "method": "roots/list", "params": {"x": "y" * (2 << 20)}})
            reply = json.loads(sys.stdin.readline())
            answer({"content": [{"type": "text", "text": reply["error"]["message"]}]})
        elif name == "large":
            answer({"content": [{"type": "text", "text": "0123456789abcdef" * (8 << 16)}]})
        elif name == "large_error":
            write({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": "0123456789abcdef" * (8 << 16)}})
        elif name == "rules":
            lines = ["# " + " " * 20_000 + "x", "a|b", "-" * 20_000 + "x", "#" * 20_000 + "x", "`" + "*a" * 9_000]
            answer({"content": [{"type": "text", "text": "\n".join(lines)}]})
        elif name == "echo":
            answer({"content": [{"type": "text", "text": json.dumps(message["params"])}]})
        elif name == "hang":
            time.sleep(1)
