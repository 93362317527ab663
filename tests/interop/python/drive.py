"""Drives the examples `everything` and `deploy` with the official Python client, over each transport, once per revision that
it can negotiate there.

Usage: drive.py DIRECTORY_OF_THE_EXAMPLES. Prints one line per check and `N passed, N failed` at the end.
"""

import sys
import traceback
import warnings
from functools import partial
from pathlib import Path

import anyio
import mcp.client.session as session_module
import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated, ToolsListChanged
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from reach import PATIENCE, Relay, reached

warnings.simplefilter("ignore")

EXAMPLES = Path(sys.argv[1])
passed = failed = 0


def say(who, name, problem=None):
    global passed, failed
    if problem is None:
        passed += 1
    else:
        failed += 1
    print(f"python {who} {name} ... {'ok' if problem is None else 'FAILED: ' + problem}", flush=True)


def skip(who, why):
    print(f"python {who} ... skipped: {why}", flush=True)


class Inbox:
    """What the server sends by itself."""

    def __init__(self):
        self.seen = []
        self.arrived = anyio.Event()

    async def __call__(self, message):
        self.seen.append(message)
        self.arrived.set()
        self.arrived = anyio.Event()

    async def first(self, kind):
        with anyio.fail_after(PATIENCE):
            while True:
                for message in self.seen:
                    if isinstance(message, kind):
                        return message
                await self.arrived.wait()


async def walk(fetch, member):
    items, pages, cursor = [], 0, None
    while True:
        page = await fetch(cursor=cursor)
        items += getattr(page, member)
        pages += 1
        cursor = page.next_cursor
        if cursor is None:
            return items, pages


async def negotiates(client, revision, inbox, logs):
    assert client.protocol_version == revision, client.protocol_version
    # Pinned to a revision, the client asks for nothing and so knows nothing.
    if client.instructions is not None or client.server_info is not None:
        assert client.server_info.name == "examples", client.server_info
        assert client.instructions == "Call anything.", client.instructions


async def lists_in_pages(client, revision, inbox, logs):
    tools, pages = await walk(client.list_tools, "tools")
    names = [tool.name for tool in tools]
    assert pages > 1 and "add" in names and len(set(names)) == len(names), (pages, names)
    prompts, _ = await walk(client.list_prompts, "prompts")
    assert {"greet", "review", "describe"} <= {prompt.name for prompt in prompts}, prompts
    resources, pages = await walk(client.list_resources, "resources")
    uris = [resource.uri for resource in resources]
    assert pages > 1 and "counter://value" in uris and "memo:///9" in uris, (pages, uris)
    templates, _ = await walk(client.list_resource_templates, "resource_templates")
    assert {t.uri_template for t in templates} == {"tree:///{+path}", "memo:///{id}"}, templates


async def refuses_a_bad_cursor(client, revision, inbox, logs):
    try:
        await client.list_tools(cursor="nonsense")
    except MCPError as error:
        assert error.error.code == -32602, error
    else:
        raise AssertionError("served")


async def calls(client, revision, inbox, logs):
    result = await client.call_tool("add", {"a": 2, "b": 3})
    assert result.content[0].text == "5" and not result.is_error, result
    result = await client.call_tool("weather", {"city": "Paris"})
    if revision >= "2025-06-18":
        assert result.structured_content["temperature"] == 3.0, result
    assert "clear" in result.content[0].text, result
    for name in ("picture", "sound", "mixed", "echo"):
        result = await client.call_tool(name, {"text": "x"} if name == "echo" else {})
        assert result.content and not result.is_error, result


async def reads_errors(client, revision, inbox, logs):
    result = await client.call_tool("fail", {})
    assert result.is_error and "this always fails" in result.content[0].text, result
    result = await client.call_tool("fail_opaquely", {})
    assert result.is_error and "secret" not in str(result), result
    result = await client.call_tool("add", {"a": "x"})
    assert result.is_error and "/a" in result.content[0].text and "b" in result.content[0].text, result
    for method in (lambda: client.call_tool("nothing", {}), lambda: client.call_tool("fall_over", {})):
        try:
            await method()
        except MCPError:
            pass
        else:
            raise AssertionError("served")
    result = await client.call_tool("print_something", {})
    assert result.content[0].text == "printed", result


async def gets_prompts(client, revision, inbox, logs):
    result = await client.get_prompt("greet")
    assert result.messages[0].content.text == "Say hello.", result
    result = await client.get_prompt("review", {"code": "fn", "language": "rust", "framework": "axum"})
    assert "axum" in result.messages[0].content.text and len(result.messages) == 2, result
    result = await client.get_prompt("describe")
    assert result.messages[0].content.type == "image", result


async def reads_resources(client, revision, inbox, logs):
    result = await client.read_resource("memo:///3")
    assert result.contents[0].text == "memo 3", result
    result = await client.read_resource("image://pixel")
    assert result.contents[0].blob and result.contents[0].mime_type == "image/png", result
    result = await client.read_resource("tree:///a/b.txt")
    assert "b.txt" in result.contents[0].text, result
    try:
        await client.read_resource("memo:///99")
    except MCPError as error:
        assert error.error.code == (-32602 if revision in MODERN_PROTOCOL_VERSIONS else -32002), error
    else:
        raise AssertionError("served")


