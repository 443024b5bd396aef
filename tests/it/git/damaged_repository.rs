//! Objects and files of git's own that are damaged, lost, or were never fetched, and histories that git was told to show otherwise:
//! said by name, with what to do, at once, never waited for and never taken for something else.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::support::environment::{Output, TestEnvironment, eventually};

/// A task that was created and completed once, and its id.
fn scene() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No test covers it"]).success();
    (env, id)
}

fn file_of(env: &TestEnvironment, name: &str) -> PathBuf {
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
fn damage_is_reported_with_its_repair() {
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
            let is_reported = output.stderr.starts_with("error: the ")
                && output.stderr.contains("git fetch --refetch");
            assert!(is_reported, "{offset:x} {args:?}: {output}");
        }
    }
}

#[test]
fn grafts_and_replacements_count_for_nothing_and_are_reported() {
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
    warning: `.git/info/grafts` replaces parents of commits here; that is ignored: `aof verify` checks the history that the commits name; delete the file unless you know what it is for
    warning: git replaces some objects here (`git replace --list`); that is ignored: `aof verify` checks the history that the commits name; `git replace --delete` takes one away
    all is as the rules allow: 4 commits, 3 changes of a task
    ");
    let history = env.aof(&["task", "history", &id]).success();
    assert!(history.stdout.contains("Did it"), "{history}");
    let _ = env.aof(&["events", "rebuild"]).success();
}

#[test]
fn an_object_that_a_partial_clone_omits_is_reported_with_its_command() {
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
        let _ = aof(&["task", "comment", &id, "-m", "Said there"]).success();
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
fn an_unverifiable_change_is_committed_and_reported() {
    let (env, id) = crate::support::merge_scene::scene();
    let path = env.task_path(&id);
    env.edit(&path, "Add login", "Add a login");
    env.git(&["add", &path]);
    let file = file_of(&env, &format!("HEAD:{path}"));
    let whole = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    fs::write(&file, &whole[..20]).unwrap();
    let head = env.head();
    let committed = env.try_git(&["commit", "--quiet", "--message", "mine"]).code(0);
    let output: Vec<&str> =
        committed.stderr.lines().filter(|line| line.starts_with("not checked: ")).collect();
    assert_eq!(output.len(), 1, "{committed}");
    assert!(
        output[0].contains("is damaged") && output[0].contains("`aof verify` checks the commit"),
        "{committed}"
    );
    assert_eq!(env.git(&["rev-parse", "HEAD^"]).trim(), head.trim());
}

/// Runs `aof`, which has to end.
#[track_caller]
fn ends(env: &TestEnvironment, args: &[&str]) -> Output {
    let mut child = env.start(args);
    eventually(&format!("{args:?} ends"), || child.try_wait().unwrap().is_some());
    env.finish("aof", child)
}

fn make_pipe(env: &TestEnvironment, path: &Path) {
    let mut make = env.command("mkfifo");
    make.arg(path);
    let _ = env.run(make).success();
}

/// Returns the file of the only pack, or its index.
fn packed(env: &TestEnvironment, end: &str) -> PathBuf {
    let files =
        fs::read_dir(env.path(".git/objects/pack")).unwrap().map(|entry| entry.unwrap().path());
    files.into_iter().find(|path| path.extension().is_some_and(|own| own == end)).unwrap()
}

fn put_back(path: &Path, whole: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, whole).unwrap();
}

