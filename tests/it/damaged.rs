//! Objects that are damaged, lost, or were never fetched, and histories that git was told to show otherwise: said by name, with what to
//! do, at once, and never taken for something else.

use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;

use crate::environment::TestEnvironment;

/// A task that was created and completed once, and its id.
pub(crate) fn scene() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No test covers it"]).success();
    (env, id)
}

pub(crate) fn file_of(env: &TestEnvironment, name: &str) -> PathBuf {
    let id = env.git(&["rev-parse", name]);
    env.path(&format!(".git/objects/{}/{}", &id[..2], id[2..].trim()))
}

#[test]
fn a_commit_that_a_power_cut_left_short_ends_every_look_at_history_and_is_named() {
    let (env, _) = scene();
    for (name, walks) in [
        (
            "HEAD",
            &[
                &["verify"][..],
                &["verify", "--since", "HEAD~1"],
                &["events", "rebuild"],
                &["task", "list"],
            ][..],
        ),
        ("HEAD~2", &[&["verify"][..], &["verify", "HEAD~3..HEAD"], &["events", "rebuild"]][..]),
    ] {
        let file = file_of(&env, name);
        let whole = fs::read(&file).unwrap();
        for damaged in [Some(&whole[..whole.len() / 2]), Some(&[][..]), None] {
            fs::remove_file(&file).unwrap();
            if let Some(damaged) = damaged {
                fs::write(&file, damaged).unwrap();
            }
            for args in walks {
                let output = env.aof(args).code(1);
                let place = file.strip_prefix(env.path(".git")).unwrap().display().to_string();
                let (what, by) = match damaged {
                    Some(_) => ("is damaged", place.as_str()),
                    None => ("is not here, though something names it", "COMMIT"),
                };
                assert!(
                    output.stderr.contains(what) && output.stderr.contains(by),
                    "{args:?} {name}: {output}"
                );
                assert!(output.stderr.contains("git fetch --refetch"), "{args:?} {name}: {output}");
            }
            let _ = fs::remove_file(&file);
            fs::write(&file, &whole).unwrap();
        }
    }
    let _ = env.aof(&["verify"]).success();
    let _ = env.aof(&["verify", &"7".repeat(40)]).code(3);
    let _ = env.aof(&["verify", "nowhere"]).code(3);
}

