//! Checks the ways out of a gate, a fork or a branch.

use std::collections::{BTreeMap, BTreeSet};

use super::checker::RuleChecker;
use crate::workflow::graph::{EdgeKind, edges};
use aof_domain::{
    Branch, Destination, Exhausted, GateId, GateKind, Outcome, RejectionStrategy, Route, Severity,
    Target, Verdict, did_you_mean, listed,
};

impl RuleChecker<'_> {
    /// Checks the default route of `needs_review`.
    pub(crate) fn rejection(&mut self) {
        let (gate, index) = (self.gate, self.index);
        let routed = gate.exits.route(&Outcome::NeedsReview).is_some();
        let by_default = gate.can_reject() && !routed;
        if by_default && index == 0 {
            let (noun, field, help) = match gate.fork() {
                None => ("gate", "canReject", "remove `canReject`, or put the gate where"),
                Some(_) => {
                    ("fork", "id", "give it a route for `needs_review`, or put the gate where")
                }
            };
            let message = format!(
                "{noun} `{}` is the first: there is nothing to send a task back to",
                gate.id
            );
            let help = format!("{help} the work is done before it");
            self.error("first_gate_rejects", field, message, help);
        }
        let named = self.workflow.rejection == RejectionStrategy::Named;
        match &gate.exits.reject_to {
            None if named && by_default && index > 0 => {
                let message = format!(
                    "gate `{}` can reject, and `rejectionStrategy: named` asks each such gate where to",
                    gate.id
                );
                let help =
                    "add `rejectTo: GATE` with an earlier gate, or use `rejectionStrategy: origin`";
                self.error("reject_to_missing", "id", message, help);
            }
            None => {}
            Some(_) if routed => {
                let why = "the gate has a route for `needs_review`";
                self.ignored("rejectTo", why, "keep one of the two");
            }
            Some(_) if !named || !by_default => {
                let help = "it counts only with `rejectionStrategy: named`, at gates with `canReject: true`";
                self.error("dead_field", "rejectTo", "`rejectTo` would be ignored here", help);
            }
            Some(target) => self.way_back(target),
        }
    }

    /// Reports a rejection to a gate that does not come before this one.
    fn way_back(&mut self, target: &GateId) {
        let workflow = self.workflow;
        let (code, message) = match workflow.gate(target) {
            Some((place, _)) if place < self.index => return,
            Some(_) => (
                "reject_forward",
                format!("`{target}` does not come before this gate: that would be no way back"),
            ),
            None => (
                "unknown_gate",
                format!("there is no gate `{target}` in workflow `{}`", workflow.name),
            ),
        };
        let earlier = || workflow.gates[..self.index].iter().map(|gate| gate.id.as_str());
        let help = did_you_mean(target.as_str(), earlier())
            .unwrap_or_else(|| format!("name one of {}", listed(earlier())));
        self.error(code, "rejectTo", message, help);
    }

    /// Checks the written routes.
    pub(crate) fn routes(&mut self) {
        let (gate, exits) = (self.gate, &self.gate.exits);
        for (outcome, route) in exits.written() {
            self.route(outcome, route);
        }
        if gate.kind == GateKind::Condition {
            self.answers();
        }
        self.brief_outcomes();
        let goes_back = exits.written().any(|(outcome, route)| match &route.to {
            Target::Gate(to) => self.workflow.is_backward(self.index, to),
            Target::Origin | Target::Previous => true,
            _ => *outcome == Outcome::NeedsReview && route.to != Target::Hold,
        });
        if !goes_back && (!gate.can_reject() || self.workflow.holds_rejections) {
            let counted = [
                ("maxRetries", exits.max_retries.is_some()),
                ("onExhausted", exits.on_exhausted != Exhausted::Block),
            ];
            for (field, _) in counted.into_iter().filter(|(_, written)| *written) {
                let help = "remove it, or add a route to an earlier gate";
                self.ignored(field, "no route of this gate leads back", help);
            }
        }
        match &exits.on_exhausted {
            Exhausted::Escalate(role) => self.known_role(role, "onExhausted.escalateTo"),
            Exhausted::Route(Target::Gate(to)) => {
                self.known_gate(to, None, "onExhausted.to");
            }
            Exhausted::Block | Exhausted::Route(_) => {}
        }
        if gate.fork().is_none() {
            if exits.decides() && exits.route(&Outcome::Complete).is_some() {
                let decisions = listed(exits.decisions());
                let message = format!(
                    "gate `{}` decides between {decisions}: `complete` means nothing there",
                    gate.id
                );
                let help =
                    "name what `complete` would stand for as a decision of its own, or remove it";
                self.route_error("complete_beside_decisions", &Outcome::Complete, message, help);
            }
            self.skip_route("gate");
        }
    }

    fn skip_route(&mut self, noun: &str) {
        let gate = self.gate;
        let can_skip = gate.duty().is_some_and(|duty| duty.can_skip);
        if gate.exits.route(&Outcome::Skip).is_some() && !can_skip {
            let message = format!(
                "the route for `skip` would be ignored: {noun} `{}` cannot be skipped by its agent",
                gate.id
            );
            let help = "add `canSkip: true`, or remove the route";
            self.route_error("dead_field", &Outcome::Skip, message, help);
        }
    }

    fn route(&mut self, outcome: &Outcome, route: &Route) {
        let (gate, to) = (self.gate, &route.to);
        let onward = match to {
            Target::Gate(to) if !self.known_gate(to, Some(outcome), "to") => return,
            Target::Gate(to) => !self.workflow.is_backward(self.index, to),
            to => matches!(to, Target::Next | Target::End),
        };
        let repeats = *outcome == Outcome::Failed || gate.exits.max_retries.is_some();
        if *to == Target::Gate(gate.id.clone()) && !repeats {
            let message = format!("`{outcome}` leads gate `{}` to itself", gate.id);
            let help = "say how often with `maxRetries`, use `$hold` to wait for a person, or `onFailure` to try again";
            self.route_error("self_loop", outcome, message, help);
        }
        if *outcome == Outcome::NeedsReview && onward {
            let message = format!(
                "`needs_review` would lead on to `{to}`: work that failed a review would pass it"
            );
            let help = "name an earlier gate, a gate with `detour: true`, `$origin`, `$previous`, `$hold` or `$fail`";
            self.route_error("reject_forward", outcome, message, help);
        }
        if *outcome == Outcome::Blocked && onward {
            let message = format!(
                "`blocked` would lead on to `{to}`: a task that cannot go on would leave its gate"
            );
            let help = "declare a decision of the gate's own for that";
            self.route_error("blocked_forward", outcome, message, help);
        }
        for cleared in &route.clear {
            if self.known_gate(cleared, Some(outcome), "clear") && *cleared == gate.id {
                let at = self.place(Some(outcome), "clear");
                let message =
                    format!("`clear` would forget what gate `{cleared}` hands on right here");
                self.say(Severity::Error, "dead_field", at, message, "name other gates");
            }
        }
    }

    /// Checks that a condition gate has routes for both answers, and no other.
    fn answers(&mut self) {
        let (gate, routes) = (self.gate, &self.gate.exits.routes);
        for answer in ["true", "false"] {
            if !routes.iter().any(|(outcome, _)| outcome.as_str() == answer) {
                let message = format!("gate `{}` does not say where `{answer}` leads", gate.id);
                let help = format!("add `{answer}: {{to: GATE}}` to its `routes`; `$next` goes on");
                self.error("missing_route", "routes", message, help);
            }
        }
        for (outcome, _) in routes {
            if !["true", "false"].contains(&outcome.as_str()) {
                let message =
                    format!("`{outcome}` can never happen: a condition is `true` or `false`");
                self.route_error("dead_field", outcome, message, "remove it");
            }
        }
    }

    /// Checks that a brief only explains outcomes that the gate has.
    pub(crate) fn brief_outcomes(&mut self) {
        let gate = self.gate;
        let Some(duty) = gate.duty() else { return };
        let entry = duty.brief.entry.outcomes.iter().map(|one| ("brief.outcomes", one));
        let reentry = duty.brief.reentry.outcomes.iter();
        let reentry = reentry.map(|one| ("brief.reentry.outcomes", one));
        let possible = gate.possible();
        for (field, (outcome, _)) in entry.chain(reentry) {
            let routed =
                matches!(outcome, Outcome::Decision(_)) && gate.exits.route(outcome).is_some();
            if !possible.contains(outcome) && !routed {
                let message = format!(
                    "gate `{}` has no outcome `{outcome}`: nobody would read what it means",
                    gate.id
                );
                let help = if gate.exits.decides() {
                    format!("its decisions are {}", listed(gate.exits.decisions()))
                } else {
                    "remove it".to_owned()
                };
                self.error("dead_field", field, message, help);
            }
        }
    }

    /// Returns whether the gate exists, and reports it if not.
    pub(crate) fn known_gate(
        &mut self,
        id: &GateId,
        outcome: Option<&Outcome>,
        field: &'static str,
    ) -> bool {
        let workflow = self.workflow;
        if workflow.gate(id).is_some() {
            return true;
        }
        let names = || workflow.gates.iter().map(|gate| gate.id.as_str());
        let question = did_you_mean(id.as_str(), names()).map(|question| question + " ");
        let help = format!("{}its gates are {}", question.unwrap_or_default(), listed(names()));
        let message = format!("there is no gate `{id}` in workflow `{}`", workflow.name);
        self.say(Severity::Error, "unknown_gate", self.place(outcome, field), message, help);
        false
    }

    /// Checks that a fork has no other than its two outcomes, and sends back only if its branches reject.
    pub(crate) fn fork_exits(&mut self) {
        let gate = self.gate;
        for (outcome, _) in gate.exits.written() {
            if !matches!(outcome, Outcome::Complete | Outcome::NeedsReview) {
                let message = format!(
                    "fork `{}` never says `{outcome}`: its branches join to `complete` or `needs_review`",
                    gate.id
                );
                let help = "say it at a branch, or at a gate after the fork";
                self.route_error("dead_field", outcome, message, help);
            }
        }
        if gate.exits.route(&Outcome::NeedsReview).is_some() && !gate.can_reject() {
            let message = format!(
                "the route for `needs_review` would be ignored: no branch of fork `{}` can reject",
                gate.id
            );
            let help = "add `canReject: true` to a branch, or remove the route";
            self.route_error("dead_field", &Outcome::NeedsReview, message, help);
        }
    }

    /// Checks that the routes of a branch only set the effect of an outcome on the fork: a branch has no destinations.
    pub(crate) fn branch_exits(&mut self, branch: &Branch) {
        let (id, exits) = (branch.id(), &branch.gate().exits);
        let before = self.findings.len();
        for (outcome, route) in exits.written() {
            let allowed: &[Target] = match outcome {
                Outcome::Complete | Outcome::Skip => &[Target::Next],
                Outcome::NeedsReview | Outcome::Failed => &[Target::Previous, Target::Hold],
                Outcome::Blocked => &[Target::Hold],
                Outcome::Decision(_) => &[Target::Next, Target::Previous, Target::Hold],
            };
            if !allowed.contains(&route.to) {
                let message = format!(
                    "`{}` cannot be where `{outcome}` leads at a branch: the fork says where the task goes",
                    route.to
                );
                let help = format!(
                    "name one of {}: `$next` passes the task, `$previous` rejects it, `$hold` waits",
                    listed(allowed)
                );
                self.route_error("branch_leads_away", outcome, message, help);
            }
            if route.prompt.is_some() || !route.clear.is_empty() {
                let field = if route.prompt.is_some() { "prompt" } else { "clear" };
                let at = self.place(Some(outcome), field);
                let message = format!("`{field}` would be ignored at a branch");
                let help = "say it in the routes of the fork itself";
                self.say(Severity::Error, "dead_field", at, message, help);
            }
        }
        if exits.decides() && exits.route(&Outcome::Complete).is_some() {
            let message = format!("branch `{id}` decides: `complete` means nothing there");
            let (code, outcome) = ("complete_beside_decisions", &Outcome::Complete);
            self.route_error(code, outcome, message, "remove it");
        }
        let passes = |outcome: &Outcome| branch.verdict(outcome) == Verdict::Pass;
        if self.findings.len() == before && exits.decides() && !exits.decisions().any(passes) {
            let message = format!("no decision of branch `{id}` passes the task");
            let help = "give one of them the route `$next`";
            self.error("branch_never_passes", "routes", message, help);
        }
        self.skip_route("branch");
    }
}

