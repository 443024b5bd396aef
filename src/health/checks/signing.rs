//! Programs that make signatures, where git's configuration asks for them, or org.yaml does.

use crate::domain::issue::some;
use crate::health::doctor::{Complaint, Patient};
use crate::project::error::error::OpsError;

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let repository = &patient.workspace.repository;
    let agents =
        patient.in_force.iter().flat_map(|in_force| in_force.rules.org.agents.iter().flatten());
    let signers: Vec<&str> = agents
        .filter(|(_, agent)| !agent.signing_keys.is_empty())
        .map(|(id, _)| id.as_str())
        .collect();
    let missing = repository.missing_ssh_program()?.filter(|_| !signers.is_empty());
    let by_agents = missing.map(|program| {
        Complaint::wrong(
            "cannot_sign_completions",
            format!("{} must sign (`signingKey` in org.yaml), and there is no program `{program}`", some(&signers)),
            "their completions are refused here without a signature",
            "install OpenSSH, name the program with `git config gpg.ssh.program`, or complete from a machine that has it"
                .to_owned(),
        )
    });
    let trouble = repository.signing_trouble()?;
    let lost_key = repository.missing_ssh_key()?.filter(|_| trouble.is_none()).map(|file| {
        Complaint::advice(
            "signing_key_missing",
            format!("git is to sign with `{}` (`user.signingKey`), and there is no such file", file.display()),
            "`git commit -S` and `git tag -s` fail, and completions are signed with whatever key the ssh agent has",
            "put the key there, or name another one with `git config user.signingKey FILE`".to_owned(),
        )
    });
    let complaint = trouble.map(|trouble| {
        Complaint::wrong(
            "cannot_sign",
            format!("commits are to be signed (`commit.gpgSign`), and cannot be: {trouble}"),
            "nothing can be committed",
            "install the program or name a key that is there (`git config user.signingKey FILE`); or switch it off with `git config commit.gpgSign false`".to_owned(),
        )
    });
    Ok(complaint.into_iter().chain(lost_key).chain(by_agents).collect())
}
