"""Runs the steps of a composite GitHub action as a runner would: its inputs and the facts of the host go in by `env`.

Usage: action_steps.py ACTION-FILE ACTION-FOLDER BASE-BRANCH
"""

import os
import re
import subprocess
import sys

import yaml

path, folder, base = sys.argv[1:]
with open(path) as file:
    action = yaml.safe_load(file)
known = {"github.action_path": folder, "github.base_ref": base}
known |= {f"inputs.{name}": given["default"] for name, given in action["inputs"].items()}

for step in action["runs"]["steps"]:
    assert step["shell"] == "bash" and "${{" not in step["run"], step["name"]
    filled = {
        name: re.sub(r"\$\{\{ (\S+) \}\}", lambda found: known[found[1]], value)
        for name, value in step.get("env", {}).items()
    }
    # As GitHub's runner starts `shell: bash`.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    print(f"-- {step['name']}", flush=True)
    if code := subprocess.run(command, env=os.environ | filled).returncode:
        sys.exit(code)
