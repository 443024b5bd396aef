//! The folder that a project's own branch is checked out in is its people's: whatever stands there, no command takes it away.

use std::fs;

use insta::assert_snapshot;

use crate::git::project_branch::{repository, without_its_folder};
use crate::support::environment::{Output, TestEnvironment, eventually};

/// Returns a project on a branch of its own, in whose folder somebody works: an edit, a staged one, a file that git does not know, and
/// a completion that was delivered.
fn with_work() -> (TestEnvironment, String) {
    let env = repository();
    let _ = env.aof(&["init", "--branch", "aof"]).success();
    let id = env.new_task(&["Add login"]);
    env.edit(&format!(".aof/branch/tasks/{id}.md"), "Add login", "Log in");
    env.edit(".aof/branch/org.yaml", "roles:", "# mine\nroles:");
    env.git(&["-C", ".aof/branch", "add", "org.yaml"]);
    env.write(".aof/branch/notes.txt", "mine\n");
    env.write(
        ".aof/branch/.aof/inbox/one.yaml",
        format!("task: {id}\noutcome: complete\nagent: nobody\nsummary: x\n"),
    );
    (env, id)
}

/// Returns all files below a folder, with what is in them.
fn contents(env: &TestEnvironment, folder: &str) -> Vec<(String, Vec<u8>)> {
    let files = env.files(folder).into_iter().filter(|path| !path.contains("/.aof/"));
    files.map(|path| (path.clone(), fs::read(env.path(&path)).unwrap())).collect()
}

/// Expects that no command works, and that nothing in the folder is another than before.
fn refused(env: &TestEnvironment) -> Output {
    let before = contents(env, ".aof/branch");
    let [first, ..] = [["status"], ["doctor"], ["sweep"]].map(|args| env.aof(&args).code(4));
    assert_eq!(contents(env, ".aof/branch"), before);
    assert!(env.exists(".aof/branch/.aof/inbox/one.yaml"));
    assert!(first.stderr.contains("error: the project is kept on the branch `"), "{first}");
    first
}

/// Runs the command of that number that the hint names.
fn follow_hint(env: &TestEnvironment, answer: &Output, number: usize) {
    let hint = answer.stderr.split("hint: ").nth(1).unwrap();
    let root = env.home().parent().unwrap().display().to_string();
    let command = hint
        .split('`')
        .filter(|part| part.starts_with("git ") || part.starts_with("rm "))
        .nth(number)
        .unwrap()
        .replace("$PROJECT", "$ROOT/project")
        .replace("$ROOT", &root);
    let mut shell = env.command("sh");
    shell.args(["-c", &command]);
    let _ = env.run(shell).success();
}

