//! Asks a person at the terminal to decide at a gate: yes, no with what to fix, show the diff, or later. Returns a completion.

use std::cell::Cell;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::agents::runner::{PersonQuestion, Refused};
use crate::cli::{
    CliError, CliResult, Output, Session, bold, cyan, dim, now, red, value_of, yellow,
};
use crate::dispatch::workplaces::openings;
use crate::domain::{
    AgentId, Completion, CompletionContent, Map, Outcome, Ticket, approving, rejecting,
};
use crate::files::printable::{inert, one_line};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{RefusalKind, Rules, branch_of};
use crate::storage::ProjectPath;
use crate::storage::random::ulid;
use crate::system::terminal;
use crate::tasks::complete::{Signing, complete_signed};
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::view::brief::task_brief;
use crate::tasks::view::task_view::show;
use crate::tasks::view::work_diff::work_diff;

/// The interval at which a wait for a line checks whether the run must stop.
const TICK: Duration = Duration::from_millis(50);

/// An answer at the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PromptAnswer {
    Outcome(Outcome),
    Diff,
    Later,
}

/// The default summary of an approval.
pub(crate) const APPROVED: &str = "Approved";

/// Returns true if gates check tasks by programs, which must end with the command.
pub(super) fn has_checks(rules: &Rules) -> bool {
    let mut gates = rules.project.workflows.iter().flat_map(|workflow| &workflow.gates);
    gates.any(|gate| !gate.check.is_empty())
}

/// Returns an empty completion.
pub(super) fn blank(ticket: Ticket, agent: AgentId) -> CliResult<Completion> {
    Ok(Completion {
        ticket,
        gate: None,
        agent,
        content: CompletionContent::default(),
        id: ulid(now())?,
        signature: None,
        facts: Box::default(),
    })
}

/// The result of asking a person.
pub(super) enum PersonAnswer {
    Completed(Box<Changed>),
    Later,
    /// The input has ended.
    Ended,
    /// The person may not decide there now.
    NotAsked,
}