async def completes(client, revision, inbox, logs):
    review = types.PromptReference(type="ref/prompt", name="review")
    result = await client.complete(review, {"name": "language", "value": "ru"})
    assert set(result.completion.values[:2]) == {"rust", "ruby"}, result
    result = await client.complete(review, {"name": "framework", "value": "a"}, {"language": "rust"})
    assert "axum" in result.completion.values, result
    memo = types.ResourceTemplateReference(type="ref/resource", uri="memo:///{id}")
    result = await client.complete(memo, {"name": "id", "value": "3"})
    assert result.completion.values[0] == "3", result


async def follows_a_resource(client, revision, inbox, logs):
    if revision in MODERN_PROTOCOL_VERSIONS:
        async with client.listen(resource_subscriptions=["counter://value"]) as events:
            await client.call_tool("raise", {})
            with anyio.fail_after(PATIENCE):
                event = await anext(events)
            assert event == ResourceUpdated(uri="counter://value"), event
    else:
        await client.subscribe_resource("counter://value")
        await client.call_tool("raise", {})
        update = await inbox.first(types.ResourceUpdatedNotification)
        assert update.params.uri == "counter://value", update
        await client.unsubscribe_resource("counter://value")
    assert int((await client.read_resource("counter://value")).contents[0].text) >= 1


async def hears_of_changed_lists(client, revision, inbox, logs):
    async def names():
        return [tool.name for tool in (await walk(client.list_tools, "tools"))[0]]

    assert "extra" in await names()
    if revision in MODERN_PROTOCOL_VERSIONS:
        async with client.listen(tools_list_changed=True) as events:
            await client.call_tool("switch_extra", {"on": False})
            with anyio.fail_after(PATIENCE):
                assert await anext(events) == ToolsListChanged()
    else:
        await client.call_tool("switch_extra", {"on": False})
        await inbox.first(types.ToolListChangedNotification)
    assert "extra" not in await names()
    await client.call_tool("switch_extra", {"on": True})
    assert "extra" in await names()


async def sees_progress(client, revision, inbox, logs):
    steps = []

    async def note(progress, total, message):
        steps.append((progress, total, message))

    await client.call_tool("count", {"steps": 3, "pause_ms": 80}, progress_callback=note)
    assert [step[0] for step in steps] == [1, 2, 3] and steps[-1][1] == 3, steps
    if revision >= "2025-03-26":
        assert steps[-1][2] == "step 3", steps


async def cancels(client, revision, inbox, logs):
    before = int((await client.call_tool("dropped", {})).content[0].text)
    with anyio.move_on_after(0.3):
        await client.call_tool("doze", {})
        raise AssertionError("not cancelled")
    with anyio.fail_after(PATIENCE):
        while int((await client.call_tool("dropped", {})).content[0].text) != before + 1:
            await anyio.sleep(0.02)


async def logs_messages(client, revision, inbox, logs):
    if revision not in MODERN_PROTOCOL_VERSIONS:
        await client.set_logging_level("warning")
    await client.call_tool("log", {"level": "info", "text": "quiet"})
    await client.call_tool("log", {"level": "error", "text": "loud"})
    with anyio.fail_after(PATIENCE):
        while not logs:
            await anyio.sleep(0.01)
    assert [(log.level, log.data) for log in logs] == [("error", "loud")], logs


CHECKS = [
    negotiates,
    lists_in_pages,
    refuses_a_bad_cursor,
    calls,
    reads_errors,
    gets_prompts,
    reads_resources,
    completes,
    follows_a_resource,
    hears_of_changed_lists,
    sees_progress,
    cancels,
    logs_messages,
]


async def resumes_a_call(relay, client, revision, inbox, logs):
    steps = []

    async def note(progress, total, message):
        steps.append(progress)
        if progress == 1:
            relay.cut()

    result = await client.call_tool("count", {"steps": 3, "pause_ms": 100}, progress_callback=note)
    assert not result.is_error and steps == [1, 2, 3], (steps, result)


async def hears_what_it_missed(relay, client, revision, inbox, logs):
    await client.call_tool("switch_extra", {"on": False})
    await inbox.first(types.ToolListChangedNotification)  # so the stream is open
    inbox.seen.clear()
    relay.cut()
    await anyio.sleep(0.1)  # the client waits a second before it comes back
    await client.call_tool("switch_extra", {"on": True})
    await inbox.first(types.ToolListChangedNotification)


