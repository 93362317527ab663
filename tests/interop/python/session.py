"""A client with the notifications of its server, and lists that come in pages. Each check gets one of these."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import mcp_types as types
from mcp import Client
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from reach import PATIENCE


class Inbox:
    """Keeps the notifications of the server."""

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


@dataclass
class Session:
    """One connection."""

    client: Client
    revision: str
    inbox: Inbox
    logs: list = field(default_factory=list)

    @property
    def is_modern(self):
        return self.revision in MODERN_PROTOCOL_VERSIONS

    async def text(self, tool, **arguments):
        """Calls a tool that must go well; gives what it says."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result
        return result.content[0].text

    @asynccontextmanager
    async def hears(self, event, notification, **followed):
        """Awaits notices: an event of a listener from 2026-07-28, a notification of the session before."""
        if self.is_modern:
            async with self.client.listen(**followed) as events:

                async def heard():
                    with anyio.fail_after(PATIENCE):
                        assert await anext(events) == event

                yield heard
        else:
            uris = followed.get("resource_subscriptions", [])
            for uri in uris:
                await self.client.subscribe_resource(uri)
            self.inbox.seen.clear()

            async def heard():
                notice = await self.inbox.first(notification)
                assert not uris or notice.params.uri in uris, notice
                self.inbox.seen.clear()

            yield heard
            for uri in uris:
                await self.client.unsubscribe_resource(uri)

    def follows(self, uri):
        return self.hears(ResourceUpdated(uri=uri), types.ResourceUpdatedNotification, resource_subscriptions=[uri])

    def follows_resources(self):
        return self.hears(ResourcesListChanged(), types.ResourceListChangedNotification, resources_list_changed=True)

    def follows_tools(self):
        return self.hears(ToolsListChanged(), types.ToolListChangedNotification, tools_list_changed=True)


async def walk(fetch, member):
    items, pages, cursor = [], 0, None
    while True:
        page = await fetch(cursor=cursor)
        items += getattr(page, member)
        pages += 1
        cursor = page.next_cursor
        if cursor is None:
            return items, pages