/// Expects that looking at history ends with the name of a file, and these words.
#[track_caller]
fn is_named(env: &TestEnvironment, path: &Path, words: &[&str]) {
    let name = env.plain(&path.strip_prefix(env.path(".git")).unwrap().display().to_string());
    let output = ends(env, &["verify"]).code(1);
    assert!(output.stderr.contains(&name), "{name}: {output}");
    for word in words {
        assert!(output.stderr.contains(word), "{name}, {word}: {output}");
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_of_gits_keeps_nobody_waiting() {
    let (env, _) = scene();
    for name in ["shallow", "info/grafts", "objects/info/alternates", "packed-refs"] {
        let path = env.path(".git").join(name);
        make_pipe(&env, &path);
        is_named(&env, &path, &["it is a pipe, and no file"]);
        fs::remove_file(&path).unwrap();
    }
    for path in [
        file_of(&env, "HEAD"),
        file_of(&env, "HEAD~2"),
        file_of(&env, "HEAD~1^{tree}"),
        env.path(".git/refs/heads/main"),
    ] {
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        make_pipe(&env, &path);
        is_named(&env, &path, &["it is a pipe, and no file"]);
        put_back(&path, &whole);
    }
    env.git(&["repack", "-a", "-d", "-q"]);
    for end in ["idx", "pack"] {
        let path = packed(&env, end);
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        make_pipe(&env, &path);
        is_named(&env, &path, &["it is a pipe, and no file"]);
        put_back(&path, &whole);
    }
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn a_damaged_pack_index_is_reported_with_its_fix() {
    let (env, _) = scene();
    env.git(&["repack", "-a", "-d", "-q"]);
    let path = packed(&env, "idx");
    let whole = fs::read(&path).unwrap();
    let names = 8 + 256 * 4;
    let mut other_names = whole.clone();
    other_names[names..names + 400].iter_mut().step_by(7).for_each(|byte| *byte ^= 0x55);
    let mut no_index = whole.clone();
    no_index[..8].fill(0);
    for damaged in [&whole[..whole.len() / 2], &[][..], &other_names, &no_index] {
        put_back(&path, damaged);
        is_named(&env, &path, &["the index of a pack", "git index-pack "]);
        // As it says.
        fs::rename(&path, env.home().join("elsewhere.idx")).unwrap();
        env.git(&["index-pack", &packed(&env, "pack").display().to_string()]);
        let _ = env.aof(&["verify"]).success();
        put_back(&path, &whole);
    }
    let path = packed(&env, "pack");
    let whole = fs::read(&path).unwrap();
    put_back(&path, &whole[..whole.len() / 2]);
    is_named(&env, &path, &["ends too early", "and its `.idx`", "git fetch --refetch"]);
}

#[test]
fn a_lender_that_is_gone_is_named_and_so_is_the_file_that_names_it() {
    let (env, _) = scene();
    let copy = env.home().join("copy");
    env.git(&["clone", "-q", "--shared", ".", &copy.display().to_string()]);
    let verify = || ends(&env, &["-C", &copy.display().to_string(), "verify"]);
    let _ = verify().success();
    let (lender, away) = (env.path(".git/objects"), env.home().join("away"));
    fs::rename(&lender, &away).unwrap();
    let output = verify().code(1);
    for word in [
        "is not here: `",
        "copy/.git/objects/info/alternates` names `$PROJECT/",
        "No such file",
        "git fetch --refetch",
    ] {
        assert!(output.stderr.contains(word), "{word}: {output}");
    }
    fs::rename(&away, &lender).unwrap();
    let _ = verify().success();
    let alternates = copy.join(".git/objects/info/alternates");
    fs::remove_file(&alternates).unwrap();
    fs::create_dir(&alternates).unwrap();
    let output = verify().code(1);
    let is_reported = output.stderr.contains(
        "objects/info/alternates` cannot be read: it is a folder, and no file; make it a file",
    );
    assert!(is_reported, "{output}");
}

#[test]
fn history_behind_a_shallow_boundary_is_not_guessed() {
    let (env, _) = scene();
    let path = env.path(".git/shallow");
    for text in [
        None,
        Some("what is that\n".to_owned()),
        Some(format!("{}\n{}\n", env.head(), &env.head()[..20])),
    ] {
        let detail = match &text {
            None => {
                fs::create_dir(&path).unwrap();
                "it is a folder, and no file"
            }
            Some(text) => {
                fs::write(&path, text).unwrap();
                "names no commit"
            }
        };
        is_named(&env, &path, &["cannot be read: ", detail, "git fetch --refetch"]);
        for args in [&["events", "rebuild"][..], &["sync"]] {
            let output = ends(&env, args);
            assert_ne!(output.code, Some(0), "{args:?}: {output}");
        }
        let _ = if text.is_none() { fs::remove_dir(&path) } else { fs::remove_file(&path) };
    }
    let _ = env.aof(&["verify"]).success();
}
