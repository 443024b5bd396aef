//! What can be wrong with what a gate hands on, and with where it reads its verdict from.

use super::finding::RuleChecker;
use crate::domain::workflow::gate::Mark;
use crate::domain::workflow::shape::Kind;
use crate::domain::{Duty, Outcome, Outputs, Shape, Signal, did_you_mean, listed};
use crate::rules::outputs::{Problem, judge_value};

impl RuleChecker<'_> {
    /// Variants are for ways out, and every way out has one.
    pub(crate) fn outputs(&mut self, duty: &Duty) {
        let gate = self.gate;
        for (path, problem) in duty.outputs.shapes().flat_map(|shape| unsound(shape, "")) {
            let message = format!(
                "what is written for `{path}` is not what its own schema allows: {}",
                problem.message()
            );
            let help = "mend the `default`, `examples`, `const` or `enum`, or the schema";
            self.error("unsound_schema", "outputs", message, help);
        }
        let Outputs::Variants(variants) = &duty.outputs else { return };
        let mut exits = gate.possible();
        exits.retain(Outcome::judges);
        for variant in variants {
            let status = &variant.status;
            if exits.iter().any(|outcome| outcome.as_str().eq_ignore_ascii_case(status)) {
                continue;
            }
            let (id, status) = (&gate.id, status.escape_debug());
            let help = did_you_mean(&variant.status, exits.iter().map(Outcome::as_str));
            let help = help.unwrap_or_else(|| {
                let words = listed(&exits);
                format!(
                    "its outcomes are {words}; add a route for `{status}`, or remove the variant"
                )
            });
            let message =
                format!("gate `{id}` has no outcome `{status}` that this variant could be for");
            self.error("unknown_variant", "outputs", message, help);
        }
        // Who sends a task back by default hands nothing on.
        for outcome in exits.iter().filter(|outcome| **outcome != Outcome::NeedsReview) {
            if duty.outputs.shape(outcome.as_str()).is_none() {
                let message = format!("`outputs` does not say what comes with `{outcome}`");
                let help = format!(
                    "add a variant, as in `- {{properties: {{$status: {{const: {outcome}}}}}}}`"
                );
                self.error("missing_variant", "outputs", message, help);
            }
        }
    }

    /// A verdict must stand for an outcome that the gate has.
    pub(crate) fn signal(&mut self, signal: &Signal) {
        let gate = self.gate;
        let possible = gate.possible();
        let words = listed(&possible);
        let means = |word: &str| possible.iter().any(|known| known.is_meant_by(word));
        let named =
            |word: &str| possible.iter().any(|known| known.as_str().eq_ignore_ascii_case(word));
        let mut meanings: Vec<(&'static str, Outcome)> = Vec::new();
        match &signal.mark {
            Mark::Tag { pass, fail, .. } => {
                let general = pass.is_some()
                    || fail.is_some()
                    || !gate.exits.decides()
                    || ["pass", "fail"].into_iter().any(means);
                if general && !named("pass") {
                    meanings.push(("signal.pass", pass.clone().unwrap_or(Outcome::Complete)));
                }
                if general && !named("fail") {
                    meanings.push(("signal.fail", fail.clone().unwrap_or(Outcome::NeedsReview)));
                }
            }
            Mark::Expects(_) => meanings.push(("signal.expects", Outcome::Complete)),
            Mark::Key(_) | Mark::Status => {}
        }
        meanings.extend(signal.missing.clone().map(|outcome| ("signal.missing", outcome)));
        for (field, outcome) in meanings {
            if means(outcome.as_str()) {
                continue;
            }
            let word = field.trim_start_matches("signal.");
            let help = match word {
                "pass" | "fail" => format!(
                    "say what it stands for, as in `signal: {{tag: gate, pass: .., fail: ..}}`, with {words}"
                ),
                "expects" => {
                    "use `key` at gates that decide, as in `signal: {key: DECISION}`".to_owned()
                }
                _ => format!("name one of {words}"),
            };
            let message = format!(
                "`{word}` stands for `{outcome}`, which is no outcome of gate `{}`",
                gate.id
            );
            self.error("unknown_outcome", field, message, help);
        }
        if signal.missing.is_none() && !gate.can_reject() {
            let message = format!(
                "no verdict would mean a rejection, and gate `{}` does not send back",
                gate.id
            );
            let help = format!(
                "say what no verdict means, as in `signal: {{.., missing: OUTCOME}}`, with {words}"
            );
            self.error("missing_field", "signal", message, help);
        }
        if signal.missing == Some(Outcome::Complete) {
            let help = "name an outcome that holds the task or sends it back";
            self.error("fails_open", "signal.missing", "work without a verdict would pass", help);
        }
    }
}

/// Returns what is written as a value of a shape and does not fit it, with its place.
fn unsound(shape: &Shape, path: &str) -> Vec<(String, Problem)> {
    let bare = Shape { values: Vec::new(), ..shape.clone() };
    let written = shape.about.default.iter().chain(&shape.about.examples);
    let written = written.map(|value| (value, shape));
    let written = written.chain(shape.values.iter().map(|value| (value, &bare)));
    let first = |(value, of): (_, &Shape)| judge_value(of, value).into_iter().next();
    let mut found: Vec<(String, Problem)> =
        written.filter_map(first).map(|problem| (path.to_owned(), problem)).collect();
    for kind in &shape.kinds {
        match kind {
            Kind::Object(fields) => {
                for (name, inner) in &fields.properties {
                    let dot = if path.is_empty() { "" } else { "." };
                    found.extend(unsound(inner, &format!("{path}{dot}{name}")));
                }
            }
            Kind::List(list) => {
                let items = list.items.iter();
                found.extend(items.flat_map(|items| unsound(items, &format!("{path}[]"))));
            }
            _ => {}
        }
    }
    found.extend(shape.any_of.iter().flat_map(|inner| unsound(inner, path)));
    found
}
