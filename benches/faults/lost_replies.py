"""Loses messages between an instance and its Redis, one at a time, and checks what a client notices.

A proxy recognizes the scripts that the instance runs. In each row, it drops one request of one kind of script, or one reply,
and cuts the connection. All operations of a client have to succeed nevertheless, and each effect has to happen once.
"""

import glob
import hashlib
import itertools
import json
import os
import re
import select
import socket
import threading
import time
from collections import Counter

from faults.client import LEGACY, Client, Cut, Refused
from faults.processes import ROOT, Processes, free_ports, listens, until
from faults.redis import RedisServer
from faults.table import Results

TASKS = {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
# The scripts that the operations of the client run, or that the instance runs at the same time.
SCRIPTS = ["create", "load", "change", "begin_step", "complete_step", "claim_due", "begin_once", "complete_once",
           "end_once", "insert_session", "load_sessions", "save_session", "append_event", "publish_changes", "receive_changes",
           "receive_messages", "send_message"]
ENDS_WITHIN = 30
# What the operations of a row do, each of it once.
EFFECTS = ["first", "second", "third", "signed", "order", "pay"]


def names_of_scripts():
    """Returns the names of scripts by their digest. A script begins with one or two files that it shares with others."""
    folder = os.path.join(ROOT, "crates", "redis", "src", "lua")
    texts = {os.path.basename(path)[:-4]: open(path, "rb").read() for path in glob.glob(os.path.join(folder, "*.lua"))}
    beginnings = [texts["common"]] + [texts["common"] + shared for shared in texts.values()]
    return {hashlib.sha1(beginning + text).hexdigest(): name
            for beginning, (name, text) in itertools.product(beginnings, texts.items())}


class LossyProxy:
    """Carries messages between instances and Redis. `lose` names the next message that is lost."""

    def __init__(self, target):
        self.target, self.names, self.lost, self.left = target, names_of_scripts(), None, 0
        # Whether a reply has been carried since the last message was lost.
        self.works = True
        # The digests of scripts that are none of the files.
        self.unknown = set()
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def lose(self, script, what, number):
        with self.lock:
            self.lost, self.left = (script, what), number

    def has_lost(self):
        with self.lock:
            return self.lost is None

    def wait_for(self, condition):
        """Waits for a message that follows the operations of a client. An instance sends messages every few seconds anyway."""
        end = time.monotonic() + ENDS_WITHIN
        while not condition() and time.monotonic() < end:
            time.sleep(0.01)

    def is_lost(self, script, what):
        with self.lock:
            if self.lost != (script, what):
                return False
            self.left -= 1
            if self.left == 0:
                self.lost, self.works = None, False
            return self.left == 0

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.carry, args=[client], daemon=True).start()

    def carry(self, client):
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            # Redis has ended before the instance.
            client.close()
            return
        # The scripts whose replies have not been carried yet.
        waiting = []
        try:
            while True:
                readable, _, _ = select.select([client, server], [], [])
                for source in readable:
                    data = source.recv(1 << 20)
                    if not data:
                        return
                    if source is client:
                        digests = [sha.decode() for sha in re.findall(rb"EVALSHA\r\n\$40\r\n([0-9a-f]{40})", data)]
                        self.unknown.update(set(digests) - set(self.names))
                        scripts = [self.names.get(digest) for digest in digests]
                        if any([self.is_lost(script, "request") for script in scripts]):
                            return
                        waiting += scripts
                        server.sendall(data)
                    else:
                        # Several replies may arrive together; then all of them are lost, as they are with a connection.
                        if not data.startswith((b"-NOSCRIPT", b">")):
                            replied, waiting = waiting, []
                            if any([self.is_lost(script, "reply") for script in replied]):
                                return
                            self.works = self.works or bool(replied)
                        client.sendall(data)
        except OSError:
            pass
        finally:
            client.close()
            server.close()


