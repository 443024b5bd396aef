//! Who is started for what: the words of `aof run`.

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::{PROGRAM, TestEnvironment};
use crate::support::scripted_agents::{
    DONE, endings, history, project_of, said_at_home, stand, timeless,
};

const RULES: &str = "\
workflow:
  gates:
    - {id: work, role: worker}
    - {id: review, role: reviewer, canReject: true}
    - {id: approve, role: lead, requireHuman: true}
";

fn environment() -> TestEnvironment {
    let script = format!("echo \"$AOF_AGENT\" >> \"$HOME/calls\"\n{DONE}");
    project_of(
        RULES,
        &[
            ("coder", "worker", "", &script),
            ("critic", "reviewer", "", &script),
            ("typist", "worker", "", ""),
            ("human-ada", "lead", "", ""),
        ],
    )
}

#[test]
fn an_agent_works_until_nothing_is_left() {
    let env = environment();
    let ids = [env.new_task(&["First"]), env.new_task(&["Second"])];
    assert_snapshot!(env.aof(&["run", "--agent", "coder", "--once"]).success().stdout, @"1 visit; go on with the same command");
    assert_eq!(said_at_home(&env, "calls"), "coder\n");
    assert_snapshot!(timeless(&env.aof(&["run", "--agent", "coder", "--agent", "critic"]).to_string()), @"
    exit 0
    --- stdout
    nothing is left to do, 3 visits
    --- stderr
    Step 1/3: work: coder at AOF-xxxxx@0
    AOF-xxxxx: work → review after TIME: Did it
    Step 2/3: review: critic at AOF-xxxxx@1
    AOF-xxxxx: review → approve after TIME: Did it
    Step 2/3: review: critic at AOF-xxxxx@1
    AOF-xxxxx: review → approve after TIME: Did it
    ");
    assert_eq!(said_at_home(&env, "calls"), "coder\ncoder\ncritic\ncritic\n");
    for id in &ids {
        assert_eq!(stand(&env, id), "ready approve -");
        assert_eq!(endings(&env, &format!("{id}@0")), "verdict complete by file\n");
    }
    assert_snapshot!(env.aof(&["run", "--agent", "coder"]), @"
    exit 0
    --- stdout
    nothing is left to do, 0 visits
    ");
    check(&env);
}

#[test]
fn returned_and_awaited_tasks_come_before_new_ones() {
    let rules = "workflow: {gates: [{id: plan, role: worker}, {id: work, role: worker}]}\n";
    let script = format!("echo \"$AOF_TASK\" >> \"$HOME/calls\"\n{DONE}");
    let env = project_of(rules, &[("coder", "worker", "", &script)]);
    let first = env.new_task(&["First", "--meta", "priority=high"]);
    let last = env.new_task(&["Last"]);
    let urgent = env.new_task(&["Urgent", "--meta", "priority=critical", "--depends", &first]);
    let _ = env.aof(&["run", "--agent", "coder"]).success();
    let order: Vec<String> = [&first, &urgent, &last]
        .iter()
        .flat_map(|id| [format!("{id}@0\n"), format!("{id}@1\n")])
        .collect();
    assert_eq!(said_at_home(&env, "calls"), order.concat());
    check(&env);
}

#[test]
fn a_visit_with_broken_files_is_given_back_and_blocks_no_other() {
    let env = environment();
    let ids = [env.new_task(&["First", "--meta", "priority=high"]), env.new_task(&["Second"])];
    env.write(&format!(".aof/runs/{}@0", ids[0]), "in the way");
    let output = env.aof(&["run", "--agent", "coder"]).to_string();
    assert!(output.contains("1 visit, and AOF-xxxxx@0 waits: "), "{output}");
    assert!(output.contains("@0` is a file, not a folder"), "{output}");
    assert_eq!(ids.map(|id| stand(&env, &id)), ["ready work -", "ready review -"]);
    check(&env);
}

#[test]
fn every_agent_that_can_be_started_works() {
    let env = environment();
    let _ = env.new_task(&["First"]);
    assert_snapshot!(env.aof(&["run", "--all", "--step"]).success().stdout, @"1 visit; go on with the same command");
    assert_snapshot!(timeless(&env.aof(&["--json", "run", "--all"]).success().stdout.replace("\"seconds\":1", "\"seconds\":0")), @r#"
    {"jsonVersion":1,"event":"started","task":"AOF-xxxxx","ticket":"AOF-xxxxx@1","gate":"review","agent":"critic","attempt":1,"attempts":2,"step":2,"steps":3}
    {"jsonVersion":1,"event":"moved","task":"AOF-xxxxx","ticket":"AOF-xxxxx@1","from":"review","to":"approve","outcome":"complete","summary":"Did it","status":"ready","seconds":0}
    {"jsonVersion":1,"event":"ended","success":true,"error":null,"visits":1}
    "#);
    assert_eq!(said_at_home(&env, "calls"), "coder\ncritic\n");
}

#[test]
fn only_work_of_a_role_is_done() {
    let env = environment();
    env.edit("org.yaml", "reviewer: {agents: [critic]}", "reviewer: {agents: [critic, coder]}");
    env.commit_all("roles");
    let id = env.new_task(&["First"]);
    assert_snapshot!(env.aof(&["run", "--agent", "coder", "--role", "reviewer"]), @"
    exit 0
    --- stdout
    nothing is left to do, 0 visits
    ");
    assert_eq!(stand(&env, &id), "ready work -");
    let _ = env.aof(&["run", "--agent", "coder", "--role", "worker"]).success();
    assert_eq!(stand(&env, &id), "ready review -");
}

#[test]
fn a_rehearsal_shows_it_and_does_nothing() {
    let env = environment();
    let id = env.new_task(&["Add login", "--body", "With a form."]);
    let (head, files) = (env.head(), env.files(".aof"));
    let output = env.aof(&["run", "--task", &id, "--dry-run"]).to_string();
    assert_snapshot!(output.replace(PROGRAM.as_str(), "AOF"), @r#"
    exit 0
    --- stdout
    AOF-xxxxx@0 work by coder
      sh agents/coder.sh AOF
      environment: AOF_TASK AOF_AGENT AOF_GATE AOF_WORKFLOW AOF_PROJECT AOF_ATTEMPT AOF_RUN AOF_PROMPT AOF_OUTPUT AOF_MCP_CONFIG GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
      at most 30 s an attempt, 2 attempts; the prompt comes on stdin

      | # AOF-xxxxx: Add login
      | 
      | Gate `work`, ticket `AOF-xxxxx@0`.
      | 
      | You do the work of this task.
      | 
      | ## Expected
      | 
      | - Do what the title and the body of the task ask for
      | - Check your result yourself before you hand it on
      | 
      | ## Outcomes
      | 
      | - `complete`: Your work is finished and can go on to the next step.
      | - `blocked`: You cannot go on: something outside is missing. Name it in blockers; the task waits here.
      | 
      | ## Tips
      | 
      | - Say in the summary what you did and how you checked it
      | 
      | ## Task
      | 
      | With a form.
      | 
      | ## Answer
      | 
      | When you are done, say how it ended, in ONE of these ways and nowhere else:
      | 1. write the file `$PROJECT/.aof/runs/AOF-xxxxx@0/1/output` (it is also in `$AOF_OUTPUT`) as JSON, YAML, or Markdown with frontmatter
      | 2. end your last message with a block of JSON, fenced as below
      | 
      | - `outcome` is one of:
      |   - `complete`
      |   - `blocked`, with `blockers`, a list of what stands in the way
      | - `summary` says in a sentence or two what was done and how it was checked
      | 
      | ```json
      | {"outcome": "<one of the above>", "summary": "<what was done>"}
      | ```
      | 
      | What you say of it elsewhere does not count. Saying nothing is a failed attempt.
    "#);
    let by_agent = env.aof(&["run", "--agent", "coder", "--dry-run"]).success();
    assert_eq!(by_agent.stdout, env.aof(&["run", "--task", &id, "--dry-run"]).stdout);
    assert_snapshot!(env.aof(&["run", "--agent", "critic", "--dry-run"]), @"
    exit 0
    --- stdout
    nothing would be started
    ");
    let json = env.aof(&["--json", "run", "--task", &id, "--dry-run"]).success().json();
    assert_eq!(json["runs"][0]["command"][1], "agents/coder.sh");
    assert_eq!((env.head(), said_at_home(&env, "calls")), (head, String::new()));
    assert_eq!(env.files(".aof").iter().filter(|file| !files.contains(file)).count(), 0);
    assert_eq!(stand(&env, &id), "ready work -");
    // What waits for people is said.
    let _ = env.aof(&["run", "--task", &id]).code(7);
    assert_snapshot!(env.aof(&["run", "--task", &id, "--dry-run"]), @"
    exit 0
    --- stdout
    AOF-xxxxx@2 approve: waits for `human-ada`; `aof complete AOF-xxxxx@2 --outcome ...`
    ");
    assert_snapshot!(env.aof(&["--json", "run", "--task", &id, "--dry-run"]), @r#"
    exit 0
    --- stdout
    {
      "dryRun": true,
      "runs": [],
      "waits": [
        {
          "event": "waits",
          "task": "AOF-xxxxx",
          "ticket": "AOF-xxxxx@2",
          "gate": "approve",
          "role": "lead",
          "agents": [
            "human-ada"
          ],
          "for": "people",
          "why": "waits for `human-ada`; `aof complete AOF-xxxxx@2 --outcome ...`"
        }
      ],
      "jsonVersion": 1
    }
    "#);
}

#[test]
fn an_agent_that_cannot_start_is_reported_with_the_reason() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let tries: [&[&str]; 7] = [
        &["--agent", "human-ada"],
        &["--agent", "typist"],
        &["--agent", "codr"],
        &["--agent", "coder", "--role", "lead"],
        &[],
        &["--task", "AOF-nowhere"],
        &["--task", &id, "--agent", "coder"],
    ];
    let output: Vec<String> =
        tries.iter().map(|words| env.aof(&[&["run"][..], words].concat()).to_string()).collect();
    assert_snapshot!(output.join("\n"), @"
    exit 4
    --- stderr
    error: `human-ada` is a person: no program is started for it

    hint: name an agent that is a program; there is `run` of `coder`, `critic`

    exit 4
    --- stderr
    error: org.yaml does not say how `typist` is started

    hint: say it in org.yaml, as in `agents: {coder: {run: {preset: claude}}}`; see docs/guides/running.md; there is `run` of `coder`, `critic`

    exit 3
    --- stderr
    error: there is no agent `codr`

    hint: did you mean `coder`?

    exit 4
    --- stderr
    error: `coder` is not in role `lead`

    hint: its roles are `worker`; see `aof org show`

    exit 4
    --- stderr
    error: git's user acts only at a terminal, and no agent is named

    hint: say which agent you are, as in `aof run --agent coder`, or in `AOF_AGENT`; org.yaml has `coder`, `critic`, `typist`

    exit 3
    --- stderr
    error: there is no task `AOF-nowhere`

    hint: `aof list --all` lists them all

    exit 2
    --- stderr
    error: the argument '--task <ID>' cannot be used with '--agent <ID>'

    Usage: aof run --task <ID>

    For more information, try '--help'.
    ");
    assert_eq!(history(&env, &id), "");
}

#[test]
fn the_agent_of_the_shell_bars_no_task() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    for words in [&["run", "--task", &id, "--once"][..], &["run", "--all", "--once"]] {
        let mut command = env.aof_command(words);
        command.env("AOF_AGENT", "coder");
        let _ = env.run(command).success();
    }
    assert_eq!(stand(&env, &id), "ready approve -");
}

#[test]
fn a_task_that_is_held_waits_for_its_holder() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "next", "--agent", "typist"]).success();
    assert_snapshot!(env.aof(&["run", "--task", &id]), @"
    exit 7
    --- stdout
    AOF-xxxxx: waits, 0 visits so far
    --- stderr
    AOF-xxxxx@0 work: is typist's; `aof release AOF-xxxxx` takes it back
    ");
    assert_eq!(said_at_home(&env, "calls"), "");
}
