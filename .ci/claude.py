"""Has the real Claude Code work through a workflow. What it asks of its model is answered here, by a script.

This proves that the runner and the MCP server work together with a program that is not ours. It says nothing of what a model does.
"""

import fcntl
import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

WORKER, REVIEWER = "claude-opus-5-5", "claude-sonnet-5-5"
KEY = "sk-ant-garden-0123456789abcdef"
BLOCKER = "the greeting has no test for an empty name"
# What the stand-in charges for each turn.
READ, WRITTEN = 1000, 50

PROJECT = """\
project: {name: garden}
workflow:
  gates:
    - {id: implement, role: worker}
    - {id: review, role: reviewer, canReject: true}
    - {id: publish, role: worker}
"""
ORG = f"""\
roles: {{worker: {{agents: [coder]}}, reviewer: {{agents: [critic]}}}}
agents:
  coder: {{run: {{preset: claude, model: {WORKER}, timeout: 60s, retry: {{delay: 1s}}}}}}
  critic: {{run: {{preset: claude, model: {REVIEWER}, timeout: 60s}}}}
"""


class Call:
    """The model calls a tool."""

    def __init__(self, tool, **arguments):
        self.tool, self.arguments = tool, arguments


class Say:
    """The model ends its turn with a message."""

    def __init__(self, text):
        self.text = text


class Refuse:
    """The server answers with an error."""

    def __init__(self, status, kind, message):
        self.status, self.kind, self.message = status, kind, message


UNAUTHORIZED = Refuse(401, "authentication_error", "invalid x-api-key")
OVERLOADED = Refuse(529, "overloaded_error", "Overloaded")


def completed(**arguments):
    return Call("mcp__aof__aof_task_complete", **arguments)


def block(outcome, summary):
    return "```json\n" + json.dumps({"outcome": outcome, "summary": summary}) + "\n```"


def written_answer(prompt):
    """Writes the file that the prompt names."""
    [path] = re.findall(r"write the file `([^`]+)`", prompt)
    return Call("Write", file_path=path, content=json.dumps({"outcome": "complete", "summary": "Published the greeting"}))


class StandIn:
    """What the model of each name says next, and what it was told."""

    def __init__(self):
        self.lock = threading.Lock()
        self.faults = []
        self.follow({})

    def follow(self, script):
        """Begins a script: for each model what it says, in order. A function is given the prompt."""
        self.script = {model: list(script.get(model, [])) for model in (WORKER, REVIEWER)}
        self.prompts = {WORKER: [], REVIEWER: []}
        # What stood before each prompt: the messages of a session that goes on.
        self.before = {WORKER: [], REVIEWER: []}
        self.results, self.turns = [], 0
        # All that stood in the last request of each model.
        self.asked = {WORKER: "", REVIEWER: ""}

    def answer(self, key, body):
        """Returns what is said to a request, and the number of the turn."""
        with self.lock:
            if key != KEY:
                self.faults.append(f"a request came with the key {key!r}")
            model, messages = body["model"], body["messages"]
            self.asked[model] = text_of(messages)
            tools = {tool.get("name") for tool in body.get("tools", [])}
            self.turns += 1
            if not self.script.get(model):
                self.faults.append(f"{model} was asked, and has nothing to say: {messages[-1]}"[:2000])
                return Refuse(400, "invalid_request_error", "the script is over"), self.turns
            says = self.script[model].pop(0)
            asked = max(place for place, message in enumerate(messages) if is_prompt(message))
            prompt = text_of([messages[asked]])
            says = says(prompt) if callable(says) else says
            if isinstance(says, Refuse):
                return says, self.turns
            if all(message["role"] != "assistant" for message in messages[asked:]):
                self.prompts[model].append(prompt)
                self.before[model].append(text_of(messages[:asked]))
            self.results += [
                (bool(part.get("is_error")), text_of([part])) for part in parts(messages[-1]) if part["type"] == "tool_result"
            ]
            if isinstance(says, Call) and says.tool not in tools:
                self.faults.append(f"{model} is to call {says.tool}, and is offered {sorted(tools)}")
            return says, self.turns


