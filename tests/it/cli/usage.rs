//! The command line itself: arguments, variables, usage errors and the demo.

use insta::assert_snapshot;

use crate::support::environment::TestEnvironment;
use crate::support::terminal::Seat;

#[test]
fn an_empty_variable_names_no_agent() {
    let env = TestEnvironment::new();
    let mut command = env.aof_command(&["task", "new", "Add login"]);
    command.env("AOF_AGENT", "");
    let _ = env.run(command).success();
}

#[test]
fn usage_errors_are_json_with_json_output() {
    let env = TestEnvironment::new();
    for args in [
        &["--json", "frobnicate"][..],
        &["task", "show", "--json", "../x"],
        &["task", "list", "--json", "--status=x"],
    ] {
        let output = env.aof(args).code(2);
        assert_eq!(output.json()["error"], "usage", "{output}");
        assert!(output.stderr.starts_with("error: "), "{output}");
    }
    assert_eq!(env.aof(&["frobnicate"]).code(2).stdout, "");
}

#[cfg(target_os = "linux")]
#[test]
fn lost_output_is_an_error() {
    let env = TestEnvironment::new();
    env.new_task(&["Add login"]);
    let mut command = env.aof_command(&["task", "list"]);
    command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
    command.stderr(std::process::Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cannot write to standard output"), "{said}");
}

#[test]
fn every_text_may_begin_with_a_dash() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env
        .aof(&["task", "edit", &id, "--title", "- a title", "--description", "-- a description"])
        .success();
    let _ = env.aof(&["task", "cancel", &id, "--reason", "- not needed"]).success();
    let _ =
        env.aof(&["task", "reopen", &id, "--to", "implement", "--reason", "- needed"]).success();
    let _ = env.aof(&["task", "override", &id, "--to", "review", "--reason", "-x"]).success();
    let _ = env.aof(&["task", "comment", &id, "--dry-run", "-m", "- a list"]).success();
    assert!(!env.task_text(&id).contains("a list"), "a rehearsal writes nothing");
    let _ = env.aof(&["task", "comment", &id, "-m", "- a list"]).success();
    assert!(env.task_text(&id).contains("\n- a list\n"));
}

#[test]
fn the_command_that_init_names_enters_the_folder() {
    let env = TestEnvironment::without_repository();
    let output = env.aof(&["init", "my garden's"]).success();
    let line = output.stdout.lines().find_map(|line| line.strip_prefix("next: ")).unwrap();
    let (line, _) = line.split_once(" && ").unwrap();
    let mut shell = env.command("sh");
    shell.args(["-c", &format!("{line} && ls")]);
    let listed = env.run(shell).success();
    assert!(listed.stdout.contains("project.yaml"), "{listed}");
}

#[test]
fn a_variable_that_names_no_agent_is_named_itself() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    for args in [
        &["task", "list"][..],
        &["task", "next"],
        &["task", "complete", &id, "-o", "complete", "-s", "done"],
    ] {
        let mut command = env.aof_command(args);
        command.env("AOF_AGENT", "a b");
        let output = env.run(command).code(2);
        assert!(
            output.stderr.contains("invalid value 'a b' for 'the variable AOF_AGENT'"),
            "{output}"
        );
        assert!(!output.stderr.contains("--me"), "{output}");
    }
    // What somebody wrote is named as they wrote it.
    let mut command = env.aof_command(&["task", "next", "--agent", "a b"]);
    command.env("AOF_AGENT", "a b");
    let output = env.run(command).code(2);
    assert!(output.stderr.contains("for '--agent <ID>'"), "{output}");
}

#[test]
fn the_demo_says_that_it_has_no_json() {
    let env = TestEnvironment::without_repository();
    let output = env.aof(&["demo", "--json"]).code(2);
    assert_eq!(output.json()["error"], "usage", "{output}");
    assert!(output.stderr.contains("has no JSON"), "{output}");
}

#[test]
fn the_demo_fits_a_terminal_of_80_columns_and_ends_with_commands_to_try() {
    let env = TestEnvironment::without_repository();
    let shown = env.aof(&["demo"]).success().stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines.len() <= 60, "{} lines", lines.len());
    let widest = lines.iter().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{shown}");
    let start = lines.iter().position(|line| *line == "Now yours").unwrap();
    let commands = lines[start + 1..].iter().map(|line| line.trim_start());
    assert_eq!(commands.filter(|line| line.starts_with("aof ")).count(), 3, "{shown}");
    for told in ["refused:", "sent back to implement", "docs → code-review"] {
        assert!(shown.contains(told), "{shown}");
    }
    assert!(env.files("").is_empty(), "the demo leaves nothing");
}

#[test]
fn the_demo_says_that_git_is_missing() {
    let env = TestEnvironment::without_repository();
    let mut command = env.aof_command(&["demo"]);
    command.env("PATH", env.home().join("nowhere"));
    let output = env.run(command).code(1);
    assert!(
        output.stderr.contains("error: `git --no-pager init")
            || output.stderr.contains("error: `git init"),
        "{output}"
    );
    assert!(
        output.stderr.contains("hint: see that git is installed, in one of the folders of `PATH`"),
        "{output}"
    );
    assert!(!output.stderr.contains("stuck"), "{output}");
}

