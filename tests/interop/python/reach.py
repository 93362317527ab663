"""The way of a client to a program: its transport, and a relay.

What is said then is the business of drive.py.
"""

import os
import subprocess
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import anyio
import anyio.abc
from mcp import StdioServerParameters
from mcp.client.sse import sse_client

PATIENCE = 20


@asynccontextmanager
async def serving(example, environment):
    """Runs an example over HTTP; gives the address of its endpoint."""
    process = await anyio.open_process(
        [example, "--http", "127.0.0.1:0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    async with process, anyio.create_task_group() as tasks:
        said = b""
        with anyio.fail_after(PATIENCE):
            while b"\n" not in said:
                said += await process.stderr.receive()

        async def drain():
            async for _ in process.stderr:
                pass

        tasks.start_soon(drain)
        try:
            yield said.split(b"\n")[0].decode().strip()
        finally:
            process.kill()


class Relay:
    """Passes connections on to a server, and cuts them when told to."""

    def __init__(self):
        self.open = set()

    def cut(self):
        for connection in self.open:
            connection.cancel()

    @asynccontextmanager
    async def to(self, url):
        address = urlsplit(url)

        async def pump(source, sink):
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                while True:
                    await sink.send(await source.receive())
            await sink.aclose()

        async def carry(client):
            async with client, await anyio.connect_tcp(address.hostname, address.port) as server:
                async with anyio.create_task_group() as both:
                    self.open.add(both.cancel_scope)
                    both.start_soon(pump, client, server)
                    both.start_soon(pump, server, client)
                self.open.discard(both.cancel_scope)

        async with await anyio.create_tcp_listener(local_host=address.hostname) as listener:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listener.serve, carry)
                port = listener.extra(anyio.abc.SocketAttribute.local_port)
                yield address._replace(netloc=f"{address.hostname}:{port}").geturl()
                tasks.cancel_scope.cancel()


@asynccontextmanager
async def reached(example, transport, relay, environment):
    """Returns the first argument of `Client` for a client of a program."""
    if transport == "stdio":
        yield StdioServerParameters(command=str(example), env=environment)
    elif relay:
        async with serving(example, environment) as url, relay.to(url) as relayed:
            yield relayed
    else:
        async with serving(example, environment) as url:
            yield url if transport == "http" else sse_client(url.removesuffix("/mcp") + "/sse")
