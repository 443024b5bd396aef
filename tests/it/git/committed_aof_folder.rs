//! What git has in `.aof` may be anybody's: nothing is done with it, and how it comes out again is told.

use std::fs;
use std::time::SystemTime;

use crate::git::project_branch::repository;
use crate::support::checker::check;
use crate::support::environment::LAYOUTS;
use crate::support::environment::{Output, TestEnvironment, eventually};
use crate::support::watcher::{Watcher, log};

/// Drops what passes the review as a person who is not asked, and a record that names a file outside of the project. Returns that.
fn planted(env: &TestEnvironment, project: &str, id: &str) -> String {
    env.write(
        &format!("{project}.aof/inbox/c.yaml"),
        format!("task: {id}\nagent: agent-3\noutcome: complete\nsummary: Fine\n"),
    );
    let file = fs::File::open(env.path(&format!("{project}.aof/inbox/c.yaml"))).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let victim = env.home().join("victim").display().to_string();
    fs::write(&victim, "precious\n").unwrap();
    let locks = format!(
        "{{\"index\":{{\"temp\":{victim:?},\"device\":1,\"inode\":1,\"born\":1}},\"branch\":null,\"files\":\"untouched\"}}"
    );
    let record = format!("{{\"pid\":1,\"writes\":[],\"locks\":{locks}}}");
    let digest = aof::domain::Digest::of(record.as_bytes());
    env.write(&format!("{project}.aof/intent"), format!("{}\n{record}", digest.as_str()));
    victim
}

#[track_caller]
fn refused(output: &Output) {
    assert_eq!(output.code, Some(6), "{output}");
    let answer = format!("{}{}", output.stdout, output.stderr);
    assert!(answer.contains("`.aof` is committed here, and it is each clone's alone"), "{output}");
    assert!(answer.contains("`git rm -r --cached .aof`"), "{output}");
}

#[test]
fn files_committed_in_the_aof_folder_stop_all_commands() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let other = env.new_task(&["Add logout"]);
    let _ = env.complete(&id, "agent-7").success();
    let victim = planted(&env, "", &id);
    env.git(&["add", "--force", ".aof/intent", ".aof/inbox/c.yaml"]);
    env.git(&["commit", "--quiet", "--message", "innocent"]);
    let head = env.head();
    for args in [
        &["task", "comment", &id, "-m", "hi"][..],
        &["task", "comment", &id, "-m", "hi", "--dry-run"],
        &["task", "cancel", &id, "--reason", "x", "--dry-run"],
        &["task", "complete", &other, "--agent", "agent-7", "--summary", "Done"],
        &["task", "complete", &other, "--agent", "agent-7", "--summary", "Done", "--dry-run"],
        &["task", "next", "--agent", "agent-7"],
        &["task", "new", "Another"],
        &["task", "new", "Another", "--dry-run"],
        &["init", "--agents", "--agent", "agent-7", "--dry-run"],
        &["watch", "--once"],
        &["watch"],
        &["sweep"],
        &["notices", "--deliver"],
        &["run", "--task", &other],
        &["mcp", "--check", "--agent", "agent-7"],
    ] {
        let output = env.aof(args);
        if args != ["notices", "--deliver"] {
            refused(&output);
        }
        assert_eq!(
            (env.head(), fs::read_to_string(&victim).unwrap().as_str()),
            (head.clone(), "precious\n"),
            "{args:?}"
        );
        assert!(env.exists(".aof/intent") && env.exists(".aof/inbox/c.yaml"), "{args:?}");
    }
    // It is looked at all the same.
    let _ = env.aof(&["task", "list"]).success();
    let _ = env.aof(&["task", "show", &id]).success();
    let status = env.aof(&["status", "--json"]).success().json();
    assert_eq!(status["attention"][0]["code"], "own_folder_in_git", "{status}");
    let found = env.aof(&["doctor"]).code(1).stdout;
    assert!(found.contains("[own_folder_in_git]"), "{found}");
    let _ = env.aof(&["doctor", "--fix"]).code(1);
    assert_eq!((env.head(), fs::read_to_string(&victim).unwrap().as_str()), (head, "precious\n"));
    // As it is told.
    assert_eq!(env.git(&["ls-files", ".aof"]), ".aof/inbox/c.yaml\n.aof/intent\n");
    fs::remove_file(env.path(".aof/intent")).unwrap();
    fs::remove_file(env.path(".aof/inbox/c.yaml")).unwrap();
    env.git(&["rm", "-r", "--quiet", "--cached", ".aof"]);
    let between = env.aof(&["task", "comment", &id, "-m", "hi"]).code(6);
    assert!(
        between.stderr.contains("commit that it was taken out: `git commit -m \".aof is local\"`"),
        "{between}"
    );
    env.git(&["commit", "--quiet", "--message", ".aof is local"]);
    let _ = env.aof(&["task", "comment", &id, "-m", "hi"]).success();
    let _ = env.complete(&other, "agent-7").success();
    assert!(!env.aof(&["doctor"]).stdout.contains("own_folder_in_git"));
    check(&env);
}

