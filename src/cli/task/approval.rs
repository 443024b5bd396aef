//! Asks a person at the terminal to decide at a gate, by single keys. Returns a completion.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::str::Utf8Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::agents::runner::{PersonQuestion, Refused};
use crate::cli::render::markdown::rendered;
use crate::cli::render::page::plan_facts;
use crate::cli::render::prompt_keys::{PromptKey, PromptKeys};
use crate::cli::{
    CliError, CliResult, Output, Session, bold, cyan, dim, now, red, value_of, width, yellow,
};
use crate::dispatch::workplaces::openings;
use crate::domain::{
    AgentId, Completion, CompletionContent, Map, Outcome, Ticket, approving, rejecting,
};
use crate::files::event::render::{place_words, step_words};
use crate::files::printable::{inert, one_line};
use crate::files::task_file::body_parts;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::routing::reviews::settled_since_rejection;
use crate::rules::{RefusalKind, Rules, Workplace, branch_of, open_points};
use crate::storage::random::ulid;
use crate::system::terminal::{self, ESCAPE, KeyMode};
use crate::tasks::complete::{Signing, complete_signed};
use crate::tasks::edit::{self, Comment};
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::view::brief::task_brief;
use crate::tasks::view::phrases::{ago, name, short_age};
use crate::tasks::view::task_view::show;
use crate::tasks::view::work_diff::{WorkDiff, work_diff};

/// The interval at which a wait for a line checks whether the run must stop.
const TICK: Duration = Duration::from_millis(50);

/// The default summary of an approval.
pub(crate) const APPROVED: &str = "Approved";

/// Returns true if gates check tasks by programs, which must end with the command.
pub(super) fn has_checks(rules: &Rules) -> bool {
    let mut gates = rules.project.workflows.iter().flat_map(|workflow| &workflow.gates);
    gates.any(|gate| !gate.check.is_empty())
}

