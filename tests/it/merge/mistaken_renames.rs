//! One side finishes a task and makes a new one, and git takes the new file for the old one, renamed: nothing of the two is mixed, everybody is
//! told what brings both right, and that alone loses nothing.

use insta::assert_snapshot;

use crate::support::clones::Clones;
use crate::support::environment::{PROJECT, TestEnvironment};
use crate::support::merge_scene::{aside, entries, scene, verified};

/// What tasks say: so much of it that git takes any for any other.
fn text() -> String {
    (1..30).map(|line| format!("What is to be done, part {line}.\n")).collect()
}

fn new(env: &TestEnvironment, title: &str) -> String {
    env.new_task(&[title, "--body", &text()])
}

/// Ends both visits of a task.
fn finish(env: &TestEnvironment, id: &str, agent: &str) {
    let _ = env.complete(id, agent).success();
    let _ = env.complete(id, "agent-3").success();
}

/// Has git do something at which it stops, and returns what it said.
fn stopped(env: &TestEnvironment, how: &[&str]) -> String {
    let merged = env.try_git(how);
    assert_eq!(merged.code, Some(1), "{merged}");
    merged.stderr + &merged.stdout
}

/// Does what everybody is told, and commits.
fn settled(env: &TestEnvironment) {
    let status = env.aof_aside(&["status"]).success();
    assert!(status.stdout.contains("`aof merge-driver --settle`"), "{status}");
    assert!(!status.stdout.contains("git add"), "{status}");
    let _ = env.aof(&["merge-driver", "--settle"]).success();
    assert!(!env.aof_aside(&["status"]).success().stdout.contains("merged"));
    env.git(&["commit", "-q", "--no-edit"]);
    whole(env);
}

/// Expects that nothing is left to do, and nothing was lost.
fn whole(env: &TestEnvironment) {
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ = verified(env).success();
}

/// Expects that there is one file of the task, and returns where.
fn only_file(env: &TestEnvironment, id: &str) -> String {
    let files = env.files("tasks").into_iter().filter(|path| path.contains(id)).collect::<Vec<_>>();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Has a side finish a task and make a new one, while another side goes on with it; merges the first into the second, or the other way round.
fn mixed(layout: &str, into: &str) -> (TestEnvironment, [String; 2], String) {
    let (env, _) = scene();
    env.write("project.yaml", format!("{PROJECT}tasks: {{layout: {layout}}}\n"));
    env.commit_all("another layout");
    let id = new(&env, "Add login");
    let mut other = String::new();
    aside(&env, "side", || {
        finish(&env, &id, "agent-8");
        other = new(&env, "Add logout");
    });
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["checkout", "-q", into]);
    let merged =
        stopped(&env, &["merge", "--no-edit", if into == "main" { "side" } else { "main" }]);
    (env, [id, other], merged)
}

