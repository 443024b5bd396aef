use std::fs;

use super::environment::{TestRepository, commit, delete, draft, put};
use crate::git::{GitError, Person, Repository};

#[test]
fn paths_that_mean_another_place_are_refused() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let head = repository.head().unwrap();
    for path in [
        "",
        "/etc/passwd",
        "../out",
        "tasks/../../out",
        "tasks//a",
        "tasks/",
        "./a",
        ".git/hooks/post-commit",
        "a/.GIT/config",
        "git~1/config",
        "a\nb",
        "a\0b",
        ".g\u{200c}it/config",
        "a\\b",
    ] {
        let refused = repository.prepare(&head, &draft(vec![put(path, "x\n")]));
        assert!(matches!(refused, Err(GitError::BadPath { .. })), "{path:?}");
    }
    for changes in [
        vec![put("tasks/AOF-aaa.md/x", "x\n")],
        vec![put("tasks", "x\n")],
        vec![delete("tasks/ccc")],
        vec![put("a", "x\n"), put("a/b", "x\n")],
        vec![put("a", "x\n"), put("a", "y\n")],
    ] {
        assert!(matches!(
            repository.prepare(&head, &draft(changes)),
            Err(GitError::BadPath { .. })
        ));
    }
    test.assert_clean();
}

#[test]
fn links_are_not_written_through() {
    let test = TestRepository::with_tasks();
    std::os::unix::fs::symlink("/tmp", test.path("link")).unwrap();
    std::os::unix::fs::symlink("AOF-aaa.md", test.path("tasks/AOF-lnk.md")).unwrap();
    test.git(&["add", "."]);
    test.git(&["commit", "-qm", "links"]);
    let repository = test.open();
    let head = repository.head().unwrap();
    for path in ["link/AOF-aaa.md", "tasks/AOF-lnk.md"] {
        let refused = repository.prepare(&head, &draft(vec![put(path, "x\n")]));
        assert!(matches!(refused, Err(GitError::BadPath { .. })), "{path}");
    }
    assert_eq!(repository.read(head.commit.unwrap(), "tasks/AOF-lnk.md").unwrap(), None);
}

#[test]
fn names_with_everything_in_them_are_committed() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    for path in [
        "tasks/-rf.md",
        "tasks/ä ö\u{301}.md",
        "tasks/:(top)x.md",
        "tasks/a\"b'c.md",
        "tasks/*.md",
        "tasks/😀/x.md",
    ] {
        commit(&test, &repository, vec![put(path, "x\n")]).unwrap();
        test.assert_clean();
    }
}

#[test]
fn names_and_messages_cannot_forge_a_header() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let mut evil = draft(vec![put("tasks/AOF-aaa.md", "x\n")]);
    evil.author = Person::new("Eve\nparent 0000 <x>", "eve@x>\n\ncommitter z <z").unwrap();
    evil.message = "subject\0 with\u{1b}[31m nul\ngpgsig x\n\n\n".to_owned();
    let prepared = repository.prepare(&repository.head().unwrap(), &evil).unwrap();
    test.write("tasks/AOF-aaa.md", "x\n");
    repository
        .publish(
            &prepared,
            crate::git::tests::environment::soon(),
            &mut crate::git::tests::environment::no_intent,
            &mut || Some(Vec::new()),
        )
        .unwrap();
    test.assert_clean();
    assert_eq!(test.git(&["show", "-s", "--format=%an|%ae|%P"]).matches('|').count(), 2);
    assert_eq!(test.git(&["reflog"]).lines().count(), 2);
}

#[test]
fn times_before_git_are_refused() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let mut early = draft(vec![put("tasks/AOF-aaa.md", "x\n")]);
    early.authored = jiff::Timestamp::from_second(-1).unwrap();
    assert!(matches!(
        repository.prepare(&repository.head().unwrap(), &early),
        Err(GitError::BadTime { .. })
    ));
}

#[test]
fn repositories_that_cannot_be_served_are_refused_in_words() {
    let test = TestRepository::empty();
    let refusal = |name: &str| Repository::discover(&test.beside(name)).map(|_| ()).unwrap_err();
    fs::create_dir(test.beside("none")).unwrap();
    assert!(matches!(refusal("none"), GitError::NoRepository { .. }));
    assert!(matches!(refusal("absent"), GitError::Io { .. }));
    test.git_in(&test.beside(""), &["init", "-q", "--bare", "bare"]);
    assert!(matches!(refusal("bare"), GitError::Bare { .. }));
    test.git_in(&test.beside(""), &["init", "-q", "--object-format=sha256", "sha256"]);
    assert!(matches!(refusal("sha256"), GitError::Sha256 { .. }), "{:?}", refusal("sha256"));
    test.git_in(&test.beside(""), &["init", "-q", "--ref-format=reftable", "reftable"]);
    assert!(matches!(refusal("reftable"), GitError::Reftable { .. }), "{:?}", refusal("reftable"));
    let inside = Repository::discover(&test.path(".git/refs")).map(|_| ()).unwrap_err();
    assert!(
        matches!(inside, GitError::OutsideWorktree { .. } | GitError::Bare { .. }),
        "{inside:?}"
    );
}

#[test]
fn a_detached_head_and_unfinished_operations_are_waited_for() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let waits = |word: &str| match repository.head() {
        Err(GitError::Waiting { reason }) => assert!(reason.contains(word), "{reason}"),
        other => panic!("{other:?}"),
    };
    test.git(&["checkout", "-q", "--detach"]);
    waits("git switch");
    test.git(&["checkout", "-q", "-b", "side"]);
    test.write("src/x.txt", "side\n");
    test.git(&["commit", "-qam", "side"]);
    test.git(&["checkout", "-q", "main"]);
    test.write("src/x.txt", "main\n");
    test.git(&["commit", "-qam", "main"]);
    for (start, word) in [
        (["merge", "side"], "git merge --abort"),
        (["rebase", "side"], "git rebase --abort"),
        (["cherry-pick", "side"], "git cherry-pick --abort"),
    ] {
        assert!(!test.try_git(&test.root(), &start).0);
        waits(word);
        test.git(&[start[0], "--abort"]);
        repository.head().unwrap();
    }
    test.git(&["bisect", "start", "HEAD", "HEAD~1"]);
    waits("bisect");
    test.git(&["bisect", "reset"]);
    assert_eq!(repository.head().unwrap().branch(), "main");
}

#[test]
fn a_new_repository_starts_on_a_branch() {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::init(folder.path()).unwrap();
    let head = repository.head().unwrap();
    assert!(head.reference.starts_with("refs/heads/"));
    assert_eq!(head.commit, None);
    assert_eq!(repository.prefix(), "");
}
