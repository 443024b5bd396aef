//! Ids on the command line: the beginning of one is enough, as long as it is clear which task is meant.

use insta::assert_snapshot;

use crate::support::environment::TestEnvironment;
use crate::support::terminal::Seat;

fn project() -> TestEnvironment {
    let env = TestEnvironment::new();
    for (id, title) in [
        ("AOF-biec", "Add a login form"),
        ("AOF-bi7", "Limit the attempts"),
        ("AOF-kqx7", "Explain the login"),
        ("AOF-kqx", "Tidy up"),
    ] {
        env.hand_made(id, title);
    }
    env
}

/// Returns the id of the task that the command shows.
fn shown(env: &TestEnvironment, typed: &str) -> String {
    let task = env.aof(&["task", "show", "--json", typed]).success().json();
    task["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_beginning_of_an_id_names_the_task() {
    let env = project();
    for (typed, meant) in [
        ("AOF-biec", "AOF-biec"),
        ("AOF-bie", "AOF-biec"),
        ("biec", "AOF-biec"),
        ("bie", "AOF-biec"),
        ("aof-BIE", "AOF-biec"),
        ("AOF-kqx", "AOF-kqx"),
        ("kqx", "AOF-kqx"),
        ("kqx7", "AOF-kqx7"),
    ] {
        assert_eq!(shown(&env, typed), meant, "{typed}");
    }
}

#[test]
fn an_ambiguous_beginning_lists_the_tasks_and_changes_nothing() {
    let env = project();
    let head = env.head();
    assert_snapshot!(env.aof(&["task", "cancel", "aof-bi", "--reason", "no"]), @"
    exit 3
    --- stderr
    error: 2 tasks begin with `aof-bi`
      AOF-bi7   Limit the attempts
      AOF-biec  Add a login form

    hint: give more of the id
    ");
    let found = env.aof(&["--json", "task", "show", "k"]).code(3).json();
    assert_eq!(found["error"], "ambiguous_task");
    assert_eq!(found["candidates"][1]["task"], "AOF-kqx7");
    for number in 10..20 {
        env.hand_made(&format!("AOF-bi{number}"), "One of many");
    }
    let many = env.aof(&["why", "bi"]).code(3).stderr;
    assert!(many.starts_with("error: 12 tasks begin with `bi`\n"), "{many}");
    assert!(many.contains("\n  and 2 more\n") && many.lines().count() == 14, "{many}");
    assert_eq!(env.head(), head);
}

#[test]
fn an_unknown_beginning_fails_as_an_unknown_task() {
    let env = project();
    assert_snapshot!(env.aof(&["task", "show", "biexg"]), @"
    exit 3
    --- stderr
    error: there is no task `AOF-xxxxx`

    hint: did you mean `AOF-biec`?
    ");
    assert_snapshot!(env.aof(&["task", "show", "web-9"]), @"
    exit 3
    --- stderr
    error: no task begins with `web-9`

    hint: `aof list --all` lists them all
    ");
    assert_snapshot!(env.aof(&["task", "show", "AOF-nix"]), @"
    exit 3
    --- stderr
    error: there is no task `AOF-nix`

    hint: did you mean `AOF-bi7`?
    ");
    for nonsense in ["", "../x", "a b", "bie@", "bie@x"] {
        let said = env.aof(&["task", "show", nonsense]).code(2).stderr;
        assert!(said.contains("give an id such as `AOF-7qk` or its beginning"), "{said}");
    }
}

#[test]
fn active_tasks_are_meant_before_archived_ones() {
    let env = project();
    let _ = env.aof(&["task", "cancel", "biec", "--reason", "no"]).success();
    assert!(env.task_path("AOF-biec").starts_with("tasks/archive/"));
    assert_eq!(shown(&env, "bi"), "AOF-bi7");
    assert_eq!(shown(&env, "bie"), "AOF-biec", "no active one begins so");
    let _ = env.aof(&["task", "cancel", "bi", "--reason", "no"]).success();
    let said = env.aof(&["task", "show", "bi"]).code(3).stderr;
    assert!(said.contains("AOF-biec  Add a login form"), "{said}");
}

#[test]
fn a_task_that_only_the_worktree_lacks_is_no_beginning_of_another() {
    let env = project();
    env.commit_all("tasks");
    std::fs::remove_file(env.path("tasks/AOF-kqx.md")).unwrap();
    let said = env.aof(&["task", "cancel", "AOF-kqx", "--reason", "no"]).code(3).stderr;
    assert!(said.contains("the file of task `AOF-kqx` is gone"), "{said}");
}

#[test]
fn every_command_with_a_task_takes_the_beginning_and_tells_the_whole_id() {
    let env = project();
    for args in [
        &[
            "task",
            "edit",
            "bie",
            "--title",
            "Add login",
            "--depends",
            "kqx7",
            "--parent",
            "aof-kqx",
        ][..],
        &["task", "edit", "bie", "--undepends", "kqx7", "--unparent"],
        &["task", "comment", "bie", "-m", "Please"],
        &["task", "assign", "--claim", "bie", "agent-7"],
        &["task", "renew", "bie", "--agent", "agent-7"],
        &["task", "release", "bie", "--agent", "agent-7"],
        &["task", "hold", "bie", "--reason", "wait"],
        &["task", "unblock", "bie"],
        &["task", "complete", "bie@0", "--agent", "agent-7", "-o", "complete", "-s", "Done"],
        &["task", "override", "bie", "--to", "implement", "--reason", "again"],
        &["task", "cancel", "bie", "--reason", "no"],
        &["task", "reopen", "bie", "--to", "implement", "--reason", "yes"],
    ] {
        let said = env.aof(args).success().stdout;
        assert!(said.starts_with("AOF-biec: "), "{args:?}: {said}");
    }
    for args in [
        &["task", "history", "bie"][..],
        &["task", "brief", "bie"],
        &["why", "bie"],
        &["events", "--task", "bie"],
        &["trust", "bie"],
    ] {
        let _ = env.aof(args).success();
    }
    let tested = env.aof(&["task", "test", "bie"]).code(1).stdout;
    assert_eq!(tested, "AOF-biec has no tests\n");
    let parent = env.new_task(&["A part", "--parent", "kqx7", "--depends", "bie"]);
    let part = env.aof(&["task", "show", "--json", &parent]).success().json();
    assert_eq!((&part["parent"], &part["dependsOn"][0]), (&"AOF-kqx7".into(), &"AOF-biec".into()));
}

#[test]
fn a_refused_completion_repeats_the_command_with_the_ticket() {
    let env = project();
    let done = ["task", "complete", "bie", "--agent", "agent-7", "-o", "complete", "-s", "Done"];
    let _ = env.aof(&done).success();
    let refused = env.aof(&done).code(5);
    assert_snapshot!(refused, @"
    exit 5
    --- stderr
    error: `agent-7` ended gate `implement` with `complete` on Feb 16, 10:00; said once more without a ticket, that would end gate `review` as well

    hint: nothing was changed, and nothing is to be done; if gate `review` is meant as well, name its visit: `AOF-biec@1` in place of `AOF-biec`

    example:
      aof task complete AOF-biec@1 --agent agent-7 -o complete -s Done
    ");
}

#[test]
fn a_command_that_changes_nothing_takes_a_part_of_the_id_or_a_word_of_the_title() {
    let env = project();
    for (typed, meant) in [
        ("iec", "AOF-biec"),
        ("QX7", "AOF-kqx7"),
        ("attempts", "AOF-bi7"),
        ("ATT", "AOF-bi7"),
        ("up", "AOF-kqx"),
    ] {
        assert_eq!(shown(&env, typed), meant, "{typed}");
        for command in ["why", "history", "brief"] {
            let text = env.aof(&["--json", command, typed]).success().stdout;
            assert!(text.contains(meant), "{command} {typed}: {text}");
        }
    }
    assert_snapshot!(env.aof(&["show", "login"]), @"
    exit 3
    --- stderr
    error: 2 tasks have `login` in id or title
      AOF-biec  Add a login form
      AOF-kqx7  Explain the login

    hint: give more of the id
    ");
    for unknown in ["ttempts", "at", "a", "AOF-iec", "log-in"] {
        let _ = env.aof(&["show", unknown]).code(3);
    }
    let _ = env.aof(&["cancel", "kqx7", "--reason", "no"]).success();
    assert_eq!(shown(&env, "login"), "AOF-biec", "open tasks come first");
    assert_eq!(shown(&env, "explain"), "AOF-kqx7", "no open task has it");
}

/// Words that people type where a command takes a task.
const WORDS: [&str; 36] = [
    "make", "test", "tests", "fix", "the", "add", "done", "all", "and", "bug", "build", "check",
    "code", "docs", "edit", "error", "file", "for", "from", "help", "into", "list", "login", "new",
    "next", "not", "now", "page", "review", "run", "show", "start", "status", "task", "update",
    "with",
];

#[test]
fn a_common_word_changes_no_task_without_a_yes() {
    let env = TestEnvironment::new();
    for (number, words) in WORDS.chunks(2).enumerate() {
        env.hand_made(&format!("AOF-9{number:02}{}", words[0]), &words.join(" or "));
    }
    let head = env.head();
    for word in WORDS {
        let _ = env.unattended(&["release", word, "--agent", "agent-7"]).code(3);
    }
    assert_snapshot!(env.unattended(&["complete", "LOGIN", "--agent", "agent-7", "-s", "Done"]), @"
    exit 3
    --- stderr
    error: no task begins with `LOGIN`

    hint: did you mean `AOF-911login`, `login or new`?
    ");
    assert_snapshot!(env.unattended(&["comment", "login", "--agent", "agent-7"]), @r#"
    exit 3
    --- stderr
    error: no task begins with `login`

    hint: did you mean `AOF-911login`, `login or new`?; each word is a task here, and `-m` is the text: `aof comment --agent agent-7 ID -m "login"`
    "#);
    assert_snapshot!(env.unattended(&["edit", "900", "--depends", "login"]), @"
    exit 3
    --- stderr
    error: no task begins with `login`

    hint: did you mean `AOF-911login`, `login or new`?
    ");
    assert_eq!(env.head(), head);

    let mut run = Seat::of(&env, &["hold", "login", "--reason", "wait"]);
    run.shows("Did you mean AOF-911login, `login or new`? [y/N]");
    run.types("n");
    let (status, screen) = run.ends();
    assert_eq!(status.code(), Some(3), "{screen}");
    assert_eq!(env.head(), head);

    let mut run = Seat::of(&env, &["hold", "login", "--reason", "wait"]);
    run.shows("[y/N]");
    run.types("y");
    let (status, screen) = run.ends();
    assert!(status.success(), "{screen}");
    assert!(env.task_text("AOF-911login").contains("\nstatus: blocked\n"));
}
