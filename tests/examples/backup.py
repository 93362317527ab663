"""Drives the example `backup`: backup.py PROGRAM. A job that would take minutes is asked for, watched and cancelled."""

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from driving import PATIENCE, over_stdio, run, running, until

import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

PROGRAM = sys.argv[1]


@asynccontextmanager
async def folders():
    """Gives a directory with a large file of zeros, and the settings for it."""
    with TemporaryDirectory() as directory:
        directory = Path(directory)
        (directory / "from/disk").mkdir(parents=True)
        (directory / "to").mkdir()
        with open(directory / "from/disk/image", "wb") as image:
            image.truncate(64 << 30)
        yield directory, {"BACKUP_FROM": str(directory / "from"), "BACKUP_TO": str(directory / "to")}


async def cancelled_in_the_middle(client, directory):
    begun = asyncio.Event()

    async def progress(done, total, message):
        assert total == 64 << 30, total
        begun.set()

    job = {"folder": "disk", "name": "disk"}
    call = asyncio.create_task(client.call_tool("back_up", job, progress_callback=progress))
    waiting = asyncio.create_task(begun.wait())
    await asyncio.wait((call, waiting), timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    assert begun.is_set(), call.result()
    assert len(os.listdir(directory / "to")) == 1  # a temporary file
    call.cancel()

    async def is_clean():
        return os.listdir(directory / "to") == []

    await until(is_clean)


async def agree(context, params):
    assert "65536 MiB" in params.message, params
    return types.ElicitResult(action="accept", content={"approve": True})


async def a_cancelled_job_stops_and_leaves_nothing(mode):
    async with folders() as (directory, environment):
        options = {"elicitation_callback": agree}
        async with over_stdio(PROGRAM, mode, environment=environment, **options) as client:
            await cancelled_in_the_middle(client, directory)
            # The server is still there.
            assert (await client.list_tools()).tools[0].name == "back_up"


async def a_job_whose_client_goes_away_stops_and_leaves_nothing():
    async with folders() as (directory, environment):
        async with running(PROGRAM, "--http", "127.0.0.1:0", **environment) as (_, url):
            async with Client(streamable_http_client(url), mode="2026-07-28", elicitation_callback=agree) as client:
                await cancelled_in_the_middle(client, directory)


run(a_cancelled_job_stops_and_leaves_nothing, a_job_whose_client_goes_away_stops_and_leaves_nothing)
