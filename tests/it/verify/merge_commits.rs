//! What `aof verify` says of merges: of those that git makes, and of those that somebody helped along.

use crate::support::environment::{Output, TestEnvironment};
use crate::support::merge_scene::{aside, scene, verified};
use crate::support::signer::Signer;

/// Says what `aof verify` finds: each rule that is broken, in order.
fn found(env: &TestEnvironment) -> Vec<String> {
    let output = env.aof_aside(&["verify", "--json"]);
    let value = output.json();
    let open =
        value["findings"].as_array().unwrap().iter().filter(|finding| finding["covered"].is_null());
    open.map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
}

/// Merges the branch without a commit, so that more can be put into it.
fn half_merged(env: &TestEnvironment, branch: &str) -> Output {
    env.try_git(&["merge", "-q", "--no-ff", "--no-commit", branch])
}

#[test]
fn a_superseded_step_is_not_missed_at_the_next_merge() {
    let (env, id) = scene();
    let other = env.new_task(&["Another"]);
    aside(&env, "side", || {
        let _ = env.say(&id, "agent-8", "complete", &[]).success();
    });
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["merge", "-q", "--no-edit", "side"]);
    let _ = verified(&env).success();
    env.git(&["checkout", "-q", "side"]);
    let _ = env.complete(&other, "agent-8").success();
    env.git(&["checkout", "-q", "main"]);
    env.git(&["merge", "-q", "--no-edit", "side"]);
    let _ = verified(&env).success();
    env.git(&["checkout", "-q", "side"]);
    let _ = env.aof(&["task", "comment", &id, "-m", "Why not mine?"]).success();
    env.git(&["checkout", "-q", "main"]);
    env.git(&["merge", "-q", "--no-edit", "side"]);
    let _ = verified(&env).success();
    // And the other way round: what main decided goes to the branch that had it otherwise.
    let _ = env.complete(&id, "agent-3").success();
    env.git(&["checkout", "-q", "side"]);
    env.git(&["merge", "-q", "--no-edit", "main"]);
    let _ = verified(&env).success();
}

#[test]
fn a_merge_that_takes_the_side_without_a_change_loses_the_other() {
    let (env, id) = scene();
    aside(&env, "side", || {
        env.write("elsewhere.txt", "x");
        env.commit_all("something else");
    });
    let _ = env.aof(&["task", "assign", "--claim", &id, "agent-7"]).success();
    assert_eq!(half_merged(&env, "side").code, Some(0));
    let path = env.task_path(&id);
    env.git(&["checkout", "-q", "side", "--", &path]);
    let refused = env.try_git(&["commit", "-q", "--no-edit"]).code(1);
    assert!(refused.stderr.contains("this would take back what is committed"), "{refused}");
    env.git(&["commit", "-q", "--no-edit", "--no-verify"]);
    assert_eq!(found(&env), ["lost_in_merge"]);
}

#[test]
fn a_merge_has_no_rules_of_its_own() {
    let (env, _) = scene();
    let org = crate::support::environment::ORG;
    aside(&env, "side", || {
        env.write("org.yaml", format!("# The people of the shop\n{org}"));
        env.commit_all("a remark");
    });
    env.write("org.yaml", format!("{org}# and that is all\n"));
    env.commit_all("another remark");
    assert_eq!(half_merged(&env, "side").code, Some(0));
    env.git(&["commit", "-q", "--no-edit"]);
    assert_eq!(found(&env), [""; 0]);
    let merged = env.read("org.yaml");
    env.write("org.yaml", merged.replace("agent-3", "agent-666"));
    env.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    assert_eq!(found(&env), ["rules_in_merge"]);
    env.write("org.yaml", &merged);
    env.write("workflows/own.yaml", "gates: [{id: only, role: backend}]\n");
    env.git(&["add", "--all"]);
    env.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    assert_eq!(found(&env), ["rules_in_merge"]);
}

#[test]
fn a_merge_of_repeated_lines_equals_git_s() {
    let (env, _) = scene();
    let with = |words: &str| {
        let lines: Vec<_> = words.chars().map(|c| format!("# {c}\n")).collect();
        format!("{}{}", crate::support::environment::ORG, lines.concat())
    };
    // The shortest list of changes makes another text of it than git's histogram does.
    env.write("org.yaml", with(".xbbbb"));
    env.commit_all("remarks");
    aside(&env, "side", || {
        env.write("org.yaml", with(".xbbbxab"));
        env.commit_all("theirs");
    });
    env.write("org.yaml", with(".xbbxbbbx"));
    env.commit_all("ours");
    env.git(&["merge", "-q", "--no-edit", "side"]);
    let by_myers = env.try_git(&[
        "merge-tree",
        "--write-tree",
        "-X",
        "diff-algorithm=myers",
        "HEAD~1",
        "side",
    ]);
    assert_ne!(
        by_myers.stdout.lines().next().unwrap(),
        env.git(&["rev-parse", "HEAD^{tree}"]).trim()
    );
    assert_eq!(found(&env), [""; 0]);
}

#[test]
fn a_merge_that_leaves_out_a_change_of_the_rules_says_so_truly() {
    let (env, _) = scene();
    let org = crate::support::environment::ORG;
    aside(&env, "side", || {
        env.write("org.yaml", format!("{org}# of the side\n"));
        env.commit_all("a remark");
    });
    env.git(&["merge", "-q", "--no-edit", "--no-ff", "-s", "ours", "side"]);
    let output = env.aof_aside(&["verify"]);
    assert!(
        output.stdout.contains("what one side says alone, without what the other one changed"),
        "{}",
        output.stdout
    );
    assert_eq!(found(&env), ["rules_in_merge"]);
}

