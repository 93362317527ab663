"""Types at terminals of tmux, and waits for what they show.

    drive.py DIRECTORY_OF_THE_PROGRAMS DIRECTORY_OF_MCP_DEV [WORD_IN_A_NAME…]

Nothing here waits for a length of time: each step waits until the screen shows something, for at most two minutes.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LIMIT = float(os.environ.get("LIMIT", "120"))
PROMPT = "ready>"
MCP_DEV = os.path.abspath(sys.argv[2])


class Failed(Exception):
    """The screen does not show what it should."""


class Terminal:
    """A window of tmux that runs a shell."""

    # How a shell is started without the settings of a user, and what it is told first.
    SHELLS = {
        "bash": (["bash", "--norc", "--noprofile"], ["PS1='ready> '; bind 'set enable-bracketed-paste off'"]),
        "zsh": (["zsh", "-f"], ["PS1='ready> '; unsetopt beep; autoload -Uz compinit; compinit -D -u"]),
        "fish": (["fish", "--private"], ["function fish_prompt; echo 'ready> '; end", "set -g fish_autosuggestion_enabled 0", "set -g fish_greeting"]),
    }

    def __init__(self, scratch):
        self.scratch = scratch
        self.socket = os.path.join(scratch, "tmux")

    def start(self, programs, shell="bash", width=80, height=40):
        scratch = self.scratch
        self.commands = 0
        command, first = self.SHELLS[shell]
        environment = {
            "HOME": scratch,
            "PATH": f"{programs}:{MCP_DEV}:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
            "TERM": "screen",
            "XDG_CONFIG_HOME": os.path.join(scratch, "config"),
            "XDG_DATA_HOME": os.path.join(scratch, "data"),
        }
        subprocess.run(
            ["tmux", "-u", "-S", self.socket, "-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), *command],
            env=environment, cwd=scratch, check=True, timeout=LIMIT,
        )
        for line in first:
            self.type(line)
        self.type("clear")
        self.until(lambda screen: screen.strip() == PROMPT, "an empty screen")

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *arguments], capture_output=True, text=True, check=True, timeout=LIMIT)
        return done.stdout

    def keys(self, *keys):
        """Presses keys with the names that tmux has for them."""
        self.tmux("send-keys", *keys)

    def write(self, text):
        """Types without Enter."""
        self.tmux("send-keys", "-l", text)

    def type(self, text):
        """Types a line."""
        self.write(text)
        self.keys("Enter")

    def screen(self, colours=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def until(self, holds, what):
        """Waits until the screen is right, and returns it."""
        end = time.monotonic() + LIMIT
        while True:
            screen = self.screen()
            if holds(screen):
                return screen
            if time.monotonic() > end:
                raise Failed(f"{what} is not shown:\n{screen}")
            time.sleep(0.05)

    def see(self, *texts):
        """Waits until the screen has all these texts, whatever is at the ends of lines."""
        return self.until(lambda screen: all(text in screen for text in texts), " and ".join(map(repr, texts)))

    def see_line(self, pattern):
        """Waits until a line of the screen matches."""
        return self.until(lambda screen: re.search(f"(?m)^{pattern}\\s*$", screen), repr(pattern))

    def clear(self):
        """Empties the line and the screen."""
        self.keys("C-u")
        self.keys("C-l")
        self.until(lambda screen: screen.strip() == PROMPT, "an empty screen")

    def run(self, line):
        """Runs a command on an empty screen, and returns the screen at its end."""
        self.commands += 1
        # The line that is typed does not have the word.
        self.type(f"clear; {line}; echo end''ed {self.commands}")
        return self.see_line(f"ended {self.commands}")

    def end(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, timeout=LIMIT)


def check(holds, what, screen):
    if not holds:
        raise Failed(f"{what}:\n{screen}")


def first_run(terminal):
    terminal.type("garden; echo status $?")
    terminal.see("garden 0.1.0 is an MCP server with 2 tools, 1 prompt, 1 template.", "Tools: water, dig_out", "call water", "--help")
    terminal.keys("C-d")
    terminal.see_line("status 0")


def first_run_over_http(terminal):
    terminal.type("garden --http 127.0.0.1:0; echo status $?")
    screen = terminal.see("is an MCP server with 2 tools", "It serves HTTP until Ctrl-C", "--help")
    url = re.search(r"http://127\.0\.0\.1:\d+/mcp", screen)
    check(url and f"install CLIENT --url {url[0]}" in screen, "how to connect", screen)
    terminal.keys("C-c")
    terminal.see_line(r"(\^C)?status 0")


def welcome_is_for_people(terminal):
    screen = terminal.run("garden </dev/null 2>&1 | cat")
    check("MCP server" not in screen, "a welcome in a pipe", screen)


def progress(terminal):
    terminal.type("everything call count steps=100 pause_ms=1000; echo status $?")
    screen = terminal.until(lambda screen: re.search(r"(?m)^\[[#-]+\] \d+/100 step \d+", screen), "a bar")
    bar = re.search(r"(?m)^\[([#-]+)\]", screen)[1]
    check(len(bar) == 24, "a bar of 24 columns", screen)
    terminal.keys("C-c")
    screen = terminal.see("error: cancelled")
    terminal.see_line("status 130")


def progress_ends(terminal):
    screen = terminal.run("everything call count steps=50")
    check(re.search(r"(?m)^counted to 50\s*$", screen), "the result alone in its line", screen)
    check("step" not in screen, "no bar is left", screen)
    screen = terminal.run("everything call count steps=50 2>&1 | cat")
    check("step" not in screen, "no bar in a pipe", screen)


def narrow_progress(terminal):
    terminal.type("everything call count steps=100 pause_ms=1000 2>/dev/tty; echo status $?")
    # A second report replaces the first in the same line.
    screen = terminal.until(lambda screen: re.search(r"\] [2-9]/100 step", screen), "a second bar")
    check(len(re.findall(r"\[[#-]+\]", screen)) == 1, "one bar", screen)
    check(len(re.search(r"\[([#-]+)\]", screen)[1]) == 13, "a third of the columns", screen)
    terminal.keys("C-c")
    terminal.see("error: cancelled")


def cancelled_in_the_shell(version):
    def case(terminal):
        terminal.type(f"everything shell --protocol-version {version}")
        terminal.see_line("> ?")
        terminal.type("call count steps=100 pause_ms=1000")
        terminal.see("/100 step")
        terminal.keys("C-c")
        terminal.see("error: cancelled")
        # The server goes on, and has dropped the call.
        for calls in range(1, 1000):
            terminal.type("call dropped")
            screen = terminal.until(lambda screen: len(re.findall(r"(?m)^\d+$", screen)) == calls or "\n1\n" in screen, "a number")
            if "\n1\n" in screen:
                break
        else:
            raise Failed("the call was not dropped")
        terminal.type("exit")
        terminal.see_line(PROMPT)
    return case


def cancelled_at_a_question(version):
    def case(terminal):
        terminal.type(f"garden shell --protocol-version {version}")
        terminal.see_line("> ?")
        terminal.type("call dig_out plant=rose")
        terminal.see("(true|false):")
        terminal.keys("C-c")
        terminal.see("error: cancelled")
        # The next line is a command, and not the answer.
        terminal.type("call water plant=rose")
        terminal.see("Rose has had 1 litres")
        terminal.type("call dig_out plant=basil")
        terminal.until(lambda screen: screen.count("(true|false):") == 2, "the second question")
        terminal.type("yes")
        terminal.see("Basil is gone")
        terminal.write("this is no command")
        terminal.see("> this is no command")
        terminal.keys("C-c")
        terminal.type("call water plant=basil")
        screen = terminal.see("Basil has had 1 litres")
        check("there is no command" not in screen, "a line that was given up", screen)
        terminal.keys("C-d")
        terminal.see_line(PROMPT)
    return case


def cancelled_question(terminal):
    terminal.type("garden call dig_out plant=rose; echo status $?")
    terminal.see("(true|false):")
    terminal.keys("C-c")
    terminal.see("error: cancelled")
    terminal.see_line("status 130")


def colours(terminal):
    bold, red = "\x1b[1m", "\x1b[31m"
    def shown(line):
        terminal.run(line)
        return terminal.screen(colours=True)
    screen = shown("garden tools")
    check(f"{bold}water" in screen, "a bold name", screen)
    screen = shown("garden call wa")
    check(re.search("\x1b\\[[0-9;]*31m[^\n]*error:", screen), "a red error", screen)
    for plain in ["NO_COLOR=1 garden tools", "TERM=dumb garden tools", "garden tools | cat", "garden tools --json"]:
        screen = shown(plain)
        check("\x1b[1m" not in screen and red not in screen and "water" in screen, f"no colours with `{plain}`", screen)


def narrow(terminal):
    screen = terminal.run("garden tools")
    words = " ".join(screen.split())
    check("water(" in words and "Digs a plant out, after asking." in words.replace("\n", ""), "the tools", screen)


def wide(terminal):
    screen = terminal.run("garden tools")
    check(re.search(r"(?m)^water\(plant: basil\|rose, litres\?: number 0\.1 to 5\.0 = 1\.0\)\s*$", screen), "a tool in one line", screen)


# What is typed, the key after it, and what the line has to be then.
COMPLETIONS = [
    ("everything comp", "everything complete"),
    ("everything ca", "everything call"),
    ("everything call cou", "everything call count"),
    ("everything call count st", "everything call count steps="),
    ("everything call count --ans", "everything call count --answer"),
    ("everything call switch_extra on=t", "everything call switch_extra on=true"),
    ("everything call log level=warn", "everything call log level=warning"),
    ("everything prompt rev", "everything prompt review"),
    ("everything prompt review code=x lang", "everything prompt review code=x language="),
    ("everything prompt review language=py", "everything prompt review language=python"),
    ("everything prompt review language=rust framework=ac", "everything prompt review language=rust framework=actix"),
    ("everything prompt review language=python framework=fl", "everything prompt review language=python framework=flask"),
    ("everything read memo:///7", "everything read memo:///7"),
    ("everything read counter:", "everything read counter://value"),
    ("everything tools --protocol-version 2025-11", "everything tools --protocol-version 2025-11-25"),
    ("everything tools --protocol-version=2026", "everything tools --protocol-version=2026-07-28"),
    ("everything --json too", "everything --json tools"),
    ("everything install curs", "everything install cursor"),
    ("garden call dig_out plant=ro", "garden call dig_out plant=rose"),
    ("garden read garden:///b", "garden read garden:///basil"),
    ("garden call water @argu", "garden call water @arguments.json"),
    ("mcp-dev chec", "mcp-dev check"),
    ("mcp-dev check --stri", "mcp-dev check --strict"),
    ("mcp-dev check --protocol-version 2025", "mcp-dev check --protocol-version 2025-11-25"),
    ("mcp-dev check --surface argu", "mcp-dev check --surface arguments.json"),
    ("mcp-dev completions fi", "mcp-dev completions fish"),
]


def completion(shell):
    def case(terminal):
        loads = {
            "bash": "source <(mcp-dev completions bash{})",
            "zsh": "source <(mcp-dev completions zsh{})",
            "fish": "mcp-dev completions fish{} | source",
        }
        for program in [" -- everything", " -- garden", ""]:
            terminal.type(loads[shell].format(program))
        terminal.type("echo loaded")
        terminal.see_line("loaded")
        for typed, expected in COMPLETIONS:
            terminal.clear()
            terminal.write(typed)
            terminal.see(typed)
            terminal.keys("Tab")
            # The letter shows that the shell has finished, and that nothing else was inserted.
            terminal.write("Z")
            terminal.see_line(f"{PROMPT} {re.escape(expected)} ?Z")
        # Everything that may stand there.
        terminal.clear()
        terminal.write("garden call water plant=")
        terminal.keys("Tab", "Tab")
        terminal.see("basil", "rose")
        terminal.clear()
        # A tool that is unknown leaves the shell as it is, although `arguments.json` is there.
        terminal.write("garden call none ar")
        terminal.keys("Tab")
        terminal.write("Z")
        terminal.see_line(f"{PROMPT} garden call none arZ")
    return case


CASES = [
    ("the first run says what to type", first_run, {}),
    ("the first run over HTTP says how to connect", first_run_over_http, {"width": 120}),
    ("a pipe gets no welcome", welcome_is_for_people, {}),
    ("a long call shows a bar, and Ctrl-C cancels it", progress, {}),
    ("a bar leaves nothing behind", progress_ends, {}),
    ("a bar fits into 40 columns", narrow_progress, {"width": 40}),
    ("Ctrl-C cancels a call of the shell (2025-11-25)", cancelled_in_the_shell("2025-11-25"), {}),
    ("Ctrl-C cancels a call of the shell (2026-07-28)", cancelled_in_the_shell("2026-07-28"), {}),
    ("Ctrl-C gives a question up (2025-11-25)", cancelled_at_a_question("2025-11-25"), {}),
    ("Ctrl-C gives a question up (2026-07-28)", cancelled_at_a_question("2026-07-28"), {}),
    ("Ctrl-C at a question ends a command", cancelled_question, {}),
    ("colours are for people", colours, {}),
    ("tools are readable in 40 columns", narrow, {"width": 40}),
    ("tools are readable in 200 columns", wide, {"width": 200}),
    ("bash completes", completion("bash"), {"shell": "bash", "width": 120}),
    ("zsh completes", completion("zsh"), {"shell": "zsh", "width": 120}),
    ("fish completes", completion("fish"), {"shell": "fish", "width": 120}),
]


def main():
    # A shell has what it starts in the background ignore Ctrl-C, and so would all programs at the terminals.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    programs = os.path.abspath(sys.argv[1])
    wanted = sys.argv[3:]
    passed = failed = 0
    for name, case, settings in CASES:
        if wanted and not any(word in name for word in wanted):
            continue
        scratch = tempfile.mkdtemp(prefix="mcp-terminal-")
        with open(os.path.join(scratch, "arguments.json"), "w") as file:
            file.write('{"plant": "rose"}')
        terminal = Terminal(scratch)
        start = time.monotonic()
        try:
            terminal.start(programs, **settings)
            case(terminal)
            passed += 1
            print(f"ok      {name} ({time.monotonic() - start:.1f} s)", flush=True)
        except (Failed, subprocess.SubprocessError) as error:
            failed += 1
            print(f"FAILED  {name}: {error}", flush=True)
        finally:
            terminal.end()
            shutil.rmtree(scratch, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
