"""Checks of the example `files`, while its directory changes."""

from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import mcp_types as types
from mcp.shared.exceptions import MCPError
from session import walk


@contextmanager
def directory():
    """A directory to serve, and what is outside of it."""
    with TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        (root / "deep").mkdir(parents=True)
        for number in range(120):  # more than a page
            (root / "deep" / f"{number}.txt").write_text(str(number))
        (root / "100% sure?.bin").write_bytes(b"\xff\0")
        (root / ".env").write_text("hidden")
        (root.parent / "outside").write_text("outside")
        yield root


async def lists_files_in_pages(root, session):
    resources, pages = await walk(session.client.list_resources, "resources")
    uris = {resource.uri for resource in resources}
    assert pages > 1 and len(uris) == len(resources) == 121, (pages, uris)
    assert "files:///deep/119.txt" in uris and not any(".env" in uri for uri in uris), uris
    templates, _ = await walk(session.client.list_resource_templates, "resource_templates")
    assert [template.uri_template for template in templates] == ["files:///{+path}"], templates


async def reads_files(root, session):
    result = await session.client.read_resource("files:///deep/7.txt")
    assert result.contents[0].text == "7", result
    result = await session.client.read_resource("files:///100%25%20sure%3F.bin")
    assert result.contents[0].blob == "/wA=", result
    for path in (".env", "missing", "../outside", "%2e%2e/outside", "/etc/passwd"):
        try:
            await session.client.read_resource(f"files:///{path}")
        except MCPError:
            pass
        else:
            raise AssertionError(f"{path} was served")


async def completes_paths(root, session):
    file = types.ResourceTemplateReference(type="ref/resource", uri="files:///{+path}")
    result = await session.client.complete(file, {"name": "path", "value": "deep/11"})
    assert "deep/111.txt" in result.completion.values, result


async def follows_a_file(root, session):
    async with session.follows("files:///deep/1.txt") as heard:
        (root / "deep/1.txt").write_text("changed")
        await heard()
    assert (await session.client.read_resource("files:///deep/1.txt")).contents[0].text == "changed"
    async with session.follows_resources() as heard:
        (root / "new.txt").write_text("new")
        await heard()


def checks(root):
    checks = [lists_files_in_pages, reads_files, completes_paths, follows_a_file]
    return {check.__name__: partial(check, root) for check in checks}
