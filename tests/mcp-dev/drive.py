"""Drives the page of mcp-dev as a user would.

`drive.py PROGRAM DRIVER PROJECT [IMAGES]`: mcp-dev, the URL of a WebDriver, a cargo project, and a folder for images.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from webdriver import Browser

program, driver, project = sys.argv[1:4]
images = sys.argv[4] if len(sys.argv) > 4 else None
here = Path(__file__).parent
passed = failed = 0


@contextmanager
def served(*arguments, **window):
    """mcp-dev with a server, and a browser with its page."""
    process = subprocess.Popen([program, "--no-open", *arguments], stderr=subprocess.PIPE, text=True)
    browser = None
    try:
        line = process.stderr.readline()
        url = line.split(": ", 1)[1].strip() if ": http" in line else None
        assert url, line
        browser = Browser(driver, **window)
        browser.url = url
        browser.process = process
        browser.open(url)
        yield browser
        complaints = browser.complaints()
        assert not complaints, complaints
    finally:
        if browser:
            browser.close()
        process.send_signal(signal.SIGINT)
        process.wait(20)


def test(name, run, *arguments):
    global passed, failed
    try:
        run(*arguments)
        passed += 1
        print(f"ok: {name}", flush=True)
    except Exception:
        failed += 1
        print(f"FAILED: {name}", flush=True)
        traceback.print_exc()


def pick(page, name):
    page.click(f'button[data-id="{name}"]')
    page.find(".definition-name", name)


def call(page):
    page.click(".definition button.primary")


def outcome(page, badge):
    return page.find(".output .badge", badge)


def choose_era(page, era):
    page.click(".era-choice", era)
    page.find('.era-choice[aria-pressed="true"]', era)
    page.find(f".dot.{era}.ready")


# --- with a project -----------------------------------------------------------------


def lists(page):
    for name in ["book", "letter", "house://rules", "house://rooms/{name}"]:
        page.find(f'button[data-id="{name}"]')
    page.type("#search", "BOOK room")
    page.gone('button[data-id="clean"]')
    page.find('button[data-id="book"]')
    page.keys("Escape")
    page.find('button[data-id="clean"]')
    assert "#" not in page.run("return location.href"), "the token stays in the URL"


def nested_form(page):
    pick(page, "book")
    page.type(page.field("name"), "Ada Lovelace")
    page.type(page.field("age"), "36")
    page.run("const select = document.querySelector(arguments[0]); select.value = '1';", page.field("room"))
    page.type(page.field("nights"), "2")
    page.click(".field button", "+ add")
    page.type('[aria-label="entry 1 of wishes"]', "a quiet room")
    page.click(".definition .quiet", "JSON")
    value = json.loads(page.run("return document.querySelector('.definition > textarea').value"))
    assert value == {"guest": {"name": "Ada Lovelace", "age": 36}, "room": "double", "nights": 2, "wishes": ["a quiet room"], "breakfast": True}, value
    page.click(".definition .quiet", "JSON")
    call(page)
    outcome(page, "result")
    assert page.text(".output table").split() == "night price breakfast 1 80 true 2 80 true".split()
    page.find(".output .tree", "a quiet room")
    # What was typed is still there after looking at something else.
    pick(page, "clean")
    pick(page, "book")
    assert page.run("return document.querySelector(arguments[0]).value", page.field("name")) == "Ada Lovelace"


def refused(page):
    pick(page, "book")
    page.type(page.field("age"), "131")
    call(page)
    outcome(page, "tool error")
    page.find(".output .failed", "131")
    page.type(page.field("age"), "36")


def question(page):
    pick(page, "cancel_booking")
    page.type(page.field("booking"), "7")
    call(page)
    page.find(".question", "Cancel booking 7?")
    page.click(page.field("really"))
    page.type(page.field("reason"), "ill")
    page.click(".question button", "Accept")
    outcome(page, "result")
    page.find(".output pre", "booking 7 is cancelled: ill")
    call(page)
    page.click(".question button", "Decline")
    outcome(page, "tool error")
    page.gone(".question")


def progress_and_cancel(page):
    pick(page, "clean")
    page.type(page.field("rooms"), "5")
    call(page)
    page.find(".output .progress", "of 5")
    outcome(page, "result")
    page.find(".output pre", "5 rooms are clean")
    page.click("#tab-log")
    page.find(".log-row", "room 5 is clean")
    page.click("#tab-wire")
    page.type(page.field("rooms"), "1000")
    call(page)
    page.find(".output .progress", "of 1000")
    page.click(".definition button", "Cancel")
    outcome(page, "cancelled")


def nothing_acts(page):
    pick(page, "guest_book")
    call(page)
    outcome(page, "result")
    text = page.text(".output pre")
    assert "<img src=x onerror=" in text and "U+001B" in text and "U+202E" in text, text
    assert "pwned" not in page.run("return document.title")
    assert page.run("return document.querySelectorAll('.output img').length") == 0
    pick(page, "picture")
    call(page)
    outcome(page, "result")
    end = time.monotonic() + 10
    while page.run("return document.querySelector('.output img')?.naturalWidth ?? 0") != 160:
        assert time.monotonic() < end, "the picture"


def prompt_with_completion(page):
    pick(page, "letter")
    page.type(page.field("guest"), "Ada")
    page.type(page.field("tone"), "f")
    end = time.monotonic() + 10
    while (found := page.run("return [...document.querySelectorAll('datalist option')].map((one) => one.value)")) != ["formal", "friendly", "funny"]:
        assert time.monotonic() < end, found
    page.type(page.field("tone"), "funny")
    page.keys("Enter")
    page.find(".output .message.user", "Write a funny letter to Ada.")


def resources(page):
    pick(page, "house://rules")
    call(page)
    page.find(".output .markdown h3", "Rules")
    page.find(".output .markdown td", "Breakfast")
    pick(page, "house://rooms/{name}")
    page.type(page.field("name"), "the attic/2")
    call(page)
    page.find(".output", "house://rooms/the%20attic%2F2")


def compare(page):
    pick(page, "book")
    page.click("button", "Compare eras")
    page.find(".output .badge", "same result")
    assert page.run("return document.querySelectorAll('.output .compare').length") >= 3
    marked = page.run("return [...document.querySelectorAll('.wires .differs > summary .member, .wires .differs > .member')].map((one) => one.innerText)")
    assert '"_meta"' in marked and '"resultType"' in marked and '"name"' not in marked, marked
    pick(page, "cancel_booking")
    page.type(page.field("booking"), "9")
    page.click("button", "Compare eras")
    page.find(".question", "Cancel booking 9?")
    page.click(page.field("really"))
    page.click(".question button", "Accept")
    # One answer serves both eras.
    page.find(".output .badge", "same result")
    page.gone(".question", seconds=2)


def keyboard(page):
    page.run("document.activeElement.blur()")
    page.keys("/")
    assert page.run("return document.activeElement.id") == "search"
    page.type("#search", "clean")
    page.keys("Enter")
    page.keys("Enter")
    page.find(".definition-name", "clean")
    page.type(page.field("rooms"), "1")
    page.keys("Control", "Enter")
    outcome(page, "result")
    page.type("#search", "")
    page.keys("Escape")


def death_and_return(page):
    pick(page, "burn_down")
    call(page)
    outcome(page, "no response")
    page.find("#failure", "exit status: 3")
    page.find('.era-choice[aria-pressed="true"]', "modern")
    page.click("#failure button", "Connect again")
    page.gone("#failure")


def edit(page):
    """A new tool is in the page after a save; a build error is shown as rustc writes it; forms keep what was typed."""
    source = Path(project, "src/main.rs")
    text = source.read_text()
    pick(page, "book")
    page.type(page.field("name"), "Grace")
    new = "/// Feeds the cat.\n#[tool]\nfn feed_cat() -> &'static str { \"purr\" }\n\n"
    source.write_text(text.replace("#[mcp_runtime::main]", new + "#[mcp_runtime::main]"))
    page.find('button.fresh[data-id="feed_cat"]', seconds=120)
    assert page.run("return document.querySelector(arguments[0]).value", page.field("name")) == "Grace"
    source.write_text(text.replace("async fn main", "fn mistake() -> u8 { \"\" }\n\nasync fn main"))
    page.find("#failure", "mismatched types", seconds=120)
    assert "-->" in page.text("#failure pre") and "^^" in page.text("#failure pre")
    source.write_text(text)
    page.gone("#failure", seconds=120)
    page.gone('button[data-id="feed_cat"]')


def with_project():
    with served("--project", project, height=1000) as page:
        page.find('button[data-id="book"]', seconds=120)
        for name, run in [
            ("lists and search", lists),
            ("a nested form", nested_form),
            ("a refused call", refused),
            ("a question", question),
            ("progress and cancelling", progress_and_cancel),
            ("nothing of a server acts", nothing_acts),
            ("a prompt with completion", prompt_with_completion),
            ("resources and templates", resources),
            ("both eras", compare),
            ("only the keyboard", keyboard),
        ]:
            test(name, run, page)
        choose_era(page, "legacy")
        test("a question in the legacy era", question, page)
        test("progress and cancelling in the legacy era", progress_and_cancel, page)
        choose_era(page, "modern")
        test("an edit of the sources", edit, page)
    with served("--project", project) as page:
        page.find('button[data-id="book"]', seconds=120)
        test("a nested form and both eras, again", lambda: (nested_form(page), compare(page)))
        test("a server that dies", death_and_return, page)


# --- with a server that misbehaves -----------------------------------------------------


def naughty():
    with served("--", sys.executable, str(here / "naughty.py")) as page:
        page.find('button[data-id="flood"]', seconds=30)
        assert page.text("#server h1") == "naughty<b>"
        page.find('.era-choice[aria-pressed="true"]', "2025-06-18")
        for name, badge in [("flood", "result"), ("nonsense", "result"), ("huge_line", "result"), ("odd_result", "result"), ("ask_much", "result")]:
            pick(page, name)
            call(page)
            page.find(".output .badge", badge, seconds=60)
        page.find(".output", "ask_much is done")
        pick(page, "large")
        call(page)
        page.find(".output", "20,000 of 8,388,608 characters")
        page.click(".output button", "Show more")
        page.find(".output", "220,000 of 8,388,608 characters")
        # Texts on which careless expressions take minutes.
        pick(page, "rules")
        call(page)
        page.find(".output .markdown", "a|b", seconds=3)
        pick(page, "hang")
        call(page)
        page.click(".definition button", "Cancel")
        outcome(page, "cancelled")
        pick(page, "echo")
        page.type(page.field("text"), "9007199254740993")
        call(page)
        page.find(".output", "9007199254740993")
        pick(page, "die")
        call(page)
        outcome(page, "no response")
        page.find("#failure", "exit status: 7")
        memory = Path(f"/proc/{page.process.pid}/status").read_text()
        peak = int(re.search(r"VmHWM:\s+(\d+)", memory)[1])
        assert peak < 600_000, f"{peak} kB"


# --- with a server at a URL ----------------------------------------------------------------


def over_http():
    binary = Path(os.environ["CARGO_TARGET_DIR"], "debug/house")
    server = subprocess.Popen([binary, "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    try:
        url = None
        for line in server.stderr:
            if url := re.search(r"http://127\.0\.0\.1:\d+/mcp", line):
                break
        with served(url[0]) as page:
            page.find('button[data-id="book"]', seconds=30)
            for era in ["modern", "legacy"]:
                choose_era(page, era)
                test(f"a question over HTTP in the {era} era", question, page)
                test(f"progress and cancelling over HTTP in the {era} era", progress_and_cancel, page)
            test("a nested form over HTTP", nested_form, page)
            test("both eras over HTTP", compare, page)
    finally:
        server.terminate()
        server.wait(20)


# --- who is not the page -------------------------------------------------------------------


def strangers():
    with served("--", sys.executable, str(here / "naughty.py")) as page:
        page.find('button[data-id="flood"]', seconds=30)
        base, token = page.url.split("/#")

        def status(path, **headers):
            request = urllib.request.Request(base + path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            try:
                return urllib.request.urlopen(request, timeout=5).status
            except urllib.error.HTTPError as error:
                return error.code

        assert status("/api/messages/1", x_mcp_dev_token=token) == 200
        assert status("/api/messages/1") == 401
        assert status("/api/messages/1", x_mcp_dev_token=token, host="evil.example") == 403
        assert status("/api/messages/1", x_mcp_dev_token=token, origin="https://evil.example") == 403
        # Another page in the same browser reaches nothing, even if it knew the token.
        page.open("data:text/html,<title>evil</title>")
        reached = page.run("return fetch(arguments[0], {headers: {'x-mcp-dev-token': arguments[1]}}).then((found) => found.status, () => 'refused')", base + "/api/messages/1", token)
        assert reached == "refused", reached
        page.complaints()
        page.open(base + "/")
        page.find("#server h1", "naughty")  # the session storage of this tab still has the token


# --- as it looks ---------------------------------------------------------------------------


def as_it_looks():
    for dark in [False, True]:
        with served("--project", project, width=1280, height=1100, dark=dark) as page:
            page.find('button[data-id="book"]', seconds=120)
            nested_form(page)
            if dark:
                page.click("button", "Compare eras")
                page.find(".output .badge", "same result")
                page.run("document.querySelector('.wires').scrollIntoView()")
            if images:
                page.shot(f"{images}/mcp-dev-{'dark' if dark else 'light'}.png")
            for width in [400, 800, 2000]:
                page.resize(width, 900)
                spills = page.run("return document.documentElement.scrollWidth - innerWidth")
                assert spills <= 0, f"{spills} pixels too wide at {width}"


with_project()
test("a server that misbehaves", naughty)
over_http()
test("strangers", strangers)
test("widths, light and dark", as_it_looks)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
