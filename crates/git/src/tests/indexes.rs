use std::fs;
use std::time::{Duration, SystemTime};

use super::environment::{
    TestRepository, commit, delete, draft, no_intent, publish, put, soon, write_and_publish,
};
use crate::GitError;
use crate::attributes::Attribute;

/// Adds, changes and removes files, with something staged all the time.
fn exercise(test: &TestRepository) {
    let repository = test.open();
    test.write("src/x.txt", "staged\n");
    test.git(&["add", "src/x.txt"]);
    test.write("src/y.txt", "modified\n");
    let before = test.status();
    for changes in [
        vec![put("tasks/AOF-aaa.md", "one\n")],
        vec![put("tasks/AOF-new.md", "new\n"), put("tasks/a/b/AOF-deep.md", "deep\n")],
        vec![put("tasks/archive/AOF-aaa.md", "done\n"), delete("tasks/AOF-aaa.md")],
        vec![delete("tasks/a/b/AOF-deep.md")],
    ] {
        commit(test, &repository, changes).unwrap();
        assert_eq!(test.status(), before);
        assert_eq!(test.git(&["diff", "--cached", "--name-only"]), "src/x.txt\n");
    }
    test.git(&["commit", "-qm", "mine"]);
    assert_eq!(test.git(&["show", "--format=", "--name-only"]), "src/x.txt\n");
    assert_eq!(test.status(), " M src/y.txt\n");
    test.assert_sound();
}

#[test]
fn version_2() {
    exercise(&TestRepository::with_tasks());
}

#[test]
fn version_3_with_extended_flags() {
    let test = TestRepository::with_tasks();
    test.write("src/sparse.txt", "s\n");
    test.git(&["add", "."]);
    test.git(&["commit", "-qm", "sparse"]);
    test.git(&["update-index", "--skip-worktree", "src/sparse.txt", "tasks/AOF-aaa.md"]);
    test.git(&["update-index", "--assume-unchanged", "tasks/AOF-bbb.md"]);
    let repository = test.open();
    let changes = vec![put("tasks/AOF-aaa.md", "flagged\n"), put("tasks/AOF-bbb.md", "flagged\n")];
    commit(&test, &repository, changes).unwrap();
    assert_eq!(
        test.git(&["ls-files", "-v", "tasks/AOF-aaa.md", "tasks/AOF-bbb.md"]),
        "S tasks/AOF-aaa.md\nh tasks/AOF-bbb.md\n"
    );
    test.git(&["update-index", "--no-skip-worktree", "tasks/AOF-aaa.md"]);
    test.git(&["update-index", "--no-assume-unchanged", "tasks/AOF-bbb.md"]);
    exercise(&test);
}

#[test]
fn version_4() {
    let test = TestRepository::with_tasks();
    test.git(&["update-index", "--index-version", "4"]);
    exercise(&test);
    assert_eq!(fs::read(test.path(".git/index")).unwrap()[7], 4);
}

#[test]
fn split() {
    let test = TestRepository::with_tasks();
    test.git(&["update-index", "--split-index"]);
    exercise(&test);
}

#[test]
fn sparse() {
    let test = TestRepository::with_tasks();
    test.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "tasks"]);
    assert!(fs::read(test.path(".git/index")).unwrap().windows(4).any(|window| window == b"sdir"));
    let repository = test.open();
    commit(&test, &repository, vec![put("tasks/AOF-aaa.md", "one\n")]).unwrap();
    assert_eq!(test.status(), "");
    assert_eq!(test.git(&["show", "--format=", "--name-only"]), "tasks/AOF-aaa.md\n");
    test.assert_sound();
}

