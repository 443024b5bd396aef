//! Remotes that reject, die, are locked or away: told in plain words, and nothing is lost.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;

use crate::support::clones::{Clones, sends_what_git_refuses, synced_project};
use crate::support::environment::{PROGRAM, PROJECT, TestEnvironment, eventually, executable};

#[test]
fn a_refusal_by_git_is_not_reported_as_a_missing_network() {
    let clones = Clones::new(PROJECT, &["b"]);
    sends_what_git_refuses(&clones, "b");
    assert_snapshot!(clones.sync(".").code(1).stderr, @"
    error: git refuses what `origin` has, so nothing of it was taken: object COMMIT: hasDotdot: contains '..'
    fsck error in packed object
    index-pack failed; see `git fetch origin`, and fix it there
    ");
}

#[test]
fn a_disk_that_is_full_here_is_no_fault_of_the_remotes() {
    let clones = Clones::new(PROJECT, &["b"]);
    // What does not get smaller: one line is as good as another only to a compressor.
    let noise: String =
        (0..20_000_u64).map(|n| format!("{:x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
    clones.env.write("../b/noise.txt", &noise);
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["commit", "--quiet", "--message", "noise"]);
    clones.git("b", &["push", "--quiet"]);
    let before = clones.head(".");
    let mut command = clones.env.command("sh");
    command.args(["-c", "ulimit -f 16; trap '' XFSZ; exec \"$0\" \"$@\"", &PROGRAM, "sync"]);
    let output = clones.env.run(command).code(1);
    assert!(
        output.stderr.starts_with(
            "error: git could not take in what `origin` sent, so nothing was changed: "
        ),
        "{output}"
    );
    assert!(output.stderr.contains("File too large"), "{output}");
    assert_eq!((clones.head("."), clones.status(".")), (before, String::new()));
    clones.does(".", &["sync"]);
    assert_eq!(clones.env.read("noise.txt"), noise);
}

#[test]
fn trouble_with_the_remote_is_reported_in_plain_words() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.aof(&["sync"]).code(1).stderr, @"
    error: there is no remote to sync with

    hint: add one: `git remote add origin URL`; any git host will do, or a bare repository on a shared disk
    ");
    env.git(&["remote", "add", "one", "../one.git"]);
    env.git(&["remote", "add", "two", "../two.git"]);
    assert_snapshot!(env.aof(&["sync"]).code(1).stderr, @"
    error: there are several remotes, and none of them is said to be the one to sync with

    hint: say which: `--remote one`, or `git: {remote: one}` in project.yaml
    ");
    assert_snapshot!(env.aof(&["sync", "--remote", "three"]).code(1).stderr, @"
    error: there is no remote `three`

    hint: there is `one`, `two`
    ");
    // It is not there: what is here waits, and that is no failure.
    assert_snapshot!(env.aof(&["sync", "--remote", "one"]).success().stdout, @"
    ! one/main cannot be reached: '../one.git' does not appear to be a git repository
      Could not read from remote repository.
      1 commit waits here; sync again when it can
    ");
    assert_snapshot!(env.aof(&["status"]).success().stdout, @"
    on main
    nothing is open

    what waits for you is unknown: no agent of org.yaml has git's `user.email`

    Problems: 1
      ! no watcher is running
        start one with `aof watch`; without it, commands work but dropped files and edits wait
    ");
}

#[test]
fn a_fetch_that_is_killed_is_a_failure_and_leaves_no_lock() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.new_task(&["Add login"]);
    // The fetch is its parent, and dies while it moves the branch.
    let killer = "#!/bin/sh
: > .git/refs/remotes/origin/main.lock
kill -9 $PPID
";
    let script = clones.env.path("../killer");
    fs::write(&script, killer).unwrap();
    executable(&script);
    let script = script.display().to_string();
    clones.git(".", &["config", "remote.origin.uploadpack", &format!("exec {script}")]);
    let killed = clones.sync(".");
    assert_snapshot!(killed.code(1).stderr, @"error: git could not take in what `origin` sent, so nothing was changed: `git fetch` was killed (signal: 9 (SIGKILL))");
    assert!(!clones.env.exists(".git/refs/remotes/origin/main.lock"));
    clones.git(".", &["config", "--unset", "remote.origin.uploadpack"]);
    clones.does(".", &["sync"]);

    // A lock that was there before is somebody else's, and told.
    clones.env.write(".git/refs/remotes/origin/main.lock", "");
    let lock =
        fs::File::options().write(true).open(clones.env.path(".git/refs/remotes/origin/main.lock"));
    lock.unwrap().set_modified(SystemTime::now() - Duration::from_hours(1)).unwrap();
    let output = clones.env.aof(&["doctor"]);
    assert!(output.stdout.contains("refs/remotes/origin/main.lock"), "{output}");
}

#[test]
fn a_remote_that_rejects_is_heard() {
    let clones = Clones::new(PROJECT, &["b"]);
    let hook = clones.env.path("../hub.git/hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\necho 'the gate is closed on Sundays' >&2\nexit 1\n").unwrap();
    executable(&hook);
    clones.env.new_task(&["Add login"]);
    let output = clones.sync(".");
    assert_eq!(output.code, Some(1));
    assert_snapshot!(output.stdout, @"
    ! origin/main would not take it: the gate is closed on Sundays
      1 commit waits here; if `main` is protected there, `aof migrate branch` moves the tasks to a branch of their own
    ");
    fs::write(&hook, "#!/bin/sh\necho 'GH006: Protected branch update failed' >&2\nexit 1\n")
        .unwrap();
    let output = clones.sync(".");
    assert_snapshot!(output.stdout, @"
    ! origin/main would not take it: `main` is protected there: GH006: Protected branch update failed
      1 commit waits here; `aof migrate branch` moves the tasks to a branch of their own
    ");
    let told = clones.aof(".", &["sync", "--json"]).code(1).json();
    assert_eq!(
        told["fix"], "`aof migrate branch` moves the tasks to a branch of their own",
        "{told}"
    );
    assert!(clones.aof(".", &["status"]).success().stdout.contains("`main` is protected there"));
    fs::remove_file(&hook).unwrap();
    // A hook of the user's own is asked as by any push.
    let own = clones.env.path(".git/hooks/pre-push");
    fs::write(&own, "#!/bin/sh\necho 'not with me' >&2\nexit 1\n").unwrap();
    executable(&own);
    let output = clones.sync(".");
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.contains("not with me"), "{}", output.stdout);
    fs::remove_file(&own).unwrap();
    clones.does(".", &["sync"]);
}

#[test]
fn a_remote_that_takes_nothing_is_not_taken_for_one_that_is_away() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.new_task(&["Add login"]);
    let remote = clones.env.path("../receives");
    clones.env.git(&["config", "remote.origin.receivepack", &remote.display().to_string()]);
    for (script, answer) in [
        (
            "echo 'ERROR: this repository was archived, so it is read-only.' >&2; exit 1",
            "was archived",
        ),
        ("echo 'you may read, and no more' >&2; exit 1", "you may read, and no more"),
        // Nothing can be written there, as on a disk that is full.
        ("trap '' XFSZ; ulimit -f 0; exec git receive-pack \"$@\"", "unpack"),
    ] {
        fs::write(&remote, format!("#!/bin/sh\n{script}\n")).unwrap();
        executable(&remote);
        let output = clones.sync(".");
        assert_eq!(output.code, Some(1), "{script}: {}{}", output.stdout, output.stderr);
        assert!(
            output.stdout.contains("! origin/main would not take it: "),
            "{script}: {}",
            output.stdout
        );
        assert!(output.stdout.contains(answer), "{script}: {}", output.stdout);
        assert!(output.stdout.contains("1 commit waits here"), "{script}: {}", output.stdout);
    }
    clones.env.git(&["config", "--unset", "remote.origin.receivepack"]);
    clones.env.git(&["-C", "../hub.git", "config", "receive.denyNonFastForwards", "true"]);
    clones.env.git(&["-C", "../hub.git", "config", "receive.denyDeletes", "true"]);
    clones.does(".", &["sync"]);
}

#[test]
fn a_lock_that_a_killed_git_left_at_the_remote_is_reported() {
    let clones = Clones::new(PROJECT, &[]);
    clones.env.new_task(&["Add login"]);
    clones.env.write("../hub.git/refs/heads/main.lock", "");
    let output = clones.sync(".").code(1);
    assert!(output.stdout.contains("! origin/main would not take it: "), "{output}");
    assert!(output.stdout.contains("main.lock': File exists"), "{output}");
    fs::remove_file(clones.env.path("../hub.git/refs/heads/main.lock")).unwrap();
    clones.does(".", &["sync"]);
}

#[test]
fn a_lock_here_is_no_want_of_a_network() {
    let clones = Clones::new(&synced_project(), &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    let lock = "../b/.git/refs/remotes/origin/main.lock";
    clones.env.write(lock, "");
    let output = clones.aof("b", &["sync", "--wait", "0s"]).code(7);
    assert!(
        output
            .stderr
            .contains("/b/.git/refs/remotes/origin/main.lock` is held by another git process"),
        "{output}"
    );
    assert!(output.stderr.contains("if no git is running, delete that file"), "{output}");
    let claimed = clones.aof("b", &["task", "next", "--agent", "agent-7", "--wait", "0s"]).code(7);
    assert!(claimed.stderr.contains("main.lock` is held by"), "{claimed}");
    let status = clones.aof("b", &["status"]).success();
    assert!(status.stdout.contains("no commit to exchange with origin/main, but nothing is handed out before a sync, as it was last seen"), "{status}");
    assert!(status.stdout.contains("and this clone cannot be synced since"), "{status}");
    assert!(
        status.stdout.contains("main.lock` is held by") && !status.stdout.contains("offline"),
        "{status}"
    );
    let (before, after) =
        status.stdout.split_once("main.lock` is held by another git process; ").unwrap();
    assert!(
        after.starts_with("if no git is running, delete that file\n"),
        "no age of it: {before}, {after}"
    );
    fs::rename(clones.env.path(lock), clones.env.path("../away")).unwrap();
    let status = clones.aof("b", &["status"]).success();
    assert!(
        !status.stdout.contains("main.lock") && !status.stdout.contains("cannot be synced"),
        "{status}"
    );
    fs::rename(clones.env.path("../away"), clones.env.path(lock)).unwrap();
    let old = SystemTime::now() - Duration::from_hours(1);
    fs::File::options().write(true).open(clones.env.path(lock)).unwrap().set_modified(old).unwrap();
    let printed = clones.aof("b", &["doctor"]);
    assert!(
        printed.stdout.contains("refs/remotes/origin/main.lock")
            && printed.stdout.contains("[git_locked]"),
        "{printed}"
    );
    // Whoever has it lets it go.
    let (bin, met) = (clones.env.home().join("bin"), clones.env.home().join("met"));
    fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\nPATH=\"${{PATH#*:}}\" git \"$@\"\ncode=$?\nfor word; do\n\
         [ \"$word\" = fetch ] && [ $code != 0 ] && touch '{}'\ndone\nexit $code\n",
        met.display()
    );
    fs::write(bin.join("git"), script).unwrap();
    executable(&bin.join("git"));
    let mut command = clones.command("b", &["sync", "--wait", "60s"]);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let child =
        command.env("PATH", path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("git has met the lock", || met.exists());
    fs::remove_file(clones.env.path(lock)).unwrap();
    let synced = clones.env.finish("sync", child).success();
    assert!(synced.stdout.contains("in step with origin/main"), "{synced}");
    assert!(clones.env.exists(&format!("../b/tasks/{id}.md")));
    let status = clones.aof("b", &["status"]).success();
    assert!(!status.stdout.contains("cannot be synced"), "{status}");
}

#[test]
fn an_obstacle_at_the_tracking_branch_is_reported() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    clones.git("b", &["update-ref", "-d", "refs/remotes/origin/main"]);
    clones.git("b", &["update-ref", "refs/remotes/origin/main/x", "HEAD"]);
    let output = clones.sync("b").code(1);
    assert!(
        output
            .stderr
            .contains("git could not take in what `origin` sent, so nothing was changed: "),
        "{output}"
    );
    assert!(output.stderr.contains("'git remote prune origin'"), "{output}");
    clones.git("b", &["remote", "prune", "origin"]);
    clones.does("b", &["sync"]);
    assert_eq!(clones.head("."), clones.head("b"));
}

#[test]
fn a_remote_that_dies_in_the_middle_of_a_push_takes_nothing_away() {
    let clones = Clones::new(PROJECT, &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    let dying = clones.env.path("../dying");
    fs::write(&dying, "#!/bin/sh\ngit receive-pack --advertise-refs \"$@\"\nkill -9 $$\n").unwrap();
    executable(&dying);
    clones.env.git(&["config", "remote.origin.receivepack", &dying.display().to_string()]);
    let head = clones.head(".");
    let output = clones.sync(".");
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("1 commit waits here"), "{}", output.stdout);
    assert_eq!((clones.head("."), clones.status(".")), (head, String::new()));
    clones.env.git(&["config", "--unset", "remote.origin.receivepack"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    assert!(clones.env.exists(&format!("../b/tasks/{id}.md")));
}
