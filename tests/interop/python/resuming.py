"""Coming back after a connection was cut, in the fixture `everything`."""

import anyio
import mcp_types as types


async def resumes_a_call(relay, session):
    steps = []

    async def note(progress, total, message):
        steps.append(progress)
        if progress == 1:
            relay.cut()

    result = await session.client.call_tool("count", {"steps": 3, "pause_ms": 100}, progress_callback=note)
    assert not result.is_error and steps == [1, 2, 3], (steps, result)


async def hears_what_it_missed(relay, session):
    await session.client.call_tool("switch_extra", {"on": False})
    await session.inbox.first(types.ToolListChangedNotification)  # so the stream is open
    session.inbox.seen.clear()
    relay.cut()
    await anyio.sleep(0.1)  # the client waits a second before it comes back
    await session.client.call_tool("switch_extra", {"on": True})
    await session.inbox.first(types.ToolListChangedNotification)


CHECKS = [resumes_a_call, hears_what_it_missed]
