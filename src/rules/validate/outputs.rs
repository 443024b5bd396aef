//! What can be wrong with what a gate hands on, and with where it reads its verdict from.

use super::finding::Checker;
use crate::domain::workflow::gate::Mark;
use crate::domain::workflow::shape::{Kind, Variant};
use crate::domain::{Duty, Gate, Outcome, Outputs, Shape, Signal, listed, nearest};
use crate::rules::outputs::{Problem, judge_value};

impl Checker<'_> {
    /// Variants are for ways out, and every way out has one.
    pub(crate) fn outputs(&mut self, index: usize, gate: &Gate, duty: &Duty) {
        let at = self.at(index, "outputs");
        let shapes: Vec<&Shape> = match &duty.outputs {
            Outputs::Open => return,
            Outputs::One(shape) => vec![shape],
            Outputs::Variants(variants) => variants.iter().map(|variant| &variant.shape).collect(),
        };
        for (path, problem) in shapes.into_iter().flat_map(|shape| unsound(shape, "")) {
            let message = format!(
                "what is written for `{path}` is not what its own schema allows: {}",
                problem.message()
            );
            let help = "mend the `default`, `examples`, `const` or `enum`, or the schema";
            self.error("unsound_schema", at.clone(), message, help);
        }
        let Outputs::Variants(variants) = &duty.outputs else { return };
        let judging = |outcome: &&Outcome| {
            !matches!(outcome, Outcome::Blocked | Outcome::Skip | Outcome::Failed)
        };
        let possible = gate.possible();
        let exits: Vec<&Outcome> = possible.iter().filter(judging).collect();
        for Variant { status, .. } in variants {
            if exits.iter().any(|outcome| outcome.as_str().eq_ignore_ascii_case(status)) {
                continue;
            }
            let words = exits.iter().map(|outcome| outcome.as_str());
            let help = match nearest(status, words.clone()) {
                Some(word) => format!("did you mean `{word}`?"),
                None => format!(
                    "its outcomes are {}; add a route for `{}`, or remove the variant",
                    listed(words),
                    status.escape_debug()
                ),
            };
            let message = format!(
                "gate `{}` has no outcome `{}` that this variant could be for",
                gate.id,
                status.escape_debug()
            );
            self.error("unknown_variant", at.clone(), message, help);
        }
        for outcome in exits {
            // Who sends a task back by default hands nothing on.
            let wanted = !matches!(outcome, Outcome::NeedsReview);
            if wanted && duty.outputs.shape(outcome.as_str()).is_none() {
                let message = format!("`outputs` does not say what comes with `{outcome}`");
                let help = format!(
                    "add a variant, as in `- {{properties: {{$status: {{const: {outcome}}}}}}}`"
                );
                self.error("missing_variant", at.clone(), message, help);
            }
        }
    }

    /// A verdict must stand for an outcome that the gate has.
    pub(crate) fn signal(&mut self, index: usize, gate: &Gate, signal: &Signal) {
        let possible = gate.possible();
        let words = || listed(possible.iter().map(Outcome::as_str));
        let mut named: Vec<(&'static str, Outcome)> = Vec::new();
        match &signal.mark {
            Mark::Tag { pass, fail, .. } => {
                let general = pass.is_some()
                    || fail.is_some()
                    || !gate.exits.decides()
                    || ["pass", "fail"]
                        .iter()
                        .any(|word| possible.iter().any(|known| known.is_meant_by(word)));
                let by_name = |word: &str| {
                    possible.iter().any(|known| known.as_str().eq_ignore_ascii_case(word))
                };
                if general && !by_name("pass") {
                    named.push(("signal.pass", pass.clone().unwrap_or(Outcome::Complete)));
                }
                if general && !by_name("fail") {
                    named.push(("signal.fail", fail.clone().unwrap_or(Outcome::NeedsReview)));
                }
            }
            Mark::Expects(_) => named.push(("signal.expects", Outcome::Complete)),
            Mark::Key(_) | Mark::Status => {}
        }
        if let Some(missing) = &signal.missing {
            named.push(("signal.missing", missing.clone()));
        }
        for (field, outcome) in named {
            if possible.iter().any(|known| known.is_meant_by(outcome.as_str())) {
                continue;
            }
            let word = field.trim_start_matches("signal.");
            let message = format!(
                "`{word}` stands for `{outcome}`, which is no outcome of gate `{}`",
                gate.id
            );
            let help = match word {
                "pass" | "fail" => format!(
                    "say what it stands for, as in `signal: {{tag: gate, pass: .., fail: ..}}`, with {}",
                    words()
                ),
                "expects" => {
                    "use `key` at gates that decide, as in `signal: {key: DECISION}`".to_owned()
                }
                _ => format!("name one of {}", words()),
            };
            self.error("unknown_outcome", self.at(index, field), message, help);
        }
        if signal.missing.is_none() && !gate.can_reject() {
            self.error(
                "missing_field",
                self.at(index, "signal"),
                format!(
                    "no verdict would mean a rejection, and gate `{}` does not send back",
                    gate.id
                ),
                format!(
                    "say what no verdict means, as in `signal: {{.., missing: OUTCOME}}`, with {}",
                    words()
                ),
            );
        }
        if matches!(signal.missing, Some(Outcome::Complete)) {
            self.error(
                "fails_open",
                self.at(index, "signal.missing"),
                "work without a verdict would pass".to_owned(),
                "name an outcome that holds the task or sends it back",
            );
        }
    }
}

/// Returns what is written as a value of a shape and does not fit it, with its place.
fn unsound(shape: &Shape, path: &str) -> Vec<(String, Problem)> {
    let mut found = Vec::new();
    let bare = Shape { values: Vec::new(), ..shape.clone() };
    let written =
        shape.about.default.iter().chain(&shape.about.examples).map(|value| (value, shape));
    for (value, of) in written.chain(shape.values.iter().map(|value| (value, &bare))) {
        found.extend(
            judge_value(of, value).into_iter().take(1).map(|problem| (path.to_owned(), problem)),
        );
    }
    for kind in &shape.kinds {
        match kind {
            Kind::Object(fields) => {
                for (name, inner) in &fields.properties {
                    let path =
                        if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    found.extend(unsound(inner, &path));
                }
            }
            Kind::List(list) => {
                found.extend(
                    list.items.iter().flat_map(|items| unsound(items, &format!("{path}[]"))),
                );
            }
            _ => {}
        }
    }
    found.extend(shape.any_of.iter().flat_map(|inner| unsound(inner, path)));
    found
}
