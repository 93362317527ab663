"""Draws mutants for `run`, names them to cargo-mutants, and counts what became of them."""

import hashlib
import json
import os
import re
import sys

# The share of the mutants a test can find that tests must find.
ENOUGH = 0.90


def essence(name):
    """Returns the change of a mutant, without its line and column."""
    return re.sub(r"^(.*?):\d+:\d+: ", r"\1: ", name)


def draw(count, seed):
    """`count` of the mutants, or all of them for 0: the same ones for the same seed, also if other code moves."""
    seen = {}
    drawn = []
    for mutant in json.load(sys.stdin):
        what = essence(mutant["name"])
        seen[what] = seen.get(what, 0) + 1
        lot = hashlib.sha256(f"{seed}\n{what}\n{seen[what]}".encode()).hexdigest()
        drawn.append((lot, mutant))
    drawn.sort(key=lambda each: each[0])
    chosen = [mutant for _, mutant in drawn[: int(count) or None]]
    json.dump(chosen, sys.stdout, indent=1)
    print()


def patterns():
    """A regular expression for each mutant that was drawn, which no other one matches."""
    for mutant in json.load(sys.stdin):
        print(f"^{re.escape(mutant['name'])}$")


def lines(tree):
    """A diff that changes the lines the drawn mutants begin at: cargo-mutants 27 tries deleted fields whatever their name is,
    unless their lines are not in the diff."""
    drawn = {}
    for mutant in json.load(sys.stdin):
        drawn.setdefault(mutant["file"], set()).add(mutant["span"]["start"]["line"])
    for path, numbers in sorted(drawn.items()):
        with open(os.path.join(tree, path), encoding="utf-8") as file:
            text = file.read().split("\n")
        print(f"--- a/{path}\n+++ b/{path}")
        for number in sorted(numbers):
            print(f"@@ -{number},1 +{number},1 @@\n-\n+{text[number - 1]}")


def equivalents(path):
    """Mutants no test can find: `essence | why`, a line each."""
    known = {}
    with open(path, encoding="utf-8") as lines:
        for line in map(str.strip, lines):
            if line and not line.startswith("#"):
                what, bar, why = line.rpartition(" | ")
                if not (bar and what.strip() and why.strip()):
                    sys.exit(f"{path}: no reason, or nothing it is for: {line}")
                known[what.strip()] = why.strip()
    return known


def judge(path, outcomes):
    known = equivalents(path)
    count = dict.fromkeys(["killed", "survived", "equivalent", "unviable", "timed out"], 0)
    found, results = 0, []
    if os.path.exists(outcomes):
        with open(outcomes, encoding="utf-8") as file:
            results = json.load(file)["outcomes"]
    for outcome in results:
        if not isinstance(outcome["scenario"], dict):
            continue
        name = outcome["scenario"]["Mutant"]["name"]
        kind = {
            "CaughtMutant": "killed",
            "MissedMutant": "survived",
            "Unviable": "unviable",
            "Timeout": "timed out",
        }[outcome["summary"]]
        if kind == "survived" and essence(name) in known:
            kind = "equivalent"
        if kind == "survived":
            print(f"survived: {name}")
        count[kind] += 1
        # A time limit while building says nothing of the tests.
        found += kind == "killed" or kind == "timed out" and len(outcome["phase_results"]) > 1
    print(", ".join(f"{number} {kind}" for kind, number in count.items()))
    sys.exit(found < ENOUGH * (found + count["survived"]))


if __name__ == "__main__":
    {"draw": draw, "patterns": patterns, "lines": lines, "judge": judge}[sys.argv[1]](*sys.argv[2:])
