//! SSH signatures, made by the program that git would run (`gpg.ssh.program`, else `ssh-keygen`), so that the ssh agent, key files,
//! hardware tokens and passphrases work as they do for git's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::git::command;
use crate::git::error::GitError;
use crate::git::repository::handle::Repository;

/// Time enough to answer a passphrase dialog, or to touch a token.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Which key signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SshKey {
    /// The one in a file; a public one stands for the private one beside it, or in the ssh agent.
    File(PathBuf),
    /// The one in the ssh agent that belongs to this public key.
    Agent(String),
}

/// Who is asked for a passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// Whoever sits at the terminal, for as long as it takes.
    Terminal,
    /// Nobody there: a window may open, and nothing waits for it for ever.
    Window,
}

impl Repository {
    /// Returns an armored signature of the text, made for that use.
    pub fn ssh_signature(
        &self,
        key: &SshKey,
        namespace: &str,
        text: &[u8],
        asking: Asking,
    ) -> Result<String, GitError> {
        let program = program(self.config()?.text("gpg.ssh.program"));
        let made = signature(&program, key, namespace, text, asking);
        made.map_err(|detail| GitError::Signing { program, detail })
    }

    /// Returns the SSH key that git would sign with, if its configuration names one.
    pub fn ssh_key(&self) -> Result<Option<SshKey>, GitError> {
        let named = self.config()?.text("user.signingKey").filter(|text| !text.is_empty());
        Ok(named.map(named_key))
    }
}

/// Returns the program that makes SSH signatures.
pub(crate) fn program(configured: Option<&str>) -> String {
    expand_home(configured.filter(|text| !text.is_empty()).unwrap_or("ssh-keygen"))
}

/// Returns the key that git's configuration names: the key itself, or its file.
pub(crate) fn named_key(named: &str) -> SshKey {
    let literal =
        named.strip_prefix("key::").or_else(|| named.starts_with("ssh-").then_some(named));
    match literal {
        Some(key) => SshKey::Agent(key.to_owned()),
        None => SshKey::File(PathBuf::from(expand_home(named))),
    }
}

/// Signs; returns the armored signature, or what stood in the way.
pub(crate) fn signature(
    program: &str,
    key: &SshKey,
    namespace: &str,
    text: &[u8],
    asking: Asking,
) -> Result<String, String> {
    let folder =
        tempfile::tempdir().map_err(|error| format!("no folder for temp files: {error}"))?;
    let put = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content)
            .map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
        Ok::<_, String>(path)
    };
    let message = put("text", text)?;
    let mut command = Command::new(program);
    if asking == Asking::Terminal {
        // It still asks, and says when a token is to be touched.
        command.arg("-q");
    }
    command.args(["-Y", "sign", "-n", namespace, "-f"]);
    match key {
        SshKey::Agent(key) => command.arg(put("key", format!("{key}\n").as_bytes())?).arg("-U"),
        SshKey::File(file) => command.arg(file),
    };
    command.arg(&message);
    match asking {
        Asking::Terminal => at_terminal(command)?,
        Asking::Window => in_background(command)?,
    }
    armored(
        fs::read(folder.path().join("text.sig"))
            .map_err(|error| format!("it wrote no signature: {error}"))?,
    )
}

/// Runs it in the foreground, where it can ask at the terminal.
fn at_terminal(mut command: Command) -> Result<(), String> {
    let status =
        command.stdin(Stdio::inherit()).stdout(Stdio::null()).stderr(Stdio::inherit()).status();
    let status = status.map_err(|error| error.to_string())?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("it made no signature, and ended with {status}"))
    }
}

fn in_background(mut command: Command) -> Result<(), String> {
    // Without a window to ask in, it must fail rather than ask at the terminal.
    command.env("SSH_ASKPASS_REQUIRE", "force");
    if std::env::var_os("SSH_ASKPASS").is_none() {
        command.env("SSH_ASKPASS", "false");
    }
    let finished = command::run(command, &[], TIMEOUT).map_err(|error| error.to_string())?;
    if finished.status.success() { Ok(()) } else { Err(last_words(&finished.stderr)) }
}

/// A signature must be plain lines of text, or it could write other headers into a commit.
pub(crate) fn armored(signature: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(signature).map_err(|_| "its signature is not text".to_owned())?;
    let plain = text.starts_with("-----BEGIN ")
        && text.chars().all(|c| c == '\n' || c == '\r' || !c.is_control());
    if plain { Ok(text) } else { Err("what it wrote is not an armored signature".to_owned()) }
}

/// The last line that a person can read of what a program complained about.
pub(crate) fn last_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let words =
        text.lines().rev().find(|line| !line.trim().is_empty() && !line.starts_with("[GNUPG:]"));
    words.map_or_else(|| "it made no signature".to_owned(), |line| line.trim().to_owned())
}

pub(crate) fn expand_home(path: &str) -> String {
    match (path.strip_prefix("~/"), std::env::var("HOME")) {
        (Some(rest), Ok(home)) => Path::new(&home).join(rest).to_string_lossy().into_owned(),
        _ => path.to_owned(),
    }
}
