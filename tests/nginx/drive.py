"""Drives the fixture `everything` through nginx: what a proxy may hold back, cut, or hide.

    drive.py PORT PORT_OF_TLS CERTIFICATE

Last line: 'N passed, N failed'.
"""

import http.client
import json
import socket
import ssl
import sys
import time
import traceback

NAME = "mcp.example.com"
META = "io.modelcontextprotocol/"
# Less than the time after which a silent stream says that it is alive, which would wash out what a proxy held back.
PATIENCE = 10


class Way:
    """One way to the server."""

    def __init__(self, port, host, tls=None):
        self.port, self.host, self.tls = port, host, tls

    def send(self, verb, body=None, **fields):
        """Sends a request over a connection of its own; gives the response, whose body is still to come."""
        stream = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        if self.tls:
            stream = self.tls.wrap_socket(stream, server_hostname=NAME)
        connection = http.client.HTTPConnection(self.host)
        connection.sock = stream
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        headers |= {name.replace("_", "-"): value for name, value in fields.items() if value is not None}
        connection.request(verb, "/mcp", body and json.dumps(body), headers)
        response = connection.getresponse()
        response.stream = stream
        return response

    def modern(self, method, params, **fields):
        """Sends a request of 2026-07-28."""
        meta = {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": meta}}
        fields |= {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": method, "Mcp_Name": params.get("name")}
        return self.send("POST", message, **fields)

    def tool(self, name, **arguments):
        """Calls a tool; gives the text of its answer."""
        response = self.modern("tools/call", {"name": name, "arguments": arguments})
        assert response.status == 200, response.status
        return json.load(response)["result"]["content"][0]["text"]

    def session(self):
        """Shakes hands; gives the id of the session."""
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "nginx", "version": "1"}}
        response = self.send("POST", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client})
        response.read()
        session = response.headers["Mcp-Session-Id"]
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert self.send("POST", ready, Mcp_Session_Id=session).status == 202
        return session


def events(response):
    """The events of a stream, as they come: (id, message)."""
    assert response.headers["Content-Type"] == "text/event-stream", response.headers
    fields = {}
    while line := response.readline():
        line = line.decode().rstrip("\n")
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            data = fields.get("data")
            if data:
                yield fields.get("id"), json.loads(data)
            fields = {}


def a_call_is_answered(way):
    assert way.tool("echo", text="through nginx") == "through nginx"
    session = way.session()
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "too"}}}
    answer = json.load(way.send("POST", call, Mcp_Session_Id=session))
    assert answer["result"]["content"][0]["text"] == "too"


def a_change_is_heard_at_once(way):
    wanted = {"resourceSubscriptions": ["counter://value"]}
    stream = events(way.modern("subscriptions/listen", {"notifications": wanted}))
    assert next(stream)[1]["method"] == "notifications/subscriptions/acknowledged"
    for _ in range(3):
        way.tool("raise")
        assert next(stream)[1]["method"] == "notifications/resources/updated"


def a_session_hears_changes_at_once(way):
    session = way.session()
    follow = {"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "counter://value"}}
    assert way.send("POST", follow, Mcp_Session_Id=session).status == 200
    stream = events(way.send("GET", Mcp_Session_Id=session))
    for _ in range(3):
        way.tool("raise")
        assert next(stream)[1]["method"] == "notifications/resources/updated"


def progress_comes_before_the_answer(way):
    params = {"name": "count", "arguments": {"steps": 4, "pause_ms": 200}, "_meta": {"progressToken": "t"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    began, times = time.monotonic(), []
    for _ in events(way.send("POST", call, Mcp_Session_Id=way.session())):
        times.append(time.monotonic() - began)
    # Held back, all of them would come together.
    assert len(times) >= 3 and times[-1] - times[0] > 0.3, times


def a_cut_stream_is_resumed(way):
    session = way.session()
    params = {"name": "count", "arguments": {"steps": 10, "pause_ms": 100}, "_meta": {"progressToken": "t"}}
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    response = way.send("POST", call, Mcp_Session_Id=session)
    last, first = next(events(response))
    assert first["method"] == "notifications/progress"
    response.stream.shutdown(socket.SHUT_RDWR)
    rest = [message for _, message in events(way.send("GET", Mcp_Session_Id=session, Last_Event_ID=last))]
    assert rest[-1]["id"] == 7 and rest[-1]["result"]["content"][0]["text"] == "counted to 10", rest


def a_client_that_goes_away_drops_its_call(way):
    before = int(way.tool("dropped"))
    connection = socket.create_connection(("127.0.0.1", way.port), PATIENCE)
    connection = way.tls.wrap_socket(connection, server_hostname=NAME) if way.tls else connection
    meta = {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "doze", "_meta": meta}}
    body = json.dumps(message)
    connection.sendall(
        f"POST /mcp HTTP/1.1\r\nHost: {way.host}\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        f"Mcp-Method: tools/call\r\nMcp-Name: doze\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    # Nothing says that the call has begun; one that never began is not dropped, and the test fails.
    time.sleep(0.5)
    connection.close()
    end = time.monotonic() + PATIENCE
    while int(way.tool("dropped")) == before:
        assert time.monotonic() < end, "the call goes on"
        time.sleep(0.05)


def others_are_refused(way):
    call = {"name": "echo", "arguments": {"text": "x"}}
    response = way.modern("tools/call", call, Origin="http://evil.example.com")
    assert response.status == 403 and b"allow-origin" in response.read(), response.status
    foreign = Way(way.port, "evil.example.com", way.tls)
    assert foreign.modern("tools/call", call).status == 403


def a_body_is_bounded(way):
    call = {"name": "echo", "arguments": {"text": "x" * (4 << 20)}}
    assert way.modern("tools/call", call).status == 413


CHECKS = [
    a_call_is_answered,
    a_change_is_heard_at_once,
    a_session_hears_changes_at_once,
    progress_comes_before_the_answer,
    a_cut_stream_is_resumed,
    a_client_that_goes_away_drops_its_call,
    others_are_refused,
    a_body_is_bounded,
]


def main(port, port_of_tls, certificate):
    ways = {
        "in the clear": Way(int(port), "localhost"),
        "over TLS": Way(int(port_of_tls), NAME, ssl.create_default_context(cafile=certificate)),
    }
    passed = failed = 0
    for how, way in ways.items():
        for check in CHECKS:
            try:
                check(way)
                passed += 1
            except Exception:  # Whatever went wrong, the other checks are worth knowing.
                failed += 1
                print(f"FAILED {how}: {check.__name__}")
                traceback.print_exc(file=sys.stdout)
    print(f"{passed} passed, {failed} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
