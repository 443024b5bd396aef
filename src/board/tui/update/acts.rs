//! From a key to an act or a form: the outcomes that are possible for a task, and the people who may choose them.

use super::super::form::{FieldKind, FormPurpose, TuiForm};
use super::super::state::{Effects, SentAct, TuiEffect, TuiState};
use super::super::worker::{LoadedPage, WorkRequest};
use crate::board::model::act::BoardAct;
use crate::board::model::columns::BoardView;
use crate::board::model::keys::KeyAct;
use crate::board::model::page::{OpeningPage, OutcomeChoice, TaskDetails};
use crate::domain::{AgentId, Outcome, Ticket, approving, rejecting};
use crate::files::printable::one_line;
use crate::operations::arguments::Arguments;
use crate::operations::table::{CLAIM, COMMENT, COMPLETE, RELEASE, UNBLOCK, UNDO};

/// The effect of a key that begins an act.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) enum ActStart {
    Form(Box<TuiForm>),
    /// Several forms are possible: the person chooses one.
    Menu(Vec<TuiForm>),
    /// The reason why the act is not possible.
    Not(String),
}

/// Returns the start of an act that completes a visit. `seen` is the ticket that the person saw on the board.
pub(in super::super) fn begin(
    asked: KeyAct,
    loaded: &LoadedPage,
    seen: &Ticket,
    (you, board): (&AgentId, &BoardView),
) -> ActStart {
    let page = &loaded.page;
    let is_seen = |opening: &&OpeningPage| opening.ticket.visit == seen.visit;
    if !page.openings.is_empty() && !page.openings.iter().any(|opening| is_seen(&opening)) {
        return ActStart::Not(format!("{} has moved meanwhile: look again", page.id.local()));
    }
    let may = |opening: &&OpeningPage| opening.agents.contains(you) && !opening.blocked;
    let mut forms = Vec::new();
    for opening in page.openings.iter().filter(may) {
        let outcomes: Vec<Outcome> =
            opening.choices.iter().filter_map(|choice| choice.outcome.parse().ok()).collect();
        for outcome in &outcomes {
            let is_wanted = match asked {
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
        0 => ActStart::Not(why_not(asked, page, (you, board))),
        1 => ActStart::Form(Box::new(forms.remove(0))),
        _ => ActStart::Menu(forms),
    }
}

/// Returns the reason why no visit can be completed.
fn why_not(asked: KeyAct, page: &TaskDetails, (you, board): (&AgentId, &BoardView)) -> String {
    let id = page.id.local();
    let Some(opening) = page.openings.first() else {
        return format!("{id}: there is nothing to do or to decide now");
    };
    if opening.blocked {
        return format!("{id} is blocked: u unblocks it");
    }
    if !page.openings.iter().any(|opening| opening.agents.contains(you)) {
        let agents: Vec<&str> = opening.agents.iter().map(|agent| board.name(agent)).collect();
        let who = if agents.is_empty() { "nobody".to_owned() } else { agents.join(", ") };
        let you = board.name(you);
        return format!("{id} is at {}, open to {who}, not to {you}", opening.station);
    }
    let act = match asked {
        KeyAct::Approve => "approve",
        KeyAct::SendBack => "send back",
        KeyAct::Block => "blocked",
        _ => "done",
    };
    let offered: Vec<String> =
        offered(page, you).into_iter().map(|(key, words)| format!("{key} {words}")).collect();
    format!("{id}: no \"{act}\" at {}, but {}", opening.station, offered.join(", "))
}

/// Returns the outcome as an act, with the place that it leads to.
fn words(choice: &OutcomeChoice) -> String {
    match one_line(&choice.leads).as_str() {
        "" => choice.label.clone(),
        leads => format!("{} → {leads}", choice.label),
    }
}

/// Returns the acts that the person may choose at a task, each with its key.
pub(in super::super) fn offered(page: &TaskDetails, you: &AgentId) -> Vec<(&'static str, String)> {
    let mine = |opening: &&OpeningPage| opening.agents.contains(you);
    let mut acts = Vec::new();
    for opening in page.openings.iter().filter(mine) {
        if opening.blocked {
            acts.push(("u", "unblock".to_owned()));
            continue;
        }
        let mut other = Vec::new();
        for choice in &opening.choices {
            let blocks = choice.outcome == Outcome::Blocked.as_str();
            match choice {
                choice if choice.approves => acts.push(("a", lower(&words(choice)))),
                choice if choice.rejects => acts.push(("r", lower(&words(choice)))),
                choice if blocks => other.push(("b", lower(&words(choice)))),
                choice if choice.outcome == Outcome::Complete.as_str() => {
                    acts.push(("c", lower(&words(choice))));
                }
                choice => acts.push(("c", words(choice))),
            }
        }
        acts.extend(other);
    }
    let is_free = page.agents.is_empty() && page.openings.iter().any(|opening| mine(&opening));
    let judges = acts.iter().any(|(key, _)| *key == "a");
    acts.extend((is_free && !judges && !acts.is_empty()).then(|| ("p", "take".to_owned())));
    acts.dedup();
    acts
}

/// Returns an act as it stands within a line.
fn lower(words: &str) -> String {
    let mut rest = words.chars();
    rest.next().map(|first| first.to_lowercase().chain(rest).collect()).unwrap_or_default()
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
    // A person may judge in several branches.
    let branch = opening.ticket.branch.as_ref().map(|branch| format!("{branch}: "));
    let label = format!("{}{}", branch.unwrap_or_default(), words(choice));
    let mut form = TuiForm::new(purpose, (loaded.page.id.local(), label), "summary");
    form.lead.push(one_line(&loaded.page.title));
    if !opening.agents.contains(you) || choice.label == choice.outcome {
        form.lead.push(one_line(&choice.meaning));
    }
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

impl TuiState {
    /// Begins an act on the task that is open or selected.
    pub(in super::super) fn act(&mut self, asked: KeyAct) -> Effects {
        if asked == KeyAct::New {
            let mut form = TuiForm::new(FormPurpose::New, ("", "a new task".to_owned()), "title");
            form.lead.push("your editor opens for its text afterwards".to_owned());
            self.open_form(form);
            return Vec::new();
        }
        let shown = self.detail.as_ref().filter(|_| self.in_detail).map(|detail| &detail.id);
        let board = self.project().board.clone();
        let card = match shown {
            Some(id) => board.as_ref().and_then(|board| board.card(id)),
            None => self.project().card(),
        };
        let card = card.map(|card| (card.ticket.clone(), card.title.clone()));
        let no_card = || Some(("no task is selected".to_owned(), true));
        if let (KeyAct::Edit, Some((ticket, _))) = (asked, &card) {
            let words = vec!["edit".to_owned(), ticket.task.to_string()];
            return vec![TuiEffect::Run(self.current, words)];
        }
        if let Err(why) = &self.project().you {
            self.message = Some((format!("the board is read-only: {why}"), true));
            return Vec::new();
        }
        if self.is_busy {
            self.message = Some(("the last act is not done yet".to_owned(), true));
            return Vec::new();
        }
        if asked == KeyAct::Undo {
            return self.undo();
        }
        if !self.project().marked.is_empty() && asked == KeyAct::Approve {
            self.approve_marked();
            return Vec::new();
        }
        let Some((ticket, title)) = card else {
            self.message = no_card();
            return Vec::new();
        };
        let id = ticket.task.local().to_owned();
        let (purpose, words, label) = match asked {
            KeyAct::Unblock => {
                (FormPurpose::Act(&UNBLOCK, ticket), "Unblock", "what changed; may stay empty")
            }
            KeyAct::Comment => (FormPurpose::Act(&COMMENT, ticket), "Comment", "comment"),
            KeyAct::PlanFor => {
                (FormPurpose::Plan(ticket), "Plan for", "names; empty removes the plan")
            }
            KeyAct::Take => {
                let act = BoardAct {
                    operation: &CLAIM,
                    ticket: Some(ticket),
                    given: Arguments::default(),
                };
                return self.send_act(SentAct {
                    project: self.current,
                    act,
                    words: "taken".to_owned(),
                });
            }
            _ => {
                // The page has the possible outcomes; it is read again, so that the form fits the current state.
                let task = ticket.task.clone();
                self.pending = Some((ticket, asked));
                return self.ask(WorkRequest::Page(task));
            }
        };
        let mut form = TuiForm::new(purpose, (&id, words.to_owned()), label);
        form.lead.push(one_line(&title));
        self.open_form(form);
        Vec::new()
    }

    /// Takes the person's last act back.
    fn undo(&mut self) -> Effects {
        let Some(SentAct { project, act: BoardAct { operation, ticket, .. }, .. }) =
            self.last.take()
        else {
            self.message = Some(("there is no act of yours here to take back".to_owned(), true));
            return Vec::new();
        };
        let operation = if operation.name == CLAIM.name { &RELEASE } else { &UNDO };
        // A verdict at a branch belongs to the task.
        let ticket = ticket.map(|ticket| Ticket { branch: None, ..ticket });
        let act = BoardAct { operation, ticket, given: Arguments::default() };
        self.send_act(SentAct { project, act, words: "taken back".to_owned() })
    }

    /// Asks once for the approval of all selected tasks.
    fn approve_marked(&mut self) {
        let project = self.project();
        let (mut ready, mut lead) = (Vec::new(), Vec::new());
        let board = project.board.iter();
        for decision in board.clone().flat_map(|board| &board.decisions) {
            let is_marked = project.marked.contains(&decision.ticket.task);
            let approval = decision.approval().filter(|_| is_marked && !decision.asks);
            if let Some(choice) = approval {
                ready.push((decision.ticket.clone(), choice.outcome.clone()));
                let id = &decision.ticket.task;
                let title = board.clone().find_map(|board| board.card(id)).map(|card| &card.title);
                lead.push(format!(
                    "{}  {}",
                    id.local(),
                    one_line(title.map_or("", String::as_str))
                ));
            }
        }
        let left = project.marked.len().saturating_sub(ready.len());
        if ready.is_empty() {
            self.message = Some(("the selected tasks need a form of their own".to_owned(), true));
            return;
        }
        if left > 0 {
            lead.push(format!("{left} more need a form of their own"));
        }
        let label = format!("Approve {}", ready.len());
        let purpose = FormPurpose::ApproveAll(ready);
        let mut form = TuiForm::new(purpose, ("", label), "summary; without one, Approved");
        (form.lead, form.usual) = (lead, Some("Approved".to_owned()));
        self.open_form(form);
    }

    /// Sends the form that is open.
    pub(in super::super) fn send(&mut self) -> Effects {
        let Some(form) = &mut self.form else { return Vec::new() };
        let words = form.past();
        let acts = form.acts().into_iter();
        let project = self.current;
        let mut acts: Vec<SentAct> =
            acts.map(|act| SentAct { project, act, words: words.clone() }).collect();
        if !acts.is_empty() {
            form.is_sent = true;
            self.queue.extend(acts.drain(1..));
            return self.send_act(acts.remove(0));
        }
        if !form.has_text() {
            self.message = Some(("a task needs a title".to_owned(), true));
            return Vec::new();
        }
        let words = form.command().unwrap_or_default();
        form.is_sent = true;
        vec![TuiEffect::Run(self.current, words)]
    }

    pub(in super::super) fn send_act(&mut self, sent: SentAct) -> Effects {
        self.is_busy = true;
        let (project, act) = (sent.project, sent.act.clone());
        if act.operation.name == COMPLETE.name {
            // The next task takes the place of one that the person passes on.
            self.projects[project].leaving = act.ticket.as_ref().map(|ticket| ticket.task.clone());
        }
        self.sent = Some(sent);
        vec![TuiEffect::Ask(project, WorkRequest::Act(Box::new(act)))]
    }

    /// Reports an act that is done, and keeps what is needed to take it back.
    pub(in super::super) fn note_done(&mut self, sentence: String) {
        let Some(sent) = self.sent.take() else {
            self.message = Some((sentence, false));
            return;
        };
        let id = sent.act.ticket.as_ref().map(|ticket| ticket.task.local().to_owned());
        let can_undo = [COMPLETE.name, CLAIM.name].contains(&sent.act.operation.name);
        let undo = if can_undo { ", z takes it back" } else { "" };
        let subject = id.map(|id| format!("{id}: ")).unwrap_or_default();
        self.message = Some((format!("{subject}{}{undo}", sent.words), false));
        self.last = Some(sent).filter(|_| can_undo);
    }

    pub(in super::super) fn open_form(&mut self, form: TuiForm) {
        self.message = None;
        let same = |draft: &TuiForm| match (&draft.purpose, &form.purpose) {
            (
                FormPurpose::Complete { ticket, outcome, .. },
                FormPurpose::Complete { ticket: now, outcome: other, .. },
            ) => ticket == now && outcome == other,
            (draft, other) => draft == other,
        };
        self.form = Some(match self.draft.take().filter(same) {
            Some(draft) => TuiForm { purpose: form.purpose, focus: 0, ..draft },
            None => form,
        });
    }
}