#[test]
fn files_staged_in_the_aof_folder_stop_all_commands_with_any_index() {
    let plain = &["update-index", "--no-split-index"][..];
    for layout in [plain, &["update-index", "--index-version", "4"]].into_iter().chain(LAYOUTS) {
        let env = TestEnvironment::new();
        let id = env.new_task(&["Add login"]);
        let _ = env.complete(&id, "agent-7").success();
        env.write("src/main.rs", "fn main() {}\n");
        env.commit_all("code");
        env.git(layout);
        let _ = env.aof(&["task", "comment", &id, "-m", "hi"]).success();
        let head = env.head();
        let victim = planted(&env, "", &id);
        // As `git merge --squash`, `git stash pop` or `git cherry-pick --no-commit` leave it. A sparse checkout wants to be told.
        let added =
            env.try_git(&["add", "--force", "--sparse", ".aof/intent", ".aof/inbox/c.yaml"]);
        assert_eq!(added.code, Some(0), "{added}");
        for args in [&["task", "comment", &id, "-m", "hi"][..], &["watch", "--once"]] {
            let output = env.aof(args).code(6);
            let answer = format!("{}{}", output.stdout, output.stderr);
            assert!(
                answer.contains("`.aof` is staged here") && !answer.contains("git commit"),
                "{layout:?}: {output}"
            );
        }
        assert_eq!(
            (env.head(), fs::read_to_string(&victim).unwrap().as_str()),
            (head, "precious\n"),
            "{layout:?}"
        );
        env.git(&["rm", "-r", "--quiet", "--cached", "--sparse", ".aof"]);
        fs::remove_dir_all(env.path(".aof")).unwrap();
        let _ = env.aof(&["task", "comment", &id, "-m", "hi"]).success();
    }
}

#[test]
fn each_project_of_a_repository_has_its_own() {
    let mut env = TestEnvironment::without_rules();
    for project in ["app", "zoo"] {
        let _ = env.aof(&["init", project]).success();
    }
    let top = env.path("");
    let first = |env: &TestEnvironment, project: &str| {
        let file = env.files(&format!("{project}/tasks")).into_iter().next().unwrap();
        file.rsplit('/').next().unwrap().trim_end_matches(".md").to_owned()
    };
    let (app, zoo) = (first(&env, "app"), first(&env, "zoo"));
    // So many names that the folder's does not come in the beginning of the index.
    for name in 0..900 {
        env.write(
            &format!("code/a-rather-long-name-of-a-file-that-is-not-aofs-own-{name}.txt"),
            "x\n",
        );
    }
    env.commit_all("code");
    planted(&env, "zoo/", &zoo);
    env.git(&["add", "--force", "zoo/.aof/intent"]);
    for project in ["app", "zoo"] {
        env.enter(top.join(project));
        let id = if project == "app" { &app } else { &zoo };
        let output = env.aof(&["task", "comment", id, "-m", "hi"]);
        assert_eq!(output.code, Some(if project == "app" { 0 } else { 6 }), "{output}");
    }
    env.git(&["commit", "--quiet", "--message", "innocent"]);
    refused(&env.aof(&["task", "comment", &zoo, "-m", "hi"]));
    env.enter(top.join("app"));
    let _ = env.aof(&["task", "comment", &app, "-m", "hi"]).success();
}

#[test]
fn a_watcher_at_work_takes_nothing_that_git_brings() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["switch", "--quiet", "--create", "evil"]);
    planted(&env, "", &id);
    fs::remove_file(env.path(".aof/intent")).unwrap();
    env.git(&["add", "--force", ".aof/inbox/c.yaml"]);
    env.git(&["commit", "--quiet", "--message", "innocent"]);
    env.git(&["switch", "--quiet", "main"]);
    let _watcher = Watcher::start(&env);
    let answers = || log(&env);
    eventually("it begins", || answers().contains("watching"));
    env.git(&["merge", "--quiet", "evil"]);
    eventually("it says what is the matter", || answers().contains("`.aof` is committed here"));
    assert_eq!(env.head(), env.git(&["rev-parse", "evil"]).trim());
    assert!(env.task_text(&id).contains("current: review"));
    env.git(&["reset", "--quiet", "--hard", "HEAD~"]);
    let _ = fs::remove_dir_all(env.path(".aof/inbox"));
    eventually("it goes on", || answers().contains("resumed"));
}

