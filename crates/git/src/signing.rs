//! Signatures as git makes them (`commit.gpgSign`, `gpg.format`, `user.signingKey`), by the program that git would
//! run, with a deadline: a passphrase prompt must never hold the writer lock for ever.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::command;
use crate::command::expand_home;
use crate::error::GitError;
use crate::objects::commit::Person;
use crate::repository::environment::is_program_installed;
use crate::repository::handle::Repository;

/// Long enough to answer a passphrase dialog or to touch a token.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The program, format and key that sign commits here.
#[derive(Debug, Clone)]
pub(crate) struct Signer {
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

/// The signer that git's configuration names, cached for one committer.
#[derive(Default)]
pub(crate) struct Signers {
    found: Option<(Person, Option<Signer>)>,
}

impl Signer {
    /// Returns the signer that git's configuration asks for, if any. Without a configured key, the key is named by
    /// git's user.
    pub(crate) fn configured(repository: &Repository) -> Result<Option<Self>, GitError> {
        let config = repository.config()?;
        if config.switch("commit.gpgSign")? != Some(true) {
            return Ok(None);
        }
        let text = |names: &[&str]| config.last_text(names).filter(|text| !text.is_empty());
        let (format, named, fallback) = match text(&["gpg.format"]).unwrap_or("openpgp") {
            "openpgp" => (Format::Gpg, text(&["gpg.openpgp.program", "gpg.program"]), "gpg"),
            "x509" => (Format::Gpg, text(&["gpg.x509.program"]), "gpgsm"),
            "ssh" => (Format::Ssh, text(&["gpg.ssh.program"]), "ssh-keygen"),
            other => {
                let detail =
                    format!("`gpg.format` is `{other}`; git knows `openpgp`, `x509` and `ssh`");
                return Err(GitError::Signing { program: "gpg".to_owned(), detail });
            }
        };
        let program = expand_home(named.unwrap_or(fallback));
        let key = match (config.text("user.signingKey"), format) {
            (Some(key), _) => key.to_owned(),
            (None, Format::Gpg) => {
                let user = repository.identity()?;
                format!("{} <{}>", user.name(), user.email())
            }
            (None, Format::Ssh) => {
                let Some(command) = text(&["gpg.ssh.defaultKeyCommand"]) else {
                    let detail =
                        "no key is named; run `git config user.signingKey ~/.ssh/id_ed25519.pub`"
                            .to_owned();
                    return Err(GitError::Signing { program, detail });
                };
                default_key(command, repository.worktree_root())
                    .map_err(|detail| GitError::Signing { program: command.to_owned(), detail })?
            }
        };
        Ok(Some(Self { program, format, key }))
    }

    /// Returns the program that makes the signatures.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// Returns the SSH key of the signer; `None` if it does not sign with SSH.
    pub(crate) fn ssh_key(&self) -> Option<SshKey> {
        (self.format == Format::Ssh).then(|| named_key(&self.key))
    }

    /// Signs these bytes; returns the armored signature.
    pub(crate) fn sign(&self, bytes: &[u8]) -> Result<String, GitError> {
        let signature = match self.format {
            Format::Gpg => self.sign_gpg(bytes),
            Format::Ssh => self.sign_ssh(bytes),
        };
        let signature = signature
            .map_err(|detail| GitError::Signing { program: self.program.clone(), detail })?;
        Ok(signature.replace("\r\n", "\n"))
    }

    fn sign_gpg(&self, bytes: &[u8]) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        command.args(["--status-fd=2", "-bsau", &self.key]);
        let finished = command::run(command, bytes, TIMEOUT).map_err(|error| error.to_string())?;
        let status = String::from_utf8_lossy(&finished.stderr);
        let created = status.lines().any(|line| line.starts_with("[GNUPG:] SIG_CREATED "));
        if !finished.status.success() || !created {
            return Err(last_error_line(&finished.stderr));
        }
        armored(finished.stdout)
    }

