"""Runs the protocol's own conformance suite against `aof serve`, and compares what fails with `.ci/mcp_expected_failures`.

A scenario that fails and is not listed there is a fault; so is a listed one that passes. The suite can send no token, so a relay
adds it to each request.
"""

import http.client
import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading

PROJECT = """\
project: {name: garden}
workflow:
  gates:
    - {id: work, role: worker}
    - {id: review, role: reviewer, canReject: true}
"""
ORG = """\
roles: {worker: {agents: [agent-1]}, reviewer: {agents: [agent-2]}}
agents: {agent-1: {may: [new]}, agent-2: {}}
"""
REVISIONS = ["2025-11-25", "2026-07-28"]
LISTED = os.path.join(os.path.dirname(__file__), "mcp_expected_failures")
# The relay has connections and lengths of its own.
OF_THE_CONNECTION = {"connection", "content-length", "date", "host", "keep-alive", "server", "transfer-encoding"}


def relay_to(port, token):
    """Returns a server that hands each request on to that port, with the token."""

    class Relay(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def hand_on(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items() if name.lower() not in OF_THE_CONNECTION}
            # Only the relay's own name is replaced: a scenario sends others, which the server has to refuse.
            own, host = f":{self.server.server_port}", self.headers.get("Host", "")
            headers["host"] = f"localhost:{port}" if host.endswith(own) else host
            if headers.get("origin", "").endswith(own):
                headers["origin"] = f"http://localhost:{port}"
            headers["authorization"] = f"Bearer {token}"
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in OF_THE_CONNECTION:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_POST = do_GET = do_DELETE = hand_on

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_):
            # The suite hangs up when it has seen enough.
            pass

    server = Server(("127.0.0.1", 0), Relay)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def expected():
    """Returns the listed scenarios, each with its revision."""
    with open(LISTED, encoding="utf-8") as file:
        lines = [line.split("#")[0].split() for line in file]
    return {(revision, line[0]) for line in lines if line for revision in line[1:]}


def main(aof):
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": os.environ["PATH"], "HOME": home, "GIT_CONFIG_NOSYSTEM": "1"}
        project = os.path.join(home, "garden")
        os.mkdir(project)

        def run(*words):
            done = subprocess.run(words, cwd=project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
            return done.stdout + done.stderr

        for name, text in [("project.yaml", PROJECT), ("org.yaml", ORG)]:
            with open(os.path.join(project, name), "w", encoding="utf-8") as file:
                file.write(text)
        for words in ["init -q", "config user.name Ada", "config user.email ada@garden.example", "add -A", "commit -qm rules"]:
            run("git", *words.split())
        run(aof, "new", "Plant tulips")
        # Then there is a brief to read.
        run(aof, "next", "--agent", "agent-1")
        token = re.search(r"aof_[a-z0-9]+", run(aof, "mcp", "token", "agent-1")).group()
        # The server says in its first lines where it is; what follows is drained, so that it never waits for a reader.
        words = [aof, "serve", "--port", "0"]
        serve = subprocess.Popen(words, cwd=project, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            found = next(found for line in serve.stdout if (found := re.search(r"http://[^:]+:(\d+)", line)))
            threading.Thread(target=serve.stdout.read, daemon=True).start()
            relay = relay_to(int(found.group(1)), token)
            results = {}
            for revision in REVISIONS:
                told = run("conformance", "server", "--url", f"http://localhost:{relay.server_port}/mcp", "--requirements", revision)
                for mark, name in re.findall(r"^([✓✗]) ([\w-]+): \d+ passed", told, re.MULTILINE):
                    results[revision, name] = mark == "✓"
                if not any(own == revision for own, _ in results):
                    sys.exit(f"mcp: the suite said nothing of {revision}:\n{told[-2000:]}")
        finally:
            serve.terminate()
            serve.wait(30)
    failed = {key for key, passed in results.items() if not passed}
    faults = [f"{name} of {revision} fails, and is not among the expected failures" for revision, name in sorted(failed - expected())]
    faults += [f"{name} of {revision} is among the expected failures, and does not fail" for revision, name in sorted(expected() - failed)]
    if faults:
        sys.exit("mcp: " + "\nmcp: ".join(faults))
    print(f"the conformance suite ({', '.join(REVISIONS)}): {len(results) - len(failed)} scenarios pass, {len(failed)} fail as expected")


main(sys.argv[1])
