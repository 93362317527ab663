"""The traffic of both eras: calls, sessions, questions, tasks, changes and their listeners."""

import http.client
import json
import threading
import time

from faults.client import Client, Cut, Refused
from faults.processes import until

FOREVER = float("inf")
TASKS = "io.modelcontextprotocol/tasks"
URI = "note://1"
ECHO = {"name": "echo", "arguments": {"text": "hello"}}
# Maximum time for a change to be heard, and for a question or a task to end.
HEARD_WITHIN, END_WITHIN = 5, 60
TASK_CLIENTS, PAUSE_OF_TASKS = 2, 50
# The resources of the session whose stream moves between instances. Each changes less often than it must be heard of.
MOVING_URIS = [f"note://{number}" for number in range(10, 40)]
# Time after which a task that was created, but whose call was refused, would have been run by another instance.
LEASE_LAPSED = 5


class Load:
    """Clients that work until the scenario is over. Each has its own thread."""

    def __init__(self, cluster, results, functions, listeners):
        self.cluster, self.results = cluster, results
        self.is_over = threading.Event()
        # Listeners go on until the last change must have been heard.
        self.is_heard = threading.Event()
        # When each change was requested and when it was made, and the times at which each listener has heard of one.
        self.touched, self.heard = [], {}
        self.threads = [self.thread(function) for function in functions]
        self.listeners = [self.thread(function) for function in listeners]

    def thread(self, function):
        return threading.Thread(target=function, name=function.__name__, args=[Client(self.cluster, self.results)], daemon=True)

    def start(self):
        for thread in self.listeners + self.threads:
            thread.start()

    def end(self):
        """Waits until all work has come to its end, and the changes have been heard."""
        self.is_over.set()
        self.join(END_WITHIN * 2)
        self.wait_for_notifications()
        self.is_heard.set()

    def join(self, within):
        """Waits until all clients have ended. One that has not is lost."""
        end = time.monotonic() + within
        for thread in self.threads:
            thread.join(max(end - time.monotonic(), 0))
            if thread.is_alive():
                self.results.add(f"client: {thread.name}", "lost")

    def touch(self, client):
        params = {"name": "touch", "arguments": {"uri": URI}}
        while not self.is_over.is_set():
            requested = time.monotonic()
            _, answer = client.answer("calls", lambda: client.modern("tools/call", params), needs_redis=False)
            if "result" in answer:
                self.touched.append((requested, time.monotonic()))
            time.sleep(0.5)

    def due(self, touched):
        """Returns the time until which a change must have been heard. A fault may delay it until the fault's end."""
        faults = [fault for fault in self.cluster.faults if fault.overlaps(touched, touched + HEARD_WITHIN)]
        return max([touched, *(fault.ended for fault in faults)]) + HEARD_WITHIN

    def time_heard(self, who, requested):
        # A change may be heard before the request for it is answered.
        return next((heard for heard in self.heard[who] if heard > requested), FOREVER)

    def wait_for_notifications(self):
        """Waits until the last change has been heard, or must have been."""
        last = self.last_change()
        while time.monotonic() < self.due(last) and not self.has_heard_last():
            time.sleep(0.1)

    def last_change(self):
        return max((touched for _, touched in self.touched), default=0)

    def has_heard_last(self):
        requested, _ = max(self.touched, default=(0, 0))
        return all(self.time_heard(who, requested) < FOREVER for who in self.heard)

    def count_notifications(self):
        for who in self.heard:
            self.count_heard("notifications", who, self.touched)

    def count_heard(self, kind, who, touched):
        for requested, at in touched:
            heard = self.time_heard(who, requested)
            self.results.add(kind, "requests")
            self.results.add(kind, "answered" if heard <= self.due(at) else "lost")
            self.results.note_longest(kind, min(max(heard - at, 0), END_WITHIN))


