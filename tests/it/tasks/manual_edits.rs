//! People edit files, stage things and commit as they like; the engine works around them.

use insta::assert_snapshot;

use crate::support::checker::{check, check_history};
use crate::support::environment::TestEnvironment;

#[test]
fn an_edit_by_hand_is_committed_first_and_as_theirs() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login", "--body", "Users want in."]);
    let path = env.task_path(&id);
    env.edit(&path, "title: Add login", "title: Add login and logout");
    env.edit(&path, "Users want in.", "Users want in, and out.");
    let _ = env.complete(&id, "agent-7");
    assert_snapshot!(env.log(), @"
    agent-7: AOF-xxxxx: implement -> review (complete)
    Ada: AOF-xxxxx: edited by hand
    Ada: AOF-xxxxx: created at implement
    Ada: rules
    ");
    let edit = env.git_plain(&["show", "--format=%B", "--unified=0", "HEAD^"]);
    assert_snapshot!(edit.lines().filter(|line| !line.starts_with("index ")).collect::<Vec<_>>().join("\n"), @"
    AOF-xxxxx: edited by hand

    Aof-Task: AOF-xxxxx
    Aof-Event: edited


    diff --git a/tasks/AOF-xxxxx.md b/tasks/AOF-xxxxx.md
    --- a/tasks/AOF-xxxxx.md
    +++ b/tasks/AOF-xxxxx.md
    @@ -3 +3 @@ id: AOF-xxxxx
    -title: Add login
    +title: Add login and logout
    @@ -17 +17 @@ workflowHash: HASH
    -Users want in.
    +Users want in, and out.
    ");
    check(&env);
}

#[test]
fn staged_modified_and_untracked_files_stay_so() {
    let env = TestEnvironment::new();
    for name in ["staged.txt", "modified.txt", "both.txt", "deleted.txt", "renamed.txt"] {
        env.write(name, format!("{name}\n"));
    }
    env.commit_all("work");
    let id = env.new_task(&["Add login"]);
    let tidy = env.new_task(&["Tidy up"]);
    env.write("staged.txt", "staged\n");
    env.write("both.txt", "staged\n");
    env.write("new.txt", "new\n");
    env.git(&["add", "staged.txt", "both.txt", "new.txt"]);
    env.git(&["mv", "renamed.txt", "moved.txt"]);
    env.write("both.txt", "modified\n");
    env.write("modified.txt", "modified\n");
    env.write("untracked.txt", "untracked\n");
    std::fs::remove_file(env.path("deleted.txt")).unwrap();
    let state = || {
        (env.git(&["status", "--porcelain"]), env.git(&["diff"]), env.git(&["diff", "--cached"]))
    };
    let before = state();
    for (task, agent) in [(&id, "agent-7"), (&tidy, "agent-8"), (&id, "agent-3")] {
        let _ = env.complete(task, agent);
        assert_eq!(state(), before);
    }
    check(&env);

    env.git(&["commit", "--quiet", "--message", "theirs"]);
    assert_snapshot!(env.git(&["show", "--format=%s", "--name-status"]), @"
    theirs

    M	both.txt
    R100	renamed.txt	moved.txt
    A	new.txt
    M	staged.txt
    ");
    assert!(env.task_path(&id).starts_with("tasks/archive/"));
    check(&env);
}

#[test]
fn a_gate_that_was_moved_by_hand_freezes_its_task_alone() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let other = env.new_task(&["Tidy up"]);
    let path = env.task_path(&id);
    env.edit(&path, "current: implement", "current: review");
    let text = env.read(&path);
    let head = env.head();
    assert_snapshot!(env.say(&id, "agent-3", "complete", &[]), @r#"
    exit 5
    --- stderr
    error: `tasks/AOF-xxxxx.md` was changed by hand in what the engine keeps: gate

    hint: see the change with `git diff HEAD -- tasks/AOF-xxxxx.md` and take it back with `git restore --source=HEAD --staged --worktree tasks/AOF-xxxxx.md`; if you meant to move the task, do that first, then `aof override AOF-xxxxx --to GATE --reason "..."`
    "#);
    assert_snapshot!(env.say(&id, "agent-3", "complete", &["--json"]), @r#"
    exit 5
    --- stdout
    {
      "error": "task_frozen",
      "message": "`tasks/AOF-xxxxx.md` was changed by hand in what the engine keeps: gate\n\nsee the change with `git diff HEAD -- tasks/AOF-xxxxx.md` and take it back with `git restore --source=HEAD --staged --worktree tasks/AOF-xxxxx.md`; if you meant to move the task, do that first, then `aof override AOF-xxxxx --to GATE --reason \"...\"`",
      "task": "AOF-xxxxx",
      "path": "tasks/AOF-xxxxx.md",
      "fields": [
        "gate"
      ],
      "jsonVersion": 1
    }
    --- stderr
    `tasks/AOF-xxxxx.md` was changed by hand in what the engine keeps: gate
    "#);
    assert_eq!((env.head(), env.read(&path)), (head, text));
    // What HEAD has counts, and is shown.
    let shown = env.aof(&["task", "show", &id, "--json"]).success().json();
    assert_eq!(
        (&shown["gate"]["current"], &shown["frozen"][0]),
        (&"implement".into(), &"gate".into())
    );
    let shown = env.aof(&["task", "show", &id]).success();
    assert!(shown.stdout.contains("implement") && !shown.stdout.contains("review"), "{shown}");
    let why = env.aof(&["why", &id]).success().stdout;
    assert!(
        why.contains("began at gate `implement`") && why.contains("agent-7 or agent-8"),
        "{why}"
    );
    assert!(why.contains("nothing moves it"), "{why}");
    let _ = env.complete(&other, "agent-7");

    env.git(&["restore", "--source=HEAD", &path]);
    let _ = env.complete(&id, "agent-7");
    check(&env);
}

#[test]
fn nothing_of_the_engine_s_can_be_edited_unseen() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login", "--context", "repo=web"]);
    let _ = env.complete(&id, "agent-7");
    let path = env.task_path(&id);
    let sound = env.read(&path);
    for (from, to) in [
        ("status: ready", "status: blocked"),
        ("  role: architect", "  role: backend"),
        ("summary: Did it", "summary: Did it well"),
        ("agent: agent-7", "agent: agent-8"),
        ("repo: web", "repo: evil"),
        ("gateHistory:\n", "blockers: [none]\ngateHistory:\n"),
    ] {
        env.edit(&path, from, to);
        let output = env.say(&id, "agent-3", "complete", &["--dry-run"]);
        assert!(matches!(output.code, Some(5 | 6)), "{from} -> {to}: {output}");
        env.write(&path, &sound);
    }
    let start = sound.find("gateHistory:").unwrap();
    env.write(&path, format!("{}---\n", &sound[..start]));
    let output = env.say(&id, "agent-3", "complete", &["--dry-run"]);
    assert!(matches!(output.code, Some(5 | 6)), "the history is cut off: {output}");
    env.write(&path, sound);
    let _ = env.complete(&id, "agent-3");
    check(&env);
}

#[test]
fn a_program_may_write_the_same_times_its_own_way() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.say(&id, "agent-7", "complete", &[]);
    let path = env.task_path(&id);
    let sound = env.read(&path);
    for (zone, rest) in [(" ", "+00:00"), ("T", ".000Z")] {
        let lines = sound.lines().map(|line| match line.rsplit_once(": 20") {
            Some((key, time)) => {
                let (day, clock) = time.trim_end_matches('Z').split_once('T').unwrap();
                format!("{key}: 20{day}{zone}{clock}{rest}\n")
            }
            None => format!("{line}\n"),
        });
        let text: String = lines.collect();
        assert!(text.contains(&format!("{rest}\n    exited")), "{text}");
        env.write(&path, text.replace("title: Add login", "title: Add a login"));
        let later = text.replace("exited: 20", "exited: 21");
        let _ = env.say(&id, "agent-3", "complete", &["--dry-run"]).success();
        env.write(&path, later);
        let _ = env.say(&id, "agent-3", "complete", &["--dry-run"]).code(5);
        env.write(&path, text.replace("title: Add login", "title: Add a login"));
    }
    let _ = env.complete(&id, "agent-3");
    assert!(env.log().contains("Ada: AOF-xxxxx: edited by hand"), "{}", env.log());
    check(&env);
}

#[test]
fn a_task_made_by_hand_is_adopted() {
    let env = TestEnvironment::new();
    env.write(
        "tasks/AOF-abc.md",
        "---\ntitle: Add login   # by Ada\nstatus: todo\npoints: 3\n---\nUsers want in.\n",
    );
    assert_snapshot!(env.complete("AOF-abc", "agent-7"), @"
    exit 0
    --- stdout
    AOF-abc: implement → review
      now at review, ready for agent-3
    ");
    assert_snapshot!(env.git_plain(&["log", "--format=%an <%ae>%n%B"]), @"
    agent-7 <agent-7@aof.invalid>
    AOF-abc: implement -> review (complete)

    Did it

    Aof-Task: AOF-abc
    Aof-Gate: implement
    Aof-Outcome: complete
    Aof-Agent: agent-7
    Aof-Completion: ULID

    Ada <ada@example.org>
    AOF-abc: adopted at implement

    Add login

    Aof-Task: AOF-abc
    Aof-Gate: implement
    Aof-Event: adopted

    Ada <ada@example.org>
    rules
    ");
    assert_snapshot!(env.plain(&env.task_text("AOF-abc")), @"
    ---
    title: Add login   # by Ada
    status: ready
    points: 3
    id: AOF-abc
    created: 2026-02-16T10:00:04Z
    updated: 2026-02-16T10:00:04Z
    routing:
      workflow: default
      role: architect
    gate:
      current: review
      entered: 2026-02-16T10:00:04Z
      visit: 1
    workflowHash: HASH
    gateHistory:
      - gate: implement
        role: backend
        agent: agent-7
        entered: 2026-02-16T10:00:04Z
        exited: 2026-02-16T10:00:04Z
        duration: 0
        outcome: complete
        summary: Did it
        to: review
        workflow: HASH
        completion:
          id: ULID
          sha256: SHA256
    ---
    Users want in.
    ");
    check(&env);
}

#[test]
fn people_may_sort_tasks_into_folders() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let path = format!("tasks/{id}.md");
    let sorted = format!("tasks/web/{id}.md");
    std::fs::create_dir_all(env.path("tasks/web")).unwrap();
    std::fs::rename(env.path(&path), env.path(&sorted)).unwrap();
    let _ = env.complete(&id, "agent-7");
    assert_snapshot!(env.git_plain(&["log", "--format=%an: %s", "--name-status", "--no-renames"]), @"
    agent-7: AOF-xxxxx: implement -> review (complete)

    M	tasks/web/AOF-xxxxx.md
    Ada: AOF-xxxxx: moved by hand

    D	tasks/AOF-xxxxx.md
    A	tasks/web/AOF-xxxxx.md
    Ada: AOF-xxxxx: created at implement

    A	tasks/AOF-xxxxx.md
    Ada: rules

    A	org.yaml
    A	project.yaml
    ");
    check(&env);

    env.git(&["mv", &sorted, &path]);
    env.git(&["commit", "--quiet", "--message", "sorted back"]);
    let _ = env.complete(&id, "agent-3");
    check(&env);
}

#[test]
fn a_move_that_is_staged_only_is_respected() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    std::fs::create_dir_all(env.path("tasks/web")).unwrap();
    env.git(&["mv", &format!("tasks/{id}.md"), "tasks/web/"]);
    assert_snapshot!(env.say(&id, "agent-7", "complete", &[]), @"
    exit 0
    --- stdout
    AOF-xxxxx: implement → review
      now at review, ready for agent-3
    ");
    assert_snapshot!(env.git_plain(&["status", "--porcelain"]), @"");
    check_history(&env);
    assert_eq!(env.task_path(&id), format!("tasks/web/{id}.md"));
}

#[test]
fn an_edit_that_is_staged_is_committed_once() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let path = env.task_path(&id);
    env.edit(&path, "title: Add login", "title: Add login and logout");
    env.git(&["add", &path]);
    assert_snapshot!(env.say(&id, "agent-7", "complete", &[]), @"
    exit 0
    --- stdout
    AOF-xxxxx: implement → review
      now at review, ready for agent-3
    ");
    check_history(&env);

    let tidy = env.new_task(&["Tidy up"]);
    let path = env.task_path(&tidy);
    env.edit(&path, "title: Tidy up", "title: Tidy up the cellar");
    env.git(&["add", &path]);
    env.edit(&path, "title: Tidy up the cellar", "title: Tidy up the attic");
    assert_snapshot!(env.say(&tidy, "agent-7", "complete", &[]), @"
    exit 5
    --- stderr
    error: another version of `tasks/AOF-xxxxx.md` is staged in git's index; commit it, or take it back with `git restore --staged tasks/AOF-xxxxx.md`
    ");
    assert!(env.task_text(&tidy).contains("attic"));
    check_history(&env);
}

#[test]
fn the_next_commit_of_a_person_holds_only_their_changes() {
    let env = TestEnvironment::new();
    env.write("src/x.txt", "1\n");
    env.commit_all("work");
    let id = env.new_task(&["Add login"]);
    env.write("src/x.txt", "2\n");
    env.git(&["add", "src/x.txt"]);
    let _ = env.complete(&id, "agent-7");
    env.git(&["commit", "--quiet", "--message", "more work"]);
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "src/x.txt\n");
    env.write("src/x.txt", "3\n");
    let _ = env.complete(&id, "agent-3");
    env.git(&["commit", "--quiet", "--all", "--message", "still more"]);
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "src/x.txt\n");
    check(&env);
}

#[test]
fn hooks_of_people_do_not_run_for_the_engine() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnvironment::new();
    for hook in ["pre-commit", "commit-msg", "post-commit", "reference-transaction"] {
        let path = format!(".git/hooks/{hook}");
        env.write(&path, "#!/bin/sh\necho ran >> \"$(git rev-parse --git-dir)/ran\"\nexit 1\n");
        std::fs::set_permissions(env.path(&path), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let output = env.aof(&["task", "new", "Add login"]).success();
    assert!(!env.exists(".git/ran"), "{output}");
}

#[test]
fn a_claim_by_hand_for_a_stranger_to_the_role_is_released() {
    for claim in ["", "  claimed: 2026-02-16T10:00:03Z\n"] {
        let env = TestEnvironment::new();
        let id = env.new_task(&["Add login"]);
        let path = env.task_path(&id);
        env.edit(
            &path,
            "  role: backend\n",
            &format!("  role: backend\n  agent: agent-3\n{claim}"),
        );
        env.edit(&path, "status: ready", "status: in_progress");
        env.commit_all("give it to agent-3");
        let swept = env.aof(&["sweep"]).success();
        let output = "agent-3 may not complete it, and does not have it any more";
        assert!(swept.stdout.contains(output), "{swept}");
        let text = env.task_text(&id);
        assert!(text.contains("status: ready") && !text.contains("agent:"), "{text}");
        let _ = env.complete(&id, "agent-7").success();
    }
}

#[test]
fn an_agent_that_leaves_a_role_keeps_its_tasks() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    env.edit("org.yaml", "[agent-7, agent-8]", "[agent-8]");
    env.commit_all("agent-7 leaves");
    let _ = env.aof(&["sweep"]).success();
    assert!(env.task_text(&id).contains("agent: agent-7"));
}
