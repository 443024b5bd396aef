//! Which values a workflow's texts ask for, and what they are for one task.

use std::borrow::Cow;

use serde_json::Value;

use crate::domain::{Brief, BriefText, Duty, Map, Task, Visit, Workflow};
use crate::rules::brief::template::{Reference, Template, as_text};
use crate::rules::routing::reviews::open_wishes;

/// The body of a task's file, for names that stand for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Body<'a> {
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

/// What can be said of every gate, whatever it hands on.
pub(crate) const OF_A_GATE: &[&str] = &["summary", "outcome", "agent", "blockers", "notes", "body"];

/// What can be said of every task.
pub(crate) const OF_A_TASK: &[&str] = &["id", "title", "description", "body"];

impl<'a> Values<'a> {
    pub(crate) fn find(&self, reference: &Reference) -> Option<Cow<'a, Value>> {
        let found = match reference.parts().as_slice() {
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

    /// Returns what the task started with under that name, or what the workflow takes for it.
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
            "blockers" => return Some(Cow::Owned(self.wishes(gate).0.into())),
            "notes" => return Some(text(self.wishes(gate).1)),
            _ => {}
        }
        if what == "body" {
            let own = |visit: &usize| {
                self.task.history.get(*visit).is_some_and(|visit| visit.gate.as_str() == gate)
            };
            let (_, work) = self.body.works.iter().rev().find(|(visit, _)| own(visit))?;
            return Some(text(work.trim_matches('\n').to_owned()));
        }
        let visit = self.latest(gate)?;
        Some(match what {
            "summary" => text(visit.summary.clone()),
            "outcome" => {
                text(visit.said().map_or_else(|| visit.outcome.to_string(), ToString::to_string))
            }
            "agent" => text(visit.agent.as_ref()?.to_string()),
            _ => return None,
        })
    }

    fn of_branch(&self, fork: &str, branch: &str, what: &str) -> Option<Cow<'a, Value>> {
        let handed_on = self
            .handed_on(fork)
            .and_then(|outputs| outputs.get(branch))
            .and_then(|own| own.get(what));
        if let Some(value) = handed_on {
            return Some(Cow::Borrowed(value));
        }
        let own = |visit: &&Visit| {
            visit.gate.as_str() == fork
                && visit.branch.as_ref().is_some_and(|own| own.as_str() == branch)
        };
        let visit = self.task.history.iter().rev().find(own)?;
        Some(match what {
            "summary" => text(visit.summary.clone()),
            "outcome" => text(visit.outcome.to_string()),
            "agent" => text(visit.agent.as_ref()?.to_string()),
            "blockers" => Cow::Owned(visit.blockers.clone().into()),
            "notes" => text(visit.rejection_notes.clone().unwrap_or_default()),
            _ => return None,
        })
    }

    /// Returns what the gate wants mended and nobody has answered yet.
    fn wishes(&self, gate: &str) -> (Vec<String>, String) {
        if let Some(review) =
            self.task.review.as_ref().filter(|review| review.from_gate.as_str() == gate)
        {
            return (review.blockers.clone(), review.notes.clone().unwrap_or_default());
        }
        let open = open_wishes(&self.task.history)
            .into_iter()
            .rev()
            .find(|wish| wish.from_gate.as_str() == gate);
        open.map(|wish| (wish.blockers, wish.notes.unwrap_or_default())).unwrap_or_default()
    }

    /// Returns a gate's latest result: its summary, then what it handed on.
    fn result(&self, gate: &str) -> Option<Cow<'a, Value>> {
        let visit = self.latest(gate)?;
        let mut lines = vec![visit.summary.clone()];
        for (name, value) in self.handed_on(gate).into_iter().flatten() {
            let value = as_text(value);
            let gap = if value.starts_with("- ") || value.contains('\n') { "\n" } else { " " };
            lines.push(format!("{name}:{gap}{value}"));
        }
        Some(text(lines.join("\n")))
    }

    fn whole_task(&self) -> String {
        match self.task.description.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
            Some(description) => format!("{}\n\n{description}", self.task.title),
            None => self.task.title.clone(),
        }
    }
}

fn text(text: String) -> Cow<'static, Value> {
    Cow::Owned(Value::String(text))
}

/// Returns the names that the brief asks for, each once, in the order of the texts.
pub fn reads(duty: &Duty) -> Vec<String> {
    let Brief { entry, reentry } = &duty.brief;
    let mut names = Vec::new();
    for text in texts(entry).into_iter().chain(texts(reentry)) {
        for name in asked_for(text) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Returns the names that one text asks for. A text that is no template has been refused when the rules were read.
pub fn asked_for(text: &str) -> Vec<String> {
    let template = Template::parse(text).unwrap_or_default();
    template.references().map(|reference| reference.name.clone()).collect()
}

fn texts(brief: &BriefText) -> Vec<&str> {
    let BriefText { role, expectations, outcomes, tips, instructions } = brief;
    let lists = expectations.iter().chain(tips).flatten();
    let meanings = outcomes.iter().map(|(_, text)| text);
    role.iter().chain(instructions).chain(lists).chain(meanings).map(String::as_str).collect()
}
