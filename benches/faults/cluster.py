"""The instances of a server with a Redis, and nginx in front of them."""

import base64
import http.client
import os
import signal
import time
from dataclasses import dataclass

from faults.processes import START_WITHIN, Processes, find_program, free_ports, listens, until
from faults.redis import RedisServer

INSTANCES = 3


@dataclass
class Fault:
    """A time in which something is broken."""

    began: float
    # An instance is broken, so that requests at this instance may be cut; otherwise, Redis is.
    is_instance: bool
    loses_data: bool = False
    ended: float = float("inf")

    def end(self):
        self.ended = time.monotonic()

    def overlaps(self, began, ended, margin=0.0):
        return began < self.ended + margin and ended > self.began


class Cluster:
    """Redis, the instances, and nginx in front of them."""

    def __init__(self, folder, builds, make_redis=RedisServer):
        self.folder, self.processes, self.faults = folder, Processes(), []
        # A rolling update replaces one build by the other.
        self.builds = builds
        self.sealing_key = base64.b64encode(os.urandom(32)).decode()
        *self.ports, self.port = free_ports(INSTANCES + 1)
        self.instances = [None] * INSTANCES
        self.redis = make_redis(self.processes, os.path.join(folder, "redis"))
        open(os.path.join(folder, "go"), "w").close()
        for number in range(INSTANCES):
            self.start_instance(number)
        self.start_nginx()

    def start_instance(self, number, build=0):
        port = self.ports[number]
        variables = {**os.environ, "REDIS_URL": self.redis.url(), "FOLDER": self.folder, "SEALING_KEYS": self.sealing_key}
        with open(os.path.join(self.folder, f"instance-{number}.log"), "a") as log:
            command = [self.builds[build], "--http", f"127.0.0.1:{port}"]
            self.instances[number] = self.processes.start(command, log, env=variables)
        until(lambda: listens(port), "starting an instance")

    def start_nginx(self):
        """Starts nginx with the settings that docs/more-than-one-process.md recommends."""
        servers = " ".join(f"server 127.0.0.1:{port} max_fails=1 fail_timeout=1s;" for port in self.ports)
        paths = " ".join(f"{name}_temp_path {self.folder}/{name};" for name in
                         ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        configuration = os.path.join(self.folder, "nginx.conf")
        with open(configuration, "w") as file:
            file.write(f"""pid {self.folder}/nginx.pid; worker_processes 1; events {{ worker_connections 1024; }}
                {'user root;' if os.getuid() == 0 else ''}
                http {{ access_log off; {paths}
                    upstream instances {{ {servers} }}
                    server {{ listen 127.0.0.1:{self.port};
                        location / {{ proxy_pass http://instances; proxy_http_version 1.1; proxy_buffering off;
                            proxy_set_header Connection ""; proxy_set_header Host $host;
                            proxy_connect_timeout 2s; proxy_read_timeout 20s;
                            proxy_next_upstream error timeout; }} }} }}""")
        self.nginx = self.processes.start([find_program("nginx"), "-e", f"{self.folder}/nginx.log", "-p", self.folder,
                                           "-c", configuration, "-g", "daemon off;"])
        until(lambda: listens(self.port), "starting nginx")

    def begin_fault(self, **options):
        fault = Fault(time.monotonic(), **options)
        self.faults.append(fault)
        return fault

    def kill_instance(self, number):
        fault = self.begin_fault(is_instance=True)
        self.instances[number].kill()
        self.instances[number].wait(START_WITHIN)
        fault.end()
        self.start_instance(number)

    def pause_instance(self, number, seconds):
        fault = self.begin_fault(is_instance=True)
        self.instances[number].send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.instances[number].send_signal(signal.SIGCONT)
        fault.end()

    def update_instance(self, number, build):
        fault = self.begin_fault(is_instance=True)
        self.instances[number].terminate()
        until(lambda: self.instances[number].poll() is not None, "stopping an instance", within=60)
        fault.end()
        self.start_instance(number, build)

    def is_ready(self, number):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.ports[number], timeout=5)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False

    def done(self):
        """Returns what the tools have done, in order."""
        try:
            with open(os.path.join(self.folder, "done")) as file:
                return file.read().split("\n")[:-1]
        except FileNotFoundError:
            return []

    def stop(self):
        try:
            # If nginx is killed, its worker goes on.
            self.nginx.terminate()
            self.nginx.wait(START_WITHIN)
        finally:
            self.processes.stop()
