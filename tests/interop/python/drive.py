"""Drives examples and the fixture `everything` with the official Python client, over each transport, once per revision that it can negotiate there.

Usage: drive.py DIRECTORY_OF_THE_PROGRAMS [--stdio]. With `--stdio`, only the fixture over standard input and output. Prints one line per check and `N passed, N failed` at the end.
"""

import sys
import traceback
import warnings
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import deploy
import everything
import files
import mcp.client.session as session_module
import notes
import protected
import recipes
import resuming
from mcp import Client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from reach import PATIENCE, Relay, reached
from report import end, say, skip
from session import Inbox, Session

warnings.simplefilter("ignore")

PROGRAMS = Path(sys.argv[1])
ONLY_STDIO = "--stdio" in sys.argv[2:]


async def drive(transport, revision, mode, example, checks, relay=None, environment=None, **options):
    """Connects once and runs these checks, one after another."""
    who = f"{transport} {revision} {example}" + {"auto": " auto", revision: " pinned"}.get(mode, "")
    # The client always offers its newest revision; a host that is behind would offer an older one.
    if revision in HANDSHAKE_PROTOCOL_VERSIONS:
        session_module.LATEST_HANDSHAKE_VERSION = revision
    inbox, logs = Inbox(), []

    async def log(params):
        logs.append(params)

    try:
        async with (
            reached(PROGRAMS / example, transport, relay, environment or {}) as server,
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
            session = Session(client, revision, inbox, logs)
            for name, check in checks.items():
                try:
                    await check(session)
                    say(who, name)
                except Exception as error:
                    say(who, name, "".join(traceback.format_exception(error)[-3:]))
    except Exception as error:
        say(who, "connects", "".join(traceback.format_exception(error)[-20:]))


def named(checks):
    return {check.__name__: check for check in checks}


async def deployments(transport, revision, mode):
    for name, check, person, has_person, has_model in deploy.scenes():
        options = {"elicitation_callback": person.elicit} if has_person else {}
        if has_model:
            options["sampling_callback"] = person.sample
        if revision >= "2025-06-18" or not has_person:
            await drive(transport, revision, mode, "deploy", {name: partial(check, person)}, **options)
    if revision < "2025-06-18":
        skip(f"{transport} {revision} deploy asks a person", "elicitation came with 2025-06-18")


async def visit(transport, revision, mode):
    """All that is done over one transport in one revision."""
    await drive(transport, revision, mode, "everything", named(everything.CHECKS))
    if transport == "sse" or ONLY_STDIO:  # only `everything` switches on the former
        return
    with TemporaryDirectory() as folder:
        database = {"NOTES_DB": f"{folder}/notes.db"}
        await drive(transport, revision, mode, "notes", named(notes.CHECKS), environment=database)
    with files.directory() as root:
        await drive(transport, revision, mode, "files", files.checks(root), environment={"FILES_ROOT": str(root)})
    await deployments(transport, revision, mode)
    if transport == "http" and mode == "legacy":
        for check in resuming.CHECKS:  # the client gives up after two cuts
            relay = Relay()
            await drive(transport, revision, mode, "everything", {check.__name__: partial(check, relay)}, relay)
    elif transport == "http" and mode == revision:
        skip(f"{transport} {revision} resumes", "the revision has no resuming")


async def behind_tokens():
    """Checks that need access tokens, once for each way of beginning."""
    ways = [(revision, "legacy") for revision in HANDSHAKE_PROTOCOL_VERSIONS if revision >= "2025-03-26"]
    ways += [(revision, mode) for revision in MODERN_PROTOCOL_VERSIONS for mode in (revision, "auto")]
    for revision, mode in ways:
        if revision in HANDSHAKE_PROTOCOL_VERSIONS:
            session_module.LATEST_HANDSHAKE_VERSION = revision
        who = f"http {revision} {mode} protected"
        for check in protected.CHECKS:
            try:
                async with protected.guarded(PROGRAMS / "protected") as (url, issuer):
                    await check(url, issuer, mode)
                say(who, check.__name__)
            except Exception as error:
                say(who, check.__name__, "".join(traceback.format_exception(error)[-20:]))


async def main():
    for transport in ("stdio",) if ONLY_STDIO else ("stdio", "http", "sse"):
        ways = [(revision, "legacy") for revision in HANDSHAKE_PROTOCOL_VERSIONS]
        if transport == "sse":
            ways.append((HANDSHAKE_PROTOCOL_VERSIONS[-1], "auto"))
            skip("sse 2026-07-28", "the revision has no binding to this transport; the client falls back to a session")
        else:
            ways += [(revision, mode) for revision in MODERN_PROTOCOL_VERSIONS for mode in (revision, "auto")]
        for revision, mode in ways:
            await visit(transport, revision, mode)
    if not ONLY_STDIO:
        await behind_tokens()
        for program in ("guide", "weather"):
            try:
                recipes.check(PROGRAMS / program)
                say(f"hadolint {program}", "accepts the Dockerfile")
            except Exception as error:
                say(f"hadolint {program}", "accepts the Dockerfile", str(error))


anyio.run(main)
end()
