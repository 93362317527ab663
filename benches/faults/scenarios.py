"""The scenarios: what breaks, under which load, and the bars."""

import os
import random
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Callable

from faults.client import RECOVERY, SLACK
from faults.cluster import INSTANCES, Cluster
from faults.load import PAUSE_OF_TASKS, TASK_CLIENTS, MixedLoad
from faults.lost_replies import lose_messages
from faults.official import OfficialClients
from faults.processes import build, until
from faults.redis import RedisServer, RedisWithSentinel
from faults.table import LEGEND, Bars, Results

# The time limit of an operation of the store (`RedisOptions::operation_timeout`), and the time for which a request about a task
# waits for the store: no operation begins later.
OPERATION_TIMEOUT, PATIENCE_FOR_TASKS = 2, 5
BETWEEN_KILLS = 2
ALL, LOST_REPLIES = "all", "lost-replies"


class Run:
    """A scenario that is running: the cluster, what is counted, and the time at which it ends."""

    def __init__(self, cluster, results, seconds):
        self.cluster, self.results = cluster, results
        self.choice, self.end = random.Random(1), time.monotonic() + seconds

    def is_over(self, after=0):
        return time.monotonic() + after > self.end

    def break_redis(self, act, loses_data=False):
        """Does something to Redis, and waits until all instances are ready again."""
        fault = self.cluster.begin_fault(is_instance=False, loses_data=loses_data)
        act()
        fault.end()
        for number in range(INSTANCES):
            until(lambda: self.cluster.is_ready(number), "becoming ready")
        self.results.note_recovery("readiness", time.monotonic() - fault.ended)
        self.results.add("readiness", "answered")


def kill_instances(run):
    while not run.is_over():
        time.sleep(BETWEEN_KILLS)
        run.cluster.kill_instance(run.choice.randrange(INSTANCES))


def stop_instances(run):
    """Stops instances for longer than the leases of their tasks: for a minute if there is time, else for less."""
    left = run.end - time.monotonic()
    seconds = 60 if left > 63 else left / 3
    number = 0
    while not run.is_over(after=seconds):
        time.sleep(2)
        run.cluster.pause_instance(number % INSTANCES, seconds)
        number += 1
    time.sleep(2)


def update_instances(run):
    """Replaces all instances by another build, one after the other, and then by the first build."""
    build = 0
    while not run.is_over():
        build = 1 - build
        for number in range(INSTANCES):
            # nginx avoids the previous one for a second.
            time.sleep(1.5)
            run.cluster.update_instance(number, build)


def pause_redis(run):
    while not run.is_over(after=5):
        time.sleep(2)
        run.break_redis(lambda: run.cluster.redis.pause(5))
    time.sleep(2)


def restart_redis(run):
    def restart():
        run.cluster.redis.kill()
        time.sleep(0.5)
        run.cluster.redis.start()

    while not run.is_over():
        time.sleep(2)
        run.break_redis(restart)
    time.sleep(2)


def cut_redis(run):
    while not run.is_over():
        time.sleep(1)
        run.break_redis(run.cluster.redis.cut_connections)
    time.sleep(1)


def fail_over_redis(run):
    is_first = True
    while is_first or not run.is_over(after=8):
        if not is_first:
            run.cluster.redis.add_replica()
        time.sleep(3)
        run.break_redis(run.cluster.redis.fail_over, loses_data=True)
        is_first = False
    time.sleep(3)


def empty_redis(run):
    while not run.is_over():
        time.sleep(2)
        run.break_redis(lambda: run.cluster.redis.tell("FLUSHALL"), loses_data=True)
    time.sleep(2)


@dataclass
class Scenario:
    """What breaks, and for how long."""

    title: str
    seconds: int
    act: Callable
    is_about_redis: bool = False
    make_redis: Callable = RedisServer
    task_clients: int = TASK_CLIENTS
    pause_of_tasks: int = PAUSE_OF_TASKS
    has_official_clients: bool = False

    def load(self, cluster, results, seconds):
        if self.has_official_clients:
            return OfficialClients(cluster, results, seconds)
        return MixedLoad(cluster, results, self.task_clients, self.pause_of_tasks)


