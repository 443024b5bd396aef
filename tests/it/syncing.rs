//! Clones and a bare remote between them: what comes, what goes, what is left to people, and that nothing is ever lost.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;

use crate::environment::{Output, PROJECT, TestEnvironment, eventually};

/// Who is in the roles of the usual rules, with a hand for each clone.
const ORG: &str = "\
roles:
  backend: {agents: [agent-1, agent-2, agent-3, agent-7]}
  architect: {agents: [agent-9]}
";

/// A project with a bare remote, cloned as often as wanted. The first clone is the environment's own folder.
pub(crate) struct Clones {
    pub env: TestEnvironment,
}

impl Clones {
    pub(crate) fn new(project: &str, names: &[&str]) -> Self {
        Self::with_org(project, ORG, names)
    }

    pub(crate) fn with_org(project: &str, org: &str, names: &[&str]) -> Self {
        let env = TestEnvironment::with_rules(project, org);
        env.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../hub.git"]);
        env.git(&["remote", "add", "origin", "../hub.git"]);
        env.git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
        for name in names {
            env.git(&["clone", "--quiet", "../hub.git", &format!("../{name}")]);
        }
        Self { env }
    }

    /// Runs `aof` in that clone; `.` is the first.
    pub(crate) fn aof(&self, clone: &str, args: &[&str]) -> Output {
        self.env.run(self.command(clone, args))
    }

    pub(crate) fn command(&self, clone: &str, args: &[&str]) -> Command {
        let mut command = self.env.aof_command(args);
        command.current_dir(self.env.path(&place(clone)));
        command
    }

    pub(crate) fn git(&self, clone: &str, args: &[&str]) -> String {
        let folder = place(clone);
        self.env.git(&[&["-C", folder.as_str()], args].concat())
    }

    pub(crate) fn sync(&self, clone: &str) -> Output {
        self.aof(clone, &["sync"])
    }

    /// Runs `aof` in that clone, which must succeed.
    pub(crate) fn does(&self, clone: &str, args: &[&str]) {
        let _ = self.aof(clone, args).success();
    }

    /// Completes a task's gate in that clone.
    pub(crate) fn completes(&self, clone: &str, id: &str, agent: &str) {
        self.says(clone, id, agent, "complete");
    }

    pub(crate) fn says(&self, clone: &str, id: &str, agent: &str, outcome: &str) {
        let mut args = vec![
            "task",
            "complete",
            id,
            "--agent",
            agent,
            "--outcome",
            outcome,
            "--summary",
            "Did it",
        ];
        if outcome == "needs_review" {
            args.extend(["--blocker", "The login page of the shop has no title"]);
        }
        self.does(clone, &args);
    }

    pub(crate) fn head(&self, clone: &str) -> String {
        self.git(clone, &["rev-parse", "HEAD"])
    }

    /// Returns what git says of index and worktree, which is nothing where all is as committed.
    pub(crate) fn status(&self, clone: &str) -> String {
        self.git(clone, &["status", "--porcelain"])
    }
}

fn place(clone: &str) -> String {
    if clone == "." { ".".to_owned() } else { format!("../{clone}") }
}

fn synced_project() -> String {
    format!("git: {{sync: true}}\n{PROJECT}")
}

/// Pushes from that clone a tree with a path that leads out of the worktree, as no git would write it; the first clone looks for
/// such ones.
pub(crate) fn sends_what_git_refuses(clones: &Clones, clone: &str) {
    let blob = clones.git(clone, &["rev-parse", "HEAD:project.yaml"]);
    let folder = clones.env.path(&place(clone));
    fs::write(folder.join("listed"), format!("100644 blob {}\t..\n", blob.trim())).unwrap();
    let mut shell = clones.env.command("sh");
    shell.current_dir(folder);
    shell.args([
        "-c",
        "git update-ref refs/heads/odd $(git commit-tree -p HEAD -m odd $(git mktree < listed))",
    ]);
    let _ = clones.env.run(shell).success();
    clones.git(clone, &["push", "--quiet", "origin", "odd:main"]);
    clones.env.git(&["config", "transfer.fsckObjects", "true"]);
}

