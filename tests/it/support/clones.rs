//! Clones and a bare remote between them.

use std::fs;
use std::process::Command;

use crate::support::environment::{Output, PROJECT, TestEnvironment};

/// Who is in the roles of the usual rules, with a hand for each clone.
pub(crate) const ORG: &str = "\
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

pub(crate) fn place(clone: &str) -> String {
    if clone == "." { ".".to_owned() } else { format!("../{clone}") }
}

pub(crate) fn synced_project() -> String {
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

pub(crate) fn without_commits(text: &str) -> String {
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
pub(crate) fn filtered(clones: &Clones, smudge: &str) {
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
