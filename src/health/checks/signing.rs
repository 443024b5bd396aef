//! Programs that make signatures, where git's configuration asks for them, or org.yaml does.

use crate::domain::project::some;
use crate::health::subject::{Found, Subject};
use crate::project::issue::Issue;

pub(crate) fn check(subject: &Subject<'_>) -> Found {
    let repository = &subject.workspace.repository;
    let agents = subject
        .project()
        .into_iter()
        .flat_map(|project| project.in_force.rules.org.agents.iter().flatten());
    let signers: Vec<&str> = agents
        .filter(|(_, agent)| !agent.signing_keys.is_empty())
        .map(|(id, _)| id.as_str())
        .collect();
    let trouble = repository.signing_trouble()?;
    let lost_key = repository.missing_ssh_key()?.filter(|_| trouble.is_none()).map(|file| {
        Issue::new(
            "signing_key_missing",
            format!(
                "git is to sign with `{}` (`user.signingKey`), and there is no such file",
                file.display()
            ),
            "put the key there, or name another one with `git config user.signingKey FILE`",
        )
        .advice()
    });
    let commits = trouble.map(|trouble| {
        Issue::new(
            "cannot_sign",
            format!("commits are to be signed (`commit.gpgSign`), and cannot be: {trouble}"),
            "install the program or name a key that is there (`git config user.signingKey FILE`); or switch it off with `git config commit.gpgSign false`",
        )
    });
    let missing = repository.missing_ssh_program()?.filter(|_| !signers.is_empty());
    let completions = missing.map(|program| {
        Issue::new(
            "cannot_sign_completions",
            format!("{} must sign (`signingKey` in org.yaml), and there is no program `{program}`", some(&signers)),
            "install OpenSSH, name the program with `git config gpg.ssh.program`, or complete from a machine that has it",
        )
    });
    Ok(commits.into_iter().chain(lost_key).chain(completions).collect())
}
