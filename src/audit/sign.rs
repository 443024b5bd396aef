//! Signatures as git makes them (`commit.gpgSign`, `gpg.format`, `user.signingKey`), by the program that git would
//! run, with a deadline: a passphrase prompt must never hold the writer lock for ever.

use std::fs;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

use super::error::AuditError;
use super::identity::Person;
use super::repository::Repository;
use super::spawn;

/// Time enough to answer a passphrase dialog.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How commits are signed here.
#[derive(Debug, Clone)]
pub(super) struct Signer {
    program: String,
    format: Format,
    key: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// `openpgp` or `x509`: the programs take the same arguments.
    Gpg,
    Ssh,
}

impl Signer {
    /// Returns the signer that git's configuration asks for, if it asks for one.
    pub(super) fn configured(repository: &Repository, committer: &Person) -> Result<Option<Self>, AuditError> {
        let config = repository.config()?;
        if !config.signs_commits {
            return Ok(None);
        }
        let text = |name: &str| config.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let format = text("gpg.format").unwrap_or_else(|| "openpgp".to_owned());
        let (format, named, fallback) = match format.as_str() {
            "openpgp" => (Format::Gpg, text("gpg.openpgp.program").or_else(|| text("gpg.program")), "gpg"),
            "x509" => (Format::Gpg, text("gpg.x509.program"), "gpgsm"),
            "ssh" => (Format::Ssh, text("gpg.ssh.program"), "ssh-keygen"),
            other => {
                let detail = format!("`gpg.format` is `{other}`; git knows `openpgp`, `x509` and `ssh`");
                return Err(AuditError::Signing { program: "gpg".to_owned(), detail });
            }
        };
        let program = expand_home(named.unwrap_or_else(|| fallback.to_owned()));
        let key = match (text("user.signingKey"), format) {
            (Some(key), _) => key,
            (None, Format::Gpg) => format!("{} <{}>", committer.name(), committer.email()),
            (None, Format::Ssh) => {
                let detail = "no key is named; run `git config user.signingKey ~/.ssh/id_ed25519.pub`".to_owned();
                return Err(AuditError::Signing { program, detail });
            }
        };
        Ok(Some(Self { program, format, key }))
    }

    /// The program that makes the signatures.
    pub(super) fn program(&self) -> &str {
        &self.program
    }

    /// Signs these bytes; returns the armored signature.
    pub(super) fn sign(&self, bytes: &[u8]) -> Result<String, AuditError> {
        let signature = match self.format {
            Format::Gpg => self.sign_gpg(bytes),
            Format::Ssh => self.sign_ssh(bytes),
        };
        let signature = signature.map_err(|detail| AuditError::Signing { program: self.program.clone(), detail })?;
        Ok(signature.replace("\r\n", "\n"))
    }

    fn sign_gpg(&self, bytes: &[u8]) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        command.args(["--status-fd=2", "-bsau", &self.key]);
        let finished = spawn::run(command, bytes, TIMEOUT).map_err(|error| error.to_string())?;
        let status = String::from_utf8_lossy(&finished.stderr);
        let created = status.lines().any(|line| line.starts_with("[GNUPG:] SIG_CREATED "));
        if !finished.status.success() || !created {
            return Err(last_words(&finished.stderr));
        }
        armored(finished.stdout)
    }

    fn sign_ssh(&self, bytes: &[u8]) -> Result<String, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no folder for temp files: {error}"))?;
        let put = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            let mut file = fs::File::create(&path).map_err(|error| error.to_string())?;
            file.write_all(content).map_err(|error| error.to_string())?;
            Ok::<_, String>(path)
        };
        let message = put("commit", bytes)?;
        let literal =
            self.key.strip_prefix("key::").or_else(|| self.key.starts_with("ssh-").then_some(self.key.as_str()));
        let mut command = Command::new(&self.program);
        command.args(["-Y", "sign", "-n", "git", "-f"]);
        match literal {
            Some(key) => command.arg(put("key", key.as_bytes())?).arg("-U"),
            None => command.arg(expand_home(self.key.clone())),
        };
        command.arg(&message);
        // Without a window to ask in, it must fail rather than ask at the terminal.
        command.env("SSH_ASKPASS_REQUIRE", "force");
        if std::env::var_os("SSH_ASKPASS").is_none() {
            command.env("SSH_ASKPASS", "false");
        }
        let finished = spawn::run(command, &[], TIMEOUT).map_err(|error| error.to_string())?;
        if !finished.status.success() {
            return Err(last_words(&finished.stderr));
        }
        armored(fs::read(folder.path().join("commit.sig")).map_err(|error| format!("it wrote no signature: {error}"))?)
    }
}

/// A signature must be plain lines of text, or it could write other headers into the commit.
fn armored(signature: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(signature).map_err(|_| "its signature is not text".to_owned())?;
    let plain = text.starts_with("-----BEGIN ") && text.chars().all(|c| c == '\n' || c == '\r' || !c.is_control());
    if plain { Ok(text) } else { Err("what it wrote is not an armored signature".to_owned()) }
}

/// The last line that a person can read of what a program complained about.
fn last_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let words = text.lines().rev().find(|line| !line.trim().is_empty() && !line.starts_with("[GNUPG:]"));
    words.map_or_else(|| "it made no signature".to_owned(), |line| line.trim().to_owned())
}

fn expand_home(path: String) -> String {
    match (path.strip_prefix("~/"), std::env::var("HOME")) {
        (Some(rest), Ok(home)) => format!("{home}/{rest}"),
        _ => path,
    }
}
