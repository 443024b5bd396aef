//! `aof run`, `aof workflow run` and `aof runner doctor`: agents that aof starts.

use crate::support::environment::TestEnvironment;

const PROJECT: &str = "\
workflow:
  run: {timeout: 1h}
  gates:
    - {id: implement, role: backend, run: {attempts: 3, retry: {delay: 1s}}}
    - {id: check, role: tester, canReject: true, run: {exit: {complete: 0, needs_review: 1}}}
";

const ORG: &str = "\
roles:
  backend: {agents: [coder]}
  tester: {agents: [tester]}
agents:
  coder: {run: {preset: claude, model: small}}
  tester: {run: {command: [sh, -c, \"exit 1\"]}}
";

#[test]
fn settings_of_runs_are_checked() {
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    insta::assert_snapshot!(env.aof(&["workflow", "validate"]).success().stdout, @"valid: 1 workflow, 2 gates, 2 roles");
    env.edit("project.yaml", "needs_review: 1", "needs_revue: 300, skip: 0");
    env.edit("project.yaml", "timeout: 1h", "timeout: 1h, preset: claude");
    env.edit(
        "org.yaml",
        "preset: claude",
        "preset: claud, attempts: 0, env: {AOF_AGENT: x}, secrets: [sk-live]",
    );
    env.edit("org.yaml", "command: [sh, -c, \"exit 1\"]", "command: sh -c true, prompt: stdin");
    insta::assert_snapshot!(env.aof(&["workflow", "validate"]).code(6).stdout, @r#"
    error[unknown_field]: a workflow's `run` has no field `preset`
     --> project.yaml:2:22
      |
    2 |   run: {timeout: 1h, preset: claude}
      |                      ^^^^^^
      |
      = help: how an agent is started is said in org.yaml: `agents: {agent-1: {run: {preset: ...}}}`

    error[unknown_outcome]: exit status 0 cannot mean `skip`: gate `check` has no such outcome
     --> project.yaml:5:55
      |
    5 |     - {id: check, role: tester, canReject: true, run: {exit: {complete: 0, needs_revue: 300, skip: 0}}}
      |                                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: the outcomes here are `complete`, `needs_review`, `blocked`

    error[invalid_value]: an exit status is a number from 0 to 255
     --> project.yaml:5:89
      |
    5 |     - {id: check, role: tester, canReject: true, run: {exit: {complete: 0, needs_revue: 300, skip: 0}}}
      |                                                                                         ^^^
      |
      = help: write `exit: {complete: 0, needs_review: [1, 2]}`

    error[invalid_value]: exit status 0 has two meanings
     --> project.yaml:5:100
      |
    5 |     - {id: check, role: tester, canReject: true, run: {exit: {complete: 0, needs_revue: 300, skip: 0}}}
      |                                                                                                    ^
      |
      = help: keep one of the two

    error[invalid_value]: `claud` is not a preset
     --> org.yaml:5:25
      |
    5 |   coder: {run: {preset: claud, attempts: 0, env: {AOF_AGENT: x}, secrets: [sk-live], model: small}}
      |                         ^^^^^
      |
      = help: it is one of `claude`, `codex`, `gemini`, `opencode`, `command`

    error[invalid_value]: `attempts` is a number from 1 to 20, and this is 0
     --> org.yaml:5:42
      |
    5 |   coder: {run: {preset: claud, attempts: 0, env: {AOF_AGENT: x}, secrets: [sk-live], model: small}}
      |                                          ^

    error[invalid_value]: `AOF_AGENT` cannot be set here
     --> org.yaml:5:51
      |
    5 |   coder: {run: {preset: claud, attempts: 0, env: {AOF_AGENT: x}, secrets: [sk-live], model: small}}
      |                                                   ^^^^^^^^^
      |
      = help: a name has letters, digits and `_`, and those that begin with `AOF_` are aof's own

    error[invalid_value]: `secrets` names environment variables
     --> org.yaml:5:76
      |
    5 |   coder: {run: {preset: claud, attempts: 0, env: {AOF_AGENT: x}, secrets: [sk-live], model: small}}
      |                                                                            ^^^^^^^
      |
      = help: write the secret into a variable of the environment that `aof run` is started in, and its name here: `secrets: [API_KEY]`

    error[wrong_kind]: `command` is a list of texts: the program and its arguments, and this is a string
     --> org.yaml:6:27
      |
    6 |   tester: {run: {command: sh -c true, prompt: stdin}}
      |                           ^^^^^^^^^^
      |
      = help: no shell reads it; write `command: [my-agent, --task, "{task}"]`

    error[unknown_field]: an agent's `run` has no field `prompt`
     --> org.yaml:6:39
      |
    6 |   tester: {run: {command: sh -c true, prompt: stdin}}
      |                                       ^^^^^^
      |
      = help: put `{prompt}` or `{promptFile}` into `command`; without them the prompt comes on stdin

    invalid: 10 errors
    "#);
    env.write("project.yaml", PROJECT.replace("needs_review: 1", "needs_revue: 1"));
    env.write(
        "org.yaml",
        format!(
            "{}  human-ada: {{run: {{command: [sh, \"{{taks}}\"]}}}}\n  idle: {{run: {{preset: codex}}}}\n",
            ORG.replace("[sh,", "[sh, \"{tiket}\",")
        ),
    );
    insta::assert_snapshot!(env.aof(&["workflow", "validate"]).code(6).stdout, @r#"
    error[unknown_outcome]: exit status 1 cannot mean `needs_revue`: gate `check` has no such outcome
     --> project.yaml:5:55
      |
    5 |     - {id: check, role: tester, canReject: true, run: {exit: {complete: 0, needs_revue: 1}}}
      |                                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: did you mean `needs_review`?

    error[dead_field]: `human-ada` is a person: nothing is started for people
     --> org.yaml:7:20
      |
    7 |   human-ada: {run: {command: [sh, "{taks}"]}}
      |                    ^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: remove `run`, or give the program an id of its own

    warning[unknown_placeholder]: `{taks}` is passed to the program as it stands
     --> org.yaml:7:20
      |
    7 |   human-ada: {run: {command: [sh, "{taks}"]}}
      |                    ^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: did you mean `{task}`?

    warning[runs_for_nobody]: `idle` is in no role: it is never started
     --> org.yaml:8:15
      |
    8 |   idle: {run: {preset: codex}}
      |               ^^^^^^^^^^^^^^^
      |
      = help: add it to the `agents` of a role

    warning[unknown_placeholder]: `{tiket}` is passed to the program as it stands
     --> org.yaml:6:17
      |
    6 |   tester: {run: {command: [sh, "{tiket}", -c, "exit 1"]}}
      |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: did you mean `{ticket}`?

    invalid: 2 errors, 3 warnings
    "#);
}
