"""Agents that work by clients which others wrote: the official Python SDK, and the command line of MCP Inspector."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

PROJECT = """\
project: {name: garden}
defaultWorkflow: feature
workflows:
  feature:
    description: Something new, and a look at it
    gates:
      - {id: work, role: worker}
      - {id: review, role: reviewer, canReject: true}
"""
ORG = """\
roles: {worker: {agents: [agent-1]}, reviewer: {agents: [agent-2]}}
agents: {agent-1: {may: [new]}, agent-2: {}}
"""
TOOLS = [
    "aof_task_next", "aof_task_get", "aof_task_list", "aof_task_complete", "aof_task_renew", "aof_task_release",
    "aof_task_create", "aof_task_comment", "aof_workflow_list", "aof_workflow_start", "aof_status",
]
# How each client names the version of the protocol, and which one it is.
SDK = {"legacy": "2025-11-25", "auto": "2026-07-28"}
INSPECTOR = ["legacy", "auto", "modern"]


def expect(holds, what):
    if not holds:
        sys.exit(f"mcp: {what}")


class Garden:
    """A project, and what runs in it."""

    def __init__(self, aof, home):
        self.aof, self.home, self.path = aof, home, os.path.join(home, "garden")
        os.mkdir(self.path)
        self.environment = {"PATH": os.environ["PATH"], "HOME": home, "GIT_CONFIG_NOSYSTEM": "1", "MCP_INSPECTOR_SECRET_STORE": "memory"}
        for key, value in [("user.name", "Ada"), ("user.email", "ada@garden.example"), ("init.defaultBranch", "main")]:
            self.run("git", "config", "--global", key, value)
        for name, text in [("project.yaml", PROJECT), ("org.yaml", ORG)]:
            with open(os.path.join(self.path, name), "w", encoding="utf-8") as file:
                file.write(text)
        for words in [("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "rules")]:
            self.run("git", *words)

    def run(self, *words, code=0):
        done = subprocess.run(words, cwd=self.path, env=self.environment, capture_output=True, text=True, timeout=120)
        expect(done.returncode == code, f"`{' '.join(words)}` ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
        return done

    def server(self, agent):
        return {"command": self.aof, "args": ["-C", self.path, "mcp", "--agent", agent]}

    def unnamed(self):
        """A server that is not told which agent it is: git's user is nobody whom org.yaml knows."""
        return {"command": self.aof, "args": ["-C", self.path, "mcp"]}

    def shown(self, task):
        return json.loads(self.run(self.aof, "task", "show", task, "--json").stdout)


class Agent:
    """An agent that works by the Python SDK."""

    def __init__(self, garden, name, mode):
        server = StdioServerParameters(**(garden.server(name) if name else garden.unnamed()), env=garden.environment)
        self.mode, self.client = mode, Client(stdio_client(server), mode=mode)

    async def __aenter__(self):
        await self.client.__aenter__()
        expect(self.client.protocol_version == SDK[self.mode], f"{self.mode} speaks {self.client.protocol_version}")
        return self

    async def __aexit__(self, *how):
        await self.client.__aexit__(*how)

    async def call(self, tool, refused=False, **arguments):
        # What is said to be well is checked against the tool's schema by the SDK itself.
        result = await self.client.call_tool(tool, arguments)
        told = result.structured_content
        expect(result.is_error == refused, f"{tool} {arguments}: {told}")
        expect(json.loads(result.content[0].text) == told, f"the text of {tool} differs from its structure")
        return told

    async def follow(self, told):
        return await self.call(told["nextCall"]["tool"], **told["nextCall"]["arguments"])

    async def fails(self, what, code):
        try:
            await what
        except MCPError as error:
            expect(error.code == code, f"{error} has code {error.code}, not {code}")
        else:
            sys.exit("mcp: what is no call was accepted")


