"""Checks of the fixture `everything`."""

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from reach import PATIENCE
from session import walk


async def negotiates(session):
    assert session.client.protocol_version == session.revision, session.client.protocol_version
    # Pinned to a revision, the client asks for nothing and so knows nothing.
    if session.client.instructions is not None or session.client.server_info is not None:
        assert session.client.server_info.name == "fixtures", session.client.server_info
        assert session.client.instructions == "Call anything.", session.client.instructions


async def lists_in_pages(session):
    tools, pages = await walk(session.client.list_tools, "tools")
    names = [tool.name for tool in tools]
    assert pages > 1 and "add" in names and len(set(names)) == len(names), (pages, names)
    prompts, _ = await walk(session.client.list_prompts, "prompts")
    assert {"greet", "review", "describe"} <= {prompt.name for prompt in prompts}, prompts
    resources, pages = await walk(session.client.list_resources, "resources")
    uris = [resource.uri for resource in resources]
    assert pages > 1 and "counter://value" in uris and "memo:///9" in uris, (pages, uris)
    templates, _ = await walk(session.client.list_resource_templates, "resource_templates")
    assert {t.uri_template for t in templates} == {"tree:///{+path}", "memo:///{id}"}, templates


async def refuses_a_bad_cursor(session):
    try:
        await session.client.list_tools(cursor="nonsense")
    except MCPError as error:
        assert error.error.code == -32602, error
    else:
        raise AssertionError("served")


async def calls(session):
    result = await session.client.call_tool("add", {"a": 2, "b": 3})
    assert result.content[0].text == "5" and not result.is_error, result
    result = await session.client.call_tool("weather", {"city": "Paris"})
    if session.revision >= "2025-06-18":
        assert result.structured_content["temperature"] == 3.0, result
    assert "clear" in result.content[0].text, result
    for name in ("image", "audio", "mixed", "echo"):
        result = await session.client.call_tool(name, {"text": "x"} if name == "echo" else {})
        assert result.content and not result.is_error, result


async def reads_errors(session):
    result = await session.client.call_tool("fail", {})
    assert result.is_error and "this always fails" in result.content[0].text, result
    result = await session.client.call_tool("fail_opaquely", {})
    assert result.is_error and "secret" not in str(result), result
    result = await session.client.call_tool("add", {"a": "x"})
    assert result.is_error and "/a" in result.content[0].text and "b" in result.content[0].text, result
    for method in (lambda: session.client.call_tool("nothing", {}), lambda: session.client.call_tool("fall_over", {})):
        try:
            await method()
        except MCPError:
            pass
        else:
            raise AssertionError("served")
    result = await session.client.call_tool("print_something", {})
    assert result.content[0].text == "printed", result


async def gets_prompts(session):
    result = await session.client.get_prompt("greet")
    assert result.messages[0].content.text == "Say hello.", result
    result = await session.client.get_prompt("review", {"code": "fn", "language": "rust", "framework": "axum"})
    assert "axum" in result.messages[0].content.text and len(result.messages) == 2, result
    result = await session.client.get_prompt("describe")
    assert result.messages[0].content.type == "image", result


async def reads_resources(session):
    result = await session.client.read_resource("memo:///3")
    assert result.contents[0].text == "memo 3", result
    result = await session.client.read_resource("image://pixel")
    assert result.contents[0].blob and result.contents[0].mime_type == "image/png", result
    result = await session.client.read_resource("tree:///a/b.txt")
    assert "b.txt" in result.contents[0].text, result
    try:
        await session.client.read_resource("memo:///99")
    except MCPError as error:
        assert error.error.code == (-32602 if session.is_modern else -32002), error
    else:
        raise AssertionError("served")


async def completes(session):
    review = types.PromptReference(type="ref/prompt", name="review")
    result = await session.client.complete(review, {"name": "language", "value": "ru"})
    assert set(result.completion.values[:2]) == {"rust", "ruby"}, result
    result = await session.client.complete(review, {"name": "framework", "value": "a"}, {"language": "rust"})
    assert "axum" in result.completion.values, result
    memo = types.ResourceTemplateReference(type="ref/resource", uri="memo:///{id}")
    result = await session.client.complete(memo, {"name": "id", "value": "3"})
    assert result.completion.values[0] == "3", result


async def follows_a_resource(session):
    async with session.follows("counter://value") as heard:
        await session.text("raise")
        await heard()
    assert int((await session.client.read_resource("counter://value")).contents[0].text) >= 1


async def hears_of_changed_lists(session):
    async def names():
        return [tool.name for tool in (await walk(session.client.list_tools, "tools"))[0]]

    assert "extra" in await names()
    async with session.follows_tools() as heard:
        await session.text("switch_extra", on=False)
        await heard()
    assert "extra" not in await names()
    await session.text("switch_extra", on=True)
    assert "extra" in await names()


async def sees_progress(session):
    steps = []

    async def note(progress, total, message):
        steps.append((progress, total, message))

    await session.client.call_tool("count", {"steps": 3, "pause_ms": 80}, progress_callback=note)
    assert [step[0] for step in steps] == [1, 2, 3] and steps[-1][1] == 3, steps
    if session.revision >= "2025-03-26":
        assert steps[-1][2] == "step 3", steps


async def cancels(session):
    before = int((await session.client.call_tool("dropped", {})).content[0].text)
    with anyio.CancelScope() as call:

        async def has_begun(*_):
            call.cancel()

        await session.client.call_tool("count", {"steps": 100, "pause_ms": 1000}, progress_callback=has_begun)
        raise AssertionError("not cancelled")
    with anyio.fail_after(PATIENCE):
        while int((await session.client.call_tool("dropped", {})).content[0].text) != before + 1:
            await anyio.sleep(0.02)


async def logs_messages(session):
    if not session.is_modern:
        await session.client.set_logging_level("warning")
    await session.client.call_tool("log", {"level": "info", "text": "quiet"})
    await session.client.call_tool("log", {"level": "error", "text": "loud"})
    with anyio.fail_after(PATIENCE):
        while not session.logs:
            await anyio.sleep(0.01)
    assert [(log.level, log.data) for log in session.logs] == [("error", "loud")], session.logs


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
