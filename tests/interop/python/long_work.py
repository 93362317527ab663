"""Calls tools that take longer than clients wait, in every revision and over every transport at once, and does what a model is told to do.

Usage: long_work.py DIRECTORY_OF_THE_PROGRAMS. The environment of `long_work` says how long they take. Prints one line per call, with what it ended with, and `N passed, N failed` at the end.
"""

import os
import re
import sys
import time
import traceback
import warnings
from pathlib import Path

import anyio
import mcp.client.session as session_module
from mcp import Client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from reach import reached
from report import end, say, skip

warnings.simplefilter("ignore")

PROGRAMS = Path(sys.argv[1])
ENVIRONMENT = {name: value for name, value in os.environ.items() if name.startswith("LONG_WORK_")}
# The client takes the revision of its handshake from a variable of the module.
one_at_a_time = anyio.Lock()


async def call(client, tool, arguments, heard):
    """Calls a tool; the progress that it reports has to grow, and is added to what the client has heard."""
    reports = []

    async def progress(amount, total, message):
        reports.append(amount)

    result = await client.call_tool(tool, arguments, progress_callback=progress)
    assert reports == sorted(set(reports)), reports
    heard.extend(reports)
    return result


async def finish(client, tool):
    """Calls a tool and, as long as it says so, asks for the state of its job. Returns the result and the way there."""
    heard = []
    began = time.monotonic()
    result = await call(client, tool, {}, heard)
    way = f"{time.monotonic() - began:.0f} s"
    job = re.search(r"continues in the background as job `([^`]+)`", result.content[0].text)
    asked = 0
    while job and asked < 20:
        result = await call(client, "job_status", {"job_id": job[1]}, heard)
        asked += 1
        if "is still running" not in result.content[0].text:
            break
    way += f", then job_status {asked} times" if job else ", one call"
    return result, f"{way}, {time.monotonic() - began:.0f} s in all, {len(heard)} reports of progress"


async def check(who, client, tool):
    try:
        with anyio.fail_after(420):
            result, way = await finish(client, tool)
        assert not result.is_error, result
        text = result.content[0].text
        assert "seconds" in text if tool == "long_measurement" else text.startswith("done"), result
        say(who, f"{tool}: the result ({way})")
    except Exception as error:
        say(who, tool, "".join(traceback.format_exception(error)[-20:]))


async def visit(transport, revision, mode):
    who = f"{transport} {revision}" + {"auto": " auto", revision: " pinned"}.get(mode, "")
    try:
        async with reached(PROGRAMS / "long_work", transport, None, ENVIRONMENT) as server:
            client = Client(server, mode=mode)
            async with one_at_a_time:
                if revision in HANDSHAKE_PROTOCOL_VERSIONS:
                    session_module.LATEST_HANDSHAKE_VERSION = revision
                await client.__aenter__()
            try:
                await client.list_tools()
                async with anyio.create_task_group() as calls:
                    for tool in ("long_work", "long_measurement", "long_call"):
                        calls.start_soon(check, who, client, tool)
            finally:
                await client.__aexit__(None, None, None)
    except Exception as error:
        say(who, "connects", "".join(traceback.format_exception(error)[-20:]))


async def main():
    async with anyio.create_task_group() as visits:
        for transport in ("stdio", "http", "sse"):
            ways = [(revision, "legacy") for revision in HANDSHAKE_PROTOCOL_VERSIONS]
            if transport == "sse":
                skip("sse 2026-07-28", "the revision has no binding to this transport")
            else:
                ways += [(revision, mode) for revision in MODERN_PROTOCOL_VERSIONS for mode in (revision, "auto")]
            for revision, mode in ways:
                visits.start_soon(visit, transport, revision, mode)


anyio.run(main)
end()
