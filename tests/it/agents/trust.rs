//! Programs that come with the rules: a clone runs none before its user has trusted it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::environment::{Output, TestEnvironment};
use crate::support::scripted_agents::DONE;
use crate::support::terminal::Seat;

const RULES: &str = "\
workflow: {gates: [{id: work, role: worker}]}
notify: [{on: all, command: [sh, scripts/tell.sh]}]
";
const ORG: &str = "\
roles: {worker: {agents: [coder]}}
agents: {coder: {run: {command: [sh, -c, 'sh scripts/work.sh'], env: {MODE: fast}}}}
";

/// Returns a project whose rules run two scripts.
fn project() -> TestEnvironment {
    let env = TestEnvironment::without_rules();
    env.write("project.yaml", RULES);
    env.write("org.yaml", ORG);
    env.write("scripts/work.sh", format!("echo $MODE >> worked\n{DONE}"));
    env.write("scripts/tell.sh", "cat >> told\n");
    env.write(".gitignore", "worked\ntold\n");
    env.commit_all("rules");
    env
}

/// Runs `aof` as a person's machine would: nothing is trusted by the environment.
fn untrusting(env: &TestEnvironment, args: &[&str]) -> Output {
    env.run(untrusting_command(env, args))
}

fn untrusting_command(env: &TestEnvironment, args: &[&str]) -> Command {
    let mut command = env.aof_command(args);
    command.env_remove("AOF_TRUST");
    command
}

/// Runs `aof` with this hash in `AOF_TRUST`.
fn trusting(env: &TestEnvironment, args: &[&str], hash: &str) -> Output {
    let mut command = untrusting_command(env, args);
    command.env("AOF_TRUST", hash);
    env.run(command)
}

/// Returns the hash that a refusal prints.
fn hash_in(output: &Output) -> String {
    let (_, after) = output.stderr.split_once("AOF_TRUST=").expect("a hash is printed");
    after.chars().take_while(char::is_ascii_hexdigit).collect()
}

#[test]
fn a_script_on_the_branch_of_the_tasks_is_trusted_as_it_is() {
    let env = project();
    let _ = env.aof(&["migrate", "branch"]).success();
    let org = ORG.replace("sh scripts/work.sh", "sh .aof/branch/scripts/work.sh");
    env.write(".aof/branch/org.yaml", org);
    env.write(".aof/branch/scripts/work.sh", DONE);
    let commit = |message| {
        env.git(&["-C", ".aof/branch", "add", "--all"]);
        env.git(&["-C", ".aof/branch", "commit", "--quiet", "--message", message]);
    };
    commit("the script");
    env.git(&["rm", "--quiet", "scripts/work.sh"]);
    env.git(&["commit", "--quiet", "--message", "it is there"]);
    let refused = untrusting(&env, &["trust"]);
    let _ = trusting(&env, &["trust"], &hash_in(&refused)).success();
    let _ = env.new_task(&["Add login"]);
    let _ = untrusting(&env, &["run", "--agent", "coder"]).success();
    // Whoever can push can change it: that asks again.
    env.write(".aof/branch/scripts/work.sh", format!("echo more\n{DONE}"));
    commit("another script");
    let _ = env.new_task(&["Add logout"]);
    let refused = untrusting(&env, &["run", "--agent", "coder"]).code(7);
    assert!(refused.stderr.contains("was changed since you trusted it"), "{refused}");
}

