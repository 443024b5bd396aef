//! Whoever signs in tests: an Ed25519 key, and SSH signatures made of it without any program. And the real `ssh-keygen`, where there is one.

use std::path::PathBuf;
use std::process::Command;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA512, digest};
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::support::environment::TestEnvironment;

/// A key that signs.
pub(crate) struct Signer(Ed25519KeyPair);

impl Signer {
    /// Returns the key of that number.
    pub(crate) fn new(number: u8) -> Self {
        Self(Ed25519KeyPair::from_seed_unchecked(&[number; 32]).unwrap())
    }

    /// Returns the line of its `.pub` file.
    pub(crate) fn public(&self) -> String {
        format!("ssh-ed25519 {} ada@laptop", BASE64_STANDARD.encode(self.blob()))
    }

    /// Returns what `ssh-keygen -Y sign -n aof` would write.
    pub(crate) fn sign(&self, text: &str) -> String {
        let signed = [
            b"SSHSIG".to_vec(),
            wire(&[b"aof", b"", b"sha512", digest(&SHA512, text.as_bytes()).as_ref()]),
        ]
        .concat();
        let inner = wire(&[b"ssh-ed25519", self.0.sign(&signed).as_ref()]);
        let blob =
            [b"SSHSIG\0\0\0\x01".to_vec(), wire(&[&self.blob(), b"aof", b"", b"sha512", &inner])]
                .concat();
        let lines = BASE64_STANDARD.encode(blob);
        let lines: Vec<&str> =
            lines.as_bytes().chunks(70).map(|line| std::str::from_utf8(line).unwrap()).collect();
        format!(
            "-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n",
            lines.join("\n")
        )
    }

    fn blob(&self) -> Vec<u8> {
        wire(&[b"ssh-ed25519", self.0.public_key().as_ref()])
    }
}

fn wire(parts: &[&[u8]]) -> Vec<u8> {
    parts
        .iter()
        .flat_map(|part| [&u32::try_from(part.len()).unwrap().to_be_bytes()[..], part].concat())
        .collect()
}

/// Returns whether there is an `ssh-keygen`; says so where there is none, and fails where CI has said that there must be one.
#[expect(clippy::print_stderr, reason = "whoever runs the tests is to see what was not tried")]
pub(crate) fn has_ssh_keygen() -> bool {
    // It has no `--version`, and says what it wants.
    if Command::new("ssh-keygen").arg("-?").output().is_ok() {
        return true;
    }
    assert!(
        std::env::var_os("AOF_REQUIRE_SSH_KEYGEN").is_none(),
        "there is no `ssh-keygen`: install it, as with `apt-get install openssh-client`"
    );
    eprintln!("skipped: there is no `ssh-keygen`; `apt-get install openssh-client` brings it");
    false
}

/// Makes a key with `ssh-keygen`, and returns its file and its public line.
pub(crate) fn ssh_key(env: &TestEnvironment, name: &str, more: &[&str]) -> (PathBuf, String) {
    let file = env.home().join(name);
    let mut command = env.command("ssh-keygen");
    command.args(["-q", "-C", "ada@laptop", "-f"]).arg(&file).args(more);
    if !more.contains(&"-N") {
        command.args(["-N", ""]);
    }
    let _ = env.run(command).success();
    let public = std::fs::read_to_string(file.with_extension("pub")).unwrap();
    (file, public.trim().to_owned())
}