#[test]
fn what_git_refuses_of_the_remote_is_no_want_of_a_network() {
    let clones = Clones::new(PROJECT, &["b"]);
    sends_what_git_refuses(&clones, "b");
    assert_snapshot!(clones.sync(".").code(1).stderr, @"
    error: git refuses what `origin` has, so nothing of it was taken: object COMMIT: hasDotdot: contains '..'
    fsck error in packed object
    index-pack failed; see `git fetch origin`, and mend it there
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
    command.args([
        "-c",
        "ulimit -f 16; trap '' XFSZ; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_aof"),
        "sync",
    ]);
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
fn what_one_clone_does_comes_to_the_other() {
    let clones = Clones::new(PROJECT, &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    let told = |output: Output| without_commits(&output.success().stdout.replace(&id, "AOF-abc"));
    assert_snapshot!(told(clones.aof(".", &["sync", "--dry-run"])), @"
    Would go
      COMMIT AOF-xxxxx: created at implement (Ada)
    dry run: nothing was changed
    ");
    assert_snapshot!(told(clones.sync(".")), @"
    Went
      COMMIT AOF-xxxxx: created at implement (Ada)
    in step with origin/main
    ");
    assert_snapshot!(told(clones.sync(".")), @"nothing to do: the same as origin/main");
    assert_snapshot!(told(clones.sync("b")), @"
    Came
      COMMIT AOF-xxxxx: created at implement (Ada)
    in step with origin/main
    ");
    clones.completes("b", &id, "agent-2");
    assert_snapshot!(clones.aof("b", &["sync", "--json"]).success().stdout, @r#"
    {
      "state": "synced",
      "remote": "origin",
      "branch": "main",
      "came": [],
      "went": [
        {
          "commit": "COMMIT",
          "subject": "AOF-xxxxx: implement -> review (complete)",
          "author": "agent-2"
        }
      ],
      "merge": null,
      "superseded": [],
      "rounds": 1,
      "ahead": 0,
      "behind": 0,
      "problem": null,
      "fix": null,
      "files": [],
      "jsonVersion": 1
    }
    "#);
    clones.does(".", &["sync"]);
    assert_eq!(clones.head("."), clones.head("b"));
    assert_eq!((clones.status("."), clones.status("b")), (String::new(), String::new()));
    assert_snapshot!(clones.aof("b", &["status"]).success().stdout, @"
    on branch main
    in step with origin/main, as of 2026-02-16T10:00:14Z
    1 active task: 1 ready

    Needs attention
      ! no watcher is running
        start one with `aof watch`; without it, commands work but dropped files and edits wait
    ");
}

#[test]
fn what_is_not_committed_stays_and_is_told_where_it_is_in_the_way() {
    let clones = Clones::new(PROJECT, &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    let path = format!("tasks/{id}.md");
    clones.env.write("notes.txt", "one\n");
    clones.env.write("staged.txt", "one\n");
    clones.env.git(&["add", "--all"]);
    clones.env.git(&["commit", "--quiet", "--message", "notes"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    // Elsewhere the task goes on, a file comes, and one goes.
    clones.completes("b", &id, "agent-2");
    clones.env.write("../b/new.txt", "new\n");
    clones.git("b", &["add", "new.txt"]);
    clones.git("b", &["commit", "--quiet", "--message", "new"]);
    clones.does("b", &["sync"]);
    // Here everything that is not in the way is as people left it.
    clones.env.write("notes.txt", "two\n");
    clones.env.write("staged.txt", "two\n");
    clones.env.git(&["add", "staged.txt"]);
    clones.env.write("untracked.txt", "mine\n");
    for (file, text) in [("new.txt", "mine\n"), (path.as_str(), "mine\n")] {
        let before = clones.env.exists(file).then(|| clones.env.read(file));
        clones.env.write(file, text);
        let (head, status) = (clones.head("."), clones.status("."));
        let output = clones.sync(".");
        assert_eq!(output.code, Some(5), "{}", output.stdout);
        assert!(
            output.stdout.contains(&format!("`{}`", clones.env.plain(file))),
            "{}",
            output.stdout
        );
        assert_eq!(
            (clones.head("."), clones.status("."), clones.env.read(file).as_str()),
            (head, status, text)
        );
        match before {
            Some(before) => clones.env.write(file, before),
            None => fs::remove_file(clones.env.path(file)).unwrap(),
        }
    }
    clones.does(".", &["sync"]);
    assert_eq!(clones.head("."), clones.head("b"));
    assert_eq!(clones.status("."), " M notes.txt\nM  staged.txt\n?? untracked.txt\n");
    assert_eq!(clones.env.read("new.txt"), "new\n");
}

#[test]
fn links_modes_submodules_and_folders_come_as_git_brings_them() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.git(&["init", "--quiet", "--initial-branch=main", "../library"]);
    clones.env.git(&[
        "-C",
        "../library",
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "first",
    ]);
    clones.git("b", &["submodule", "--quiet", "add", "../library", "library"]);
    clones.env.write("../b/run.sh", "#!/bin/sh\n");
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["update-index", "--chmod=+x", "run.sh"]);
    std::os::unix::fs::symlink("run.sh", clones.env.path("../b/link")).unwrap();
    clones.env.write("../b/deep/er/file.txt", "x\n");
    clones.git("b", &["add", "link", "deep"]);
    clones.git("b", &["commit", "--quiet", "--message", "all kinds"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["sync"]);
    assert_eq!(fs::read_link(clones.env.path("link")).unwrap().to_str(), Some("run.sh"));
    let mode = |name: &str| {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(clones.env.path(name)).unwrap().permissions().mode() & 0o111
    };
    assert_ne!(mode("run.sh"), 0);
    assert!(clones.env.path("library").is_dir());
    assert_eq!(clones.status("."), "");
    // And away again.
    clones.git("b", &["rm", "-r", "--quiet", "deep", "link"]);
    clones.git("b", &["commit", "--quiet", "--message", "less"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["sync"]);
    assert!(!clones.env.exists("deep") && !clones.env.exists("link"));
    assert_eq!(clones.status("."), "");
}

#[test]
fn files_come_as_git_would_write_them() {
    use std::os::unix::fs::PermissionsExt;
    let clones = Clones::new(PROJECT, &["b", "c"]);
    clones.git("c", &["config", "core.autocrlf", "true"]);
    clones.env.write("../b/deep/run.sh", "#!/bin/sh\n");
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["update-index", "--chmod=+x", "deep/run.sh"]);
    clones.git("b", &["commit", "--quiet", "--message", "a program"]);
    clones.does("b", &["sync"]);
    for (clone, text) in [(".", "#!/bin/sh\n"), ("c", "#!/bin/sh\r\n")] {
        clones.does(clone, &["sync"]);
        let file = format!("{}/deep/run.sh", place(clone));
        assert_eq!(clones.env.read(&file), text, "{clone}");
        assert_eq!(
            fs::metadata(clones.env.path(&file)).unwrap().permissions().mode() & 0o777,
            0o755,
            "{clone}"
        );
        assert_eq!(clones.status(clone), "", "{clone}");
    }
}

#[test]
fn trouble_with_the_remote_is_told_in_plain_words() {
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
    on branch main
    no active tasks

    Needs attention
      ! no watcher is running
        start one with `aof watch`; without it, commands work but dropped files and edits wait
    ");
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
      1 commit waits here
    ");
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
    for (script, said) in [
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
        assert!(output.stdout.contains(said), "{script}: {}", output.stdout);
        assert!(output.stdout.contains("1 commit waits here"), "{script}: {}", output.stdout);
    }
    clones.env.git(&["config", "--unset", "remote.origin.receivepack"]);
    clones.env.git(&["-C", "../hub.git", "config", "receive.denyNonFastForwards", "true"]);
    clones.env.git(&["-C", "../hub.git", "config", "receive.denyDeletes", "true"]);
    clones.does(".", &["sync"]);
}

#[test]
fn a_lock_that_a_killed_git_left_at_the_remote_is_told() {
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
    assert!(status.stdout.contains("in step with origin/main, as it was last seen"), "{status}");
    assert!(status.stdout.contains("and this clone are not in step since"), "{status}");
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
        !status.stdout.contains("main.lock") && !status.stdout.contains("not in step"),
        "{status}"
    );
    fs::rename(clones.env.path("../away"), clones.env.path(lock)).unwrap();
    let old = SystemTime::now() - Duration::from_hours(1);
    fs::File::options().write(true).open(clones.env.path(lock)).unwrap().set_modified(old).unwrap();
    let told = clones.aof("b", &["doctor"]);
    assert!(
        told.stdout.contains("refs/remotes/origin/main.lock")
            && told.stdout.contains("[git_locked]"),
        "{told}"
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
    assert!(!status.stdout.contains("are not in step"), "{status}");
}

#[test]
fn what_stands_where_the_remotes_branch_is_remembered_is_told() {
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

#[test]
fn what_is_no_task_is_left_to_its_author_where_a_merge_is_needed() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    clones.env.write("../b/code.txt", "mine\n");
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["commit", "--quiet", "--message", "code"]);
    let head = clones.head("b");
    let output = clones.sync("b");
    assert_eq!(output.code, Some(5));
    assert_snapshot!(output.stdout.replace(&head[..7], "COMMIT"), @"
    ! `origin/main` went on, and commit COMMIT here changes `code.txt`, which is no task: that merge is left to git
      run `git pull --no-rebase origin main`, then `aof sync`; tasks are merged by meaning there too, but what you have stands there, since you merge into your branch
    ");
    assert_eq!(clones.head("b"), head);
    clones.git("b", &["pull", "--quiet", "--no-rebase", "--no-edit"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["sync"]);
    assert_eq!(clones.head("."), clones.head("b"));
}

/// Everything that is different about the two sides of one task, in one story.
#[test]
fn both_sides_went_on() {
    let clones = Clones::new(PROJECT, &["b"]);
    let [both, here, there] = ["Both", "Here", "There"].map(|title| clones.env.new_task(&[title]));
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    // One task goes on here, one there, and one on both sides: what the remote had first counts.
    clones.completes(".", &both, "agent-1");
    clones.completes(".", &here, "agent-1");
    clones.completes("b", &both, "agent-2");
    clones.completes("b", &there, "agent-2");
    clones.does(".", &["sync"]);
    let output = clones.sync("b").success();
    let merge = clones.head("b");
    let plain = |text: &str| {
        text.replace(&merge[..7], "MERGE")
            .replace(&both, "BOTH")
            .replace(&here, "HERE")
            .replace(&there, "THERE")
    };
    assert_snapshot!(without_commits(&plain(&output.stdout)), @"
    Came
      COMMIT AOF-xxxxx: implement -> review (complete) (agent-1)
      COMMIT AOF-xxxxx: implement -> review (complete) (agent-1)
    Went
      COMMIT AOF-xxxxx: implement -> review (complete) (agent-2)
      COMMIT AOF-xxxxx: implement -> review (complete) (agent-2)
    Merged as MERGE
    Superseded, because the remote had another one first
      ! AOF-xxxxx@0 ULID by agent-2 (complete)
    in step with origin/main
    ");
    let message = clones.env.plain(&plain(&clones.git("b", &["log", "-1", "--format=%an%n%B"])));
    assert_snapshot!(message, @"
    Ada
    sync: merge 2 commits into origin/main

    Aof-Superseded: BOTH@0 ULID by agent-2 (complete)
    ");
    // Its first parent is what the remote had.
    let first = clones.git("b", &["rev-parse", "HEAD^1"]);
    assert_eq!(first, clones.head("."));
    clones.does(".", &["sync"]);
    assert_eq!(clones.head("."), merge);
    assert_eq!((clones.status("."), clones.status("b")), (String::new(), String::new()));
    clones.does("b", &["verify"]);
    for (id, agent) in [(&both, "agent-1"), (&here, "agent-1"), (&there, "agent-2")] {
        let task = clones.aof("b", &["task", "show", id, "--json"]).success().json();
        assert_eq!(task["gateHistory"][0]["agent"], agent, "{id}");
        assert_eq!(task["gateHistory"].as_array().map(Vec::len), Some(1), "{id}");
    }
}

#[test]
fn a_task_that_was_finished_on_one_side_or_on_both_is_in_one_place() {
    let clones = Clones::new(PROJECT, &["b"]);
    let [one, two] = ["One", "Two"].map(|title| clones.env.new_task(&[title]));
    for id in [&one, &two] {
        clones.completes(".", id, "agent-1");
    }
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    // One is finished here and its title changed there; the other is finished on both sides, on different days.
    clones.completes(".", &one, "agent-9");
    clones.does("b", &["task", "edit", &one, "--title", "One, as it was meant"]);
    clones.completes(".", &two, "agent-9");
    clones.env.pass_minutes(3 * 24 * 60);
    clones.completes("b", &two, "agent-9");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["sync"]);
    let files = clones.env.files("tasks");
    let expected: Vec<String> = {
        let mut ids = [&one, &two].map(|id| format!("tasks/archive/2026/02/16/{id}.md")).to_vec();
        ids.sort();
        ids
    };
    assert_eq!(files, expected);
    assert!(clones.env.task_text(&one).contains("One, as it was meant"));
    clones.does(".", &["verify"]);
    assert_eq!((clones.status("."), clones.status("b")), (String::new(), String::new()));
}

#[test]
fn what_people_wrote_on_both_sides_is_left_to_people() {
    let clones = Clones::new(PROJECT, &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["task", "edit", &id, "--title", "Add a login"]);
    clones.does("b", &["task", "edit", &id, "--title", "Add logins"]);
    clones.does(".", &["sync"]);
    let head = clones.head("b");
    let output = clones.sync("b");
    assert_eq!(output.code, Some(5));
    assert_snapshot!(output.stdout, @"
    ! `origin/main` went on, and people have to merge: `tasks/AOF-xxxxx.md`: both sides changed `title`
      nothing was changed; run `git pull --no-rebase origin main`, solve what is marked, commit, then `aof sync`
    ");
    assert_eq!((clones.head("b"), clones.status("b")), (head, String::new()));
}

#[test]
fn two_projects_in_one_repository_are_each_merged_by_their_own_rules() {
    let clones = Clones::new(PROJECT, &[]);
    clones.env.write(
        "shop/project.yaml",
        "project: {idPrefix: SHOP}\nworkflow: {gates: [{id: sell, role: seller}]}\n",
    );
    clones.env.write("shop/org.yaml", "roles: {seller: {agents: [agent-5, agent-6]}}\n");
    clones.env.commit_all("shop");
    let here = clones.env.new_task(&["Add login"]);
    let made = clones.aof(".", &["-C", "shop", "task", "new", "Sell"]).success();
    let sold =
        fs::read_dir(clones.env.path("shop/tasks")).unwrap().next().unwrap().unwrap().file_name();
    let sold = sold.to_str().unwrap().trim_end_matches(".md").to_owned();
    assert!(made.stdout.contains("created"));
    clones.does(".", &["sync"]);
    clones.env.git(&["clone", "--quiet", "../hub.git", "../b"]);
    clones.completes(".", &here, "agent-1");
    clones.does(".", &["sync"]);
    clones.completes("b", &here, "agent-2");
    clones.does(
        "b",
        &[
            "-C",
            "shop",
            "task",
            "complete",
            &sold,
            "--agent",
            "agent-6",
            "--outcome",
            "complete",
            "--summary",
            "Sold",
        ],
    );
    // Synced from the other project's folder, both are merged.
    let output = clones.aof("b", &["-C", "shop", "sync"]).success();
    assert!(output.stdout.contains("Superseded"), "{}", output.stdout);
    clones.does(".", &["sync"]);
    assert_eq!(clones.head("."), clones.head("b"));
    assert_eq!((clones.status("."), clones.status("b")), (String::new(), String::new()));
    assert!(clones.env.files("shop/tasks/archive").len() == 1);
}

/// The points that a sync passes which brings something in.
#[cfg(debug_assertions)]
const POINTS: [&str; 10] = [
    "audit.temps-made",
    "audit.intent-told",
    "audit.index-locked",
    "audit.bring-begun",
    "audit.bring-placed",
    "audit.bring-files",
    "audit.index-written",
    "audit.ref-locked",
    "audit.index-moved",
    "audit.ref-moved",
];

/// A clone to which a task, a file and a folder are to come, and where something went on as well or not.
#[cfg(debug_assertions)]
pub(crate) fn behind(apart: bool) -> (Clones, String) {
    let clones = Clones::new(PROJECT, &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    clones.env.write("notes.txt", "one\n");
    clones.env.write("gone.txt", "one\n");
    clones.env.commit_all("notes");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.completes("b", &id, "agent-2");
    clones.env.write("../b/new/file.txt", "new\n");
    clones.env.write("../b/notes.txt", "two\n");
    fs::remove_file(clones.env.path("../b/gone.txt")).unwrap();
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["commit", "--quiet", "--message", "more"]);
    clones.does("b", &["sync"]);
    if apart {
        clones.env.new_task(&["Meanwhile"]);
    }
    (clones, id)
}

#[cfg(debug_assertions)]
pub(crate) fn killed(clones: &Clones, point: &str) {
    let mut command = clones.command(".", &["sync"]);
    command.env("AOF_STOP_AT", point);
    assert_eq!(clones.env.run(command).code, None, "{point}: it was not passed");
}

#[cfg(debug_assertions)]
#[test]
fn killed_anywhere_the_next_command_finishes() {
    for (number, point) in POINTS.into_iter().enumerate() {
        // Every other one has something of its own as well, and is healed by a command that is no sync.
        let apart = number % 2 == 1;
        let (clones, id) = behind(apart);
        killed(&clones, point);
        if apart {
            clones.does(".", &["task", "comment", &id, "Still there"]);
        } else {
            clones.does(".", &["sync"]);
        }
        assert!(!clones.env.is_in_the_middle(), "{point}");
        assert_eq!(clones.status("."), "", "{point}");
        clones.does(".", &["sync"]);
        clones.does("b", &["sync"]);
        assert_eq!(clones.head("."), clones.head("b"), "{point}");
        assert_eq!(
            (clones.status("."), clones.status("b")),
            (String::new(), String::new()),
            "{point}"
        );
        assert_eq!(clones.env.read("notes.txt"), "two\n");
        let locks = ["index.lock", "refs/heads/main.lock"]
            .map(|lock| clones.env.exists(&format!(".git/{lock}")));
        assert_eq!(locks, [false; 2], "{point}");
        assert_eq!(clones.env.try_git(&["fsck", "--strict"]).code, Some(0), "{point}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn where_git_does_not_look_at_modes_what_was_killed_goes_on_all_the_same() {
    for word in ["false", "no", "off", "0"] {
        let (clones, id) = behind(false);
        clones.env.git(&["config", "core.fileMode", word]);
        executable(&clones.env.path("gone.txt"));
        executable(&clones.env.path(&clones.env.task_path(&id)));
        assert_eq!(clones.status("."), "");
        killed(&clones, "audit.bring-placed");
        clones.env.new_task(&["Something else"]);
        assert_eq!(clones.git(".", &["rev-parse", "HEAD^"]), clones.head("b"), "{word}");
        assert_eq!(clones.status("."), "", "{word}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn what_somebody_changes_after_a_kill_stays_and_the_rest_goes_back() {
    let (clones, id) = behind(false);
    let path = format!("tasks/{id}.md");
    let (head, task) = (clones.head("."), clones.env.read(&path));
    killed(&clones, "audit.bring-files");
    assert_ne!(clones.env.read(&path), task);
    clones.env.write("notes.txt", "mine\n");
    clones.does(".", &["task", "comment", &id, "Still there"]);
    assert_eq!(clones.git(".", &["rev-parse", "HEAD^"]), head);
    assert_eq!(clones.status("."), " M notes.txt\n");
    assert!(!clones.env.exists("new") && clones.env.exists("gone.txt"));
}

#[cfg(debug_assertions)]
#[test]
fn a_file_that_somebody_makes_after_a_kill_is_theirs() {
    // Empty, or the beginning of what was to come: who would know whose it is?
    for text in ["", "ne"] {
        let (clones, id) = behind(false);
        killed(&clones, "audit.bring-begun");
        clones.env.write("new/file.txt", text);
        clones.does(".", &["task", "comment", &id, "Still there"]);
        assert_eq!(clones.env.read("new/file.txt"), text);
        assert_eq!(clones.status("."), "?? new/\n");
        let output = clones.sync(".").code(5);
        assert!(output.stdout.contains("`new/file.txt` is not committed here"), "{output}");
        assert_eq!(clones.env.read("new/file.txt"), text);
        fs::remove_file(clones.env.path("new/file.txt")).unwrap();
        clones.does(".", &["sync"]);
        assert_eq!(
            (clones.env.read("new/file.txt").as_str(), clones.status(".")),
            ("new\n", String::new())
        );
    }
}

/// Git dies in the middle of a file, with the filter that it speaks to.
#[test]
fn no_part_of_a_file_is_ever_where_it_is_to_be() {
    let clones = Clones::new(PROJECT, &["b"]);
    filtered(&clones, "head -c 1; kill -9 $PPID; parent=$(ps -o ppid= -p $PPID); kill -9 $parent");
    let head = clones.head(".");
    for _ in 0..2 {
        assert_ne!(clones.sync(".").code, Some(0));
        assert_eq!((clones.head("."), clones.status(".")), (head.clone(), String::new()));
        assert!(!clones.env.exists("some"));
    }
    clones.env.git(&["config", "filter.far.smudge", "cat"]);
    clones.does(".", &["sync"]);
    assert_eq!(
        (clones.env.read("some/m.big").as_str(), clones.status(".")),
        ("two\n", String::new())
    );
    let left = fs::read_dir(clones.env.path(".aof")).unwrap().flatten();
    let left: Vec<_> =
        left.filter(|entry| entry.file_name().to_string_lossy().contains("coming")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// What a filter gets from elsewhere takes its time, and nobody waits for it.
#[test]
fn a_slow_filter_keeps_nobody_waiting() {
    let clones = Clones::new(PROJECT, &["b"]);
    filtered(&clones, "touch ../begun; until test -e ../go; do sleep 0.02; done; cat");
    for end in [true, false] {
        let _ = fs::remove_file(clones.env.path("../begun"));
        let mut sync =
            clones.command(".", &["sync"]).stdout(std::process::Stdio::null()).spawn().unwrap();
        eventually("the filter runs", || clones.env.exists("../begun"));
        clones.does(".", &["task", "new", "Meanwhile", "--wait", "1s"]);
        clones.env.write("person.txt", "mine\n");
        clones.env.git(&["add", "person.txt"]);
        clones.env.git(&["reset", "--quiet", "person.txt"]);
        if end {
            // What goes on without its aof is in nobody's way either.
            sync.kill().unwrap();
            let _ = sync.wait();
            clones.does(".", &["task", "new", "Afterwards", "--wait", "1s"]);
        } else {
            clones.env.write("../go", "");
            assert!(sync.wait().unwrap().success());
        }
    }
    assert_eq!(
        (clones.env.read("some/m.big").as_str(), clones.status(".")),
        ("two\n", "?? person.txt\n".to_owned())
    );
}

/// Attributes that come along with files are for git's own checkout, which goes on where aof is killed.
#[test]
fn a_git_that_outlives_aof_is_waited_for() {
    let clones = Clones::new(PROJECT, &["b"]);
    filtered(&clones, "touch ../begun; until test -e ../go; do sleep 0.02; done; cat");
    clones.env.write("../b/.gitattributes", "*.big filter=far\n*.more filter=far\n");
    clones.git("b", &["commit", "--quiet", "--all", "--message", "attributes"]);
    clones.does("b", &["sync"]);
    // An index that is hours old, and a file that only looks changed, are no reason not to wait.
    let hours_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(2);
    std::fs::File::open(clones.env.path(".git/index")).unwrap().set_modified(hours_ago).unwrap();
    std::fs::File::open(clones.env.path("a.txt"))
        .unwrap()
        .set_modified(std::time::SystemTime::now())
        .unwrap();
    let mut sync =
        clones.command(".", &["sync"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    eventually("the filter runs", || clones.env.exists("../begun"));
    sync.kill().unwrap();
    let _ = sync.wait();
    let output = clones.aof(".", &["task", "new", "Meanwhile"]);
    assert!(
        output.stderr.contains("a git that a killed command left behind still writes files"),
        "{}",
        output.stderr
    );
    clones.env.write("../go", "");
    clones.does(".", &["task", "new", "Afterwards"]);
    assert_eq!((clones.status("."), clones.env.is_in_the_middle()), (String::new(), false));
    clones.does(".", &["sync"]);
    assert_eq!(clones.env.read("some/m.big"), "two\n");
}

#[test]
fn the_watcher_syncs_by_itself() {
    let clones = Clones::new(&format!("git: {{sync: true, every: 1s}}\n{PROJECT}"), &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    let mut command = clones.command(".", &["watch"]);
    let mut watcher = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    eventually("the task gets there", || {
        clones.git(".", &["ls-remote", "origin", "main"]).starts_with(clones.head(".").trim())
    });
    clones.does("b", &["sync"]);
    clones.completes("b", &id, "agent-2");
    clones.does("b", &["sync"]);
    eventually("what was done there comes", || clones.head(".") == clones.head("b"));
    let pid = watcher.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let _ = watcher.wait();
    assert_eq!(clones.status("."), "");
}

/// All converge, no entry is lost, and whoever was too late is told.
#[test]
fn three_clones_at_once_converge() {
    crate::syncing_torture::torture(3, 10);
}

fn without_commits(text: &str) -> String {
    let line = |line: &str| match line.trim_start().split_once(' ') {
        Some((word, rest))
            if word.len() == 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            format!("  COMMIT {rest}\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// A clone to which a folder of changed, removed and new files is to come, with one that a filter fails on.
fn filtered(clones: &Clones, smudge: &str) {
    for file in ["a.txt", "gone.txt", "z.txt"] {
        clones.env.write(file, "one\n");
    }
    clones.env.write(".gitattributes", "*.big filter=far\n");
    clones.env.commit_all("files");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    for file in ["a.txt", "new.txt", "some/m.big", "z.txt"] {
        clones.env.write(&format!("../b/{file}"), "two\n");
    }
    clones.git("b", &["rm", "--quiet", "gone.txt"]);
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["commit", "--quiet", "--message", "more"]);
    clones.does("b", &["sync"]);
    clones.env.git(&["config", "filter.far.required", "true"]);
    clones.env.git(&["config", "filter.far.clean", "cat"]);
    clones.env.git(&["config", "filter.far.smudge", smudge]);
}

#[test]
fn what_git_cannot_write_goes_back_and_comes_once_it_can() {
    let clones = Clones::new(PROJECT, &["b"]);
    filtered(&clones, "false");
    let head = clones.head(".");
    for _ in 0..2 {
        let output = clones.sync(".").code(1);
        assert!(output.stderr.contains("smudge filter far failed"), "{}", output.stderr);
        assert_eq!(
            (clones.head("."), clones.status("."), clones.env.is_in_the_middle()),
            (head.clone(), String::new(), false)
        );
        assert_eq!(
            (clones.env.read("a.txt").as_str(), clones.env.read("gone.txt").as_str()),
            ("one\n", "one\n")
        );
    }
    clones.does(".", &["task", "new", "Meanwhile"]);
    clones.env.git(&["config", "filter.far.smudge", "cat"]);
    clones.does(".", &["sync"]);
    assert_eq!(
        (clones.env.read("some/m.big").as_str(), clones.status(".")),
        ("two\n", String::new())
    );
    assert!(!clones.env.exists("gone.txt"));
}

#[cfg(debug_assertions)]
#[test]
fn what_cannot_even_go_back_is_told_and_keeps_nothing_else() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.write("0.big", "one\n");
    filtered(&clones, "cat");
    clones.env.write("../b/0.big", "two\n");
    clones.git("b", &["commit", "--quiet", "--all", "--message", "bigger"]);
    clones.does("b", &["sync"]);
    let head = clones.head(".");
    killed(&clones, "audit.bring-placed");
    // The first file has come, and has to go back since somebody works at another one.
    assert_eq!(clones.env.read("0.big"), "two\n");
    clones.env.write("z.txt", "mine\n");
    clones.env.git(&["config", "filter.far.smudge", "false"]);
    let output = clones.sync(".").code(1);
    assert!(output.stderr.contains("smudge filter far failed"), "{}", output.stderr);
    assert!(
        output.stderr.contains("once that is mended: `git checkout -- :/0.big`"),
        "{}",
        output.stderr
    );
    let stands =
        |clones: &Clones| (clones.env.read("0.big"), clones.env.read("z.txt"), clones.status("."));
    let left = ("two\n".to_owned(), "mine\n".to_owned(), " M 0.big\n M z.txt\n".to_owned());
    assert_eq!((clones.head("."), stands(&clones)), (head, left.clone()));
    // It is that file's trouble, and nobody else's: what people do goes on, and a sync says that it is in the way.
    clones.does(".", &["task", "new", "Meanwhile"]);
    assert_eq!(stands(&clones), left);
    clones.env.git(&["config", "filter.far.smudge", "cat"]);
    let output = clones.sync(".").code(5);
    assert!(output.stdout.contains("`0.big`"), "{output}");
    clones.env.git(&["checkout", "--", "0.big"]);
    assert_eq!(
        (clones.env.read("0.big").as_str(), clones.status(".")),
        ("one\n", " M z.txt\n".to_owned())
    );
    clones.env.git(&["checkout", "--quiet", "z.txt"]);
    clones.does(".", &["sync"]);
    assert_eq!((clones.env.read("0.big").as_str(), clones.status(".")), ("two\n", String::new()));
}

#[test]
fn folders_and_files_change_places() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.write("one", "file\n");
    clones.env.write("two/deep/er.txt", "folder\n");
    clones.env.write("kept/a.txt", "a\n");
    clones.env.commit_all("before");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.git("b", &["rm", "-r", "--quiet", "one", "two"]);
    clones.env.write("../b/one/deep/er.txt", "folder\n");
    clones.env.write("../b/two", "file\n");
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["commit", "--quiet", "--message", "after"]);
    clones.does("b", &["sync"]);
    // A folder that somebody made a link of is no way to anywhere.
    fs::create_dir(clones.env.path("../elsewhere")).unwrap();
    clones.env.write("../b/kept/b.txt", "b\n");
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["commit", "--quiet", "--message", "more"]);
    clones.does("b", &["sync"]);
    fs::rename(clones.env.path("kept"), clones.env.path("../kept")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", clones.env.path("kept")).unwrap();
    let head = clones.head(".");
    let output = clones.sync(".").code(5);
    assert!(output.stdout.contains("`kept`"), "{output}");
    assert_eq!((clones.head("."), clones.env.read("one").as_str()), (head, "file\n"));
    assert_eq!(fs::read_dir(clones.env.path("../elsewhere")).unwrap().count(), 0);
    fs::remove_file(clones.env.path("kept")).unwrap();
    fs::rename(clones.env.path("../kept"), clones.env.path("kept")).unwrap();
    clones.does(".", &["sync"]);
    assert_eq!(
        (clones.env.read("one/deep/er.txt").as_str(), clones.env.read("two").as_str()),
        ("folder\n", "file\n")
    );
    assert_eq!(clones.status("."), "");
}

#[test]
fn what_git_ignores_is_in_the_way_like_any_file() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.write(".gitignore", "secret*\n");
    clones.env.commit_all("ignored");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    for file in ["secret.env", "secret/deep.txt", "secrets"] {
        clones.env.write(&format!("../b/{file}"), "theirs\n");
    }
    clones.git("b", &["add", "--all", "--force", "secret.env", "secret", "secrets"]);
    clones.git("b", &["commit", "--quiet", "--message", "secrets"]);
    clones.does("b", &["sync"]);
    let head = clones.head(".");
    // A file for a file, a file where a folder is to be, and a folder where a file is to be.
    for (file, told) in
        [("secret.env", "secret.env"), ("secret", "secret"), ("secrets/own.txt", "secrets/own.txt")]
    {
        clones.env.write(file, "mine\n");
        for args in [&["sync"][..], &["sync", "--dry-run"]] {
            let output = clones.aof(".", args);
            assert_eq!(output.code, Some(5), "{file}: {}", output.stdout);
            assert!(
                output.stdout.contains(&format!("`{told}` is not committed here")),
                "{}",
                output.stdout
            );
            assert!(output.stdout.contains("git stash --include-untracked"), "{}", output.stdout);
        }
        assert_eq!((clones.env.read(file).as_str(), clones.head(".")), ("mine\n", head.clone()));
        fs::remove_file(clones.env.path(file)).unwrap();
    }
    fs::remove_dir(clones.env.path("secrets")).unwrap();
    clones.does(".", &["sync"]);
    assert_eq!(clones.env.read("secret.env"), "theirs\n");
}

#[test]
fn nothing_comes_into_aofs_own_folder() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.write("../b/.aof/inbox/evil.yaml", "agent: agent-1\n");
    clones.git("b", &["add", "--force", ".aof/inbox/evil.yaml"]);
    clones.git("b", &["commit", "--quiet", "--message", "evil"]);
    clones.git("b", &["push", "--quiet"]);
    let head = clones.head(".");
    for args in [&["sync"][..], &["sync", "--dry-run"]] {
        let output = clones.aof(".", args);
        assert_eq!(output.code, Some(5), "{}{}", output.stdout, output.stderr);
        insta::allow_duplicates! {
        assert_snapshot!(output.stdout, @"
        ! `origin/main` has `.aof/inbox/evil.yaml` in aof's own folder, which is each clone's alone: nobody else may put files there
          nothing was changed; see `git log origin/main -- '*.aof/*'`; whoever put them there takes them out with `git rm`, then `aof sync`
        ");
        }
        assert_eq!(clones.head("."), head);
        assert!(!clones.env.exists(".aof/inbox/evil.yaml"));
    }
    // Where both went on it is the same.
    clones.env.new_task(&["Meanwhile"]);
    assert_eq!(clones.sync(".").code, Some(5));
    assert!(!clones.env.exists(".aof/inbox/evil.yaml"));
    clones.git("b", &["rm", "--quiet", "--force", ".aof/inbox/evil.yaml"]);
    clones.git("b", &["commit", "--quiet", "--message", "taken out"]);
    clones.git("b", &["push", "--quiet"]);
    clones.does(".", &["sync"]);
}

#[test]
fn what_is_taken_out_of_aofs_own_folder_stays_where_it_is_in_use() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.write(".aof/old.json", "{}\n");
    clones.git(".", &["add", "--force", ".aof/old.json"]);
    clones.git(".", &["commit", "--quiet", "--message", "by mistake"]);
    clones.git(".", &["push", "--quiet"]);
    clones.git("b", &["pull", "--quiet"]);
    clones.git("b", &["rm", "--quiet", "--cached", ".aof/old.json"]);
    clones.git("b", &["commit", "--quiet", "--message", "taken out"]);
    clones.git("b", &["push", "--quiet"]);
    let output = clones.aof(".", &["sync"]);
    assert_eq!((output.code, clones.env.read(".aof/old.json").as_str()), (Some(5), "{}\n"));
    assert_snapshot!(output.stdout, @"
    ! `.aof/old.json` in aof's own folder is committed here, and `origin/main` has it no more
      nothing was changed; they go from here as well with `git pull --no-rebase origin main`, so keep a copy of what is in use: `.aof/old.json`; then `aof sync`
    ");
    clones.git(".", &["pull", "--quiet", "--no-rebase", "origin", "main"]);
    clones.does(".", &["sync"]);
}

#[test]
fn another_remote_than_the_one_that_is_followed_gets_the_branch_by_hand() {
    let clones = Clones::new(PROJECT, &[]);
    let folder = clones.env.path("../backup.git").display().to_string();
    clones.env.git(&["init", "--quiet", "--bare", &folder]);
    clones.env.git(&["remote", "add", "backup", &folder]);
    clones.env.git(&["push", "--quiet", "backup", "main:other"]);
    let output = clones.aof(".", &["sync", "--remote", "backup"]);
    assert_eq!(output.code, Some(5), "{}{}", output.stdout, output.stderr);
    assert_snapshot!(output.stdout, @"
    ! `backup` has no branch `main`, and `main` follows `origin/main`
      nothing was changed; if it is to be there as well, `git push backup main`; then `aof sync --remote backup`
    ");
    clones.env.git(&["push", "--quiet", "backup", "main"]);
    clones.does(".", &["sync", "--remote", "backup"]);
    assert_eq!(clones.env.git(&["config", "branch.main.remote"]).trim(), "origin");
}

#[test]
fn what_a_remote_took_out_of_its_history_is_not_brought_back() {
    let clones = Clones::new(PROJECT, &["b"]);
    let first = clones.head("b");
    let first = first.trim();
    let id = clones.env.new_task(&["Add a password"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    let plain =
        |text: &str, hub: &str, had: &str| text.replace(&hub[..7], "NOW").replace(&had[..7], "HAD");
    // Taken back, and taken back with something else instead.
    for again in [false, true] {
        clones.git("b", &["reset", "--quiet", "--hard", first]);
        if again {
            clones.does("b", &["task", "new", "Another"]);
        }
        clones.git("b", &["push", "--quiet", "--force"]);
        let (hub, had) = (clones.head("b"), clones.head("."));
        let output = clones.sync(".");
        assert_eq!(output.code, Some(5), "{}", output.stdout);
        insta::allow_duplicates! {
        assert_snapshot!(plain(&output.stdout, &hub, &had), @"
        ! `origin/main` was rewritten: it had commit COMMIT, which is here, and is at NOW now, which does not follow from it
          nothing was changed; to go along, `git reset --keep NOW`, or, if you have commits of your own, `git rebase --onto NOW HAD`; to bring the old commits back, `git pull --no-rebase origin main` (or push them); then `aof sync`
        ");
        }
        // It is no matter of the first look alone, nor of what is here besides.
        clones.env.new_task(&["Meanwhile"]);
        let output = clones.aof(".", &["sync", "--json"]);
        assert_eq!((output.code, output.json()["state"].as_str()), (Some(5), Some("rewritten")));
        assert!(clones.aof(".", &["status"]).success().stdout.contains("was rewritten"));
        assert!(clones.git(".", &["ls-remote", "origin", "main"]).starts_with(hub.trim()));
        clones.env.git(&["reset", "--quiet", "--hard", had.trim()]);
    }
    // Whoever goes along is in step again.
    clones.env.git(&["reset", "--quiet", "--keep", "origin/main"]);
    clones.does(".", &["sync"]);
    assert_eq!(clones.head("."), clones.head("b"));
    assert!(!clones.env.exists(&format!("tasks/{id}.md")));
}

#[test]
fn whoever_merges_a_rewritten_history_has_decided() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.new_task(&["One"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["task", "new", "Another"]);
    clones.git("b", &["push", "--quiet", "--force"]);
    assert_eq!(clones.sync(".").code, Some(5));
    clones.env.git(&["pull", "--quiet", "--no-rebase", "--no-edit"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    assert_eq!(clones.head("."), clones.head("b"));
}

#[test]
fn a_branch_that_nobody_published_stays() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.git(&["switch", "--quiet", "--create", "local"]);
    clones.env.new_task(&["Add login"]);
    for args in [&["sync"][..], &["sync", "--dry-run"]] {
        let output = clones.aof(".", args);
        assert_eq!(output.code, Some(5));
        insta::allow_duplicates! {
        assert_snapshot!(output.stdout, @"
        ! `origin` has no branch `local`, and `local` follows none
          nothing was changed; publish it with `git push --set-upstream origin local`, or have it follow another: `git branch --set-upstream-to origin/BRANCH`; then `aof sync`
        ");
        }
    }
    assert_eq!(clones.env.git(&["ls-remote", "--heads", "origin", "local"]), "");
    clones.env.git(&["push", "--quiet", "--set-upstream", "origin", "local"]);
    clones.env.new_task(&["Add logout"]);
    clones.does(".", &["sync"]);
    assert!(
        clones.git(".", &["ls-remote", "origin", "local"]).starts_with(clones.head(".").trim())
    );
    // An empty remote takes its first branch.
    clones.env.git(&["init", "--quiet", "--bare", "../empty.git"]);
    clones.env.git(&["remote", "add", "empty", "../empty.git"]);
    clones.does(".", &["sync", "--remote", "empty"]);
    assert!(clones.git(".", &["ls-remote", "empty", "local"]).starts_with(clones.head(".").trim()));
}

#[test]
fn a_branch_that_was_deleted_there_is_not_brought_back() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.git(&["switch", "--quiet", "--create", "topic"]);
    clones.env.git(&["push", "--quiet", "--set-upstream", "origin", "topic"]);
    clones.env.new_task(&["Add login"]);
    clones.git("b", &["push", "--quiet", "origin", "--delete", "topic"]);
    let had = clones.env.git(&["rev-parse", "origin/topic"]);
    for args in [&["sync"][..], &["sync", "--dry-run"], &["sync"]] {
        let output = clones.aof(".", args).code(5);
        insta::allow_duplicates! {
        assert_snapshot!(output.stdout.replace(&had[..7], "COMMIT"), @"
        ! `origin` has no branch `topic` any more, which was at commit COMMIT
          nothing was changed; if it is to be there again, `git push --set-upstream origin topic`; if its work goes on elsewhere, `git branch --set-upstream-to origin/BRANCH`; then `aof sync`
        ");
        }
    }
    assert_eq!(clones.aof(".", &["sync", "--json"]).code(5).json()["state"], "deleted");
    assert!(
        clones.aof(".", &["status"]).success().stdout.contains("has no branch `topic` any more")
    );
    // Nor where git has forgotten that it was there.
    clones.env.git(&["fetch", "--quiet", "--prune"]);
    let output = clones.sync(".").code(5);
    assert!(output.stdout.contains("`origin` has no branch `topic` any more\n"), "{output}");
    assert_eq!(clones.env.git(&["ls-remote", "--heads", "origin", "topic"]), "");
    clones.env.git(&["push", "--quiet", "--set-upstream", "origin", "topic"]);
    clones.does(".", &["sync"]);
    // What syncs by itself says the same.
    clones.env.edit("project.yaml", "workflow:", "git: {sync: true}\nworkflow:");
    clones.env.commit_all("synced");
    clones.env.git(&["push", "--quiet"]);
    clones.git("b", &["push", "--quiet", "origin", "--delete", "topic"]);
    let output = clones.aof(".", &["task", "next", "--agent", "agent-1"]).code(1);
    assert!(output.stderr.contains("has no branch `topic` any more"), "{output}");
    assert_eq!(clones.env.git(&["ls-remote", "--heads", "origin", "topic"]), "");
}

#[test]
fn the_first_push_of_a_clone_of_nothing_goes() {
    let clones = Clones::new(PROJECT, &[]);
    clones.env.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../empty.git"]);
    clones.env.git(&["clone", "--quiet", "../empty.git", "../first"]);
    clones.env.write("../first/project.yaml", PROJECT);
    clones.env.write("../first/org.yaml", ORG);
    clones.git("first", &["add", "--all"]);
    clones.git("first", &["commit", "--quiet", "--message", "rules"]);
    clones.does("first", &["sync"]);
    assert!(
        clones
            .git("first", &["ls-remote", "origin", "main"])
            .starts_with(clones.head("first").trim())
    );
}

#[test]
fn histories_that_began_apart_are_not_joined() {
    let clones = Clones::new(PROJECT, &[]);
    clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    clones.env.git(&["init", "--quiet", "--initial-branch=main", "../other"]);
    clones.env.write("../other/project.yaml", PROJECT);
    clones.env.write("../other/org.yaml", ORG);
    clones.git("other", &["add", "--all"]);
    clones.git("other", &["commit", "--quiet", "--message", "rules, once more"]);
    clones.does("other", &["task", "new", "Add logout"]);
    clones.git("other", &["remote", "add", "origin", "../hub.git"]);
    let head = clones.head("other");
    for args in [&["sync"][..], &["sync", "--dry-run"]] {
        let output = clones.aof("other", args).code(5);
        insta::allow_duplicates! {
        assert_snapshot!(output.stdout, @"
        ! this branch and `origin/main` have no commit in common: they began apart
          nothing was changed; see `git remote get-url origin`: is it the repository you mean? if what is there counts, keep yours with `git branch mine` and `git reset --keep origin/main`; if both are to be one, `git pull --no-rebase --allow-unrelated-histories origin main`; then `aof sync`
        ");
        }
    }
    assert_eq!(
        clones.aof("other", &["sync", "--json"]).code(5).json()["state"],
        "unrelated_histories"
    );
    assert_eq!(clones.head("other"), head);
    // The advice works.
    clones.git("other", &["branch", "mine"]);
    clones.git("other", &["reset", "--quiet", "--keep", "origin/main"]);
    clones.does("other", &["sync"]);
    assert_eq!(clones.head("other"), clones.head("."));
}

#[test]
fn a_dry_run_writes_nothing() {
    let clones = Clones::new(PROJECT, &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.completes(".", &id, "agent-1");
    clones.completes("b", &id, "agent-2");
    clones.does(".", &["sync"]);
    clones.git("b", &["fetch", "--quiet"]);
    let objects = || clones.git("b", &["count-objects", "-v"]);
    let before = objects();
    // There is nothing to sign with: whoever signs would fail.
    clones.git("b", &["config", "commit.gpgSign", "true"]);
    clones.git("b", &["config", "gpg.program", "/bin/false"]);
    let output = clones.aof("b", &["sync", "--dry-run"]).success();
    assert!(
        output.stdout.contains("Would go") && output.stdout.contains("Superseded"),
        "{}",
        output.stdout
    );
    assert_eq!(objects(), before);
}

#[test]
fn an_assignment_counts_once_the_remote_has_it() {
    let clones = Clones::new(&synced_project(), &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    // Between the look of one and its push, the other's gets there.
    clones.does(".", &["task", "assign", &id, "agent-1", "--offline"]);
    let hook = clones.env.path("../b/.git/hooks/pre-push");
    let push = format!("git -C '{}' push --quiet origin main", clones.env.path(".").display());
    fs::write(
        &hook,
        format!("#!/bin/sh\nunset GIT_DIR\nmkdir ../once 2>/dev/null && {push}\nexit 0\n"),
    )
    .unwrap();
    executable(&hook);
    let output = clones.aof("b", &["task", "assign", &id, "agent-2"]).code(5);
    assert!(output.stderr.contains("was claimed on another machine first"), "{}", output.stderr);
    clones.does(".", &["sync"]);
    assert_eq!(clones.head("."), clones.head("b"));
    let task = clones.aof("b", &["task", "show", &id, "--json"]).success().json();
    assert_eq!(task["routing"]["agent"], "agent-1");
    fs::rename(clones.env.path("../hub.git"), clones.env.path("../gone.git")).unwrap();
    let output = clones.aof(".", &["task", "assign", &id, "agent-3"]).code(1);
    assert!(output.stderr.contains("cannot be reached"), "{}", output.stderr);
    clones.does(".", &["task", "assign", &id, "agent-3", "--offline"]);
}

/// Two workers of one name, and a watcher that brings the claim of the second to the remote before that asks who was first.
#[test]
fn whoever_was_first_is_asked_of_what_the_remote_had() {
    let clones = Clones::new(&synced_project(), &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["task", "assign", &id, "agent-1", "--offline"]);
    let hook = clones.env.path("../b/.git/hooks/pre-push");
    let push = format!("git -C '{}' push --quiet origin main", clones.env.path(".").display());
    let watcher = clones.command("b", &["sync"]);
    let watcher = watcher.get_program().to_string_lossy();
    fs::write(
        &hook,
        format!("#!/bin/sh\nunset GIT_DIR\nmkdir ../once 2>/dev/null && {push} && '{watcher}' sync >&2\nexit 0\n"),
    )
    .unwrap();
    executable(&hook);
    let output = clones.aof("b", &["task", "assign", &id, "agent-1"]).code(5);
    assert!(output.stderr.contains("was claimed on another machine first"), "{}", output.stderr);
    assert!(clones.git("b", &["log", "-1", "--format=%s"]).starts_with("sync: merge"));
}

#[test]
fn two_machines_never_hold_one_task() {
    let clones = Clones::new(&synced_project(), &["b", "c"]);
    for number in 0..2 {
        clones.env.new_task(&[&format!("Task {number}")]);
    }
    clones.does(".", &["sync"]);
    let next = |clone: &str, agent: &str| {
        clones.command(clone, &["task", "next", "--agent", agent, "--json"])
    };
    let mut running = Vec::new();
    for (clone, agent) in [(".", "agent-1"), ("b", "agent-2"), ("c", "agent-3")] {
        let mut command = next(clone, agent);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        running.push((format!("{command:?}"), command.spawn().unwrap()));
    }
    let mut held = Vec::new();
    let mut idle = 0;
    for (command, child) in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        match value["task"]["id"].as_str() {
            Some(id) => held.push(id.to_owned()),
            None => idle += 1,
        }
    }
    held.sort();
    held.dedup();
    assert_eq!((held.len(), idle), (2, 1));
    for clone in [".", "b", "c"] {
        clones.does(clone, &["sync"]);
    }
    assert!(clones.head(".") == clones.head("b") && clones.head("b") == clones.head("c"));
}

#[test]
fn without_a_network_nothing_is_claimed_unless_one_takes_the_risk() {
    let clones = Clones::new(&synced_project(), &[]);
    clones.env.new_task(&["Add login"]);
    fs::rename(clones.env.path("../hub.git"), clones.env.path("../gone.git")).unwrap();
    let head = clones.head(".");
    let output = clones.aof(".", &["task", "next", "--agent", "agent-1"]);
    assert_snapshot!(output.code(1).stderr, @"
    error: nothing can be claimed, because `origin/main` cannot be reached: '../hub.git' does not appear to be a git repository
    Could not read from remote repository.

    hint: a claim counts once the remote has it (`git.sync` in project.yaml); try again with a network, or take the risk that somebody else does the same work with `--offline`
    ");
    assert_eq!(clones.head("."), head);
    clones.does(".", &["task", "next", "--agent", "agent-1", "--offline"]);
    assert_snapshot!(clones.aof(".", &["status"]).success().stdout, @"
    on branch main
    2 commits wait here for origin/main; offline since 2026-02-16T10:00:09Z
    1 active task: 1 in progress

    Needs attention
      ! no watcher is running
        start one with `aof watch`; without it, commands work but dropped files and edits wait
      ! origin/main cannot be reached since 2026-02-16T10:00:09Z: '../hub.git' does not appear to be a git repository
        Could not read from remote repository.
        nothing is lost, and nothing can be claimed; `aof sync` tries again, and so does `aof watch`
    ");
    fs::rename(clones.env.path("../gone.git"), clones.env.path("../hub.git")).unwrap();
    clones.does(".", &["task", "next", "--agent", "agent-1"]);
    assert_eq!(clones.env.git(&["rev-list", "--count", "origin/main..HEAD"]).trim(), "0");
}

#[test]
fn an_assignment_that_the_remote_does_not_take_goes_back_to_whoever_had_the_task() {
    let clones = Clones::new(&synced_project(), &[]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["task", "assign", &id, "agent-1"]);
    let hook = clones.env.path("../hub.git/hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\necho 'closed' >&2\nexit 1\n").unwrap();
    executable(&hook);
    let whose = || {
        let task = clones.aof(".", &["task", "show", &id, "--json"]).success().json();
        (task["routing"]["agent"].clone(), task["status"].clone())
    };
    let output = clones.aof(".", &["task", "assign", &id, "agent-2"]).code(1);
    assert!(output.stderr.contains("closed"), "{output}");
    assert_eq!(whose(), ("agent-1".into(), "in_progress".into()));
    fs::remove_file(&hook).unwrap();
    clones.does(".", &["task", "assign", &id, "agent-2"]);
    assert_eq!(whose(), ("agent-2".into(), "in_progress".into()));
    // What nobody had is nobody's again.
    let other = clones.env.new_task(&["Add logout"]);
    clones.does(".", &["sync"]);
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    executable(&hook);
    let _ = clones.aof(".", &["task", "assign", &other, "agent-2"]).code(1);
    let task = clones.aof(".", &["task", "show", &other, "--json"]).success().json();
    assert_eq!(
        (&task["routing"]["agent"], &task["status"]),
        (&serde_json::Value::Null, &"ready".into())
    );
}

#[test]
fn a_branch_of_a_fork_goes_back_to_whoever_had_it() {
    let project = "\
git: {sync: true}
workflow:
  gates:
    - id: checks
      type: fork
      joinStrategy: all
      branches:
        - {id: security, role: backend}
        - {id: style, role: backend}
";
    let clones = Clones::new(project, &[]);
    let id = clones.env.new_task(&["Add login"]);
    let branches = [format!("{id}@0/security"), format!("{id}@0/style")];
    clones.does(".", &["task", "assign", &branches[0], "agent-1"]);
    clones.does(".", &["task", "assign", &branches[1], "agent-2"]);
    let hook = clones.env.path("../hub.git/hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    executable(&hook);
    let _ = clones.aof(".", &["task", "assign", &branches[1], "agent-3"]).code(1);
    let task = clones.aof(".", &["task", "show", &id, "--json"]).success().json();
    let holders: Vec<&str> = task["gate"]["branches"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|own| own["agent"].as_str())
        .collect();
    assert_eq!(holders, ["agent-1", "agent-2"], "{task}");
}

#[test]
fn a_claim_that_the_remote_does_not_take_is_given_back() {
    let clones = Clones::new(&synced_project(), &[]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    let hook = clones.env.path("../hub.git/hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\necho 'closed' >&2\nexit 1\n").unwrap();
    executable(&hook);
    let output = clones.aof(".", &["task", "next", "--agent", "agent-1"]).code(1);
    assert!(output.stderr.contains("closed"), "{}", output.stderr);
    let task = clones.aof(".", &["task", "show", &id, "--json"]).success().json();
    assert_eq!(task["routing"]["agent"], serde_json::Value::Null);
    // As long as it does not, no more commits are made to find that out.
    let head = clones.head(".");
    let _ = clones.aof(".", &["task", "next", "--agent", "agent-1"]).code(1);
    assert_eq!(clones.head("."), head);
}

pub(crate) fn executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