def parts(message):
    content = message.get("content", "")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def is_prompt(message):
    """Whether this is what somebody asks, and no result of a tool."""
    return message["role"] == "user" and all(part["type"] == "text" for part in parts(message))


def text_of(messages):
    return "\n".join(part.get("text", "") for message in messages for part in parts(message))


def events(message):
    """Returns the events that a message comes as."""
    [part] = message["content"]
    if part["type"] == "text":
        empty, delta = {"text": ""}, {"type": "text_delta", "text": part["text"]}
    else:
        empty, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
    begun = {"content": [], "stop_reason": None, "usage": message["usage"] | {"output_tokens": 1}}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    return [
        {"type": "message_start", "message": message | begun},
        {"type": "content_block_start", "index": 0, "content_block": part | empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ending, "usage": message["usage"]},
        {"type": "message_stop"},
    ]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        if self.path.split("?")[0] != "/v1/messages":
            return self.unexpected()
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        says, turn = self.server.stand_in.answer(self.headers["x-api-key"], body)
        if isinstance(says, Refuse):
            return self.reply(says.status, {"type": "error", "error": {"type": says.kind, "message": says.message}})
        calls = isinstance(says, Call)
        call = {"type": "tool_use", "id": f"toolu_{turn:04}", "name": says.tool, "input": says.arguments} if calls else None
        message = {
            "id": f"msg_{turn:04}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [call or {"type": "text", "text": says.text}],
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": READ, "output_tokens": WRITTEN},
        }
        if not body.get("stream"):
            return self.reply(200, message)
        stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events(message))
        self.send("text/event-stream", 200, stream)

    def unexpected(self):
        """Anything but a question to the model, and anything for another host: this server is the proxy, too."""
        self.server.stand_in.faults.append(f"asked for {self.command} {self.path}")
        self.reply(404, {"type": "error", "error": {"type": "not_found_error", "message": "there is nothing else here"}})

    do_GET = do_CONNECT = do_PUT = unexpected

    def reply(self, status, value):
        self.send("application/json", status, json.dumps(value))

    def send(self, kind, status, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Garden:
    """A project with its own home, and aof in it."""

    def __init__(self, home, aof, claude, port):
        self.root, self.aof = pathlib.Path(home, "garden"), aof
        temporary = pathlib.Path(home, "tmp")
        for folder in (self.root, temporary):
            folder.mkdir()
        server = f"http://127.0.0.1:{port}"
        self.environment = {
            "PATH": os.pathsep.join([os.path.dirname(claude), os.path.dirname(aof), os.environ["PATH"]]),
            "HOME": home,
            "TMPDIR": str(temporary),
            "GIT_CONFIG_NOSYSTEM": "1",
            "ANTHROPIC_BASE_URL": server,
            "ANTHROPIC_API_KEY": KEY,
            # One retry of its own, so that those of aof are reached.
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "HTTP_PROXY": server,
            "HTTPS_PROXY": server,
            "NO_PROXY": "127.0.0.1",
        }
        for key, value in [("user.name", "Ada"), ("user.email", "ada@garden.example"), ("init.defaultBranch", "main")]:
            self.git("config", "--global", key, value)
        for name, text in [("project.yaml", PROJECT), ("org.yaml", ORG)]:
            (self.root / name).write_text(text)
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "rules")
        trust = json.loads(self.run(aof, "trust", "--json", code=4))
        self.environment["AOF_TRUST"] = trust["hash"]

    def run(self, *words, code=0, root=None):
        ran = subprocess.run(words, cwd=root or self.root, env=self.environment, capture_output=True, text=True, timeout=100)
        if ran.returncode != code:
            sys.exit(f"{' '.join(words)}: exit code {ran.returncode}, not {code}\n{ran.stdout}\n{ran.stderr}")
        return ran.stdout

    def git(self, *words):
        return self.run("git", *words)

    def drive(self, *words, code=0):
        """Returns what is told of a run that is not about to come."""
        lines = [json.loads(line) for line in self.run(self.aof, *words, "--json", code=code).splitlines()]
        told = [line for line in lines if line["event"] != "printed"]
        expect("the last thing that is told", "ended", told[-1]["event"])
        expect("whether it says that it succeeded", code == 0, told[-1]["success"])
        return told

    def task(self, task):
        return json.loads(self.run(self.aof, "task", "show", task, "--json"))

    def attempt(self, ticket, number):
        """Returns the record of an attempt, proved against its transcript, and the transcript."""
        folder = self.root / ".aof/runs" / ticket / str(number)
        record = json.loads((folder / "run.json").read_text())
        transcript = (folder / "transcript").read_bytes()
        mark = record["end"]["transcript"]
        expect(f"the digest of the transcript of {ticket}", hashlib.sha256(transcript).hexdigest(), mark["sha256"])
        expect(f"the length of the transcript of {ticket}", len(transcript), mark["bytes"])
        return record, transcript.decode()