#[test]
fn a_detached_head_is_reported() {
    let (env, id) = with_work();
    env.git(&["-C", ".aof/branch", "checkout", "--quiet", "--detach"]);
    let answer = refused(&env);
    assert_snapshot!(answer.stderr, @"
    error: the project is kept on the branch `aof`, and `$PROJECT/.aof/branch`, where that is checked out, is not a worktree of this repository with that branch

    hint: if it has another branch checked out, or none: `git -C $PROJECT/.aof/branch switch aof`; if it lost its `.git`: `git -C $PROJECT worktree repair`; if it was moved: `git -C $PROJECT worktree repair $PROJECT/.aof/branch`; else move it elsewhere, with all that is in it, and the branch is checked out again
    ");
    follow_hint(&env, &answer, 0);
    assert!(env.aof(&["task", "show", &id]).success().stdout.contains("Log in"));
}

#[test]
fn another_branch_is_reported() {
    let (env, id) = with_work();
    env.git(&["-C", ".aof/branch", "switch", "--quiet", "-c", "other"]);
    let answer = refused(&env);
    follow_hint(&env, &answer, 0);
    assert!(env.aof(&["task", "show", &id]).success().stdout.contains("Log in"));
    // The same where the project moves to another branch: what people have of the old one stays theirs.
    env.git(&["branch", "tasks", "aof"]);
    env.write("project.yaml", "git: {branch: tasks}\n");
    env.git(&["commit", "--quiet", "-m", "elsewhere", "project.yaml"]);
    let _ = refused(&env);
    env.git(&["worktree", "move", ".aof/branch", "../old"]);
    let _ = env.aof(&["task", "show", &id]).success();
    assert_eq!(env.git(&["-C", ".aof/branch", "branch", "--show-current"]), "tasks\n");
    assert_eq!(env.read("../old/notes.txt"), "mine\n");
}

#[test]
fn an_unfinished_rebase_is_named() {
    let env = repository();
    let _ = env.aof(&["init", "--branch", "aof"]).success();
    let id = env.new_task(&["Add login"]);
    let path = format!(".aof/branch/tasks/{id}.md");
    let inside = |args: &[&str]| env.try_git(&[&["-C", ".aof/branch"], args].concat());
    for (branch, title) in [("other", "Sign in"), ("aof", "Log in")] {
        let _ = inside(&[
            "switch",
            "--quiet",
            "-C",
            branch,
            if branch == "aof" { "aof" } else { "HEAD" },
        ])
        .success();
        env.edit(&path, "title: Add login", &format!("title: {title}"));
        let _ = inside(&["commit", "--quiet", "-a", "-m", title]).success();
        if branch == "other" {
            let _ = inside(&["switch", "--quiet", "aof"]).success();
        }
    }
    assert_eq!(inside(&["rebase", "other"]).code, Some(1));
    let before = contents(&env, ".aof/branch");
    let status = env.aof(&["status"]).success();
    assert!(status.stdout.contains("a rebase is in progress"), "{status}");
    let late = env.aof(&["task", "new", "Another", "--wait", "0"]).code(7);
    assert!(late.stderr.contains("a rebase is in progress"), "{late}");
    assert_eq!(contents(&env, ".aof/branch"), before);
    let _ = inside(&["rebase", "--abort"]).success();
    assert!(env.aof(&["task", "show", &id]).success().stdout.contains("Log in"));
}

#[test]
fn an_unfinished_bisection_is_named() {
    let (env, _) = with_work();
    env.git(&["-C", ".aof/branch", "stash", "--quiet"]);
    env.git(&["-C", ".aof/branch", "bisect", "start", "aof", "aof~1"]);
    env.git(&["-C", ".aof/branch", "checkout", "--quiet", "--detach"]);
    let status = env.aof(&["status"]).success();
    assert!(status.stdout.contains("bisect"), "{status}");
    assert_eq!(env.read(".aof/branch/notes.txt"), "mine\n");
}

#[test]
fn a_repository_that_was_moved_keeps_its_work() {
    let (mut env, id) = with_work();
    let moved = env.home().with_file_name("moved here");
    fs::rename(env.path(""), &moved).unwrap();
    env.enter(moved);
    let answer = refused(&env);
    follow_hint(&env, &answer, 2);
    assert!(env.aof(&["task", "show", &id]).success().stdout.contains("Log in"));
    assert_eq!(env.git(&["-C", ".aof/branch", "diff", "--cached", "--name-only"]), "org.yaml\n");
}

#[test]
fn a_copy_of_a_repository_works_in_no_other_one() {
    let (mut env, id) = with_work();
    let copied = env.command("cp").args(["-r", ".", "../copy"]).status().unwrap();
    assert!(copied.success());
    let heads = env.git(&["rev-parse", "aof"]);
    env.enter("../copy");
    let _ = refused(&env);
    fs::rename(env.path(".aof/branch"), env.path("../kept")).unwrap();
    let _ = env.aof(&["task", "comment", &id, "-m", "Here"]).success();
    assert_ne!(env.git(&["rev-parse", "aof"]), heads);
    env.enter("../project");
    assert_eq!(env.git(&["rev-parse", "aof"]), heads);
    assert!(!env.aof(&["task", "show", &id]).success().stdout.contains("Here"));
}

#[test]
fn a_lost_worktree_is_reported() {
    let (env, id) = with_work();
    let link = env.read(".aof/branch/.git");
    fs::remove_file(env.path(".aof/branch/.git")).unwrap();
    let answer = refused(&env);
    follow_hint(&env, &answer, 1);
    assert_eq!(env.read(".aof/branch/.git"), link);
    assert!(env.aof(&["task", "show", &id]).success().stdout.contains("Log in"));
    // Where git has forgotten it, nobody can bring it back.
    fs::remove_dir_all(env.path(".git/worktrees/branch")).unwrap();
    let _ = refused(&env);
    for torn in ["", "gitdir: ", "nonsense\n"] {
        env.write(".aof/branch/.git", torn);
        let _ = refused(&env);
    }
    fs::remove_file(env.path(".aof/branch/.git")).unwrap();
    let _ = refused(&env);
    fs::rename(env.path(".aof/branch"), env.path("../kept")).unwrap();
    let _ = env.aof(&["task", "show", &id]).success();
}

#[test]
fn a_link_is_reported_and_never_followed() {
    let (env, _) = with_work();
    env.git(&["worktree", "remove", "--force", ".aof/branch"]);
    for target in ["../../other", "../../nowhere"] {
        fs::create_dir_all(env.path("../other")).unwrap();
        std::os::unix::fs::symlink(target, env.path(".aof/branch")).unwrap();
        let answer = env.aof(&["status"]).code(4);
        assert!(answer.stderr.contains(&format!("is a symbolic link to `{target}`")), "{answer}");
        follow_hint(&env, &answer, 0);
        assert!(!env.aof(&["status"]).success().stdout.is_empty());
        assert_eq!(fs::read_dir(env.path("../other")).unwrap().count(), 0);
        env.git(&["worktree", "remove", "--force", ".aof/branch"]);
    }
}

/// Has git stop in the middle of each checkout of a task file, until `go` is called.
fn slow_checkouts(env: &TestEnvironment) {
    env.write(".git/info/attributes", "tasks/** filter=slow\n");
    let home = env.home();
    let smudge =
        format!("cd '{}'; touch begun; until test -e go; do sleep 0.01; done; cat", home.display());
    env.git(&["config", "filter.slow.smudge", &smudge]);
}

/// Lets whoever waits there go on.
fn go(env: &TestEnvironment) {
    fs::write(env.home().join("go"), "").unwrap();
}

#[test]
fn a_person_s_checkout_is_reported_until_it_is_done() {
    let (env, id) = without_its_folder();
    slow_checkouts(&env);
    fs::create_dir(env.path(".aof")).unwrap();
    let mut git = env.command("git");
    git.args(["worktree", "add", "--quiet", ".aof/branch", "aof"]);
    let theirs = git.spawn().unwrap();
    eventually("git checks out", || env.home().join("begun").exists());
    let answer = env.aof(&["status", "--wait", "0"]).code(4);
    assert_snapshot!(answer.stderr, @"
    error: `$PROJECT/.aof/branch` was not checked out completely

    hint: if no git works there, remove it with `git worktree remove --force --force $PROJECT/.aof/branch`
    ");
    go(&env);
    assert!(env.finish("git", theirs).code == Some(0));
    assert!(env.aof(&["task", "show", &id]).success().stdout.contains("Add login"));
}

#[test]
fn a_second_command_waits_no_longer_than_its_limit() {
    let (env, id) = without_its_folder();
    slow_checkouts(&env);
    let first = env.start(&["task", "show", &id]);
    eventually("git checks out", || env.home().join("begun").exists());
    let answer = env.aof(&["task", "show", &id, "--wait", "0"]).code(7);
    assert!(answer.stderr.contains("`aof show`"), "{answer}");
    go(&env);
    assert!(env.finish("aof", first).success().stdout.contains("Add login"));
    assert!(!env.exists(".git/worktrees/branch/locked"));
}

#[test]
fn a_killed_checkout_is_reported_and_made_again_once_it_is_removed() {
    let (env, id) = without_its_folder();
    // Git and all that it started die in the middle.
    env.write(".git/info/attributes", "tasks/** filter=deadly\n");
    env.git(&["config", "filter.deadly.smudge", "kill -KILL 0"]);
    let _ = env.aof(&["task", "show", &id]).code(1);
    assert!(env.exists(".git/worktrees/branch/locked") && env.exists(".aof/branch/org.yaml"));
    fs::remove_file(env.path(".git/info/attributes")).unwrap();
    env.write(".aof/branch/notes.txt", "mine\n");
    let answer = env.aof(&["task", "show", &id, "--wait", "0"]).code(4);
    assert!(answer.stderr.contains("was not checked out completely"), "{answer}");
    assert_eq!(env.read(".aof/branch/notes.txt"), "mine\n");
    follow_hint(&env, &answer, 0);
    let _ = env.aof(&["task", "show", &id]).success();
    assert!(env.exists(&format!(".aof/branch/tasks/{id}.md")));
}

#[test]
fn a_branch_checked_out_in_the_main_worktree_stays_there() {
    let (env, id) = without_its_folder();
    env.git(&["worktree", "add", "--quiet", "-b", "feature", "../feature"]);
    env.git(&["switch", "--quiet", "aof"]);
    let mut beside = env.aof_command(&["task", "comment", &id, "-m", "Seen"]);
    beside.current_dir(env.path("../feature"));
    let _ = env.run(beside).success();
    assert!(!env.exists(".aof/branch/tasks") && !env.exists("../feature/.aof/branch"));
    assert!(env.task_text(&id).contains("Seen"));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}
