"""Counts of what happened to requests, as a table, and the bars for them."""

import threading
import time
from collections import Counter, defaultdict

KINDS = ["calls", "sessions", "questions", "tasks", "task requests", "orders", "notifications", "moving streams"]
# Failures that no fault explains.
NEVER = ["failed", "wrong", "lost", "doubled"]
COLUMNS = ["requests", "answered", "cut", "told", "refused", *NEVER]
LEGEND = """`cut`: in flight at an instance that was broken · `told`: ended with an error that says so · `refused`: 503 with Retry-After
`failed`: without such a cause · `longest`: one attempt; for questions and tasks all of it · `recovers`: time after a fault
until the last request was cut, told or refused"""


class Results:
    """What was counted, for each kind of traffic."""

    def __init__(self):
        self.lock = threading.Lock()
        self.counts, self.longest, self.recovery = defaultdict(Counter), defaultdict(float), defaultdict(float)

    def add(self, kind, what, began=None):
        with self.lock:
            self.counts[kind][what] += 1
        if began is not None:
            self.note_longest(kind, time.monotonic() - began)

    def note_longest(self, kind, seconds):
        with self.lock:
            self.longest[kind] = max(self.longest[kind], seconds)

    def note_recovery(self, kind, seconds):
        with self.lock:
            self.recovery[kind] = max(self.recovery[kind], seconds)

    def kinds(self):
        """Returns the kinds of traffic that there was, in a fixed order."""
        others = sorted(set(self.counts) - set(KINDS))
        return [kind for kind in KINDS if kind in self.counts] + others

    def print(self):
        print(f"{'':42}" + "".join(f"{column:>10}" for column in COLUMNS) + "   longest  recovers")
        for kind in self.kinds():
            counts = self.counts[kind]
            print(f"{kind:42}" + "".join(f"{counts[column]:>10}" for column in COLUMNS)
                  + f"{self.longest[kind]:>8.2f} s{self.recovery[kind]:>8.2f} s")


class Bars:
    """Checks with their number of successes and failures."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, is_met, what):
        if is_met:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what}", flush=True)

    def check_never(self, results):
        for kind in results.kinds():
            for bar in NEVER:
                self.check(results.counts[kind][bar] == 0, f"{kind}: {bar}")

    def check_most(self, values, kinds, most, what):
        for kind in kinds:
            self.check(values[kind] <= most, f"{kind}: {what} {values[kind]:.2f} s, more than {most} s")

    def check_busy(self, results, kinds, least):
        """It proves nothing unless something was going on."""
        for kind in kinds:
            self.check(results.counts[kind]["answered"] > least, f"{kind}: hardly any")