async def nameless(garden, mode):
    """A server without an agent starts, lists its tools, shows tasks, and says how to name one."""
    async with Agent(garden, None, mode) as nobody:
        tools = (await nobody.client.list_tools()).tools
        expect([tool.name for tool in tools] == TOOLS, f"other tools: {tools}")
        status = await nobody.call("aof_status")
        expect(status["agent"] is None and status["attention"][0]["code"] == "no_agent", f"{status}")
        await nobody.call("aof_task_list")
        told = await nobody.call("aof_task_next", refused=True)
        expect(told["error"] == "no_agent" and "AOF_AGENT" in told["message"] and "`agent-1`" in told["message"], f"{told}")


async def sdk(garden, mode):
    async with Agent(garden, "agent-1", mode) as worker, Agent(garden, "agent-2", mode) as reviewer:
        tools = (await worker.client.list_tools()).tools
        expect([tool.name for tool in tools] == TOOLS, f"other tools: {tools}")
        for tool in tools:
            hints = tool.annotations.model_dump()
            named = ["read_only_hint", "destructive_hint", "idempotent_hint", "open_world_hint"]
            expect(all(hints[hint] is not None for hint in named), f"{tool.name} lacks hints: {hints}")
            expect(tool.input_schema and tool.output_schema, f"{tool.name} lacks a schema")

        made = await worker.call("aof_workflow_start", workflow="feature", title="Add tulips", input="Red ones.")
        task = made["task"]
        given = await worker.call("aof_task_next")
        expect(given["task"]["id"] == task and "gate_context" in given["task"], f"no brief: {given}")
        brief = await worker.client.read_resource("aof://brief")
        expect("Red ones." in brief.contents[0].text, "the brief lacks the task")

        wrong = await worker.call("aof_task_complete", refused=True, outcome="done", summary="Planted them")
        expect(wrong["error"] == "invalid_outcome" and wrong["validOutcomes"][0] == "complete", f"{wrong}")
        gone = await worker.follow(wrong)
        expect((gone["gate"], gone["status"]) == ("work", "ready"), f"{gone}")
        twice = await worker.call("aof_task_complete", refused=True, task=f"{task}@0", outcome="complete", summary="Again")
        expect(twice["error"] == "visit_ended", f"{twice}")

        await reviewer.call("aof_task_next")
        bare = await reviewer.call("aof_task_complete", refused=True, outcome="needs_review", summary="Too few")
        expect(bare["error"] == "missing_blockers" and bare["requiredField"] == "blockers", f"{bare}")
        back = await reviewer.call("aof_task_complete", outcome="needs_review", summary="Too few", blockers=["Three tulips are no garden"])
        expect(back["gate"] == "review", f"{back}")
        again = await worker.call("aof_task_next")
        expect(again["task"]["reviewContext"]["blockers"] == ["Three tulips are no garden"], f"{again}")
        await worker.call("aof_task_complete", outcome="complete", summary="Planted thirty")
        prompt = await reviewer.client.get_prompt("review-task", {"task": task})
        expect(task in prompt.messages[0].content.text, "the prompt lacks the task")
        await reviewer.call("aof_task_next")
        done = await reviewer.call("aof_task_complete", outcome="complete", summary="A garden")
        expect(done["status"] == "complete" and done["gate"] == "review", f"{done}")

        await worker.fails(worker.client.call_tool("aof_task_forget", {}), -32602)
        await worker.fails(worker.client.read_resource("aof://nothing"), -32002 if mode == "legacy" else -32602)
    history = garden.shown(task)["gateHistory"]
    expect([visit["outcome"] for visit in history] == ["complete", "needs_review", "complete", "complete"], f"{history}")