#[test]
fn a_new_task_taken_for_a_finished_one_is_not_mixed_with_it() {
    let (env, [id, other], merged) = mixed("flat", "main");
    assert_snapshot!(env.plain(&merged), @"
    conflict: tasks/AOF-xxxxx.md: git takes it for the file of `AOF-xxxxx`, renamed; the two were not mixed
    `aof merge-driver --settle` merges both tasks; adding the file before that loses what was done with `AOF-xxxxx`
    Auto-merging tasks/AOF-xxxxx.md
    CONFLICT (content): Merge conflict in tasks/AOF-xxxxx.md
    Automatic merge failed; fix conflicts and then commit the result.
    ");
    let made = env.git(&["show", &format!("side:tasks/{other}.md")]);
    assert_eq!(env.read(&format!("tasks/{other}.md")), made);
    let status = env.aof(&["status", "--json"]).success().json();
    let output = status["attention"]
        .as_array()
        .unwrap()
        .iter()
        .find(|point| point["code"] == "task_unmerged")
        .unwrap();
    assert_snapshot!(env.plain(&format!("{}\n{}", output["problem"], output["fix"])), @r#"
    "`tasks/AOF-xxxxx.md`: it is not merged and has nothing of what one side did"
    "`aof merge-driver --settle` merges it; whoever adds or commits it now takes back what that side did. See that git finds `aof` in its `PATH`: `aof doctor`"
    "#);
    let before = env.git(&["status", "--porcelain"]);
    assert_snapshot!(env.plain(&env.aof(&["merge-driver", "--settle", "--dry-run"]).success().to_string()), @"
    exit 0
    --- stdout
    tasks/AOF-xxxxx.md: would be merged and staged
    tasks/AOF-xxxxx.md: would be merged and staged
    --- stderr
    AOF-xxxxx@0: `complete` by agent-8 no longer counts: agent-7 ended the visit on the branch that is merged into
    AOF-xxxxx@1: `complete` by agent-3 no longer counts: agent-7 ended the visit on the branch that is merged into
    dry run: nothing was written
    ");
    assert_eq!(env.git(&["status", "--porcelain"]), before);
    settled(&env);
    assert_eq!(only_file(&env, &id), format!("tasks/{id}.md"));
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    assert!(env.task_text(&other).contains("title: Add logout"));
    let _ = env.complete(&id, "agent-3").success();
    let _ = env.complete(&other, "agent-7").success();
    whole(&env);
}

#[test]
fn it_is_the_same_the_other_way_round_and_in_shards() {
    for (layout, into) in [("flat", "side"), ("sharded", "main"), ("sharded", "side")] {
        let (env, [id, other], _) = mixed(layout, into);
        settled(&env);
        let expected: &[&str] = match into {
            "main" => &["implement agent-7 complete"],
            _ => &["implement agent-8 complete", "review agent-3 complete"],
        };
        assert_eq!(entries(&env, &id), expected);
        assert_eq!(only_file(&env, &id).starts_with("tasks/archive/"), into == "side");
        assert!(!only_file(&env, &other).starts_with("tasks/archive/"));
    }
}

#[test]
fn without_the_driver_it_is_settled_all_the_same() {
    let (env, id) = scene();
    env.git(&["config", "--remove-section", "merge.aof"]);
    let mut other = String::new();
    aside(&env, "side", || {
        finish(&env, &id, "agent-8");
        other = new(&env, "Add logout");
    });
    let _ = env.complete(&id, "agent-7").success();
    stopped(&env, &["merge", "--no-edit", "side"]);
    assert!(env.read(&format!("tasks/{other}.md")).contains("<<<<<<<"));
    settled(&env);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
}

#[test]
fn a_person_s_decision_is_asked_in_the_right_file() {
    let (env, id) = scene();
    let mut other = String::new();
    aside(&env, "side", || {
        let _ = env.aof(&["task", "edit", &id, "--title", "Sign in"]).success();
        finish(&env, &id, "agent-8");
        other = new(&env, "Add logout");
    });
    let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
    stopped(&env, &["merge", "--no-edit", "side"]);
    let asked = env.aof(&["merge-driver", "--settle"]).code(1);
    let path = only_file(&env, &id);
    assert!(asked.stderr.contains("both sides changed `title`"), "{asked}");
    assert!(asked.stderr.contains("then `git add tasks/archive/"), "{asked}");
    assert_eq!(env.git(&["diff", "--name-only", "--diff-filter=U"]).trim(), path);
    let marked = "<<<<<<< ours\ntitle: Log in\n=======\ntitle: Sign in\n>>>>>>> theirs\n";
    env.edit(&path, marked, "title: Come in\n");
    env.git(&["add", &path]);
    env.git(&["commit", "-q", "--no-edit"]);
    whole(&env);
    assert!(
        path.starts_with("tasks/archive/") && env.task_text(&other).contains("title: Add logout")
    );
}

#[test]
fn adding_a_mistaken_rename_names_the_loss() {
    for into in ["main", "side"] {
        let (env, [id, other], _) = mixed("flat", into);
        env.git(&["add", "--all"]);
        assert!(!env.git(&["status", "--porcelain"]).contains('U'));
        let status = env.aof(&["status", "--json"]).success().json();
        let points = status["attention"].as_array().unwrap();
        let output: Vec<_> =
            points.iter().filter(|point| point["code"] == "task_unmerged").collect();
        if into == "main" {
            assert_snapshot!(env.plain(&format!("{}\n{}", output[0]["problem"], output[0]["fix"])), @r#"
            "`tasks/AOF-xxxxx.md`: it is not merged and has nothing of what one side did"
            "`aof merge-driver --settle` merges it; whoever adds or commits it now takes back what that side did. See that git finds `aof` in its `PATH`: `aof doctor`"
            "#);
            settled(&env);
        } else {
            // What the other side did counts no more, and the file has nothing of it.
            assert_eq!(output.len(), 0);
            env.git(&["commit", "-q", "--no-edit"]);
            whole(&env);
        }
        assert_eq!(
            entries(&env, &id)[0],
            if into == "main" {
                "implement agent-7 complete"
            } else {
                "implement agent-8 complete"
            }
        );
        assert!(env.task_text(&other).contains("title: Add logout"));
    }
}

#[test]
fn uncommitted_content_stays_in_place() {
    let (env, id) = scene();
    env.edit(&env.task_path(&id), "part 20.", "part twenty.");
    env.git(&["stash", "-q"]);
    finish(&env, &id, "agent-8");
    let other = new(&env, "Add logout");
    stopped(&env, &["stash", "pop"]);
    let answer = env.aof(&["merge-driver", "--settle"]).code(1);
    assert_snapshot!(env.plain(&answer.to_string()), @"
    exit 1
    --- stderr
    conflict: tasks/AOF-xxxxx.md: git took it for the file of `AOF-xxxxx`, renamed
    `git restore --source=HEAD --staged --worktree tasks/AOF-xxxxx.md` brings this task back; what came in is still where it came from
    ");
    let status = env.aof(&["status"]).success();
    assert!(
        status.stdout.contains("`git restore --source=HEAD --staged --worktree tasks/"),
        "{status}"
    );
    env.git(&["restore", "--source=HEAD", "--staged", "--worktree", &env.task_path(&other)]);
    whole(&env);
    assert!(env.git(&["stash", "show", "-p"]).contains("part twenty."));
}

#[test]
fn a_task_that_git_moves_to_the_finished_ones_beside_it_comes_back() {
    let (env, _) = scene();
    let (one, two) = ("AOF-ab111", "AOF-ab222");
    let hand_made = |id: &str| {
        env.write(
            &format!("tasks/ab/{id}.md"),
            format!("---\nid: {id}\ntitle: {id}\n---\n\n{}", text()),
        );
        env.commit_all(id);
        let _ = env.aof(&["watch", "--once"]).success();
    };
    hand_made(one);
    aside(&env, "side", || finish(&env, one, "agent-8"));
    hand_made(two);
    let merged = stopped(&env, &["merge", "--no-edit", "side"]);
    assert!(merged.contains("CONFLICT (file location)"), "{merged}");
    settled(&env);
    assert_eq!(only_file(&env, two), format!("tasks/ab/{two}.md"));
    assert!(only_file(&env, one).starts_with("tasks/archive/"));
}

#[test]
fn a_sync_takes_no_task_for_another() {
    let clones = Clones::new(PROJECT, &["other"]);
    let id = new(&clones.env, "Add login");
    let _ = clones.sync(".").success();
    let _ = clones.sync("other").success();
    clones.completes("other", &id, "agent-1");
    clones.completes("other", &id, "agent-9");
    let _ = clones.aof("other", &["task", "new", "Add logout", "--body", &text()]).success();
    let _ = clones.sync("other").success();
    clones.completes(".", &id, "agent-7");
    let _ = clones.sync(".").success();
    assert_eq!(
        entries(&clones.env, &id),
        ["implement agent-1 complete", "review agent-9 complete"]
    );
    let listed = clones.aof(".", &["task", "list"]).success();
    assert!(listed.stdout.contains("Add logout"), "{listed}");
    whole(&clones.env);
}