#[test]
fn files_of_the_checkout_around_a_project_branch_stop_all_commands() {
    let mut env = repository();
    let _ = env.aof(&["init", "--branch", "tasks"]).success();
    let id = env.new_task(&["Add login"]);
    env.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../hub.git"]);
    env.git(&["remote", "add", "origin", "../hub.git"]);
    env.git(&["push", "--quiet", "origin", "main", "tasks"]);
    let top = env.path("").canonicalize().unwrap();
    env.git(&["clone", "--quiet", "../hub.git", "../used"]);
    env.git(&["clone", "--quiet", "../hub.git", "../evil"]);
    env.enter(top.join("../used").canonicalize().unwrap());
    let _ = env.aof(&["task", "comment", &id, "-m", "hi"]).success();
    env.enter(top.join("../evil").canonicalize().unwrap());
    planted(&env, ".aof/branch/", &id);
    env.git(&["add", "--force", ".aof/branch"]);
    env.git(&["commit", "--quiet", "--message", "innocent"]);
    env.git(&["push", "--quiet"]);

    env.enter(top.join("../used").canonicalize().unwrap());
    let head = env.git(&["rev-parse", "tasks"]);
    env.git(&["pull", "--quiet"]);
    let file = fs::File::open(env.path(".aof/branch/.aof/inbox/c.yaml")).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let victim = env.home().join("victim");
    let here = env.plain(&env.path("").display().to_string());
    let here = here.trim_end_matches('/');
    for args in [
        &["task", "comment", &id, "-m", "hi"][..],
        &["watch", "--once"],
        &["sweep"],
        &["task", "new", "Another"],
    ] {
        let output = env.aof(args).code(6);
        let answer = format!("{}{}", output.stdout, output.stderr);
        assert!(answer.contains("`.aof` is committed in the checkout `"), "{output}");
        assert!(answer.contains(&format!("`git -C {here} rm -r --cached .aof`")), "{output}");
        assert_eq!(
            (env.git(&["rev-parse", "tasks"]), fs::read_to_string(&victim).unwrap()),
            (head.clone(), "precious\n".into())
        );
        assert!(env.exists(".aof/branch/.aof/intent"));
    }
    let _ = env.aof(&["task", "list"]).success();
    assert!(
        env.aof(&["status"]).success().stdout.contains(&format!("`git -C {here} ls-files .aof`"))
    );
    // From a worktree beside, too, it is the one around that counts.
    env.git(&["worktree", "add", "--quiet", "-b", "beside", "../beside", "main~"]);
    let mut beside = env.aof_command(&["task", "comment", &id, "-m", "hi"]);
    beside.current_dir(env.path("../beside"));
    let _ = env.run(beside).code(6);
    // As it is told.
    fs::remove_file(env.path(".aof/branch/.aof/intent")).unwrap();
    fs::remove_file(env.path(".aof/branch/.aof/inbox/c.yaml")).unwrap();
    env.git(&["rm", "-r", "--quiet", "--cached", ".aof"]);
    let between = env.aof(&["task", "comment", &id, "-m", "hi"]).code(6);
    assert!(
        between.stderr.contains(&format!("`git -C {here} commit -m \".aof is local\"`")),
        "{between}"
    );
    env.git(&["commit", "--quiet", "--message", ".aof is local"]);
    let _ = env.aof(&["task", "comment", &id, "-m", "hi"]).success();

    // Where it is not checked out yet, what stands in its place is told as what it is.
    env.git(&["clone", "--quiet", "../hub.git", "../fresh"]);
    env.enter(top.join("../fresh").canonicalize().unwrap());
    let fresh = env.aof(&["task", "comment", &id, "-m", "hi"]).code(6);
    assert!(
        fresh.stderr.contains("`.aof` is committed here")
            && fresh.stderr.contains("`git rm -r --cached .aof`"),
        "{fresh}"
    );
    env.git(&["rm", "-r", "--quiet", "--cached", ".aof"]);
    fs::remove_dir_all(env.path(".aof")).unwrap();
    env.git(&["commit", "--quiet", "--message", ".aof is local"]);
    let _ = env.aof(&["task", "comment", &id, "-m", "hi"]).success();
}
