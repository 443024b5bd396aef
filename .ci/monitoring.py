"""Has the real Prometheus read what a real aof tells of a project that is worked on, and asks it all that dashboard and alerts ask."""

import contextlib
import json
import math
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

MONITORING = os.path.abspath("monitoring")
PATIENCE = 60

PROJECT = """\
project: {name: garden}
workflows:
  - name: default
    gates:
      - {id: implement, role: backend}
      - {id: legal, role: lawyer, when: "tags.includes('law')"}
      - {id: review, role: architect, canReject: true}
      - {id: release, role: nobody}
  - name: errand
    gates:
      - {id: run, role: backend}
defaultWorkflow: default
"""
ORG = """\
roles:
  backend: {agents: [agent-1, agent-2]}
  lawyer: {agents: [agent-4]}
  architect: {agents: [agent-3]}
  nobody: {agents: []}
"""


def tool(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"monitoring: {' '.join(words[:3])} says no:\n{done.stdout}{done.stderr}")
    return done.stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class NotYet(Exception):
    """What is not so yet, and may become so."""


def until(test):
    """Waits until a test passes, and returns what it returns."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return test()
        except (NotYet, OSError) as reason:
            if time.monotonic() > deadline:
                sys.exit(f"monitoring: after {PATIENCE} s: {reason}")
        time.sleep(0.1)


class Project:
    """A project of its own, and the commands that are run in it."""

    def __init__(self, aof, home):
        self.aof, self.folder = aof, os.path.join(home, "garden")
        self.environment = {"PATH": os.environ["PATH"], "HOME": home, "GIT_CONFIG_NOSYSTEM": "1"}
        os.mkdir(self.folder)
        for key, value in [("user.name", "Ada"), ("user.email", "ada@garden.example"), ("init.defaultBranch", "main")]:
            self.run("git", "config", "--global", key, value)
        for name, text in [("project.yaml", PROJECT), ("org.yaml", ORG)]:
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.run("git", "init", "--quiet")
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", "rules")

    def run(self, *words):
        return tool(*words, cwd=self.folder, env=self.environment)

    def start(self, *words):
        return subprocess.Popen([self.aof, *words], cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL)

    def new(self, *words):
        return json.loads(self.run(self.aof, "task", "new", *words, "--json"))["id"]

    def say(self, task, agent, outcome, *more):
        who = ("--agent", agent, "--outcome", outcome, "--summary", "Did it")
        self.run(self.aof, "task", "complete", task, *who, *more)

    def work(self):
        """Has a task sent back once and taken to where nobody is, one done, one called off, and one blocked."""
        task = self.new("Add login")
        self.say(task, "agent-1", "complete")
        self.say(task, "agent-3", "needs_review", "--blocker", "The session never expires")
        self.say(task, "agent-2", "complete")
        self.say(task, "agent-3", "complete")
        errand = self.new("Fetch water", "--workflow", "errand")
        self.say(errand, "agent-1", "complete")
        self.run(self.aof, "task", "cancel", self.new("Sing"), "--reason", "Nobody listens", "--agent", "human-ada")
        blocked = self.new("Water the roses")
        self.say(blocked, "agent-2", "blocked", "--blocker", "The tap is dry since Monday")
        # One by the watcher, whose own commits are measured.
        dropped = self.new("Cut the hedge", "--workflow", "errand")
        with open(os.path.join(self.folder, ".aof", "inbox", "done.json"), "w", encoding="utf-8") as file:
            json.dump({"task": dropped, "agent": "agent-2", "outcome": "complete", "summary": "Cut it"}, file)


class Prometheus:
    """A Prometheus of its own, which scrapes one address every second."""

    def __init__(self, home, target):
        self.port = free_port()
        configuration = os.path.join(home, "prometheus.yml")
        # What we ship, but for the address, the place of the rules, and our patience.
        with open(os.path.join(MONITORING, "prometheus.yml"), encoding="utf-8") as file:
            text = file.read()
        for old, new in [("127.0.0.1:9464", target), ("aof.rules.yml", f"{MONITORING}/aof.rules.yml"), ("15s", "1s")]:
            assert old in text, f"{old} is not in prometheus.yml"
            text = text.replace(old, new)
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(text)
        tool("promtool", "check", "config", configuration)
        self.log = open(os.path.join(home, "prometheus.log"), "w", encoding="utf-8")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={home}/data", f"--web.listen-address=127.0.0.1:{self.port}"],
            stdout=self.log, stderr=self.log,
        )

    def ready(self):
        """Fails until Prometheus has read its disk; before, it answers each query with 503."""
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready").close()

    def ask(self, path, **arguments):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        with urllib.request.urlopen(url) as answer:
            return json.load(answer)["data"]

    def query(self, expression):
        """Returns the values; a query that is none ends the run."""
        try:
            return [float(sample["value"][1]) for sample in self.ask("query", query=expression)["result"]]
        except urllib.error.HTTPError as error:
            sys.exit(f"monitoring: {expression}\n{error.read().decode()}")


def stop(process):
    process.terminate()
    process.wait(timeout=PATIENCE)


def queries(dashboard):
    """Returns each query of the dashboard, with its panel, as Grafana would ask it."""
    values = {"$project": "garden", "$workflow": "default|errand", "$window": "1h", "$__rate_interval": "1m"}
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield panel["title"], re.sub(r"\$\w+", lambda name: values[name[0]] if name[0] in values else name[0], target["expr"])


def check_dashboard(prometheus):
    with open(os.path.join(MONITORING, "aof-dashboard.json"), encoding="utf-8") as file:
        dashboard = json.load(file)
    shown, asked = set(), 0
    for title, expression in queries(dashboard):
        values = prometheus.query(expression)
        asked += 1
        if not values:
            raise NotYet(f"the panel `{title}` has nothing to show:\n{expression}")
        # Of what happened nowhere there is no percentile, but not everywhere nothing happened.
        if any(not math.isnan(value) for value in values):
            shown.add(title)
    if empty := {panel["title"] for panel in dashboard["panels"]} - shown:
        raise NotYet(f"of what happened these panels show nothing: {empty}")
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            label = re.fullmatch(r"label_values\(aof_gate_active_tasks(?:\{.*\})?, (\w+)\)", variable["definition"])[1]
            if not prometheus.ask(f"label/{label}/values"):
                raise NotYet(f"there is nothing to choose from in `{label}`")
    return asked


def check_alerts(prometheus):
    rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
    for rule in rules:
        if rule["health"] != "ok":
            raise NotYet(f"the alert {rule['name']} is not evaluated: {rule['health']} {rule.get('lastError', '')}")
        for metric in set(re.findall(r"\baof_\w+", rule["query"])):
            if not prometheus.query(metric):
                raise NotYet(f"the alert {rule['name']} asks for {metric}, which nobody tells")
    waiting = {rule["name"] for rule in rules if rule["state"] != "inactive"}
    if waiting != {"GateBlocked"}:
        raise NotYet(f"nobody is in a role, and nothing else is wrong, but what says so is {waiting or 'nothing'}")
    return len(rules)


def check_start(prometheus):
    """What happens before the first scrape no counter can show as a rise."""
    if prometheus.query("sum(aof_gate_transitions_total)") != [0]:
        raise NotYet("nothing was scraped")


def main(aof):
    tool("promtool", "check", "rules", f"{MONITORING}/aof.rules.yml")
    tool("promtool", "test", "rules", f"{MONITORING}/aof.rules.test.yml")
    with tempfile.TemporaryDirectory() as home, contextlib.ExitStack() as stack:
        project = Project(aof, home)
        target = f"127.0.0.1:{free_port()}"
        watcher = project.start("watch", "--metrics", target)
        stack.callback(stop, watcher)
        prometheus = Prometheus(home, target)
        stack.callback(stop, prometheus.process)
        until(prometheus.ready)
        until(lambda: check_start(prometheus))
        project.work()
        tool("promtool", "check", "metrics", input=project.run(aof, "metrics"))
        asked = until(lambda: check_dashboard(prometheus))
        alerts = until(lambda: check_alerts(prometheus))
    print(f"the real Prometheus answers {asked} queries of the dashboard, and evaluates {alerts} alerts")


main(sys.argv[1])
