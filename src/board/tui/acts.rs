//! From a key to a form: the outcomes that are possible for a task, and the people who may choose them.

use super::detail::choice_text;
use super::form::{FieldKind, FormPurpose, TuiForm};
use super::worker::LoadedPage;
use crate::board::model::keys::KeyAct;
use crate::board::model::page::{OpeningPage, OutcomeChoice, TaskDetails};
use crate::domain::{AgentId, Outcome, Ticket, approving, rejecting};
use crate::files::printable::one_line;

/// The effect of a key that begins an act.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ActStart {
    Form(Box<TuiForm>),
    /// Several forms are possible: the person chooses one.
    Menu(Vec<TuiForm>),
    /// The reason why the act is not possible.
    Not(String),
}

/// Returns the start of an act that completes a visit. `seen` is the ticket that the person saw on the board.
pub(super) fn begin(
    command: KeyAct,
    loaded: &LoadedPage,
    seen: &Ticket,
    you: &AgentId,
) -> ActStart {
    let page = &loaded.page;
    let is_seen = |opening: &&OpeningPage| opening.ticket.visit == seen.visit;
    if !page.openings.is_empty() && !page.openings.iter().any(|opening| is_seen(&opening)) {
        return ActStart::Not(format!("{} moved meanwhile: look again", page.id));
    }
    let may = |opening: &&OpeningPage| opening.agents.contains(you) && !opening.blocked;
    let mut forms = Vec::new();
    for opening in page.openings.iter().filter(may) {
        let outcomes: Vec<Outcome> =
            opening.choices.iter().filter_map(|choice| choice.outcome.parse().ok()).collect();
        for outcome in &outcomes {
            let is_wanted = match command {
                KeyAct::Approve => approving(&outcomes) == Some(outcome),
                KeyAct::SendBack => rejecting(&outcomes) == Some(outcome),
                KeyAct::Block => *outcome == Outcome::Blocked,
                _ => true,
            };
            let choice = opening.choices.iter().find(|one| one.outcome == outcome.as_str());
            if let Some(choice) = choice.filter(|_| is_wanted) {
                forms.push(form(loaded, opening, choice, outcome, you));
            }
        }
    }
    match forms.len() {
        0 => ActStart::Not(why_not(command, page, you)),
        1 => ActStart::Form(Box::new(forms.remove(0))),
        _ => ActStart::Menu(forms),
    }
}

/// Returns the reason why no visit can be completed.
fn why_not(command: KeyAct, page: &TaskDetails, you: &AgentId) -> String {
    let id = &page.id;
    let Some(opening) = page.openings.first() else {
        let reason = page.reasons.last().map(|reason| one_line(reason)).unwrap_or_default();
        return format!("{id}: nobody can say anything now. {reason}");
    };
    let agents: Vec<&str> = opening.agents.iter().map(AgentId::as_str).collect();
    if opening.blocked {
        return format!("{id} is blocked: `u` unblocks it");
    }
    if !page.openings.iter().any(|opening| opening.agents.contains(you)) {
        let who = if agents.is_empty() { "nobody".to_owned() } else { agents.join(", ") };
        return format!("{id} is at {} now, where {you} has no say: {who}", opening.station);
    }
    let outcomes: Vec<&str> = opening.choices.iter().map(|one| one.outcome.as_str()).collect();
    let verb = match command {
        KeyAct::Approve => "approve",
        KeyAct::SendBack => "reject",
        KeyAct::Block => "block",
        _ => "complete",
    };
    let offered = outcomes.join(", ");
    format!("gate {} has no outcome to {verb} by; `c` offers: {offered}", opening.station)
}

fn form(
    loaded: &LoadedPage,
    opening: &OpeningPage,
    choice: &OutcomeChoice,
    outcome: &Outcome,
    you: &AgentId,
) -> TuiForm {
    let ticket = opening.ticket.clone();
    let id = loaded.completion.clone();
    let purpose = FormPurpose::Complete { ticket, outcome: outcome.clone(), id };
    let title = format!("{}: {}, as {you}", opening.ticket, choice.outcome);
    let mut form = TuiForm::new(purpose, title, "summary");
    form.lead.push(one_line(&loaded.page.title));
    // A person may judge in several branches.
    let branch = opening.ticket.branch.as_ref().map(|branch| format!("{branch}: "));
    form.lead.push(format!("{}{}", branch.unwrap_or_default(), choice_text(choice)));
    if choice.needs_blockers || choice.rejects {
        let label = if choice.rejects { "to fix" } else { "waits for" };
        form.add_field(FieldKind::Blocker, label.to_owned(), "");
        // The blockers come first: the first of them is the usual summary.
        form.fields.rotate_left(1);
        "summary; without one, the first point".clone_into(&mut form.fields[1].label);
    } else if choice.approves {
        form.usual = Some("Approved".to_owned());
        "summary; without one, Approved".clone_into(&mut form.fields[0].label);
    }
    for field in choice.outputs.iter().filter(|field| !field.name.contains(['.', '['])) {
        let need = if field.required { "" } else { ", may stay empty" };
        let what = field.description.as_ref().map(|text| format!("; {}", one_line(text)));
        let (name, kind) = (one_line(&field.name), one_line(&field.form));
        let label = format!("{name} ({kind}{need}{})", what.unwrap_or_default());
        let usual = field.default.as_ref().map(ToString::to_string).unwrap_or_default();
        form.add_field(FieldKind::Output(Box::new(field.clone())), label, &usual);
    }
    form
}
