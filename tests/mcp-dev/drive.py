"""Drives the page of mcp-dev as a user would.

`drive.py PROGRAM DRIVER PROJECT [IMAGES]`: mcp-dev, the URL of a WebDriver, a cargo project, and a folder for images.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
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
def watched(process, seconds):
    """Kills a process that makes a test wait for longer than this."""
    killer = threading.Timer(seconds, process.kill)
    killer.start()
    try:
        yield
    finally:
        killer.cancel()


def first_line(process):
    with watched(process, 60):
        return process.stderr.readline()


def ended(process, seconds=20):
    """Waits until a process has ended. One that does not end in time is killed."""
    with watched(process, seconds):
        code = process.wait()
    assert code != -signal.SIGKILL, f"it has not ended within {seconds} s"
    return code


@contextmanager
def served(*arguments, folder=None, **window):
    """mcp-dev in a folder with a server, and a browser with its page."""
    process = subprocess.Popen([program, "--no-open", *arguments], stderr=subprocess.PIPE, text=True, cwd=folder)
    browser = None
    try:
        line = first_line(process)
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
        try:
            if browser:
                browser.close()
        finally:
            process.send_signal(signal.SIGINT)
            ended(process)


def test(name, run, *arguments):
    global passed, failed
    if os.environ.get("MCP_DEV_ONLY", "") not in name:
        return
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
    # Long enough to be seen on a busy machine.
    page.type(page.field("rooms"), "30")
    call(page)
    page.find(".output .progress", "of 30")
    outcome(page, "result")
    page.find(".output pre", "30 rooms are clean")
    page.click("#tab-log")
    page.find(".log-row", "room 30 is clean")
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


def task(page):
    """A call that becomes a task: its question, its progress, its result, and cancelling it."""
    pick(page, "paint")
    page.type(page.field("rooms"), "20")
    call(page)
    page.find('#tasks button', "paint")
    page.find(".question", "Which colour?")
    page.type(page.field("colour"), "blue")
    page.click(".question button", "Accept")
    page.find(".output .progress", "painting")
    page.find(".output .progress progress[value][max='20']")
    assert page.run("return document.querySelector('.output .progress .hint')?.innerText ?? ''").count(" of ") <= 1
    outcome(page, "result")
    page.find(".output pre", "20 rooms are blue")
    page.find("#tasks button", "completed")
    page.type(page.field("rooms"), "1000")
    call(page)
    page.find(".question", "Which colour?")
    page.type(page.field("colour"), "red")
    page.click(".question button", "Accept")
    page.find(".output .progress", "painting")
    page.click("#tasks button", "working")
    page.find(".definition-head .badge", "working")
    page.find("#call .blocks > progress[value][max='1000']")
    page.click("#call button", "Cancel task")
    page.find(".definition-head .badge", "cancelled")
    pick(page, "paint")
    outcome(page, "cancelled")


def skills(page):
    page.click('button[data-kind="skills"]', "check-in")
    page.find(".definition-name", "check-in")
    call(page)
    page.find(".output .markdown h3", "Check-in")
    page.click(".files button", "names.md")
    page.find(".output .markdown strong", "never")


def app(page):
    pick(page, "free_rooms")
    page.type(page.field("floor"), "0")
    call(page)
    with page.frame(".app-frame"), page.frame("iframe"):
        page.find("#rooms", "attic 0, garden 0")
        page.click("#up")
        page.find("#above", "attic 1, garden 1")
        page.find("#escape", "reached 0")
        page.click("#others")
        page.find("#refused", "inventory is not for pages")
        page.find("#refused", "no_such_tool is not in the server's list")
    page.complaints()  # what the browser says about its tries


def copied(page):
    pick(page, "guest_book")
    call(page)
    outcome(page, "result")
    pick(page, "picture")
    pick(page, "book")
    page.type(page.field("name"), "Ada's \"cat\"")
    page.run("window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text); };")
    page.click(".copies summary")
    for number, (name, expected) in enumerate([
        ("curl", "Mcp-Name: book"),
        ("command", "cargo run -q -- call book '{\"guest\":{\"name\":\"Ada'\\''s \\\"cat\\\"\""),
        ("Rust test", 'client.call("book", json!({"guest":{"name":"Ada\'s \\"cat\\""'),
    ], 1):
        page.click(".copies button", name)
        end = time.monotonic() + 10
        while len(found := page.run("return window.copied")) < number:
            assert time.monotonic() < end, name
        assert expected in found[-1], found[-1]


def findings(page):
    pick(page, "sweep")
    page.find(".findings", "description", seconds=60)
    source = Path(project, "src/main.rs").read_text().split("\n")
    line = 1 + source.index("fn sweep() {}")
    page.find(".findings .line", f"src/main.rs:{line}")


def away(page):
    """A call that ends while the page has no connection to mcp-dev."""
    page.before_pages("""
        const real = window.fetch;
        const cut = new AbortController();
        window.away = (is) => { window.isAway = is; if (is) cut.abort(); };
        window.fetch = (url, options) => (window.isAway ? Promise.reject(new Error('away'))
          : real(url, url === '/api/events' && !cut.signal.aborted ? { ...options, signal: cut.signal } : options));
    """)
    page.open(page.url.split("#")[0])
    page.find('button[data-id="clean"]')
    pick(page, "clean")
    page.type(page.field("rooms"), "30")
    call(page)
    page.find(".output .progress", "of 30")
    base, token = page.url.split("/#")

    def ended():
        request = urllib.request.Request(base + "/api/events", headers={"x-mcp-dev-token": token})
        with urllib.request.urlopen(request, timeout=60) as events:
            return len(json.loads(events.readline().decode().removeprefix("data: "))["finished"])

    before = ended()
    page.run("away(true)")
    page.find("#notice", "Lost the connection")
    end = time.monotonic() + 60
    while ended() == before:
        assert time.monotonic() < end, "the call"
        time.sleep(0.1)
    page.run("away(false)")
    outcome(page, "result")
    page.find(".output pre", "30 rooms are clean")
    page.gone("#notice")


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
            ("a task", task),
            ("skills", skills),
            ("an app", app),
            ("a call to copy", copied),
            ("findings of check", findings),
            ("a page that was away", away),
            ("only the keyboard", keyboard),
        ]:
            test(name, run, page)
        choose_era(page, "legacy")
        test("a question in the legacy era", question, page)
        test("progress and cancelling in the legacy era", progress_and_cancel, page)
        test("a task in the legacy era", task, page)
        test("an app in the legacy era", app, page)
        choose_era(page, "modern")
        test("an edit of the sources", edit, page)
        test("the time to a new tool", speed, page)
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
        for name, badge in [("flood", "result"), ("nonsense", "result"), ("huge_line", "result"), ("odd_result", "result")]:
            pick(page, name)
            call(page)
            page.find(".output .badge", badge, seconds=60)
        # 100,000 notifications of the flood, of which at most those of a few seconds are shown; the number is told.
        skipped = int(re.search(r"[\d,]+", page.text("#skipped"))[0].replace(",", ""))
        assert skipped > 90_000, skipped
        pick(page, "ask_in_flood")
        call(page)
        page.click(".question button", "Accept")
        page.find(".output", "drowned: accept")
        pick(page, "ask_huge")
        call(page)
        page.find(".output", "larger than 1 MiB")
        pick(page, "ask_much")
        call(page)
        page.find(".output", "ask_much is done")
        pick(page, "large")
        call(page)
        page.find(".output", "20,000 of 8,388,608 characters")
        page.click(".output button", "Show more")
        page.find(".output", "220,000 of 8,388,608 characters")
        pick(page, "large_error")
        call(page)
        page.find(".output .failed", "20,000 of 8,388,608 characters")
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


# --- with long lists, and an app that calls every tool -------------------------------------


def long_lists():
    """Each list is shown as it arrives; a long one is folded."""
    with tempfile.TemporaryDirectory() as folder, served("--", sys.executable, str(here / "shelves.py"), folder) as page:
        section = 'section[data-kind="resources"]'
        shown = lambda: page.run("return document.querySelectorAll(arguments[0]).length", f"{section} .item")
        # All other lists are there, and the first definition is open, while the first page of the resources is not.
        page.find('button[data-id="plan"]', seconds=30)
        page.find('button[data-id="shelf://{at}"]')
        page.find(".definition-name", "plan")
        page.find(f"{section} .loading", "loading")
        assert shown() == 0
        Path(folder, "1").touch()
        page.find(f'{section} button[data-id="shelf://019"]')
        page.find(f"{section} .loading", "loading")
        assert shown() == 20 and not page.run("return document.querySelector(arguments[0])", f"{section} .fold")
        Path(folder, "2").touch()
        page.find(f"{section} .fold", "Show all 40")
        Path(folder, "3").touch()
        page.find(f"{section} .fold", "Show all 60")
        page.gone(".loading")
        assert shown() == 20
        # What is chosen stays when the list is folded again.
        page.click(f"{section} .fold")
        page.click('button[data-id="shelf://059"]')
        page.find(".definition-name", "shelf://059")
        assert shown() == 60
        page.click(f"{section} .fold", "Show fewer")
        page.find(f"{section} .fold", "Show all 60")
        assert shown() == 21
        page.find('button[data-id="shelf://059"][aria-current="true"]')
        # The button keeps the focus.
        assert page.run("return document.activeElement.innerText") == "Show all 60"
        page.type("#search", "shelf 04")
        page.find(f"{section} h2", "11 OF 60")
        page.type("#search", "")
        page.keys("Escape")
        # Code in descriptions is code; markup is text.
        pick(page, "plan")
        page.find("#call .markdown code", "a_date")
        page.find(".field .about code", "YYYY-MM-DD")
        page.find(".field .about", "<b>always</b>")


def app_that_calls_all():
    """A page may call the tools that the server lists now, unless they are only for models."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1, 4):
            Path(folder, str(number)).touch()
        with served("--", sys.executable, str(here / "shelves.py"), folder) as page:
            page.find('button[data-id="plan"]', seconds=30)
            pick(page, "plan")
            call(page)
            with page.frame(".app-frame"), page.frame("iframe"):
                page.click("#all")
                page.find("#log li:nth-child(7)")
                lines = page.run("return [...document.querySelectorAll('#log li')].map((line) => line.innerText)")
            unlisted = "is not in the server's list of tools"
            assert lines == [
                "free: plan free",
                "model_only: model_only is not for pages",
                f"never_listed: never_listed {unlisted}",
                f"toString: toString {unlisted}",
                "change: plan free change",
                "late: plan free change late",
                "free: free is not for pages",
            ], lines
            url = page.run("return document.querySelector('.app-frame').src")
            with urllib.request.urlopen(url, timeout=10) as frame:
                assert "webrtc 'block'" in frame.headers["content-security-policy"], frame.headers
                assert frame.headers["x-content-type-options"] == "nosniff", frame.headers


