//! Texts with holes: `{{name}}` stands for a value of a gate's outputs or of the task's input.
//!
//! One pass, and values are only copied: a text that an agent wrote is never read as a template. The caller looks up names; this
//! module knows the grammar and the conversion of values to text.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use crate::routing::loops::item_value;
use crate::routing::reviews::open_requests;
use aof_domain::{Brief, BriefText, Duty, Map, Task, Visit, Workflow};

#[cfg(test)]
mod tests;

/// The number of faults of one text that are reported.
const FAULT_LIMIT: usize = 50;

/// The longest name, in bytes: three identifiers and two dots.
const NAME_LIMIT: usize = 3 * 64 + 2;

/// The longest filled text, in bytes; a longer one is cut, with a mark.
const TEXT_LIMIT: usize = 256 * 1024;

/// The longest value that is copied into a text, in bytes; a longer one is cut, with a mark.
const VALUE_LIMIT: usize = 64 * 1024;

/// A text that is split at its holes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Hole(Reference),
}

/// A hole: its name, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The name: `branch`, `review.blockers`, `fork.security.summary`.
    pub name: String,
    /// The bytes of the hole in the text, braces included.
    pub range: Range<usize>,
}

/// A part of a template that looks like a hole and is not a valid one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateFault {
    /// The bytes in the text.
    pub range: Range<usize>,
    /// The fault, in one sentence.
    pub message: String,
    pub help: String,
}

/// A filled text, with the names that have no value or too long a one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Rendered {
    pub text: String,
    /// The names without a value, each once, in the order of the text.
    pub missing: Vec<String>,
    /// The names whose values did not fit, each once.
    pub cut: Vec<String>,
}

impl Reference {
    /// Returns the parts of the name, one to three.
    pub(crate) fn parts(&self) -> Vec<&str> {
        self.name.split('.').collect()
    }
}

impl Template {
    /// Reads a text, in time linear in its length. Fails with all faults.
    pub(crate) fn parse(text: &str) -> Result<Self, Vec<TemplateFault>> {
        let mut pieces = Vec::new();
        let mut faults = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(open) = text[at..].find("{{").map(|found| at + found) {
            if open > at && text[..open].ends_with('\\') {
                // The backslash is part of the text that has not been copied yet.
                plain.push_str(&text[at..open - 1]);
                at = open + text[open..].bytes().take_while(|byte| *byte == b'{').count();
                plain.push_str(&text[open..at]);
                continue;
            }
            plain.push_str(&text[at..open]);
            let (end, hole) = hole(text, open);
            match hole {
                Ok(name) => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Hole(Reference { name: name.to_owned(), range: open..end }));
                }
                Err(fault) => faults.push(fault),
            }
            at = end;
            if faults.len() == FAULT_LIMIT {
                break;
            }
        }
        plain.push_str(&text[at..]);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        if faults.is_empty() { Ok(Self { pieces }) } else { Err(faults) }
    }

    /// Returns the holes, in the order of the text.
    pub(crate) fn references(&self) -> impl Iterator<Item = &Reference> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Hole(reference) => Some(reference),
            Piece::Text(_) => None,
        })
    }

    /// Returns the text with every hole filled with the result of `look_up`; `None` means that no gate has handed on the value yet.
    pub(crate) fn render<'v>(
        &self,
        look_up: impl Fn(&Reference) -> Option<Cow<'v, Value>>,
    ) -> Rendered {
        let mut rendered = Rendered::default();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => rendered.text.push_str(text),
                Piece::Hole(hole) => {
                    if let Some(value) = look_up(hole) {
                        rendered.fill(&hole.name, &as_text(&value));
                    } else {
                        rendered.text.push_str(&format!("[missing: {}]", hole.name));
                        note(&mut rendered.missing, &hole.name);
                    }
                }
            }
        }
        rendered
    }
}

impl Rendered {
    fn fill(&mut self, name: &str, text: &str) {
        let room = TEXT_LIMIT.saturating_sub(self.text.len()).min(VALUE_LIMIT);
        if text.len() <= room {
            self.text.push_str(text);
            return;
        }
        note(&mut self.cut, name);
        // A text that is already full gets only the shortest mark for each further hole.
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
        self.text.push_str(&match room {
            0 => "[cut]".to_owned(),
            _ => format!("[cut: {name} has {} bytes]", text.len()),
        });
    }
}