    fn sign_ssh(&self, bytes: &[u8]) -> Result<String, String> {
        // The writer lock is held, so the program must not wait for input at the terminal.
        signature(&self.program, &named_key(&self.key), "git", bytes, PromptPlace::Window)
    }
}

impl Repository {
    /// Returns the reason why commits cannot be signed though they must be, as far as it is known in advance.
    pub fn signing_problem(&self) -> Result<Option<String>, GitError> {
        if self.identity().is_err() {
            return Ok(None);
        }
        match Signer::configured(self) {
            Ok(None) => Ok(None),
            Ok(Some(signer)) => {
                if !is_program_installed(signer.program()) {
                    return Ok(Some(format!("there is no program `{}`", signer.program())));
                }
                let missing = signer.ssh_key().and_then(|key| self.missing_key_file(key));
                Ok(missing.map(|file| {
                    format!("there is no key `{}` (`user.signingKey`)", file.display())
                }))
            }
            Err(GitError::Signing { detail, .. }) => Ok(Some(detail)),
            Err(error) => Err(error),
        }
    }

    /// Returns the key with which git signs commits of its user, if it is chosen by the committer's name.
    pub fn key_by_name(&self) -> Option<String> {
        let config = self.config().ok()?;
        let is_named = config.text("user.signingKey").is_some_and(|text| !text.is_empty());
        // A signer that cannot be used is reported by the commit that needs it.
        let signer = Signer::configured(self).ok().flatten().filter(|_| !is_named)?;
        (signer.format == Format::Gpg).then_some(signer.key)
    }

    /// Returns the file of the SSH key that git would sign with, if that file is missing.
    pub fn missing_ssh_key(&self) -> Result<Option<PathBuf>, GitError> {
        let is_ssh = self.config()?.text("gpg.format") == Some("ssh");
        Ok(self.ssh_key()?.filter(|_| is_ssh).and_then(|key| self.missing_key_file(key)))
    }

    fn missing_key_file(&self, key: SshKey) -> Option<PathBuf> {
        match key {
            SshKey::File(file) => {
                Some(file).filter(|file| !self.worktree_root().join(file).is_file())
            }
            SshKey::Agent(_) => None,
        }
    }

    /// Returns the program that would sign completions, if it is not installed.
    pub fn missing_ssh_program(&self) -> Result<Option<String>, GitError> {
        let program = program(self.config()?.text("gpg.ssh.program"));
        Ok(Some(program).filter(|program| !is_program_installed(program)))
    }
}

impl Signers {
    /// Returns the signer for this committer.
    pub(crate) fn signer_for(
        &mut self,
        repository: &Repository,
        committer: &Person,
    ) -> Result<Option<&Signer>, GitError> {
        if self.found.as_ref().is_none_or(|(known, _)| known != committer) {
            self.found = Some((committer.clone(), Signer::configured(repository)?));
        }
        Ok(self.found.as_ref().and_then(|(_, signer)| signer.as_ref()))
    }
}

/// The key that signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SshKey {
    /// The key in a file; a public key refers to the private key next to it or in the ssh agent.
    File(PathBuf),
    /// The key in the ssh agent that belongs to this public key.
    Agent(String),
}

/// The place where the signing program may ask for a passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptPlace {
    /// At the terminal, without a time limit.
    Terminal,
    /// Not at the terminal: a dialog window may open, until the timeout.
    Window,
}

impl Repository {
    /// Returns an armored signature of the text in this namespace.
    pub fn ssh_signature(
        &self,
        key: &SshKey,
        namespace: &str,
        text: &[u8],
        asking: PromptPlace,
    ) -> Result<String, GitError> {
        let program = program(self.config()?.text("gpg.ssh.program"));
        let made = signature(&program, key, namespace, text, asking);
        made.map_err(|detail| GitError::Signing { program, detail })
    }