def expect(what, wanted, found):
    if wanted != found:
        sys.exit(f"{what}\nwanted: {wanted!r}\nfound:  {found!r}")


def played(stand_in, script):
    """Looks whether all was said, and nothing asked besides."""
    expect("what is wrong with what was asked", [], stand_in.faults)
    expect("what was not asked", {WORKER: 0, REVIEWER: 0}, {model: len(left) for model, left in stand_in.script.items()})
    expect("how many turns there were", sum(map(len, script.values())), stand_in.turns)


def reviewed(garden, stand_in):
    """A task goes through its gates: each way of saying how it went is used, and one rejection sends it back."""
    script = {
        WORKER: [
            Call("mcp__aof__aof_task_get"),
            Call("Write", file_path=str(garden.root / "greeting.txt"), content="hello\n"),
            completed(outcome="complete", summary="Wrote the greeting"),
            Say(f"It is done. The key is {KEY}."),
            completed(outcome="complete", summary="Added the test"),
            Say("It is mended."),
            written_answer,
            Say("It is published."),
        ],
        REVIEWER: [
            completed(outcome="needs_review", summary="A test is missing"),
            completed(outcome="needs_review", summary="A test is missing", blockers=[BLOCKER]),
            Say("It goes back."),
            Say("All is well.\n\n" + block("complete", f"Read it with {KEY}")),
        ],
    }
    stand_in.follow(script)
    told = garden.drive("workflow", "run", "default", "--input", "Greet a user by name")
    played(stand_in, script)
    task = told[-1]["task"]["id"]
    moves = [(event["from"], event["to"], event["outcome"]) for event in told if event["event"] == "moved"]
    expect("the moves that were told", [
        ("implement", "review", "complete"),
        ("review", "implement", "needs_review"),
        ("implement", "review", "complete"),
        ("review", "publish", "complete"),
        ("publish", None, "complete"),
    ], moves)

    refused = [json.loads(text) for is_error, text in stand_in.results if is_error]
    expect("the calls that were refused", ["missing_blockers"], [refusal["error"] for refusal in refused])
    expect("the call in place of it", "aof_task_complete", refused[0]["nextCall"]["tool"])
    brief = json.loads(stand_in.results[0][1])
    expect("what aof_task_get tells", (task, "implement", "coder"), (brief["id"], brief["gate"]["current"], brief["routing"]["agent"]))

    # The visit, who was there, how it ended, where the verdict was found, how many turns it took, and its prompt among its model's.
    visits = [
        ("implement", "coder", "complete", "own", 4, (WORKER, 0)),
        ("review", "critic", "needs_review", "own", 3, (REVIEWER, 0)),
        ("implement", "coder", "complete", "own", 2, (WORKER, 1)),
        ("review", "critic", "complete", "structured", 1, (REVIEWER, 1)),
        ("publish", "coder", "complete", "file", 2, (WORKER, 2)),
    ]
    history = garden.task(task)["gateHistory"]
    entries = [(entry["gate"], entry["agent"], entry["outcome"]) for entry in history]
    expect("the entries", [visit[:3] for visit in visits], entries)
    expect("the blockers", [None, [BLOCKER], None, None, None], [entry.get("blockers") for entry in history])
    trailers = ",".join(f"%(trailers:key=Aof-{key},valueonly,separator=)" for key in ("Gate", "Agent", "Outcome"))
    commits = garden.git("log", "--reverse", "--grep=^Aof-Outcome:", f"--format={trailers}").splitlines()
    expect("the commits", [",".join(visit[:3]) for visit in visits], commits)
    expect("what is left in the worktree", "?? greeting.txt\n", garden.git("status", "--porcelain"))

    charges = {}
    for number, (entry, (_, agent, outcome, source, turns, (model, place))) in enumerate(zip(history, visits)):
        ticket = f"{task}@{number}"
        record, transcript = garden.attempt(ticket, 1)
        end, told = record["end"], record["end"]["told"]
        expect(f"who made {ticket}", agent, record["agent"])
        expect(f"how {ticket} ended", ("verdict", 0, None), (end["how"], end["status"], end["reason"]))
        expect(f"the verdict of {ticket}", {"source": source, "outcome": outcome, "completion": entry["completion"]["id"]}, end["verdict"])
        tokens = {"input": READ * turns, "output": WRITTEN * turns}
        expect(f"what {ticket} took", (model, tokens, True), (told["model"], told["tokens"], told["costUsd"] > 0))
        # A session that goes on does not count what it cost before.
        charge = round(told["costUsd"] / turns, 6)
        expect(f"what a turn of {ticket} cost", charges.setdefault(model, charge), charge)
        expect(f"whether the transcript of {ticket} is of its session", True, told["session"] in transcript)
        kept = entry["metadata"]
        began = {"how": "new"}
        if number in (2, 3):
            # The same agent is back at its gate: its session holds what was said before, and the prompt what happened since.
            first, _ = garden.attempt(f"{task}@{number - 2}", 1)
            began = {"how": "resumed", "id": first["end"]["told"]["session"]}
            expect(f"the session of {ticket}", began["id"], told["session"])
            said, before = stand_in.prompts[model][0].strip(), stand_in.before[model][place]
            expect(f"whether {ticket} goes on behind its first prompt", True, said in before)
            expect(f"whether {ticket} goes on behind its first answer", True, ("It is done." if number == 2 else "It goes back.") in before)
        else:
            expect(f"what stands before the prompt of {ticket}", "", stand_in.before[model][place])
        if source == "own":
            run = {"id": record["run"], "verdict": "own", "session": began}
            expect(f"what the entry of {ticket} keeps", {"run": run, "session": record["run"]}, kept)
        else:
            seconds = kept["run"].pop("seconds")
            run = {"id": record["run"], "verdict": source, "transcript": f"sha256:{end['transcript']['sha256']}"}
            run |= {"model": model, "costUsd": told["costUsd"], "tokens": tokens, "session": began}
            expect(f"what the entry of {ticket} keeps", {"run": run, "session": told["session"]}, kept)
            expect(f"whether {ticket} took some time", True, 0 <= seconds < 60)
        prompt = (garden.root / ".aof/runs" / ticket / "1/prompt.md").read_text().strip()
        expect(f"whether the prompt of {ticket} came on stdin", True, prompt in stand_in.prompts[model][place])
        expect(f"whether the prompt of {ticket} has the blocker", number in (2, 3), BLOCKER in prompt)
        expect(f"whether the transcript of {ticket} has something masked", number in (0, 3), "[secret ANTHROPIC_API_KEY]" in transcript)
        expect(f"the attempts of {ticket}", ["1", "lock"], sorted(os.listdir(garden.root / ".aof/runs" / ticket)))


