"""Runs the commands of mcp-dev for servers made with mcp-runtime, as a person or a pipeline would.

    commands.py MCP_DEV DIRECTORY_OF_THE_PROGRAMS [WORD_IN_A_NAME…]
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

MCP_DEV, PROGRAMS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LIMIT = 120
# Some servers keep files in their directory.
SCRATCH = tempfile.mkdtemp(prefix="mcp-dev-commands-")


def run(name, program, *arguments, environment=None, directory=None):
    """Runs a command for a program. Gives its status, its output and its errors."""
    done = subprocess.run(
        [MCP_DEV, name, *arguments, "--", os.path.join(PROGRAMS, program)],
        capture_output=True, text=True, timeout=LIMIT, env=os.environ if environment is None else environment, cwd=directory or SCRATCH,
    )
    return done.returncode, done.stdout, done.stderr


def check(program, *arguments, **options):
    return run("check", program, *arguments, **options)


def good(ran):
    status, output, errors = ran
    assert status == 0, output + errors
    return output


FAULTS = [
    ("refused: tool `files.read`", "some clients reject this name"),
    ("advice: tool `files.read`", "has no description"),
    ("advice: tool `files.read`", "argument `path` has no description"),
    ("advice: tool `paint_over`", "has no description"),
    ("advice: tool `book`", "the description is long"),
    ("refused: tool `book`", "has `anyOf` at its root"),
    ("refused: tool `book`", "/place refers to another schema with `$ref`"),
    ("refused: tool `book`", "/when has several types"),
    ("advice: tool `book`", "/count has the format `uint32`"),
    ("refused: tool `book`", "/size has non-string `enum` values"),
    ("refused: tool `book`", "/tags is an array without `items`"),
    ("refused: tool `book`", "some clients reject the name of /who is it"),
    ("refused: tool `sort`", "/order has an empty string among its `enum` values"),
    ("refused: tool `bare`", "the schema of the arguments has no `properties`"),
    ("refused: tool `bare`", "the schema requires `a`, which it does not declare"),
    ("refused: tool `bare`", "/Any is a boolean instead of a schema"),
    ("advice: prompt `greet`", "has no description"),
    ("advice: prompt `greet`", "argument `name` has no description"),
    ("advice: resource `faulty://nothing`", "has no description"),
    ("advice: skill `paint`", "an unknown member `version`"),
    ("advice: skill `paint`", "`SKILL.md` links to `references/colors.md`, which is not in the skill; did you mean `references/colours.md`?"),
    ("refused: skill `paint`", "`skill://paint/references/colours.md` does not match its digest"),
    ("advice: skill `paint`", "has the same name as skill `old/paint`"),
    ("refused: page `ui://fixtures/ui/faulty.html`", 'write `csp(resource_domains("https://cdn.example.com"))`'),
    ("refused: page `ui://fixtures/ui/faulty.html`", 'write `csp(connect_domains("https://api.example.com"))`'),
    ("refused: page `ui://fixtures/ui/faulty.html`", "it loads `style.css`"),
    ("refused: page `ui://fixtures/ui/faulty.html`", "did you mean `book`?"),
    ("refused: page `ui://fixtures/ui/faulty.html`", 'without `<script src="mcp-app.js"></script>`'),
]


def check_finds_every_fault_and_its_line():
    status, output, errors = check("faulty")
    assert status == 1, output + errors
    lines = output.splitlines()
    for kind, text in FAULTS:
        assert any(line.startswith(kind) and text in line for line in lines), f"{kind}: {text}\n{output}"
    at = next(number for number, line in enumerate(lines) if line.startswith("refused: tool `files.read`"))
    place, line = lines[at + 1].removeprefix("  at ").rsplit(":", 1)
    assert place == "tests/fixtures/src/bin/faulty.rs", lines[at + 1]
    source = open(os.path.join(ROOT, place)).read().splitlines()
    assert "#[tool" in source[int(line) - 1] + source[int(line)] or "fn files_read" in source[int(line) - 1], source[int(line) - 1]


def advice_fails_only_a_strict_check():
    for program in ["garden", "chart", "skills"]:
        good(check(program, "--strict"))
    good(check("notes"))
    assert check("notes", "--strict")[0] == 1


def earlier_versions_have_no_skills():
    _, output, _ = check("faulty", "--protocol-version", "2025-11-25")
    assert "tool `book`" in output and "skill `" not in output, output


def programs_read_json():
    report = json.loads(check("faulty", "--json")[1])
    assert any(finding["severity"] == "refused" and "faulty.rs:" in finding.get("line", "") for finding in report["findings"]), report
    report = json.loads(good(check("weather", "--json")))
    assert report["secretVariables"] == ["WEATHER_API_KEY"], report


def tokens_are_counted_by_tool_and_a_search_is_known():
    report = json.loads(good(check("many_tools", "--json")))
    tokens = [cost["tokens"] for cost in report["tokensByTool"]]
    assert tokens == sorted(tokens, reverse=True) and sum(tokens) == report["tokens"], report
    # A client sees these three of the six in the list.
    assert (len(tokens), report["tools"]) == (3, 6), report
    assert "the 3 tools that models read use about" in good(check("many_tools"))
    assert "\ntokens by tool: " in good(check("garden"))


def the_surface_is_that_of_tests():
    with tempfile.TemporaryDirectory() as directory:
        gate = lambda *more: check("garden", "--surface", "surface.json", *more, directory=directory)
        file = os.path.join(directory, "surface.json")
        assert "create it with `--save`" in gate()[2]
        good(gate("--save"))
        assert "no problems found" in good(gate())
        saved = open(file).read()
        assert saved == open(os.path.join(ROOT, "examples/surface/garden.json")).read(), saved
        older = json.loads(saved)
        older["tools"][1]["inputSchema"]["properties"]["litres"]["maximum"] = 9
        older["tools"][0]["name"] = "dig"
        json.dump(older, open(file, "w"))
        status, output, _ = gate()
        assert status == 1, output
        for line in [
            "breaking: tool `dig` was removed\n",
            "breaking: tool `water`: /litres: `maximum` is now `5.0`, was `9`\n",
            "changed: tool `dig_out` was added\n",
        ]:
            assert line in output, output
        good(gate("--save"))  # accepts what changed
        good(gate())


def a_server_with_every_feature_is_checked_without_its_settings():
    with tempfile.TemporaryDirectory() as directory:
        gate = lambda *more: check("many_features", "--strict", "--surface", "surface.json", *more, environment={}, directory=directory)
        for more in [["--save"], []]:
            status, output, errors = gate(*more)
            assert status == 0 and "no problems found" in output, output + errors
            assert "does not start without its settings" in errors and "MANY_FEATURES_URL" in errors, errors
        saved = open(os.path.join(directory, "surface.json")).read()
        for name in ["order", "summary", "orders:///{number}", "skill://ordering/SKILL.md"]:
            assert name in saved, saved


def types_describe_the_tools_and_the_bridge():
    output = good(run("types", "chart"))
    for part in [
        '  /** Returns the sales of each month of a year, in thousands of euros. */\n  "sales": {\n    arguments: {',
        "      /** The year, such as 2025 */\n      year: number;\n",
        "      /** Thousands of euros, beginning with January */\n      months: number[];\n",
        'type McpPageTool = "sales";\n',
        "declare const mcpApp: {",
    ]:
        assert part in output, f"{part}\n{output}"
    # Tools that clients have to search for are among them.
    assert '"merge_pull_request": {' in good(run("types", "many_tools"))
    # The settings of the server are not needed.
    assert '"order": {' in good(run("types", "many_features", environment={}))


def an_unknown_tool_has_no_arguments_to_complete():
    words = [MCP_DEV, "__complete", "fish", os.path.join(PROGRAMS, "garden"), "--", "call"]
    complete = lambda *more: subprocess.run([*words, *more], capture_output=True, text=True, timeout=LIMIT, cwd=SCRATCH)
    # File names would be wrong: with them, the status is 1.
    done = complete("none", "ar")
    assert (done.returncode, done.stdout) == (0, ""), done
    assert complete("water", "@ar").returncode == 1


CASES = [
    check_finds_every_fault_and_its_line,
    advice_fails_only_a_strict_check,
    earlier_versions_have_no_skills,
    programs_read_json,
    tokens_are_counted_by_tool_and_a_search_is_known,
    the_surface_is_that_of_tests,
    a_server_with_every_feature_is_checked_without_its_settings,
    types_describe_the_tools_and_the_bridge,
    an_unknown_tool_has_no_arguments_to_complete,
]


def main():
    passed = failed = 0
    for case in CASES:
        name = case.__name__.replace("_", " ")
        if sys.argv[3:] and not any(word in name for word in sys.argv[3:]):
            continue
        start = time.monotonic()
        try:
            case()
            passed += 1
            print(f"ok      {name} ({time.monotonic() - start:.1f} s)", flush=True)
        except (AssertionError, subprocess.SubprocessError, ValueError, LookupError, OSError, StopIteration):
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