#[test]
fn what_is_damaged_is_told_with_what_brings_it_again() {
    let (env, _) = scene();
    let hub = env.home().join("hub.git").display().to_string();
    env.git(&["clone", "--quiet", "--bare", ".", &hub]);
    env.git(&["remote", "add", "origin", &hub]);
    env.git(&["fetch", "--quiet"]);
    let file = file_of(&env, "HEAD~2");
    let whole = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    fs::write(&file, &whole[..20]).unwrap();
    let place = file.strip_prefix(env.path(".git/objects")).unwrap().display().to_string();
    assert_snapshot!(env.aof(&["verify"]).to_string().replace(&place, "PLACE"), @"
    exit 1
    --- stderr
    error: the commit `COMMIT` is damaged: its file ends too early; `git fsck` tells what else is; move `$PROJECT/.git/objects/PLACE` elsewhere, and `git fetch --refetch` brings what was in it again
    ");
    // As it says.
    fs::rename(&file, env.home().join("elsewhere")).unwrap();
    env.git(&["fetch", "--quiet", "--refetch"]);
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn an_index_of_a_pack_that_leads_nowhere_ends_with_a_word() {
    let (env, _) = scene();
    env.git(&["repack", "-a", "-d", "-q"]);
    let packs =
        fs::read_dir(env.path(".git/objects/pack")).unwrap().map(|entry| entry.unwrap().path());
    let path =
        packs.into_iter().find(|path| path.extension().is_some_and(|end| end == "idx")).unwrap();
    let whole = fs::read(&path).unwrap();
    let count = u32::from_be_bytes(whole[8 + 255 * 4..8 + 256 * 4].try_into().unwrap()) as usize;
    for offset in [0x0800_0000_u32, 0x7fff_fff0, 0x8000_0001, 0xffff_ffff, 12] {
        let mut index = whole.clone();
        for place in 0..count {
            let at = 8 + 256 * 4 + count * 24 + place * 4;
            index[at..at + 4].copy_from_slice(&offset.to_be_bytes());
        }
        fs::remove_file(&path).unwrap();
        fs::write(&path, &index).unwrap();
        for args in [&["verify"][..], &["verify", "--since", "HEAD~2"], &["events", "rebuild"]] {
            let output = env.aof(args).code(1);
            let is_told = output.stderr.starts_with("error: the ")
                && output.stderr.contains("git fetch --refetch");
            assert!(is_told, "{offset:x} {args:?}: {output}");
        }
    }
}

#[test]
fn grafts_and_replacements_count_for_nothing_and_are_told() {
    let (env, id) = scene();
    let before = env.aof(&["verify", "--json"]).success().json();
    assert_eq!(before["ignored"], serde_json::json!([]));
    let name = |rev: &str| env.git(&["rev-parse", rev]).trim().to_owned();
    // As if nothing had ever led to the newest commit, and as if another commit stood in the middle.
    env.git(&["replace", &name("HEAD~1"), &name("HEAD~2")]);
    env.write(".git/info/grafts", format!("{}\n", name("HEAD")));
    let after = env.aof(&["verify", "--json"]).success().json();
    assert_eq!(after["ignored"], serde_json::json!(["grafts", "replacements"]));
    assert_eq!((&after["commits"], &after["changes"]), (&before["commits"], &before["changes"]));
    assert_snapshot!(env.aof(&["verify"]), @"
    exit 0
    --- stdout
    warning: git is told other parents of commits here (`.git/info/grafts`); that is ignored: what is judged is the history that the commits name; delete the file unless you know what it is for
    warning: git shows other objects in place of some here (`git replace --list`); that is ignored: what is judged is the history that the commits name; `git replace --delete` takes one away
    all is as the rules allow: 4 commits, 3 changes of a task
    ");
    let history = env.aof(&["task", "history", &id]).success();
    assert!(history.stdout.contains("Did it"), "{history}");
    let _ = env.aof(&["events", "rebuild"]).success();
}

#[test]
fn what_a_partial_clone_left_out_is_told_with_the_command_that_brings_it() {
    let (env, id) = scene();
    let hub = env.home().join("hub.git").display().to_string();
    env.git(&["clone", "--quiet", "--bare", ".", &hub]);
    env.git(&["-C", &hub, "config", "uploadpack.allowFilter", "true"]);
    env.git(&["remote", "add", "origin", &hub]);
    for (number, filter) in ["blob:none", "tree:0"].into_iter().enumerate() {
        env.git(&["pull", "--quiet", "--rebase", "origin", "main"]);
        let clone = env.home().join(format!("partial-{number}")).display().to_string();
        env.git(&[
            "clone",
            "--quiet",
            &format!("--filter={filter}"),
            &format!("file://{hub}"),
            &clone,
        ]);
        let aof = |args: &[&str]| env.aof(&[&["-C", &clone], args].concat());
        // What needs no more than what is checked out.
        for args in [
            &["task", "list"][..],
            &["task", "show", &id],
            &["task", "history", &id],
            &["status"],
            &["stats"],
        ] {
            let output = aof(args);
            assert!(
                !output.stdout.is_empty() && !output.stderr.contains("partial clone"),
                "{filter} {args:?}: {output}"
            );
        }
        let _ = aof(&["task", "new", "Made in a partial clone"]).success();
        let _ = aof(&["task", "comment", &id, "Said there"]).success();
        // What comes, comes whole, and is merged.
        let other = env.new_task(&["Made elsewhere"]);
        let _ = env.say(&id, "agent-7", "complete", &["--summary", "Now it is"]);
        let _ = env.aof(&["sync"]).success();
        let _ = aof(&["sync"]).success();
        let _ = aof(&["task", "show", &other]).success();
        // What needs the rest says so.
        let refused = aof(&["verify"]).code(1);
        assert!(refused.stderr.contains("this is a partial clone"), "{filter}: {refused}");
        assert!(
            refused.stderr.contains("`git fetch --refetch --no-filter` brings the rest"),
            "{filter}: {refused}"
        );
        env.git(&["-C", &clone, "fetch", "--quiet", "--refetch", "--no-filter"]);
        let _ = aof(&["verify"]).success();
        let _ = aof(&["events", "rebuild"]).success();
    }
}

#[test]
fn what_cannot_be_judged_is_committed_all_the_same_and_told() {
    let (env, id) = crate::merging::scene();
    let _ = env.complete(&id, "agent-7").success();
    let file = file_of(&env, "HEAD:org.yaml");
    let whole = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    fs::write(&file, &whole[..20]).unwrap();
    let head = env.head();
    let reverted = env.try_git(&["revert", "--no-edit", "HEAD"]).code(0);
    let told: Vec<&str> =
        reverted.stderr.lines().filter(|line| line.starts_with("not judged: ")).collect();
    assert_eq!(told.len(), 1, "{reverted}");
    assert!(
        told[0].contains("is damaged") && told[0].contains("`aof verify` judges the commit"),
        "{reverted}"
    );
    assert_eq!(env.git(&["rev-parse", "HEAD^"]).trim(), head.trim());
}
