//! A signed entry with what it takes to check it without aof: what was signed, the signature, and the keys that counted then.

use crate::domain::{AgentId, CompletionId, Signature, TaskId, Ticket};
use crate::files::allowed_signers;
use crate::git::CommitId;
use crate::git::log::trailers;
use crate::project::active_rules::rules_at;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{NAMESPACE, entry_ticket, to_sign};
use crate::tasks::view::task_view::show;

/// What it takes.
pub(crate) struct Evidence {
    /// The visit that the entry ended.
    pub ticket: Ticket,
    /// Who signed.
    pub agent: AgentId,
    /// The commit that brought the entry; nothing where none says so.
    pub commit: Option<CommitId>,
    /// What was signed.
    pub text: String,
    /// The signature.
    pub signature: Signature,
    /// The keys that the agent had in the org.yaml of the commit before, as an `allowed_signers` file.
    pub allowed_signers: String,
}

/// Returns the evidence for the entry that ended the visit which the ticket names, or the branch of it.
pub(crate) fn evidence(workspace: &Workspace, ticket: &Ticket) -> Result<Evidence, ProjectError> {
    let (view, in_force) = show(workspace, &ticket.task)?;
    let task = view.file.task;
    let signed: Vec<(usize, Ticket)> = (0..task.history.len())
        .filter(|place| task.history[*place].signature.is_some())
        .filter_map(|place| Some((place, entry_ticket(&task, place)?)))
        .collect();
    let meant = |own: &Ticket| {
        own.visit == ticket.visit && (ticket.branch.is_none() || own.branch == ticket.branch)
    };
    let none = || not_signed(ticket, &signed);
    let (place, own) = signed.iter().rfind(|(_, own)| meant(own)).ok_or_else(none)?;
    let visit = &task.history[*place];
    let (Some(agent), Some(stamp), Some(signature)) =
        (&visit.agent, &visit.completion, &visit.signature)
    else {
        return Err(none());
    };
    let made = made_by(workspace, &task.id, &stamp.id)?;
    let before = made
        .map(|(_, before)| before)
        .map(|before| rules_at(workspace, before))
        .transpose()?
        .flatten();
    let rules = before.unwrap_or(in_force.rules);
    let text = to_sign(&rules, &task, *place).ok_or_else(none)?;
    let lines = rules
        .org
        .signing_keys(agent)
        .iter()
        .map(|key| allowed_signers::line(agent.as_str(), NAMESPACE, key) + "\n");
    Ok(Evidence {
        ticket: own.clone(),
        agent: agent.clone(),
        commit: made.map(|(commit, _)| commit),
        text,
        signature: signature.clone(),
        allowed_signers: lines.collect(),
    })
}

/// Returns the commit that brought the completion into the history, and the one before it.
fn made_by(
    workspace: &Workspace,
    id: &TaskId,
    completion: &CompletionId,
) -> Result<Option<(CommitId, CommitId)>, ProjectError> {
    let Some(head) = workspace.repository.look()?.commit else { return Ok(None) };
    for entry in workspace.repository.log(head)? {
        let entry = entry?;
        let said = trailers::parse(&entry.message);
        let says = |key: &str, value: &str| {
            said.iter().any(|one| one.key() == key && one.value() == value)
        };
        if says("Aof-Completion", completion.as_str()) && says("Aof-Task", id.as_str()) {
            let before = entry
                .parents
                .first()
                .copied()
                .filter(|before| workspace.repository.has_commit(*before));
            return Ok(before.map(|before| (entry.id, before)));
        }
    }
    Ok(None)
}

fn not_signed(ticket: &Ticket, signed: &[(usize, Ticket)]) -> ProjectError {
    let fix = match signed {
        [] => format!("nothing in the history of `{}` is signed", ticket.task),
        signed => {
            let tickets: Vec<String> = signed.iter().map(|(_, own)| format!("`{own}`")).collect();
            format!("what is signed: {}", tickets.join(", "))
        }
    };
    ProjectError::Unfit {
        code: "not_signed",
        problem: format!("`{ticket}` names no visit that a signature ended"),
        fix,
    }
}
