//! The steps of a landing: joined, checked, pushed and recorded, or nothing has moved.

use insta::assert_snapshot;
use serde_json::Value;

use super::project::{
    beside, is_sound, land, last_entry, project, rewritten, rewritten_beside, with_remote, written,
    written_beside,
};
use crate::support::environment::TestEnvironment;
use crate::support::scripted_agents::stand;

#[test]
fn work_lands_as_it_was_checked() {
    for (style, parents, subject) in [
        ("--merge", 2, "Land AOF-xxxxx: Add made"),
        ("--squash", 1, "AOF-xxxxx: Add made"),
        ("--rebase", 1, "made"),
    ] {
        let env = project();
        let id = written(&env, "made.txt", "made\n");
        env.write("other.txt", "other\n");
        env.git(&["add", "other.txt"]);
        env.git(&["commit", "--quiet", "--message", "other"]);
        // A person's edit elsewhere is no obstacle, and stays.
        env.write("code.txt", "one\ntwo\nthree\nmine\n");
        let said = land(&env, &id, &[style, "--check", "sh check.sh && cat other.txt"]).success();
        assert!(said.stdout.starts_with("Landed on `main` as "), "{said}");
        assert_eq!(stand(&env, &id), "complete - -");
        let landed = &last_entry(&env, &id)["landed"];
        assert_eq!(landed["commit"], env.git(&["rev-parse", "main"]).trim());
        assert_eq!(landed["tree"], env.git(&["rev-parse", "main^{tree}"]).trim());
        assert_eq!(
            landed["checks"][0]["argv"].to_string(),
            "[\"sh\",\"-c\",\"sh check.sh && cat other.txt\"]"
        );
        let message = env.git(&["log", "-1", "--format=%s|%an|%(trailers:key=Aof-Land,valueonly)"]);
        let author = if style == "--merge" { "lander" } else { "coder" };
        assert_eq!(
            message.trim(),
            format!("{}|{author}|{id}@1", subject.replace("AOF-xxxxx", &id))
        );
        let named = env.git(&["log", "-1", "--format=%P"]);
        assert_eq!(named.split_whitespace().count(), parents, "{style}");
        assert_eq!(env.read("made.txt"), "made\n");
        assert_eq!(env.git(&["status", "--porcelain"]), " M code.txt\n");
        assert!(!env.exists(&format!(".aof/work/{id}")) && is_sound(&env));
        assert_eq!(env.git(&["branch", "--list", "aof-work/*"]), "");
    }
}