# --- with a server at a URL ----------------------------------------------------------------


def over_http():
    binary = Path(os.environ["CARGO_TARGET_DIR"], "debug/house")
    server = subprocess.Popen([binary, "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    try:
        url = None
        while not url:
            line = first_line(server)
            assert line, "the server ends"
            url = re.search(r"http://127\.0\.0\.1:\d+/mcp", line)
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
        ended(server)


# --- with other people's servers -----------------------------------------------------------


def completes(page, prompt, argument, text, expected):
    pick(page, prompt)
    page.type(page.field(argument), text)
    end = time.monotonic() + 20
    while expected not in (found := page.run("return [...document.querySelectorAll('datalist option')].map((one) => one.value)")):
        assert time.monotonic() < end, found


def typescript():
    """The official server that has everything."""
    with served("--", os.environ["MCP_DEV_NODE"], os.environ["MCP_DEV_EVERYTHING"], "stdio") as page:
        page.find('button[data-id="echo"]', seconds=60)
        for name in ["completable-prompt", "demo://resource/static/document/features.md", "demo://resource/dynamic/text/{resourceId}"]:
            page.find(f'button[data-id="{name}"]')
        # The server asks a moment after it has started, and the question takes the focus.
        page.find(".question", "roots/list")
        page.click(".question button", "Answer")
        page.gone(".question")
        pick(page, "echo")
        page.type(page.field("message"), "hello")
        call(page)
        page.find(".output pre", "Echo: hello")
        pick(page, "args-prompt")
        page.type(page.field("city"), "Paris")
        call(page)
        page.find(".output .message.user", "Paris")
        pick(page, "demo://resource/static/document/features.md")
        call(page)
        page.find(".output .markdown h3")
        pick(page, "demo://resource/dynamic/text/{resourceId}")
        page.type(page.field("resourceId"), "1")
        call(page)
        page.find(".output pre", "Resource 1")
        completes(page, "completable-prompt", "department", "E", "Engineering")


def fastmcp():
    with served("--", os.environ["MCP_DEV_PYTHON"], str(here / "others" / "server.py")) as page:
        page.find('button[data-id="add"]', seconds=60)
        for era in ["modern", "legacy"]:
            choose_era(page, era)
            page.find('button[data-id="add"]')
            pick(page, "add")
            page.type(page.field("a"), "2")
            page.type(page.field("b"), "3")
            call(page)
            outcome(page, "result")
            page.find(".output", "5")
            pick(page, "poem")
            page.type(page.field("theme"), "love")
            call(page)
            page.find(".output .message.user", "a poem about love")
            pick(page, "cellar://wine")
            call(page)
            page.find(".output pre", "a good year")
            pick(page, "cellar://{shelf}/count")
            page.type(page.field("shelf"), "left")
            call(page)
            page.find(".output pre", "left: 12")
            completes(page, "poem", "theme", "lo", "love")


# --- starting and stopping -------------------------------------------------------------------


def first_call():
    """From nothing to the first call: three commands and five lines."""
    folder = Path(project).parent / "first"
    lines = [
        "use mcp_runtime::prelude::*;",
        '#[tool] fn hello(name: &str) -> String { format!("Hello, {name}!") }',
        "#[mcp_runtime::main]",
        "async fn main() -> Result<(), mcp_runtime::Error> { new_server!().run().await }",
    ]
    runtime = here.parents[1] / "mcp-runtime"
    environment = {**os.environ, "CARGO_TARGET_DIR": os.environ["CARGO_TARGET_DIR"]}
    subprocess.run(["cargo", "new", "--quiet", "--vcs", "none", folder], check=True, timeout=300)
    # The same versions as everywhere else, so that they are compiled already.
    Path(folder, "Cargo.lock").write_text(Path(project, "Cargo.lock").read_text())
    subprocess.run(["cargo", "add", "--quiet", "--path", runtime, "mcp-runtime"], cwd=folder, check=True, env=environment, timeout=300)
    Path(folder, "src/main.rs").write_text("\n".join(lines) + "\n")
    with served("--project", folder) as page:
        page.find('button[data-id="hello"]', seconds=300)
        pick(page, "hello")
        page.type(page.field("name"), "world")
        call(page)
        page.find(".output pre", "Hello, world!")


def speed(page):
    """The time from the end of a build to the new tool in the page."""
    source = Path(project, "src/main.rs")
    text = source.read_text()
    page.run("""
        window.times = {};
        const look = () => {
          if (times.saved === undefined && document.querySelector('#build .busy')) times.saved = performance.now();
          if (times.saved !== undefined && times.built === undefined && document.querySelector('#build .good')) times.built = performance.now();
          if (times.shown === undefined && document.querySelector('button[data-id="feed_dog"]')) times.shown = performance.now();
        };
        window.looking = new MutationObserver(look);
        looking.observe(document.body, { childList: true, subtree: true });
    """)
    new = "/// Feeds the dog.\n#[tool]\nfn feed_dog() -> &'static str { \"wag\" }\n\n"
    source.write_text(text.replace("#[mcp_runtime::main]", new + "#[mcp_runtime::main]"))
    page.find('button[data-id="feed_dog"]', seconds=300)
    took = page.run("looking.disconnect(); return times.shown - times.built")
    print(f"the new tool is in the page {took:.0f} ms after the end of the build", flush=True)
    # The aim is 300 ms; this machine may be slow or busy.
    assert 0 <= took < 5_000, took
    source.write_text(text)
    page.gone('button[data-id="feed_dog"]', seconds=300)


class Host:
    """A host of `mcp-dev --stdio`."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([program, "--stdio", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.notifications = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert ended(self.process, 30) == 0

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def read(self):
        with watched(self.process, 300):
            line = self.process.stdout.readline()
        return json.loads(line)

    def response(self, id):
        while True:
            message = self.read()
            if message.get("id") == id:
                return message
            self.notifications.append(message["method"])

    def ask(self, id, method, **params):
        self.send({"id": id, "method": method, "params": params})
        return self.response(id)

    def told(self, method):
        while method not in self.notifications:
            self.notifications.append(self.read()["method"])


MODERN = {f"io.modelcontextprotocol/{name}": value for name, value in [("protocolVersion", "2026-07-28"), ("clientInfo", {"name": "host", "version": "1"}), ("clientCapabilities", {})]}


def between():
    """Hosts of both eras keep their connections while the server is built again, and when it dies."""
    source = Path(project, "src/main.rs")
    text = source.read_text()
    changed = "notifications/tools/list_changed"
    names = lambda response: [tool["name"] for tool in response["result"]["tools"]]
    with Host("--project", project) as legacy, Host("--project", project) as modern:
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"}}
        assert legacy.ask("open", "initialize", **client)["result"]["serverInfo"]["name"] == "guest-house"
        legacy.send({"method": "notifications/initialized"})
        assert "feed_fish" not in names(legacy.ask(1, "tools/list"))
        assert "feed_fish" not in names(modern.ask(1, "tools/list", _meta=MODERN))
        modern.send({"id": "ear", "method": "subscriptions/listen", "params": {"notifications": {"toolsListChanged": True}, "_meta": MODERN}})
        modern.told("notifications/subscriptions/acknowledged")
        legacy.send({"id": "late", "method": "tools/call", "params": {"name": "clean", "arguments": {"rooms": 1000}, "_meta": {"progressToken": 1}}})
        legacy.told("notifications/progress")
        modern.send({"id": "late", "method": "tools/call", "params": {"name": "clean", "arguments": {"rooms": 1000}, "_meta": {**MODERN, "progressToken": 1}}})
        modern.told("notifications/progress")
        source.write_text(text.replace("#[mcp_runtime::main]", "/// Feeds the fish.\n#[tool]\nfn feed_fish() {}\n\n#[mcp_runtime::main]"))
        for host, meta in [(legacy, {}), (modern, {"_meta": MODERN})]:
            error = host.response("late")["error"]
            assert "was rebuilt" in error["message"], error
            host.told(changed)
            assert "feed_fish" in names(host.ask(2, "tools/list", **meta))
            # A server that dies is started again when it is needed.
            assert "exit status: 3" in host.ask(3, "tools/call", name="burn_down", arguments={}, **meta)["error"]["message"]
            assert "feed_fish" in names(host.ask(4, "tools/list", **meta))
        source.write_text(text)


def recording():
    """What was recorded is played to another build in both eras, and becomes a test that passes; secrets are not in the file."""
    source = Path(project, "src/main.rs")
    text = source.read_text()
    folder = Path(project).parent
    changed = text.replace("price: 80", "price: 90").replace("Shoes off", "Shoes on")
    changed = changed.replace("#[mcp_runtime::main]", "/// Feeds the bird.\n#[tool]\nfn feed_bird() {}\n\n#[mcp_runtime::main]")
    try:
        with served("--project", project, folder=folder) as page:
            page.find('button[data-id="book"]', seconds=300)
            page.click(".record", "Record")
            page.find('.record[aria-pressed="true"]', "Stop")
            nested_form(page)
            question(page)
            pick(page, "unlock")
            page.type(page.field("code"), "open sesame")
            call(page)
            page.find(".output pre", "not with open sesame")
            choose_era(page, "legacy")
            pick(page, "house://rules")
            call(page)
            page.find(".output .markdown h3", "Rules")
            page.find("#messages .wire:has(.dot.legacy) .what", "result of tools/list")
            page.click(".record", "Stop")
            page.find(".definition-name", "recording-1.jsonl")
            page.click(".definition button", "Replay")
            page.find(".report .badge", "no differences", seconds=120)
            page.find(".report .about", "unlock")

            source.write_text(changed)
            page.find('button[data-id="feed_bird"]', seconds=300)
            page.click(".recording-file", "recording-1.jsonl")
            # By keyboard.
            page.run("[...document.querySelectorAll('.definition button')].find((one) => one.innerText === 'Replay').focus()")
            page.keys("Enter")
            page.find(".report .badge.bad", "differences", seconds=120)
            rows = page.run("""
                return [...document.querySelectorAll('.differences tbody')].flatMap(({ rows: [head, ...rows] }) => rows.map(({ cells }) =>
                  [head.querySelector('.dot + span'), head.querySelector('code'), ...cells].map((one) => one.innerText.trim())));
            """)
            for era in ["modern", "legacy"]:
                assert any(row[0] == era and row[1].startswith("tools/call book") and row[2:] == ["/result/structuredContent/nights/0/price", "80", "90"] for row in rows), rows
                assert any(row[0] == era and row[2] == "/result/tools/feed_bird" and row[3] == "—" for row in rows), rows
                assert any(row[0] == era and row[1] == "resources/read house://rules" and "Shoes off" in row[3] and "Shoes on" in row[4] for row in rows), rows
            for width in [400, 800, 2000]:
                page.resize(width, 900)
                spills = page.run("return document.documentElement.scrollWidth - innerWidth")
                assert spills <= 0, f"{spills} pixels too wide at {width}"
            page.click(".definition button", "Turn it into a test")
            page.find(".output pre", "as_in_recording_1")
            written = page.run("return document.querySelector('.output pre').textContent")
        file = folder / "recording-1.jsonl"
        assert "sesame" not in file.read_text()

        run = lambda *more: subprocess.run([program, "replay", file, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        other = run("--project", project)
        assert other.returncode == 1 and "/result/structuredContent/nights/0/price: 80 is now 90" in other.stdout, other
        places = ["/result/structuredContent", "/result/content", "/result/contents", "/result/tools"]
        ignored = run("--project", project, "--json", *[word for place in places for word in ["--ignore", place]])
        assert ignored.returncode == 0 and json.loads(ignored.stdout)["same"] is True, ignored

        source.write_text(f"{text}\n{written}")
        same = run("--project", project)
        assert same.returncode == 0 and same.stdout.count(" 0 differ") == 2, same
        assert run("--test").stdout == written
        passes = subprocess.run(["cargo", "test", "--quiet", "--manifest-path", Path(project, "Cargo.toml")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        assert passes.returncode == 0 and "1 passed" in passes.stdout, passes.stdout
        alien = run("--", sys.executable, here / "naughty.py")
        assert alien.returncode == 2 and "naughty<b>" in alien.stderr and "--anyway" in alien.stderr, alien
    finally:
        source.write_text(text)


def signals():
    """A server that never answers is stopped with mcp-dev, at once."""
    for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
        process = subprocess.Popen([program, "--no-open", "--", "sh", "-c", "sleep 1000 & echo here >&2; wait"], stderr=subprocess.PIPE, text=True)
        with watched(process, 90):
            process.stderr.readline()
            end = time.monotonic() + 30
            while len(started := children(process.pid)) < 2:
                assert time.monotonic() < end, "the server does not start"
                time.sleep(0.05)
            process.send_signal(number)
            assert ended(process, 15) == 0, number
        left = [one for one in started if Path(f"/proc/{one}/stat").exists() and " Z " not in Path(f"/proc/{one}/stat").read_text()]
        assert not left, (number, left)


def children(parent):
    """The processes that a process has started, and those that they have."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    found = [one for one, of in parents.items() if of == parent]
    return found + [deeper for one in found for deeper in children(one)]


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
        # Another page in the same browser reads nothing. That the guard refuses it is for the statuses above.
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
                if not dark:
                    pick(page, "free_rooms")
                    page.type(page.field("floor"), "0")
                    call(page)
                    with page.frame(".app-frame"), page.frame("iframe"):
                        page.find("#rooms", "attic 0, garden 0")
                    page.complaints()  # what the browser says about the page's tries
                    page.shot(f"{images}/mcp-dev-app.png")
                    pick(page, "book")
            for width in [400, 800, 2000]:
                page.resize(width, 900)
                spills = page.run("return document.documentElement.scrollWidth - innerWidth")
                assert spills <= 0, f"{spills} pixels too wide at {width}"


with_project()
test("a server that misbehaves", naughty)
test("long lists", long_lists)
test("an app that calls every tool", app_that_calls_all)
over_http()
test("other people's TypeScript", typescript)
test("other people's Python", fastmcp)
test("the first call", first_call)
test("between a host and a server", between)
test("a recording", recording)
test("signals", signals)
test("strangers", strangers)
test("widths, light and dark", as_it_looks)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
