//! Signing completions, for those whose key org.yaml names. It is done before anything is locked: whoever is asked for a passphrase may
//! take their time.

use std::path::Path;

use crate::domain::{Completion, CompletionId, PublicKey, SshSignature};
use crate::files::completion_file;
use crate::files::completion_file::Syntax;
use crate::files::completion_file::signed_file;
use crate::files::diagnostic::Diagnostic;
use crate::git::{Asking, GitError, SshKey};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{Flaw, NAMESPACE, Refusal, ToSign};
use crate::tasks::complete::{complete, to_sign};
use crate::tasks::plan::{Changed, DryRun};

/// How often it is signed again because the rules changed meanwhile.
const ATTEMPTS: usize = 5;

/// How completions are signed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signing<'f> {
    /// The file of the key; without it, the one that git signs with, or the ssh agent's.
    pub key_file: Option<&'f Path>,
    /// Who is asked for a passphrase.
    pub asking: Asking,
}

/// Completes; signs the completion first if org.yaml wants that and nobody has done so. It then counts for the visit that it was
/// signed for, and no other one.
pub(crate) fn complete_signed(
    workspace: &Workspace,
    completion: &Completion,
    signing: Signing<'_>,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let mut completion = completion.clone();
    if completion.signature.is_some() {
        return complete(workspace, &completion, dry_run);
    }
    let mut signed = None;
    let mut done = complete(workspace, &completion, dry_run);
    for _ in 0..ATTEMPTS {
        match done {
            Err(ProjectError::Refused(Refusal::Signature(wanted)))
                if is_to_be_signed(&wanted, signed.as_deref()) =>
            {
                completion.ticket = wanted.ticket.clone();
                completion.signature = Some(sign(workspace, &wanted, signing)?);
                done = complete(&workspace.after_asking()?, &completion, dry_run);
                signed = Some(wanted.text);
            }
            done => return done,
        }
    }
    done
}

/// Signs a completion for the visit that is open now. Returns it with the ticket of that visit and the signature.
fn signed(
    workspace: &Workspace,
    completion: &Completion,
    signing: Signing<'_>,
) -> Result<Completion, ProjectError> {
    let wanted = what_to_sign(workspace, completion)?;
    let signature = Some(sign(workspace, &wanted, signing)?);
    Ok(Completion { ticket: wanted.ticket, signature, ..completion.clone() })
}

/// Returns what its agent has to sign of the completion; refuses where the completion would be refused, and where there is nothing to
/// sign.
pub(crate) fn what_to_sign(
    workspace: &Workspace,
    completion: &Completion,
) -> Result<ToSign, ProjectError> {
    let agent = &completion.agent;
    to_sign(workspace, completion)?.ok_or_else(|| ProjectError::Unfit {
        code: "no_signing_key",
        problem: format!("`{agent}` need not sign: the committed org.yaml has no `signingKey` of it"),
        fix: format!(
            "complete without a signature, or have a key committed: `agents: {{{agent}: {{signingKey: \"ssh-ed25519 ..\"}}}}`"
        ),
    })
}

/// Returns the completion that a file says; `id` counts where it has none of its own.
pub(crate) fn completion_in(
    name: &str,
    bytes: &[u8],
    id: &CompletionId,
) -> Result<(Completion, Syntax), ProjectError> {
    let unreadable = |problem: String| ProjectError::Unfit {
        code: "unreadable_completion",
        problem,
        fix: "mend the file; `aof schema completion` says what it may have".to_owned(),
    };
    let Some(syntax) = Syntax::of(name) else {
        return Err(unreadable(format!(
            "`{name}` is not named as completion files are: `*.yaml`, `*.json` or `*.md`"
        )));
    };
    let completion = completion_file::parse(bytes, syntax, id).map_err(|faults| {
        let text = String::from_utf8_lossy(bytes);
        let told = Diagnostic::from_faults(name, &text, &faults);
        let lines = told
            .iter()
            .map(|one| format!("{}:{}:{}: {}", one.file, one.line, one.column, one.message));
        unreadable(lines.collect::<Vec<_>>().join("\n"))
    })?;
    Ok((completion, syntax))
}

