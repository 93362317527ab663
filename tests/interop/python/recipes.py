"""A linter reads the Dockerfiles that `mcp-dev recipe` prints for programs."""

import os
import subprocess
import sys
from pathlib import Path

LINTER = Path(sys.executable).parent / "hadolint"
# The images move on under their names, on purpose.
ACCEPTED = ["DL3006", "DL3007"]


def check(program):
    words = [os.environ["MCP_DEV"], "recipe", "docker", "--", program]
    recipe = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
    ignored = [word for rule in ACCEPTED for word in ("--ignore", rule)]
    linted = subprocess.run([LINTER, "--no-color", *ignored, "-"], input=recipe, capture_output=True, text=True, timeout=60)
    assert linted.returncode == 0, linted.stdout + linted.stderr
