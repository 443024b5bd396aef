//! What can be wrong with the texts of a workflow: holes that nothing can ever fill, and names that mean two things.

use super::finding::Checker;
use crate::domain::{BriefText, Duty, Gate, Outcome, Outputs, Place, Severity, listed, nearest};
use crate::rules::brief::template::{Reference, Template};
use crate::rules::brief::template_values::{OF_A_GATE, OF_A_TASK};
use crate::rules::outputs::shape_of;

/// A text with holes.
struct Spot<'a> {
    at: Place,
    text: &'a str,
    /// Whether the place is the text itself, so that a part of it can be shown.
    alone: bool,
    /// The gate and the outcome of the route that it belongs to; absent for the texts of a gate.
    route: Option<(&'a Gate, &'a Outcome)>,
}

impl Checker<'_> {
    pub(crate) fn texts(&mut self, index: usize, gate: &Gate) {
        let mut texts: Vec<Spot<'_>> = Vec::new();
        for (outcome, route) in gate.exits.written() {
            if let Some(text) = &route.prompt {
                texts.push(Spot {
                    at: self.on(index, outcome, "prompt"),
                    text,
                    alone: true,
                    route: Some((gate, outcome)),
                });
            }
        }
        if let Some(duty) = gate.duty() {
            const ENTRY: [&str; 5] = [
                "brief.role",
                "brief.instructions",
                "brief.expectations",
                "brief.tips",
                "brief.outcomes",
            ];
            const REENTRY: [&str; 5] = [
                "brief.reentry.role",
                "brief.reentry.instructions",
                "brief.reentry.expectations",
                "brief.reentry.tips",
                "brief.reentry.outcomes",
            ];
            for (brief, fields) in [(&duty.brief.entry, ENTRY), (&duty.brief.reentry, REENTRY)] {
                self.brief_texts(index, brief, fields, &mut texts);
            }
        }
        for text in texts {
            match Template::parse(text.text) {
                Ok(template) => {
                    template.references().for_each(|reference| self.reference(&text, reference));
                }
                Err(faults) => {
                    for fault in faults {
                        self.say(
                            Severity::Error,
                            "invalid_template",
                            text.at.clone(),
                            fault.message,
                            fault.help,
                        );
                        self.point(&text, fault.range);
                    }
                }
            }
        }
    }

    fn brief_texts<'a>(
        &self,
        index: usize,
        brief: &'a BriefText,
        fields: [&'static str; 5],
        texts: &mut Vec<Spot<'a>>,
    ) {
        let [role, instructions, expectations, tips, outcomes] = fields;
        let mut push = |field, text: &'a str, alone| {
            texts.push(Spot { at: self.at(index, field), text, alone, route: None });
        };
        brief.role.iter().for_each(|text| push(role, text, true));
        brief.instructions.iter().for_each(|text| push(instructions, text, true));
        brief.expectations.iter().flatten().for_each(|text| push(expectations, text, false));
        brief.tips.iter().flatten().for_each(|text| push(tips, text, false));
        brief.outcomes.iter().for_each(|(_, text)| push(outcomes, text, false));
    }

    /// Lets what was said last point at a part of the text.
    fn point(&mut self, text: &Spot<'_>, range: std::ops::Range<usize>) {
        if let Some(finding) = self.findings.last_mut().filter(|_| text.alone) {
            finding.range = Some(range);
        }
    }

    fn reference(&mut self, text: &Spot<'_>, reference: &Reference) {
        let found = match reference.parts().as_slice() {
            ["task"] => None,
            ["task", what] => {
                unknown(what, OF_A_TASK.iter().copied(), "nothing that is known of a task")
            }
            ["input", name] => match &self.workflow.context.input {
                Some(input) => unknown(
                    name,
                    input.keys().map(String::as_str),
                    "nothing that a task begins with",
                ),
                None => None,
            },
            [name] => self.bare(text, name),
            [gate, what] => self.of_gate(gate, what),
            [fork, branch, what] => self.of_branch(fork, branch, what),
            _ => None,
        };
        if let Some((severity, message, help)) = found {
            let message = format!("`{{{{{}}}}}`: {message}", reference.name());
            self.say(severity, "unknown_name", text.at.clone(), message, help);
            self.point(text, reference.range.clone());
        }
    }

    fn of_gate(&self, name: &str, what: &str) -> Option<(Severity, String, String)> {
        let gates = || self.workflow.gates.iter().map(|gate| gate.id.as_str());
        let Some(gate) = self.workflow.gates.iter().find(|gate| gate.id.as_str() == name) else {
            return unknown(name, gates(), "no gate of the workflow");
        };
        if let Some(fork) = gate.fork() {
            let branches = fork.branches.iter().map(|branch| branch.id().as_str());
            return unknown(
                what,
                branches.chain(OF_A_GATE.iter().copied()),
                "no branch of the fork",
            );
        }
        let declared = gate.duty().map(|duty| duty.outputs.names()).unwrap_or_default();
        let open = gate.duty().is_some_and(is_open);
        if open || OF_A_GATE.contains(&what) {
            return None;
        }
        unknown(
            what,
            declared.into_iter().chain(OF_A_GATE.iter().copied()),
            "nothing that the gate hands on",
        )
    }

    fn of_branch(
        &self,
        name: &str,
        branch: &str,
        what: &str,
    ) -> Option<(Severity, String, String)> {
        let forks = || self.workflow.gates.iter().filter(|gate| gate.fork().is_some());
        let Some(fork) = forks().find(|gate| gate.id.as_str() == name).and_then(|gate| gate.fork())
        else {
            return unknown(name, forks().map(|gate| gate.id.as_str()), "no fork of the workflow");
        };
        let Some(own) = fork.branches.iter().find(|own| own.id().as_str() == branch) else {
            return unknown(
                branch,
                fork.branches.iter().map(|own| own.id().as_str()),
                "no branch of the fork",
            );
        };
        let known = own
            .duty()
            .outputs
            .names()
            .into_iter()
            .chain(OF_A_GATE.iter().copied().filter(|of| *of != "body"));
        if is_open(own.duty()) {
            None
        } else {
            unknown(what, known, "nothing that the branch hands on")
        }
    }

    fn bare(&self, text: &Spot<'_>, name: &str) -> Option<(Severity, String, String)> {
        let context = &self.workflow.context;
        if context.declares(name) || self.workflow.protects(name) {
            return None;
        }
        let duties =
            || self.workflow.gates.iter().filter_map(|gate| gate.duty().map(|duty| (gate, duty)));
        let handing: Vec<&str> = duties()
            .filter(|(_, duty)| duty.outputs.names().contains(&name))
            .map(|(gate, _)| gate.id.as_str())
            .collect();
        if self.workflow.gates.iter().any(|gate| gate.id.as_str() == name) && handing.is_empty() {
            return None;
        }
        if let Some((gate, outcome)) = text.route
            && let Some(duty) = gate.duty().filter(|duty| !is_open(duty))
        {
            let shape = shape_of(duty, outcome).unwrap_or_default();
            let own: Vec<&str> = shape
                .fields()
                .iter()
                .flat_map(|fields| &fields.properties)
                .map(|(name, _)| name.as_str())
                .collect();
            if own.contains(&name) {
                return None;
            }
            let help = match handing.iter().find(|other| **other != gate.id.as_str()) {
                Some(other) => {
                    format!("write `{{{{{other}.{name}}}}}` for what gate `{other}` handed on")
                }
                None => match nearest(name, own.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("`{outcome}` hands on {}", listed(&own)),
                },
            };
            let message = format!("`{outcome}` of gate `{}` does not hand that on", gate.id);
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
            [] => {
                let declared = duties().flat_map(|(_, duty)| duty.outputs.names());
                let input = context.input.iter().flat_map(|input| input.keys().map(String::as_str));
                let mut names: Vec<&str> = declared.chain(input).chain(["task"]).collect();
                names.extend(self.workflow.gates.iter().map(|gate| gate.id.as_str()));
                let provable = context.input.is_some() && !duties().any(|(_, duty)| is_open(duty));
                let silent = context.input.is_none()
                    && duties().all(|(_, duty)| duty.outputs == Outputs::Open);
                let severity = if provable { Severity::Error } else { Severity::Warning };
                let found = unknown(name, names.into_iter(), "declared by nobody");
                found.filter(|_| !silent).map(|(_, message, help)| (severity, message, help))
            }
        }
    }
}

/// Tells whether the gate may hand on anything.
fn is_open(duty: &Duty) -> bool {
    use crate::domain::workflow::shape::Others;
    let welcome = |shape: &crate::domain::Shape| {
        shape.fields().is_some_and(|fields| fields.others == Others::Welcome)
    };
    match &duty.outputs {
        Outputs::Open => true,
        Outputs::One(shape) => welcome(shape),
        Outputs::Variants(variants) => variants.iter().any(|variant| welcome(&variant.shape)),
    }
}

fn unknown<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
    what: &str,
) -> Option<(Severity, String, String)> {
    let known: Vec<&str> = known.collect();
    if known.contains(&name) {
        return None;
    }
    let help = match nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("there is {}", listed(&known)),
    };
    Some((Severity::Error, format!("`{name}` is {what}"), help))
}