def unauthorized(garden, stand_in):
    """Nobody is logged in: the claim is given back, no attempt is used up, and it is said. Returns the task."""
    script = {WORKER: [UNAUTHORIZED] * 2}
    stand_in.follow(script)
    told = garden.drive("workflow", "run", "default", "--input", "Say goodbye", code=1)
    played(stand_in, script)
    [lacking] = [event for event in told if event["event"] == "unavailable"]
    expect("who cannot work", "coder", lacking["agent"])
    expect("why", True, lacking["why"].startswith("`claude` reports an error: ") and "API key" in lacking["why"])
    expect("whether the end says it", True, lacking["why"] in told[-1]["error"])
    task = garden.task(told[-1]["task"]["id"])
    expect("how the task stands", ("ready", None, []), (task["status"], task["routing"].get("agent"), task.get("gateHistory", [])))
    expect("the last thing in git", "released", garden.git("log", "-1", "--format=%(trailers:key=Aof-Event,valueonly,separator=)").strip())
    record, _ = garden.attempt(f"{task['id']}@0", 1)
    expect("how the attempt ended", ("unavailable", 1, None), tuple(record["end"][key] for key in ("how", "status", "verdict")))
    return task["id"]


def overloaded(garden, stand_in, task):
    """The server has too much to do: Claude Code tries again once, and then aof does. The task goes on from where it stood."""
    script = {
        WORKER: [
            OVERLOADED,
            OVERLOADED,
            OVERLOADED,
            completed(outcome="complete", summary="Said goodbye"),
            Say("It is done."),
            Say(block("complete", "Published it")),
        ],
        REVIEWER: [Say(block("complete", "Read it"))],
    }
    stand_in.follow(script)
    told = garden.drive("run", "--task", task)
    played(stand_in, script)
    [failed] = [event for event in told if event["event"] == "attempt_failed"]
    expect("the attempt that failed", (1, True), (failed["attempt"], "529" in failed["why"]))
    expect("whether the next prompt tells of it", True, "This is attempt 2 of 2." in stand_in.prompts[WORKER][0])
    ends = [garden.attempt(f"{task}@0", number)[0]["end"]["how"] for number in (1, 2, 3)]
    expect("how the attempts ended", ["unavailable", "crash", "verdict"], ends)
    entries = [(entry["gate"], entry["outcome"]) for entry in garden.task(task)["gateHistory"]]
    expect("the entries", [("implement", "complete"), ("review", "complete"), ("publish", "complete")], entries)


