//! The files of other systems as workflows of ours: bytes to text, with what became of every field. No I/O, and nothing is
//! judged that the loader judges.
//!
//! One goes: bytes -> tree (`source`) -> whose file it is (`guess`) -> a workflow as written (`sketch`), by the reader of
//! that system -> text (`workflow_text`). What a file says about the way of a task is converted, or told as lost; anything
//! else may be dropped, and is told too.

use super::antfarm;
use super::aof;
use super::guess;
use super::names;
use super::openagents;
use super::orbital;
use super::source;
use super::status_graph;
use serde_json::{Map, Value};

use super::report::{Fate, Remark};

use super::report::{At, Ledger};
use super::workflow_draft::Sketch;
use crate::domain::words::words;
use crate::domain::{Period, RoleId, WorkflowName, listed};
use crate::files::diagnostic::diagnostic::Diagnostic;
use crate::files::workflow_text;
use crate::files::yaml::{Fault, Node};

words!(
    /// Whose file is imported.
    System, "a system", {
        /// Steps of one agent each, with decisions and retries.
        Antfarm = "antfarm",
        /// Steps that name the next one: agents, approvals, parallel agents.
        Openagents = "openagents",
        /// Roles with a frontmatter schema, and a graph over their `$status`.
        StatusGraph = "status-graph",
        /// Steps in TOML, some of them gates.
        Orbital = "orbital",
        /// Earlier files of aof: gates, or hops.
        Aof = "aof",
    }
);

/// What a file came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Imported {
    /// Whose file it is.
    pub system: System,
    /// The workflows in it.
    pub workflows: Vec<Draft>,
    /// What became of each field, in the order of the file.
    pub remarks: Vec<Remark>,
}

/// A workflow that was read, as the text of a file of ours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    /// Its name.
    pub name: WorkflowName,
    /// The text.
    pub text: String,
    /// The roles that work in it.
    pub roles: Vec<RoleNeed>,
}

/// A role that org.yaml needs for a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoleNeed {
    /// Its name.
    pub role: RoleId,
    /// What it does, if the file says so.
    pub description: Option<String>,
    /// Whether people are meant.
    pub people: bool,
}

impl Imported {
    /// Returns the fields without which a task would go another way.
    pub(crate) fn lost(&self) -> impl Iterator<Item = &Remark> {
        self.remarks.iter().filter(|remark| remark.fate == Fate::Lost)
    }
}

/// A workflow as a reader leaves it.
pub(crate) struct Read {
    pub(crate) name: String,
    pub(crate) map: Map<String, Value>,
    pub(crate) roles: Roles,
}

impl Read {
    pub(crate) fn of(sketch: &Sketch, roles: Roles) -> Self {
        Self { name: sketch.name.clone(), map: sketch.to_map(), roles }
    }
}

/// The roles of a workflow, each once, in the order in which they come up.
#[derive(Debug, Default)]
pub(crate) struct Roles(Vec<(String, Option<String>, bool)>);

impl Roles {
    pub(crate) fn add(&mut self, name: &str, description: Option<&str>) {
        self.put(name, description, false);
    }

    pub(crate) fn add_people(&mut self, name: &str, description: Option<&str>) {
        self.put(name, description, true);
    }

    fn put(&mut self, name: &str, description: Option<&str>, people: bool) {
        match self.0.iter_mut().find(|(known, ..)| known == name) {
            Some((_, known, known_people)) => {
                *known_people |= people;
                if known.is_none() {
                    *known = description.map(str::to_owned);
                }
            }
            None => self.0.push((name.to_owned(), description.map(str::to_owned), people)),
        }
    }
}

/// Reads the workflows in a file of another system. `name` is what one is to be called; of several it picks the one of that
/// name.
pub(crate) fn import(
    file: &str,
    bytes: &[u8],
    system: Option<System>,
    name: Option<&WorkflowName>,
) -> Result<Imported, Vec<Diagnostic>> {
    let text = source::decoded(bytes)
        .map_err(|(text, fault)| vec![Diagnostic::from_fault(file, &text, &fault)])?;
    read(file, &text, system, name).map_err(|faults| Diagnostic::from_faults(file, &text, &faults))
}

fn read(
    file: &str,
    text: &str,
    system: Option<System>,
    name: Option<&WorkflowName>,
) -> Result<Imported, Vec<Fault>> {
    let tree = source::read(file, text)?;
    let root = &tree.root;
    let system = match system {
        Some(system) => system,
        None => guess::guess(root, tree.notation).map_err(|fault| vec![fault])?,
    };
    let mut ledger = Ledger::new(tree.lines);
    let stem = stem(file);
    let found = match system {
        System::Antfarm => antfarm::read(root, &stem, &mut ledger),
        System::Openagents => openagents::read(root, &stem, &mut ledger),
        System::StatusGraph => status_graph::read(root, &stem, &mut ledger),
        System::Orbital => orbital::read(root, &stem, &mut ledger),
        System::Aof => aof::read(root, &stem, &mut ledger),
    };
    let remarks = ledger.finish()?;
    let found = chosen(found, name).map_err(|fault| vec![fault])?;
    let workflows =
        found.into_iter().map(drafted).collect::<Result<_, _>>().map_err(|fault| vec![fault])?;
    Ok(Imported { system, workflows, remarks })
}

