//! What can be wrong with a fork and its branches.

use super::finding::Checker;
use crate::domain::{Branch, Fork, Gate, Outcome, Station, Target, Verdict, listed};
use crate::rules::workflow::rules::Conditions;

impl Checker<'_> {
    /// What a gate is asked for, each branch of a fork is asked for too; and what makes a branch none.
    pub(crate) fn fork(
        &mut self,
        index: usize,
        gate: &Gate,
        fork: &Fork,
        conditions: &mut Conditions,
    ) {
        if let [] | [_] = &fork.branches[..] {
            self.error(
                "fork_without_branches",
                self.at(index, "branches"),
                format!("fork `{}` has fewer than two branches", gate.id),
                "add branches, or make it a gate with a `role`",
            );
        }
        self.fork_exits(index, gate);
        for (number, branch) in fork.branches.iter().enumerate() {
            self.branch = Some(number);
            self.branch_name(index, fork, branch, number);
            let (gate, duty) = (branch.gate(), branch.duty());
            self.role(index, duty);
            self.people(index, gate, duty);
            self.timing(index, gate, duty);
            self.separation(index, duty);
            self.outputs(index, gate, duty);
            self.runs(index, gate, duty);
            if let Some(signal) = &duty.signal {
                self.signal(index, gate, signal);
            }
            self.texts(index, gate);
            self.branch_exits(index, branch);
            self.words(index, gate);
            if let Some(condition) = self.condition(index, gate) {
                let station = Station {
                    gate: self.workflow.gates[index].id.clone(),
                    branch: Some(branch.id().clone()),
                };
                conditions.insert((self.workflow.name.clone(), station), condition);
            }
        }
        self.branch = None;
    }

    fn branch_name(&mut self, index: usize, fork: &Fork, branch: &Branch, number: usize) {
        let id = branch.id();
        if fork.branches[..number].iter().any(|other| other.id() == id) {
            self.error(
                "duplicate_branch",
                self.at(index, "id"),
                format!("branch `{id}` is defined twice"),
                "give each branch of a fork a name of its own",
            );
        }
        if self.workflow.gate(id).is_some() {
            self.error(
                "branch_named_like_gate",
                self.at(index, "id"),
                format!("branch `{id}` is named like a gate of the workflow: nobody could tell which is meant"),
                "give it a name of its own",
            );
        }
    }

    /// A fork speaks two words, and sends back only what its branches reject.
    fn fork_exits(&mut self, index: usize, gate: &Gate) {
        let words = [Outcome::Complete, Outcome::NeedsReview];
        let others: Vec<Outcome> =
            gate.exits.written().map(|(outcome, _)| outcome.clone()).collect();
        for outcome in others.iter().filter(|outcome| !words.contains(outcome)) {
            self.error(
                "dead_field",
                self.on(index, outcome, "to"),
                format!("fork `{}` never says `{outcome}`: its branches join to `complete` or `needs_review`", gate.id),
                "say it at a branch, or at a gate after the fork",
            );
        }
        let routed = gate.exits.route(&Outcome::NeedsReview).is_some();
        if routed && !gate.can_reject() {
            self.error(
                "dead_field",
                self.on(index, &Outcome::NeedsReview, "to"),
                format!("the route for `needs_review` would be ignored: no branch of fork `{}` can reject", gate.id),
                "add `canReject: true` to a branch, or remove the route",
            );
        }
        if gate.can_reject() && !routed && index == 0 {
            self.error(
                "first_gate_rejects",
                self.at(index, "id"),
                format!("fork `{}` is the first: there is nothing to send a task back to", gate.id),
                "give it a route for `needs_review`, or put the gate where the work is done before it",
            );
        }
    }

    /// A branch leads nowhere: its routes say what an outcome means for the fork.
    fn branch_exits(&mut self, index: usize, branch: &Branch) {
        let gate = branch.gate();
        let found = self.findings.len();
        for (outcome, route) in &gate.exits.routes {
            let allowed: &[Target] = match outcome {
                Outcome::Complete | Outcome::Skip => &[Target::Next],
                Outcome::NeedsReview => &[Target::Previous, Target::Hold],
                Outcome::Blocked => &[Target::Hold],
                Outcome::Failed => &[],
                Outcome::Decision(_) => &[Target::Next, Target::Previous, Target::Hold],
            };
            if !allowed.contains(&route.to) {
                let known = listed(allowed.iter().map(ToString::to_string));
                self.error(
                    "branch_leads_away",
                    self.on(index, outcome, "to"),
                    format!(
                        "`{}` cannot be where `{outcome}` leads at a branch: the fork says where the task goes",
                        route.to
                    ),
                    format!("name one of {known}: `$next` passes the task, `$previous` rejects it, `$hold` waits"),
                );
            }
            if route.prompt.is_some() || !route.clear.is_empty() {
                let field = if route.prompt.is_some() { "prompt" } else { "clear" };
                self.error(
                    "dead_field",
                    self.on(index, outcome, field),
                    format!("`{field}` would be ignored at a branch"),
                    "say it in the routes of the fork itself",
                );
            }
        }
        if gate.exits.decides() && gate.exits.route(&Outcome::Complete).is_some() {
            self.error(
                "complete_beside_decisions",
                self.on(index, &Outcome::Complete, "to"),
                format!("branch `{}` decides: `complete` means nothing there", gate.id),
                "remove it",
            );
        }
        let sound = self.findings.len() == found;
        if sound
            && gate.exits.decides()
            && !gate.exits.decisions().any(|outcome| branch.verdict(outcome) == Verdict::Pass)
        {
            self.error(
                "branch_never_passes",
                self.at(index, "routes"),
                format!("no decision of branch `{}` passes the task", gate.id),
                "give one of them the route `$next`",
            );
        }
        if gate.exits.route(&Outcome::Skip).is_some() && !branch.duty().can_skip {
            self.error(
                "dead_field",
                self.on(index, &Outcome::Skip, "to"),
                format!("the route for `skip` would be ignored: branch `{}` cannot be skipped by its agent", gate.id),
                "add `canSkip: true`, or remove the route",
            );
        }
    }
}
