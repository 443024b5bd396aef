//! What a merge superseded stands in its message, whatever way that is written, once, and in no other commit.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::environment::TestEnvironment;
use crate::support::merge_scene::{aside, scene, verified};

/// Begins a merge that supersedes a completion, and leaves it uncommitted.
fn begun() -> (TestEnvironment, String) {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.say(&id, "agent-8", "complete", &["--id", "theirs"]).success();
    });
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["merge", "-q", "--no-commit", "side"]);
    (env, id)
}

fn trailer(id: &str) -> String {
    format!("Aof-Superseded: {id}@0 theirs by agent-8 (complete)")
}

/// Returns a program that git runs to have a message edited.
fn editor(env: &TestEnvironment, script: &str) -> String {
    let path = env.home().join("editor");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn every_way_to_commit_a_merge_lists_what_it_superseded_once() {
    let said = |env: &TestEnvironment, id: &str| {
        env.write("said", format!("Together\n\n{}\n", trailer(id)));
    };
    for (ways, subject) in [
        (&["commit", "-q", "-m", "Together"][..], "Together"),
        (&["commit", "-q", "-m", "#12: together"], "#12: together"),
        (&["commit", "-q", "-m", "Together", "-m", "Why: so"], "Together"),
        (&["commit", "-q", "-F", "said"], "Together"),
        (&["commit", "-q", "-t", "said"], "Merge branch 'side'"),
        (&["commit", "-q"], "Merge branch 'side'"),
        (&["commit", "-q", "-v"], "Merge branch 'side'"),
        (&["commit", "-q", "--no-edit"], "Merge branch 'side'"),
        (&["commit", "-q", "-C", "side"], "AOF-xxxxx: implement -> review (complete)"),
        (&["merge", "--continue"], "Merge branch 'side'"),
    ] {
        let (env, id) = begun();
        said(&env, &id);
        let editor = editor(&env, "echo >> \"$1\"");
        let mut commit = env.command("git");
        let output = commit.env("GIT_EDITOR", editor).args(ways).output().unwrap();
        assert!(output.status.success(), "{ways:?}: {output:?}");
        let message = env.git(&["log", "-1", "--format=%B"]);
        assert_eq!(env.plain(message.lines().next().unwrap()), subject, "{ways:?}: {message}");
        let trailers = env.git(&["log", "-1", "--format=%(trailers:key=Aof-Superseded)"]);
        assert_eq!(trailers.trim(), trailer(&id), "{ways:?}: {message}");
        assert_eq!(message.matches("Aof-Superseded").count(), 1, "{ways:?}: {message}");
        assert_eq!(env.git(&["log", "-1", "--format=%P"]).split_whitespace().count(), 2);
        if ways.contains(&"-C") {
            continue;
        }
        let verified = verified(&env).success();
        assert!(!verified.stdout.contains("note:"), "{ways:?}: {verified}");
    }
}

#[test]
fn no_other_commit_is_touched() {
    let (env, id) = begun();
    env.git(&["commit", "-q", "-m", "Together"]);
    let message = |env: &TestEnvironment| env.git(&["log", "-1", "--format=%B"]);
    let merge = message(&env);
    assert_eq!(merge.matches(&trailer(&id)).count(), 1, "{merge}");
    // Amended, it is no merge that is under way.
    env.git(&["commit", "-q", "--amend", "-m", "Other words"]);
    assert_eq!(message(&env).trim(), "Other words");
    env.write("notes.txt", "one");
    env.commit_all("Notes");
    assert_eq!(message(&env).trim(), "Notes");
    env.git(&["checkout", "-q", "-b", "third", "side"]);
    env.write("more.txt", "one");
    env.commit_all("More");
    env.git(&["rebase", "-q", "main"]);
    assert_eq!(message(&env).trim(), "More");
    env.git(&["checkout", "-q", "main"]);
    env.git(&["merge", "-q", "--squash", "third"]);
    env.git(&["commit", "-q", "-m", "Squashed"]);
    assert_eq!(message(&env).trim(), "Squashed");
    // A merge under way in one worktree is none in another.
    let linked = env.home().join("linked").to_string_lossy().into_owned();
    env.git(&["worktree", "add", "-q", "--detach", &linked, "main~2"]);
    let _ = env.try_git(&["-C", &linked, "merge", "-q", "--no-commit", "--no-ff", "third"]);
    env.write("last.txt", "one");
    env.commit_all("Last");
    assert_eq!(message(&env).trim(), "Last");
}

#[test]
fn a_merge_that_is_made_again_says_what_is_so_there() {
    // Upstream has given the task to agent-8: what stood before is left out, and what it superseded counts.
    let (env, id) = scene();
    env.git(&["checkout", "-q", "-b", "feature"]);
    env.git(&["checkout", "-q", "-b", "side"]);
    let _ = env.say(&id, "agent-8", "complete", &["--id", "theirs"]).success();
    env.git(&["checkout", "-q", "feature"]);
    let _ = env.complete(&id, "agent-7").success();
    let words = "Together\n\nIt was late.\n\nReviewed-by: Ada\n";
    env.git(&["merge", "-q", "-m", words, "side"]);
    let message = |env: &TestEnvironment| env.git(&["log", "-1", "--format=%B"]);
    assert!(message(&env).contains(&trailer(&id)));
    env.git(&["checkout", "-q", "main"]);
    let _ = env.aof(&["task", "assign", &id, "agent-8"]).success();
    env.git(&["checkout", "-q", "feature"]);
    let stopped = env.try_git(&["rebase", "--rebase-merges", "main"]).code(1);
    assert!(stopped.stderr.contains("is assigned to `agent-8`"), "{stopped}");
    assert!(stopped.stderr.contains("`git rebase --skip`"), "{stopped}");
    env.git(&["rebase", "--skip"]);
    assert!(!env.is_in_the_middle());
    assert_eq!(env.git(&["log", "-1", "--format=%P"]).split_whitespace().count(), 2);
    assert_eq!(message(&env).trim(), words.trim());
    assert_eq!(crate::support::merge_scene::entries(&env, &id), ["implement agent-8 complete"]);
    let _ = verified(&env).success();
}

#[test]
fn what_is_so_still_stays_in_a_merge_that_is_made_again() {
    let (env, id) = begun();
    env.git(&["commit", "-q", "-m", "Together"]);
    env.git(&["branch", "base", "HEAD~2"]);
    env.git(&["checkout", "-q", "base"]);
    env.write("code", "more\n");
    env.commit_all("code");
    env.git(&["checkout", "-q", "main"]);
    let message = env.git(&["log", "-1", "--format=%B"]);
    env.git(&["rebase", "-q", "--rebase-merges", "base"]);
    assert_eq!(env.git(&["log", "-1", "--format=%P"]).split_whitespace().count(), 2);
    assert_eq!(env.git(&["log", "-1", "--format=%B"]), message);
    assert!(message.contains(&trailer(&id)));
    let _ = verified(&env).success();
}

#[test]
fn a_hook_of_ones_own_need_not_tell_where_the_message_is_from() {
    let (env, id) = scene();
    fs::write(
        env.path(".git/hooks/prepare-commit-msg"),
        "#!/bin/sh\naof merge-driver --message \"$1\"\n",
    )
    .unwrap();
    aside(&env, "side", || {
        let _ = env.say(&id, "agent-8", "complete", &["--id", "theirs"]).success();
    });
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["merge", "-q", "--no-commit", "side"]);
    env.git(&["commit", "-q", "-m", "Together"]);
    let message = env.git(&["log", "-1", "--format=%B"]);
    assert_eq!(message.matches(&trailer(&id)).count(), 1, "{message}");
    env.git(&["commit", "-q", "--allow-empty", "-m", "Nothing"]);
    assert_eq!(env.git(&["log", "-1", "--format=%B"]).trim(), "Nothing");
}

#[test]
fn where_git_is_told_its_folder_code_is_committed() {
    let (env, _) = scene();
    aside(&env, "side", || {
        env.write("code.txt", "code\n");
        env.commit_all("code");
    });
    fs::rename(env.path(".git"), env.path("../apart.git")).unwrap();
    let folder = ["--git-dir=../apart.git", "--work-tree=."];
    env.git(&[&folder[..], &["cherry-pick", "side"]].concat());
    env.git(&[&folder[..], &["commit", "-q", "--allow-empty", "-m", "More"]].concat());
    let log = env.git(&["--git-dir=../apart.git", "log", "--format=%s", "-2"]);
    assert_eq!(log, "More\ncode\n");
}