/// Returns an empty completion.
pub(crate) fn blank(ticket: Ticket, agent: AgentId) -> CliResult<Completion> {
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

/// Returns the outcomes of the open visit, or of the agent's branch of it; none if no visit can be completed. A task that cannot be
/// read has none either: the operation reports the reason.
pub(crate) fn outcomes_here(
    workspace: &Workspace,
    rules: &Rules,
    completion: &Completion,
) -> Vec<Outcome> {
    let Ok((view, _)) = show(workspace, &completion.ticket.task) else { return Vec::new() };
    let task = &view.file.task;
    let branch = completion.ticket.branch.clone();
    let branch = branch.or_else(|| branch_of(rules, task, &completion.agent));
    let place = Workplace::find(rules, task, branch.as_ref());
    place.map(|place| place.outcomes(rules)).unwrap_or_default()
}

/// The result of asking a person.
pub(super) enum PersonAnswer {
    Completed(Box<Changed>),
    Later,
    /// The last act is to be taken back.
    Undo,
    /// The person leaves, or the input has ended.
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
    extras: &[PromptKey],
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
        let rules = &in_force.rules;
        let before = refused.as_ref();
        let asked = PersonQuestion { opening, file, path, context, rules, refused: before };
        let outcome = |word: &String| word.parse::<Outcome>().ok();
        let wanted = completion.content.outcome.as_ref().and_then(outcome);
        if wanted.as_ref().is_some_and(|end| context.outcomes.iter().all(|(one, _)| one != end)) {
            return Ok(PersonAnswer::NotAsked);
        }
        let person = &completion.agent;
        let (output, wanted) = (session.output, wanted.as_ref());
        let reply = ask(
            output,
            (person, &|| work_diff(workspace, &asked.file.task, asked.path)),
            &asked,
            wanted,
            extras,
            &stop,
        );
        let answer = match reply {
            PersonReply::Completion(answer) => answer,
            PersonReply::Comment(text) => {
                let comment = Comment { text, agent: Some(completion.agent.clone()) };
                let id = &ticket.task;
                edit::comment(workspace, id, &comment, mode)?;
                session.output.say(format!("{id}: commented"));
                continue;
            }
            PersonReply::Undo => return Ok(PersonAnswer::Undo),
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
    Comment(String),
    Undo,
    Later,
    /// The person leaves, the input has ended, or the run must stop.
    Ended,
}

/// Asks the person for a decision; `wanted` is the outcome that they have already named, `extras` are keys that only some callers offer.
pub(crate) fn ask(
    output: Output,
    (person, look): (&AgentId, &dyn Fn() -> Result<WorkDiff, String>),
    asked: &PersonQuestion<'_>,
    wanted: Option<&Outcome>,
    extras: &[PromptKey],
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
        None => show_task(output, person, asked, SHORT),
    }
    let outcomes: Vec<Outcome> =
        asked.context.outcomes.iter().map(|(outcome, _)| outcome.clone()).collect();
    let keys = PromptKeys::of(asked, &outcomes, wanted, extras);
    let prompt = Terminal { output, stop, has_ended: Cell::new(false) };
    let mut is_shown = false;
    loop {
        let lines = (!std::mem::replace(&mut is_shown, true)).then(|| keys.lines());
        let Some(key) = prompt.key(lines) else { return PersonReply::Ended };
        let reply = match keys.meaning(key) {
            Some(PromptKey::Skip) => return PersonReply::Later,
            Some(PromptKey::Leave) => return PersonReply::Ended,
            Some(PromptKey::Undo) => return PersonReply::Undo,
            Some(PromptKey::Diff) => {
                show_diff(output, look());
                None
            }
            Some(PromptKey::Text) => {
                show_task(output, person, asked, usize::MAX);
                None
            }
            Some(PromptKey::Help) => {
                output.say(keys.help());
                None
            }
            Some(PromptKey::Comment) => prompt.answer("Comment: ").map(PersonReply::Comment),
            Some(PromptKey::Outcome(outcome)) => prompt
                .completion(person, asked, &outcome)
                .map(|completion| PersonReply::Completion(Box::new(completion))),
            // Keys without a meaning, such as the rest of a word, change nothing.
            None => continue,
        };
        match reply {
            Some(reply) => return reply,
            None if prompt.has_ended.get() => return PersonReply::Ended,
            None => is_shown = false,
        }
    }
}

/// The number of lines of a text that are shown at once.
const SHORT: usize = 12;

fn show_task(output: Output, person: &AgentId, asked: &PersonQuestion<'_>, lines: usize) {
    let (task, opening) = (&asked.file.task, asked.opening);
    output.say(format!("\n{}  {}", cyan(&task.id), bold(one_line(&task.title))));
    let since = task.gate.as_ref().map(|open| short_age(open.entered, now())).unwrap_or_default();
    let context = &asked.context;
    let mut facts = vec![opening.station.to_string(), since];
    facts.extend(plan_facts(task, now(), &asked.rules.project.timezone));
    output.say(facts.join("  "));
    if !context.role.is_empty() {
        output.say(one_line(&context.role));
    }
    let mut texts: Vec<String> = Vec::new();
    let asks = context.prompt.iter().chain(&context.instructions).map(String::as_str);
    for text in asks.chain(body_parts(asked.file.body()).texts) {
        texts.extend(std::iter::once(String::new()));
        texts.extend(rendered(text, width().min(88)).lines().map(|line| format!("  {line}")));
    }
    texts.iter().take(lines).for_each(|line| output.say(line));
    if texts.len() > lines {
        output.say(dim(format!("  ... (v: all {} lines)", texts.len())));
    }
    for expected in &context.expectations {
        output.say(format!("  - {}", one_line(expected)));
    }
    let points = open_points(task);
    if !points.is_empty() {
        output.say(bold("\nOpen points"));
        for point in &points {
            output.say(format!("  [ ] {}", one_line(point)));
        }
    }
    let ago = |at| ago(at, now(), &TimeZone::system());
    if let Some(review) = settled_since_rejection(task, person) {
        output.say(bold(format!("\nSince you sent it back, {}", ago(review.timestamp))));
        for point in review.blockers.iter().chain(&review.notes) {
            output.say(format!("  [x] {}", one_line(point)));
        }
    }
    if let Some(last) = task.history.last() {
        let who = last.agent.as_ref().map_or("somebody", |agent| name(asked.rules, agent));
        let to = last.to.as_ref().filter(|_| !last.stays()).map(place_words);
        let step = step_words(&last.station().to_string(), last.outcome.as_str(), to);
        let (ago, summary) = (ago(last.exited), one_line(&last.summary));
        output.say(dim(format!("\n{who}, {ago}: {step}: {summary}")));
    }
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
        let summary = self.answer(&format!("Summary ({}): ", one_line(&usual)))?;
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
        self.output.say("What has to be fixed, or what does it wait for? A line for each; an empty line ends, `q` goes back.");
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
                (_, None) => self.note("it needs at least one; `q` goes back"),
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
                    ("", None) => self.note("the gate needs it; `q` goes back"),
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

    /// Returns the answer to a question; `None` if the person goes back to the keys.
    fn answer(&self, question: &str) -> Option<String> {
        let line = self.line(question)?;
        (line != "q" && !line.starts_with('\u{1b}')).then_some(line)
    }

    /// Shows the keys, and returns the one that the person presses; `None` if they leave, the input has ended, or the run must stop.
    fn key(&self, lines: Option<String>) -> Option<char> {
        // The mode comes first: whoever sees the keys may press one.
        let mode = KeyMode::begin().ok();
        if let Some(lines) = lines {
            self.output.say(format!("\n{lines}"));
        }
        let read = self.read("> ", |input| {
            let mut bytes = Vec::new();
            let mut byte = [0];
            while input.read(&mut byte)? > 0 {
                bytes.push(byte[0]);
                let is_begun = |fault: Utf8Error| fault.error_len().is_none();
                if !std::str::from_utf8(&bytes).is_err_and(is_begun) {
                    break;
                }
            }
            Ok(bytes)
        });
        drop(mode);
        let key = read.and_then(|bytes| String::from_utf8_lossy(&bytes).chars().next());
        // Ctrl-c and ctrl-d leave.
        let key = key.filter(|key| !matches!(key, '\u{3}' | '\u{4}'));
        self.has_ended.set(key.is_none());
        let shown = key.filter(|key| !key.is_control());
        self.output.say(shown.map(String::from).unwrap_or_default());
        key
    }

    /// Returns the typed line without surrounding blanks; `None` if the input has ended, or the run must stop.
    fn line(&self, question: &str) -> Option<String> {
        let mode = KeyMode::begin_line().ok();
        let line = self.read(question, |input| {
            let (mut line, mut byte) = (Vec::new(), [0]);
            while input.read(&mut byte)? > 0 {
                line.push(byte[0]);
                if matches!(byte[0], b'\n' | ESCAPE) {
                    break;
                }
            }
            Ok(line)
        });
        self.has_ended.set(line.is_none());
        let line = line?;
        if line.ends_with(&[ESCAPE]) {
            if let Some(mode) = mode {
                mode.forget();
            }
            self.output.say("");
            return Some(char::from(ESCAPE).to_string());
        }
        Some(String::from_utf8_lossy(&line).trim().to_owned())
    }

    /// Returns what the person types; `None` if the input has ended, or the run must stop.
    fn read(
        &self,
        question: &str,
        read: impl FnOnce(&mut io::StdinLock<'static>) -> io::Result<Vec<u8>> + Send + 'static,
    ) -> Option<Vec<u8>> {
        let mut stderr = anstream::stderr();
        let _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
        let (sender, typed) = mpsc::channel();
        // No signal interrupts a read. When the run stops, this thread keeps waiting until the program ends, which is soon.
        thread::spawn(move || drop(sender.send(read(&mut io::stdin().lock()))));
        loop {
            match typed.recv_timeout(TICK) {
                Ok(Ok(bytes)) => return (!bytes.is_empty()).then_some(bytes),
                Ok(Err(cause)) => {
                    let warning = yellow("warning:");
                    self.output.say(format!("{warning} cannot read from here: {cause}"));
                    return None;
                }
                Err(RecvTimeoutError::Timeout) if !self.stop.load(Ordering::Relaxed) => {}
                Err(_) => return None,
            }
        }
    }
}

/// Shows the changes of the task's own branch, or those in the project since the task was created, and the names of untracked files.
fn show_diff(output: Output, diff: Result<WorkDiff, String>) {
    let diff = match diff {
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
