"""Redis servers: a single one, or a primary with a replica and the Sentinel that replaces it."""

import os
import signal
import subprocess
import time

from faults.processes import START_WITHIN, free_ports, until


def ask_redis(port, *words):
    """Sends a command and returns the reply, which is empty if there is none. A server that is paused does not reply."""
    try:
        done = subprocess.run(["redis-cli", "-p", str(port), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, timeout=START_WITHIN)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout


class RedisServer:
    """A Redis server that keeps its data in a folder, where it finds the data when it is started again."""

    def __init__(self, processes, folder, options=()):
        os.makedirs(folder)
        self.processes, self.folder, self.options, self.process = processes, folder, list(options), None
        [self.port] = free_ports(1)
        self.start()

    def start(self):
        self.process = self.processes.start(
            ["redis-server", "--dir", self.folder, "--bind", "127.0.0.1", "--port", str(self.port),
             "--appendonly", "yes", "--appendfsync", "always", "--save", "", *self.options])
        until(lambda: self.tell("PING") == "PONG", "starting Redis")

    def tell(self, *words):
        """Sends a command and returns the reply, which is empty if there is none."""
        return ask_redis(self.port, *words).strip()

    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def kill(self):
        self.process.kill()
        self.process.wait(START_WITHIN)

    def pause(self, seconds):
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)

    def cut_connections(self):
        for kind in ("normal", "pubsub"):
            self.tell("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")


class RedisWithSentinel:
    """A primary, a replica, and the Sentinel that makes the replica the primary when the primary has died."""

    NAME = "kills"
    # A replica that has to copy everything does so immediately.
    OPTIONS = ("--repl-diskless-sync-delay", "0")

    def __init__(self, processes, folder):
        self.processes = processes
        self.primary = RedisServer(processes, os.path.join(folder, "primary"), self.OPTIONS)
        self.replica = RedisServer(processes, os.path.join(folder, "replica"), self.options_of_replica())
        until(self.is_replicated, "copying the data to the replica")
        [self.port] = free_ports(1)
        # A Sentinel writes what it learns to the file.
        settings = os.path.join(folder, "sentinel.conf")
        with open(settings, "w") as file:
            file.write(f"port {self.port}\nbind 127.0.0.1\ndir {folder}\n"
                       f"sentinel monitor {self.NAME} 127.0.0.1 {self.primary.port} 1\n"
                       f"sentinel down-after-milliseconds {self.NAME} 1000\n"
                       f"sentinel failover-timeout {self.NAME} 5000\n")
        processes.start(["redis-server", settings, "--sentinel"])
        until(lambda: str(self.replica.port) in self.ask_sentinel("REPLICAS"), "finding the replica")

    def options_of_replica(self):
        return [*self.OPTIONS, "--replicaof", f"127.0.0.1 {self.primary.port}"]

    def is_replicated(self):
        return "master_link_status:up" in self.replica.tell("INFO", "replication")

    def ask_sentinel(self, question):
        return ask_redis(self.port, "SENTINEL", question, self.NAME)

    def url(self):
        return f"redis-sentinel://127.0.0.1:{self.port}#{self.NAME}"

    def fail_over(self):
        """Kills the primary and waits until the Sentinel names the replica as the primary."""
        self.primary.kill()
        until(lambda: str(self.replica.port) in self.ask_sentinel("GET-MASTER-ADDR-BY-NAME"), "a failover")
        self.primary, self.replica = self.replica, self.primary

    def add_replica(self):
        """Starts the server that was the primary as the replica of the present one."""
        self.replica.options = self.options_of_replica()
        self.replica.start()
        until(self.is_replicated, "copying the data to the replica")
