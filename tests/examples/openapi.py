"""Drives the example `openapi` against a stand-in for an API: openapi.py PROGRAM."""

import json
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from driving import command, over_stdio, refusal, run, text

PROGRAM = sys.argv[1]
TOKEN = "t0ken-of-the-api"
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "/v1"}],
    "paths": {
        "/pets/{id}": {
            "parameters": [{"$ref": "#/components/parameters/Id"}],
            "get": {"operationId": "getPet", "summary": "Reads a pet", "tags": ["pets"]},
            "delete": {"operationId": "deletePet", "tags": ["pets"]},
        },
        "/shops": {"get": {"operationId": "listShops", "tags": ["shops"]}},
    },
    "components": {
        "parameters": {"Id": {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "maxLength": 40}}}
    },
}


class Api(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/openapi.json":
            return self.answer(200, DOCUMENT)
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.answer(401, {"message": "no token"})
        if self.path == "/v1/pets/none":
            return self.answer(404, {"message": "no such pet"})
        self.answer(200, {"path": self.path})

    def answer(self, status, body):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def api():
    with ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"OPENAPI_DOCUMENT": f"http://127.0.0.1:{server.server_port}/openapi.json", "OPENAPI_TOKEN": TOKEN}
        server.shutdown()


async def selected_operations_are_tools(mode):
    with api() as environment:
        selection = {"OPENAPI_TAGS": "pets", "OPENAPI_WITHOUT": "deletePet"}
        async with over_stdio(PROGRAM, mode, environment=environment | selection) as client:
            (tool,) = (await client.list_tools()).tools
            assert (tool.name, tool.title, tool.annotations.read_only_hint) == ("getPet", "Reads a pet", True), tool
            result = await client.call_tool("getPet", {"id": "a/../b"})
            assert result.structured_content == {"path": "/v1/pets/a%2F..%2Fb"}, result
            assert "/v1/pets/7" in await text(client, "getPet", id="7")
            assert "404" in await refusal(client, "getPet", id="none")
            assert "40" in await refusal(client, "getPet", id="x" * 41)


async def mistakes_are_reported_at_the_start_and_the_token_is_not():
    with api() as environment:
        for settings, expected in [
            ({"OPENAPI_OPERATIONS": "getPets"}, "did you mean `getPet`?"),
            ({"OPENAPI_DOCUMENT": "missing.json"}, "missing.json"),
            ({"OPENAPI_DOCUMENT": ""}, "`OPENAPI_DOCUMENT` is not set"),
        ]:
            code, output = await command(PROGRAM, **(environment | settings))
            assert code == 1 and expected in output and TOKEN not in output, output
        code, output = await command(PROGRAM, "--help")
        assert code == 0 and "OPENAPI_TAGS" in output, output
        code, output = await command(PROGRAM, "tools", **environment)
        assert code == 0 and TOKEN not in output, output


run(selected_operations_are_tools, mistakes_are_reported_at_the_start_and_the_token_is_not)
