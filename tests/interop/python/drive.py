"""Drives the example `everything` with the official Python client, once per revision it can negotiate.

Usage: drive.py PATH_OF_EVERYTHING. Prints one line per check and `N passed, N failed` at the end.
"""

import sys
import traceback
import warnings

import anyio
import mcp.client.session as session_module
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated, ToolsListChanged
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

warnings.simplefilter("ignore")

SERVER = sys.argv[1]
PATIENCE = 20
passed = failed = 0


def say(revision, name, problem=None):
    global passed, failed
    if problem is None:
        passed += 1
    else:
        failed += 1
    print(f"python {revision} {name} ... {'ok' if problem is None else 'FAILED: ' + problem}", flush=True)


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


async def drive(revision, mode):
    # The client always offers its newest revision; a host that is behind would offer an older one.
    if revision in HANDSHAKE_PROTOCOL_VERSIONS:
        session_module.LATEST_HANDSHAKE_VERSION = revision
    inbox, logs = Inbox(), []

    async def log(params):
        logs.append(params)

    client = Client(
        StdioServerParameters(command=SERVER),
        mode=mode,
        message_handler=inbox,
        logging_callback=log,
        log_level="warning",
        read_timeout_seconds=PATIENCE,
    )
    try:
        async with client:
            for check in CHECKS:
                try:
                    await check(client, revision, inbox, logs)
                    say(revision, check.__name__)
                except Exception as error:
                    say(revision, check.__name__, "".join(traceback.format_exception(error)[-3:]))
    except Exception as error:
        say(revision, "connects", "".join(traceback.format_exception(error)))


async def main():
    for revision in HANDSHAKE_PROTOCOL_VERSIONS:
        await drive(revision, "legacy")
    for revision in MODERN_PROTOCOL_VERSIONS:
        await drive(revision, revision)
        await drive(revision, "auto")


anyio.run(main)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
