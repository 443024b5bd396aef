//! Shell completion, as shells ask for it: what the project has, nothing written, nothing said on errors.

use std::process::Command;

use insta::assert_snapshot;

use crate::support::environment::{Output, TestEnvironment};

fn project() -> TestEnvironment {
    let env = TestEnvironment::new();
    for (id, title) in [
        ("AOF-biec", "Add a login form"),
        ("AOF-bi7", "Limit the attempts"),
        ("AOF-kqx", "Tidy up"),
    ] {
        env.hand_made(id, title);
    }
    let _ = env.aof(&["task", "edit", "AOF-kqx", "--tag", "later", "--tag", "api"]).success();
    let _ = env.complete("AOF-kqx", "agent-7");
    let _ = env.aof(&["task", "comment", "AOF-biec", "-m", "Please"]).success();
    let _ = env.aof(&["task", "comment", "AOF-bi7", "-m", "Please"]).success();
    env
}

/// Asks as fish does, whose answers have the help too.
fn ask(env: &TestEnvironment, words: &[&str]) -> Output {
    let mut command = env.aof_command(&[&["--", "aof"], words].concat());
    command.env("COMPLETE", "fish");
    env.run(command)
}

/// Returns the candidates without their help.
fn offered(env: &TestEnvironment, words: &[&str]) -> Vec<String> {
    let answer = ask(env, words).success();
    assert_eq!(answer.stderr, "");
    answer.stdout.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn ids_are_offered_with_their_titles() {
    let env = project();
    assert_snapshot!(ask(&env, &["task", "show", "AOF"]).success().stdout, @"
    AOF-kqx	Tidy up
    AOF-biec	Add a login form
    AOF-bi7	Limit the attempts
    ");
    for (typed, whole) in [("bie", "biec"), ("aof-k", "aof-kqx"), ("AOF-bi7", "AOF-bi7")] {
        assert_eq!(offered(&env, &["task", "show", typed]), [whole]);
        assert_eq!(offered(&env, &["show", typed]), [whole]);
        assert_eq!(offered(&env, &["task", "new", "A part", "--parent", typed]), [whole]);
    }
    let _ = env.aof(&["task", "cancel", "bie", "--reason", "no"]).success();
    assert_eq!(offered(&env, &["task", "show", "bi"]), ["bi7"]);
    assert_eq!(
        offered(&env, &["task", "reopen", "bie"]),
        ["biec"],
        "only an archived one begins so"
    );
}

#[test]
fn tasks_that_wait_for_the_user_come_first() {
    let env = project();
    let ask_as = |agent: &str| {
        let mut command = env.aof_command(&["--", "aof", "task", "brief", "AOF-"]);
        command.env("COMPLETE", "fish").env("AOF_AGENT", agent);
        env.run(command).success().stdout.lines().next().unwrap().to_owned()
    };
    assert_eq!(ask_as("agent-3"), "AOF-kqx\tTidy up");
    assert_eq!(ask_as("agent-7"), "AOF-biec\tAdd a login form");
}

#[test]
fn names_of_the_project_are_offered() {
    let env = project();
    assert_snapshot!(ask(&env, &["task", "complete", "bie", "--outcome", ""]).success().stdout, @"
    complete	Your work is finished and can go on to the next step.
    blocked	You cannot go on: something outside is missing. Name it in blockers; the task waits here.
    ");
    assert_snapshot!(ask(&env, &["task", "complete", "AOF-kqx@1", "--outcome", ""]).success().stdout, @"
    complete	You found it good; it goes on.
    needs_review	It needs fixes. List each fault in blockers; it goes back to be worked on.
    blocked	You cannot go on: something outside is missing. Name it in blockers; the task waits here.
    ");
    assert_snapshot!(ask(&env, &["task", "override", "bie", "--to", ""]).success().stdout, @"
    implement	role backend
    review	role architect
    ");
    assert_snapshot!(ask(&env, &["task", "assign", "bie", "agent"]).success().stdout, @"
    agent-3	architect
    agent-7	backend
    agent-8	backend
    ");
    for (words, names) in [
        (&["task", "next", "--role", "b"][..], &["backend"][..]),
        (&["task", "list", "--tag", ""], &["api", "later"]),
        (&["task", "new", "Title", "--workflow", "d"], &["default"]),
        (&["init", "--template", "tdd"], &["tdd"]),
        (&["workflow", "run", "td"], &["tdd"]),
        (&["task", "unb"], &["unblock"]),
        (&["unblo"], &["unblock"]),
        (&["nothing"], &[]),
        (&["task", "hold", "bie", "--re"], &["--reason"]),
        (&["watch", "--on"], &["--once"]),
    ] {
        assert_eq!(offered(&env, words), names, "{words:?}");
    }
    let elsewhere = TestEnvironment::without_repository();
    let project = env.path("").display().to_string();
    assert_eq!(offered(&elsewhere, &["-C", &project, "show", "bie"]), ["biec"]);
}

#[test]
fn asking_writes_nothing_and_never_fails() {
    let env = project();
    std::fs::remove_dir_all(env.path(".aof")).unwrap();
    let everything = || (env.files(""), env.head());
    let before = everything();
    assert_eq!(offered(&env, &["task", "show", "bie"]), ["biec"]);
    assert_eq!(everything(), before);
    let mut command = env.aof_command(&["--", "aof", "task", "show", ""]);
    command.env("COMPLETE", "tcsh");
    assert_eq!(env.run(command).success().stdout, "");
    let mut command = env.aof_command(&["task", "list"]);
    command.env("COMPLETE", "1");
    assert!(env.run(command).success().stdout.contains("AOF-biec"), "nobody asked");
    env.write("project.yaml", "gates: [");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "broken"]);
    assert_eq!(offered(&env, &["task", "show", "bie"]), ["biec"], "the last valid rules count");
    for elsewhere in [TestEnvironment::without_repository(), TestEnvironment::without_rules()] {
        assert_eq!(offered(&elsewhere, &["task", "override", "x", "--to", ""]), [""; 0]);
    }
}

#[test]
fn bash_completes_by_the_script() {
    let env = project();
    let ask = |line: &str| {
        let words = line.split(' ').collect::<Vec<_>>();
        let (last, before) = (words.len() - 1, words[words.len() - 2]);
        let script = format!(
            "eval \"$(aof completions bash)\"
             COMP_WORDS=({words}) COMP_CWORD={last} COMP_TYPE=9
             _clap_complete_aof aof '{word}' '{before}'
             printf '%s\\n' \"${{COMPREPLY[@]}}\"
             complete -p aof >/dev/null",
            words = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
            word = words[last],
        );
        let mut command: Command = env.command("bash");
        command.args(["--norc", "-c", &script]);
        let answer = env.run(command).success();
        assert_eq!(answer.stderr, "");
        answer.stdout
    };
    assert_snapshot!(ask("aof show AOF-bi"), @"
    AOF-biec
    AOF-bi7
    ");
    assert_snapshot!(ask("aof complete bie --outcome b"), @"blocked");
}