#[test]
fn a_conflict_or_a_failed_check_sends_the_visit_back() {
    let env = project();
    let id = written(&env, "code.txt", "one\nhis\nthree\n");
    env.write("code.txt", "one\nhers\nthree\n");
    env.commit_all("hers");
    let before = env.git(&["for-each-ref", "refs/heads/main", "refs/remotes"]);
    let said = land(&env, &id, &["--check", "sh check.sh"]).code(1);
    assert_snapshot!(env.plain(&said.stdout), @r"
    Not landed on `main`: merge `main` into `aof-work/AOF-xxxxx`, resolve the conflicts, and commit
    - `code.txt` is in conflict with `main`
    AOF-xxxxx: sent back to write
      now at write, ready for coder
    ");
    assert_eq!(env.git(&["for-each-ref", "refs/heads/main", "refs/remotes"]), before);
    let folder = format!(".aof/work/{id}");
    let _ = env.try_git(&["-C", &folder, "merge", "--quiet", "main"]).code(1);
    rewritten_merge(&env, &id, "one\nboth\nthree\n");
    let check = "seq 60 | sed 's/^/line /'; sh check.sh";
    let said = land(&env, &id, &["--check", check]).code(1);
    assert!(said.stdout.starts_with("Not landed on `main`: the check `seq 60"), "{said}");
    let blocker = last_entry(&env, &id)["blockers"][0].as_str().unwrap().to_owned();
    assert!(blocker.contains("ended with exit status 1:\nline 11\n"), "{blocker}");
    assert!(blocker.ends_with("line 60"), "{blocker}");
    assert_eq!(env.git(&["for-each-ref", "refs/heads/main", "refs/remotes"]), before);
    rewritten(&env, &id, "made.txt", "made\n");
    let _ = land(&env, &id, &["--check", "sh check.sh"]).success();
    assert_eq!(env.read("code.txt"), "one\nboth\nthree\n");
    assert!(is_sound(&env));
}

/// Resolves a conflict in the task's worktree.
fn rewritten_merge(env: &TestEnvironment, id: &str, text: &str) {
    let folder = format!(".aof/work/{id}");
    env.write(&format!("{folder}/code.txt"), text);
    env.git(&["-C", &folder, "commit", "--quiet", "--all", "--message", "Merge main"]);
    let _ = env.complete(id, "coder").success();
}

#[test]
fn a_dry_run_joins_and_checks_and_moves_nothing() {
    let env = project();
    with_remote(&env);
    let id = written(&env, "made.txt", "made\n");
    let state = || (env.git(&["for-each-ref"]), env.git(&["worktree", "list"]), stand(&env, &id));
    let before = state();
    let said = land(&env, &id, &["--check", "sh check.sh", "--dry-run"]).success();
    assert_snapshot!(env.plain(&said.stdout), @r"
    Can land on `main`, after 1 check
    AOF-xxxxx: land → done (dry run: nothing was written)
      it would be complete; archived as tasks/archive/2026/02/16/AOF-xxxxx.md
    ");
    let failed = land(&env, &id, &["--check", "exit 3", "--dry-run"]).code(1);
    assert!(failed.stdout.contains("`exit 3` ended with exit status 3"), "{failed}");
    assert_eq!(state(), before);
}

#[test]
fn trust_in_a_lander_outlives_what_it_lands() {
    let env = project();
    let land = "[aof, land, '{ticket}', --check, 'test -d test && sh check.sh && ls *.txt']";
    env.write(
        ".aof/branch/org.yaml",
        format!("roles: {{coders: {{agents: [coder]}}, landers: {{agents: [lander]}}}}\nagents: {{lander: {{run: {{workspace: checkout, attempts: 1, command: {land}}}}}}}\n"),
    );
    env.git(&["-C", ".aof/branch", "commit", "--quiet", "--all", "--message", "lander"]);
    let run = |trusted: &str| {
        let mut command = env.aof_command(&["run", "--agent", "lander"]);
        command.env("AOF_TRUST", trusted);
        env.run(command)
    };
    let ids = ["made.txt", "two.txt"].map(|file| written(&env, file, "made\n"));
    for id in &ids {
        let folder = format!(".aof/work/{id}");
        env.write(&format!("{folder}/test/{id}.txt"), "test\n");
        env.write(&format!("{folder}/made.txt"), "made\n");
        env.git(&["-C", &folder, "add", "--all"]);
        env.git(&["-C", &folder, "commit", "--quiet", "--message", "tests"]);
    }
    let refused = run("").code(7);
    let hash = refused.stderr.split("AOF_TRUST=").nth(1).unwrap().split('`').next().unwrap();
    let _ = run(hash).success();
    assert!(ids.iter().all(|id| stand(&env, id) == "complete - -"));
    // A script is another matter.
    let id = written(&env, "check.sh", "true\n");
    let _ = run(hash).code(1);
    assert_eq!(stand(&env, &id), "blocked land -");
}

#[test]
fn a_check_that_changes_what_it_checks_fails() {
    let env = project();
    let id = written(&env, "made.txt", "made\n");
    let said = land(&env, &id, &["--check", "echo more >> code.txt", "--check", "true"]).code(1);
    assert!(said.stdout.contains("changed `code.txt`, which is committed"), "{said}");
    assert_eq!(env.read("code.txt"), "one\ntwo\nthree\n");
}

#[test]
fn a_remote_gets_it_first() {
    let env = project();
    with_remote(&env);
    let id = written(&env, "made.txt", "made\n");
    // Somebody pushes while the first round is checked; the second one has that.
    env.git(&["clone", "--quiet", "../hub.git", "../theirs"]);
    let theirs = env.path("../theirs").display().to_string();
    let push = format!(
        "test -e theirs.txt || (cd '{theirs}' && echo x > theirs.txt && git add . && git commit -qm theirs && git push -q)"
    );
    let _ = land(&env, &id, &["--check", &push]).success();
    let tips = env.git(&["rev-parse", "main", "origin/main", "main^{/^Land}"]);
    let tips: Vec<&str> = tips.lines().collect();
    assert!(tips[0] == tips[1] && tips[0] == tips[2], "{tips:?}");
    assert_eq!(env.git(&["-C", "../hub.git", "rev-parse", "main"]).trim(), tips[0]);
    assert_eq!((env.read("theirs.txt"), env.read("made.txt")), ("x\n".into(), "made\n".into()));
    assert!(is_sound(&env));
}

#[test]
fn commits_that_the_remote_dropped_meanwhile_do_not_come_back() {
    let env = project();
    with_remote(&env);
    env.write("bad.txt", "bad\n");
    env.commit_all("bad");
    env.git(&["push", "--quiet"]);
    let id = written(&env, "made.txt", "made\n");
    let hub = env.path("../hub.git").display().to_string();
    let rewind = format!("git -C '{hub}' update-ref refs/heads/main main~1");
    let refused = land(&env, &id, &["--check", &rewind]).code(4);
    assert!(refused.stderr.contains("`main` has 1 commit that origin/main lacks"), "{refused}");
    assert_eq!(
        env.git(&["-C", "../hub.git", "log", "--format=%s", "-1", "main"]),
        "Tasks live on the branch aof\n"
    );
    assert_eq!(stand(&env, &id), "ready land -");
}

#[test]
fn a_refused_push_moves_nothing() {
    let env = project();
    with_remote(&env);
    let id = written(&env, "made.txt", "made\n");
    env.write("../hub.git/hooks/pre-receive", "#!/bin/sh\necho 'main is protected' >&2\nexit 1\n");
    crate::support::environment::executable(&env.path("../hub.git/hooks/pre-receive"));
    let before = env.git(&["for-each-ref", "refs/heads/main", "refs/remotes"]);
    let refused = land(&env, &id, &[]).code(4);
    assert_snapshot!(env.plain(&refused.stderr), @r"
    error: origin/main refuses the push, and nothing has moved: main is protected

    hint: open a pull request for the task's branch; a gate can wait for it
    ");
    assert_eq!(env.git(&["for-each-ref", "refs/heads/main", "refs/remotes"]), before);
    assert_eq!(stand(&env, &id), "ready land -");
    std::fs::remove_file(env.path("../hub.git/hooks/pre-receive")).unwrap();
    // A person's commits are theirs to push.
    env.write("mine.txt", "mine\n");
    env.commit_all("mine");
    let refused = land(&env, &id, &[]).code(4);
    assert!(refused.stderr.contains("`main` has 1 commit that origin/main lacks"), "{refused}");
    env.git(&["push", "--quiet"]);
    let _ = land(&env, &id, &[]).success();
}

#[test]
fn what_cannot_land_is_refused_before_anything_moves() {
    let env = project();
    let id = env.new_task(&["Add made"]);
    let _ = env.complete(&id, "coder").success();
    let before = env.git(&["for-each-ref"]);
    assert_snapshot!(env.plain(&land(&env, &id, &[]).code(4).stderr), @r"
    error: there is no branch `aof-work/AOF-xxxxx` here, which would have the work at `AOF-xxxxx`

    hint: commit the work there, or complete the visit with `aof complete AOF-xxxxx@1`
    ");
    // Whoever may not complete the visit must not land its work.
    let other = env.aof(&["land", &id, "--agent", "coder"]).code(4);
    assert!(other.stderr.contains("coder"), "{other}");
    assert_eq!(env.git(&["for-each-ref"]), before);
    let id = written(&env, "code.txt", "one\nhis\nthree\n");
    for (words, code) in [
        (&["--onto", "aof"][..], "workspace_base_missing"),
        (&["--onto", &format!("aof-work/{id}")], "workspace_base_missing"),
        (&["--onto", "nowhere"], "no_target"),
    ] {
        let refused: Value = land(&env, &id, &[words, &["--json"]].concat()).code(4).json();
        assert_eq!(refused["error"], code, "{words:?}");
    }
    // Edits that the landing would overwrite, and files of the work that are not committed.
    env.write("code.txt", "mine\n");
    let refused = land(&env, &id, &[]).code(4);
    assert!(refused.stderr.contains("`main` is checked out in"), "{refused}");
    assert_eq!((env.read("code.txt"), stand(&env, &id)), ("mine\n".into(), "ready land -".into()));
    env.git(&["checkout", "--quiet", "code.txt"]);
    env.write(".git/MERGE_HEAD", env.git(&["rev-parse", "main"]));
    let refused = land(&env, &id, &[]).code(4);
    assert!(refused.stderr.contains("an operation of git is in progress there"), "{refused}");
    std::fs::remove_file(env.path(".git/MERGE_HEAD")).unwrap();
    env.write(".git/index.lock", "");
    let refused = land(&env, &id, &[]).code(4);
    assert!(refused.stderr.contains("git cannot bring the work to `main`"), "{refused}");
    std::fs::remove_file(env.path(".git/index.lock")).unwrap();
    env.write(&format!(".aof/work/{id}/late.txt"), "late\n");
    let refused = land(&env, &id, &[]).code(4);
    assert!(refused.stderr.contains("not committed: `late.txt`"), "{refused}");
    std::fs::remove_file(env.path(&format!(".aof/work/{id}/late.txt"))).unwrap();
    let _ = land(&env, &id, &[]).success();
    // A branch that is merged already ends the visit all the same.
    let id = written(&env, "made.txt", "made\n");
    env.git(&["merge", "--quiet", &format!("aof-work/{id}")]);
    let said = land(&env, &id, &[]).success();
    assert!(said.stdout.starts_with("`main` has all of the work"), "{said}");
    assert!(last_entry(&env, &id)["landed"].is_null() && is_sound(&env));
}

#[test]
#[cfg(debug_assertions)]
fn a_landing_that_is_killed_counts_once() {
    for point in aof::system::crash_points::LAND_POINTS {
        let env = project();
        with_remote(&env);
        let id = written(&env, "made.txt", "made\n");
        let mut killed = env.aof_command(&["land", &id, "--agent", "lander", "--check", "true"]);
        killed.env("AOF_STOP_AT", point);
        assert!(env.run(killed).code.is_none(), "{point}");
        assert_eq!(stand(&env, &id), "ready land -", "{point}");
        let said = land(&env, &id, &["--check", "true"]).success();
        assert!(said.stdout.starts_with("Landed on `main` as "), "{said}");
        let trailers = env.git(&["log", "main", "--format=%(trailers:key=Aof-Land,valueonly)"]);
        assert_eq!(trailers.split_whitespace().collect::<Vec<_>>(), [format!("{id}@1")], "{point}");
        assert_eq!(env.git(&["rev-parse", "main"]), env.git(&["rev-parse", "origin/main"]));
        assert_eq!(env.git(&["status", "--porcelain"]), "", "{point}");
        assert_eq!(env.read("made.txt"), "made\n");
        let landed = &last_entry(&env, &id)["landed"];
        assert_eq!(landed["commit"], env.git(&["rev-parse", "main"]).trim(), "{point}");
        assert!(is_sound(&env) && !env.exists(&format!(".aof/work/landing.{id}")), "{point}");
    }
}

#[test]
fn two_landings_wait_for_each_other() {
    let env = project();
    with_remote(&env);
    let ids = [written(&env, "made.txt", "made\n"), written(&env, "two.txt", "two\n")];
    // The first check holds the turn until the second landing is in the queue.
    let wait =
        "while test $(ls \"$AOF_PROJECT\"/../work/*.queue | wc -l) -lt 2; do sleep 0.02; done";
    let start = |id: &str, check: &str| {
        let mut command = env.aof_command(&["land", id, "--agent", "lander", "--check", check]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let first = start(&ids[0], wait);
    crate::support::environment::eventually("the first one lands", || {
        env.aof(&["workspace", "list"]).stdout.contains(" lands on main")
    });
    let second = start(&ids[1], "true");
    let _ = env.finish("aof land", first).success();
    let said = env.finish("aof land", second).success();
    let waited = "waits for `AOF-xxxxx`, which lands on `main`";
    assert!(said.stderr.contains(waited), "{said}");
    assert_eq!(env.git(&["rev-list", "--count", "--merges", "main"]).trim(), "2");
    assert!(env.exists("made.txt") && env.exists("two.txt") && is_sound(&env));
    assert_eq!(env.git(&["rev-parse", "main"]), env.git(&["rev-parse", "origin/main"]));
}

#[test]
fn two_clones_land_at_once() {
    let env = project();
    with_remote(&env);
    let ids = [env.new_task(&["One"]), env.new_task(&["Two"])];
    env.git(&["push", "--quiet", "origin", "aof"]);
    env.git(&["clone", "--quiet", "../hub.git", "../other"]);
    let in_clone = |clone: &str, words: &[&str]| {
        let mut command = env.aof_command(words);
        command.current_dir(env.path(clone));
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command
    };
    for (clone, id) in [(".", &ids[0]), ("../other", &ids[1])] {
        let _ = env.run(in_clone(clone, &["workspace", "path", id])).success();
        let folder = format!("{clone}/.aof/work/{id}");
        env.write(&format!("{folder}/{id}.txt"), "made\n");
        env.git(&["-C", &folder, "add", "--all"]);
        env.git(&["-C", &folder, "commit", "--quiet", "--message", "made"]);
        let done = ["complete", id, "--agent", "coder", "--outcome", "complete", "-s", "Made it"];
        let _ = env.run(in_clone(clone, &done)).success();
    }
    let start = |clone: &str, id: &str| {
        in_clone(clone, &["land", id, "--agent", "lander", "--check", "true"]).spawn().unwrap()
    };
    let running = [start(".", &ids[0]), start("../other", &ids[1])];
    for child in running {
        let _ = env.finish("aof land", child).success();
    }
    let log = env.git(&["-C", "../hub.git", "log", "main", "--format=%(trailers:key=Aof-Land)"]);
    assert_eq!(log.matches("Aof-Land").count(), 2, "{log}");
    for id in &ids {
        env.git(&["-C", "../hub.git", "cat-file", "-e", &format!("main:{id}.txt")]);
    }
    assert!(is_sound(&env));
}

#[test]
fn verify_compares_what_landed_with_what_was_checked() {
    let env = project();
    let id = written(&env, "made.txt", "made\n");
    let _ = land(&env, &id, &["--check", "true"]).success();
    let verified: Value = env.aof(&["verify", "--json"]).json();
    let landed = &verified["landed"][0];
    assert_eq!((landed["onto"].as_str(), landed["checks"].as_u64()), (Some("main"), Some(1)));
    assert_eq!(landed["isHere"], true);
    // Another tree than the commit has.
    let tree = env.git(&["rev-parse", "main^{tree}"]);
    let path = env.files(".aof/branch/tasks").into_iter().find(|path| path.contains(&id)).unwrap();
    let path = format!(".aof/branch/tasks/{}", path.rsplit("tasks/").next().unwrap());
    env.edit(&path, tree.trim(), &"0".repeat(40));
    let amend = ["-C", ".aof/branch", "commit", "--all", "--amend", "--no-edit", "--no-verify"];
    env.git(&[&amend[..], &["--quiet"]].concat());
    let said = env.aof(&["verify"]).code(1);
    assert!(said.stdout.contains("another tree landed than the one that was checked"), "{said}");
    // A clone without the commit cannot tell.
    env.git(&[
        "clone",
        "--quiet",
        "--no-local",
        "--single-branch",
        "--branch",
        "aof",
        ".",
        "../only",
    ]);
    let mut command = env.aof_command(&["verify"]);
    command.current_dir(env.path("../only"));
    let said = env.run(command);
    assert!(said.stdout.contains("1 landing not checked: the landed commit is not here"), "{said}");
}

#[test]
fn tasks_beside_the_code_can_land_too() {
    let env = beside();
    let id = written_beside(&env, "tasks/AOF-zzz.plan.md");
    let refused = land(&env, &id, &["--onto", "main"]).code(4);
    assert!(refused.stderr.contains("which only aof does"), "{refused}");
    rewritten_beside(&env, &id, "made.txt");
    let _ = land(&env, &id, &["--squash", "--check", "cat made.txt"]).success();
    assert_eq!((stand(&env, &id), env.read("made.txt")), ("complete - -".into(), "made\n".into()));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let landed = &last_entry(&env, &id)["landed"];
    assert_eq!(landed["commit"], env.git(&["rev-parse", "main~1"]).trim());
    assert!(is_sound(&env));
}
