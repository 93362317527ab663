"""Drives the example `proxy` in front of `shelf`, over standard input and output and over HTTP: proxy.py PROGRAM SHELF."""

import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from driving import command, over_stdio, refusal, run, running, text, until

PROGRAM, SHELF = sys.argv[1:]
# A program that writes down its process id, and does not start while there is a file.
START = '[ ! -e "$OFF" ] || exit 1; echo $$ >"$PID"; exec "$0"'


def configuration(directory, servers):
    file = Path(directory, "proxy.json")
    file.write_text(json.dumps({"servers": servers}))
    return {"PROXY_CONFIG": str(file)}


@asynccontextmanager
async def gateway(mode):
    """Gives a client of the gateway, and the files of the program behind it."""
    with TemporaryDirectory() as directory:
        pid, off = Path(directory, "pid"), Path(directory, "off")
        async with running(SHELF, "--http", "127.0.0.1:0", SHELF_FILE=f"{directory}/web.json") as (_, url):
            local = {"command": ["sh", "-c", START, SHELF], "env": {"PID": str(pid), "OFF": str(off), "SHELF_FILE": f"{directory}/local.json"}}
            servers = {"local": local, "web": {"url": url}, "gone": {"command": ["/no/such/program"]}}
            async with over_stdio(PROGRAM, mode, environment=configuration(directory, servers)) as client:
                yield client, pid, off


async def definitions_of_all_servers_are_forwarded(mode):
    async with gateway(mode) as (client, *_):
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"local_add_book", "web_add_book"} < names and not any(name.startswith("gone") for name in names), names
        for server, title in (("local", "Emma"), ("web", "Persuasion")):
            await client.call_tool(f"{server}_add_book", {"title": title, "author": "Jane Austen", "pages": 300})
            found = await client.call_tool(f"{server}_find_books", {})
            assert title in json.dumps(found.structured_content), found
        assert "300" in await refusal(client, "local_read_to", id=1, page=301)
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert {"local_discuss", "web_discuss"} < prompts, prompts
        prompt = await client.get_prompt("web_discuss", {"id": "1"})
        assert "Persuasion" in prompt.messages[0].content.text, prompt
        assert (await client.read_resource("shelf://statistics")).contents[0].text


async def a_program_that_is_killed_is_an_error_until_it_is_back(mode):
    async with gateway(mode) as (client, pid, off):
        await text(client, "local_find_books")
        off.touch()
        os.kill(int(pid.read_text()), signal.SIGKILL)
        message = await refusal(client, "local_find_books")
        assert "the server `local` is not connected" in message, message
        await text(client, "web_find_books")
        off.unlink()

        async def is_back():
            return not (await client.call_tool("local_find_books", {})).is_error

        await until(is_back)


async def mistakes_in_the_file_are_reported():
    with TemporaryDirectory() as directory:
        code, output = await command(PROGRAM, **configuration(directory, {"a_b": {"url": "http://x"}, "c": {}}))
        assert code == 1 and "server `a_b`: a prefix has" in output and "server `c`: it needs either" in output, output
        code, output = await command(PROGRAM, PROXY_CONFIG=f"{directory}/none.json")
        assert code == 1 and "none.json" in output, output
        code, output = await command(PROGRAM, "tools", **configuration(directory, {"books": {"command": [SHELF]}}))
        assert code == 0 and "books_add_book" in output, output


run(
    definitions_of_all_servers_are_forwarded,
    a_program_that_is_killed_is_an_error_until_it_is_back,
    mistakes_in_the_file_are_reported,
)
