"""Processes that are started, signalled and stopped, and waiting for them."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Maximum time for a process to start or end.
START_WITHIN = 60
PORTS = (10_000, 32_768)


def free_ports(count):
    """Returns ports on which nothing listens. A connection never gets one of them as its own port, which the system takes from
    the range above, so that a server that was killed can be started again on its port."""
    sockets = {}
    while len(sockets) < count:
        port = random.randrange(*PORTS)
        try:
            sockets[port] = socket.create_server(("127.0.0.1", port))
        except OSError:
            continue
    for one in sockets.values():
        one.close()
    return list(sockets)


def until(condition, what, within=START_WITHIN):
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"kills: {what} takes longer than {within} s")
        time.sleep(0.02)


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def find_program(name):
    """Returns the path of a program, which may be where only root looks for programs."""
    return shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") or sys.exit(f"kills: {name} is not installed")


class Processes:
    """All processes of a scenario, so that none is left."""

    def __init__(self):
        self.all = []

    def start(self, command, log=subprocess.DEVNULL, **options):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **options)
        self.all.append(process)
        return process

    def stop(self):
        for process in self.all:
            process.kill()
            # A stopped process dies as well.
            process.send_signal(signal.SIGCONT)
        for process in self.all:
            process.wait(START_WITHIN)


def build(*names):
    """Builds programs and returns their paths."""
    folder = subprocess.run([os.path.join(ROOT, "tests/programs"), *names], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [os.path.join(folder.strip(), name) for name in names]


def target_folder():
    metadata = subprocess.run(["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT, check=True,
                              stdout=subprocess.PIPE).stdout
    return json.loads(metadata)["target_directory"]
