use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::environment::{TestRepository, commit, delete, draft, no_intent, publish, put, soon};
use crate::{GitError, Person, Repository};

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
    publish(&repository, &prepared, soon(), &mut no_intent, &mut Vec::new).unwrap();
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
        Err(GitError::Waiting { reason, .. }) => assert!(reason.contains(word), "{reason}"),
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

/// Runs a test of this module in a process whose environment is its own.
fn run(test: &TestRepository, name: &str, variables: &[(&str, &str)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("tests::hostile::{name}")])
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

/// The repository to test, if this process was started by `run`.
fn repository_under_test() -> Option<Repository> {
    Some(Repository::discover(std::env::var_os("AOF_TEST_REPOSITORY")?.as_ref()).unwrap())
}

#[test]
fn child_has_no_identity() {
    let Some(repository) = repository_under_test() else { return };
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
fn child_reads_global_configuration() {
    let Some(repository) = repository_under_test() else { return };
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
fn child_reads_its_environment() {
    let Some(repository) = repository_under_test() else { return };
    assert_eq!(repository.identity().unwrap(), Person::new("Env", "env@example.org").unwrap());
    assert_eq!(repository.author_identity().unwrap().name(), "Global");
}

#[test]
fn child_reads_settings_before_there_is_a_repository() {
    if repository_under_test().is_some() {
        assert_eq!(Repository::user().unwrap(), Person::new("Pen", "global@example.org").unwrap());
    }
}

#[test]
fn child_is_unknown_before_there_is_a_repository() {
    if repository_under_test().is_some() {
        assert!(matches!(Repository::user(), Err(GitError::NoIdentity { missing: "`user.name`" })));
    }
}

#[test]
fn authors_come_from_the_sources_of_git() {
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
    run(&test, "child_reads_its_environment", &committer);
    run(
        &test,
        "child_reads_settings_before_there_is_a_repository",
        &[global, ("GIT_AUTHOR_NAME", "Pen")],
    );
    run(
        &test,
        "child_reads_global_configuration",
        &[global, ("GIT_AUTHOR_NAME", "Pen"), ("GIT_INDEX_FILE", "/nonexistent")],
    );
}

#[test]
fn an_included_file_is_read_again_once_it_has_changed() {
    let test = TestRepository::empty();
    let mut repository = test.open();
    let mut name = || {
        repository.forget_cached_settings();
        repository.identity().unwrap().name().to_owned()
    };
    test.git(&["config", "include.path", "more"]);
    assert_eq!(name(), "Ada Lovelace");
    // The included file was missing when git was asked.
    for now in ["Grace Hopper", "Mary Jackson"] {
        test.write(".git/more", &format!("[user]\nname = {now}\n"));
        assert_eq!(name(), now);
    }
    test.git(&["config", "--unset", "include.path"]);
    assert_eq!(name(), "Ada Lovelace");
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
        .prepare(&repository.head().unwrap(), &draft(vec![put("tasks/AOF-aaa.md", "inner\n")]))
        .unwrap();
    std::fs::write(outer.path("inner/tasks/AOF-aaa.md"), "inner\n").unwrap();
    publish(&repository, &prepared, soon(), &mut no_intent, &mut Vec::new).unwrap();
    assert_eq!(outer.git_in(&outer.path("inner"), &["status", "--porcelain"]), "");
    assert_eq!(outer.status(), " M inner\n");
    commit(&outer, &outer.open(), vec![put("tasks/AOF-aaa.md", "outer\n")]).unwrap();
    assert_eq!(outer.status(), " M inner\n");
    let into = outer.open();
    let refused = into.prepare(&into.head().unwrap(), &draft(vec![put("inner/tasks/x.md", "x\n")]));
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
    if let Some(repository) = repository_under_test() {
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

/// A stand-in for `gpg` that checks its arguments and signs with a hash.
fn fake_gpg(test: &TestRepository, body: &str) {
    let path = test.beside("fake-gpg");
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    test.git(&["config", "gpg.program", path.to_str().unwrap()]);
    test.git(&["config", "commit.gpgSign", "true"]);
}

#[test]
fn commits_are_signed_by_the_program_that_git_would_run() {
    let test = TestRepository::with_tasks();
    fake_gpg(
        &test,
        "[ \"$1 $2 $3\" = '--status-fd=2 -bsau Ada Lovelace <ada@example.org>' ] || exit 9\n\
         cat > \"$(dirname \"$0\")/signed\"\n\
         echo '[GNUPG:] SIG_CREATED D 1 8 00 1 AAAA' >&2\n\
         printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nabc\\n-----END PGP SIGNATURE-----\\n'",
    );
    let published = commit(&test, &test.open(), vec![put("tasks/AOF-aaa.md", "signed\n")]).unwrap();
    test.assert_clean();
    let raw = test.git(&["cat-file", "commit", "HEAD"]);
    let signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n";
    assert!(raw.contains(signature), "{raw}");
    assert_eq!(fs::read_to_string(test.beside("signed")).unwrap(), raw.replace(signature, ""));
    assert_eq!(test.git(&["rev-parse", "HEAD"]).trim(), published.commit.to_string());
}

#[test]
fn a_signature_that_fails_fails_the_preparation() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let head = repository.head().unwrap();
    for (program, word) in [
        ("echo 'gpg: no secret key' >&2; exit 2", "no secret key"),
        ("printf -- '-----BEGIN X-----\\n'", "no signature"),
        ("echo '[GNUPG:] SIG_CREATED D' >&2; echo nonsense", "armored"),
    ] {
        fake_gpg(&test, program);
        let error =
            repository.prepare(&head, &draft(vec![put("tasks/AOF-aaa.md", "x\n")])).err().unwrap();
        assert!(
            matches!(&error, GitError::Signing { .. }) && error.to_string().contains(word),
            "{error}"
        );
    }
    test.git(&["config", "gpg.program", "/nonexistent/gpg"]);
    assert!(matches!(
        repository.prepare(&head, &draft(vec![put("tasks/AOF-aaa.md", "x\n")])),
        Err(GitError::Signing { .. })
    ));
    assert_eq!(repository.head().unwrap(), head);
}

#[test]
fn ssh_signatures_verify() {
    let test = TestRepository::with_tasks();
    let key = test.beside("key");
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f"])
        .arg(&key)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        assert!(
            std::env::var_os("AOF_REQUIRE_SSH_KEYGEN").is_none(),
            "there is no ssh-keygen: install openssh-client"
        );
        eprintln!("skipped: there is no ssh-keygen; openssh-client brings it");
        return;
    }
    let public = fs::read_to_string(key.with_extension("pub")).unwrap();
    fs::write(test.beside("signers"), format!("ada@example.org {public}")).unwrap();
    test.git(&["config", "gpg.format", "ssh"]);
    test.git(&["config", "user.signingKey", key.with_extension("pub").to_str().unwrap()]);
    test.git(&["config", "gpg.ssh.allowedSignersFile", test.beside("signers").to_str().unwrap()]);
    test.git(&["config", "commit.gpgSign", "true"]);
    commit(&test, &test.open(), vec![put("tasks/AOF-aaa.md", "signed\n")]).unwrap();
    let verified = test.git(&["verify-commit", "HEAD"]);
    assert!(verified.contains("Good \"git\" signature for ada@example.org"), "{verified}");
    test.assert_clean();

    let locked = test.beside("locked");
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "secret", "-f"])
        .arg(&locked)
        .status()
        .unwrap();
    assert!(made.success());
    test.git(&["config", "user.signingKey", locked.to_str().unwrap()]);
    let repository = test.open();
    let refused = repository
        .prepare(&repository.head().unwrap(), &draft(vec![put("tasks/AOF-aaa.md", "asks\n")]));
    assert!(matches!(refused, Err(GitError::Signing { .. })));
}