#[test]
fn staged_entries_read_alike_in_every_layout() {
    let mut readings = Vec::new();
    for layout in [
        &["update-index", "--no-split-index"][..],
        &["update-index", "--index-version", "4"],
        &["update-index", "--split-index"],
        &["sparse-checkout", "set", "--cone", "--sparse-index", "tasks"],
    ] {
        let test = TestRepository::with_tasks();
        test.git(layout);
        test.git(&["checkout", "-q", "-b", "side"]);
        test.write("tasks/AOF-aaa.md", "theirs\n");
        test.git(&["commit", "-qam", "theirs"]);
        test.git(&["checkout", "-q", "main"]);
        test.write("tasks/AOF-aaa.md", "ours\n");
        test.git(&["commit", "-qam", "ours"]);
        let (is_merged, _) = test.try_git(&test.root(), &["merge", "-q", "side"]);
        assert!(!is_merged);
        test.write("tasks/AOF-bbb.md", "staged\n");
        test.write("tasks/AOF-new.md", "new\n");
        test.git(&["add", "tasks/AOF-bbb.md", "tasks/AOF-new.md"]);
        test.write("tasks/AOF-new.md", "newer\n");
        let repository = test.open();
        let head = repository.head_for_reading().unwrap().commit.unwrap();
        let staged = repository.staged(".md").unwrap();
        readings.push((
            repository.unmerged().unwrap(),
            staged,
            repository.staged_changes(head).unwrap(),
        ));
    }
    let (unmerged, staged, changes) = &readings[0];
    assert_eq!(
        unmerged.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
        ["tasks/AOF-aaa.md"]
    );
    let names: Vec<&str> = staged.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(names, ["tasks/AOF-bbb.md", "tasks/AOF-new.md", "tasks/ccc/AOF-ccc.md"]);
    let changes: Vec<&str> = changes.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(changes, ["tasks/AOF-aaa.md", "tasks/AOF-bbb.md", "tasks/AOF-new.md"]);
    assert!(readings.iter().all(|other| *other == readings[0]), "{readings:#?}");
}

#[test]
fn attributes_are_read_in_every_layout() {
    for layout in [&["update-index", "--no-split-index"][..], &["update-index", "--split-index"]] {
        let test = TestRepository::with_tasks();
        test.git(layout);
        test.write(".gitattributes", "tasks/*.md merge=aof\n*.txt -text\nsrc/y.txt text\n");
        let repository = test.open();
        assert_eq!(repository.merge_attribute("tasks/AOF-aaa.md").unwrap().as_deref(), Some("aof"));
        assert_eq!(repository.merge_attribute("src/x.txt").unwrap(), None);
        for (path, keeps) in
            [("src/x.txt", true), ("src/y.txt", false), ("tasks/AOF-aaa.md", false)]
        {
            assert_eq!(repository.keeps_line_endings(path).unwrap(), keeps, "{path}");
        }
    }
}

/// The state of an attribute file: in the worktree, in the index.
const PLACES: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];
const NAMES: [&str; 6] = ["text", "eol", "merge", "filter", "mine", "binary"];
const PATHS: [&str; 4] =
    ["tasks/AOF-aaa.md", "tasks/ccc/AOF-ccc.md", "src/x.txt", "TASKS/aof-bbb.MD"];

/// Puts an attribute file into the worktree and the index, each with a text of its own.
fn place(test: &TestRepository, path: &str, (worktree, index): (bool, bool), texts: [&str; 2]) {
    let _ = fs::remove_file(test.path(path));
    if worktree {
        test.write(path, texts[0]);
    }
    if index {
        let blob = test.open().git().blob(texts[1].as_bytes()).unwrap();
        test.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{path}")]);
    } else {
        test.git(&["update-index", "--force-remove", path]);
    }
}

#[track_caller]
fn assert_attributes_of_git(test: &TestRepository, case: &str) {
    let command = [&["check-attr", "-z"], &NAMES[..], &["--"], &PATHS].concat();
    let by_git = test.git(&command);
    // Git warns of a link.
    let by_git = by_git.split("warning:").next().unwrap();
    let repository = test.open();
    let mut ours = String::new();
    for path in PATHS {
        for name in NAMES {
            let value = match repository.attribute(path, name).unwrap() {
                Attribute::Set => "set".to_owned(),
                Attribute::Unset => "unset".to_owned(),
                Attribute::Unspecified => "unspecified".to_owned(),
                Attribute::Value(value) => value,
            };
            ours.push_str(&format!("{path}\0{name}\0{value}\0"));
        }
    }
    assert_eq!(ours.replace('\0', " "), by_git.replace('\0', " "), "{case}");
}

