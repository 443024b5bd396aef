//! Signs the entry that a completion becomes, with a key of its agent.

use std::path::Path;

use super::Signing;
use crate::domain::{PublicKey, SshSignature};
use crate::git::{GitError, PromptPlace, SshKey};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{Flaw, NAMESPACE, ToSign};

/// Returns whether to sign: the signature is missing, or the rules changed the text to sign since our own signature.
pub(super) fn needs_signature(wanted: &ToSign, signed: Option<&str>) -> bool {
    match wanted.flaw {
        Flaw::Missing => true,
        Flaw::OtherText => signed.is_some_and(|signed| signed != wanted.text),
        _ => false,
    }
}

pub(super) fn sign(
    workspace: &Workspace,
    wanted: &ToSign,
    signing: Signing<'_>,
) -> Result<SshSignature, ProjectError> {
    let mut last = None;
    for (key, asking) in keys(workspace, wanted, signing)? {
        match workspace.repository.ssh_signature(&key, NAMESPACE, wanted.text.as_bytes(), asking) {
            Ok(armored) => {
                return armored.parse().map_err(|fault| cannot_sign(wanted, &format!("{fault}")));
            }
            Err(GitError::Signing { program, detail }) => {
                last = Some(format!("`{program}`: {detail}"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(cannot_sign(wanted, &last.unwrap_or_default()))
}

/// Returns the keys to try, in this order.
fn keys(
    workspace: &Workspace,
    wanted: &ToSign,
    signing: Signing<'_>,
) -> Result<Vec<(SshKey, PromptPlace)>, ProjectError> {
    if let Some(file) = signing.key_file {
        return Ok(vec![(SshKey::File(file.to_owned()), signing.asking)]);
    }
    let git_key = workspace.repository.ssh_key()?;
    if let Some(key) =
        git_key.filter(|key| public_key(key).is_some_and(|key| wanted.keys.contains(&key)))
    {
        return Ok(vec![(key, signing.asking)]);
    }
    // The ssh agent asks for passphrases itself.
    Ok(wanted
        .keys
        .iter()
        .map(|key| (SshKey::Agent(key.to_string()), PromptPlace::Window))
        .collect())
}

/// Returns the public key, if it can be read without a passphrase.
fn public_key(key: &SshKey) -> Option<PublicKey> {
    match key {
        SshKey::Agent(line) => line.parse().ok(),
        SshKey::File(file) => {
            let mut public_file = file.clone().into_os_string();
            public_file.push(".pub");
            [file.as_path(), Path::new(&public_file)]
                .iter()
                .find_map(|path| std::fs::read_to_string(path).ok()?.parse().ok())
        }
    }
}

fn cannot_sign(wanted: &ToSign, detail: &str) -> ProjectError {
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
        ).into(),
    }
}