class Person:
    """Answers questions of the example `deploy`, and stands for its model."""

    def __init__(self, action, approve=False):
        self.action = action
        self.approve = approve
        self.asked = []
        self.summed_up = []

    async def elicit(self, context, params):
        self.asked.append(params)
        content = {"approve": self.approve, "target": "production", "instances": 3, "note": "on a Friday"}
        return types.ElicitResult(action=self.action, content=content if self.action == "accept" else None)

    async def sample(self, context, params):
        self.summed_up.append(params)
        text = types.TextContent(type="text", text="All is well.")
        return types.CreateMessageResult(role="assistant", content=text, model="none", stop_reason="endTurn")


DONE = "v1 is on Production, 3 instances (on a Friday)"


async def deploys(person, client, *_):
    result = await client.call_tool("deploy", {"service": "shop"})
    assert not result.is_error and result.content[0].text == "All is well.", result
    (question,) = person.asked
    assert question.message == "Deploy shop? build shop v1, test shop v1, start shop v1", question
    properties = question.requested_schema["properties"]
    assert set(properties) == {"approve", "target", "instances", "note"}, properties
    (prompt,) = person.summed_up
    assert DONE in str(prompt.messages) and prompt.max_tokens == 200, prompt


async def deploys_without_a_model(person, client, *_):
    result = await client.call_tool("deploy", {"service": "shop"})
    assert not result.is_error and result.content[0].text == DONE, result


async def does_not_deploy(person, client, *_):
    result = await client.call_tool("deploy", {"service": "shop"})
    assert result.is_error and len(person.asked) == 1 and not person.summed_up, (result, person.asked)
    if person.action == "accept":
        assert "not approved" in result.content[0].text, result


async def says_that_it_cannot_ask(person, client, revision, *_):
    try:
        result = await client.call_tool("deploy", {"service": "shop"})
        assert result.is_error and "elicit" in result.content[0].text, result
    except MCPError as error:
        assert revision in MODERN_PROTOCOL_VERSIONS and error.error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY, error
        assert "elicitation" in error.error.data["requiredCapabilities"], error


async def deployments(transport, revision, mode):
    """Runs `deploy` with persons who answer differently."""
    scenes = {
        "approved": (deploys, Person("accept", True), True),
        "approved_without_a_model": (deploys_without_a_model, Person("accept", True), False),
        "not_approved": (does_not_deploy, Person("accept"), True),
        "declined": (does_not_deploy, Person("decline"), True),
        "cancelled": (does_not_deploy, Person("cancel"), True),
        "nobody_to_ask": (says_that_it_cannot_ask, None, False),
    }
    for name, (check, person, has_model) in scenes.items():
        options = {"elicitation_callback": person.elicit} if person else {}
        if has_model:
            options["sampling_callback"] = person.sample
        if revision >= "2025-06-18" or name == "nobody_to_ask":
            await drive(transport, revision, mode, "deploy", {name: partial(check, person)}, **options)
        elif name == "approved":
            skip(f"{transport} {revision} deploy", "elicitation came with 2025-06-18")


async def drive(transport, revision, mode, example, checks, relay=None, **options):
    who = f"{transport} {revision} {example}" + {"auto": " auto", revision: " pinned"}.get(mode, "")
    # The client always offers its newest revision; a host that is behind would offer an older one.
    if revision in HANDSHAKE_PROTOCOL_VERSIONS:
        session_module.LATEST_HANDSHAKE_VERSION = revision
    inbox, logs = Inbox(), []

    async def log(params):
        logs.append(params)

    try:
        async with (
            reached(EXAMPLES / example, transport, relay) as server,
            Client(
                server,
                mode=mode,
                message_handler=inbox,
                logging_callback=log,
                log_level="warning",
                read_timeout_seconds=PATIENCE,
                **options,
            ) as client,
        ):
            for name, check in checks.items():
                try:
                    await check(client, revision, inbox, logs)
                    say(who, name)
                except Exception as error:
                    say(who, name, "".join(traceback.format_exception(error)[-3:]))
    except Exception as error:
        say(who, "connects", "".join(traceback.format_exception(error)[-20:]))


async def main():
    everything = {check.__name__: check for check in CHECKS}
    for transport in ("stdio", "http", "sse"):
        ways = [(revision, "legacy") for revision in HANDSHAKE_PROTOCOL_VERSIONS]
        if transport == "sse":
            ways.append((HANDSHAKE_PROTOCOL_VERSIONS[-1], "auto"))
            skip("sse 2026-07-28", "the revision has no binding to this transport; the client falls back to a session")
        else:
            ways += [(revision, mode) for revision in MODERN_PROTOCOL_VERSIONS for mode in (revision, "auto")]
        for revision, mode in ways:
            await drive(transport, revision, mode, "everything", everything)
            if transport != "sse":  # which the example `deploy` does not switch on
                await deployments(transport, revision, mode)
            if transport == "http" and mode == "legacy":
                for check in (resumes_a_call, hears_what_it_missed):  # the client gives up after two cuts
                    relay = Relay()
                    checks = {check.__name__: partial(check, relay)}
                    await drive(transport, revision, mode, "everything", checks, relay)
            elif transport == "http" and mode == revision:
                skip(f"{transport} {revision} resumes", "the revision has no resuming")


anyio.run(main)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