#[test]
fn attributes_match_git_in_every_folder() {
    let test = TestRepository::with_tasks();
    let everywhere = test.beside("attributes");
    test.git(&["config", "core.attributesFile", everywhere.to_str().unwrap()]);
    let root = [
        "[attr]mine merge=w -text\n*.md filter=w eol=lf\ntasks/** mine\nTasks/*.md !eol\n",
        "[attr]mine merge=i text\n*.md filter=i eol=crlf\n/src mine\nsrc/* -filter\n*.txt mine\n",
    ];
    let nested = ["AOF-aaa.md filter=n\n* text=auto\n", "*.md !filter -eol\n/ccc/*.md binary\n"];
    let info = test.path(".git/info/attributes");
    for at_root in PLACES {
        place(&test, ".gitattributes", at_root, root);
        for in_tasks in PLACES {
            place(&test, "tasks/.gitattributes", in_tasks, nested);
            for more in 0..8 {
                let (of_clone, of_user, ignore_case) = (more & 1 > 0, more & 2 > 0, more & 4 > 0);
                let given = |given, text| if given { text } else { "" };
                fs::write(&info, given(of_clone, "*.md -merge\naof-* eol=crlf\n")).unwrap();
                let text = given(of_user, "[attr]mine filter=u\n*.TXT text merge=u\nccc/ binary\n");
                fs::write(&everywhere, text).unwrap();
                let setting = if ignore_case { "true" } else { "false" };
                test.git(&["config", "core.ignoreCase", setting]);
                let case = format!("root {at_root:?}, tasks {in_tasks:?}, {more:03b}");
                assert_attributes_of_git(&test, &case);
            }
        }
    }
}

