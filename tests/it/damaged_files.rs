//! Files of git's own that are damaged, lost, or no files: told by name, with what to do, and never waited for.

use std::fs;
use std::path::{Path, PathBuf};

use crate::damaged::{file_of, scene};
use crate::environment::{Output, TestEnvironment, eventually};

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
fn a_damaged_index_of_a_pack_is_named_with_what_makes_it_anew() {
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
    let is_told = output.stderr.contains(
        "objects/info/alternates` cannot be read: it is a folder, and no file; make it a file",
    );
    assert!(is_told, "{output}");
}

#[test]
fn where_history_was_cut_off_is_not_guessed() {
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