    /// Returns the SSH key that git would sign with, if its configuration names one.
    pub fn ssh_key(&self) -> Result<Option<SshKey>, GitError> {
        let named = self.config()?.text("user.signingKey").map(str::to_owned);
        Ok(named.filter(|text| !text.is_empty()).map(|text| named_key(&text)))
    }
}

/// Returns the first key that `gpg.ssh.defaultKeyCommand` prints, or the reason why it prints none. Like git, uses no
/// shell.
fn default_key(command: &str, folder: &Path) -> Result<String, String> {
    let words =
        words_of(command).ok_or("its quotes (`gpg.ssh.defaultKeyCommand`) are not closed")?;
    let (program, arguments) = words.split_first().ok_or("no program is named")?;
    let mut run = Command::new(program);
    run.args(arguments).current_dir(folder);
    let finished = command::run(run, &[], TIMEOUT).map_err(|error| error.to_string())?;
    let output = String::from_utf8_lossy(&finished.stdout);
    let key = output.lines().next().unwrap_or_default();
    match named_key(key) {
        SshKey::Agent(_) if finished.status.success() => Ok(key.to_owned()),
        _ => Err(format!("it printed no key, and ended with {}", finished.status)),
    }
}

/// Splits a command into words as git does; `None` with an open quote or a lone backslash at the end.
fn words_of(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut rest = command.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            _ if quote.is_none() && c.is_ascii_whitespace() => {
                while rest.next_if(char::is_ascii_whitespace).is_some() {}
                words.push(std::mem::take(&mut word));
            }
            '\'' | '"' if quote.is_none() => quote = Some(c),
            _ if quote == Some(c) => quote = None,
            '\\' if quote != Some('\'') => word.push(rest.next()?),
            _ => word.push(c),
        }
    }
    words.push(word);
    quote.is_none().then_some(words)
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

/// Returns the armored signature of the text, or the reason why it could not be made.
pub(crate) fn signature(
    program: &str,
    key: &SshKey,
    namespace: &str,
    text: &[u8],
    asking: PromptPlace,
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
    if asking == PromptPlace::Terminal {
        // With `-q`, ssh-keygen still prompts, also for a touch on a token.
        command.arg("-q");
    }
    command.args(["-Y", "sign", "-n", namespace, "-f"]);
    match key {
        SshKey::Agent(key) => command.arg(put("key", format!("{key}\n").as_bytes())?).arg("-U"),
        SshKey::File(file) => command.arg(file),
    };
    command.arg(&message);
    match asking {
        PromptPlace::Terminal => at_terminal(command)?,
        PromptPlace::Window => in_background(command)?,
    }
    armored(
        fs::read(folder.path().join("text.sig"))
            .map_err(|error| format!("it wrote no signature: {error}"))?,
    )
}

/// Runs the command in the foreground, where it can prompt at the terminal.
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
    // Without a dialog program, signing must fail rather than prompt at the terminal.
    command.env("SSH_ASKPASS_REQUIRE", "force");
    if std::env::var_os("SSH_ASKPASS").is_none() {
        command.env("SSH_ASKPASS", "false");
    }
    let finished = command::run(command, &[], TIMEOUT).map_err(|error| error.to_string())?;
    if finished.status.success() { Ok(()) } else { Err(last_error_line(&finished.stderr)) }
}

/// Checks that a signature is plain lines of text: anything else could inject headers into a commit.
pub(crate) fn armored(signature: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(signature).map_err(|_| "its signature is not text".to_owned())?;
    let plain = text.starts_with("-----BEGIN ")
        && text.chars().all(|c| c == '\n' || c == '\r' || !c.is_control());
    if plain { Ok(text) } else { Err("what it wrote is not an armored signature".to_owned()) }
}

/// Returns the last human-readable line of a program's error output.
pub(crate) fn last_error_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let words =
        text.lines().rev().find(|line| !line.trim().is_empty() && !line.starts_with("[GNUPG:]"));
    words.map_or_else(|| "it made no signature".to_owned(), |line| line.trim().to_owned())
}