class MixedLoad(Load):
    """Calls, sessions, questions, tasks, changes and listeners of both eras."""

    def __init__(self, cluster, results, task_clients=TASK_CLIENTS, pause_of_tasks=PAUSE_OF_TASKS):
        functions = [self.modern_calls] * 2 + [self.legacy_calls] * 2 + [self.questions] * 2
        functions += [self.tasks] * task_clients + [self.orders, self.touch, self.touch_many]
        super().__init__(cluster, results, functions, [self.listen_legacy, self.listen_modern, self.listen_moving])
        self.pause_of_tasks, self.finished_tasks = pause_of_tasks, []
        # Orders that were placed, and tasks and orders of which the client was told that they were not carried out.
        self.placed, self.refused = [], []
        # The times at which the resources of the moving session have changed, and at which it has heard of them.
        self.touched_many, self.heard_many = [], []
        self.heard = {"legacy": [], "modern": []}

    def start(self):
        super().start()
        # On a busy machine, the first subscriptions take longer than the time until the first fault.
        until(lambda: self.heard_many and all(self.heard.values()), "listening")

    def modern_calls(self, client):
        while not self.is_over.is_set():
            stream, answer = client.answer("calls", lambda: client.modern("tools/call", ECHO), needs_redis=False)
            if stream and "result" not in answer:
                self.results.add("calls", "wrong")
            time.sleep(0.01)

    def legacy_calls(self, client):
        session = client.session()
        while not self.is_over.is_set():
            stream, answer = client.answer("sessions", lambda: client.legacy(session, "tools/call", ECHO))
            if stream and "result" not in answer:
                if not (stream.status == 404 and client.has_lost_data()):
                    self.results.add("sessions", "wrong")
                session = client.session()
            time.sleep(0.01)

    def tasks(self, client):
        while not self.is_over.is_set():
            began, number = time.monotonic(), f"{threading.get_ident()}-{client.number}"
            task = self.create_task(client, number)
            if task:
                self.follow_task(client, task, number, began)

    def create_task(self, client, number):
        """Creates a task and returns its id. A request without an answer may have created a task or not."""
        began = time.monotonic()
        self.results.add("tasks", "requests")
        arguments = {"id": number, "pause_ms": self.pause_of_tasks}
        try:
            response = client.modern("tools/call", {"name": "work", "arguments": arguments},
                                     capabilities={"extensions": {TASKS: {}}})
            created = (list(response.messages()) or [{}])[-1]
            if "taskId" in created.get("result", {}):
                return created["result"]["taskId"]
            if created:
                self.refused.append(number)
            client.fail("tasks", "told" if created else "cut", began, needs_redis=True)
        except Cut:
            client.fail("tasks", "cut", began, needs_redis=True)
        except Refused:
            self.refused.append(number)
            client.fail("tasks", "refused", began, needs_redis=True)
        return None

    def follow_task(self, client, task, number, began):
        capabilities, state = {"extensions": {TASKS: {}}}, {}
        while state.get("status") not in ("completed", "failed", "cancelled"):
            if time.monotonic() > began + END_WITHIN:
                self.results.add("tasks", "lost")
                return
            time.sleep(0.1)
            _, answer = client.answer("task requests", lambda: client.modern(
                "tasks/get", {"taskId": task}, named=task, capabilities=capabilities))
            if "error" in answer:
                # Unknown.
                if not client.has_lost_data():
                    print(f"a task is lost: {answer['error']}")
                self.results.add("tasks", "told" if client.has_lost_data() else "lost")
                return
            state = answer.get("result", {})
        # A step that was interrupted between its claim and its mark is not run again: the handler returns an error.
        if state["status"] == "completed" and not state.get("result", {}).get("isError"):
            self.finished_tasks.append(number)
            self.results.add("tasks", "answered", began)
        else:
            client.end("tasks", began, "told")

    def orders(self, client):
        """Places orders, each of which is sent again until it is answered."""
        # The keys of anonymous clients belong to their sessions.
        session = client.session()
        while not self.is_over.is_set():
            number = f"order-{client.number}"
            self.results.add("orders", "requests")
            ended = self.place_order(client, session, number)
            if ended == "placed":
                self.placed.append(number)
            elif ended == "lost session":
                self.results.add("orders", "told" if client.has_lost_data() else "wrong")
                session = client.session()
            time.sleep(0.02)

    def place_order(self, client, session, number):
        began = time.monotonic()
        params = {"name": "order", "arguments": {"id": number, "pause_ms": 50}}
        while time.monotonic() < began + END_WITHIN:
            since = time.monotonic()
            try:
                stream = client.legacy(session, "tools/call", params)
                if stream.status == 404:
                    return "lost session"
                answer = (list(stream.messages()) or [{}])[-1]
            except Cut:
                client.fail("orders", "cut", since, needs_redis=True)
                continue
            except Refused:
                client.fail("orders", "refused", since, needs_redis=True)
                continue
            if "result" in answer and not answer["result"].get("isError"):
                self.results.add("orders", "answered", since)
                return "placed"
            if "has not ended" in json.dumps(answer):
                # The first call may have done it: the client is told so, and does not send it again.
                client.end("orders", began, "told")
                return None
            client.fail("orders", "told", since, needs_redis=True)
        self.results.add("orders", "lost")
        return None

    def questions(self, client):
        session = client.session()
        while not self.is_over.is_set():
            began = time.monotonic()
            self.results.add("questions", "requests")
            try:
                stream = client.legacy(session, "tools/call", {"name": "ask", "arguments": {}})
            except Cut:
                client.fail("questions", "cut", began, needs_redis=True)
                continue
            except Refused:
                client.fail("questions", "refused", began, needs_redis=True)
                continue
            ended = self.follow_question(client, session, stream, began)
            if ended == "answered":
                self.results.add("questions", ended, began)
            elif ended == "lost session":
                self.results.add("questions", "told" if client.has_lost_data() else "wrong", began)
                session = client.session()
            elif ended:
                client.end("questions", began, ended)
            else:
                self.results.add("questions", "lost", began)

    def follow_question(self, client, session, stream, began):
        """Reads a response to its end, and resumes it if it is cut."""
        while time.monotonic() < began + END_WITHIN:
            if stream.status == 404:
                return "lost session"
            try:
                for message in stream.messages():
                    if message.get("method") == "elicitation/create":
                        if self.answer_question(client, session, message["id"]) == 404:
                            return "lost session"
                    elif "result" in message or "error" in message:
                        return "answered" if "result" in message else "told"
            except Cut:
                pass
            if stream.last is None:
                return "cut"
            last, stream = stream.last, self.resume(client, session, stream.last, began)
            if stream is None:
                return None
            stream.last = last
        return None

    @staticmethod
    def resume(client, session, last, began):
        while time.monotonic() < began + END_WITHIN:
            time.sleep(0.05)
            try:
                return client.resume(session, last)
            except (Cut, Refused):
                pass
        return None

    @staticmethod
    def answer_question(client, session, question):
        """Answers until the answer is accepted, or refused for good. Returns the status."""
        began = time.monotonic()
        result = {"action": "accept", "content": {"name": "Ada"}}
        while time.monotonic() < began + END_WITHIN:
            try:
                stream = client.post(session, {"id": question, "result": result})
                stream.response.read()
                return stream.status
            except (Cut, Refused, OSError, http.client.HTTPException):
                time.sleep(0.1)
        return None

    def listen_legacy(self, client):
        session = None
        while not self.is_heard.is_set():
            if session is None:
                session = client.session()
                client.answer("sessions", lambda: client.legacy(session, "resources/subscribe", {"uri": URI}))
            stream = self.listen("legacy", lambda: client.resume(session, None))
            if stream and stream.status == 404:
                session = None

    def listen_modern(self, client):
        follows = {"notifications": {"resourceSubscriptions": [URI]}}
        while not self.is_heard.is_set():
            self.listen("modern", lambda: client.modern("subscriptions/listen", follows))

    def touch_many(self, client):
        number = 0
        while not self.is_over.is_set():
            uri = MOVING_URIS[number % len(MOVING_URIS)]
            params = {"name": "touch", "arguments": {"uri": uri}}
            requested = time.monotonic()
            _, answer = client.answer("calls", lambda: client.modern("tools/call", params), needs_redis=False)
            if "result" in answer:
                self.touched_many.append((requested, time.monotonic(), uri))
            number += 1
            time.sleep(0.3)

    def listen_moving(self, client):
        """Resumes a session's stream again and again, each time at the next instance."""
        session, last = None, None
        while not self.is_heard.is_set():
            if session is None:
                session, last = self.moving_session(client), None
                continue
            try:
                stream = client.resume(session, last)
                if stream.status == 404:
                    session = None
                if stream.status != 200:
                    # The client has to read everything anew.
                    last = None
                    continue
                if last is None:
                    self.heard_many.append((time.monotonic(), None))
                # The id in the first event is that of the last event before.
                for heard, message in enumerate(stream.messages(within=FOREVER), 1):
                    uri = message.get("params", {}).get("uri")
                    if uri:
                        self.heard_many.append((time.monotonic(), uri))
                    last = stream.last or last
                    if heard == 5 and not self.is_over.is_set():
                        stream.connection.close()
                        break
            except (Cut, Refused):
                pass
            time.sleep(0.02)

    @staticmethod
    def moving_session(client):
        """Returns a session with all subscriptions, or `None` if it is lost meanwhile."""
        session = client.session()
        for uri in MOVING_URIS:
            params = {"uri": uri}
            stream, _ = client.answer("sessions", lambda: client.legacy(session, "resources/subscribe", params))
            if stream is None or stream.status == 404:
                return None
        return session

    def last_change(self):
        return max(super().last_change(), max((touched for _, touched, _ in self.touched_many), default=0))

    def has_heard_last(self):
        return super().has_heard_last() and all(heard < FOREVER for _, _, heard in self.moving())

    def moving(self):
        """Yields each change since the moving session began to listen: the resource, and when it was made and heard."""
        listening = min((at for at, _ in self.heard_many), default=FOREVER)
        for requested, made, uri in self.touched_many:
            if requested > listening:
                heard = (heard for heard, which in self.heard_many if which in (uri, None) and heard > requested)
                yield uri, made, next(heard, FOREVER)

    def count_notifications(self):
        super().count_notifications()
        for uri, made, heard in self.moving():
            self.results.add("moving streams", "requests")
            if heard > self.due(made):
                print(f"{uri} has changed {time.monotonic() - made:.1f} s ago, which was heard {heard - made:.1f} s later")
            self.results.add("moving streams", "answered" if heard <= self.due(made) else "lost")

    def listen(self, era, open_stream):
        """Notes the time of each notification, and of each time at which the client has to read the resource anew."""
        stream = None
        try:
            stream = open_stream()
            self.heard[era].append(time.monotonic())
            for _ in stream.messages(within=FOREVER):
                self.heard[era].append(time.monotonic())
        except (Cut, Refused):
            pass
        time.sleep(0.02)
        return stream

    def count_steps(self):
        """Compares the steps that were done with the tasks that have completed."""
        done = {}
        for step in self.cluster.done():
            done[step] = done.get(step, 0) + 1
        for step, times in done.items():
            for _ in range(times - 1):
                self.results.add("orders" if step.endswith(" order") else "tasks", "doubled")
        for number in self.placed:
            if f"{number} order" not in done:
                self.results.add("orders", "lost")
        if self.refused:
            time.sleep(LEASE_LAPSED)
            began = {step.split(" ")[0] for step in self.cluster.done()}
            for number in self.refused:
                if number in began:
                    self.results.add("tasks", "wrong")
        for number in self.finished_tasks:
            for step in ("first", "second", "third"):
                if f"{number} {step}" not in done:
                    self.results.add("tasks", "lost")