class Row:
    """The operations of a client while one message is lost."""

    def __init__(self, instance, number):
        self.instance, self.id = instance, f"row{number}"
        self.client = Client(instance, Results())
        self.wrong = []

    def expect(self, what, is_right, seen):
        if not is_right:
            self.wrong.append(f"{what}: {seen}")

    def last(self, what, send):
        try:
            return (list(send().messages()) or [{}])[-1]
        except (Cut, Refused) as error:
            return {"cut": type(error).__name__}

    def tool(self, name, arguments, **options):
        return self.last(name, lambda: self.client.modern("tools/call", {"name": name, "arguments": arguments}, **options))

    def run(self):
        for operation in (self.work, self.sign, self.pay, self.session):
            operation()

    def work(self):
        self.task("work", {"id": self.id, "pause_ms": 60})

    def sign(self):
        # A task whose question was answered is claimed again.
        self.task("sign", {"id": self.id})

    def task(self, tool, arguments):
        created = self.tool(tool, arguments, capabilities=TASKS)
        task = created.get("result", {}).get("taskId")
        self.expect(tool, task, created)
        if not task:
            return
        end, state = time.monotonic() + ENDS_WITHIN, {}
        while state.get("status") not in ("completed", "failed", "cancelled") and time.monotonic() < end:
            state = self.request_about_task("tasks/get", task)
            if state.get("inputRequests"):
                answers = {key: {"action": "accept", "content": {"name": "Ada"}} for key in state["inputRequests"]}
                self.request_about_task("tasks/update", task, inputResponses=answers)
            time.sleep(0.02)
        is_done = state.get("status") == "completed" and not state["result"].get("isError")
        self.expect(tool, is_done, state)

    def request_about_task(self, method, task, **params):
        answer = self.last(method, lambda: self.client.modern(
            method, {"taskId": task, **params}, named=task, capabilities=TASKS))
        self.expect(method, "result" in answer, answer)
        return answer.get("result", {})

    def order(self, session):
        # The second call gets the result of the first. The keys of anonymous clients belong to their sessions.
        params = {"name": "order", "arguments": {"id": self.id, "pause_ms": 1}}
        for _ in range(2):
            answer = self.last("order", lambda: self.client.legacy(session, "tools/call", params))
            self.expect("order", not answer.get("result", {"isError": True}).get("isError"), answer)

    def pay(self):
        answer = self.tool("pay", {"id": self.id})
        self.expect("pay", not answer.get("result", {"isError": True}).get("isError"), answer)

    def session(self):
        params = {"protocolVersion": LEGACY, "capabilities": {"elicitation": {}}, "clientInfo": {"name": "k", "version": "1"}}
        try:
            stream = self.client.legacy(None, "initialize", params)
            list(stream.messages())
            session = stream.response.getheader("Mcp-Session-Id")
            list(self.client.post(session, {"method": "notifications/initialized"}).messages())
            uri = {"uri": f"note://{self.id[3:]}"}
            list(self.client.legacy(session, "resources/subscribe", uri).messages())
            self.order(session)
            self.ask(session)
            updates = self.client.resume(session, None)
            self.expect("touch", "result" in self.tool("touch", uri), "no result")
            is_told = any(message.get("params", {}).get("uri") == uri["uri"] for message in updates.messages(ENDS_WITHIN))
            self.expect("update", is_told, "none")
        except (Cut, Refused) as error:
            self.expect("session", False, f"{type(error).__name__} {error}")

    def ask(self, session):
        answered = False
        for message in self.client.legacy(session, "tools/call", {"name": "ask", "arguments": {}}).messages():
            if message.get("method") == "elicitation/create":
                result = {"action": "accept", "content": {"name": "Ada"}}
                self.client.post(session, {"id": message["id"], "result": result})
            answered = answered or "result" in message
        self.expect("question", answered, "no answer")


class Instance:
    """One instance that reaches Redis through the proxy. It looks like a cluster to a client."""

    def __init__(self, folder, program, proxy, processes):
        [self.port] = free_ports(1)
        self.folder, self.faults = folder, []
        open(os.path.join(folder, "go"), "w").close()
        variables = {**os.environ, "REDIS_URL": f"redis://127.0.0.1:{proxy.port}", "FOLDER": folder}
        with open(os.path.join(folder, "instance.log"), "a") as log:
            processes.start([program, "--http", f"127.0.0.1:{self.port}"], log, env=variables)
        until(lambda: listens(self.port), "starting an instance")

    def done(self):
        with open(os.path.join(self.folder, "done")) as file:
            return Counter(file.read().split("\n")[:-1])


def lose_messages(folder, program, bars, most):
    processes = Processes()
    try:
        redis = RedisServer(processes, os.path.join(folder, "redis"))
        proxy = LossyProxy(redis.port)
        instance = Instance(folder, program, proxy, processes)
        began, lost = time.monotonic(), 0
        rows = list(itertools.product(SCRIPTS, ("request", "reply"), range(1, most + 1)))
        for number, (script, what, times) in enumerate(rows):
            row = Row(instance, number)
            proxy.lose(script, what, times)
            row.run()
            if times == 1:
                # A row proves nothing if its message was never sent.
                proxy.wait_for(proxy.has_lost)
                row.expect("the message", proxy.has_lost(), "was not sent")
            lost += proxy.has_lost()
            # If the next connection is lost as well before anything has worked, Redis rightly counts as failing.
            proxy.wait_for(lambda: proxy.works)
            for effect in EFFECTS:
                times_done = instance.done()[f"{row.id} {effect}"]
                row.expect(effect, times_done == 1, f"{times_done} times")
            bars.check(not row.wrong, f"{what} {times} of {script} is lost: {'; '.join(row.wrong)}")
        print(f"{len(rows)} rows, {lost} messages lost, {time.monotonic() - began:.0f} s")
        bars.check(not proxy.unknown, f"{len(proxy.unknown)} scripts are unknown")
    finally:
        processes.stop()
