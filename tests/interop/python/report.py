"""The outcome of each check, and the number of those that passed."""

import sys

passed = failed = 0


def say(who, name, problem=None):
    global passed, failed
    if problem is None:
        passed += 1
    else:
        failed += 1
    print(f"python {who} {name} ... {'ok' if problem is None else 'FAILED: ' + problem}", flush=True)


def skip(who, why):
    print(f"python {who} ... skipped: {why}", flush=True)


def end():
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)