fn note(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// Reads the hole that opens at an offset. Returns its end, and its name.
fn hole(text: &str, open: usize) -> (usize, Result<&str, TemplateFault>) {
    let (braces, closing) =
        if text[open..].starts_with("{{{") { ("{{{", "}}}") } else { ("{{", "}}") };
    let start = open + braces.len();
    // The text after the next opening braces belongs to those, so that every byte is read a few times at most.
    let end = text[start..].find("{{").map_or(text.len(), |next| start + next);
    let Some(close) = text[start..end].find(closing).map(|close| start + close) else {
        let message = format!("`{braces}` is opened and not closed by `{closing}`");
        let help = format!("close it, or write `\\{braces}` if it is meant as it stands");
        return (end, Err(TemplateFault { range: open..start, message, help }));
    };
    let name = text[start..close].trim();
    let end = close + closing.len();
    if is_name(name) {
        return (end, Ok(name));
    }
    let sign = name.chars().next().filter(|sign| "#^/>!&=%".contains(*sign));
    let shown: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
    let (message, help) = match sign {
        Some(sign @ ('#' | '^' | '/')) => (
            format!("there are no sections here, and `{{{{{sign}` begins one"),
            "a text has only names in it: what differs by outcome stands in the route's `prompt`, what differs after a rejection in `reentry`",
        ),
        Some(sign) => (format!("there are no tags here, and `{{{{{sign}` begins one"), "remove it"),
        None => (
            format!("`{shown}` is no name"),
            "it is one to three words of letters, digits, `_` and `-`, with dots between, as in `branch` or `review.blockers`",
        ),
    };
    (end, Err(TemplateFault { range: open..end, message, help: help.to_owned() }))
}

fn is_name(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    text.len() <= NAME_LIMIT && text.split('.').count() <= 3 && text.split('.').all(is_word)
}

/// Returns a value as text: texts as they are, lists of plain values as lines with dashes, other values as JSON.
pub fn as_text(value: &Value) -> Cow<'_, str> {
    let is_plain = |value: &Value| !matches!(value, Value::Array(_) | Value::Object(_));
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(items) if items.iter().all(is_plain) => {
            // The lines of one item are indented, so that they belong together.
            let indented = |text: &str| text.trim_end_matches('\n').replace('\n', "\n  ");
            let lines: Vec<String> =
                items.iter().map(|item| format!("- {}", indented(&as_text(item)))).collect();
            Cow::Owned(lines.join("\n"))
        }
        other => Cow::Owned(other.to_string()),
    }
}

/// The body of a task's file, for names that stand for it.
#[derive(Debug, Clone, Default)]
pub struct Body<'a> {
    pub text: &'a str,
    /// The texts that completions brought, with the numbers of their visits.
    pub works: Vec<(usize, &'a str)>,
}

/// The values of a task at its gate.
pub(crate) struct Values<'a> {
    pub(crate) workflow: &'a Workflow,
    pub(crate) task: &'a Task,
    pub(crate) body: &'a Body<'a>,
    /// The entry whose route has the text; absent for the texts of the gate itself.
    pub(crate) incoming: Option<&'a Visit>,
}

/// The values that every gate has, whatever its outputs.
pub(crate) const OF_A_GATE: &[&str] =
    &["summary", "outcome", "agent", "blockers", "notes", "body", EXCERPT];

/// The name for the beginning of a gate's text, and its length in characters.
const EXCERPT: &str = "excerpt";
const EXCERPT_LENGTH: usize = 800;

/// The name that every gate with a loop has: the outputs of each item.
pub(crate) const ITEMS: &str = "items";

/// Returns whether the gate of that name goes through a list.
pub(crate) fn has_loop(workflow: &Workflow, gate: &str) -> bool {
    workflow.gates.iter().any(|known| known.id.as_str() == gate && known.for_each().is_some())
}

/// The values that every task has.
pub(crate) const OF_A_TASK: &[&str] = &["id", "title", "description", "body"];

