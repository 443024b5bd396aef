//! Branches that the remote lacks, deleted or rewrote: nothing is brought back, joined or published unasked.

use insta::assert_snapshot;

use crate::support::clones::{Clones, ORG};
use crate::support::environment::PROJECT;

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
fn commits_that_a_remote_dropped_are_not_brought_back() {
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
fn merging_a_rewritten_history_is_a_decision() {
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
        ! `origin` no longer has branch `topic`, which was at commit COMMIT
          nothing was changed; if it is to be there again, `git push --set-upstream origin topic`; if its work goes on elsewhere, `git branch --set-upstream-to origin/BRANCH`; then `aof sync`
        ");
        }
    }
    assert_eq!(clones.aof(".", &["sync", "--json"]).code(5).json()["state"], "deleted");
    assert!(clones.aof(".", &["status"]).success().stdout.contains("no longer has branch `topic`"));
    // Nor where git has forgotten that it was there.
    clones.env.git(&["fetch", "--quiet", "--prune"]);
    let output = clones.sync(".").code(5);
    assert!(output.stdout.contains("`origin` no longer has branch `topic`\n"), "{output}");
    assert_eq!(clones.env.git(&["ls-remote", "--heads", "origin", "topic"]), "");
    clones.env.git(&["push", "--quiet", "--set-upstream", "origin", "topic"]);
    clones.does(".", &["sync"]);
    // What syncs by itself says the same.
    clones.env.edit("project.yaml", "workflow:", "git: {sync: true}\nworkflow:");
    clones.env.commit_all("synced");
    clones.env.git(&["push", "--quiet"]);
    clones.git("b", &["push", "--quiet", "origin", "--delete", "topic"]);
    let output = clones.aof(".", &["task", "next", "--agent", "agent-1"]).code(1);
    assert!(output.stderr.contains("no longer has branch `topic`"), "{output}");
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
