"""Servers that need access tokens: the client finds out where to get one, gets it, and gets a better one when it needs it.

The authorization server is node/authorization.mjs; what a person would do in a browser is done here.
"""

import os
import shlex
import socket
import subprocess
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urljoin, urlsplit

import anyio
import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata
from reach import PATIENCE

REDIRECT = "http://127.0.0.1:9/callback"


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


async def first_line(stream):
    said = b""
    with anyio.fail_after(PATIENCE):
        while b"\n" not in said:
            said += await stream.receive()
    return said.split(b"\n")[0].decode().strip()


@asynccontextmanager
async def guarded(example):
    """Runs the example, and the server whose tokens it takes; gives the addresses of both."""
    command = shlex.split(os.environ["AUTHORIZATION_SERVER"])
    nothing = subprocess.DEVNULL
    async with await anyio.open_process(command, stdin=nothing, stderr=nothing) as authorization:
        issuer = await first_line(authorization.stdout)
        address = f"127.0.0.1:{free_port()}"
        url = f"http://{address}/mcp"
        arguments = [example, "--http", address]
        settings = os.environ | {"PROTECTED_ISSUER": issuer, "PROTECTED_URL": url}
        async with await anyio.open_process(
            arguments, env=settings, stdin=nothing, stdout=nothing, stderr=nothing
        ) as server:
            try:
                with anyio.fail_after(PATIENCE):
                    async with httpx2.AsyncClient() as http:
                        while True:
                            with suppress(httpx2.TransportError):
                                await http.post(url)
                                break
                            await anyio.sleep(0.02)
                yield url, issuer
            finally:
                server.kill()
                authorization.kill()


class Kept:
    """Credentials in memory, those of the client from the start."""

    def __init__(self, issuer):
        self.tokens = None
        self.client = OAuthClientInformationFull(
            client_id="interop", redirect_uris=[REDIRECT], token_endpoint_auth_method="none", issuer=issuer
        )

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Person:
    """A user with a browser."""

    def __init__(self):
        self.asked = []
        self.back = None
        self.browser = httpx2.AsyncClient()

    async def go(self, url):
        """Follows the authorization server until it sends the browser back to the client."""
        self.asked.append(parse_qs(urlsplit(url).query))
        while not url.startswith(REDIRECT):
            response = await self.browser.get(url)
            assert "location" in response.headers, response.text
            url = urljoin(url, response.headers["location"])
        self.back = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}

    async def came_back(self):
        return AuthorizationCodeResult(code=self.back["code"], state=self.back.get("state"), iss=self.back.get("iss"))


async def gets_in(url, issuer, mode):
    person = Person()
    metadata = OAuthClientMetadata(
        client_name="interop", redirect_uris=[REDIRECT], token_endpoint_auth_method="none"
    )
    provider = OAuthClientProvider(url, metadata, Kept(issuer), person.go, person.came_back)
    async with person.browser, httpx2.AsyncClient(auth=provider, timeout=PATIENCE) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:

            async def names():
                return [tool.name for tool in (await client.list_tools()).tools]

            assert await names() == ["list_notes"], await names()
            (first,) = person.asked
            assert first["scope"] == ["notes:read"], first
            assert first["resource"] == [url] and first["code_challenge_method"] == ["S256"], first
            assert not (await client.call_tool("list_notes", {})).is_error
            # The tool is not in the list yet; who calls it all the same is told what to ask for.
            written = await client.call_tool("write_note", {"note": "milk"})
            assert written.content[0].text == "1 notes", written
            assert len(person.asked) == 2, person.asked
            assert sorted(person.asked[1]["scope"][0].split()) == ["notes:read", "notes:write"], person.asked
            assert await names() == ["list_notes", "write_note"], await names()
            assert "milk" in str((await client.call_tool("list_notes", {})).content)


async def stays_out(url, _, mode):
    headers = {"authorization": "Bearer none"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        try:
            async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                await client.list_tools()
        except Exception:
            return
        raise AssertionError("no client has that token")


CHECKS = [gets_in, stays_out]
