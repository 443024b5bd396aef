use std::process::Command;

use super::environment::{TestRepository, commit, put};
use crate::git::{GitError, Person, Repository};

/// Runs a test of this module in a process whose environment is its own.
fn run(test: &TestRepository, name: &str, variables: &[(&str, &str)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("git::tests::people::{name}")])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", test.beside("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("AOF_TEST_REPOSITORY", test.root())
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
}

/// The repository that this process is about, if it was started by `run`.
fn own() -> Option<Repository> {
    Some(Repository::discover(std::env::var_os("AOF_TEST_REPOSITORY")?.as_ref()).unwrap())
}

#[test]
fn child_has_no_identity() {
    let Some(repository) = own() else { return };
    let error = repository.identity().unwrap_err();
    assert!(matches!(error, GitError::NoIdentity { missing: "`user.name`" }));
    let text = error.to_string();
    assert!(
        text.contains("git config --global user.name \"")
            && text.contains("git config --global user.email \""),
        "{text}"
    );
}

#[test]
fn child_is_told_by_global_configuration() {
    let Some(repository) = own() else { return };
    assert_eq!(
        repository.identity().unwrap(),
        Person::new("Global", "global@example.org").unwrap()
    );
    assert_eq!(
        repository.author_identity().unwrap(),
        Person::new("Pen", "global@example.org").unwrap()
    );
}

#[test]
fn child_is_told_by_its_environment() {
    let Some(repository) = own() else { return };
    assert_eq!(repository.identity().unwrap(), Person::new("Env", "env@example.org").unwrap());
    assert_eq!(repository.author_identity().unwrap().name(), "Global");
}

#[test]
fn child_is_told_before_there_is_a_repository() {
    if own().is_some() {
        assert_eq!(Repository::user().unwrap(), Person::new("Pen", "global@example.org").unwrap());
    }
}

#[test]
fn child_is_unknown_before_there_is_a_repository() {
    if own().is_some() {
        assert!(matches!(Repository::user(), Err(GitError::NoIdentity { missing: "`user.name`" })));
    }
}

#[test]
fn people_come_from_where_git_takes_them() {
    let test = TestRepository::empty();
    for name in ["user.name", "user.email"] {
        test.git(&["config", "--unset", name]);
    }
    run(&test, "child_has_no_identity", &[]);
    run(&test, "child_is_unknown_before_there_is_a_repository", &[("GIT_AUTHOR_NAME", "Pen")]);
    let global = test.beside("elsewhere.gitconfig");
    std::fs::write(&global, "[user]\nname = Global\nemail = global@example.org\n").unwrap();
    let global = ("GIT_CONFIG_GLOBAL", global.to_str().unwrap());
    let committer =
        [global, ("GIT_COMMITTER_NAME", "Env"), ("GIT_COMMITTER_EMAIL", "env@example.org")];
    run(&test, "child_is_told_by_its_environment", &committer);
    run(&test, "child_is_told_before_there_is_a_repository", &[global, ("GIT_AUTHOR_NAME", "Pen")]);
    run(
        &test,
        "child_is_told_by_global_configuration",
        &[global, ("GIT_AUTHOR_NAME", "Pen"), ("GIT_INDEX_FILE", "/nonexistent")],
    );
}

#[test]
fn a_submodule_is_a_repository_of_its_own() {
    let test = TestRepository::with_tasks();
    let outer = TestRepository::with_tasks();
    let url = test.root();
    outer.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        url.to_str().unwrap(),
        "inner",
    ]);
    outer.git(&["commit", "-qm", "submodule"]);
    let repository = Repository::discover(&outer.path("inner")).unwrap();
    assert_eq!(repository.prefix(), "");
    let prepared = repository
        .prepare(
            &repository.head().unwrap(),
            &crate::git::tests::environment::draft(vec![put("tasks/AOF-aaa.md", "inner\n")]),
        )
        .unwrap();
    std::fs::write(outer.path("inner/tasks/AOF-aaa.md"), "inner\n").unwrap();
    repository
        .publish(
            &prepared,
            crate::git::tests::environment::soon(),
            &mut crate::git::tests::environment::no_intent,
            &mut || Some(Vec::new()),
        )
        .unwrap();
    assert_eq!(outer.git_in(&outer.path("inner"), &["status", "--porcelain"]), "");
    assert_eq!(outer.status(), " M inner\n");
    commit(&outer, &outer.open(), vec![put("tasks/AOF-aaa.md", "outer\n")]).unwrap();
    assert_eq!(outer.status(), " M inner\n");
    let into = outer.open();
    let refused = into.prepare(
        &into.head().unwrap(),
        &crate::git::tests::environment::draft(vec![put("inner/tasks/x.md", "x\n")]),
    );
    assert!(matches!(refused, Err(GitError::BadPath { .. })));
}

#[test]
fn child_does_not_own_the_repository() {
    let Some(root) = std::env::var_os("AOF_TEST_REPOSITORY") else { return };
    let error = Repository::discover(root.as_ref()).map(|_| ()).unwrap_err();
    let line = format!("git config --global --add safe.directory {}", root.display());
    assert!(
        matches!(error, GitError::NotOwned { .. }) && error.to_string().contains(&line),
        "{error}"
    );
}

#[test]
fn child_trusts_the_repository() {
    if let Some(repository) = own() {
        repository.head().unwrap();
    }
}

#[test]
fn a_repository_of_somebody_else_has_to_be_trusted_first() {
    let test = TestRepository::with_tasks();
    let root = test.root().canonicalize().unwrap();
    for path in [root.clone(), root.join(".git")] {
        if std::os::unix::fs::chown(path, Some(65_534), None).is_err() {
            eprintln!("skipped: only root can give files away");
            return;
        }
    }
    let global = test.beside("trusting.gitconfig");
    std::fs::write(&global, "").unwrap();
    let variables = [("GIT_CONFIG_GLOBAL", global.to_str().unwrap())];
    run(&test, "child_does_not_own_the_repository", &variables);
    std::fs::write(&global, format!("[safe]\ndirectory = {}\n", root.display())).unwrap();
    run(&test, "child_trusts_the_repository", &variables);
}