def forgotten(garden, stand_in):
    """Claude Code no longer has the session that was to go on: no attempt has failed, and a new one begins."""
    steps = [
        {WORKER: [Say(block("complete", "Wrote it"))]},
        {REVIEWER: [Say(block("needs_review", "Not yet").replace('"summary"', f'"blockers": ["{BLOCKER}"], "summary"'))]},
        {WORKER: [Say(block("complete", "Mended it"))]},
    ]
    task = json.loads(garden.run(garden.aof, "new", "Wave", "--body", "With both hands.", "--json"))["id"]
    for number, script in enumerate(steps):
        if number == 2:
            shutil.rmtree(pathlib.Path(garden.environment["HOME"], ".claude/projects"))
        stand_in.follow(script)
        garden.drive("run", "--task", task, "--once")
        played(stand_in, script)
    ends = [garden.attempt(f"{task}@2", number)[0]["end"]["how"] for number in (1, 2)]
    expect("how the attempts ended", ["no_session", "verdict"], ends)
    session = garden.task(task)["gateHistory"][2]["metadata"]["run"]["session"]
    expect("the session of the entry", ("lost", True), (session["how"], "No conversation found" in session["why"]))
    [prompt] = stand_in.prompts[WORKER]
    expect("whether the prompt is whole", True, "With both hands." in prompt and BLOCKER in prompt)


