//! Agents that behave badly, and those that cannot begin.

use std::process::Command;

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::{TestEnvironment, eventually};
use crate::support::scripted_agents::{
    DONE, at_home, endings, history, line_at_home, lives, one_gate, project_of, said_at_home,
    stand, timeless, worked,
};

#[test]
fn an_agent_that_prints_without_end_fills_no_disk() {
    let script = format!("head -c 268435456 /dev/zero | tr '\\0' 'x'\necho\n{DONE}");
    let env = one_gate("", &script);
    let (id, output) = worked(&env);
    let _ = output.success();
    let size =
        std::fs::metadata(env.path(&format!(".aof/runs/{id}@0/1/transcript"))).unwrap().len();
    assert!((1..32 << 20).contains(&size), "{size} bytes are kept");
    let mark =
        &crate::support::scripted_agents::records(&env, &format!("{id}@0"))[0]["end"]["transcript"];
    assert_eq!(mark["bytes"], size);
    assert!(mark["leftOut"].as_u64().unwrap() > 200 << 20, "{mark}");
    check(&env);
}

#[test]
fn background_processes_end_with_their_agent() {
    let script = format!(
        "sleep 600 > /dev/null 2>&1 &\necho $! > \"$HOME/background\"\nsleep 600 &\necho $! > \"$HOME/held\"\n{DONE}"
    );
    let env = one_gate("", &script);
    let (_, output) = worked(&env);
    let _ = output.success();
    for name in ["background", "held"] {
        let pid = line_at_home(&env, name);
        eventually("nothing is left behind", || !lives(&pid));
    }
}

#[test]
fn control_characters_reach_no_terminal() {
    let answer = "printf '\\033[31mred\\033]0;title\\007\\r\\b\\177' ";
    let env = one_gate("attempts: 1", &format!("{answer}\n{answer} >&2\nexit 3\n"));
    for json in [&["run"][..], &["--json", "run"]] {
        let id = env.new_task(&["Add login"]);
        let output = env.aof(&[json, &["--task", &id]].concat()).code(7);
        let raw =
            |text: &str| text.chars().any(|character| character.is_control() && character != '\n');
        assert!(
            !raw(&output.stdout) && !raw(&output.stderr),
            "{output:?}",
            output = output.to_string()
        );
        assert!(output.to_string().contains("red"));
        let transcript =
            std::fs::read(env.path(&format!(".aof/runs/{id}@0/1/transcript"))).unwrap();
        assert!(transcript.contains(&0x1b), "the transcript is what was printed");
        let text = env.task_text(&id);
        assert!(!raw(&text), "{text:?}");
        check(&env);
    }
}

/// Has a task worked at by somebody who cannot, and returns all that is said of it.
fn unavailable(env: &TestEnvironment) -> String {
    let (id, output) = worked(env);
    assert_eq!(stand(env, &id), "ready work -", "{output}");
    assert_eq!(history(env, &id), "");
    check(env);
    format!("{output}{}", endings(env, &format!("{id}@0")))
}