SCENARIOS = {
    "kill": Scenario("an instance is killed every two seconds", 20, kill_instances),
    # The tasks take a second, so that each instance always runs some.
    "stop": Scenario("an instance is stopped (SIGSTOP) and continued", 20, stop_instances, task_clients=9,
                     pause_of_tasks=300),
    "update": Scenario("each instance is replaced (SIGTERM), one after the other", 8, update_instances),
    "redis-paused": Scenario("Redis is paused for 5 s", 10, pause_redis, is_about_redis=True),
    "redis-restarted": Scenario("Redis is killed and restarted", 8, restart_redis, is_about_redis=True),
    "redis-cut": Scenario("all connections to Redis are cut", 6, cut_redis, is_about_redis=True),
    "redis-failover": Scenario("Redis' primary is killed, and a replica takes over", 12, fail_over_redis,
                               is_about_redis=True, make_redis=RedisWithSentinel),
    "redis-emptied": Scenario("Redis is emptied (FLUSHALL)", 6, empty_redis, is_about_redis=True),
    "clients": Scenario("the official clients, while an instance is killed every two seconds", 14, kill_instances,
                        has_official_clients=True),
}


def run_scenario(scenario, builds, seconds):
    """Runs a scenario, prints its table, and returns the bars."""
    folder, results, bars = tempfile.mkdtemp(prefix="kills-"), Results(), Bars()
    cluster = Cluster(folder, builds, scenario.make_redis)
    try:
        load = scenario.load(cluster, results, seconds)
        load.start()
        began = time.monotonic()
        scenario.act(Run(cluster, results, seconds))
        acted = time.monotonic()
        load.end()
        load.count_notifications()
        load.count_steps()
        print(f"{len(cluster.faults)} faults in {acted - began:.0f} s; all has ended {time.monotonic() - acted:.0f} s later")
        results.print()
        judge(scenario, results, bars, acted - began, len(cluster.faults))
        if bars.failed and os.environ.get("KEEP"):
            folder_of_logs = shutil.copytree(folder, tempfile.mkdtemp(prefix="kills-logs-"), dirs_exist_ok=True,
                                             ignore=shutil.ignore_patterns("*.sock"))
            print(f"logs: {folder_of_logs}")
    finally:
        cluster.stop()
        shutil.rmtree(folder)
    return bars


def run_lost_replies(builds, seconds):
    """Loses each kind of message once, or the first ten of each kind if there is time."""
    folder, bars = tempfile.mkdtemp(prefix="kills-"), Bars()
    try:
        lose_messages(folder, builds[0], bars, most=10 if seconds and seconds > 60 else 1)
    finally:
        shutil.rmtree(folder)
    return bars


def judge(scenario, results, bars, seconds, faults):
    bars.check_never(results)
    bars.check(faults > 0, "no faults")
    if scenario.is_about_redis:
        hurried = ["calls", "sessions"]
        bars.check_most(results.longest, hurried, OPERATION_TIMEOUT + SLACK, "one took")
        most = PATIENCE_FOR_TASKS + OPERATION_TIMEOUT + SLACK
        bars.check_most(results.longest, ["task requests"], most, "one took")
        bars.check_most(results.recovery, [*hurried, "task requests", "tasks", "readiness"], RECOVERY, "works again after")
    # Clients of an instance that is stopped wait for it.
    least = seconds / 20 if scenario.is_about_redis or scenario.act is stop_instances else seconds / 4
    kinds = ["calls", "sessions", "questions", "tasks", "orders", "moving streams"]
    if scenario.has_official_clients:
        kinds = [kind for kind in results.kinds() if kind.endswith(("calls", "notifications"))]
        bars.check(len(kinds) == 11, "clients: some have not reported anything")
    bars.check_busy(results, kinds, least)


def main(usage):
    names, seconds = [*SCENARIOS, LOST_REPLIES], None
    if len(sys.argv) > 1:
        seconds = int(sys.argv[2]) if len(sys.argv) > 2 else None
        if sys.argv[1] not in [ALL, *names]:
            sys.exit(f"{usage}\nScenarios: {', '.join(names)}")
        names = names if sys.argv[1] == ALL else sys.argv[1:2]
    builds = build("instance", "next_instance")
    print(LEGEND)
    passed = failed = 0
    for name in names:
        if name == LOST_REPLIES:
            print(f"\n{name}: each message between an instance and Redis is lost once", flush=True)
            bars = run_lost_replies(builds, seconds)
        else:
            scenario = SCENARIOS[name]
            print(f"\n{name}: {scenario.title}", flush=True)
            bars = run_scenario(scenario, builds, seconds or scenario.seconds)
        passed, failed = passed + bars.passed, failed + bars.failed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
