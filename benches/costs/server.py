"""Redis without persistence, and instances of the measured server."""

import os
import subprocess

from faults.redis import RedisServer


class CountedRedis(RedisServer):
    """A Redis server that says what it has done since the last time."""

    def __init__(self, processes, folder):
        super().__init__(processes, folder, ["--appendonly", "no"])

    def info(self, section):
        lines = self.tell("INFO", section).splitlines()
        return dict(line.strip().split(":", 1) for line in lines if ":" in line)

    def reset(self):
        self.tell("CONFIG", "RESETSTAT")

    def calls(self):
        """Returns how often each command was called, by clients and by scripts."""
        stats = self.info("commandstats").items()
        return {name.removeprefix("cmdstat_"): int(text.split(",")[0].removeprefix("calls=")) for name, text in stats}

    def processor_seconds(self):
        used = self.info("cpu")
        return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])

    def memory(self):
        return int(self.info("memory")["used_memory"])


class Instance:
    """An instance, which ends with its input."""

    def __init__(self, program, redis=None):
        variables = {**os.environ, **({"REDIS_URL": redis.url()} if redis else {})}
        self.process = subprocess.Popen([program, "http"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables)
        self.address = self.process.stdout.readline().decode().strip()

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
