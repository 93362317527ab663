"""Requests of both eras, one after the other, whose operations in Redis are counted."""

import http.client
import json
import time

META = "io.modelcontextprotocol/"
TASKS = {"extensions": {META + "tasks": {}}}
MODERN, LEGACY = "2026-07-28", "2025-11-25"
# The time in which an idle instance is watched.
IDLE_SECONDS = 12


class Peer:
    """A client with a connection to an instance."""

    def __init__(self, address):
        self.connection, self.number = http.client.HTTPConnection(address, timeout=30), 0

    def send(self, verb, fields, message=None):
        self.connection.request(verb, "/mcp", message and json.dumps({"jsonrpc": "2.0", **message}), {
            "Accept": "application/json, text/event-stream", "Content-Type": "application/json", **fields})
        return self.connection.getresponse()

    def finish(self, response, status=200):
        """Reads the rest of a response, and returns it with the session that it begins."""
        text = response.read().decode()
        assert response.status == status, f"{response.status}: {text}"
        assert '"error"' not in text and '"isError":true' not in text, text
        return text, response.getheader("Mcp-Session-Id")

    def modern(self, method, params, named, capabilities=None):
        self.number += 1
        meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": capabilities or {},
                META + "clientInfo": {"name": "costs", "version": "1"}}
        fields = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, "Mcp-Name": named}
        message = {"id": self.number, "method": method, "params": {**params, "_meta": meta}}
        return self.finish(self.send("POST", fields, message))[0]

    def modern_call(self, tool, capabilities=None, **arguments):
        return self.modern("tools/call", {"name": tool, "arguments": arguments}, tool, capabilities)

    def start_session(self):
        params = {"protocolVersion": LEGACY, "capabilities": {"elicitation": {}},
                  "clientInfo": {"name": "costs", "version": "1"}}
        _, session = self.finish(self.send("POST", {}, {"id": 0, "method": "initialize", "params": params}))
        self.finish(self.post(session, {"method": "notifications/initialized"}), 202)
        return session

    def post(self, session, message):
        return self.send("POST", {"MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": session}, message)

    def legacy_call(self, session, tool, arguments=None, meta=None):
        """Sends a call and returns the response, which is not read yet."""
        self.number += 1
        params = {"name": tool, "arguments": arguments or {}, **({"_meta": meta} if meta else {})}
        return self.post(session, {"id": self.number, "method": "tools/call", "params": params})

    def answer_question(self, session, other):
        """Makes a call that asks a question, which is answered over another connection."""
        response = self.legacy_call(session, "ask")
        while not (line := response.readline().decode()).startswith("data: {"):
            assert line, "the stream has ended"
        question = json.loads(line.removeprefix("data: "))
        answer = {"id": question["id"], "result": {"action": "accept", "content": {"name": "Ada"}}}
        other.finish(other.post(session, answer), 202)
        text, _ = self.finish(response)
        assert "Ada" in text, text

    def end_session(self, session):
        self.finish(self.send("DELETE", {"Mcp-Session-Id": session}), 204)


def measure(redis, work, number, after=lambda: None):
    """Does the work a number of times. Returns round trips, commands inside scripts and microseconds of Redis, each."""
    for _ in range(20):
        work()
    after()
    redis.reset()
    before = redis.processor_seconds()
    for _ in range(number):
        work()
    after()
    used = redis.processor_seconds() - before
    return [figure / number for figure in figures_of(redis.calls(), used)]


def figures_of(calls, used):
    """Returns round trips, commands inside scripts, and microseconds."""
    # What this program itself asks is not counted.
    own = ("info", "config|resetstat", "config", "zlexcount")
    trips = calls.pop("evalsha", 0) + calls.pop("eval", 0)
    return trips, sum(count for name, count in calls.items() if name not in own), used * 1e6


def idle(redis):
    """Returns the same figures for a second in which nothing is requested."""
    redis.reset()
    before = redis.processor_seconds()
    time.sleep(IDLE_SECONDS)
    return [figure / IDLE_SECONDS for figure in figures_of(redis.calls(), redis.processor_seconds() - before)]


def kinds(redis, one, other, number):
    """Yields the name of each kind of request and its figures. `one` and `other` are addresses of instances."""
    here, there, again = Peer(one), Peer(other), Peer(one)
    session = here.start_session()

    def read(*call, **options):
        return lambda: here.finish(here.legacy_call(session, *call, **options))

    def until_tasks_have_ended():
        # Not a command that scripts use.
        while int(redis.tell("ZLEXCOUNT", "{mcp}:due", "-", "+")):
            time.sleep(0.02)

    def task(tool):
        return measure(redis, lambda: here.modern_call(tool, TASKS, a=1, b=2), number, until_tasks_have_ended)

    sum_of = {"a": 1, "b": 2}
    yield "2026-07-28: a call", measure(redis, lambda: here.modern_call("add", a=1, b=2), number)
    yield "a call with a rate", measure(redis, lambda: here.modern_call("add_rated", a=1, b=2), number)
    yield "a call with one `once`", measure(redis, lambda: here.modern_call("add_once", a=1, b=2), number)
    yield "a task, from its creation to its result", task("add_task")
    yield "a task with one `once`", task("add_task_once")
    created = json.loads(here.modern_call("add_task", TASKS, a=1, b=2))["result"]["taskId"]
    until_tasks_have_ended()
    yield "`tasks/get`", measure(redis, lambda: here.modern("tasks/get", {"taskId": created}, created, TASKS), number)
    yield "a session: `initialize` and `notifications/initialized`", measure(redis, here.start_session, number)
    yield "a call in a session", measure(redis, read("add", sum_of), number)
    reports = read("report", meta={"progressToken": 1})
    yield "a call in a session that reports progress once", measure(redis, reports, number)
    yield "a call in a session with a question", measure(redis, lambda: here.answer_question(session, again), number)
    yield "the same, answered at another instance", measure(redis, lambda: here.answer_question(session, there), number)
    ended = iter([here.start_session() for _ in range(number + 20)])
    yield "the end of a session", measure(redis, lambda: here.end_session(next(ended)), number)
    yield "a change that one of two instances announces", measure(redis, lambda: announce(redis, here), number // 10)
    yield "two instances without requests, in a second", idle(redis)


def announce(redis, peer):
    """Announces a change and waits until it is no longer combined with the next one."""
    peer.modern_call("announce")
    time.sleep(0.15)
