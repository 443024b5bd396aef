//! `aof migrate branch`: a living project moves onto a branch of its own.

use std::fs;

use insta::assert_snapshot;

use crate::support::environment::{Output, TestEnvironment, eventually};
use crate::support::watcher::{Watcher, drop_file};

/// Returns a project beside code, with a claimed task, a finished visit, and completions that wait.
fn living() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    env.write("src/main.rs", "fn main() {}\n");
    env.write("docs/a b.md", "Text\n");
    env.commit_all("code");
    let _ = env.aof(&["doctor", "--fix"]).success();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-8").success();
    let other = env.new_task(&["Add logout"]);
    let _ = env.aof(&["claim", &other, "--agent", "agent-7"]).success();
    drop_file(
        &env,
        "later.yaml",
        format!("task: {other}\nagent: agent-7\noutcome: complete\nsummary: Done\n"),
    );
    (env, other)
}

fn heads(env: &TestEnvironment) -> String {
    env.git(&["for-each-ref", "--format=%(refname) %(objectname)"])
}

fn in_folder(env: &TestEnvironment, folder: &str, args: &[&str]) -> Output {
    let mut command = env.aof_command(args);
    command.current_dir(env.path(folder));
    env.run(command)
}

/// Checks that the project is whole on its branch, and gone from the code's.
fn is_moved(env: &TestEnvironment, id: &str) {
    assert_eq!(
        env.git(&["ls-tree", "--name-only", "aof"]),
        ".gitattributes\norg.yaml\nproject.yaml\ntasks\n"
    );
    assert_eq!(
        env.git(&["ls-tree", "--name-only", "main"]),
        ".gitattributes\ndocs\nproject.yaml\nsrc\n"
    );
    assert_eq!(env.git(&["show", "main:project.yaml"]).lines().last(), Some("  branch: aof"));
    assert!(!env.exists("tasks") && !env.exists("org.yaml") && env.exists("src/main.rs"));
    let shown = env.aof(&["show", id, "--json"]).success().json();
    assert_eq!(shown["routing"]["agent"], "agent-7", "{shown}");
    for args in [&["verify"][..], &["verify", "main"], &["verify", "aof"]] {
        let _ = env.aof(args).success();
    }
    assert_eq!(env.git(&["fsck", "--strict", "--no-dangling"]), "");
    assert!(env.exists(".aof/branch/.aof/inbox/later.yaml") && !env.exists(".aof/inbox"));
    let _ = env.aof(&["watch", "--once"]).success();
    let history = env.aof(&["history", id]).success().stdout;
    assert!(history.contains("agent-7"), "{history}");
    let _ = env.aof(&["verify"]).success();
    let found = env.aof(&["doctor", "--json"]).json();
    assert_eq!(found["complaints"].as_array().map(Vec::len), Some(0), "{found}");
}