#[test]
fn validate_reports_on_the_workflow_that_is_named() {
    let env = TestEnvironment::new();
    env.write("workflows/good.yaml", "gates:\n  - {id: work, role: backend}\n");
    let good = env.aof(&["workflow", "validate", "good"]).success();
    assert!(good.stdout.contains("valid"), "{good}");
    let unknown = env.aof(&["workflow", "validate", "god"]).code(3);
    assert!(unknown.stderr.contains("`good`"), "{unknown}");
    env.write("workflows/bad.yaml", "gates:\n  - {id: work, rol: backend}\n");
    let bad = env.aof(&["workflow", "validate", "bad"]).code(6);
    assert!(bad.stdout.contains("workflows/bad.yaml:2:"), "{bad}");
    let _ = env.aof(&["workflow", "validate", "good"]).success();
    let _ = env.aof(&["workflow", "validate", "workflows/good.yaml"]).success();
    let _ = env.aof(&["workflow", "validate"]).code(6);
}

#[test]
fn the_first_page_of_help_is_one_screen_and_names_only_commands_that_exist() {
    let env = TestEnvironment::without_repository();
    let page = env.aof(&["--help"]).success().stdout;
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert!(page.lines().count() <= 48, "{page}");
    let all = env.aof(&["help", "all"]).success().stdout;
    let sections =
        page.split("See what is going on").nth(1).unwrap().split("ID is any").next().unwrap();
    for line in sections.lines().filter(|line| line.starts_with("  ")) {
        let name = line.split_whitespace().next().unwrap();
        assert!(env.aof(&[name, "--help"]).code == Some(0), "`{name}` is no command");
    }
    assert!(all.contains("merge-driver") && !page.contains("merge-driver"), "{all}");
    insta::assert_snapshot!(page, @r#"
    Tasks in git: gates say who is next, every step is a commit.

    Usage: aof [COMMAND]     alone, in a project: what needs you now

    See what is going on
      status       what waits for you, what is late, problems
      list         tasks; --mine, --late, --tag  search WORDS
      show ID      one task, with its open points and relations
      history ID   what happened to it       why ID     who can move it
      board        the board here            serve      in the browser

    Work
      new TITLE    a task; -p high, -t tag, --due fri
      edit ID...   change fields, or the text in your editor
      next         take the next task        claim ID   a certain one
      done ID      its work is done          block ID   it waits, say why
      comment ID   add a comment             assign ID NAME  plan it
      release ID   give it back              undo ID    take a step back

    Decide
      decide       everything that waits for you, one by one
      approve ID   pass it on
      reject ID    -m TEXT: send it back, with what to fix

    Set up
      init         begin a project; --agents connects coding agents
      workflow     see, check, draw and change the gates
      org          who is in which role
      run          start agents' programs    watch      keep things moving
      sync         with the remote           doctor     find and fix faults
      verify       prove that every step kept the rules

    ID is any unique beginning: `9x` for AOF-xxxxx.

    Options
      -C DIR       work in DIR               --json     output for programs
      -v           exact times, more         --color W  auto, always, never
      -h           help of a command         -V         version

    All commands: aof help all     Begin: aof init && aof new "Title"
    "#);
}

#[test]
fn a_wrong_verb_names_the_nearest_command_first() {
    let env = TestEnvironment::new();
    for (typed, meant) in
        [("aprove", "approve"), ("complte", "complete"), ("assing", "assign"), ("edt", "edit")]
    {
        let refused = env.aof(&[typed, "x"]).code(2).stderr;
        assert!(refused.contains(&format!("exist: '{meant}'")), "{refused}");
    }
}

#[test]
fn close_asks_what_is_meant() {
    let env = TestEnvironment::with_rules(
        "workflow: {gates: [{id: work, role: all}, {id: check, role: all}]}\n",
        "roles: {all: {agents: [human-ada]}}\nagents: {human-ada: {email: ada@example.org}}\n",
    );
    let refused = env.unattended(&["close", "x"]).code(2).stderr;
    assert!(refused.contains("`aof done ID`") && refused.contains("`aof cancel ID`"), "{refused}");
    let id = env.new_task(&["Add login"]);
    let close = |answers: &[&str], options: &[&str]| {
        let mut seat = Seat::of(&env, &[&["close", &id], options].concat());
        seat.shows("[d/c] ");
        for answer in answers {
            seat.types(answer);
        }
        seat.ends().1
    };
    let head = env.head();
    assert!(close(&[""], &[]).contains("`aof cancel ID`"));
    assert_eq!(env.head(), head);
    assert!(close(&["d"], &["-s", "Did it"]).contains("work → check"));
    assert!(close(&["c", "No longer wanted"], &[]).contains("cancelled"));
    assert!(env.task_text(&id).contains("No longer wanted"));
}

/// The most lines that `aof init` prints, whatever it sets up.
const MOST_LINES: usize = 10;

/// Returns a repository with code, an uncommitted `.gitattributes` and a hook of its own.
fn repository_with_code() -> TestEnvironment {
    let env = TestEnvironment::without_rules();
    env.write("code.txt", "one\n");
    env.commit_all("code");
    env.write(".gitattributes", "*.png binary\n");
    env.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    env
}

fn printed_by_init(env: &TestEnvironment, args: &[&str]) -> String {
    let output = env.aof(&[&["init"], args].concat()).success();
    let text = env.plain(&format!("{}{}", output.stdout, output.stderr));
    assert!(text.lines().count() <= MOST_LINES, "init {args:?}:\n{text}");
    text
}

#[test]
fn init_prints_at_most_ten_lines() {
    let both = ["--agents", "--observability"];
    for args in
        [&[][..], &both[..1], &both[1..], &both, &["--dry-run"], &["--observability", "--dry-run"]]
    {
        let with = |words: &[&'static str]| [words, args].concat();
        printed_by_init(&TestEnvironment::without_repository(), &with(&["garden"]));
        printed_by_init(&repository_with_code(), args);
        printed_by_init(&repository_with_code(), &with(&["--branch", "aof"]));
    }
    for args in [&both[..1], &both[1..], &both] {
        let env = TestEnvironment::new();
        let is_asked: &[&str] =
            if args.contains(&"--agents") { &["--agent", "agent-7"] } else { &[] };
        printed_by_init(&env, &[args, is_asked].concat());
        printed_by_init(&env, args);
    }
}

#[test]
fn init_tells_what_was_made_and_what_is_next() {
    let env = TestEnvironment::without_repository();
    assert_snapshot!(printed_by_init(&env, &["garden"]), @"
    began `garden` in $PROJECT/garden, in a new git repository, commit COMMIT
      project.yaml, org.yaml  the gates of every task, and who works at them
      tasks/AOF-xxxxx.md      a first task, which explains itself
      .git/, .gitattributes   merge tasks by their meaning (undo: aof init --remove)
    next: cd garden && aof show AOF-xxxxx  read the first task, and complete it
          aof init --agents                connect your coding agents
    more: aof init --help                  what else was made, and how to undo it
    ");
    let env = repository_with_code();
    assert_snapshot!(printed_by_init(&env, &["--agents", "--observability"]), @"
    began `project` in $PROJECT, commit COMMIT
      project.yaml, org.yaml  the gates of every task, and who works at them
      tasks/AOF-xxxxx.md      a first task, which explains itself
      .gitattributes          left alone: commit its changes, then `aof doctor --fix`
      .git/hooks/pre-commit   yours, and stays: `aof doctor` says what it lacks
      AGENTS.md and 8 more    connect coding agents as agent-1, commit COMMIT
      monitoring/             alerts, a dashboard and a runbook, commit COMMIT
    next: aof show AOF-xxxxx  read the first task, and complete it
    more: aof init --help     what else was made, and how to undo it
      or: aof migrate branch  keep tasks on a branch of their own
    ");
    let env = repository_with_code();
    assert_snapshot!(printed_by_init(&env, &["--agents", "--observability", "--branch", "aof"]), @"
    began `project` in $PROJECT/.aof/branch, commit COMMIT
      project.yaml, org.yaml  the gates of every task, and who works at them
      tasks/AOF-xxxxx.md      a first task, which explains itself
      .git/, .gitattributes   merge tasks by their meaning (undo: aof init --remove)
      .git/hooks/pre-commit   yours, and stays: `aof doctor` says what it lacks
      project.yaml            on `main`, commit COMMIT: names the branch of the tasks
      AGENTS.md and 8 more    connect coding agents as agent-1, commit COMMIT
      monitoring/             alerts, a dashboard and a runbook, commit COMMIT
    next: aof show AOF-xxxxx  read the first task, and complete it
    more: aof init --help     what else was made, and how to undo it
    ");
    let env = TestEnvironment::new();
    assert_snapshot!(printed_by_init(&env, &["--agents", "--observability", "--agent", "agent-3"]), @r#"
    connected coding agents as agent-3, commit COMMIT
      AGENTS.md, CLAUDE.md               all of them: how to work on tasks  (new)
      .mcp.json, .claude/settings.json   Claude Code  (new)
      .codex/config.toml                 Codex, once it trusts the project  (new)
      .gemini/settings.json              Gemini CLI  (new)
      opencode.json                      OpenCode  (new)
      .vscode/mcp.json                   VS Code  (new)
      .cursor/mcp.json                   Cursor  (new)
      monitoring/                        alerts, a dashboard and a runbook, commit COMMIT
    next: start one here, and say "take the next task" (--hooks keeps Claude Code at it; more: aof init --help)
    "#);
}