def inspect(garden, era):
    config = os.path.join(garden.home, "servers.json")
    servers = {agent: garden.server(agent) for agent in ["agent-1", "agent-2"]} | {"nobody": garden.unnamed()}
    with open(config, "w", encoding="utf-8") as file:
        json.dump({"mcpServers": servers}, file)

    def inspector(agent, method, *words, code=0):
        # The config comes first: whatever follows may be a list.
        fixed = ["--config", config, "--server", agent, "--protocol-era", era, "--method", method]
        return garden.run("mcp-inspector", "--cli", *fixed, *words, code=code)

    def call(agent, tool, arguments, code=0):
        done = inspector(agent, "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments), code=code)
        result = json.loads(done.stdout)
        expect(json.loads(result["content"][0]["text"]) == result["structuredContent"], f"the text of {tool} differs")
        return result["structuredContent"]

    told = call("nobody", "aof_task_next", {}, code=5)
    expect(told["error"] == "no_agent" and "`agent-1`" in told["message"], f"{told}")
    listed = inspector("agent-1", "tools/list", "--strict")
    expect([tool["name"] for tool in json.loads(listed.stdout)["tools"]] == TOOLS, f"other tools: {listed.stdout}")
    expect("Warning" not in listed.stderr and "Error" not in listed.stderr, listed.stderr)
    task = call("agent-1", "aof_workflow_start", {"workflow": "feature", "title": f"Add roses ({era})"})["task"]
    expect(call("agent-1", "aof_task_next", {})["task"]["id"] == task, "another task was given")
    brief = json.loads(inspector("agent-1", "resources/read", "--uri", "aof://brief").stdout)
    expect(task in brief["contents"][0]["text"], "the brief is of another task")
    # 5 is how the inspector says that a tool refused.
    wrong = call("agent-1", "aof_task_complete", {"outcome": "complete"}, code=5)
    expect(wrong["error"] == "missing_summary", f"{wrong}")
    mended = dict(wrong["nextCall"]["arguments"], summary="Planted them")
    expect(call("agent-1", wrong["nextCall"]["tool"], mended)["gate"] == "work", "the advised call does not work")
    prompts = json.loads(inspector("agent-2", "prompts/list").stdout)["prompts"]
    expect([prompt["name"] for prompt in prompts] == ["work-next", "review-task"], f"{prompts}")
    prompt = inspector("agent-2", "prompts/get", "--prompt-name", "review-task", "--prompt-args", f"task={task}").stdout
    expect(task in prompt, "the prompt lacks the task")
    done = call("agent-2", "aof_task_complete", {"task": task, "outcome": "complete", "summary": "They smell"})
    expect(done["status"] == "complete", f"{done}")
    expect(garden.shown(task)["status"] == "complete", "what was acknowledged is not there")


def wired(garden):
    """The files that `aof init --agents` writes start the server, here as the Inspector reads them: it expands no variables."""
    garden.run(garden.aof, "init", "--agents", "--agent", "agent-1")
    environment = garden.environment["PATH"]
    garden.environment["PATH"] = os.pathsep.join([os.path.dirname(garden.aof), environment])
    for file, agent in [(".mcp.json", None), (".gemini/settings.json", None), (".cursor/mcp.json", "agent-1")]:
        with open(os.path.join(garden.path, file), encoding="utf-8") as text:
            servers = text.read().replace("${workspaceFolder}", garden.path)
        config = os.path.join(garden.home, "wired.json")
        with open(config, "w", encoding="utf-8") as text:
            text.write(servers)
        words = ["--cli", "--config", config, "--server", "aof", "--method", "tools/call", "--tool-name", "aof_status"]
        result = json.loads(garden.run("mcp-inspector", *words).stdout)["structuredContent"]
        expect(result["agent"] == agent, f"{file}: {result}")


def main(aof):
    with tempfile.TemporaryDirectory() as home:
        garden = Garden(aof, home)
        for mode in SDK:
            asyncio.run(asyncio.wait_for(nameless(garden, mode), 120))
            asyncio.run(asyncio.wait_for(sdk(garden, mode), 120))
        for era in INSPECTOR:
            inspect(garden, era)
        wired(garden)
        status = garden.run("git", "status", "--porcelain").stdout
        expect(status == "", f"something was left in the project:\n{status}")
    print(f"agents worked by the Python SDK ({', '.join(SDK.values())}) and by the inspector ({', '.join(INSPECTOR)})")


main(sys.argv[1])