/// Returns the workflows that are wanted, called as they are to be called.
fn chosen(mut found: Vec<Read>, name: Option<&WorkflowName>) -> Result<Vec<Read>, Fault> {
    if found.is_empty() {
        return Err(Fault::new("no_workflow", 0..0, "there is no workflow in this file"));
    }
    let Some(name) = name else { return Ok(found) };
    if found.len() == 1 {
        name.as_str().clone_into(&mut found[0].name);
        found[0].map.insert("name".to_owned(), name.as_str().into());
        return Ok(found);
    }
    let known: Vec<String> = found.iter().map(|read| read.name.clone()).collect();
    found.retain(|read| read.name == name.as_str());
    if found.is_empty() {
        let message =
            format!("this file has {} workflows, and none is called `{name}`", known.len());
        return Err(Fault::new("unknown_workflow", 0..0, message).help(format!(
            "name one of {}, or leave `--name` out for all of them",
            listed(known)
        )));
    }
    Ok(found)
}

fn drafted(read: Read) -> Result<Draft, Fault> {
    let unfit =
        |fault: crate::domain::IdFault| Fault::new("invalid_value", 0..0, fault.to_string());
    let need = |(name, description, people): (String, Option<String>, bool)| {
        Ok(RoleNeed { role: name.parse().map_err(unfit)?, description, people })
    };
    Ok(Draft {
        name: read.name.parse().map_err(unfit)?,
        text: workflow_text::render(&read.map),
        roles: read.roles.0.into_iter().map(need).collect::<Result<_, Fault>>()?,
    })
}

/// Returns what a workflow is called whose file says no name: as the file, without the words that systems put behind it.
fn stem(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or_default();
    let mut stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    if matches!(stem, "" | "workflow" | "config" | "project" | "-") {
        stem = "imported";
    }
    names::plain(stem, "imported")
}

/// Tells whether a mapping has one of these keys, with something behind it.
pub(crate) fn has(node: &Node<'_>, keys: &[&str]) -> bool {
    keys.iter().any(|key| node.get(key).is_some_and(|node| !node.is_null()))
}

/// Returns a text as it is written into a file: no blanks at the ends of lines, and one line break behind several lines.
pub(crate) fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    let joined = lines.join("\n").replace('\t', "    ");
    let joined = joined.trim_start_matches('\n');
    if joined.contains('\n') { format!("{joined}\n") } else { joined.to_owned() }
}

/// Returns a length of time as ours are written; the forms of Go and of `ms` are understood.
pub(crate) fn period(text: &str, at: &At, ledger: &mut Ledger<'_>) -> Option<String> {
    let period = readable(text, at, ledger)?;
    if period.to_string() == text.trim() {
        ledger.kept(at);
    } else {
        ledger.converted(at, format!("`timeout: {period}`"));
    }
    Some(period.to_string())
}

/// Returns how long a run of an agent may take.
pub(crate) fn run_period(text: &str, at: &At, ledger: &mut Ledger<'_>) -> Option<String> {
    let period = readable(text, at, ledger)?;
    ledger.converted(at, format!("`run: {{timeout: {period}}}`"));
    Some(period.to_string())
}

/// Returns the model that an agent is told to use.
pub(crate) fn run_model(model: String, at: &At, ledger: &mut Ledger<'_>) -> String {
    ledger.converted(at, format!("`run: {{model: {model}}}`"));
    model
}

fn readable(text: &str, at: &At, ledger: &mut Ledger<'_>) -> Option<Period> {
    let plain = text.trim();
    let period = plain.parse::<Period>().ok().or_else(|| {
        let seconds = span_in_seconds(plain)?;
        format!("{seconds}s").parse().ok()
    });
    if period.is_none() {
        ledger.dropped(at, format!("`{plain}` is no length of time that is known here"));
    }
    period
}

/// Returns how many seconds a time such as `1.5h`, `90000ms` or `300` is, rounded up.
fn span_in_seconds(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        let unit =
            rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| digits + at);
        sum += number
            * match &rest[digits..unit] {
                "" | "s" => 1.0,
                "ms" => 0.001,
                "m" => 60.0,
                "h" => 3_600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked: it is in range"
    )]
    (sum > 0.0 && sum < 1e12).then(|| sum.ceil() as u64)
}

#[cfg(test)]
mod tests;
