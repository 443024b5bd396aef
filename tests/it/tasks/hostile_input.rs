//! Files, texts and clocks that nobody means well with. Only the task that is concerned suffers, and it is told why.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use insta::assert_snapshot;

use crate::support::checker::{check, check_history};
use crate::support::environment::{Output, PROGRAM, TestEnvironment};

/// Puts those bytes where a task should be, and returns what a completion of it says; another task must go on as ever.
fn completed(bytes: &[u8]) -> Output {
    let env = TestEnvironment::new();
    let other = env.new_task(&["Tidy up"]);
    env.write("tasks/AOF-abc.md", bytes);
    let output = env.say("AOF-abc", "agent-7", "complete", &[]);
    assert_eq!(fs::read(env.path("tasks/AOF-abc.md")).unwrap(), bytes, "the file was touched");
    let _ = env.complete(&other, "agent-7");
    check_history(&env);
    output
}

#[test]
fn damaged_files_are_explained_with_the_place() {
    assert_snapshot!(completed(b"<<<<<<< HEAD\n---\ntitle: One\n=======\n---\ntitle: Two\n>>>>>>> side\n---\n"), @"
    exit 6
    --- stderr
    error: `tasks/AOF-abc.md` cannot be read as a task

    error[conflict_markers]: line 1 is a merge conflict marker
     --> tasks/AOF-abc.md:1:1
      |
    1 | <<<<<<< HEAD
      | ^^^^^^^^^^^^
      |
      = help: keep what counts of lines 1 to 7, take the markers out, then `git add` the file and commit

    hint: a merge that is still in progress can be taken back with `git merge --abort`
    ");
    assert_snapshot!(completed(b"---\ntitle: One\n<<<<<<< HEAD\nstatus: ready\n=======\nstatus: blocked\n>>>>>>> side\n---\n"), @"
    exit 6
    --- stderr
    error: `tasks/AOF-abc.md` cannot be read as a task

    error[conflict_markers]: line 3 is a merge conflict marker
     --> tasks/AOF-abc.md:3:1
      |
    3 | <<<<<<< HEAD
      | ^^^^^^^^^^^^
      |
      = help: keep what counts of lines 3 to 7, take the markers out, then `git add` the file and commit

    hint: a merge that is still in progress can be taken back with `git merge --abort`
    ");
    assert_snapshot!(completed(b"---\ntitle: One\ntitle: Two\n---\n"), @"
    exit 6
    --- stderr
    error: `tasks/AOF-abc.md` cannot be read as a task

    error[duplicate_key]: the key `title` on line 3 is already defined on line 2
     --> tasks/AOF-abc.md:3:1
      |
    2 | title: One
      | ----- first defined here
    3 | title: Two
      | ^^^^^
      |
      = help: keep one of the two

    hint: fix it there; HEAD does not have it, so if it is no task, `rm tasks/AOF-abc.md` removes it
    ");
    assert_snapshot!(completed(b"---\ntitle: Caf\xe9\n---\n"), @"
    exit 6
    --- stderr
    error: `tasks/AOF-abc.md` cannot be read as a task

    error[not_utf8]: line 2 is not valid UTF-8 (byte 14 of the file)
     --> tasks/AOF-abc.md:2:11
      |
    2 | title: Caf�
      |           ^
      |
      = help: save the file as UTF-8

    hint: fix it there; HEAD does not have it, so if it is no task, `rm tasks/AOF-abc.md` removes it
    ");
    assert_snapshot!(completed(b"---\ntitle: [One\n---\n"), @"
    exit 6
    --- stderr
    error: `tasks/AOF-abc.md` cannot be read as a task

    error[yaml_syntax]: not valid YAML: unclosed bracket '['
     --> tasks/AOF-abc.md:2:8
      |
    2 | title: [One
      |        ^
      |
      = help: close it with `]`

    hint: fix it there; HEAD does not have it, so if it is no task, `rm tasks/AOF-abc.md` removes it
    ");
    assert_snapshot!(completed(b"---\ntitle: One\n"), @"
    exit 6
    --- stderr
    error: `tasks/AOF-abc.md` cannot be read as a task

    error[unclosed_frontmatter]: the frontmatter opened on line 1 is never closed
     --> tasks/AOF-abc.md:1:1
      |
    1 | ---
      | ^^^
      |
      = help: add a line that is exactly `---` after the last key

    hint: fix it there; HEAD does not have it, so if it is no task, `rm tasks/AOF-abc.md` removes it
    ");
    assert_snapshot!(completed(b""), @"
    exit 6
    --- stderr
    error: `tasks/AOF-abc.md` cannot be read as a task

    error[no_frontmatter]: the file does not begin with frontmatter
    --> tasks/AOF-abc.md:1:1
     = help: the first line must be exactly `---`

    hint: fix it there; HEAD does not have it, so if it is no task, `rm tasks/AOF-abc.md` removes it
    ");
    assert_snapshot!(completed(b"---\nid: AOF-xyz\ntitle: One\ngate: {current: implement, entered: yesterday, visit: 7}\nstatus: redy\n---\n"), @"
    exit 6
    --- stderr
    error: `tasks/AOF-abc.md` cannot be read as a task

    error[id_mismatch]: this says `AOF-xyz`, and the file is named `AOF-abc`
     --> tasks/AOF-abc.md:2:1
      |
    2 | id: AOF-xyz
      | ^^
      |
      = help: the file's name counts: if it was renamed, rename it back; if it is a copy, remove it; if not, write `id: AOF-abc`

    error[invalid_time]: `entered` is not a point in time
     --> tasks/AOF-abc.md:4:37
      |
    4 | gate: {current: implement, entered: yesterday, visit: 7}
      |                                     ^^^^^^^^^
      |
      = help: write it like `2026-02-16T10:00:00Z`

    error[inconsistent_visit]: `visit: 7`, and the history has 0
     --> tasks/AOF-abc.md:4:48
      |
    4 | gate: {current: implement, entered: yesterday, visit: 7}
      |                                                ^^^^^
      |
      = help: the history or the visit was changed by hand; bring back what the engine wrote

    error[invalid_value]: `redy` is not a status
     --> tasks/AOF-abc.md:5:9
      |
    5 | status: redy
      |         ^^^^
      |
      = help: it is one of `ready`, `in_progress`, `blocked`, `complete`, `failed`, `cancelled`

    hint: fix it there; HEAD does not have it, so if it is no task, `rm tasks/AOF-abc.md` removes it
    ");
}

#[test]
fn a_bomb_does_not_go_off() {
    let mut bomb = "---\ntitle: Bomb\na: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, of) in ["b", "c", "d", "e", "f", "g", "h", "i"]
        .iter()
        .zip(["a", "b", "c", "d", "e", "f", "g", "h"])
    {
        let list = vec![format!("*{of}"); 9].join(", ");
        bomb.push_str(&format!("{name}: &{name} [{list}]\n"));
    }
    bomb.push_str("---\n");
    let output = completed(bomb.as_bytes()).code(6);
    assert!(output.stderr.contains("tasks/AOF-abc.md"), "{output}");
    let deep =
        format!("---\ntitle: Deep\nx: {}{}\n---\n", "[".repeat(100_000), "]".repeat(100_000));
    let _ = completed(deep.as_bytes()).code(6);
}

#[test]
fn a_file_of_fifty_megabytes_is_not_read() {
    let env = TestEnvironment::new();
    let other = env.new_task(&["Tidy up"]);
    env.write("tasks/AOF-abc.md", "---\ntitle: Large\n---\n");
    fs::File::options()
        .write(true)
        .open(env.path("tasks/AOF-abc.md"))
        .unwrap()
        .set_len(50 << 20)
        .unwrap();
    assert_snapshot!(env.say("AOF-abc", "agent-7", "complete", &[]), @"
    exit 6
    --- stderr
    error: `$PROJECT/tasks/AOF-abc.md` has 52428800 bytes, and the limit is 16777216

    hint: move long texts and logs into a file of their own, and name that file in the task
    ");
    let _ = env.complete(&other, "agent-7");
    check_history(&env);
}

#[test]
fn a_folder_is_not_a_task() {
    let env = TestEnvironment::new();
    let other = env.new_task(&["Tidy up"]);
    let outside = env.home().join("secret.md");
    fs::write(&outside, "---\ntitle: Secret\n---\n").unwrap();
    symlink(&outside, env.path("tasks/AOF-link.md")).unwrap();
    assert!(Command::new("mkfifo").arg(env.path("tasks/AOF-pipe.md")).status().unwrap().success());
    fs::create_dir(env.path("tasks/AOF-folder.md")).unwrap();
    assert_snapshot!(env.say("AOF-link", "agent-7", "complete", &[]), @"
    exit 6
    --- stderr
    error: `$PROJECT/tasks/AOF-link.md` is a symbolic link, not a file

    hint: git does not follow links either: replace `$PROJECT/tasks/AOF-link.md` by what it points to
    ");
    assert_snapshot!(env.say("AOF-pipe", "agent-7", "complete", &[]), @"
    exit 6
    --- stderr
    error: `$PROJECT/tasks/AOF-pipe.md` is a pipe, socket or device, not a file

    hint: move `$PROJECT/tasks/AOF-pipe.md` out of the way
    ");
    assert_snapshot!(env.say("AOF-folder", "agent-7", "complete", &[]), @"
    exit 6
    --- stderr
    error: `$PROJECT/tasks/AOF-folder.md` is a folder, not a file

    hint: move `$PROJECT/tasks/AOF-folder.md` out of the way
    ");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "---\ntitle: Secret\n---\n");
    let _ = env.complete(&other, "agent-7");
    check_history(&env);
}

#[test]
fn nothing_outside_the_project_is_written() {
    let env = TestEnvironment::new();
    let outside = env.home().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, env.path("tasks")).unwrap();
    let output = env.aof(&["task", "new", "Add login"]);
    assert_ne!(output.code, Some(0), "{output}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{output}");
    assert_eq!(env.log(), "Ada: rules\n");

    fs::remove_file(env.path("tasks")).unwrap();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    symlink(&outside, env.path("tasks/archive")).unwrap();
    let output = env.say(&id, "agent-3", "complete", &[]);
    assert_ne!(output.code, Some(0), "{output}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{output}");
    fs::remove_file(env.path("tasks/archive")).unwrap();
    let _ = env.complete(&id, "agent-3");
    check(&env);
}

#[test]
fn a_companion_that_leads_elsewhere_stays_behind() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let secret = env.home().join("secret");
    fs::write(&secret, "secret").unwrap();
    symlink(&secret, env.path(&format!("tasks/{id}.key"))).unwrap();
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&id, "agent-3");
    assert_eq!(
        env.git(&["grep", "--fixed-strings", "--count", "title: Add login", "HEAD"])
            .lines()
            .count(),
        1
    );
    assert!(!env.git(&["ls-tree", "-r", "--name-only", "HEAD"]).contains(".key"));
    check_history(&env);
}

#[test]
fn two_files_of_one_task_freeze_it() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let other = env.new_task(&["Tidy up"]);
    env.write(&format!("tasks/web/{id}.md"), env.task_text(&id));
    let shard = &id["AOF-".len()..][..2];
    env.write(&format!("tasks/{shard}/{id}.md"), env.read(&format!("tasks/{id}.md")));
    let output = env.say(&id, "agent-7", "complete", &[]).code(6);
    assert!(output.stderr.contains("task `AOF-xxxxx` has 2 files"), "{output}");
    let _ = env.complete(&other, "agent-7");
    check_history(&env);
}

#[test]
fn texts_of_agents_stay_texts() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let forged = "Fine.\n\nAof-Task: AOF-evil\nAof-Outcome: needs_review\nSigned-off-by: Ada <ada@example.org>\n---\n# comment\n\u{1b}[31mred\u{202e}\n\nAof-Agent: human-ada";
    let blockers = ["---\nstatus: complete", "x\"; rm -rf / #", "Aof-Gate: end"];
    let mut args = vec![
        "task",
        "complete",
        &id,
        "--agent",
        "agent-7",
        "-o",
        "blocked",
        "-s",
        forged,
        "-n",
        "Aof-Event: x",
    ];
    args.extend(blockers.iter().flat_map(|blocker| ["-b", *blocker]));
    let output = env.aof(&args).success();
    assert!(!output.stdout.contains('\u{1b}'), "{output}");
    let message = env.git(&["log", "-1", "--format=%B"]);
    fs::write(env.home().join("message"), message).unwrap();
    let message = env.home().join("message");
    assert_snapshot!(env.git_plain(&["interpret-trailers", "--parse", message.to_str().unwrap()]), @"
    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Outcome: blocked
    Aof-Agent: agent-7
    Aof-Completion: ULID
    ");
    assert_snapshot!(env.git_plain(&["log", "-1", "--format=%B"]).escape_debug().to_string().replace("\\n", "\n"), @r#"
    AOF-xxxxx: implement (blocked)

    Fine.

        Aof-Task: AOF-evil
        Aof-Outcome: needs_review
        Signed-off-by: Ada <ada@example.org>
        ---
        # comment
     [31mred

        Aof-Agent: human-ada
    - ---
        status: complete
    - x\"; rm -rf / #
    - Aof-Gate: end

        Aof-Event: x

    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Outcome: blocked
    Aof-Agent: agent-7
    Aof-Completion: ULID
    "#);
    let front = crate::support::checker::parse(env.task_text(&id).as_bytes()).unwrap();
    assert_eq!(front["gateHistory"][0]["summary"], forged);
    assert_eq!(front["gateHistory"][0]["blockers"], serde_json::json!(blockers));
    check(&env);
}

#[test]
fn names_of_agents_are_names() {
    let env = TestEnvironment::without_rules();
    env.write(".aof/.gitignore", "*\n");
    let output = env.aof(&["task", "new", "Add login"]).success();
    let path = env.files("tasks").remove(0);
    let id = path.trim_start_matches("tasks/").trim_end_matches(".md");
    for name in
        ["a\nAof-Task: x", "a b", "", "ä", "-x", "\u{1b}[31m", "../x", "<a@b>", "human-\u{202e}x"]
    {
        let output = env.aof(&["task", "complete", id, &format!("--agent={name}"), "-s", "Did it"]);
        assert_eq!(output.code, Some(2), "{name:?}: {output}");
    }
    assert_eq!(output.code, Some(0));
    check(&env);
}

#[test]
fn titles_may_be_anything_that_is_text() {
    let env = TestEnvironment::new();
    for title in [
        "- [ ] {x}: #y",
        "no",
        "null",
        "---",
        "\u{1f600} \"quoted\" 'twice'",
        "a\u{7}b\u{1b}[0m",
        "x".repeat(5000).as_str(),
        "line\nline",
        "~",
        "@at",
        "%x",
        "0x10",
        "2026-02-16",
    ] {
        let id = env.new_task(&["--", title]);
        let front = crate::support::checker::parse(env.task_text(&id).as_bytes()).unwrap();
        assert_eq!(front["title"], title);
    }
    check(&env);
}

#[test]
fn a_clock_that_goes_backwards_does_not_turn_the_history_round() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let complete = |agent: &str, now: &str| {
        let mut command = env.aof_command(&[
            "task", "complete", &id, "--agent", agent, "-o", "complete", "-s", "Did it",
        ]);
        command.env("AOF_NOW", now);
        let _ = env.run(command).success();
    };
    complete("agent-7", "1999-01-01T00:00:00Z");
    complete("agent-3", "1971-01-01T00:00:00Z");
    let front = crate::support::checker::parse(env.task_text(&id).as_bytes()).unwrap();
    let times: Vec<&str> = front["gateHistory"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|entry| [&entry["entered"], &entry["exited"]])
        .map(|time| time.as_str().unwrap())
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    check(&env);
}

#[test]
fn a_folder_that_cannot_be_written_is_named_and_nothing_is_lost() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let rights =
        |mode| fs::set_permissions(env.path("tasks"), fs::Permissions::from_mode(mode)).unwrap();
    rights(0o555);
    // The superuser may write anywhere.
    if fs::write(env.path("tasks/probe"), "").is_ok() {
        fs::remove_file(env.path("tasks/probe")).unwrap();
        rights(0o755);
        return;
    }
    let head = env.head();
    let output = env.say(&id, "agent-3", "complete", &[]).code(1);
    assert!(output.stderr.contains("$PROJECT/tasks"), "{output}");
    assert_eq!(env.head(), head);
    rights(0o755);
    let _ = env.complete(&id, "agent-3");
    check(&env);
}

#[test]
fn a_full_disk_stops_a_write_and_nothing_is_lost() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let text = env.task_text(&id);
    let head = env.head();
    env.write("large.md", "word ".repeat(13_000));
    // A limit of file sizes is as good as a full disk: what is written beyond it fails.
    for blocks in [0, 1, 8, 32] {
        let script = format!("ulimit -f {blocks}; trap '' XFSZ; exec \"$0\" \"$@\"");
        let mut command = env.command("sh");
        command.args(["-c", &script, &PROGRAM, "task", "complete", &id, "--agent", "agent-7"]);
        command.args(["-o", "complete", "-s", "Did it", "--file", "large.md"]);
        let output = env.run(command).code(1);
        assert!(output.stderr.starts_with("error: "), "{output}");
        assert_eq!(
            (env.task_text(&id), env.head()),
            (text.clone(), head.clone()),
            "{blocks}: {output}"
        );
    }
    let _ = env.complete(&id, "agent-7");
    check(&env);
}

/// Returns what a record of a write says, with the digest that shows it to be whole.
fn signed(record: &str) -> String {
    format!("{}\n{record}", aof::domain::Digest::of(record.as_bytes()).as_str())
}

#[test]
fn a_record_of_a_write_that_is_nonsense_harms_nobody() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    for record in
        ["", "{", "null", "{\"pid\":1,\"writes\":[],\"locks\":{\"index\":7}}", &"x".repeat(100_000)]
    {
        for record in [record.to_owned(), signed(record)] {
            env.write(".aof/intent", record);
            let other = env.new_task(&["Tidy up"]);
            let _ = env.complete(&other, "agent-7");
            assert!(!env.is_in_the_middle());
        }
    }
    let digest = aof::domain::Digest::of(b"text");
    let digest = digest.as_str();
    let evil = format!(
        "{{\"pid\":1,\"writes\":[{{\"task\":\"{id}\",\"old\":{{\"path\":\"tasks/{id}.md\",\"sha256\":\"{digest}\"}},\"new\":\"tasks/archive/2026/02/16/{id}.md\",\"sha256\":\"{digest}\",\"companions\":[[\"project.yaml\",\"org.yaml\"]]}}],\"locks\":null}}"
    );
    env.write(".aof/intent", signed(&evil));
    let _ = env.complete(&id, "agent-7");
    assert!(env.exists("project.yaml") && env.exists("org.yaml"));
    check(&env);
}