impl<'a> Values<'a> {
    pub(crate) fn find(&self, reference: &Reference) -> Option<Cow<'a, Value>> {
        let found = match reference.parts().as_slice() {
            ["item", path @ ..] if let Some((_, value)) = item_value(self.workflow, self.task) => {
                let found = path.iter().try_fold(&value, |value, key| value.get(key));
                found.cloned().map(Cow::Owned)
            }
            ["task"] => Some(self.given("task").unwrap_or_else(|| text(self.whole_task()))),
            ["task", what] => self.of_task(what),
            ["input", name] => self.given(name),
            [name] => self.bare(name),
            [gate, what] => self.of_gate(gate, what),
            [fork, branch, what] => self.of_branch(fork, branch, what),
            _ => None,
        };
        found.filter(|value| !value.is_null())
    }

    fn bare(&self, name: &str) -> Option<Cow<'a, Value>> {
        if self.workflow.protects(name) {
            return self.given(name);
        }
        let incoming = self.incoming.and_then(|visit| visit.outputs.get(name)).map(Cow::Borrowed);
        let latest = || {
            let gates = self.task.history.iter().rev().map(|visit| visit.gate.as_str());
            gates
                .filter_map(|gate| self.handed_on(gate)?.get(name))
                .find(|value| !value.is_null())
                .map(Cow::Borrowed)
        };
        incoming.or_else(latest).or_else(|| self.given(name)).or_else(|| self.result(name))
    }

    /// Returns the task's input of that name, or the workflow's default for it.
    fn given(&self, name: &str) -> Option<Cow<'a, Value>> {
        let given = self.handed_on("input").and_then(|input| input.get(name));
        let default = || self.workflow.context.input.as_ref()?.get(name);
        given.or_else(default).map(Cow::Borrowed)
    }

    fn handed_on(&self, gate: &str) -> Option<&'a Map> {
        self.task.context.get(gate).and_then(Value::as_object)
    }

    fn latest(&self, gate: &str) -> Option<&'a Visit> {
        self.task.history.iter().rev().find(|visit| visit.gate.as_str() == gate)
    }

    fn of_task(&self, what: &str) -> Option<Cow<'a, Value>> {
        let task = self.task;
        Some(text(match what {
            "id" => task.id.to_string(),
            "title" => task.title.clone(),
            "description" => task.description.clone().unwrap_or_default(),
            "body" => self.body.text.trim_matches('\n').to_owned(),
            _ => return None,
        }))
    }

    fn of_gate(&self, gate: &str, what: &str) -> Option<Cow<'a, Value>> {
        if let Some(value) = self.handed_on(gate).and_then(|outputs| outputs.get(what)) {
            return Some(Cow::Borrowed(value));
        }
        match what {
            "blockers" => return Some(Cow::Owned(self.requests(gate).0.into())),
            "notes" => return Some(text(self.requests(gate).1)),
            // A loop has no outputs until its first item is done.
            ITEMS if has_loop(self.workflow, gate) => {
                return Some(Cow::Owned(Value::Array(Vec::new())));
            }
            _ => {}
        }
        if matches!(what, "body" | EXCERPT) {
            let here = |visit: &usize| {
                self.task.history.get(*visit).is_some_and(|visit| visit.gate.as_str() == gate)
            };
            let work = self.body.works.iter().rev().find(|(visit, _)| here(visit));
            let work = work.map(|(_, work)| work.trim_matches('\n'));
            return Some(text(match work {
                Some(work) if what == EXCERPT => work.chars().take(EXCERPT_LENGTH).collect(),
                Some(work) => work.to_owned(),
                None if what == EXCERPT => self.latest(gate)?.summary.clone(),
                None => return None,
            }));
        }
        let visit = self.latest(gate)?;
        match (what, visit.gate_outcome()) {
            ("outcome", Some(outcome)) => Some(text(outcome.to_string())),
            _ => of_visit(visit, what),
        }
    }

    fn of_branch(&self, fork: &str, branch: &str, what: &str) -> Option<Cow<'a, Value>> {
        let handed_on = self
            .handed_on(fork)
            .and_then(|outputs| outputs.get(branch))
            .and_then(|stored| stored.get(what));
        if let Some(value) = handed_on {
            return Some(Cow::Borrowed(value));
        }
        let here = |visit: &&Visit| {
            visit.gate.as_str() == fork
                && visit.branch.as_ref().is_some_and(|visited| visited.as_str() == branch)
        };
        let visit = self.task.history.iter().rev().find(here)?;
        match what {
            "blockers" => Some(Cow::Owned(visit.blockers.clone().into())),
            "notes" => Some(text(visit.rejection_notes.clone().unwrap_or_default())),
            _ => of_visit(visit, what),
        }
    }

    /// Returns the unanswered requests of the gate, and their notes.
    fn requests(&self, gate: &str) -> (Vec<String>, String) {
        if let Some(review) =
            self.task.review.as_ref().filter(|review| review.from_gate.as_str() == gate)
        {
            return (review.blockers.clone(), review.notes.clone().unwrap_or_default());
        }
        let open = open_requests(&self.task.history)
            .into_iter()
            .rev()
            .find(|latest| latest.from_gate.as_str() == gate);
        open.map(|latest| (latest.blockers, latest.notes.unwrap_or_default())).unwrap_or_default()
    }

    /// Returns a gate's latest result: its text or its summary, then its outputs; for a fork, the result of each branch.
    fn result(&self, gate: &str) -> Option<Cow<'a, Value>> {
        let of_gate = |visit: &&Visit| visit.gate.as_str() == gate;
        let fork = self.workflow.gates.iter().find(|known| known.id.as_str() == gate)?.fork();
        let branches = fork.map(|fork| fork.branches.as_slice()).unwrap_or_default();
        let mut lines = Vec::new();
        for branch in branches {
            let at = |visit: &Visit| of_gate(&visit) && visit.branch.as_ref() == Some(branch.id());
            if let Some(visit) = self.task.history.iter().rposition(at) {
                lines.push(format!("{}: {}", branch.id(), self.work(visit)));
            }
        }
        if lines.is_empty() {
            lines.push(self.work(self.task.history.iter().rposition(|visit| of_gate(&visit))?));
        }
        for (name, value) in self.handed_on(gate).into_iter().flatten() {
            let value = as_text(value);
            let gap = if value.starts_with("- ") || value.contains('\n') { "\n" } else { " " };
            lines.push(format!("{name}:{gap}{value}"));
        }
        Some(text(lines.join("\n")))
    }

    /// Returns the text of a visit, or its summary if it has none.
    fn work(&self, visit: usize) -> String {
        let work = self.body.works.iter().find(|(ended, _)| *ended == visit);
        let text = work.map(|(_, text)| text.trim_matches('\n').to_owned());
        text.unwrap_or_else(|| self.task.history[visit].summary.clone())
    }

    fn whole_task(&self) -> String {
        match self.task.description.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
            Some(description) => format!("{}\n\n{description}", self.task.title),
            None => self.task.title.clone(),
        }
    }
}