#[test]
fn attribute_files_in_odd_states_count_as_for_git() {
    let layouts: [&[&str]; 3] = [
        &["--index-version", "2"],
        &["--index-version", "4"],
        &["--index-version", "2", "--split-index"],
    ];
    for layout in layouts {
        let test = TestRepository::with_tasks();
        let name = "tasks/.gitattributes";
        place(&test, name, (false, true), ["", "*.md merge=i\n"]);
        test.git(&[&["update-index"], layout].concat());
        assert_attributes_of_git(&test, &format!("{layout:?}, in the index"));
        test.write(".gitattributes", "*.md merge=w\n");
        assert_attributes_of_git(&test, &format!("{layout:?}, above in the worktree"));
        fs::rename(test.path(".gitattributes"), test.path("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", test.path(".gitattributes")).unwrap();
        assert_attributes_of_git(&test, &format!("{layout:?}, a link"));
        fs::remove_file(test.path(".gitattributes")).unwrap();
        fs::create_dir(test.path(".gitattributes")).unwrap();
        assert_attributes_of_git(&test, &format!("{layout:?}, a folder"));
        fs::remove_dir(test.path(".gitattributes")).unwrap();
        test.git(&["commit", "-qm", "attributes"]);
        test.git(&["switch", "-qc", "other"]);
        for (branch, text) in [("other", "*.md merge=theirs\n"), ("main", "*.md merge=ours\n")] {
            test.git(&["switch", "-q", branch]);
            test.write(name, text);
            test.git(&["add", name]);
            test.git(&["commit", "-qm", branch]);
        }
        assert!(!test.try_git(&test.root(), &["merge", "-q", "other"]).0);
        fs::remove_file(test.path(name)).unwrap();
        assert_attributes_of_git(&test, &format!("{layout:?}, unmerged"));
        test.git(&["rm", "-q", "--cached", name]);
        test.write(name, "*.md merge=new\n");
        test.git(&["add", "-N", name]);
        fs::remove_file(test.path(name)).unwrap();
        assert_attributes_of_git(&test, &format!("{layout:?}, intent to add"));
    }
}

#[test]
fn a_staged_version_in_a_foreign_layout_is_refused_too() {
    let test = TestRepository::with_tasks();
    test.git(&["update-index", "--index-version", "4"]);
    test.write("tasks/AOF-aaa.md", "person\n");
    test.git(&["add", "."]);
    let repository = test.open();
    let refused = repository
        .prepare(&repository.head().unwrap(), &draft(vec![put("tasks/AOF-aaa.md", "engine\n")]));
    assert!(matches!(refused, Err(GitError::StagedDifferently { .. })));
}

#[test]
fn with_offsets_for_threads() {
    let test = TestRepository::with_tasks();
    test.git(&["config", "index.threads", "2"]);
    for number in 0..200 {
        let path = test.path(&format!("bulk/{}/{number}", number % 50));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    test.git(&["add", "."]);
    test.git(&["commit", "-qm", "bulk"]);
    let holds = |signature: &[u8]| {
        fs::read(test.path(".git/index")).unwrap().windows(4).any(|window| window == signature)
    };
    assert!(holds(b"EOIE") && holds(b"IEOT"));
    let repository = test.open();
    commit(
        &test,
        &repository,
        vec![put("tasks/AOF-aaa.md", "one\n"), put("a", "first\n"), put("z", "last\n")],
    )
    .unwrap();
    assert!(!holds(b"EOIE") && !holds(b"IEOT"));
    test.assert_clean();
}

#[test]
fn with_an_untracked_cache() {
    let test = TestRepository::with_tasks();
    test.git(&["update-index", "--force-untracked-cache"]);
    test.write("src/z.txt", "untracked\n");
    test.write("tasks/AOF-hand.md", "made by hand\n");
    let old = SystemTime::now() - Duration::from_secs(100);
    for folder in ["", "src", "tasks"] {
        fs::File::open(test.path(folder)).unwrap().set_modified(old).unwrap();
    }
    assert_eq!(test.status(), "?? src/z.txt\n?? tasks/AOF-hand.md\n");
    assert_eq!(test.status(), "?? src/z.txt\n?? tasks/AOF-hand.md\n");
    let repository = test.open();
    let prepared = repository
        .prepare(
            &repository.head().unwrap(),
            &draft(vec![put("tasks/AOF-hand.md", "made by hand\n")]),
        )
        .unwrap();
    publish(&repository, &prepared, soon(), &mut no_intent, &mut Vec::new).unwrap();
    assert_eq!(test.status(), "?? src/z.txt\n");
    exercise_untracked(&test);
}

fn exercise_untracked(test: &TestRepository) {
    commit(test, &test.open(), vec![put("tasks/AOF-aaa.md", "one\n")]).unwrap();
    assert_eq!(test.status(), "?? src/z.txt\n");
}

#[test]
fn without_a_checksum() {
    let test = TestRepository::with_tasks();
    test.git(&["config", "index.skipHash", "true"]);
    test.git(&["update-index", "--force-write-index"]);
    let tail = || {
        fs::read(test.path(".git/index")).unwrap().into_iter().rev().take(20).all(|byte| byte == 0)
    };
    assert!(tail());
    exercise(&test);
    commit(&test, &test.open(), vec![put("tasks/AOF-bbb.md", "two\n")]).unwrap();
    assert!(tail());
}

#[test]
fn long_names() {
    let test = TestRepository::with_tasks();
    let long = format!("tasks/{}/AOF-aaa.md", vec!["d".repeat(200); 15].join("/"));
    test.git(&["config", "core.longpaths", "true"]);
    for length in 1..=9 {
        commit(&test, &test.open(), vec![put(&format!("tasks/{}", "n".repeat(length)), "n\n")])
            .unwrap();
    }
    commit(&test, &test.open(), vec![put(&long, "deep\n")]).unwrap();
    commit(&test, &test.open(), vec![put(&long, "deeper\n")]).unwrap();
    test.assert_clean();
}

#[test]
fn an_edit_in_the_same_tick_is_seen() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    // Git wrote its index in the same tick as the file, and then the file changed once more, with the same size: only
    // its content shows that. All this was some time ago, so a younger index would hide it.
    let then = SystemTime::now() - Duration::from_secs(100);
    let date = |path: &str| fs::File::open(test.path(path)).unwrap().set_modified(then).unwrap();
    date("src/x.txt");
    test.git(&["add", "src/x.txt"]);
    date(".git/index");
    fs::write(test.path("src/x.txt"), "q\n").unwrap();
    date("src/x.txt");
    test.git(&["config", "core.trustctime", "false"]);
    commit(&test, &repository, vec![put("tasks/AOF-aaa.md", "racy 1\n")]).unwrap();
    assert_eq!(test.status(), " M src/x.txt\n");

    let written = fs::metadata(test.path("tasks/AOF-aaa.md")).unwrap().modified().unwrap();
    fs::write(test.path("tasks/AOF-aaa.md"), "racy 2\n").unwrap();
    fs::File::open(test.path("tasks/AOF-aaa.md")).unwrap().set_modified(written).unwrap();
    assert_eq!(test.status(), " M src/x.txt\n M tasks/AOF-aaa.md\n");
}

#[test]
fn a_file_that_was_edited_meanwhile_shows_as_modified() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let prepared = repository
        .prepare(&repository.head().unwrap(), &draft(vec![put("tasks/AOF-aaa.md", "engine\n")]))
        .unwrap();
    test.write("tasks/AOF-aaa.md", "person\n");
    publish(&repository, &prepared, soon(), &mut no_intent, &mut Vec::new).unwrap();
    assert_eq!(test.status(), " M tasks/AOF-aaa.md\n");
    assert_eq!(test.git(&["diff", "--cached"]), "");
}

