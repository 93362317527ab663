"""Drives the example `rooms`, in its directory: rooms.py PROGRAM."""

import asyncio
import json
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import mcp_types as types
from driving import over_http, over_stdio, refusal, run, running, status, text

PROGRAM = sys.argv[1]
MEETING = {"from": "2126-07-28T09:00:00Z", "to": "2126-07-28T10:00:00Z"}


async def agree(context, params):
    return types.ElicitResult(action="accept", content={"really": True})


async def bookings_outlive_the_server(mode):
    with TemporaryDirectory() as directory:
        environment = {"ROOMS_JOURNAL": str(Path(directory, "journal"))}
        async with over_stdio(PROGRAM, mode, environment=environment) as client:
            booked = json.loads(await text(client, "book_room", room="blue", title="Stand-up", **MEETING))
        async with running(PROGRAM, "--http", "127.0.0.1:0", **environment) as (process, url):
            assert await status(url.replace("/mcp", "/readyz")) == 200
            async with over_http(url, mode) as client:
                assert "is taken" in await refusal(client, "book_room", room="blue", title="Mine", **MEETING)
                schedule = await client.read_resource("room:///blue")
                assert json.loads(schedule.contents[0].text) == [booked]
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 10) == 0
        async with over_stdio(PROGRAM, mode, environment=environment, elicitation_callback=agree) as client:
            assert await text(client, "cancel_booking", id=booked["id"]) == "booking 1 is cancelled"


run(bookings_outlive_the_server)
