"""The official clients as traffic: the scripts in tests/interop report what happens to them."""

import json
import os
import subprocess
import threading

from faults.load import Load
from faults.processes import ROOT


class OfficialClients(Load):
    """The official clients, and a client that makes the changes they listen for."""

    def __init__(self, cluster, results, seconds):
        super().__init__(cluster, results, functions=[self.touch], listeners=[])
        self.reports = []
        run = os.path.join(ROOT, "tests", "interop", "run")
        url = f"http://127.0.0.1:{cluster.port}/mcp"
        # Installing the clients takes some time.
        subprocess.run([run, "--setup"], stdout=subprocess.DEVNULL, check=True)
        for kind in ("python", "node"):
            command = [run, "--kills", kind, url, str(seconds)]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            cluster.processes.all.append(process)
            self.listeners.append(threading.Thread(target=self.read, args=[process.stdout], daemon=True))

    def read(self, lines):
        for line in lines:
            self.reports.append(json.loads(line))

    def end(self):
        self.is_over.set()
        # The clients stop by themselves, a few seconds after their last call.
        for reader in self.listeners:
            reader.join(120)
        self.join(120)
        for report in self.reports:
            self.count(report)

    def count(self, report):
        who, what = report["who"], report["what"]
        if what == "heard":
            self.heard.setdefault(who, []).append(report["at"])
            return
        kind = f"{who} {report['kind']}"
        is_explained = any(fault.overlaps(report["began"], report["ended"], 0.1) for fault in self.cluster.faults)
        if what == "cut" and "has ended" in report["error"]:
            what = "told"
        if what != "answered" and not is_explained:
            print(f"{kind}: {report['error']}")
            what = "failed"
        self.results.add(kind, "requests")
        self.results.add(kind, what)
        self.results.note_longest(kind, report["ended"] - report["began"])

    def count_notifications(self):
        for who in sorted(self.heard):
            # Before a client has connected, it hears nothing.
            connected = min(self.heard[who])
            self.count_heard(f"{who} notifications", who, [each for each in self.touched if each[0] > connected])

    def count_steps(self):
        """There are no tasks."""
