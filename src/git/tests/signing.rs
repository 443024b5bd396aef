use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::environment::{TestRepository, commit, draft, put};
use crate::git::GitError;

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
