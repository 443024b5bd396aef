//! Checks the texts of a workflow: holes that can never be filled, and names with two meanings.

use super::checker::{Finding, RuleChecker};
use crate::outputs::shape_of;
use crate::template::{ITEMS, OF_A_GATE, OF_A_TASK, Reference, Template, texts};
use aof_domain::workflow::shape::Others;
use aof_domain::{
    BriefText, ConfigPlace, Duty, Gate, GateId, Outcome, Outputs, Severity, Target, did_you_mean,
    listed,
};

/// A fault in a name: its severity, the problem and the fix.
type NameFault = (Severity, String, String);

/// The fields of a brief's texts.
const ENTRY: [&str; 5] =
    ["brief.role", "brief.instructions", "brief.expectations", "brief.tips", "brief.outcomes"];

/// The fields of a brief's texts for a task that comes back.
const REENTRY: [&str; 5] = [
    "brief.reentry.role",
    "brief.reentry.instructions",
    "brief.reentry.expectations",
    "brief.reentry.tips",
    "brief.reentry.outcomes",
];

impl RuleChecker<'_> {
    pub(crate) fn texts(&mut self) {
        let gate = self.gate;
        for (outcome, route) in gate.exits.written() {
            if let Some(text) = &route.prompt {
                let at = self.place(Some(outcome), "prompt");
                self.text(&at, text, true, Some(outcome));
            }
        }
        let Some(duty) = gate.duty() else { return };
        self.brief_texts(&duty.brief.entry, ENTRY);
        self.brief_texts(&duty.brief.reentry, REENTRY);
    }

    fn brief_texts(&mut self, brief: &BriefText, fields: [&'static str; 5]) {
        for (field, text) in texts(brief) {
            // For an item of a list, the line in the file is unknown.
            self.text(&self.place(None, fields[field]), text, field < 2, None);
        }
    }

    /// Checks a text with holes. `alone` means that the place is the text itself, so that a part of it can be shown; `outcome` is
    /// that of the text's route.
    fn text(&mut self, at: &ConfigPlace, text: &str, alone: bool, outcome: Option<&Outcome>) {
        match Template::parse(text) {
            Ok(template) => {
                for reference in template.references() {
                    if let Some((severity, message, help)) = self.reference(reference, outcome) {
                        let message = format!("`{{{{{}}}}}`: {message}", reference.name);
                        let range = alone.then(|| reference.range.clone());
                        let finding =
                            Finding::new(severity, "unknown_name", at.clone(), message, help);
                        self.findings.push(Finding { range, ..finding });
                    }
                }
            }
            Err(faults) => self.findings.extend(faults.into_iter().map(|fault| Finding {
                severity: Severity::Error,
                code: "invalid_template",
                at: at.clone(),
                range: alone.then_some(fault.range),
                message: fault.message,
                help: Some(fault.help),
            })),
        }
    }

    fn reference(&self, reference: &Reference, outcome: Option<&Outcome>) -> Option<NameFault> {
        match reference.parts().as_slice() {
            ["item", ..] if self.has_items(outcome) => None,
            ["task", what] => {
                unknown(what, OF_A_TASK.iter().copied(), "nothing that is known of a task")
            }
            ["input", name] => {
                let input = self.workflow.context.input.as_ref()?;
                unknown(name, input.keys().map(String::as_str), "nothing that a task begins with")
            }
            ["task"] => None,
            [name] => self.bare(name, outcome),
            [gate, what] => self.of_gate(gate, what),
            [fork, branch, what] => self.of_branch(fork, branch, what),
            _ => None,
        }
    }

    /// Returns whether visits of the gate, or of one to which the route leads, are about an item of a loop.
    fn has_items(&self, outcome: Option<&Outcome>) -> bool {
        let gates = &self.workflow.gates;
        let verifies = |id: &GateId| {
            gates.iter().filter_map(Gate::for_each).any(|at| at.verify_each.as_ref() == Some(id))
        };
        let is_in = |gate: &Gate| gate.for_each().is_some() || verifies(&gate.id);
        let to = outcome.and_then(|outcome| self.gate.exits.route(outcome)).map(|route| &route.to);
        match to {
            Some(Target::Gate(to)) => self.workflow.gate(to).is_some_and(|(_, gate)| is_in(gate)),
            Some(Target::Next) => gates.get(self.index + 1).is_some_and(is_in) || is_in(self.gate),
            _ => is_in(self.gate),
        }
    }

    fn of_gate(&self, name: &str, what: &str) -> Option<NameFault> {
        let gates = &self.workflow.gates;
        let Some(gate) = gates.iter().find(|gate| gate.id.as_str() == name) else {
            let names = gates.iter().map(|gate| gate.id.as_str());
            return unknown(name, names, "no gate of the workflow");
        };
        let general = OF_A_GATE.iter().copied();
        if let Some(fork) = gate.fork() {
            let branches = fork.branches.iter().map(|branch| branch.id().as_str());
            return unknown(what, branches.chain(general), "no branch of the fork");
        }
        let declared = gate.duty().map(|duty| duty.outputs.names()).unwrap_or_default();
        let items = gate.for_each().map(|_| ITEMS);
        let known = declared.into_iter().chain(items).chain(general);
        let open = gate.duty().is_some_and(is_open);
        unknown(what, known, "nothing that the gate hands on").filter(|_| !open)
    }

    fn of_branch(&self, name: &str, branch: &str, what: &str) -> Option<NameFault> {
        let forks = || self.workflow.gates.iter().filter(|gate| gate.fork().is_some());
        let Some(fork) = forks().find(|gate| gate.id.as_str() == name).and_then(Gate::fork) else {
            return unknown(name, forks().map(|gate| gate.id.as_str()), "no fork of the workflow");
        };
        let Some(found) = fork.branches.iter().find(|found| found.id().as_str() == branch) else {
            let names = fork.branches.iter().map(|known| known.id().as_str());
            return unknown(branch, names, "no branch of the fork");
        };
        let general = OF_A_GATE.iter().copied().filter(|of| *of != "body");
        let known = found.duty().outputs.names().into_iter().chain(general);
        unknown(what, known, "nothing that the branch hands on").filter(|_| !is_open(found.duty()))
    }

    /// Checks a name without a dot: of the task's input, of the outputs of the route's gate, or of any gate.
    fn bare(&self, name: &str, outcome: Option<&Outcome>) -> Option<NameFault> {
        let (workflow, context) = (self.workflow, &self.workflow.context);
        if workflow.protects(name) {
            return None;
        }
        let duties =
            || workflow.gates.iter().filter_map(|gate| gate.duty().map(|duty| (gate, duty)));
        let handing: Vec<&str> = duties()
            .filter(|(_, duty)| duty.outputs.names().contains(&name))
            .map(|(gate, _)| gate.id.as_str())
            .collect();
        if workflow.gates.iter().any(|gate| gate.id.as_str() == name) && handing.is_empty() {
            return None;
        }
        let is_declared = context.declares(name);
        if let (Some(outcome), Some(duty)) = (outcome, self.gate.duty())
            && !is_open(duty)
        {
            let id = &self.gate.id;
            let shape = shape_of(duty, outcome).unwrap_or_default();
            let fields = shape.fields().into_iter().flat_map(|fields| &fields.properties);
            let names: Vec<&str> = fields.map(|(name, _)| name.as_str()).collect();
            if is_declared || names.contains(&name) {
                return None;
            }
            let help = match handing.iter().find(|other| **other != id.as_str()) {
                Some(other) => {
                    format!("write `{{{{{other}.{name}}}}}` for what gate `{other}` handed on")
                }
                None => did_you_mean(name, names.iter().copied())
                    .unwrap_or_else(|| format!("`{outcome}` hands on {}", listed(&names))),
            };
            let message = format!("`{outcome}` of gate `{id}` does not hand that on");
            return Some((Severity::Error, message, help));
        }
        match handing.as_slice() {
            [_] => None,
            [one, two, ..] => Some((
                Severity::Warning,
                format!(
                    "gates {} hand on something of that name, and the latest counts",
                    listed(&handing)
                ),
                format!("say which, as in `{{{{{one}.{name}}}}}` or `{{{{{two}.{name}}}}}`"),
            )),
            [] if is_declared => None,
            [] if context.input.is_none()
                && duties().all(|(_, duty)| duty.outputs == Outputs::Open) =>
            {
                None
            }
            [] => {
                let declared = duties().flat_map(|(_, duty)| duty.outputs.names());
                let input = context.input.iter().flat_map(|input| input.keys().map(String::as_str));
                let gates = workflow.gates.iter().map(|gate| gate.id.as_str());
                let names = declared.chain(input).chain(["task"]).chain(gates);
                let provable = context.input.is_some() && !duties().any(|(_, duty)| is_open(duty));
                let (_, message, help) = unknown(name, names, "declared by nobody")?;
                let severity = if provable { Severity::Error } else { Severity::Warning };
                Some((severity, message, help))
            }
        }
    }
}

/// Returns whether the gate may hand on any names.
pub(crate) fn is_open(duty: &Duty) -> bool {
    let welcome = |shape: &aof_domain::Shape| {
        shape.fields().is_some_and(|fields| fields.others == Others::Welcome)
    };
    duty.outputs == Outputs::Open || duty.outputs.shapes().any(welcome)
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>, what: &str) -> Option<NameFault> {
    let known: Vec<&str> = known.collect();
    if known.contains(&name) {
        return None;
    }
    let help = did_you_mean(name, known.iter().copied())
        .unwrap_or_else(|| format!("there is {}", listed(&known)));
    Some((Severity::Error, format!("`{name}` is {what}"), help))
}