#[test]
fn a_merge_without_its_base_is_not_judged() {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.say(&id, "agent-8", "complete", &[]).success();
    });
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["merge", "-q", "--no-edit", "side"]);
    let clone = env.home().join("shallow");
    let (url, folder) = (format!("file://{}", env.path("").display()), clone.display().to_string());
    for depth in ["1", "2", "3"] {
        env.git(&["clone", "-q", "--depth", depth, &url, &folder]);
        let judged = env.aof(&["-C", &folder, "verify"]).success();
        assert!(judged.stdout.contains("note: history ends at commit"), "{}", judged.stdout);
        std::fs::remove_dir_all(&clone).unwrap();
    }
}

#[test]
fn rules_that_both_sides_changed_are_merged_by_a_person() {
    let (env, _) = scene();
    let org = crate::support::environment::ORG;
    aside(&env, "side", || {
        env.write("org.yaml", format!("{org}# theirs\n"));
        env.commit_all("theirs");
    });
    env.write("org.yaml", format!("{org}# ours\n"));
    env.commit_all("ours");
    assert_eq!(half_merged(&env, "side").code, Some(1));
    env.write("org.yaml", format!("{org}# theirs\n# ours\n"));
    env.git(&["commit", "-q", "-a", "--no-edit"]);
    assert_eq!(found(&env), [""; 0]);
    env.write("org.yaml", format!("{org}# somebody's\n"));
    env.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    assert_eq!(found(&env), ["rules_in_merge"]);
}

#[test]
fn merged_steps_are_signed_as_the_branch_demands() {
    let (env, id) = scene();
    let signer = Signer::new(7);
    aside(&env, "side", || {
        let _ = env.complete(&id, "agent-7").success();
    });
    let keys = format!(
        "{}agents: {{agent-7: {{signingKey: \"{}\"}}}}\n",
        crate::support::environment::ORG,
        signer.public()
    );
    env.write("org.yaml", keys);
    env.commit_all("agent-7 signs");
    env.git(&["merge", "-q", "--no-edit", "side"]);
    assert_eq!(found(&env), ["unsigned"]);
}

#[test]
fn a_merge_does_no_step_and_forges_nothing() {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.say(&id, "agent-8", "complete", &["--id", "theirs"]).success();
    });
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["merge", "-q", "--no-edit", "side"]);
    let message = format!("It\n\nAof-Superseded: {id}@0 theirs by agent-8 (complete)");
    let amended = |message: &str| {
        env.git(&["commit", "-q", "--amend", "-m", message]);
        found(&env)
    };
    assert_eq!(amended(&message), [""; 0]);
    assert_eq!(
        amended(&format!("{message}\nAof-Task: {id}\nAof-Gate: review")),
        ["wrong_trailer"; 2]
    );
    assert_eq!(amended(&message.replace("agent-8", "agent-3")), ["superseded", "wrong_trailer"]);
    let more =
        |named: &str| format!("{message}\nAof-Superseded: {named}@0 own by agent-8 (complete)");
    assert_eq!(amended(&more(&id)), ["wrong_trailer"]);
    assert_eq!(amended(&more("AOF-zzz")), ["wrong_trailer"]);
}

#[test]
fn a_merge_says_of_no_new_task_that_it_is_finished() {
    let (env, _) = scene();
    let path = env.hand_made("AOF-new", "New");
    env.commit_all("by hand");
    aside(&env, "side", || {
        env.write("elsewhere.txt", "x");
        env.commit_all("something else");
    });
    env.write("more.txt", "x");
    env.commit_all("more");
    assert_eq!(half_merged(&env, "side").code, Some(0));
    env.edit(&path, "title: New", "title: New\nstatus: complete");
    env.git(&["commit", "-q", "-a", "--no-edit"]);
    assert_eq!(found(&env), ["said_by_hand"]);
}

#[test]
fn committed_markers_are_fixed_by_the_right_merge_result() {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.aof(&["task", "edit", &id, "--title", "Sign in"]).success();
        let _ = env.complete(&id, "agent-8").success();
    });
    let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    env.git(&["commit", "-q", "-a", "--no-edit"]);
    assert_eq!(found(&env), ["unreadable"]);
    let path = env.task_path(&id);
    let marked = env.read(&path);
    let mended =
        marked.replace("<<<<<<< HEAD\ntitle: Log in\n=======\n", "").replace(">>>>>>> side\n", "");
    assert!(mended.contains("title: Sign in\n") && !mended.contains("<<<<"), "{mended}");
    env.write(&path, &mended);
    env.commit_all("without markers");
    assert_eq!(found(&env), [""; 0]);
    // What stands otherwise than it was merged is not.
    let ours = env.git(&["show", &format!("HEAD~2:{path}")]);
    env.write(&path, ours);
    env.git(&["commit", "-q", "-a", "--no-verify", "--amend", "-m", "the entry is gone"]);
    assert_eq!(found(&env), ["unreadable", "removed"]);
}

#[test]
fn trailers_count_above_the_list_of_conflicts_that_git_leaves() {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.aof(&["task", "edit", &id, "--title", "Sign in"]).success();
        let _ = env.say(&id, "agent-8", "complete", &["--id", "theirs"]).success();
    });
    let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
    let _ = env.complete(&id, "agent-7").success();
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    let path = env.task_path(&id);
    env.git(&["checkout", "-q", "--ours", &path]);
    env.git(&["add", &path]);
    let trailer = format!("Aof-Superseded: {id}@0 theirs by agent-8 (complete)");
    env.write("message", format!("It\n\n{trailer}\n\n# Conflicts:\n#\t{path}\n"));
    env.git(&["commit", "-q", "--cleanup=verbatim", "-F", "message"]);
    let answer = verified(&env).success();
    assert!(!answer.stdout.contains("[superseded]"), "{answer}");
}