/// The ways from a gate: to gates, by their index in the list, or to an end.
#[derive(Default, Clone)]
struct GateExits {
    gates: BTreeSet<usize>,
    ends: bool,
}

impl RuleChecker<'_> {
    pub(crate) fn reach(&mut self) {
        let gates = &self.workflow.gates;
        let places: BTreeMap<&GateId, usize> =
            gates.iter().enumerate().map(|(index, gate)| (&gate.id, index)).collect();
        if places.len() < gates.len() {
            // If two gates have one name, references to it are ambiguous.
            return;
        }
        // The ways that lead from a gate, and those past it if its condition does not hold.
        let mut leads = vec![GateExits::default(); gates.len()];
        let mut passes = leads.clone();
        for edge in edges(self.workflow).iter().filter(|edge| edge.way != EdgeKind::Hold) {
            let from = if edge.way == EdgeKind::Over { &mut passes } else { &mut leads };
            let Some(from) = places.get(&edge.from).map(|index| &mut from[*index]) else {
                continue;
            };
            match &edge.to {
                Destination::Gate(to) => from.gates.extend(places.get(to)),
                _ => from.ends = true,
            }
        }
        for exits in &mut leads {
            spread(&mut exits.gates, |index| &passes[index].gates);
            exits.ends |= exits.gates.iter().any(|index| passes[*index].ends);
        }
        let first = gates.iter().position(|gate| !gate.detour);
        let mut reached: BTreeSet<usize> = first.into_iter().collect();
        spread(&mut reached, |index| &passes[index].gates);
        spread(&mut reached, |index| &leads[index].gates);
        let mut into = vec![BTreeSet::new(); gates.len()];
        for (from, exits) in leads.iter().enumerate() {
            exits.gates.iter().for_each(|to| _ = into[*to].insert(from));
        }
        let mut ending: BTreeSet<usize> =
            (0..gates.len()).filter(|index| leads[*index].ends).collect();
        spread(&mut ending, |index| &into[index]);
        for (index, gate) in gates.iter().enumerate() {
            (self.index, self.gate) = (index, gate);
            if !reached.contains(&index) {
                let help = if gate.detour {
                    "name it as the target of a route, or remove it"
                } else {
                    "let a gate before it go on to it, name it as the target of a route, or remove it"
                };
                let message = format!("no task ever comes to gate `{}`", gate.id);
                self.error("unreachable_gate", "id", message, help);
            } else if !ending.contains(&index) {
                let message = format!("from gate `{}` no way leads to an end", gate.id);
                let help = "give one of the gates behind it a route to `$end`";
                self.error("no_way_out", "id", message, help);
            }
        }
        self.circles(leads.into_iter().map(|exits| exits.gates).collect());
    }

    /// Reports circles of gates that decide by themselves: no agent would be asked.
    fn circles(&mut self, mut leads: Vec<BTreeSet<usize>>) {
        let gates = &self.workflow.gates;
        let alone = |index: &usize| match &gates[*index].kind {
            GateKind::Work(_) => false,
            GateKind::Condition => true,
            GateKind::Fork(fork) => fork.branches.iter().all(|branch| branch.gate().when.is_some()),
        };
        for gates in &mut leads {
            gates.retain(alone);
        }
        for index in (0..gates.len()).filter(alone) {
            let mut after = leads[index].clone();
            spread(&mut after, |index| &leads[index]);
            if after.contains(&index) {
                (self.index, self.gate) = (index, &gates[index]);
                let message = format!(
                    "gate `{}` comes back to itself over gates that decide by themselves",
                    gates[index].id
                );
                let help = "put a gate at which somebody works in between";
                self.error("automatic_circle", "routes", message, help);
            }
        }
    }
}

/// Adds all elements that can be reached from the set.
pub(crate) fn spread<'a>(set: &mut BTreeSet<usize>, next: impl Fn(usize) -> &'a BTreeSet<usize>) {
    let mut open: Vec<usize> = set.iter().copied().collect();
    while let Some(index) = open.pop() {
        open.extend(next(index).iter().filter(|to| set.insert(**to)));
    }
}
