"""Receives the webhooks of a real aof, and verifies each with the package of the Standard Webhooks authors."""

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

OLD, NEW = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2VjcmV0IG9mIHRoZSBnYXJkZW4="

PROJECT = """\
project: {{name: garden}}
workflow:
  gates:
    - {{id: work, role: worker}}
    - {{id: review, role: reviewer, canReject: true}}
notify:
  - {{on: all, webhook: "http://127.0.0.1:{port}/hook", secretEnv: HOOK_SECRET, allowPrivate: true}}
"""
ORG = "roles: {worker: {agents: [agent-1]}, reviewer: {agents: [agent-2]}}\n"

received = []


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        received.append((dict(self.headers), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def main(aof):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        project = os.path.join(home, "garden")
        os.mkdir(project)
        environment = {"PATH": os.environ["PATH"], "HOME": home, "GIT_CONFIG_NOSYSTEM": "1", "HOOK_SECRET": f"{NEW} {OLD}"}

        def run(*words):
            subprocess.run(words, cwd=project, env=environment, check=True, stdout=subprocess.DEVNULL)

        for key, value in [("user.name", "Ada"), ("user.email", "ada@garden.example"), ("init.defaultBranch", "main")]:
            run("git", "config", "--global", key, value)
        for name, text in [("project.yaml", PROJECT.format(port=server.server_port)), ("org.yaml", ORG)]:
            with open(os.path.join(project, name), "w", encoding="utf-8") as file:
                file.write(text)
        run("git", "init", "--quiet")
        run("git", "add", "--all")
        run("git", "commit", "--quiet", "--message", "rules")
        run(aof, "notices", "--deliver")
        run(aof, "task", "new", "Größe: \"42\" \\ 日本語\u2028")
        task = os.listdir(os.path.join(project, "tasks"))[0].removesuffix(".md")
        run(aof, "task", "complete", task, "--agent", "agent-1", "--outcome", "complete", "--summary", "Done ✓")
        run(aof, "notices", "--deliver")
    assert len(received) == 2, f"{len(received)} messages were received"
    for headers, body in received:
        for secret in (OLD, NEW):
            verified = Webhook(secret).verify(body, headers)
            assert verified["id"] == headers["webhook-id"] and verified["project"] == "garden", verified
        for wrong in (body + b" ", body.replace(b"garden", b"Garden")):
            try:
                Webhook(OLD).verify(wrong, headers)
            except WebhookVerificationError:
                continue
            sys.exit("a message that was changed on the way was verified")
    events = [json.loads(body)["event"] for _, body in received]
    assert events == ["task_created", "gate_transition"], events
    print(f"{len(received)} webhooks verified")


main(sys.argv[1])