#[test]
fn a_program_that_is_not_there_is_no_attempt() {
    let env = one_gate("", DONE);
    env.edit("org.yaml", "[sh, agents/coder.sh, \"{aof}\"]", "[no-such-agent]");
    env.commit_all("command");
    assert_snapshot!(unavailable(&env), @"
    exit 1
    --- stdout
    AOF-xxxxx: 0 visits, and coder cannot work: `coder`: `no-such-agent` cannot be started: No such file or directory (os error 2); it is not installed, or not in one of the folders of `PATH`
    --- stderr
    Step 1/1: work: coder at AOF-xxxxx@0
    warning: coder cannot work: `coder`: `no-such-agent` cannot be started: No such file or directory (os error 2); it is not installed, or not in one of the folders of `PATH`
    AOF-xxxxx@0 work: `coder`: `no-such-agent` cannot be started: No such file or directory (os error 2); it is not installed, or not in one of the folders of `PATH`
    unavailable: `coder`: `no-such-agent` cannot be started: No such file or directory (os error 2); it is not installed, or not in one of the folders of `PATH`
    ");
    env.edit("org.yaml", "[no-such-agent]", "[agents/coder.sh]");
    env.commit_all("command");
    assert_snapshot!(unavailable(&env), @"
    exit 1
    --- stdout
    AOF-xxxxx: 0 visits, and coder cannot work: `coder`: `agents/coder.sh` cannot be started: Permission denied (os error 13); the file is no program, or may not be run
    --- stderr
    Step 1/1: work: coder at AOF-xxxxx@0
    warning: coder cannot work: `coder`: `agents/coder.sh` cannot be started: Permission denied (os error 13); the file is no program, or may not be run
    AOF-xxxxx@0 work: `coder`: `agents/coder.sh` cannot be started: Permission denied (os error 13); the file is no program, or may not be run
    unavailable: `coder`: `agents/coder.sh` cannot be started: Permission denied (os error 13); the file is no program, or may not be run
    ");
}

#[test]
fn an_agent_that_is_not_logged_in_is_no_attempt() {
    let answer = r#"{"type":"result","subtype":"success","is_error":true,"result":"Invalid API key · Please run /login","session_id":"s-1","total_cost_usd":0}"#;
    let env = one_gate("reads: claude", &format!("echo '{answer}'\nexit 1\n"));
    assert_snapshot!(unavailable(&env), @"
    exit 1
    --- stdout
    AOF-xxxxx: 0 visits, and coder cannot work: `claude` reports an error: Invalid API key · Please run /login
    --- stderr
    Step 1/1: work: coder at AOF-xxxxx@0
    warning: coder cannot work: `claude` reports an error: Invalid API key · Please run /login
    AOF-xxxxx@0 work: `claude` reports an error: Invalid API key · Please run /login
    unavailable: `claude` reports an error: Invalid API key · Please run /login
    ");
}

#[test]
fn a_secret_that_is_missing_is_no_attempt() {
    let env = one_gate("secrets: [LOGIN_SECRET_NAME]", DONE);
    assert_snapshot!(unavailable(&env), @"
    exit 1
    --- stdout
    AOF-xxxxx: 0 visits, and coder cannot work: `coder` needs `LOGIN_SECRET_NAME`, and the environment has no such variable; set it where `aof` is started
    --- stderr
    Step 1/1: work: coder at AOF-xxxxx@0
    warning: coder cannot work: `coder` needs `LOGIN_SECRET_NAME`, and the environment has no such variable; set it where `aof` is started
    AOF-xxxxx@0 work: `coder` needs `LOGIN_SECRET_NAME`, and the environment has no such variable; set it where `aof` is started
    unavailable: `coder` needs `LOGIN_SECRET_NAME`, and the environment has no such variable; set it where `aof` is started
    ");
}

#[test]
fn another_agent_of_the_role_does_work_that_one_cannot_begin() {
    let env = project_of(
        "workflow: {gates: [{id: work, role: worker}]}\n",
        &[("coder", "worker", "", DONE), ("typist", "worker", "", DONE)],
    );
    env.edit("org.yaml", "[sh, agents/coder.sh, \"{aof}\"]", "[no-such-agent]");
    env.commit_all("command");
    let (id, output) = worked(&env);
    assert_snapshot!(timeless(&output.to_string()), @"
    exit 0
    --- stdout
    AOF-xxxxx: complete, 1 visit
    --- stderr
    Step 1/1: work: coder at AOF-xxxxx@0
    warning: coder cannot work: `coder`: `no-such-agent` cannot be started: No such file or directory (os error 2); it is not installed, or not in one of the folders of `PATH`
    Step 1/1: work: typist at AOF-xxxxx@0
    AOF-xxxxx: work → done after TIME: Did it
    ");
    assert_snapshot!(history(&env, &id), @"work typist complete [file] Did it");
}

#[test]
fn a_secret_is_seen_nowhere() {
    const SECRET: &str = "sk-live-0123456789";
    let run = |script: &str, code: i32| {
        let env = one_gate("secrets: [SERVICE_LOGIN], attempts: 1", script);
        let id = env.new_task(&["Add login"]);
        let mut command: Command = env.aof_command(&["run", "--task", &id]);
        command.env("SERVICE_LOGIN", SECRET).env("OTHER_API_KEY", "other-0123456789");
        let output = env.run(command).code(code);
        check(&env);
        let everything = Command::new("grep")
            .args(["-rl", "-e", SECRET, "-e", "other-0123456789", "."])
            .current_dir(env.path("."))
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&everything.stdout), "", "it is in a file");
        assert!(!env.git(&["log", "-p"]).contains(SECRET), "it is in the log");
        assert!(!output.to_string().contains(SECRET));
        (
            history(&env, &id),
            std::fs::read_to_string(env.path(&format!(".aof/runs/{id}@0/1/transcript"))).unwrap(),
        )
    };
    let (answer, transcript) = run(
        "echo \"using $SERVICE_LOGIN and $OTHER_API_KEY\"\necho \"{\\\"outcome\\\": \\\"complete\\\", \\\"summary\\\": \\\"With $SERVICE_LOGIN\\\"}\" > $AOF_OUTPUT\n",
        0,
    );
    assert_snapshot!(answer, @"work coder complete [file] With [secret SERVICE_LOGIN]");
    assert_snapshot!(transcript, @"using [secret SERVICE_LOGIN] and [secret OTHER_API_KEY]");
    let (answer, _) = run("echo \"failed with $SERVICE_LOGIN\" >&2; exit 3\n", 7);
    assert_snapshot!(answer, @"work coder blocked [attempts] 1 attempt of `coder` failed; the last one: `sh agents/coder.sh` ended with exit status 3; the last thing it printed: failed with [secret SERVICE_LOGIN]");
    let (answer, _) = run(
        "echo \"{\\\"outcome\\\": \\\"complete\\\", \\\"summary\\\": \\\"With $SERVICE_LOGIN\\\"}\"\n",
        0,
    );
    assert_snapshot!(answer, @"work coder complete [structured] With [secret SERVICE_LOGIN]");
}

#[test]
fn a_secret_is_masked_at_every_door() {
    const SECRET: &str = "sk-live-0123456789";
    let run = |script: &str| {
        let env = one_gate("secrets: [SERVICE_LOGIN], attempts: 1", script);
        let id = env.new_task(&["Add login"]);
        let mut command = env.aof_command(&["run", "--task", &id]);
        command.env("SERVICE_LOGIN", SECRET).env("OTHER_API_KEY", "other-0123456789");
        let _ = env.run(command).success();
        check(&env);
        let log = env.git(&["log", "-p"]);
        assert!(!log.contains(SECRET) && !log.contains("other-0123456789"), "{log}");
        (history(&env, &id), env)
    };
    let (answer, env) = run("\
\"$1\" task comment \"${AOF_TASK%@*}\" -m \"it is $OTHER_API_KEY\" 2>\"$HOME/said\"
\"$1\" task complete \"$AOF_TASK\" --outcome complete --summary \"With $SERVICE_LOGIN\" --output key=$OTHER_API_KEY
");
    assert_snapshot!(answer, @"work coder complete [own] With [secret SERVICE_LOGIN]");
    assert_snapshot!(std::fs::read_to_string(env.home().join("said")).unwrap(), @"
    error: the text has the value of `OTHER_API_KEY`, which would be in git for ever

    hint: leave it out, and say it again
    ");
    let (answer, _) = run("\
call() { echo \"{\\\"jsonrpc\\\": \\\"2.0\\\", $1}\"; }
{
    call '\"id\": 0, \"method\": \"initialize\", \"params\": {\"protocolVersion\": \"2025-06-18\", \"capabilities\": {}, \"clientInfo\": {\"name\": \"test\", \"version\": \"1\"}}'
    call '\"method\": \"notifications/initialized\"'
    call '\"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": \"aof_task_complete\", \"arguments\": {\"outcome\": \"complete\", \"summary\": \"By tool with '\"$SERVICE_LOGIN\"'\"}}'
} | \"$1\" mcp > \"$HOME/answers\"
");
    assert_snapshot!(answer, @"work coder complete [own] By tool with [secret SERVICE_LOGIN]");
}

#[test]
fn an_agent_speaks_for_nobody_else() {
    let rules = "\
workflows:
  reviewed:
    gates: [{id: work, role: worker}, {id: review, role: worker, separateFrom: [work]}]
  approved:
    gates: [{id: approve, role: lead, requireHuman: true}]
defaultWorkflow: reviewed
";
    let tries = "\
say() { \"$1\" task complete \"$2\" --outcome complete --summary 'Did it' 2>&1 | sed -n 1p >> \"$HOME/said\"; }
say \"$1\" \"$(cat \"$HOME/held\")\"
say \"$1\" \"$(cat \"$HOME/people\")\"
say \"$1\" \"$AOF_TASK\"
say \"$1\" \"${AOF_TASK%@*}\"
";
    let env = project_of(
        rules,
        &[
            ("coder", "worker", "", tries),
            ("typist", "worker", "", ""),
            ("human-ada", "lead", "", ""),
        ],
    );
    let held = env.new_task(&["Held"]);
    let _ = env.aof(&["task", "next", "--agent", "typist"]).success();
    let people = env.new_task(&["For people", "--workflow", "approved"]);
    std::fs::write(at_home(&env, "held"), &held).unwrap();
    std::fs::write(at_home(&env, "people"), &people).unwrap();
    let (id, output) = worked(&env);
    assert_snapshot!(timeless(&output.to_string()), @"
    exit 7
    --- stdout
    AOF-xxxxx: waits, 1 visit so far
    --- stderr
    Step 1/2: work: coder at AOF-xxxxx@0
    AOF-xxxxx: work → review after TIME: Did it
    AOF-xxxxx@1 review: waits for `typist`: org.yaml does not say how to start any of them (`run`)
    ");
    assert_snapshot!(env.plain(&said_at_home(&env, "said")), @"
    error: you tried to complete `AOF-xxxxx`, and your task is `AOF-xxxxx`
    error: gate `approve` is for people, and `coder` is not one
    AOF-xxxxx@0: complete; your part is done
    error: `coder` ended gate `work` with `complete` on Feb 16, 10:00; said once more without a ticket, that would end gate `review` as well
    ");
    assert_eq!(stand(&env, &id), "ready review -");
    assert_eq!(stand(&env, &held), "in_progress work typist");
    assert_eq!(history(&env, &people), "");
    check(&env);
}

#[test]
fn a_secret_that_the_rules_set_is_seen_nowhere_else() {
    const SECRET: &str = "given-0123456789";
    let env = one_gate(
        &format!("env: {{DEPLOY_TOKEN: {SECRET}}}"),
        "echo \"using $DEPLOY_TOKEN\"\necho \"{\\\"outcome\\\": \\\"complete\\\", \\\"summary\\\": \\\"With $DEPLOY_TOKEN\\\"}\" > $AOF_OUTPUT\n",
    );
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["run", "--task", &id]).success();
    assert_snapshot!(history(&env, &id), @"work coder complete [file] With [secret DEPLOY_TOKEN]");
    let everything = Command::new("grep")
        .args(["-rl", SECRET, "tasks", ".aof/runs"])
        .current_dir(env.path("."))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&everything.stdout), "", "it is in a file");
}