#[test]
fn the_index_may_change_between_the_steps() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let changes = vec![put("tasks/AOF-aaa.md", "engine\n")];
    let prepared =
        repository.prepare(&repository.head().unwrap(), &draft(changes.clone())).unwrap();
    test.write("src/x.txt", "staged late\n");
    test.git(&["add", "src/x.txt"]);
    write_and_publish(&test, &repository, &changes, &prepared).unwrap();
    assert_eq!(test.status(), "M  src/x.txt\n");
}

#[test]
fn a_damaged_index_is_reported_and_left_alone() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let good = fs::read(test.path(".git/index")).unwrap();
    let mut cut = good.clone();
    cut.truncate(100);
    let mut version = good.clone();
    version[7] = 9;
    for bad in [cut, version, b"DIRC".to_vec(), vec![0; 200]] {
        fs::write(test.path(".git/index"), &bad).unwrap();
        let refused = repository
            .prepare(&repository.head().unwrap(), &draft(vec![put("tasks/AOF-aaa.md", "x\n")]));
        assert!(matches!(refused, Err(GitError::Index { .. })));
        assert_eq!(fs::read(test.path(".git/index")).unwrap(), bad);
    }
}

#[test]
fn cached_trees_match_those_of_git() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    for changes in [
        vec![put("tasks/AOF-aaa.md", "one\n")],
        vec![put("tasks/AOF-new.md", "new\n"), put("tasks/ccc/AOF-ccd.md", "c\n")],
        vec![put("tasks/archive/2026/02/16/AOF-aaa.md", "done\n"), delete("tasks/AOF-aaa.md")],
        vec![
            put("tasks/archive/2026/02/17/AOF-x.md", "x\n"),
            put("tasks/zz/AOF-y.md", "y\n"),
            put("a/b", "b\n"),
        ],
        vec![delete("tasks/archive/2026/02/16/AOF-aaa.md")],
        vec![delete("tasks/ccc/AOF-ccc.md"), delete("tasks/ccc/AOF-ccd.md")],
    ] {
        commit(&test, &repository, changes).unwrap();
        // Git uses the trees that the index still has.
        assert_eq!(test.git(&["write-tree"]), test.git(&["rev-parse", "HEAD^{tree}"]));
    }
}

/// Stages `x`, modifies `y` and leaves `z` untracked.
fn busy_person(test: &TestRepository) {
    test.write("src/x.txt", "staged\n");
    test.write("src/new.txt", "staged too\n");
    test.git(&["add", "src/x.txt", "src/new.txt"]);
    test.write("src/y.txt", "modified\n");
    test.write("src/z.txt", "untracked\n");
}

#[test]
fn changes_of_a_person_are_left_alone() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    busy_person(&test);
    let before = test.status();
    assert_eq!(before, "A  src/new.txt\nM  src/x.txt\n M src/y.txt\n?? src/z.txt\n");
    commit(&test, &repository, vec![put("tasks/AOF-aaa.md", "one\n")]).unwrap();
    assert_eq!(test.status(), before);
    let archived = "tasks/archive/2026/AOF-aaa.md";
    commit(&test, &repository, vec![put(archived, "two\n"), delete("tasks/AOF-aaa.md")]).unwrap();
    assert_eq!(test.status(), before);
    assert_eq!(
        test.git(&["diff", "--name-only", "HEAD~2", "HEAD"]),
        "tasks/AOF-aaa.md\ntasks/archive/2026/AOF-aaa.md\n"
    );

    test.git(&["commit", "-qm", "mine"]);
    assert_eq!(test.git(&["show", "--format=", "--name-only"]), "src/new.txt\nsrc/x.txt\n");
    assert_eq!(test.status(), " M src/y.txt\n?? src/z.txt\n");
    test.assert_sound();
}

