use super::environment::{TestRepository, commit, delete, draft, no_intent, put, soon};
use crate::git::GitError;

/// Stages `x`, modifies `y` and leaves `z` untracked.
fn busy_person(test: &TestRepository) {
    test.write("src/x.txt", "staged\n");
    test.write("src/new.txt", "staged too\n");
    test.git(&["add", "src/x.txt", "src/new.txt"]);
    test.write("src/y.txt", "modified\n");
    test.write("src/z.txt", "untracked\n");
}

#[test]
fn what_a_person_does_is_left_alone() {
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

    let refused = |error: &GitError| matches!(error, GitError::StagedElsewise { path } if path == "tasks/AOF-aaa.md");
    assert!(repository.prepare(&head, &change()).is_err_and(|error| refused(&error)));
    assert!(
        repository
            .publish(&early, soon(), &mut no_intent, &mut || Some(Vec::new()))
            .is_err_and(|error| refused(&error))
    );
    assert_eq!(repository.head().unwrap(), head);
    assert_eq!(test.git(&["show", ":tasks/AOF-aaa.md"]), "person\n");

    let drafts = [draft(vec![put("tasks/AOF-aaa.md", "person\n")]), change()];
    let both = repository.prepare_batch(&head, &drafts).unwrap();
    test.write("tasks/AOF-aaa.md", "engine\n");
    repository.publish(&both, soon(), &mut no_intent, &mut || Some(Vec::new())).unwrap();
    test.assert_clean();
}

#[test]
fn staged_deletions_conflicts_and_intended_additions_are_refused() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let head = repository.head().unwrap();
    let prepare = |path: &str| repository.prepare(&head, &draft(vec![put(path, "engine\n")]));
    test.git(&["rm", "-q", "--cached", "tasks/AOF-aaa.md"]);
    assert!(matches!(prepare("tasks/AOF-aaa.md"), Err(GitError::StagedElsewise { .. })));
    test.write("tasks/AOF-ita.md", "meant\n");
    test.git(&["add", "-N", "tasks/AOF-ita.md"]);
    assert!(matches!(prepare("tasks/AOF-ita.md"), Err(GitError::IntentToAdd { .. })));
    let blob = test.git(&["rev-parse", "HEAD:tasks/AOF-bbb.md"]);
    let stage = |number| format!("100644 {} {number}\ttasks/AOF-bbb.md", blob.trim());
    let stages = [stage(1), stage(2), stage(3)].join("\n");
    std::fs::write(
        test.beside("stages"),
        format!("0 {}\ttasks/AOF-bbb.md\n{stages}\n", "0".repeat(40)),
    )
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
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "#!/bin/sh\ntouch \"$(git rev-parse --git-dir)/hook-ran\"\nexit 1\n")
            .unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
    }
    commit(&test, &test.open(), vec![put("tasks/AOF-aaa.md", "one\n")]).unwrap();
    assert!(!test.path(".git/hook-ran").exists());
}
