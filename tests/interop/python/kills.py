"""Drives a server, whose instances are killed meanwhile, with the official Python client, once per era.

Usage: kills.py URL SECONDS. Prints a line of JSON for each thing that happened to the client; `benches/kills` judges them.
"""

import json
import sys
import time
import warnings

import anyio
import mcp.client.streamable_http as http_module
import mcp_types as types
from mcp import Client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

warnings.simplefilter("ignore")

# The client gives up a stream that was cut twice, even if it had come back in between.
http_module.MAX_RECONNECTION_ATTEMPTS = 1000

URL, END = sys.argv[1], time.monotonic() + float(sys.argv[2])
NOTE = "note://1"
# Maximum time for a call to end: a client that resumes a call is told after 15 s that the call's instance has died.
PATIENCE = 40


def is_over():
    return time.monotonic() > END


def say(who, what, **fields):
    print(json.dumps({"who": who, "what": what, **fields}), flush=True)


async def attempt(who, kind, call):
    """Makes a call and says how it ended."""
    began = time.monotonic()
    try:
        result = await call()
        what = "told" if result.is_error else "answered"
        fields = {"error": str(result)[:300]} if result.is_error else {}
    except Exception as error:
        what, fields = "cut", {"error": repr(error)[:300]}
    say(who, what, kind=kind, began=began, ended=time.monotonic(), **fields)


async def calls(who, client):
    while not is_over():
        await attempt(who, "calls", lambda: client.call_tool("echo", {"text": "hello"}))
        await anyio.sleep(0.05)


async def questions(who, client):
    while not is_over():
        await attempt(who, "questions", lambda: client.call_tool("ask", {}))
        await anyio.sleep(0.1)


async def listen(who, client):
    """Follows a resource with a stream that is opened again when it was cut."""
    while True:
        try:
            async with client.listen(resource_subscriptions=[NOTE]) as events:
                # What happened before has to be read.
                say(who, "heard", at=time.monotonic())
                async for _ in events:
                    say(who, "heard", at=time.monotonic())
        except Exception:
            await anyio.sleep(0.1)


async def answer(context, params):
    # A person who takes some time, in which the instance may die.
    await anyio.sleep(0.3)
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def drive(revision, mode):
    who = f"Python {revision}"

    async def hear(message):
        if isinstance(message, types.ResourceUpdatedNotification):
            say(who, "heard", at=time.monotonic())

    async with Client(URL, mode=mode, message_handler=hear, elicitation_callback=answer,
                      read_timeout_seconds=PATIENCE) as client:
        assert client.protocol_version == revision, client.protocol_version
        async with anyio.create_task_group() as listening:
            if revision in MODERN_PROTOCOL_VERSIONS:
                listening.start_soon(listen, who, client)
            else:
                await client.subscribe_resource(NOTE)
                say(who, "heard", at=time.monotonic())
            async with anyio.create_task_group() as working:
                working.start_soon(calls, who, client)
                working.start_soon(questions, who, client)
            # The last changes are heard.
            await anyio.sleep(5)
            listening.cancel_scope.cancel()


async def main():
    async with anyio.create_task_group() as eras:
        eras.start_soon(drive, HANDSHAKE_PROTOCOL_VERSIONS[-1], "legacy")
        eras.start_soon(drive, MODERN_PROTOCOL_VERSIONS[-1], MODERN_PROTOCOL_VERSIONS[-1])


anyio.run(main)
