"""Counts the instructions and allocations of a server's requests with callgrind."""

import pathlib
import re
import subprocess
import tempfile

ALLOCATORS = {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign"}


class Failed(Exception):
    """The server did not answer as it should."""


def measure(profile):
    """Returns the numbers of instructions and allocations in a whole run."""
    instructions, allocations, callee = 0, 0, None
    names = {}
    for line in profile.read_text(errors="replace").splitlines():
        if line.startswith(("summary:", "totals:")):
            instructions = int(line.split()[1])
        elif found := re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line):
            kind, number, name = found.groups()
            if name is not None:
                names[number] = name.split("@")[0].split("'")[0]
            if kind == "fn":
                caller = names[number]
            else:
                callee = names[number]
        elif line.startswith("calls="):
            if callee in ALLOCATORS and caller not in ALLOCATORS:
                allocations += int(line[6:].split()[0])
    return instructions, allocations


def count(load, server, runs, keep=None):
    """Returns the counts of the run with the fewest instructions.

    Runs differ because valgrind is slow, and a call that takes a long time makes the next calls of its tool start in separate
    tasks.
    """
    best = None
    with tempfile.TemporaryDirectory() as scratch:
        profile = pathlib.Path(scratch) / "profile"
        for _ in range(runs):
            callgrind = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={profile}"]
            run = subprocess.run([*load, *callgrind, *server], capture_output=True, text=True)
            if run.returncode != 0:
                raise Failed(f"{server} {load}: {run.stderr}")
            measured = measure(profile)
            if best is None or measured < best:
                best = measured
                if keep:
                    keep.write_bytes(profile.read_bytes())
    return best


def per_request(load, requests, server, runs, keep=None):
    """Returns the numbers of instructions and allocations per request of a server, which the command `load` starts.

    Two runs with different numbers of requests are subtracted, so that start-up and shutdown do not count.
    """
    few, many = requests
    short = count([*load, "--requests", str(few)], server, runs)
    long = count([*load, "--requests", str(many)], server, runs, keep)
    return [(b - a) / (many - few) for a, b in zip(short, long)]
