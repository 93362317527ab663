"""Drives the example `github` against a stand-in for the API: github.py PROGRAM."""

import json
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from driving import command, over_stdio, refusal, run, text

PROGRAM = sys.argv[1]
TOKEN = "t0ken-of-a-user"


class Api(BaseHTTPRequestHandler):
    """One repository with 150 issues. Each page is refused once."""

    def do_GET(self):
        path, _, query = self.path.partition("?")
        page = 2 if "page=2" in query.split("&") else 1
        if path != "/repos/acme/printer/issues":
            return self.answer(404, {})
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.answer(401, {})
        if page not in self.server.busy:
            self.server.busy.add(page)
            return self.answer(503, {})
        first = (page - 1) * 100 + 1
        issues = [
            {"number": n, "title": "Broken", "state": "open", "comments": 0, "updated_at": "2026-07-28T12:00:00Z"}
            for n in range(first, min(first + 100, 151))
        ]
        link = f'<http://{self.headers["Host"]}{path}?page=2>; rel="next", <http://x/>; rel="last"'
        self.answer(200, issues, Link=link if page == 1 else "")

    def answer(self, status, body, **headers):
        body = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def api():
    with ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        server.busy = set()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"GITHUB_API_URL": f"http://127.0.0.1:{server.server_port}/", "GITHUB_TOKEN": TOKEN}
        server.shutdown()


async def pages_are_read_with_the_token(mode):
    with api() as environment:
        async with over_stdio(PROGRAM, mode, environment=environment) as client:
            table = await text(client, "list_issues", repository="acme/printer", limit=500)
            assert "|150|Broken|" in table and "|151|" not in table, table
            assert "no such repository" in await refusal(client, "list_issues", repository="acme/none")
        async with over_stdio(PROGRAM, mode, environment=environment | {"GITHUB_TOKEN": ""}) as client:
            assert "`GITHUB_TOKEN` is missing" in await refusal(client, "list_issues", repository="acme/printer")


async def mistakes_in_settings_are_reported_and_the_token_is_not():
    code, output = await command(PROGRAM, GITHUB_TOKEN=TOKEN, GITHUB_API_URL="api")
    assert code == 1 and "GITHUB_API_URL" in output and TOKEN not in output, output
    code, output = await command(PROGRAM, "--help", GITHUB_TOKEN=TOKEN)
    assert code == 0 and "GITHUB_TOKEN" in output and TOKEN not in output, output
    code, output = await command(PROGRAM, "tools")
    assert code == 0, output


run(pages_are_read_with_the_token, mistakes_in_settings_are_reported_and_the_token_is_not)
