"""Programs and clients for the checks of examples, and the outcome of each check."""

import asyncio
import os
import sys
import traceback
import urllib.error
import urllib.request
from contextlib import asynccontextmanager

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

PATIENCE = 20
# A mode of the official client for each era.
ERAS = ("legacy", "2026-07-28")


@asynccontextmanager
async def running(program, *arguments, **environment):
    """Runs a program that serves HTTP; gives its process, and the URL in the first line of its standard error."""
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | environment,
    )
    try:
        url = (await asyncio.wait_for(process.stderr.readline(), PATIENCE)).decode().strip()
        assert url.startswith("http://"), url
        logging = asyncio.create_task(process.stderr.read())
        yield process, url
        logging.cancel()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def over_http(url, mode, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            yield client


def over_stdio(program, mode, arguments=(), environment=None, **options):
    server = StdioServerParameters(command=str(program), args=list(arguments), env=os.environ | (environment or {}))
    return Client(server, mode=mode, **options)


async def text(client, tool, **arguments):
    """Calls a tool that succeeds; gives its text."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return result.content[0].text


async def refusal(client, tool, **arguments):
    """Calls a tool that fails; gives what the model reads."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    return result.content[0].text


async def status(url):
    """Gets a page; gives its status, or 0 if there is no connection."""

    def get():
        try:
            return urllib.request.urlopen(url, timeout=PATIENCE).status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    return await asyncio.to_thread(get)


async def until(condition):
    """Waits until the condition, an async function, holds."""
    async with asyncio.timeout(PATIENCE):
        while not await condition():
            await asyncio.sleep(0.05)


async def command(program, *arguments, **environment):
    """Runs a program to its end; gives its exit code and output."""
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=os.environ | environment,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, output.decode()


def run(*checks):
    """Runs the checks one after the other, those with an argument once in each era."""
    passed = failed = 0
    for check in checks:
        for mode in ERAS if check.__code__.co_argcount else (None,):
            name = " ".join(filter(None, (check.__name__, mode)))
            try:
                asyncio.run(asyncio.wait_for(check(*filter(None, (mode,))), 2 * PATIENCE))
                passed += 1
                print(f"{name} ... ok", flush=True)
            except Exception:
                failed += 1
                said = "".join(traceback.format_exc().splitlines(keepends=True)[-25:])
                print(f"{name} ... FAILED: {said}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)
