//! A person's `git merge` that aof overtook: git has written files and index, and cannot move the branch.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::environment::TestEnvironment;
use crate::support::merge_scene::{aside, entries, scene};

/// A merge of the branch `side` that a completion overtook.
struct OvertakenMerge {
    env: TestEnvironment,
    /// The task that has one step on the branch.
    moved: String,
    /// The task that is finished on the branch.
    finished: String,
}

/// `is_last`: the finished task was at its last gate before.
fn overtaken_merge(is_last: bool) -> OvertakenMerge {
    let (env, moved) = scene();
    let finished = env.new_task(&["Write docs"]);
    let here = env.new_task(&["Add logout"]);
    if is_last {
        let _ = env.complete(&finished, "agent-7");
    }
    aside(&env, "side", || {
        let _ = env.complete(&moved, "agent-7");
        if !is_last {
            let _ = env.complete(&finished, "agent-7");
        }
        let _ = env.complete(&finished, "agent-3");
        env.write("side.txt", "theirs\n");
        env.git(&["add", "side.txt"]);
        env.git(&["commit", "--quiet", "--message", "side"]);
    });
    env.write("main.txt", "unstaged\n");
    // Git calls it when it has written files and index.
    let hook = env.path(".git/hooks/post-index-change");
    let act = format!(
        "#!/bin/sh\nrm .git/hooks/post-index-change\nunset GIT_DIR GIT_INDEX_FILE\n\
         aof task complete {here} --agent agent-7 --outcome complete --summary 'Did it'\n"
    );
    fs::write(&hook, act).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let merged = env.try_git(&["merge", "--quiet", "--no-edit", "side"]);
    assert!(merged.stderr.contains("cannot lock ref 'HEAD'"), "{merged}");
    assert_eq!(entries(&env, &here), ["implement agent-7 complete"]);
    OvertakenMerge { env, moved, finished }
}

impl OvertakenMerge {
    /// Returns the fixes of the issues with that code in `aof status`.
    fn fixes(&self, code: &str) -> Vec<String> {
        let status = self.env.aof_aside(&["status", "--json"]).success().json();
        let issues = status["attention"].as_array().unwrap().iter();
        let issues = issues.filter(|issue| issue["code"] == code);
        issues.map(|issue| issue["fix"].as_str().map(str::to_owned).unwrap()).collect()
    }

    /// Runs the commands of git that a text has.
    fn follow(&self, text: &str) {
        let commands = text.split('`').filter_map(|part| part.strip_prefix("git "));
        for command in commands.filter(|command| !command.starts_with("diff")) {
            self.env.git(&command.split(' ').collect::<Vec<_>>());
        }
    }

    fn check_merged(&self) {
        let Self { env, moved, finished } = self;
        assert_eq!(entries(env, moved), ["implement agent-7 complete"]);
        assert_eq!(
            entries(env, finished),
            ["implement agent-7 complete", "review agent-3 complete"]
        );
        assert_eq!(env.git(&["branch", "--no-merged"]), "");
        let _ = env.aof_aside(&["verify"]).success();
    }
}

#[test]
fn an_overtaken_merge_is_reported_with_commands_that_repeat_it_and_keep_edits() {
    let merge = overtaken_merge(false);
    let env = &merge.env;
    env.write("untracked.txt", "mine\n");
    let fixes = merge.fixes("merge_overtaken");
    let fix = "`git read-tree -m -u side HEAD` takes back what git wrote; then `git merge side`";
    assert_eq!(fixes, [fix]);
    let doctor = env.aof_aside(&["doctor"]).stdout;
    assert!(doctor.contains("[merge_overtaken]") && !doctor.contains("[task_staged]"), "{doctor}");
    // The hook says the same.
    let refused = env.try_git(&["commit", "--quiet", "--message", "mine"]);
    assert!(refused.stderr.contains(fix), "{refused}");
    merge.follow(&fixes[0]);
    assert_eq!(env.git(&["status", "--porcelain"]), "?? main.txt\n?? untracked.txt\n");
    assert_eq!(merge.fixes("merge_overtaken"), [""; 0]);
    merge.check_merged();
}

#[test]
fn what_a_person_has_staged_before_an_overtaken_merge_stays() {
    let merge = overtaken_merge(false);
    let env = &merge.env;
    env.git(&["add", "main.txt"]);
    let fix = merge.fixes("merge_overtaken").concat();
    let undo = fix.split('`').nth(1).unwrap();
    merge.follow(&format!("`{undo}`"));
    assert_eq!(env.git(&["status", "--porcelain"]), "A  main.txt\n");
    env.git(&["commit", "--quiet", "--message", "mine"]);
    env.git(&["merge", "--quiet", "--no-edit", "side"]);
    merge.check_merged();
}

#[test]
fn a_finished_task_that_only_an_overtaken_merge_has_in_the_archive_is_reported() {
    for is_last in [false, true] {
        let merge = overtaken_merge(is_last);
        let env = &merge.env;
        // As `aof watch` and a person leave it.
        env.git(&["restore", "--staged", "tasks"]);
        let code = if is_last { "not_committed" } else { "task_frozen" };
        let fixes = merge.fixes(code);
        let fix = fixes.iter().find(|fix| fix.contains("and remove `")).expect("a fix");
        let fix = fix.replace("AOF-xxxxx", &merge.finished);
        merge.follow(&fix);
        let archived = fix.split("remove `").nth(1).and_then(|rest| rest.split('`').next());
        fs::remove_file(env.path(archived.unwrap())).unwrap();
        let _ = env.aof(&["watch", "--once"]).success();
        env.git(&["read-tree", "-m", "-u", "side", "HEAD"]);
        assert_eq!(env.git(&["status", "--porcelain"]), "?? main.txt\n");
        env.git(&["merge", "--quiet", "--no-edit", "side"]);
        merge.check_merged();
    }
}