def doctor(garden, stand_in, version):
    """Whether agents answer is found out, and nothing is changed by it."""
    head = garden.git("rev-parse", "HEAD")
    script = {WORKER: [Say("ready")], REVIEWER: [Say("ready")]}
    stand_in.follow(script)
    found = json.loads(garden.run(garden.aof, "runner", "doctor", "--ask", "--json"))
    played(stand_in, script)
    agents = [(agent["agent"], agent["version"].split()[0], agent["answer"]) for agent in found["agents"]]
    expect("who answers", (True, [("coder", version, "ready"), ("critic", version, "ready")]), (found["ok"], agents))
    script = {WORKER: [UNAUTHORIZED] * 2}
    stand_in.follow(script)
    found = json.loads(garden.run(garden.aof, "runner", "doctor", "--ask", "coder", "--json", code=1))
    played(stand_in, script)
    [agent] = found["agents"]
    expect("who does not answer", (False, None, True), (agent["ok"], agent["answer"], "API key" in agent["answerProblem"]))
    expect("HEAD behind the doctor", head, garden.git("rev-parse", "HEAD"))


def connected(garden, stand_in):
    """One command connects Claude Code: nobody says which agent it is, and it works as the only one of org.yaml."""
    root = garden.root.parent / "meadow"
    garden.run(garden.aof, "init", "--agents", str(root))
    trusted(garden, root)
    listed = garden.run("claude", "mcp", "list", root=root)
    expect("whether the server is connected", True, re.search("^aof: .* Connected$", listed, re.MULTILINE) is not None)
    # Claude Code loads tools when they are looked for.
    find = Call("ToolSearch", query="select:mcp__aof__aof_task_next", max_results=1)
    script = {WORKER: [find, Call("mcp__aof__aof_task_next"), Say("It is mine.")]}
    stand_in.follow(script)
    garden.run("claude", "--print", "Take the next task", "--model", WORKER, "--allowedTools", "mcp__aof", root=root)
    played(stand_in, script)
    told = stand_in.results[-1][1]
    task = json.loads(told)["task"]["id"]
    shown = json.loads(garden.run(garden.aof, "task", "show", task, "--json", root=root))
    expect("who has the task", ("in_progress", "agent-1"), (shown["status"], shown["routing"]["agent"]))


def hooked(garden, stand_in):
    """A session that stops before it has completed its visit is sent back once. After a summary it has the brief again."""
    root = garden.root.parent / "orchard"
    garden.run(garden.aof, "init", "--agents", "--hooks", str(root))
    trusted(garden, root)
    first = [CLAUDE_TOOLS, Call("mcp__aof__aof_task_next"), Say("It is mine.")]
    stopped = "`agent-1` still holds:"
    work(garden, stand_in, root, [*first, completed(outcome="complete", summary="Read it"), Say("It is done.")])
    expect("whether the session was sent back", True, stopped in stand_in.asked[WORKER])
    [task] = json.loads(garden.run(garden.aof, "list", "--json", root=root))["tasks"]
    expect("where the task is", ("review", "ready"), (task["gate"], task["status"]))
    expect("how often a session was sent back", [1], counts(root))

    # A session that never completes is let go after three times; the next one begins with the brief.
    garden.run(garden.aof, "new", "Water the trees", root=root)
    work(garden, stand_in, root, [*first, *[Say("I stop.")] * 3])
    expect("how often each was sent back", [1, 3], counts(root))
    script = {WORKER: [Say("I see it."), *[Say("I stop.")] * 3, Say("<summary>It holds a task.</summary>")]}
    stand_in.follow(script)
    garden.run("claude", "--print", "Go on", "--model", WORKER, "--allowedTools", "mcp__aof", root=root)
    brief = "You are `agent-1`, and hold the tasks below."
    expect("whether it began with the brief", True, brief in stand_in.asked[WORKER])
    garden.run("claude", "--print", "/compact", "--continue", "--model", WORKER, root=root)
    expect("whether the summary is made with the brief", [False, True], [brief in part for part in stand_in.asked[WORKER].split("I stop.")[-2:]])
    played(stand_in, script)
    work(garden, stand_in, root, [Say("I read it again.")], "--continue")
    expect("whether the brief is behind the summary", [False, True], [brief in part for part in stand_in.asked[WORKER].split("It holds a task.")])

    # The plugin brings the same, without settings of the project.
    garden.run(garden.aof, "init", "--remove", root=root)
    shutil.rmtree(root / ".claude", ignore_errors=True)
    plugin = pathlib.Path(__file__).parent.parent / "packaging/plugin"
    garden.run("claude", "plugin", "validate", str(plugin), root=root)
    garden.environment["AOF_AGENT"] = "agent-1"
    work(garden, stand_in, root, [Say("I stop.")] * 4, "--plugin-dir", str(plugin))
    expect("whether the plugin gave the brief, and sent it back", (True, True), (brief in stand_in.asked[WORKER], stopped in stand_in.asked[WORKER]))
    del garden.environment["AOF_AGENT"]