#[test]
fn a_fresh_clone_runs_nothing_until_it_is_trusted() {
    let mut env = project();
    env.git(&["clone", "--quiet", ".", "../clone"]);
    env.enter("../clone");
    let _ = untrusting(&env, &["notices", "--deliver"]).success();
    let id = env.new_task(&["Add login"]);

    let refused = untrusting(&env, &["run", "--task", &id]).code(7);
    assert!(refused.stderr.contains("agent `coder` is not trusted on this machine"), "{refused}");
    let json = untrusting(&env, &["run", "--agent", "coder", "--json"]).code(7);
    assert!(json.stdout.contains("\"program_untrusted\""), "{json}");
    let asked = untrusting(&env, &["runner", "doctor", "--ask"]).code(4);
    assert!(asked.stderr.contains("is not trusted"), "{asked}");
    let untold = untrusting(&env, &["notices", "--deliver"]).code(1);
    assert!(untold.stdout.contains("delivered 0"), "{untold}");
    let watched = untrusting(&env, &["watch", "--once"]);
    assert!(watched.stdout.contains("`aof trust`"), "{watched}");
    assert!(!env.exists("worked") && !env.exists("told"), "nothing has run");
    assert_eq!(env.log().lines().count(), 2, "nothing was claimed: {}", env.log());

    for command in ["status", "doctor"] {
        let output = untrusting(&env, &[command]);
        assert!(output.stdout.contains("2 programs are not trusted on this machine"), "{output}");
    }
    let shown = untrusting(&env, &["trust"]).code(4);
    assert_eq!(hash_in(&shown), hash_in(&refused));
    insta::assert_snapshot!(shown.stdout, @"
    new  agent `coder`
        sh -c 'sh scripts/work.sh'
        MODE=fast
        file scripts/work.sh (COMMIT)
    new  notices of the project
        sh scripts/tell.sh
        file scripts/tell.sh (COMMIT)
    ");

    // Another hash trusts nothing; the printed one does, for one command or for good.
    let hash = hash_in(&shown);
    let other = hash.replace(['0', '1', '2'], "3");
    let refused = trusting(&env, &["run", "--task", &id], &other).code(7);
    assert!(refused.stderr.contains(&format!("AOF_TRUST={other},{hash}`")), "{refused}");
    let _ = trusting(&env, &["run", "--task", &id], &hash).success();
    assert_eq!(env.read("worked"), "fast\n");
    // The run may have delivered its own notices.
    let before = fs::read_to_string(env.path("told")).unwrap_or_default();
    env.new_task(&["Add logout"]);
    let _ = untrusting(&env, &["notices", "--deliver"]).code(1);
    let after = fs::read_to_string(env.path("told")).unwrap_or_default();
    assert_eq!(after, before, "one command was trusted");
    let _ = trusting(&env, &["trust"], &hash).success();
    let _ = untrusting(&env, &["notices", "--deliver"]).success();
    assert!(env.read("told").contains("Add logout"));
    let value = untrusting(&env, &["trust", "--json"]).success().json();
    assert_eq!((&value["trusted"], value["hash"].as_str()), (&true.into(), Some(&*hash)));
    assert!(!untrusting(&env, &["doctor"]).stdout.contains("program_untrusted"));

    let _ = untrusting(&env, &["trust", "--revoke"]).success();
    let _ = untrusting(&env, &["trust"]).code(4);
}

#[test]
fn a_script_that_changes_by_push_is_shown_and_trusted_anew() {
    let env = project();
    let shown = untrusting(&env, &["trust"]).code(4);
    let _ = trusting(&env, &["trust"], &hash_in(&shown)).success();
    let _ = untrusting(&env, &["notices", "--deliver"]).success();

    env.edit("scripts/tell.sh", "cat >> told", "touch owned; cat >> told");
    env.edit("org.yaml", "MODE: fast", "MODE: slow, LANG: C");
    env.commit_all("pushed by somebody");
    let id = env.new_task(&["Add login"]);
    let _ = untrusting(&env, &["notices", "--deliver"]).code(1);
    let refused = untrusting(&env, &["run", "--task", &id]).code(7);
    assert!(refused.stderr.contains("agent `coder` was changed since you trusted it"), "{refused}");
    assert!(!env.exists("owned") && !env.exists("told") && !env.exists("worked"));

    let shown = untrusting(&env, &["trust"]).code(4);
    insta::assert_snapshot!(shown.stdout, @"
    changed  agent `coder`
      - MODE=fast
        sh -c 'sh scripts/work.sh'
      + MODE=slow
      + LANG=C
        file scripts/work.sh (COMMIT)
    changed  notices of the project
      - file scripts/tell.sh (COMMIT)
        sh scripts/tell.sh
      + file scripts/tell.sh (COMMIT)
    ");
    let _ = trusting(&env, &["trust"], &hash_in(&shown)).success();
    let _ = untrusting(&env, &["notices", "--deliver"]).success();
    assert!(env.read("told").contains("task_created"), "what waited is delivered");

    // What nobody has to see again stays trusted: other rules, and other places of the same program.
    env.edit("project.yaml", "id: work,", "id: work, description: Work,");
    env.commit_all("words");
    let _ = untrusting(&env, &["trust"]).success();
}

#[test]
fn at_a_terminal_a_person_is_asked_once() {
    let env = project();
    let _ = untrusting(&env, &["notices", "--deliver"]).success();
    let id = env.new_task(&["Add login"]);
    let seat = |args: &[&str]| {
        Seat::with(&env, args, |command| {
            command.env("TERM", "xterm").env_remove("AOF_TRUST");
        })
    };
    let mut run = seat(&["run", "--task", &id]);
    run.shows("sh -c 'sh scripts/work.sh'");
    run.shows("Trust them? [y/N]");
    run.types("n");
    let (status, screen) = run.ends();
    assert_eq!(status.code(), Some(7), "{screen}");
    assert!(!env.exists("worked"));

    let mut run = seat(&["run", "--task", &id]);
    run.shows("Trust them? [y/N]");
    run.types("y");
    let (status, screen) = run.ends();
    assert_eq!(status.code(), Some(0), "{screen}");
    assert_eq!(env.read("worked"), "fast\n");
    let other = env.new_task(&["Add logout"]);
    let (status, screen) = seat(&["run", "--task", &other]).ends();
    assert!(status.success() && !screen.contains("[y/N]"), "{screen}");

    let record = env.files("../home/.local/state/aof/trust");
    assert_eq!(record.len(), 1, "{record:?}");
    let mode = |path: &str| fs::metadata(env.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("../home/.local/state/aof/trust"), 0o700);
}

/// Each program of these rules is trusted, and then somebody pushes one of the files: nothing runs before it was seen.
#[test]
fn a_later_commit_runs_nothing_of_its_own() {
    let asks = |command: &str, files: &[&str], quiet: &str| {
        let env = project();
        env.edit("org.yaml", "command: [sh, -c, 'sh scripts/work.sh'], env: {MODE: fast}", command);
        for file in
            ["bin/b.sh", "bin/lib/c.sh", "docs/guide.md", "tasks.md", ".claude/settings.json"]
        {
            env.write(file, "exit 1\n");
        }
        env.commit_all("rules");
        let id = env.new_task(&["Add login"]);
        for file in files {
            let shown = untrusting(&env, &["trust"]).code(4);
            let _ = trusting(&env, &["trust"], &hash_in(&shown)).success();
            env.write(quiet, format!("other than for {file}\n"));
            env.commit_all("what runs nothing");
            let _ = untrusting(&env, &["trust"]).success();
            env.write(file, "touch owned\n");
            env.commit_all("pushed by somebody");
            let refused = untrusting(&env, &["run", "--task", &id]).code(7);
            assert!(refused.stderr.contains("was changed since"), "{command}, {file}: {refused}");
        }
        assert!(!env.exists("owned"));
    };
    let quiet = "docs/guide.md";
    asks("command: ['./bin/{gate}.sh']", &["bin/work.sh"], quiet);
    asks("command: ['{project}/bin/{agent}.sh']", &["bin/coder.sh", "bin/b.sh"], quiet);
    asks("command: ['./{gate}.sh']", &["work.sh"], quiet);
    asks("command: [env, -C, bin, ./b.sh]", &["bin/b.sh", "bin/new.sh"], quiet);
    asks("command: [bash, -c, 'cd bin && ./b.sh']", &["bin/b.sh", "bin/lib/d.sh"], quiet);
    asks("command: [bash, -c, 'exec \"$@\"', x, -rbin/b.sh]", &["bin/b.sh"], quiet);
    asks("command: [make, -Cbin]", &["bin/Makefile"], quiet);
    asks("command: [run-parts, ./bin/]", &["bin/new"], quiet);
    asks("env: {PATH: './bin:/usr/bin:/bin'}, command: [agent.sh]", &["bin/agent.sh"], quiet);
    asks("env: {PATH: '{project}/bin:/bin'}, command: [b.sh]", &["bin/b.sh"], quiet);
    asks("preset: claude", &[".claude/settings.json", ".mcp.json"], ".gemini/settings.json");
    asks("command: [env, gemini, -p, hello]", &[".gemini/settings.json"], ".claude/settings.json");
    asks("command: [sh, ., '{project}', ./bin/b.sh]", &["bin/b.sh"], quiet);
}

#[test]
fn a_large_program_is_trusted_by_its_content() {
    let env = project();
    let program = |end: &str| format!("exit\n{}{end}\n", "#".repeat(17 << 20));
    env.write("scripts/work.sh", program("a"));
    env.commit_all("large");
    let shown = untrusting(&env, &["trust"]).code(4);
    let _ = trusting(&env, &["trust"], &hash_in(&shown)).success();
    env.write("scripts/work.sh", program("b"));
    env.commit_all("pushed by somebody");
    let _ = untrusting(&env, &["trust"]).code(4);
}
