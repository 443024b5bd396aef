//! Whoever signs in tests: an Ed25519 key, and SSH signatures made of it without any program. And the real `ssh-keygen`, where there is one.

use std::path::PathBuf;
use std::process::Command;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::digest::{SHA256, SHA512, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};

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
        armored(&self.blob(), &wire(&[b"ssh-ed25519", self.0.sign(&to_sign(text)).as_ref()]))
    }

    fn blob(&self) -> Vec<u8> {
        wire(&[b"ssh-ed25519", self.0.public_key().as_ref()])
    }
}

/// A passkey, and the browser that asks it: signatures as a page at `origin` gets them.
pub(crate) struct PasskeySigner {
    pub pair: EcdsaKeyPair,
    /// What the authenticator says: 1 its owner was there, 4 and showed to be its owner.
    pub flags: u8,
    pub origin: &'static str,
}

const PASSKEY: &[u8] = b"sk-ecdsa-sha2-nistp256@openssh.com";
const RP_ID: &[u8] = b"localhost";

impl PasskeySigner {
    pub(crate) fn new() -> Self {
        let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let made = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, made.as_ref(), &random).unwrap();
        Self { pair, flags: 5, origin: "http://localhost:7420" }
    }

    /// Returns its line for org.yaml.
    pub(crate) fn public(&self) -> String {
        let kind = std::str::from_utf8(PASSKEY).unwrap();
        format!("{kind} {} passkey:Y3JlZGVudGlhbA", BASE64_STANDARD.encode(self.blob()))
    }

    /// Returns the signature of a text; `asked` is the text that the page had it sign.
    pub(crate) fn sign(&self, asked: &str) -> String {
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(to_sign(asked));
        let client_data = format!(
            "{{\"type\":\"webauthn.get\",\"challenge\":\"{challenge}\",\"origin\":\"{}\",\"crossOrigin\":false}}",
            self.origin
        );
        let hash = |bytes: &[u8]| digest(&SHA256, bytes).as_ref().to_vec();
        let rest = [&[self.flags][..], &7_u32.to_be_bytes()].concat();
        let signed = [hash(RP_ID), rest.clone(), hash(client_data.as_bytes())].concat();
        let bytes = self.pair.sign(&SystemRandom::new(), &signed).unwrap();
        let (r, s) = bytes.as_ref().split_at(32);
        let number = |bytes: &[u8]| {
            let from = bytes.iter().position(|byte| *byte != 0).unwrap();
            [if bytes[from] >= 0x80 { &[0_u8][..] } else { &[] }, &bytes[from..]].concat()
        };
        let inner = [
            wire(&[&[b"webauthn-", PASSKEY].concat(), &wire(&[&number(r), &number(s)])]),
            rest,
            wire(&[self.origin.as_bytes(), client_data.as_bytes(), b""]),
        ];
        armored(&self.blob(), &inner.concat())
    }

    fn blob(&self) -> Vec<u8> {
        wire(&[PASSKEY, b"nistp256", self.pair.public_key().as_ref(), RP_ID])
    }
}

/// Returns what a key signs for a text.
fn to_sign(text: &str) -> Vec<u8> {
    let digest = digest(&SHA512, text.as_bytes());
    [b"SSHSIG".to_vec(), wire(&[b"aof", b"", b"sha512", digest.as_ref()])].concat()
}

/// Returns a whole signature.
fn armored(key: &[u8], inner: &[u8]) -> String {
    let parts = wire(&[key, b"aof", b"", b"sha512", inner]);
    let lines = BASE64_STANDARD.encode([b"SSHSIG\0\0\0\x01".to_vec(), parts].concat());
    let lines: Vec<&str> =
        lines.as_bytes().chunks(70).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n", lines.join("\n"))
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
