"""Drives the example `tickets`: tickets.py PROGRAM. PostgreSQL is where `PGHOST` and `PGUSER` say."""

import asyncio
import json
import os
import signal
import sys

from driving import PATIENCE, command, over_http, over_stdio, refusal, run, running, status, text, until

PROGRAM = sys.argv[1]
URL = f"postgres://tester@localhost/tickets?host={os.environ['PGHOST']}"
SETTINGS = {"DATABASE_URL": URL, "TICKETS_LISTEN": "127.0.0.1:0"}


async def psql(sql, database="tickets"):
    code, output = await command("psql", "--no-psqlrc", "--quiet", "--tuples-only", "--dbname", database, "--command", sql)
    assert code == 0, output
    return output.strip()


async def commands_need_no_database():
    nowhere = {"DATABASE_URL": "postgres://127.0.0.1:1/none"}
    code, output = await command(PROGRAM, "tools", **nowhere)
    assert code == 0 and "(" in output, output
    code, output = await command(PROGRAM, "--help", **nowhere)
    assert code == 0 and "TICKETS_LISTEN" in output and "DATABASE_URL" in output, output
    assert "TICKETS_TENANT" in output, output
    code, output = await command(PROGRAM, **nowhere)
    assert code == 1 and "cannot create the state of type `Store`" in output, output


async def tables_are_made_at_the_start():
    await psql("create database tickets", "postgres")
    async with running(PROGRAM, **SETTINGS) as (_, url):
        assert await status(url.removesuffix("mcp")) == 200
        await psql("insert into tenants (name) values ('acme'), ('other')")
    async with running(PROGRAM, **SETTINGS) as (_, url):  # for the second time
        assert await status(url.removesuffix("mcp")) == 200


async def stdio_serves_the_tenant_of_the_environment(mode):
    environment = {"DATABASE_URL": URL, "TICKETS_TENANT": "acme"}
    async with over_stdio(PROGRAM, mode, environment=environment) as client:
        ticket = json.loads(await text(client, "open_ticket", title="Printer", body="It does not print."))
        assert ticket["priority"] == "normal", ticket
        assert ticket["id"] in await text(client, "list_tickets", status="open")
        read = await client.read_resource(f"ticket:///{ticket['id']}")
        assert json.loads(read.contents[0].text)["title"] == "Printer"
        await text(client, "close_ticket", id=ticket["id"], resolution="Switched it on.")
        assert "closed already" in await refusal(client, "close_ticket", id=ticket["id"], resolution="Again.")


async def http_serves_the_tenant_of_the_header(mode):
    async with running(PROGRAM, **SETTINGS) as (_, url):
        async with over_http(url, mode, x_tenant="acme") as acme, over_http(url, mode, x_tenant="other") as other:
            ticket = json.loads(await text(acme, "open_ticket", title="Screen", body="It is dark."))
            assert "Screen" in await text(acme, "list_tickets")
            assert "Screen" not in (await other.call_tool("list_tickets", {})).content[0].text
            denied = await refusal(other, "close_ticket", id=ticket["id"], resolution="Mine now.")
            assert denied.startswith("there is no ticket"), denied
        async with over_http(url, mode) as anonymous:
            assert "no tenant" in await refusal(anonymous, "list_tickets")
    # A header of anybody but the gateway counts for nothing.
    async with running(PROGRAM, TICKETS_GATEWAYS="192.0.2.1", **SETTINGS) as (_, url):
        async with over_http(url, mode, x_tenant="acme") as forged:
            assert "no tenant" in await refusal(forged, "list_tickets")


async def readiness_asks_the_database():
    async with running(PROGRAM, **SETTINGS) as (_, url):
        base = url.removesuffix("/mcp")
        assert await status(f"{base}/readyz") == 200
        await psql("alter database tickets allow_connections false", "postgres")
        await psql("select pg_terminate_backend(pid) from pg_stat_activity where datname = 'tickets'", "postgres")

        async def is_not_ready():
            return await status(f"{base}/readyz") == 503

        await until(is_not_ready)
        assert await status(f"{base}/livez") == 200
        await psql("alter database tickets allow_connections true", "postgres")

        async def is_ready():
            return await status(f"{base}/readyz") == 200

        await until(is_ready)


async def a_call_finishes_after_the_signal_to_stop(mode):
    async with running(PROGRAM, TICKETS_SHUTDOWN_DELAY="1", **SETTINGS) as (process, url):
        base = url.removesuffix("/mcp")
        async with over_http(url, mode, x_tenant="acme") as client:
            # Another transaction holds the table, so the call waits in the database.
            psql_session = await asyncio.create_subprocess_exec(
                "psql", "--quiet", "--dbname", "tickets", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
            )
            psql_session.stdin.write(b"begin; lock table tickets; select 'locked';\n")
            while b"locked" not in await asyncio.wait_for(psql_session.stdout.readline(), PATIENCE):
                pass
            call = asyncio.create_task(text(client, "open_ticket", title="Late", body="It closes."))

            async def waits():
                return await psql("select count(*) from pg_locks where not granted") == "1"

            await until(waits)
            process.send_signal(signal.SIGTERM)

            async def is_not_ready():
                return await status(f"{base}/readyz") == 503

            await until(is_not_ready)
            assert not call.done()
            psql_session.stdin.write(b"commit;\n")
            psql_session.stdin.close()
            assert json.loads(await call)["title"] == "Late"
            await asyncio.wait_for(psql_session.wait(), PATIENCE)
        assert await asyncio.wait_for(process.wait(), 10) == 0


run(
    commands_need_no_database,
    tables_are_made_at_the_start,
    stdio_serves_the_tenant_of_the_environment,
    http_serves_the_tenant_of_the_header,
    readiness_asks_the_database,
    a_call_finishes_after_the_signal_to_stop,
)