/// Shows the work to the person at the terminal, and completes it according to the answer; asks again if the rules refuse an answer.
/// `completion` is the known part of the completion; if it has an outcome, only that one is asked about.
pub(super) fn ask_here(
    session: &Session,
    workspace: &mut Workspace,
    completion: &Completion,
    signing: Signing<'_>,
    mode: DryRun,
) -> CliResult<PersonAnswer> {
    let stop = Arc::default();
    if has_checks(&workspace.rules()?.rules) {
        terminal::set_on_stop(&stop).map_err(|cause| CliError::input("signals", &cause))?;
    }
    let mut refused = None;
    loop {
        let (view, in_force) = show(workspace, &completion.ticket.task)?;
        let task = &view.file.task;
        let branch = completion.ticket.branch.clone();
        let branch = branch.or_else(|| branch_of(&in_force.rules, task, &completion.agent));
        let ticket = task.ticket_of(branch.as_ref());
        let is_open = completion.ticket.visit.is_none_or(|visit| Some(visit) == ticket.visit);
        let openings = openings(&in_force.rules, task);
        let opening = openings.iter().find(|opening| opening.ticket == ticket).filter(|opening| {
            is_open && opening.blockers.is_none() && opening.agents.contains(&completion.agent)
        });
        let Some(opening) = opening else { return Ok(PersonAnswer::NotAsked) };
        let (file, context, _) = task_brief(workspace, &ticket)?;
        let (file, path, context) = (&file, &view.path, &context);
        let asked = PersonQuestion { opening, file, path, context, refused: refused.as_ref() };
        let outcome = |word: &String| word.parse::<Outcome>().ok();
        let wanted = completion.content.outcome.as_ref().and_then(outcome);
        if wanted.as_ref().is_some_and(|end| context.outcomes.iter().all(|(one, _)| one != end)) {
            return Ok(PersonAnswer::NotAsked);
        }
        let (person, root) = (&completion.agent, workspace.paths.root());
        let reply = ask(session.output, person, root, &asked, wanted.as_ref(), &stop);
        let answer = match reply {
            PersonReply::Completion(answer) => answer,
            PersonReply::Later => return Ok(PersonAnswer::Later),
            PersonReply::Ended => return Ok(PersonAnswer::Ended),
        };
        let mut whole = Completion { ticket, ..completion.clone() };
        let (content, answer) = (&mut whole.content, answer.content);
        content.outcome = answer.outcome;
        content.summary = answer.summary;
        content.blockers = answer.blockers;
        content.outputs.extend(answer.outputs);
        workspace.restart_wait(session.wait);
        match complete_signed(workspace, &whole, signing, mode) {
            Ok(changed) => return Ok(PersonAnswer::Completed(Box::new(changed))),
            Err(ProjectError::Refused(refusal)) if refusal.kind() == RefusalKind::Refused => {
                let fix = refusal.fix().to_string();
                let why = ProjectError::Refused(refusal).to_string();
                refused = Some(Refused { completion: whole, why, fix });
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// A person's reply to a question.
pub(crate) enum PersonReply {
    Completion(Box<Completion>),
    Later,
    /// The input has ended, or the run must stop.
    Ended,
}

/// Asks the person for a decision; `wanted` is the outcome that they have already named.
pub(crate) fn ask(
    output: Output,
    person: &AgentId,
    project: &Path,
    asked: &PersonQuestion<'_>,
    wanted: Option<&Outcome>,
    stop: &AtomicBool,
) -> PersonReply {
    if !asked.opening.agents.contains(person) {
        return PersonReply::Later;
    }
    match asked.refused {
        Some(refused) => {
            output.say(format!("{} {}", red("refused:"), inert(&refused.why)));
            output.say(format!("{} {}", bold("hint:"), inert(&refused.fix)));
        }
        None => show_task(output, asked),
    }
    let outcomes: Vec<Outcome> =
        asked.context.outcomes.iter().map(|(outcome, _)| outcome.clone()).collect();
    let prompt = Terminal { output, stop, has_ended: Cell::new(false) };
    let completion = loop {
        let Some(line) = prompt.line(&question(&outcomes, wanted)) else { break None };
        match answer(&outcomes, wanted, &line) {
            Some(PromptAnswer::Later) => break None,
            Some(PromptAnswer::Diff) => show_diff(output, project, asked.path),
            Some(PromptAnswer::Outcome(outcome)) => {
                break prompt.completion(person, asked, &outcome);
            }
            None => output.say(format!("`{}` is none of these", inert(&line))),
        }
    };
    match completion {
        Some(completion) => PersonReply::Completion(Box::new(completion)),
        None if prompt.has_ended.get() => PersonReply::Ended,
        None => PersonReply::Later,
    }
}

fn show_task(output: Output, asked: &PersonQuestion<'_>) {
    let (task, opening) = (&asked.file.task, asked.opening);
    output.say(format!("\n{} {}", cyan(&opening.ticket), bold(one_line(&task.title))));
    output.say(format!("  {}: {}", opening.station, one_line(&asked.context.role)));
    let context = &asked.context;
    for text in context.prompt.iter().chain(&context.instructions) {
        output.say(format!("\n{}\n", inert(text.trim())));
    }
    for expected in &context.expectations {
        output.say(format!("  - {}", one_line(expected)));
    }
    if let Some(last) = task.history.last() {
        let who = last.agent.as_ref().map(|agent| format!(" by {agent}")).unwrap_or_default();
        let (station, outcome, summary) = (last.station(), &last.outcome, one_line(&last.summary));
        output.say(dim(format!("  before: {station} ({outcome}){who}: {summary}")));
    }
}

fn question(outcomes: &[Outcome], wanted: Option<&Outcome>) -> String {
    if let Some(wanted) = wanted {
        return format!("{wanted}: [y]es, [d]iff, [l]ater? ");
    }
    let (approving, rejecting) = (approving(outcomes), rejecting(outcomes));
    let words = outcomes.iter().filter_map(|outcome| match outcome {
        outcome if Some(outcome) == approving => Some("[y]es"),
        outcome if Some(outcome) == rejecting => Some("[n]o"),
        Outcome::Decision(_) => Some(outcome.as_str()),
        _ => None,
    });
    format!("{}, blocked, [d]iff, [l]ater? ", words.collect::<Vec<_>>().join(", "))
}

fn answer(outcomes: &[Outcome], wanted: Option<&Outcome>, line: &str) -> Option<PromptAnswer> {
    let word = line.trim().to_lowercase();
    let outcome = match (word.as_str(), wanted) {
        ("d" | "diff", _) => return Some(PromptAnswer::Diff),
        ("l" | "later" | "", _) | ("n" | "no", Some(_)) => return Some(PromptAnswer::Later),
        ("y" | "yes", Some(_)) => wanted,
        ("y" | "yes", None) => approving(outcomes),
        ("n" | "no", None) => rejecting(outcomes),
        (word, _) => outcomes.iter().find(|outcome| outcome.is_meant_by(word)),
    };
    Some(PromptAnswer::Outcome(outcome?.clone()))
}

/// The terminal at which the person types.
struct Terminal<'a> {
    output: Output,
    stop: &'a AtomicBool,
    has_ended: Cell<bool>,
}

impl Terminal<'_> {
    /// Asks for the rest of a completion with this outcome. Returns `None` if that is left for later.
    fn completion(
        &self,
        person: &AgentId,
        asked: &PersonQuestion<'_>,
        outcome: &Outcome,
    ) -> Option<Completion> {
        let before = asked.refused.map(|refused| &refused.completion);
        let before =
            before.filter(|before| before.content.outcome.as_deref() == Some(outcome.as_str()));
        let outcomes: Vec<Outcome> =
            asked.context.outcomes.iter().map(|(outcome, _)| outcome.clone()).collect();
        let blockers = if *outcome == Outcome::Blocked || Some(outcome) == rejecting(&outcomes) {
            self.blockers(before.and_then(|before| before.content.blockers.as_ref()))?
        } else {
            Vec::new()
        };
        let outputs = self.outputs(asked, outcome, before.map(|before| &before.content.outputs))?;
        let usual =
            before.and_then(|before| before.content.summary.clone()).or(blockers.first().cloned());
        let usual = usual.unwrap_or_else(|| match outcome {
            outcome if Some(outcome) == approving(&outcomes) => APPROVED.to_owned(),
            outcome => format!("Decided: {outcome}"),
        });
        let summary = self.line(&format!("Summary ({}): ", one_line(&usual)))?;
        let content = CompletionContent {
            outcome: Some(outcome.to_string()),
            summary: Some(if summary.is_empty() { usual } else { summary }),
            blockers: (!blockers.is_empty()).then_some(blockers),
            outputs,
            ..CompletionContent::default()
        };
        let blank = blank(asked.opening.ticket.clone(), person.clone()).ok()?;
        Some(Completion { content, ..blank })
    }

    /// Asks what must be fixed or waited for; `before` is the last, refused answer.
    fn blockers(&self, before: Option<&Vec<String>>) -> Option<Vec<String>> {
        self.output.say("What has to be fixed, or what does it wait for? A line for each; an empty line ends, `l` leaves it for later.");
        if let Some(before) = before {
            let before = one_line(&before.join("; "));
            self.output.say(format!("An empty line now keeps: {before}"));
        }
        let mut blockers = Vec::new();
        loop {
            match (self.answer("- ")?, before) {
                (line, _) if !line.is_empty() => blockers.push(line),
                _ if !blockers.is_empty() => return Some(blockers),
                (_, Some(before)) => return Some(before.clone()),
                (_, None) => self.note("it needs at least one; `l` leaves it for later"),
            }
        }
    }

    /// Asks for the outputs that the gate requires with the outcome.
    fn outputs(
        &self,
        asked: &PersonQuestion<'_>,
        outcome: &Outcome,
        before: Option<&Map>,
    ) -> Option<Map> {
        let mut outputs = Map::new();
        let form = asked.context.outputs.iter().find(|form| form.outcome == *outcome);
        let fields = form.map(|form| form.fields.as_slice()).unwrap_or_default();
        for field in
            fields.iter().filter(|field| field.required && !field.name.contains(['.', '[']))
        {
            let mut question = format!("{} ({}", one_line(&field.name), one_line(&field.form));
            if let Some(text) = &field.description {
                question.push_str(&format!("; {}", one_line(text)));
            }
            let kept = before.and_then(|before| before.get(&field.name));
            if let Some(kept) = kept {
                let kept = one_line(&kept.to_string());
                question.push_str(&format!("; an empty line keeps {kept}"));
            }
            question.push_str("): ");
            let value = loop {
                match (self.answer(&question)?.as_str(), kept) {
                    ("", Some(value)) => break value.clone(),
                    ("", None) => self.note("the gate needs it; `l` leaves it for later"),
                    (line, _) => break value_of(line),
                }
            };
            outputs.insert(field.name.clone(), value);
        }
        Some(outputs)
    }

    fn note(&self, text: &str) {
        self.output.say(format!("{} {text}", yellow("note:")));
    }

    /// Returns the answer to a question; `None` if it is left for later.
    fn answer(&self, question: &str) -> Option<String> {
        let line = self.line(question)?;
        (!matches!(line.to_lowercase().as_str(), "l" | "later")).then_some(line)
    }

    /// Returns the typed line without surrounding blanks; `None` if the input has ended, or the run must stop.
    fn line(&self, question: &str) -> Option<String> {
        let mut stderr = anstream::stderr();
        let _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
        let (sender, lines) = mpsc::channel();
        // No signal interrupts a read. When the run stops, this thread keeps waiting until the program ends, which is soon.
        thread::spawn(move || {
            let mut line = Vec::new();
            let read = io::stdin().lock().read_until(b'\n', &mut line);
            drop(sender.send(read.map(|_| line)));
        });
        let line = loop {
            match lines.recv_timeout(TICK) {
                Ok(Ok(line)) => break (!line.is_empty()).then_some(line),
                Ok(Err(cause)) => {
                    let warning = yellow("warning:");
                    self.output.say(format!("{warning} cannot read from here: {cause}"));
                    break None;
                }
                Err(RecvTimeoutError::Timeout) if !self.stop.load(Ordering::Relaxed) => {}
                Err(_) => break None,
            }
        };
        self.has_ended.set(line.is_none());
        Some(String::from_utf8_lossy(&line?).trim().to_owned())
    }
}

/// Shows the changes in the project outside `tasks/` since the task was created, and the names of untracked files.
fn show_diff(output: Output, project: &Path, task: &ProjectPath) {
    let diff = match work_diff(project, task) {
        Ok(diff) => diff,
        Err(why) => return output.say(inert(&why)),
    };
    output.say(dim(format!("changes since {}, {}:", diff.since, diff.which)));
    output.say(inert(diff.text.trim_end()));
    if !diff.untracked.is_empty() {
        output.say(bold("new files that git does not know yet, not shown above:"));
        diff.untracked.iter().for_each(|name| output.say(format!("  {}", one_line(name))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_letter_or_a_word() {
        let outcomes: Vec<Outcome> = ["complete", "needs_review", "blocked", "Ship_It"]
            .map(|word| word.parse().unwrap())
            .into();
        let meant = |line: &str| match answer(&outcomes, None, line) {
            Some(PromptAnswer::Outcome(outcome)) => outcome.to_string(),
            Some(other) => format!("{other:?}"),
            None => "nothing".to_owned(),
        };
        let lines = ["y\n", " YES ", "n", "d", "l", "\n", "ship_it", "blocked", "maybe", "skip"];
        assert_eq!(
            lines.map(meant),
            [
                "complete",
                "complete",
                "needs_review",
                "Diff",
                "Later",
                "Later",
                "Ship_It",
                "blocked",
                "nothing",
                "nothing"
            ]
        );
        assert_eq!(answer(&outcomes[3..], None, "y"), None, "a gate that decides has no yes");
        assert_eq!(question(&outcomes, None), "[y]es, [n]o, Ship_It, blocked, [d]iff, [l]ater? ");
    }

    #[test]
    fn decisions_of_that_name_are_yes_and_no() {
        let outcomes: Vec<Outcome> =
            ["Approved", "rejected", "later_on"].map(|word| word.parse().unwrap()).into();
        assert_eq!(question(&outcomes, None), "[y]es, [n]o, later_on, blocked, [d]iff, [l]ater? ");
        let outcome = |at: usize| Some(PromptAnswer::Outcome(outcomes[at].clone()));
        assert_eq!(answer(&outcomes, None, "y"), outcome(0));
        assert_eq!(answer(&outcomes, None, "no"), outcome(1));
        assert_eq!(answer(&outcomes, Some(&outcomes[1]), "y"), outcome(1));
        assert_eq!(answer(&outcomes, Some(&outcomes[1]), "n"), Some(PromptAnswer::Later));
        assert_eq!(question(&outcomes, Some(&outcomes[1])), "rejected: [y]es, [d]iff, [l]ater? ");
    }
}
