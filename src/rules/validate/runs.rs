//! What can be wrong with `run`: what an exit status cannot mean, and what nobody would read.

use super::finding::{Checker, Finding};
use crate::domain::{
    AgentId, Duty, Gate, GateRun, Launch, Org, Outcome, Place, Placeholder, Severity, listed,
    nearest,
};

impl Checker<'_> {
    pub(crate) fn runs(&mut self, index: usize, gate: &Gate, duty: &Duty) {
        if duty.run == GateRun::default() {
            return;
        }
        let human =
            duty.require_human || self.org.role(&duty.role).is_some_and(|role| role.require_human);
        if human {
            self.error(
                "dead_field",
                self.at(index, "run"),
                format!("gate `{}` is for people: nothing is started there", gate.id),
                "remove `run`",
            );
            return;
        }
        let possible = gate.possible();
        for (status, outcome) in &duty.run.exit {
            if possible.contains(outcome) {
                continue;
            }
            let help = match nearest(outcome.as_str(), possible.iter().map(Outcome::as_str)) {
                Some(word) => format!("did you mean `{word}`?"),
                None => format!("the outcomes here are {}", listed(&possible)),
            };
            let message = format!(
                "exit status {status} cannot mean `{outcome}`: gate `{}` has no such outcome",
                gate.id
            );
            self.error("unknown_outcome", self.at(index, "run"), message, help);
        }
    }
}

/// Says what is wrong with how the agent is started.
pub(crate) fn launch(org: &Org, id: &AgentId, launch: &Launch, findings: &mut Vec<Finding>) {
    let mut say = |severity, code, message, help: &str| {
        let at = Place::Agent { agent: id.clone(), field: "run" };
        findings.push(Finding {
            severity,
            code,
            at,
            range: None,
            message,
            help: Some(help.to_owned()),
        });
    };
    if id.is_human() {
        let message = format!("`{id}` is a person: nothing is started for people");
        say(
            Severity::Error,
            "dead_field",
            message,
            "remove `run`, or give the program an id of its own",
        );
    } else if org.roles_of(id).next().is_none() {
        let message = format!("`{id}` is in no role: it is never started");
        say(Severity::Warning, "runs_for_nobody", message, "add it to the `agents` of a role");
    }
    for word in &launch.command {
        for name in Placeholder::names(word).filter(|name| name.parse::<Placeholder>().is_err()) {
            if let Some(near) = nearest(name, Placeholder::ALL.iter().map(|known| known.as_str())) {
                let message = format!("`{{{name}}}` is passed to the program as it stands");
                say(
                    Severity::Warning,
                    "unknown_placeholder",
                    message,
                    &format!("did you mean `{{{near}}}`?"),
                );
            }
        }
    }
}
