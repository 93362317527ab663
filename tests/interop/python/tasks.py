"""Drives tools that run as tasks through FastMCP's client, whose package `fastmcp-tasks` supports the tasks of
2026-07-28; in other protocol versions, its calls are plain.

Usage: tasks.py DIRECTORY_OF_THE_PROGRAMS. Prints one line per check and `N passed, N failed` at the end.
"""

import logging
import sys
import traceback
import warnings
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import fastmcp_tasks.client as tasks
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from fastmcp_tasks import call_tool_task
from mcp import MCPError
from reach import PATIENCE, serving
from report import end, say

warnings.simplefilter("ignore")
logging.disable()

PROGRAM = Path(sys.argv[1]) / "conformance"
MODERN = "2026-07-28"


class Person:
    """Answers questions with this action, and keeps their messages."""

    def __init__(self, action):
        self.action = action
        self.asked = []

    async def __call__(self, message, response_type, params, context):
        self.asked.append(message)
        if self.action == "accept":
            return ElicitResult(action="accept", content={"confirm": True})
        return ElicitResult(action=self.action)


def text(result):
    return result.content[0].text


async def refused(awaitable, expected, words=""):
    try:
        await awaitable
    except expected as error:
        assert words in str(error), error
        return error
    raise AssertionError(f"no {expected.__name__}")


# --- checks with tasks ---------------------------------------------------------
async def a_call_is_a_task_without_the_caller_noticing(client, person):
    result = await client.call_tool("slow_compute", {"seconds": 0.3, "label": "it"})
    assert text(result) == "Computed it.", result


async def a_task_is_created_polled_and_completed(client, person):
    # Long enough to be seen at work on a busy machine.
    task = await call_tool_task(client, "slow_compute", {"seconds": 2, "label": "it"})
    assert task.create_result.status == "working", task.create_result
    assert task.create_result.ttl_ms > 0 and task.create_result.poll_interval_ms > 0
    status = await task.status()
    assert (status.task_id, status.status) == (task.task_id, "working"), status
    final = await task.wait(timeout=PATIENCE)
    assert final.status == "completed", final
    assert text(await task.result()) == "Computed it."


async def a_tool_that_is_never_a_task_answers_at_once(client, person):
    assert text(await client.call_tool("greet", {"name": "Ada"})) == "Hello, Ada!"
    await refused(call_tool_task(client, "greet", {"name": "Ada"}), ToolError, "did not run as a task")


async def a_question_of_a_task_is_answered(client, person):
    result = await client.call_tool("confirm_delete", {"filename": "a.txt"})
    assert text(result) == "Deleted a.txt.", result
    assert person.asked == ["Delete a.txt?"], person.asked


async def a_question_of_a_task_is_declined(client, person):
    person.action = "decline"
    result = await client.call_tool("confirm_delete", {"filename": "a.txt"})
    assert text(result) == "Kept a.txt.", result


async def two_questions_at_once_are_answered(client, person):
    task = await call_tool_task(client, "multi_input")
    asking = await task.wait(state="input_required", timeout=PATIENCE)
    assert len(asking.input_requests) == 2, asking
    assert text(await task) == "2 of 2 were answered."
    assert len(person.asked) == 2


async def a_running_task_is_cancelled(client, person):
    task = await call_tool_task(client, "slow_compute", {"seconds": 60})
    await task.cancel()
    assert (await task.wait(timeout=PATIENCE)).status == "cancelled"
    await refused(task.result(), ToolError, "was cancelled")


async def a_task_that_asks_is_cancelled(client, person):
    task = await call_tool_task(client, "confirm_delete", {"filename": "a.txt"})
    await task.wait(state="input_required", timeout=PATIENCE)
    await task.cancel()
    assert (await task.status()).status == "cancelled"
    assert person.asked == []


async def an_unknown_task_is_refused(client, person):
    for unknown in ("x", "A" * 32):
        for request in (
            tasks._send_get(client.session, unknown),
            tasks._send_cancel(client.session, unknown),
            tasks._send_update(client.session, unknown, {}),
        ):
            error = await refused(request, MCPError)
            assert error.error.code == -32602, error


async def a_failure_of_the_tool_is_its_result(client, person):
    task = await call_tool_task(client, "failing_job")
    assert (await task.wait(timeout=PATIENCE)).status == "completed"
    await refused(task.result(), ToolError, "This job always fails")


async def a_protocol_error_fails_the_task(client, person):
    task = await call_tool_task(client, "protocol_error_job")
    final = await task.wait(timeout=PATIENCE)
    assert (final.status, final.error["code"]) == ("failed", -32603), final
    await refused(task.result(), ToolError, "This job ends with a protocol error")


# --- checks without tasks ------------------------------------------------------
async def a_call_is_plain(client, person):
    result = await client.call_tool("slow_compute", {"seconds": 0.3, "label": "it"})
    assert text(result) == "Computed it.", result


async def a_question_of_a_plain_call_is_answered(client, person):
    result = await client.call_tool("confirm_delete", {"filename": "a.txt"})
    assert text(result) == "Deleted a.txt.", result
    assert person.asked == ["Delete a.txt?"], person.asked


async def a_tool_that_is_always_a_task_is_refused(client, person):
    await refused(client.call_tool("failing_job"), (MCPError, ToolError), "must be tasks")


WITH_TASKS = [
    a_call_is_a_task_without_the_caller_noticing,
    a_task_is_created_polled_and_completed,
    a_tool_that_is_never_a_task_answers_at_once,
    a_question_of_a_task_is_answered,
    a_question_of_a_task_is_declined,
    two_questions_at_once_are_answered,
    a_running_task_is_cancelled,
    a_task_that_asks_is_cancelled,
    an_unknown_task_is_refused,
    a_failure_of_the_tool_is_its_result,
    a_protocol_error_fails_the_task,
]
WITHOUT = [a_call_is_plain, a_question_of_a_plain_call_is_answered, a_tool_that_is_always_a_task_is_refused]


@asynccontextmanager
async def reached(transport):
    """Returns the first argument of `Client` for a process of its own."""
    if transport == "stdio":
        yield StdioTransport(command=str(PROGRAM), args=[], keep_alive=False)
    else:
        async with serving(PROGRAM, {}) as url:
            yield url


async def visit(who, transport, mode, check):
    name = check.__name__.replace("_", " ")
    try:
        with anyio.fail_after(3 * PATIENCE):
            async with reached(transport) as server:
                person = Person("accept")
                async with Client(server, mode=mode, elicitation_handler=person) as client:
                    await check(client, person)
        say(who, name)
    except Exception as error:
        say(who, name, "".join(traceback.format_exception(error)[-20:]))


async def main():
    for transport in ("stdio", "http"):
        async with anyio.create_task_group() as visits:
            for mode, checks in ((MODERN, WITH_TASKS), ("auto", WITH_TASKS), ("legacy", WITHOUT)):
                who = f"fastmcp {transport} {mode}"
                for check in checks:
                    visits.start_soon(visit, who, transport, mode, check)


anyio.run(main)
end()