/// Returns a value of the entry itself by its name.
fn of_visit(visit: &Visit, what: &str) -> Option<Cow<'static, Value>> {
    Some(text(match what {
        "summary" => visit.summary.clone(),
        "outcome" => visit.outcome.to_string(),
        "agent" => visit.agent.as_ref()?.to_string(),
        _ => return None,
    }))
}

fn text(text: String) -> Cow<'static, Value> {
    Cow::Owned(Value::String(text))
}

/// Returns the names that the brief's texts contain, each once, in the order of the texts.
pub fn reads(duty: &Duty) -> Vec<String> {
    let Brief { entry, reentry } = &duty.brief;
    let mut names = Vec::new();
    for (_, text) in texts(entry).chain(texts(reentry)) {
        for name in asked_for(text) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Returns the names in one text. Reading the rules has already refused texts that are not templates.
pub fn asked_for(text: &str) -> Vec<String> {
    let template = Template::parse(text).unwrap_or_default();
    template.references().map(|reference| reference.name.clone()).collect()
}

/// Returns the texts of a brief, each with the number of its field: role, instructions, expectations, tips, outcomes.
pub(crate) fn texts(brief: &BriefText) -> impl Iterator<Item = (usize, &String)> {
    let BriefText { role, instructions, expectations, tips, outcomes } = brief;
    let whole = role.iter().map(|text| (0, text)).chain(instructions.iter().map(|text| (1, text)));
    let expectations = expectations.iter().flatten().map(|text| (2, text));
    let tips = tips.iter().flatten().map(|text| (3, text));
    whole.chain(expectations).chain(tips).chain(outcomes.iter().map(|(_, text)| (4, text)))
}