#[test]
fn a_living_project_moves_whole() {
    let (env, id) = living();
    // Other work is not touched.
    env.write("src/main.rs", "fn main() { todo!() }\n");
    env.write("docs/a b.md", "Staged\n");
    env.git(&["add", "docs"]);
    env.write("notes.txt", "mine\n");
    let (before, status) = (heads(&env), env.git(&["status", "--porcelain"]));
    let plan = env.aof(&["migrate", "branch", "--dry-run"]).success();
    assert_snapshot!(plan.stdout, @"
    would move the project to the branch `aof`
      .aof/branch       .gitattributes, org.yaml, project.yaml, tasks
      .aof/branch/.aof  boot, inbox, refused
      project.yaml      on `main`: names the branch; tasks and rules go from here
    dry run: nothing was written
    ");
    assert_eq!((heads(&env), env.git(&["status", "--porcelain"])), (before, status.clone()));
    let old = env.head();
    let moved = env.aof(&["migrate", "branch"]).success();
    assert_snapshot!(moved.stdout.replace(&old[..7], "BEFORE"), @"
    moved the project to the branch `aof`, commit COMMIT
      .aof/branch       .gitattributes, org.yaml, project.yaml, tasks
      .aof/branch/.aof  boot, inbox, refused
      project.yaml      on `main`, commit COMMIT: names the branch; tasks and rules go from here
    next: aof sync, and git push for `main`, where there is a remote
    back: git reset --keep BEFORE && cp -a .aof/branch/.aof/. .aof/ && git worktree remove .aof/branch && git branch -m aof aof-before
    ");
    assert_eq!(env.git(&["status", "--porcelain"]), status);
    assert_eq!(env.git(&["rev-parse", "main~1", "aof~1"]), format!("{old}\n{old}\n"));
    is_moved(&env, &id);
    assert_eq!(env.git(&["status", "--porcelain"]), status);
    let again = env.aof(&["migrate", "branch"]).success();
    assert!(again.stdout.contains("nothing was left to do"), "{again}");
    let other = env.aof(&["migrate", "branch", "tasks"]).code(4);
    assert!(other.stderr.contains("has the branch `aof` already"), "{other}");
    assert_eq!(env.aof(&["migrate", "branch", "--json"]).success().json()["branch"], "aof");
}

#[test]
fn the_way_back_is_printed() {
    let (env, id) = living();
    let (main, status) = (env.head(), env.aof(&["status"]).success().stdout);
    let moved = env.aof(&["migrate", "branch", "--json"]).success();
    let mut shell = env.command("sh");
    let back = moved.json()["back"].as_str().unwrap().replace("COMMIT", &main[..7]);
    shell.args(["-c", &back]);
    let _ = env.run(shell).success();
    assert_eq!((env.head(), env.aof(&["status"]).success().stdout), (main, status));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert!(env.exists(".aof/inbox/later.yaml") && !env.exists(".aof/branch"));
    let _ = env.aof(&["watch", "--once"]).success();
    assert!(env.aof(&["history", &id]).success().stdout.contains("agent-7"));
    let _ = env.aof(&["verify"]).success();
}

#[cfg(debug_assertions)]
#[test]
fn a_kill_at_any_point_is_continued_by_running_it_again() {
    let points = [
        "migrate.branch-made",
        "migrate.checked-out",
        "migrate.state-moving",
        "migrate.state-moving:2",
        "migrate.state-moved",
        "git.bring-begun",
        "git.bring-files",
        "git.ref-locked",
        "git.ref-moved",
        "migrate.pointed",
    ];
    for point in points {
        let (env, id) = living();
        let mut command = env.aof_command(&["migrate", "branch"]);
        command.env("AOF_STOP_AT", point);
        let killed = env.run(command);
        assert_eq!(killed.code, None, "{point}: {killed}");
        // Nothing changes the project meanwhile, unless the move counts already.
        let early = env.aof(&["comment", &id, "-m", "Early"]);
        if early.code != Some(0) {
            assert!(
                early.stderr.contains("`aof migrate branch aof` was interrupted"),
                "{point}: {early}"
            );
        }
        let _ = env.aof(&["migrate", "branch"]).success();
        is_moved(&env, &id);
        assert_eq!(env.git(&["status", "--porcelain"]), "", "{point}");
    }
}

#[test]
fn an_older_worktree_is_refused_until_it_has_the_pointer() {
    let (env, id) = living();
    env.git(&["worktree", "add", "--quiet", "-b", "feature", "../feature"]);
    env.git(&["branch", "later"]);
    env.write("../feature/new.txt", "new\n");
    env.git(&["-C", "../feature", "add", "new.txt"]);
    env.git(&["-C", "../feature", "commit", "--quiet", "-m", "more code"]);
    let _ = in_folder(&env, "../feature", &["show", &id]).success();
    let _ = env.aof(&["migrate", "branch"]).success();
    for args in [&["show", &id][..], &["comment", &id, "-m", "Old"], &["status"]] {
        let refused = in_folder(&env, "../feature", args).code(4);
        assert!(refused.stderr.contains("the project has moved to the branch `aof`"), "{refused}");
    }
    let refused = in_folder(&env, "../feature", &["status"]).code(4);
    assert_snapshot!(refused.stderr, @"
    error: the project has moved to the branch `aof`; this worktree has it as it was before

    hint: `git merge main` or `git rebase main` brings the project.yaml that names it
    ");
    assert_eq!(
        in_folder(&env, "../feature", &["status", "--json"]).code(4).json()["error"],
        "project_moved"
    );
    env.git(&["-C", "../feature", "merge", "--quiet", "--no-edit", "main"]);
    assert!(in_folder(&env, "../feature", &["show", &id]).success().stdout.contains("Add logout"));
    let _ = env.aof(&["verify", "feature"]).success();
    // The same where the branch is checked out here, and rebased.
    env.git(&["switch", "--quiet", "later"]);
    env.write("other.txt", "other\n");
    env.git(&["add", "other.txt"]);
    env.git(&["commit", "--quiet", "-m", "other code"]);
    let _ = env.aof(&["list"]).code(4);
    env.git(&["rebase", "--quiet", "main"]);
    assert!(env.aof(&["list"]).success().stdout.contains("Add logout"));
}

#[test]
fn steps_that_an_older_branch_went_on_with_are_reported_until_they_are_merged() {
    let (env, _) = living();
    env.git(&["switch", "--quiet", "-c", "older"]);
    let _ = env.new_task(&["Add search"]);
    env.git(&["switch", "--quiet", "main"]);
    let _ = env.aof(&["migrate", "branch"]).success();
    let issue = || {
        let status = env.aof_aside(&["status", "--json"]);
        let issues = status.json()["attention"].as_array().unwrap().clone();
        issues.into_iter().find(|issue| issue["code"] == "steps_left_behind")
    };
    assert_eq!(issue(), None);
    env.git(&["switch", "--quiet", "older"]);
    let before = issue().unwrap();
    assert_snapshot!(before["problem"].as_str().unwrap(), @"the project has moved to the branch `aof`, which lacks steps of `older`");
    assert_snapshot!(before["fix"].as_str().unwrap(), @"`git -C .aof/branch merge older` brings them; then merge the branch of the code that names `aof` in its project.yaml");
    // Its author merges `main` first: then no command reads the tasks there.
    let step = env.git(&["rev-parse", "--short=7", "HEAD"]).trim().to_owned();
    env.git(&["merge", "--quiet", "--no-edit", "main"]);
    assert!(!env.aof(&["list"]).success().stdout.contains("Add search"));
    let found = issue().unwrap();
    assert_snapshot!(found["problem"].as_str().unwrap(), @"`tasks/` on `older` has `AOF-xxxxx`, and no command reads it there: the tasks are on `aof`");
    assert_snapshot!(found["fix"].as_str().unwrap(), @"`git -C .aof/branch merge COMMIT` brings the steps of these tasks; then delete the folder on `older`, and commit that");
    // Nothing is deleted before its steps are there.
    env.git(&["rm", "--quiet", "-r", "tasks"]);
    let refused = env.try_git(&["commit", "--quiet", "-m", "tasks are on aof"]).code(1);
    assert!(refused.stderr.contains("this would remove"), "{refused}");
    env.git(&["reset", "--quiet", "--hard"]);
    env.git(&["-C", ".aof/branch", "merge", "--quiet", "--no-edit", &step]);
    assert!(env.aof(&["list"]).success().stdout.contains("Add search"));
    let _ = env.aof(&["verify"]).success();
    assert_snapshot!(issue().unwrap()["fix"].as_str().unwrap(), @"delete the folder on `older`, and commit that");
    env.git(&["rm", "--quiet", "-r", "tasks"]);
    env.git(&["commit", "--quiet", "-m", "tasks are on aof"]);
    assert_eq!(issue(), None);
}

#[test]
fn other_clones_are_told_too() {
    let (env, id) = living();
    env.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../hub.git"]);
    env.git(&["remote", "add", "origin", "../hub.git"]);
    env.git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
    env.git(&["clone", "--quiet", "../hub.git", "../b"]);
    let _ = env.aof(&["migrate", "branch"]).success();
    let _ = env.aof(&["sync"]).success();
    let _ = in_folder(&env, "../b", &["show", &id]).success();
    env.git(&["-C", "../b", "fetch", "--quiet"]);
    let refused = in_folder(&env, "../b", &["show", &id]).code(4);
    assert_snapshot!(refused.stderr, @"
    error: the project has moved to the branch `aof`; this worktree has it as it was before

    hint: merge the commit that names it (`git: {branch: aof}` in project.yaml) once whoever moved the project has pushed that
    ");
    env.git(&["push", "--quiet"]);
    env.git(&["-C", "../b", "fetch", "--quiet"]);
    let refused = in_folder(&env, "../b", &["show", &id]).code(4);
    assert!(refused.stderr.contains("`git merge origin/main`"), "{refused}");
    env.git(&["-C", "../b", "merge", "--quiet", "origin/main"]);
    let _ = in_folder(&env, "../b", &["comment", &id, "-m", "Seen"]).success();
    let _ = in_folder(&env, "../b", &["sync"]).success();
    let _ = env.aof(&["sync"]).success();
    assert!(env.aof(&["show", &id]).success().stdout.contains("Seen"));
    for folder in [".", "../b"] {
        let _ = in_folder(&env, folder, &["verify"]).success();
    }
}

#[test]
fn a_project_that_cannot_move_is_left_alone() {
    let (env, id) = living();
    let task = env.task_path(&id);
    let refused = |what: &str| {
        let before = (heads(&env), env.git(&["status", "--porcelain"]));
        let dry = env.aof(&["migrate", "branch", "--dry-run"]).code(4);
        let output = env.aof(&["migrate", "branch"]).code(4);
        assert_eq!(dry.stderr, output.stderr);
        assert!(output.stderr.contains(what), "{output}");
        assert_eq!((heads(&env), env.git(&["status", "--porcelain"])), before, "{what}");
        assert!(
            !env.exists(".aof/branch/project.yaml") && env.exists(".aof/inbox/later.yaml"),
            "{what}"
        );
    };
    env.edit(&task, "title: Add logout", "title: Log out");
    refused("differs from what is committed: it would not move");
    env.git(&["add", "tasks"]);
    refused("differs from what is committed: it would not move");
    env.git(&["reset", "--quiet", "--hard"]);
    env.write("workflows/new.yaml", "gates: []\n");
    refused("`workflows/new.yaml` differs");
    fs::remove_dir_all(env.path("workflows")).unwrap();
    env.git(&["branch", "aof"]);
    refused("there is a branch `aof` already");
    env.git(&["branch", "-m", "aof", "aof/deep"]);
    env.git(&["branch", "-D", "aof/deep"]);
    env.write(".aof/branch/mine.txt", "mine\n");
    refused("where that is checked out, is not a worktree");
    fs::remove_dir_all(env.path(".aof/branch")).unwrap();
    let watcher = Watcher::start(&env);
    eventually("it watches", || env.aof(&["migrate", "branch", "--dry-run"]).code != Some(0));
    let output = env.aof(&["migrate", "branch"]).code(4);
    assert!(output.stderr.contains("`aof watch` runs in this project"), "{output}");
    drop(watcher);
    let linked = env.git(&["worktree", "add", "--quiet", "-b", "side", "../side"]);
    assert_eq!(linked, "");
    let output = in_folder(&env, "../side", &["migrate", "branch"]).code(4);
    assert!(output.stderr.contains("is a linked worktree"), "{output}");
    env.git(&["checkout", "--quiet", "--detach"]);
    let output = env.aof(&["migrate", "branch"]).code(4);
    assert_snapshot!(output.stderr, @"
    error: no branch is checked out (detached HEAD), so commits would be lost; check one out, as `git switch main`

    hint: that branch gets a commit that names the branch of the tasks
    ");
    env.git(&["checkout", "--quiet", "main"]);
    // A project in a folder of its repository stays there.
    let _ = env.aof(&["init", "part", "--here"]).success();
    let output = in_folder(&env, "part", &["migrate", "branch"]).code(4);
    assert!(output.stderr.contains("is in the folder `part`"), "{output}");
    let _ = env.aof(&["migrate", "branch", "work"]).success();
    assert_eq!(env.git(&["show", "main:project.yaml"]).lines().last(), Some("  branch: work"));
}

#[test]
fn code_that_is_committed_after_a_kill_does_not_matter() {
    let (env, id) = living();
    let mut command = env.aof_command(&["migrate", "branch"]);
    command.env("AOF_STOP_AT", "migrate.checked-out");
    assert_eq!(env.run(command).code, None);
    env.write("src/main.rs", "fn main() { todo!() }\n");
    env.commit_all("more code");
    let _ = env.aof(&["migrate", "branch"]).success();
    is_moved(&env, &id);
    // A change of the project does: the branch would lack it.
    let (env, _) = living();
    let mut command = env.aof_command(&["migrate", "branch"]);
    command.env("AOF_STOP_AT", "migrate.branch-made");
    assert_eq!(env.run(command).code, None);
    env.write("org.yaml", format!("{}# Changed\n", env.read("org.yaml")));
    env.commit_all("rules");
    let refused = env.aof(&["migrate", "branch"]).code(4);
    assert!(refused.stderr.contains("the project has changed since"), "{refused}");
    env.git(&["branch", "-D", "aof"]);
    let _ = env.aof(&["migrate", "branch"]).success();
    assert!(env.read(".aof/branch/org.yaml").contains("# Changed"));
}

#[test]
fn a_removal_of_tasks_without_the_branch_is_still_a_finding() {
    for named in ["aof", "main", "next"] {
        let (env, _) = living();
        let before = env.head();
        env.git(&["rm", "-r", "--quiet", "tasks", "org.yaml"]);
        env.write("project.yaml", format!("git: {{branch: {named}}}\n"));
        env.git(&["commit", "--quiet", "--no-verify", "-a", "-m", "gone"]);
        // Neither a branch that lacks the steps nor one that goes on from here has the tasks.
        let tree = env.git(&["mktree", "--missing"]).trim().to_owned();
        let empty = env.git(&["commit-tree", &tree, "-m", "empty"]);
        env.git(&["branch", "aof", empty.trim()]);
        env.git(&["branch", "next"]);
        let output = env.aof(&["verify", &format!("{}..main", before.trim())]).code(1);
        assert!(output.stdout.contains("it is gone"), "{named}: {output}");
    }
}
