"""A client that makes requests of both eras, and says of each failure which fault explains it."""

import http.client
import json
import time

META = "io.modelcontextprotocol/"
MODERN, LEGACY = "2026-07-28", "2025-11-25"
# Maximum time for which a request is sent again, and for which a response may be silent. The proxy gives up an instance
# after 20 s, and a request may get to that instance twice.
PATIENCE, SILENCE = 50, 30
# What a busy machine adds to a time that the server keeps.
SLACK = 1.5
# Time after a fault of Redis in which requests may still be refused.
RECOVERY = 2 + SLACK
# The codes of errors of requests that failed inside the server, and of requests about a task of which nothing is known.
INTERNAL, TRY_AGAIN = -32603, 429
# Time before a request is sent again.
PAUSE, PAUSE_OF_REFUSED = 0.02, 0.1


class Cut(Exception):
    """The connection was cut, or the proxy had no response from an instance."""


class Refused(Exception):
    """The response is 503 with `Retry-After`."""


class Stream:
    """The response to a request, as messages."""

    def __init__(self, port, verb, fields, body=None):
        self.last = None
        try:
            self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SILENCE)
            self.connection.request(verb, "/mcp", body and json.dumps(body), {
                "Accept": "application/json, text/event-stream" if body else "text/event-stream",
                "Content-Type": "application/json", **fields})
            self.response = self.connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise Cut(str(error)) from error
        self.status = self.response.status
        if self.status == 503 and self.response.getheader("Retry-After"):
            raise Refused()
        if self.status in (502, 503, 504):
            raise Cut(str(self.status))

    def messages(self, within=PATIENCE):
        """Yields the messages until the response ends. `Cut` if it does not end as it should, or not in time."""
        end = time.monotonic() + within
        try:
            if "event-stream" not in (self.response.getheader("content-type") or ""):
                text = self.response.read()
                if text:
                    yield json.loads(text)
                return
            data = ""
            while line := self.response.readline():
                # A stream without messages has comments.
                if time.monotonic() > end:
                    raise Cut(f"no end within {within} s")
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "id":
                    self.last = value
                elif name == "data":
                    data = value
                elif not name and data:
                    message, data = json.loads(data), ""
                    yield message
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Cut(str(error)) from error
        finally:
            self.connection.close()


class Client:
    """Makes requests of both eras through the proxy."""

    def __init__(self, cluster, results):
        self.port, self.cluster, self.results, self.number = cluster.port, cluster, results, 0

    def modern(self, method, params, named=None, capabilities=None):
        self.number += 1
        meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": capabilities or {},
                META + "clientInfo": {"name": "kills", "version": "1"}}
        fields = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        named = named or params.get("name") or params.get("uri")
        if named:
            fields["Mcp-Name"] = named
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": {**params, "_meta": meta}}
        return Stream(self.port, "POST", fields, message)

    def legacy(self, session, method, params):
        self.number += 1
        return self.post(session, {"id": self.number, "method": method, "params": params})

    def post(self, session, message):
        fields = {"MCP-Protocol-Version": LEGACY}
        if session:
            fields["Mcp-Session-Id"] = session
        return Stream(self.port, "POST", fields, {"jsonrpc": "2.0", **message})

    def resume(self, session, last):
        fields = {"MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": session}
        return Stream(self.port, "GET", {**fields, **({"Last-Event-ID": last} if last else {})})

    def end(self, kind, began, what):
        """Counts a failure as `what` if a fault explains it."""
        explained = self.explains(began, is_instance=True) or self.explains(began, is_instance=False)
        self.results.add(kind, what if explained else "failed", began)

    def explains(self, began, is_instance):
        """Returns the fault that explains a failure of a request that began then and has ended now."""
        margin = 0.1 if is_instance else RECOVERY
        now = time.monotonic()
        faults = [fault for fault in self.cluster.faults if fault.is_instance == is_instance]
        return next((fault for fault in reversed(faults) if fault.overlaps(began, now, margin)), None)

    def has_lost_data(self):
        return any(fault.loses_data for fault in self.cluster.faults)

    def fail(self, kind, what, began, needs_redis):
        """Counts an attempt that failed, as `what` if a fault explains it."""
        fault = self.explains(began, is_instance=True) if what == "cut" else None
        if not fault and needs_redis:
            fault = self.explains(began, is_instance=False)
        self.results.add(kind, what if fault else "failed", began)
        if fault:
            self.results.note_recovery(kind, time.monotonic() - fault.ended)
        time.sleep(PAUSE_OF_REFUSED if what == "refused" else PAUSE)

    def answer(self, kind, send, needs_redis=True):
        """Sends a request until it is answered. Returns the response and its last message."""
        began = time.monotonic()
        self.results.add(kind, "requests")
        while time.monotonic() < began + PATIENCE:
            since = time.monotonic()
            try:
                stream = send()
                messages = list(stream.messages())
                if not messages and stream.status != 202:
                    raise Cut("no answer")
                message = messages[-1] if messages else {}
                if self.is_about_redis(message, since) and needs_redis:
                    self.fail(kind, "told", since, needs_redis)
                    continue
                if stream.status == 404 and self.has_lost_data():
                    self.results.add(kind, "told", since)
                else:
                    self.results.add(kind, "answered", since)
                return stream, message
            except Cut:
                self.fail(kind, "cut", since, needs_redis)
            except Refused:
                self.fail(kind, "refused", since, needs_redis)
        self.results.add(kind, "lost")
        return None, {}

    def is_about_redis(self, message, since):
        """Returns `True` if a request failed while Redis did not work, so that it has to be sent again."""
        return message.get("error", {}).get("code") in (INTERNAL, TRY_AGAIN) and self.explains(since, is_instance=False)

    def session(self):
        params = {"protocolVersion": LEGACY, "capabilities": {"elicitation": {}},
                  "clientInfo": {"name": "kills", "version": "1"}}
        stream, _ = self.answer("sessions", lambda: self.legacy(None, "initialize", params))
        session = stream.response.getheader("Mcp-Session-Id")
        self.answer("sessions", lambda: self.post(session, {"method": "notifications/initialized"}))
        return session
