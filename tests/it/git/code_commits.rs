//! The commits of code that name a task, as `aof show`, its JSON and the board list them.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use super::project_branch::repository;
use crate::cli::web::Board;
use crate::support::environment::{TestEnvironment, nameless};

/// Returns a project beside code, and a task of it.
fn project() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    (env, id)
}

/// Commits a file that is new or differs.
fn commit(env: &TestEnvironment, file: &str, message: &str) {
    env.write(file, message);
    env.git(&["add", file]);
    env.git(&["commit", "--quiet", "--message", message]);
}

/// Returns the subjects of the commits that a task has, with their branches.
fn listed(env: &TestEnvironment, id: &str) -> Vec<String> {
    let task = env.aof(&["show", id, "--json"]).success().json();
    let branches = |commit: &Value| {
        let names = commit["branches"].as_array().into_iter().flatten();
        names.map(|name| format!(" [{}]", name.as_str().unwrap())).collect::<String>()
    };
    let commits = task["commits"].as_array().unwrap().iter();
    commits.map(|one| one["subject"].as_str().unwrap().to_owned() + &branches(one)).collect()
}

#[test]
fn commits_that_name_a_task_are_shown_with_it() {
    let (env, id) = project();
    let other = env.new_task(&["Another"]);
    assert!(!env.aof(&["show", &id]).success().stdout.contains("Commits"));
    commit(&env, "form.txt", &format!("Add the form\n\n{}: done", id.replace("AOF", "Aof")));
    // Steps of tasks, and people's commits of task files alone.
    let _ = env.complete(&id, "agent-7");
    let file = env.task_path(&id);
    env.write(&file, env.read(&file) + "More.\n");
    env.commit_all(&format!("{id}: say more"));
    commit(&env, "x.txt", &format!("{id}x, X{id}, {}", &id[..id.len() - 1]));
    env.git(&["switch", "--quiet", "--create", &format!("feat/{id}-login")]);
    commit(&env, "check.txt", "Check the password");
    let _ = env.complete(&id, "agent-3");
    commit(&env, "both.txt", &format!("Serve {id} and {other}"));
    env.git(&["switch", "--quiet", "main"]);
    let shown = env.aof(&["show", &id]).success();
    assert_snapshot!(nameless(&shown), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
    review  architect just now

    More.

    Commits
      COMMIT  Serve AOF-xxxxx and AOF-xxxxx  Ada, now, on feat/AOF-xxxxx-login
      COMMIT  Check the password  Ada, now, on feat/AOF-xxxxx-login
      COMMIT  Add the form  Ada, now

    File  tasks/AOF-xxxxx.md

    implement ✓ 5 s  > review
    ");
    let mut narrow = env.aof_command(&["show", &id]);
    narrow.env("COLUMNS", "40");
    let narrow = env.run(narrow).success().stdout;
    let lines = narrow.lines().skip_while(|line| *line != "Commits").skip(1).take(3);
    assert!(
        lines.map(|line| line.chars().count()).all(|width| (30..=40).contains(&width)),
        "{narrow}"
    );
    let task = env.aof(&["show", &other, "--json"]).success().json();
    assert_snapshot!(serde_json::to_string_pretty(&task["commits"]).unwrap(), @r#"
    [
      {
        "commit": "COMMIT",
        "subject": "Serve AOF-xxxxx and AOF-xxxxx",
        "author": "Ada",
        "time": "2026-02-16T10:00:19Z",
        "branches": [
          "feat/AOF-xxxxx-login"
        ]
      }
    ]
    "#);
    // Lists and briefs do not read them.
    fs::remove_file(env.path(".aof/commits")).unwrap();
    for args in [vec!["list", "--all"], vec!["why", &id], vec!["history", &id], vec!["status"]] {
        let _ = env.aof(&args);
        assert!(!env.exists(".aof/commits"), "{args:?}");
    }
}

#[test]
fn a_long_list_is_cut_and_verbose_has_all_of_it() {
    let (env, id) = project();
    for number in 1..=7 {
        commit(&env, "a.txt", &format!("Part {number} of {id}"));
    }
    let shown = env.aof(&["show", &id]).success().stdout;
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains("Part ")).collect();
    assert_eq!(lines.len(), 5, "{shown}");
    assert!(lines[0].contains("Part 7 of"), "{shown}");
    assert!(shown.contains("\n  and 2 more: aof show AOF-xxxxx -v\n"), "{shown}");
    let shown = env.aof(&["show", &id, "-v"]).success().stdout;
    assert!(shown.contains("Part 1 of") && !shown.contains("more: "), "{shown}");
}

#[test]
fn merged_deleted_and_rewritten_branches_leave_what_they_still_have() {
    let (env, id) = project();
    let branch = format!("feat/{id}");
    env.git(&["switch", "--quiet", "--create", &branch]);
    commit(&env, "a.txt", "First try");
    commit(&env, "b.txt", &format!("Named {id}"));
    assert_eq!(
        listed(&env, &id),
        ["Named AOF-xxxxx [feat/AOF-xxxxx]", "First try [feat/AOF-xxxxx]"]
    );
    // An amended commit is listed once, under its new name.
    env.git(&["commit", "--quiet", "--amend", "--message", &format!("Better {id}")]);
    assert_eq!(
        listed(&env, &id),
        ["Better AOF-xxxxx [feat/AOF-xxxxx]", "First try [feat/AOF-xxxxx]"]
    );
    // Once main has them, only the message says whose they are.
    env.git(&["switch", "--quiet", "main"]);
    env.git(&["merge", "--quiet", "--no-ff", "--message", "Merge the form", &branch]);
    assert_eq!(listed(&env, &id), ["Better AOF-xxxxx"]);
    env.git(&["branch", "--quiet", "--delete", &branch]);
    assert_eq!(listed(&env, &id), ["Better AOF-xxxxx"]);
    // A squash names the task as the originals do, which are gone with their branch.
    env.git(&["switch", "--quiet", "--create", "other"]);
    commit(&env, "c.txt", &format!("Draft for {id}"));
    env.git(&["switch", "--quiet", "main"]);
    env.git(&["merge", "--quiet", "--squash", "other"]);
    env.git(&["commit", "--quiet", "--message", &format!("Squashed {id} (#3)\n\nAof-Task: {id}")]);
    assert_eq!(
        listed(&env, &id),
        ["Squashed AOF-xxxxx (#3)", "Draft for AOF-xxxxx [other]", "Better AOF-xxxxx"]
    );
    env.git(&["branch", "--quiet", "-D", "other"]);
    assert_eq!(listed(&env, &id), ["Squashed AOF-xxxxx (#3)", "Better AOF-xxxxx"]);
    // A rewritten main branch has lost what it dropped, unless another branch has it.
    env.git(&["branch", "saved"]);
    env.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(listed(&env, &id), ["Squashed AOF-xxxxx (#3) [saved]", "Better AOF-xxxxx"]);
    env.git(&["branch", "--quiet", "-D", "saved"]);
    assert_eq!(listed(&env, &id), ["Better AOF-xxxxx"]);
}

#[test]
fn the_index_is_built_again_if_it_is_damaged_missing_or_of_another_form() {
    let (env, id) = project();
    commit(&env, "a.txt", &format!("Named {id}"));
    let expected = ["Named AOF-xxxxx"];
    assert_eq!(listed(&env, &id), expected);
    let whole = env.read(".aof/commits");
    let nowhere = whole.replace(env.head().as_str(), &"1".repeat(40));
    assert_ne!(nowhere, whole);
    for damaged in
        ["", "{", "[]", &whole[..whole.len() / 2], "\u{0}\u{0}", "{\"format\":0}", &nowhere]
    {
        env.write(".aof/commits", damaged);
        assert_eq!(listed(&env, &id), expected, "{damaged}");
        assert_eq!(env.read(".aof/commits"), whole);
    }
    fs::remove_dir_all(env.path(".aof")).unwrap();
    assert_eq!(listed(&env, &id), expected);
    // A folder in its place is in nobody's way.
    fs::remove_file(env.path(".aof/commits")).unwrap();
    fs::create_dir(env.path(".aof/commits")).unwrap();
    assert_eq!(listed(&env, &id), expected);
}

#[test]
fn remotes_and_shallow_clones_have_what_they_know() {
    let (mut env, id) = project();
    commit(&env, "a.txt", &format!("Old {id}"));
    commit(&env, "b.txt", &format!("New {id}"));
    env.git(&["branch", &format!("fix/{id}")]);
    env.git(&["switch", "--quiet", &format!("fix/{id}")]);
    commit(&env, "c.txt", "On the way");
    env.git(&["switch", "--quiet", "main"]);
    let url = format!("file://{}", env.path("").display());
    env.git(&["clone", "--quiet", "--depth", "1", "--no-single-branch", &url, "../clone"]);
    env.enter("../clone");
    let on_the_way = "On the way [origin/fix/AOF-xxxxx]";
    assert_eq!(listed(&env, &id), [on_the_way, "New AOF-xxxxx"]);
    env.git(&["fetch", "--quiet", "--unshallow"]);
    assert_eq!(listed(&env, &id), [on_the_way, "New AOF-xxxxx", "Old AOF-xxxxx"]);
}

#[test]
fn a_project_on_a_branch_of_its_own_finds_the_code() {
    let env = repository();
    let _ = env.aof(&["init", "--branch", "aof"]).success();
    let id = env.new_task(&["Add login"]);
    commit(&env, "a.txt", &format!("Add the form ({id})"));
    // A folder of the code may have the name of the project's.
    commit(&env, "tasks/main.yml", &format!("Deploy {id}"));
    let branch = format!("feat/{}", id.to_lowercase());
    env.git(&["switch", "--quiet", "--create", &branch]);
    commit(&env, "b.txt", "Go on");
    let all = [
        format!("Go on [{branch}]"),
        "Deploy AOF-xxxxx".to_owned(),
        "Add the form (AOF-xxxxx)".to_owned(),
    ];
    assert_eq!(listed(&env, &id), all);
    let _ = env.complete(&id, "agent-1");
    assert_eq!(listed(&env, &id), all);
}

#[test]
fn hostile_subjects_and_branches_are_inert() {
    let (env, id) = project();
    let subject = format!("<script>alert(1)</script> \u{1b}[2J \u{202e} {id}");
    env.git(&["switch", "--quiet", "--create", &format!("<b>/{id}")]);
    commit(&env, "a.txt", &subject);
    env.git(&[
        "-c",
        "user.name=E\u{1b}[31mve",
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        &subject,
    ]);
    env.git(&["switch", "--quiet", "main"]);
    let shown = env.aof(&["show", &id]).success().stdout;
    assert!(shown.contains(r"\u{1b}[2J \u{202e}"), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
    let board = Board::start(&env, &[]);
    let page = board.get(&format!("/project/tasks/{id}")).body;
    let section = page.split_once("id=\"commits\"").unwrap().1.split("</section>").next().unwrap();
    assert!(section.contains("&lt;script&gt;alert(1)"), "{section}");
    assert!(section.contains("&lt;b&gt;/"), "{section}");
    assert!(!section.contains("<script") && !section.contains('\u{202e}'), "{section}");
}