CLAUDE_TOOLS = Call("ToolSearch", query="select:mcp__aof__aof_task_next,mcp__aof__aof_task_complete", max_results=2)


def trusted(garden, root):
    """What a person answers when Claude Code asks whether it may start the project's servers."""
    notes = pathlib.Path(garden.environment["HOME"], ".claude.json")
    kept = json.loads(notes.read_text()) if notes.exists() else {}
    kept.setdefault("projects", {})[str(root)] = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["aof"]}
    notes.write_text(json.dumps(kept))


def work(garden, stand_in, root, says, *words):
    script = {WORKER: says}
    stand_in.follow(script)
    garden.run("claude", "--print", "Take the next task", "--model", WORKER, "--allowedTools", "mcp__aof", *words, root=root)
    played(stand_in, script)


def counts(root):
    """How often each session was sent back."""
    return sorted(stop["count"] for stop in json.loads((root / ".aof/hooks").read_text()).values())


def measured(garden):
    """Returns how long a hook takes in milliseconds: one that has a brief, and some that cannot help."""
    root = garden.root.parent / "orchard"
    took = {}
    for case in ("brief", "no project", "held lock", "broken project"):
        if case == "broken project":
            (root / ".git/HEAD").write_text("nonsense")
        folder = garden.root.parent if case == "no project" else root
        lock = open(root / ".aof/lock", "r+")
        if case == "held lock":
            fcntl.flock(lock, fcntl.LOCK_EX)
        times = []
        for _ in range(5):
            begun = time.monotonic()
            ran = subprocess.run([garden.aof, "hook", "SessionStart"], cwd=folder, env=garden.environment | {"AOF_AGENT": "agent-1"}, input="{}", capture_output=True, text=True)
            times.append(round((time.monotonic() - begun) * 1000))
            expect(f"the exit code of a hook: {case}", 0, ran.returncode)
            expect(f"whether a hook says something: {case}", case == "brief", ran.stdout != "")
        lock.close()
        took[case] = sorted(times)[2]
        expect(f"whether a hook takes less than 200 ms: {case}, {times}", True, took[case] < 200)
    return took


def nowhere(garden, secret):
    """Looks whether the secret is in no file of the project, and in no commit."""
    files = (path for path in garden.root.rglob("*") if path.is_file() and ".git" not in path.relative_to(garden.root).parts)
    expect("the files with the key", [], [str(path) for path in files if secret.encode() in path.read_bytes()])
    expect("whether a commit has the key", False, secret in garden.git("log", "--patch", "--format=%B"))


def main(aof, claude, version):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.stand_in = StandIn()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # What Claude Code leaves running writes to its home a while longer.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        garden = Garden(home, aof, claude, server.server_port)
        reviewed(garden, server.stand_in)
        task = unauthorized(garden, server.stand_in)
        overloaded(garden, server.stand_in, task)
        forgotten(garden, server.stand_in)
        doctor(garden, server.stand_in, version)
        nowhere(garden, KEY)
        connected(garden, server.stand_in)
        hooked(garden, server.stand_in)
        took = measured(garden)
    print("hooks take, in milliseconds:", ", ".join(f"{case} {time}" for case, time in took.items()))
    print(f"Claude Code {version} took two tasks through their gates, goes on with its sessions, and is connected by `aof init --agents` and its hooks")


main(*sys.argv[1:])
