//! `aof verify`: whatever was done to a history behind the engine's back is found, named and told from what people may do.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::environment::{TestEnvironment, nameless};

/// A task that was worked at, sent back, and worked at again.
fn scene() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No test covers it"]).success();
    let _ = env.complete(&id, "agent-7").success();
    (env, id)
}

/// Says what `aof verify` finds: each rule that is broken, in order.
fn found(env: &TestEnvironment) -> Vec<String> {
    let output = env.aof(&["verify", "--json"]);
    let value = output.json();
    let findings = value["findings"].as_array().unwrap();
    let open: Vec<String> = findings
        .iter()
        .filter(|finding| finding["covered"].is_null())
        .map(|finding| finding["rule"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(output.code, Some(i32::from(!open.is_empty())), "{output}");
    assert_eq!(value["ok"], Value::Bool(open.is_empty()));
    open
}

/// Makes the newest commit again with another file of the task; its author, date and message stay.
fn amend(env: &TestEnvironment, id: &str, from: &str, to: &str) {
    env.edit(&env.task_path(id), from, to);
    env.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
}

#[test]
fn a_history_that_the_engine_made_is_as_the_rules_allow() {
    let (env, id) = scene();
    env.edit(&env.task_path(&id), "Add login", "Add a login");
    env.commit_all("a better title, and no trailer");
    let _ = env.aof(&["task", "comment", &id, "-m", "Almost there"]).success();
    let _ = env.aof(&["task", "new", "Another"]).success();
    env.write("src/main.rs", "fn main() {}");
    env.commit_all("code");
    assert_snapshot!(env.aof(&["verify"]), @"
    exit 0
    --- stdout
    all is as the rules allow: 9 commits, 7 changes of a task
    ");
    assert_snapshot!(env.aof(&["verify", "--since", "HEAD~2"]).success().stdout, @"all is as the rules allow: 2 commits, 1 change of a task");
    assert_snapshot!(env.aof(&["verify", "HEAD~3..HEAD~1"]).success().stdout, @"all is as the rules allow: 2 commits, 2 changes of a task");
    assert_snapshot!(env.aof(&["verify", "v9.9"]).code(3), @"
    exit 3
    --- stderr
    error: there is no commit `v9.9`

    hint: name a branch, a tag, or the beginning of a commit's id; `git log --oneline` shows them
    ");
}

#[test]
fn a_change_past_the_engine_is_named() {
    let (env, id) = scene();
    amend(&env, &id, "No test covers it", "All is well");
    assert_snapshot!(nameless(&env.aof(&["verify"]).code(1)), @r#"
    exit 1
    --- stdout
    wrong: AOF-xxxxx: an entry says something else than it did [rewritten]
      commit   COMMIT AOF-xxxxx: implement -> review (complete)
      by       agent-7 <agent-7@aof.invalid>, 2026-02-16T10:00:07Z
      expected entry 2 as it was: blockers: ["No test covers it"]
      found    blockers: ["All is well"]
    1 thing wrong: 5 commits, 4 changes of a task
    "#);
}

#[test]
fn an_entry_can_be_neither_removed_nor_added() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    let before = env.git(&["show", &format!("HEAD~1:{path}")]);
    env.write(&path, before);
    env.commit_all("taken back");
    assert_eq!(found(&env), ["removed"]);

    let (env, id) = scene();
    let text = env.task_text(&id);
    let entries: Vec<&str> = text.split("  - gate: ").collect();
    env.write(
        &env.task_path(&id),
        text.replacen(entries[1], &format!("{0}  - gate: {0}", entries[1]), 1),
    );
    env.edit(&env.task_path(&id), "  visit: 3", "  visit: 4");
    env.commit_all("one more");
    assert_eq!(found(&env), ["rewritten"]);

    let (env, id) = scene();
    env.git(&["rm", "-q", &env.task_path(&id)]);
    env.commit_all("gone");
    assert_eq!(found(&env), ["removed"]);
}

#[test]
fn of_many_that_one_commit_takes_away_each_is_looked_for() {
    let env = TestEnvironment::new();
    let ids: Vec<String> = (0..6).map(|_| env.new_task(&["Add login"])).collect();
    // Two of them stand elsewhere as well.
    for id in [&ids[1], &ids[4]] {
        env.write(&format!("tasks/b/{id}.md"), env.task_text(id));
    }
    env.commit_all("copies");
    let paths: Vec<String> = ids.iter().map(|id| format!("tasks/{id}.md")).collect();
    env.git(&[&["rm", "-q"], &paths.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat());
    env.git(&["commit", "-q", "-m", "gone"]);
    assert_eq!(found(&env), ["removed"; 4]);
}

#[test]
fn trailers_of_a_commit_must_be_true() {
    let (env, _) = scene();
    let message = env.git(&["log", "-1", "--format=%B"]);
    let when = env.git(&["log", "-1", "--format=%aI"]);
    let answers = |author: &str, date: &str, message: &str| {
        env.git(&["commit", "-q", "--amend", "--author", author, "--date", date, "-m", message]);
        found(&env)
    };
    let agent = "agent-7 <agent-7@aof.invalid>";
    assert_eq!(answers(agent, &when, &message), Vec::<String>::new());
    assert_eq!(answers("Mallory <mallory@example.org>", &when, &message), ["wrong_author"]);
    assert_eq!(answers(agent, "2026-02-17T00:00:00Z", &message), ["wrong_date"]);
    for (from, to) in [
        ("Aof-Agent: agent-7", "Aof-Agent: agent-8"),
        ("Aof-Outcome: complete", "Aof-Outcome: skip"),
        ("Aof-Gate: implement", "Aof-Gate: review"),
    ] {
        assert!(message.contains(from), "{message}");
        assert_eq!(answers(agent, &when, &message.replace(from, to)), ["wrong_trailer"], "{to}");
    }
    for (from, to) in [
        ("implement -> review", "implement -> release"),
        ("Did it", "Did it, and ann approved it"),
        ("Did it\n", "Did it\n\nAnn approved it\n"),
        ("Did it\n\n", ""),
    ] {
        assert!(message.contains(from), "{message}");
        assert_eq!(answers(agent, &when, &message.replace(from, to)), ["wrong_message"], "{to}");
    }
    // What git and hosts add at the end is theirs.
    let signed_off = format!("{}\nSigned-off-by: Ada <ada@example.org>\n", message.trim_end());
    assert_eq!(answers(agent, &when, &signed_off), Vec::<String>::new());
    env.write("src/main.rs", "fn main() {}");
    env.git(&["add", "src"]);
    assert_eq!(answers(agent, &when, &message), ["other_files"]);
}

#[test]
fn a_file_committed_beside_a_step_is_found_by_any_name_at_any_place() {
    let beside = |do_so: &dyn Fn(&TestEnvironment)| {
        let (env, _) = scene();
        do_so(&env);
        env.git(&["commit", "-q", "--amend", "--no-edit"]);
        assert_eq!(found(&env), ["other_files"]);
        env.aof(&["verify"]).stdout
    };
    let blob =
        |env: &TestEnvironment| env.git(&["hash-object", "-w", "project.yaml"]).trim().to_owned();
    let entered = |env: &TestEnvironment, line: &[u8]| {
        let file = env.home().join("entry");
        std::fs::write(&file, line).unwrap();
        let mut git = env.command("git");
        git.args(["update-index", "--add", "--index-info"])
            .stdin(std::fs::File::open(file).unwrap());
        let _ = env.run(git).success();
    };
    let odd = beside(&|env| {
        entered(env, &[format!("100644 {}\tf", blob(env)).as_bytes(), b"\xe9\n"].concat());
    });
    assert!(odd.contains("`f\u{fffd}` changed with it"), "{odd}");
    let repository =
        beside(&|env| entered(env, format!("160000 {}\tmodule\n", env.head()).as_bytes()));
    assert!(repository.contains("`module` changed with it"), "{repository}");
    // One among the files of the task is none of them.
    let _ = beside(&|env| {
        let task = env
            .files("tasks")
            .into_iter()
            .find(|file| Path::new(file).extension() == Some("md".as_ref()))
            .unwrap();
        entered(
            env,
            format!("160000 {}\t{}\n", env.head(), task.replace(".md", ".module")).as_bytes(),
        );
    });

    let mut env = TestEnvironment::without_rules();
    env.write("top.c", "x\n");
    env.git(&["add", "top.c"]);
    env.git(&["commit", "-q", "-m", "top"]);
    let _ = env.aof(&["init", "sub"]).success();
    let file = env.files("sub/tasks").remove(0);
    env.enter(env.path("sub"));
    let id = file.rsplit('/').next().unwrap().trim_end_matches(".md");
    let _ = env.aof(&["task", "comment", id, "-m", "hi"]).success();
    let _ = env.aof(&["task", "complete", id, "--agent", "agent-1", "--summary", "Done"]).success();
    assert_eq!(found(&env), Vec::<String>::new());
    env.write("../top.c", "y\n");
    env.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    assert_eq!(found(&env), ["other_files"]);
    let output = env.aof(&["verify"]).stdout;
    assert!(output.contains("`../top.c` changed with it"), "{output}");
}

#[test]
fn a_change_amended_into_a_comment_or_an_edit_is_found_too() {
    let acts: [fn(&TestEnvironment, &str); 3] = [
        |env, id| drop(env.aof(&["task", "comment", id, "-m", "hi"]).success()),
        |env, id| drop(env.aof(&["task", "edit", id, "--title", "Another one"]).success()),
        |env, id| {
            let text = env.task_text(id) + "\nOne more line.\n";
            env.write(&env.task_path(id), text);
            // Whoever changes the task next has it committed first.
            drop(env.aof(&["task", "comment", id, "-m", "hi"]).success());
            env.git(&["reset", "-q", "--hard", "HEAD~1"]);
        },
    ];
    for act in acts {
        let (env, id) = scene();
        act(&env, &id);
        assert_eq!(found(&env), Vec::<String>::new());
        env.write("src/main.rs", "fn main() {}\n");
        env.git(&["add", "src"]);
        env.git(&["commit", "-q", "--amend", "--no-edit"]);
        assert_eq!(found(&env), ["other_files"]);
    }
}

#[test]
fn commits_outside_of_the_project_are_not_read() {
    let mut env = TestEnvironment::without_rules();
    env.write("others/a.c", "1\n");
    env.git(&["add", "others"]);
    env.git(&["commit", "-q", "-m", "others"]);
    let _ = env.aof(&["init", "sub"]).success();
    let task = env.files("sub/tasks").remove(0);
    let commit = |text: &str| {
        env.write("others/a.c", text);
        env.commit_all("by hand");
        env.git(&["rev-parse", "HEAD:others"])
    };
    let mut trees = vec![commit("2\n")];
    env.write(&task, env.read(&task) + "\nOne more line.\n");
    trees.push(commit("3\n"));
    for tree in trees {
        std::fs::remove_file(env.path(&format!(
            ".git/objects/{}/{}",
            &tree[..2],
            tree[2..].trim()
        )))
        .unwrap();
    }
    env.enter(env.path("sub"));
    assert_eq!(found(&env), Vec::<String>::new());
}

#[test]
fn moves_by_hand_are_found_until_a_permitted_override() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    env.edit(&path, "  current: review", "  current: implement");
    env.commit_all("moved");
    assert_eq!(found(&env), ["moved_by_hand"]);
    let _ = env
        .aof(&["task", "override", &id, "--to", "review", "--reason", "I have looked at it"])
        .success();
    assert_eq!(found(&env), Vec::<String>::new());
    assert_snapshot!(nameless(&env.aof(&["verify"])), @"
    exit 0
    --- stdout
    put right: AOF-xxxxx: it was moved by hand [moved_by_hand]
      commit   COMMIT moved
      by       Ada <ada@example.org>, 2026-02-16T10:00:09Z
      expected gate: review, visit 3, since 2026-02-16T10:00:07Z
      found    gate: implement, visit 3, since 2026-02-16T10:00:07Z
      put right by commit COMMIT
    all is as the rules allow: 8 commits, 7 changes of a task
    ");
}

#[test]
fn squashed_rebased_and_shallow_histories_are_distinguished_from_tampering() {
    let (env, _) = scene();
    // The commits of the task again, on top of somebody's work.
    env.git(&["checkout", "-q", "-b", "other", "HEAD~4"]);
    env.write("README.md", "A project");
    env.commit_all("work");
    env.git(&["checkout", "-q", "-"]);
    env.git(&["rebase", "-q", "other"]);
    assert_eq!(found(&env), Vec::<String>::new(), "a rebase keeps what was proved");

    let clone = env.home().join("clone");
    let url = format!("file://{}", env.path("").display());
    env.git(&["clone", "-q", "--depth", "2", &url, &clone.to_string_lossy()]);
    let shallow = env.aof(&["-C", &clone.to_string_lossy(), "verify"]);
    assert_snapshot!(nameless(&shallow), @"
    exit 0
    --- stdout
    note: history ends at commit COMMIT here: earlier commits cannot be checked; `git fetch --unshallow` gets them
    all is as the rules allow: 1 commit, 1 change of a task
    ");

    env.git(&["reset", "-q", "--soft", "HEAD~2"]);
    env.git(&["commit", "-q", "-m", "squashed"]);
    let _ = env.aof(&["verify"]).success();
    let strict = env.aof(&["verify", "--strict", "--json"]).code(1).json();
    assert_eq!(strict["findings"][0]["rule"], "squashed", "{strict}");
}

#[test]
fn a_step_by_hand_that_looks_right_is_not_the_engines() {
    let (env, id) = scene();
    let message = format!("{id}: implement -> review (complete)");
    env.git(&["commit", "-q", "--amend", "-m", &message]);
    assert_eq!(found(&env), ["unattested"]);
}

#[test]
fn a_commit_by_hand_with_the_trailers_of_another_one_is_found() {
    let (env, id) = scene();
    // The message and the author of a step that was made, on a step that was not.
    let message = env.git(&["log", "-1", "--format=%B"]);
    let text = env.task_text(&id);
    let _ = env.complete(&id, "agent-3").success();
    let archived = env.task_path(&id);
    assert_ne!(text, env.task_text(&id));
    env.git(&[
        "commit",
        "-q",
        "--amend",
        "--author",
        "agent-7 <agent-7@aof.invalid>",
        "-m",
        &message,
    ]);
    assert!(archived.contains("archive"));
    let broken = found(&env);
    for rule in ["wrong_trailer", "wrong_message", "wrong_author"] {
        assert!(broken.iter().any(|one| one == rule), "{broken:?}");
    }
}

#[test]
fn a_file_that_only_says_that_it_is_finished_is_found_and_is_not() {
    let env = TestEnvironment::new();
    env.write("tasks/AOF-done1.md", "---\ntitle: Done, it says\nstatus: complete\n---\n");
    env.commit_all("done");
    env.edit("tasks/AOF-done1.md", "Done, it", "Done, so it");
    env.commit_all("said once more");
    let waiting = env.new_task(&["Waits", "--depends", "AOF-done1"]);
    assert_snapshot!(nameless(&env.aof(&["verify"]).code(1)), @"
    exit 1
    --- stdout
    wrong: AOF-xxxxx: it says that it is finished, and never stood at a gate [said_by_hand]
      commit   COMMIT done
      by       Ada <ada@example.org>, 2026-02-16T10:00:05Z
      expected a task that the engine finished, with its entries
      found    `status: complete`, and no entry
    1 thing wrong: 4 commits, 3 changes of a task
    ");
    let why = env.aof(&["why", &waiting]).success();
    assert!(why.stdout.contains("is complete, which stands at no gate yet"), "{why}");
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(found(&env), Vec::<String>::new(), "it begins at its first gate");
    assert!(env.task_text("AOF-done1").contains("status: ready"));
}

#[test]
fn a_committed_move_that_cannot_be_read_is_found_until_it_is_taken_back() {
    let (env, id) = scene();
    let before = env.head();
    let path = env.task_path(&id);
    env.edit(&path, "status: ready", "status: complete");
    env.commit_all("moved by hand");
    assert_eq!(found(&env), ["unreadable"]);
    let refused = env.say(&id, "agent-3", "complete", &[]).code(6).stderr;
    let log = format!("`git log -p -- {}`", env.plain(&path));
    assert!(refused.contains("bring back what the engine wrote"), "{refused}");
    let status = env.aof(&["status"]).success().stdout;
    assert!(status.contains(&log), "{status}");
    env.git(&["restore", &format!("--source={before}"), &path]);
    env.commit_all("taken back");
    let _ = env.complete(&id, "agent-3").success();
    assert_eq!(found(&env), Vec::<String>::new());
}

#[test]
fn merges_keep_the_changes_of_both_sides() {
    let (env, id) = scene();
    let other = env.new_task(&["Another"]);
    env.git(&["checkout", "-q", "-b", "side"]);
    let _ = env.complete(&other, "agent-7").success();
    env.git(&["checkout", "-q", "-"]);
    let _ = env.complete(&id, "agent-3").success();
    env.git(&["merge", "-q", "--no-edit", "side"]);
    assert_eq!(found(&env), Vec::<String>::new());
    env.git(&["reset", "-q", "--hard", "HEAD~1"]);
    env.git(&["merge", "-q", "--no-edit", "-s", "ours", "side"]);
    assert_eq!(found(&env), ["lost_in_merge"]);
}

#[test]
fn no_history_hides_behind_another_file_or_one_that_cannot_be_read() {
    let hand_made = "---\ntitle: Add login\n---\n";
    let (env, id) = scene();
    let path = env.task_path(&id);
    env.git(&["mv", &path, &format!("tasks/{id}.txt")]);
    env.git(&["rm", "-q", "-f", &format!("tasks/{id}.txt")]);
    env.write(&format!("tasks/later/{id}.md"), "---\ntitle: [\n---\n");
    env.commit_all("moved, and broken");
    assert_eq!(found(&env), ["unreadable"]);
    env.write(&format!("tasks/later/{id}.md"), hand_made);
    env.commit_all("mended");
    assert_eq!(found(&env), ["unreadable", "removed"]);

    let (env, id) = scene();
    let path = env.task_path(&id);
    env.write(&format!("tasks/A/{id}.md"), hand_made);
    env.commit_all("a second file");
    assert_eq!(found(&env), ["doubled"]);
    env.git(&["rm", "-q", &path]);
    env.edit(&format!("tasks/A/{id}.md"), "Add login", "Add a login");
    env.commit_all("and only that one");
    assert_eq!(found(&env), ["removed"]);
}

#[test]
fn a_copy_is_reported_at_its_commit_and_costs_nothing_once_gone() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    let copy = format!("tasks/b/{id}.md");
    env.write(&copy, env.task_text(&id));
    env.commit_all("both");
    let other = env.new_task(&["Another"]);
    let _ = env.complete(&other, "agent-7").success();
    assert_eq!(found(&env), ["doubled"]);
    let output = env.aof(&["verify"]).stdout;
    assert!(
        output.lines().any(|line| line.starts_with("  commit ") && line.ends_with(" both")),
        "{output}"
    );
    // As `aof doctor` says.
    env.git(&["rm", "-q", &copy]);
    env.git(&["commit", "-q", "-m", "as doctor said"]);
    assert_eq!(found(&env), Vec::<String>::new());

    // Moved by two commits.
    env.write(&copy, env.read(&path));
    env.commit_all("half of a move");
    env.git(&["rm", "-q", &path]);
    env.git(&["commit", "-q", "-m", "the other half"]);
    assert_eq!(found(&env), Vec::<String>::new());
    let _ = env.complete(&id, "agent-3").success();
    assert_eq!(found(&env), Vec::<String>::new());

    // Of a task that nobody has worked at yet.
    let fresh = env.new_task(&["Fresh"]);
    let (path, copy) = (env.task_path(&fresh), format!("tasks/b/{fresh}.md"));
    for stays in [&path, &copy] {
        let goes = if *stays == path { &copy } else { &path };
        env.write(&copy, env.read(&path));
        env.commit_all("both");
        assert_eq!(found(&env), ["doubled"]);
        env.git(&["rm", "-q", goes]);
        env.git(&["commit", "-q", "-m", "one"]);
        assert_eq!(found(&env), Vec::<String>::new());
    }

    // The same on a branch of its own.
    let (env, id) = scene();
    let path = env.task_path(&id);
    env.git(&["checkout", "-q", "-b", "side"]);
    env.write(&format!("tasks/b/{id}.md"), env.task_text(&id));
    env.commit_all("both");
    env.git(&["checkout", "-q", "-"]);
    env.write("README.md", "A project");
    env.commit_all("work");
    env.git(&["merge", "-q", "--no-edit", "side"]);
    assert_eq!(found(&env), ["doubled"]);
    env.git(&["rm", "-q", &path]);
    env.git(&["commit", "-q", "-m", "sorted"]);
    assert_eq!(found(&env), Vec::<String>::new());
}

#[test]
fn a_copy_hides_nothing_that_goes_with_the_other_file() {
    // An older version takes the place of the task.
    let (env, id) = scene();
    let path = env.task_path(&id);
    let older = env.git(&["show", &format!("HEAD~2:{path}")]);
    env.write(&format!("tasks/b/{id}.md"), older);
    env.commit_all("an older one besides");
    assert_eq!(found(&env), ["doubled"]);
    env.git(&["rm", "-q", &path]);
    env.git(&["commit", "-q", "-m", "and only that one"]);
    assert_eq!(found(&env), ["removed"]);

    // A copy that says what nobody did.
    let (env, id) = scene();
    let path = env.task_path(&id);
    env.write(
        &format!("tasks/b/{id}.md"),
        env.task_text(&id).replace("No test covers it", "All is well"),
    );
    env.commit_all("another history besides");
    assert_eq!(found(&env), ["rewritten", "doubled"]);
    env.git(&["rm", "-q", &path]);
    env.git(&["commit", "-q", "-m", "and only that one"]);
    assert_eq!(found(&env), ["rewritten", "rewritten"]);

    // A task without an entry was there as well.
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.git(&["rm", "-q", &env.task_path(&id)]);
    let fix = env.aof(&["status"]).success().stdout;
    assert!(fix.contains("`aof cancel AOF-xxxxx --reason"), "{fix}");
    env.git(&["commit", "-q", "-m", "gone"]);
    assert_eq!(found(&env), ["removed"]);
}

#[test]
fn a_file_broken_then_moved_is_right_once_it_continues() {
    let (env, id) = scene();
    let (path, text) = (env.task_path(&id), env.task_text(&id));
    env.git(&["rm", "-q", &path]);
    env.write(&format!("tasks/later/{id}.md"), "---\ntitle: [\n---\n");
    env.commit_all("moved, and broken");
    env.write(&format!("tasks/later/{id}.md"), &text);
    env.commit_all("mended");
    assert_eq!(found(&env), Vec::<String>::new());
    let _ = env.complete(&id, "agent-3").success();
    assert_eq!(found(&env), Vec::<String>::new());
}

#[test]
fn the_name_of_the_rules_is_not_changed_by_hand() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    let text = env.read(&path);
    let hash =
        text.lines().find_map(|line| line.strip_prefix("workflowHash: ")).unwrap().to_owned();
    env.write(
        &path,
        text.replace(&format!("workflowHash: {hash}"), "workflowHash: 0123456789abcdef"),
    );
    env.commit_all("other rules");
    assert_eq!(found(&env), ["moved_by_hand"]);
}

#[test]
fn of_two_trailers_that_say_something_else_neither_counts() {
    let (env, _) = scene();
    let message = env.git(&["log", "-1", "--format=%B"]).trim().to_owned();
    for more in ["Aof-Outcome: needs_review", "Aof-Agent: human-ada", "Aof-Task: AOF-zzz"] {
        env.git(&["commit", "-q", "--amend", "-m", &format!("{message}\n{more}")]);
        assert_eq!(found(&env), ["wrong_trailer"], "{more}");
    }
    env.git(&["commit", "-q", "--amend", "-m", &message]);
    assert_eq!(found(&env), [""; 0]);
}

#[test]
fn a_folder_called_tasks_is_no_project() {
    let (env, id) = scene();
    let forged =
        format!("{id}: implement -> done (complete)\n\nAof-Task: {id}\nAof-Outcome: complete");
    env.write(&format!("notes/tasks/{id}.md"), "anything");
    env.commit_all(&forged);
    assert_eq!(found(&env), ["wrong_trailer"]);
    env.write("notes/project.yaml", crate::support::environment::PROJECT);
    env.git(&["add", "--all"]);
    env.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(found(&env), [""; 0]);
}

#[test]
fn a_range_that_says_nothing_is_refused() {
    let env = TestEnvironment::new();
    for args in [&["verify", ""][..], &["verify", "--since", ""]] {
        let output = env.aof(args).code(2);
        assert!(output.stderr.contains("a value is required"), "{output}");
    }
    let _ = env.aof(&["verify", "HEAD.."]).success();
}

#[test]
fn a_repository_at_a_tasks_path_is_no_file_of_it() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    let head = env.git(&["rev-parse", "HEAD"]);
    env.git(&["rm", "--quiet", "--cached", &path]);
    env.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},{path}", head.trim())]);
    env.git(&["commit", "--quiet", "-m", "a repository"]);
    assert_eq!(found(&env), ["removed"]);
    env.git(&["revert", "--no-edit", "HEAD"]);
    assert!(found(&env).contains(&"removed".to_owned()));
    let _ = env.aof(&["events", "rebuild"]).success();
}

#[test]
fn an_object_that_a_power_cut_left_short_is_reported() {
    let (env, id) = scene();
    for object in [format!("HEAD:{}", env.task_path(&id)), "HEAD".to_owned()] {
        let name = env.git(&["rev-parse", &object]);
        let file = format!(".git/objects/{}/{}", &name[..2], name[2..].trim());
        let whole = std::fs::read(env.path(&file)).unwrap();
        std::fs::remove_file(env.path(&file)).unwrap();
        std::fs::write(env.path(&file), &whole[..whole.len() / 2]).unwrap();
        let output = env.aof(&["task", "show", &id]);
        let verified = env.aof(&["events", "rebuild"]);
        assert!(verified.code != Some(0), "{object}: {verified}");
        assert!(verified.stderr.contains("ends too early"), "{object}: {verified}{output}");
        std::fs::remove_file(env.path(&file)).unwrap();
        std::fs::write(env.path(&file), whole).unwrap();
    }
}
