//! What can be wrong with the ways out of a gate.

use super::finding::Checker;
use crate::domain::{
    Brief, Exhausted, Gate, GateId, GateKind, Outcome, Place, RejectionStrategy, Route, Severity,
    Target, listed, nearest,
};
use crate::rules::workflow::graph::is_backward;

impl Checker<'_> {
    /// Where `needs_review` leads by default.
    pub(crate) fn rejection(&mut self, index: usize, gate: &Gate) {
        let routed = gate.exits.route(&Outcome::NeedsReview).is_some();
        let by_default = gate.can_reject() && !routed;
        if by_default && index == 0 && gate.fork().is_none() {
            self.error(
                "first_gate_rejects",
                self.at(index, "canReject"),
                format!("gate `{}` is the first: there is nothing to send a task back to", gate.id),
                "remove `canReject`, or put the gate where the work is done before it",
            );
        }
        let named = self.workflow.rejection == RejectionStrategy::Named;
        match &gate.exits.reject_to {
            None if named && by_default && index > 0 => self.error(
                "reject_to_missing",
                self.at(index, "id"),
                format!("gate `{}` can reject, and `rejectionStrategy: named` asks each such gate where to", gate.id),
                "add `rejectTo: GATE` with an earlier gate, or use `rejectionStrategy: origin`",
            ),
            Some(_) if routed => self.error(
                "dead_field",
                self.at(index, "rejectTo"),
                "`rejectTo` would be ignored: the gate has a route for `needs_review`".to_owned(),
                "keep one of the two",
            ),
            Some(_) if !named || !by_default => self.error(
                "dead_field",
                self.at(index, "rejectTo"),
                "`rejectTo` would be ignored here".to_owned(),
                "it counts only with `rejectionStrategy: named`, at gates with `canReject: true`",
            ),
            Some(target) => {
                let at = self.at(index, "rejectTo");
                self.way_back(index, target, at);
            }
            None => {}
        }
    }

    /// The routes that are written.
    pub(crate) fn routes(&mut self, index: usize, gate: &Gate) {
        let exits = &gate.exits;
        for (outcome, route) in exits.written() {
            self.route(index, gate, outcome, route);
        }
        self.choice(index, gate);
        self.words(index, gate);
        let goes_back = exits.written().any(|(outcome, route)| match &route.to {
            Target::Gate(to) => is_backward(self.workflow, index, to),
            Target::Origin | Target::Previous => true,
            _ => *outcome == Outcome::NeedsReview && route.to != Target::Hold,
        });
        let goes_back = goes_back || (gate.can_reject() && !self.workflow.holds_rejections);
        if !goes_back && exits.max_retries.is_some() {
            self.dead(index, "maxRetries", "no route of this gate leads back");
        }
        if !goes_back && exits.on_exhausted != Exhausted::Block {
            self.dead(index, "onExhausted", "no route of this gate leads back");
        }
        match &exits.on_exhausted {
            Exhausted::Escalate(role) => {
                let at = self.at(index, "onExhausted.escalateTo");
                if !self.project.implicit_workflow {
                    self.known_role(role, at);
                }
            }
            Exhausted::Route(Target::Gate(to)) => {
                let at = self.at(index, "onExhausted.to");
                self.known_gate(to, at);
            }
            Exhausted::Block | Exhausted::Route(_) => {}
        }
        let complete = exits.route(&Outcome::Complete).is_some();
        if complete && exits.decides() && gate.fork().is_none() {
            self.error(
                "complete_beside_decisions",
                self.on(index, &Outcome::Complete, "to"),
                format!(
                    "gate `{}` decides between {}: `complete` means nothing there",
                    gate.id,
                    self.decisions(gate)
                ),
                "name what `complete` would stand for as a decision of its own, or remove it",
            );
        }
        let forks = gate.fork().is_some();
        if !forks
            && exits.route(&Outcome::Skip).is_some()
            && !gate.duty().is_some_and(|duty| duty.can_skip)
        {
            self.error(
                "dead_field",
                self.on(index, &Outcome::Skip, "to"),
                format!("the route for `skip` would be ignored: gate `{}` cannot be skipped by its agent", gate.id),
                "add `canSkip: true`, or remove the route",
            );
        }
    }

    fn route(&mut self, index: usize, gate: &Gate, outcome: &Outcome, route: &Route) {
        let at = || self.on(index, outcome, "to");
        let itself = matches!(&route.to, Target::Gate(to) if *to == gate.id);
        if let Target::Gate(to) = &route.to {
            let at = at();
            if !self.known_gate(to, at) {
                return;
            }
        }
        let repeats = *outcome == Outcome::Failed || gate.exits.max_retries.is_some();
        if itself && !repeats {
            self.error(
                "self_loop",
                self.on(index, outcome, "to"),
                format!("`{outcome}` leads gate `{}` to itself", gate.id),
                "say how often with `maxRetries`, use `$hold` to wait for a person, or `onFailure` to try again",
            );
        }
        let gone_on = match &route.to {
            Target::Gate(to) => !is_backward(self.workflow, index, to),
            Target::Next | Target::End => true,
            Target::Origin | Target::Previous | Target::Hold | Target::Cancelled | Target::Fail => {
                false
            }
        };
        if *outcome == Outcome::NeedsReview && gone_on {
            self.error(
                "reject_forward",
                self.on(index, outcome, "to"),
                format!("`needs_review` would lead on to `{}`: work that failed a review would pass it", route.to),
                "name an earlier gate, a gate with `detour: true`, `$origin`, `$previous`, `$hold` or `$fail`",
            );
        }
        if *outcome == Outcome::Blocked && route.to != Target::Hold && gone_on {
            self.error(
                "blocked_forward",
                self.on(index, outcome, "to"),
                format!("`blocked` would lead on to `{}`: a task that cannot go on would leave its gate", route.to),
                "declare a decision of the gate's own for that",
            );
        }
        for cleared in &route.clear {
            let at = self.on(index, outcome, "clear");
            if self.known_gate(cleared, at) && *cleared == gate.id {
                let message =
                    format!("`clear` would forget what gate `{cleared}` hands on right here");
                self.error(
                    "dead_field",
                    self.on(index, outcome, "clear"),
                    message,
                    "name other gates",
                );
            }
        }
    }

    /// A condition gate needs both answers, and no other.
    fn choice(&mut self, index: usize, gate: &Gate) {
        if gate.kind != GateKind::Condition {
            return;
        }
        for answer in ["true", "false"] {
            let routed = gate.exits.routes.iter().any(|(outcome, _)| outcome.as_str() == answer);
            if !routed {
                let message = format!("gate `{}` does not say where `{answer}` leads", gate.id);
                let help = format!("add `{answer}: {{to: GATE}}` to its `routes`; `$next` goes on");
                self.error("missing_route", self.at(index, "routes"), message, help);
            }
        }
        for (outcome, _) in &gate.exits.routes {
            if !["true", "false"].contains(&outcome.as_str()) {
                let message =
                    format!("`{outcome}` can never happen: a condition is `true` or `false`");
                self.error("dead_field", self.on(index, outcome, "to"), message, "remove it");
            }
        }
    }

    /// A brief may only say what outcomes mean that the gate has.
    pub(crate) fn words(&mut self, index: usize, gate: &Gate) {
        let Some(duty) = gate.duty() else { return };
        let Brief { entry, reentry } = &duty.brief;
        let told = entry.outcomes.iter().map(|one| ("brief.outcomes", one));
        let told = told.chain(reentry.outcomes.iter().map(|one| ("brief.reentry.outcomes", one)));
        for (field, (outcome, _)) in told {
            let has = match outcome {
                Outcome::Complete => !gate.exits.decides(),
                Outcome::NeedsReview => gate.can_reject(),
                Outcome::Blocked => true,
                Outcome::Skip => duty.can_skip,
                Outcome::Failed | Outcome::Decision(_) => gate.exits.route(outcome).is_some(),
            };
            if !has {
                let known = self.decisions(gate);
                let help = if gate.exits.decides() {
                    format!("its decisions are {known}")
                } else {
                    "remove it".to_owned()
                };
                let message = format!(
                    "gate `{}` has no outcome `{outcome}`: nobody would read what it means",
                    gate.id
                );
                self.error("dead_field", self.at(index, field), message, help);
            }
        }
    }

    fn decisions(&self, gate: &Gate) -> String {
        listed(gate.exits.decisions().map(Outcome::as_str))
    }

    fn dead(&mut self, index: usize, field: &'static str, why: &str) {
        self.error(
            "dead_field",
            self.at(index, field),
            format!("`{field}` would be ignored: {why}"),
            "remove it, or add a route to an earlier gate",
        );
    }

    /// Says so where a gate that must come before this one does not.
    fn way_back(&mut self, index: usize, target: &GateId, at: Place) {
        let earlier = || self.workflow.gates[..index].iter().map(|gate| gate.id.as_str());
        let (code, message) = match self.workflow.gate(target) {
            Some((place, _)) if place < index => return,
            Some(_) => (
                "reject_forward",
                format!("`{target}` does not come before this gate: that would be no way back"),
            ),
            None => (
                "unknown_gate",
                format!("there is no gate `{target}` in workflow `{}`", self.workflow.name),
            ),
        };
        let help = match nearest(target.as_str(), earlier()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("name one of {}", listed(earlier())),
        };
        self.error(code, at, message, help);
    }

    /// Says so where there is no such gate, and returns whether there is.
    fn known_gate(&mut self, target: &GateId, at: Place) -> bool {
        if self.workflow.gate(target).is_some() {
            return true;
        }
        let names = || self.workflow.gates.iter().map(|gate| gate.id.as_str());
        let help = match nearest(target.as_str(), names()) {
            Some(name) => format!("did you mean `{name}`? its gates are {}", listed(names())),
            None => format!("its gates are {}", listed(names())),
        };
        self.error(
            "unknown_gate",
            at,
            format!("there is no gate `{target}` in workflow `{}`", self.workflow.name),
            help,
        );
        false
    }

    pub(crate) fn on(&self, gate: usize, outcome: &Outcome, field: &'static str) -> Place {
        let (workflow, outcome) = (self.workflow.name.clone(), outcome.clone());
        match self.branch {
            Some(branch) => Place::Branch { workflow, gate, branch, outcome: Some(outcome), field },
            None => Place::Route { workflow, gate, outcome, field },
        }
    }

    /// Who may see the workflow must be somebody.
    pub(crate) fn visibility(&mut self) {
        let known = |name: &str| {
            self.org.roles.iter().any(|(role, _)| role.as_str() == name)
                || self.org.all_agents().iter().any(|agent| agent.as_str() == name)
        };
        let unknown: Vec<String> =
            self.workflow.visible_to.iter().filter(|name| !known(name)).cloned().collect();
        for name in unknown {
            let roles = self.org.roles.iter().map(|(role, _)| role.as_str().to_owned());
            let agents = self.org.all_agents().into_iter().map(|agent| agent.as_str().to_owned());
            let names: Vec<String> = roles.chain(agents).collect();
            let meant = nearest(&name, names.iter().map(String::as_str));
            let help = match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "name roles or agents of org.yaml".to_owned(),
            };
            let at = Place::Workflow { workflow: self.workflow.name.clone(), field: "visibleTo" };
            self.say(
                Severity::Error,
                "unknown_viewer",
                at,
                format!("`{name}` is no role and no agent"),
                help,
            );
        }
    }
}