/// Signs the completion in a file, for the visit that is open now. Returns the file with its signature.
pub(crate) fn sign_file(
    workspace: &Workspace,
    name: &str,
    bytes: &[u8],
    id: &CompletionId,
    signing: Signing<'_>,
) -> Result<(Completion, Vec<u8>), ProjectError> {
    let (completion, syntax) = completion_in(name, bytes, id)?;
    let signed = signed(workspace, &completion, signing)?;
    let file = signed_file(bytes, syntax, &signed).ok_or_else(|| ProjectError::Unfit {
        code: "unsafe_change",
        problem: format!("the signature cannot be written into `{name}` and leave it what it is"),
        fix: "write the file more plainly, with one key a line".to_owned(),
    })?;
    Ok((signed, file))
}

/// Without a signature it is signed; and again if the rules changed since, so that something else is to be signed now.
fn is_to_be_signed(wanted: &ToSign, signed: Option<&str>) -> bool {
    match wanted.flaw {
        Flaw::Missing => true,
        Flaw::OtherText => signed.is_some_and(|signed| signed != wanted.text),
        _ => false,
    }
}

fn sign(
    workspace: &Workspace,
    wanted: &ToSign,
    signing: Signing<'_>,
) -> Result<SshSignature, ProjectError> {
    let mut last = None;
    for (key, asking) in keys(workspace, wanted, signing)? {
        match workspace.repository.ssh_signature(&key, NAMESPACE, wanted.text.as_bytes(), asking) {
            Ok(armored) => {
                return armored.parse().map_err(|fault| failed(wanted, &format!("{fault}")));
            }
            Err(GitError::Signing { program, detail }) => {
                last = Some(format!("`{program}`: {detail}"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(failed(wanted, &last.unwrap_or_default()))
}

/// Returns what to sign with, in the order in which it is tried.
fn keys(
    workspace: &Workspace,
    wanted: &ToSign,
    signing: Signing<'_>,
) -> Result<Vec<(SshKey, Asking)>, ProjectError> {
    if let Some(file) = signing.key_file {
        return Ok(vec![(SshKey::File(file.to_owned()), signing.asking)]);
    }
    let of_git = workspace.repository.ssh_key()?;
    if let Some(key) =
        of_git.filter(|key| public(key).is_some_and(|key| wanted.keys.contains(&key)))
    {
        return Ok(vec![(key, signing.asking)]);
    }
    // The agent asks for itself; that it has not got one of several keys is not worth a word.
    Ok(wanted.keys.iter().map(|key| (SshKey::Agent(key.to_string()), Asking::Window)).collect())
}

/// Returns the public key of a key that can be told without a passphrase.
fn public(key: &SshKey) -> Option<PublicKey> {
    match key {
        SshKey::Agent(line) => line.parse().ok(),
        SshKey::File(file) => {
            let mut beside = file.clone().into_os_string();
            beside.push(".pub");
            [file.as_path(), Path::new(&beside)]
                .iter()
                .find_map(|path| std::fs::read_to_string(path).ok()?.parse().ok())
        }
    }
}

fn failed(wanted: &ToSign, detail: &str) -> ProjectError {
    let keys: Vec<String> = wanted.keys.iter().map(PublicKey::fingerprint).collect();
    ProjectError::Unfit {
        code: "cannot_sign",
        problem: format!(
            "`{}` signs completions, and this one could not be signed: {detail}",
            wanted.agent
        ),
        fix: format!(
            "load the key {} into the ssh agent with `ssh-add`, or name its file: `--sign-with ~/.ssh/id_ed25519`",
            keys.join(" or ")
        ),
    }
}