#[test]
fn a_tree_that_a_person_wrote_from_the_index_is_not_mistaken_for_the_branchs() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    test.write("tasks/AOF-bbb.md", "staged task\n");
    test.git(&["add", "."]);
    test.git(&["write-tree"]);
    commit(
        &test,
        &repository,
        vec![put("tasks/AOF-aaa.md", "one\n"), put("tasks/ccc/AOF-new.md", "n\n")],
    )
    .unwrap();
    assert_eq!(test.status(), "M  tasks/AOF-bbb.md\n");
    test.git(&["commit", "-qm", "mine"]);
    assert_eq!(test.git(&["show", "--format=", "--name-only"]), "tasks/AOF-bbb.md\n");
    test.assert_clean();
}

#[test]
fn a_staged_version_of_the_same_task_is_never_overwritten() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let head = repository.head().unwrap();
    let change = || draft(vec![put("tasks/AOF-aaa.md", "engine\n")]);
    let early = repository.prepare(&head, &change()).unwrap();
    test.write("tasks/AOF-aaa.md", "person\n");
    test.git(&["add", "tasks/AOF-aaa.md"]);

    let refused = |error: &GitError| matches!(error, GitError::StagedDifferently { path } if path == "tasks/AOF-aaa.md");
    assert!(repository.prepare(&head, &change()).is_err_and(|error| refused(&error)));
    assert!(
        publish(&repository, &early, soon(), &mut no_intent, &mut Vec::new)
            .is_err_and(|error| refused(&error))
    );
    assert_eq!(repository.head().unwrap(), head);
    assert_eq!(test.git(&["show", ":tasks/AOF-aaa.md"]), "person\n");

    let drafts = [draft(vec![put("tasks/AOF-aaa.md", "person\n")]), change()];
    let both = repository.prepare_batch(&head, &drafts).unwrap();
    test.write("tasks/AOF-aaa.md", "engine\n");
    publish(&repository, &both, soon(), &mut no_intent, &mut Vec::new).unwrap();
    test.assert_clean();
}

#[test]
fn staged_deletions_conflicts_and_intended_additions_are_refused() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let head = repository.head().unwrap();
    let prepare = |path: &str| repository.prepare(&head, &draft(vec![put(path, "engine\n")]));
    test.git(&["rm", "-q", "--cached", "tasks/AOF-aaa.md"]);
    assert!(matches!(prepare("tasks/AOF-aaa.md"), Err(GitError::StagedDifferently { .. })));
    test.write("tasks/AOF-ita.md", "meant\n");
    test.git(&["add", "-N", "tasks/AOF-ita.md"]);
    assert!(matches!(prepare("tasks/AOF-ita.md"), Err(GitError::IntentToAdd { .. })));
    let blob = test.git(&["rev-parse", "HEAD:tasks/AOF-bbb.md"]);
    let stage = |number| format!("100644 {} {number}\ttasks/AOF-bbb.md", blob.trim());
    let stages = [stage(1), stage(2), stage(3)].join("\n");
    fs::write(test.beside("stages"), format!("0 {}\ttasks/AOF-bbb.md\n{stages}\n", "0".repeat(40)))
        .unwrap();
    let shell = format!("git update-index --index-info < '{}'", test.beside("stages").display());
    test.git(&["-c", &format!("alias.stages=!{shell}"), "stages"]);
    assert!(matches!(prepare("tasks/AOF-bbb.md"), Err(GitError::Unmerged { .. })));
    assert!(prepare("tasks/ccc/AOF-ccc.md").is_ok());
}

#[test]
fn hooks_do_not_run() {
    let test = TestRepository::with_tasks();
    for hook in
        ["pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"]
    {
        let path = test.path(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\ntouch \"$(git rev-parse --git-dir)/hook-ran\"\nexit 1\n")
            .unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    commit(&test, &test.open(), vec![put("tasks/AOF-aaa.md", "one\n")]).unwrap();
    assert!(!test.path(".git/hook-ran").exists());
}
