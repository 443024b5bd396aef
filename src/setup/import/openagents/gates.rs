//! From steps to gates. Every route is written out, because the list's order says nothing there.

use std::collections::HashMap;

use super::steps::{END, OpenagentsStep, StepKind, StepRoute, places};
use crate::setup::import::names::{self, Names};
use crate::setup::import::placeholders::literal;
use crate::setup::import::record::Said;
use crate::setup::import::report::ImportReport;
use crate::setup::import::workflow_draft::{
    ExhaustedDraft, GateDraft, RolesNeeded, RouteDraft, WorkflowDraft, period, run_period, tidy,
};

/// Who decides about approvals, where the file does not say.
const APPROVER: &str = "approver";

pub(crate) fn build(
    draft: &mut WorkflowDraft,
    steps: &[OpenagentsStep<'_>],
    report: &ImportReport<'_>,
) {
    let places = places(steps);
    let reached = reached(steps, &places);
    let roles = &mut draft.roles;
    let mut builder = GateBuilder { roles, steps, places, names: Names::default(), report };
    for (step, reached) in steps.iter().zip(reached) {
        if reached {
            draft.gates.push(builder.gate(step));
            continue;
        }
        step.at.dropped("nothing leads to this step, so it never runs there either");
        for route in &step.routes {
            route.to.at.dropped(format!("nothing leads to `{}`", step.foreign));
        }
    }
    draft.leave_out_what_the_order_says();
}

struct GateBuilder<'a, 'r> {
    roles: &'a mut RolesNeeded,
    steps: &'a [OpenagentsStep<'r>],
    places: HashMap<&'a str, usize>,
    names: Names,
    report: &'a ImportReport<'a>,
}

impl<'r> OpenagentsStep<'r> {
    fn route(&self, names: &[&str]) -> Option<&StepRoute<'r>> {
        names.iter().find_map(|on| self.routes.iter().find(|route| route.on == *on))
    }

    /// Reports routes by which a step of its kind never goes.
    fn unused(&self, used: &[Option<&StepRoute<'r>>]) {
        let is_used = |on| used.iter().flatten().any(|route| route.on == on);
        for route in self.routes.iter().filter(|route| !is_used(route.on)) {
            route.to.at.dropped("a step of this kind never goes that way");
        }
    }
}

impl GateBuilder<'_, '_> {
    fn gate(&mut self, step: &OpenagentsStep<'_>) -> GateDraft {
        let mut gate = GateDraft {
            id: step.gate.clone(),
            description: step.description.clone(),
            ..GateDraft::default()
        };
        match &step.kind {
            StepKind::Agent { agent } => self.agent(&mut gate, step, agent.as_deref()),
            StepKind::Approval { message, who } => {
                self.approval(&mut gate, step, message.as_ref(), who.as_deref());
            }
            StepKind::Parallel { agents } => self.parallel(&mut gate, step, agents),
            StepKind::Condition { expression } => {
                self.condition(&mut gate, step, expression.as_ref());
            }
        }
        if let Some(Said { value, at, .. }) = &step.timeout {
            match &step.kind {
                // A person is waited for; an agent is run.
                StepKind::Approval { .. } => {
                    let period = period(value, at).map(|period| period.to_string());
                    match &period {
                        Some(period) if period == value.trim() => at.kept(),
                        Some(period) => at.converted(format!("`timeout: {period}`")),
                        None => {}
                    }
                    gate.timeout = period;
                }
                StepKind::Agent { .. } => gate.run.timeout = run_period(value, at),
                StepKind::Parallel { .. } | StepKind::Condition { .. } => {
                    let _ = run_period(value, at);
                }
            }
        }
        gate.run.model.clone_from(&step.model);
        gate.run.retry.clone_from(&step.retry);
        gate
    }

    fn agent(&mut self, gate: &mut GateDraft, step: &OpenagentsStep<'_>, agent: Option<&str>) {
        gate.role = if let Some(agent) = agent {
            self.role(agent)
        } else {
            let why = format!("the step names no agent: its role is called `{}`", step.gate);
            self.report.added(format!("{}.agent", step.foreign), why);
            self.roles.add(&step.gate, None);
            step.gate.clone()
        };
        gate.brief.instructions = self.input(step);
        let (success, failure) = self.success_and_failure(gate, step);
        let failed = match &step.max_retries {
            Some(Said { value: tries, at, .. }) if *tries > 1 => {
                let again = tries - 1;
                at.converted(format!(
                    "`onFailure` to the gate itself, `maxRetries: {again}`: it counts tries, so {tries} are {again} again; \
                     here they are counted for the whole task, there anew at each arrival"
                ));
                gate.max_retries = Some(again);
                gate.on_exhausted = Some(ExhaustedDraft::To(failure));
                step.gate.clone()
            }
            one => {
                if let Some(tries) = one {
                    tries.at.converted("one try: nothing is done again");
                }
                failure
            }
        };
        gate.on_failure = Some(RouteDraft::to(failed));
        step.unused(&[success, step.route(&["on_error"])]);
    }

    /// Adds where success leads, and returns that route, and where a failure leads.
    fn success_and_failure<'s, 'r>(
        &self,
        gate: &mut GateDraft,
        step: &'s OpenagentsStep<'r>,
    ) -> (Option<&'s StepRoute<'r>>, String) {
        let success = step.route(&["on_success"]);
        gate.route("complete", self.way(step, success, "`complete` leads to"));
        let failure = match step.route(&["on_error"]) {
            Some(StepRoute { to, .. }) if to.value == END => {
                to.at.converted("`$fail`: what ends by an error has not succeeded");
                "$fail".to_owned()
            }
            Some(StepRoute { to, .. }) => {
                let target = self.target(&to.value);
                to.at.converted(format!("a failure leads to `{target}`"));
                target
            }
            None => {
                let there = match success {
                    Some(way) => format!("goes on to `{}` as if it had succeeded", way.to.value),
                    None => "ends the workflow as if it had succeeded".to_owned(),
                };
                let why =
                    format!("not given: there an error {there}; here it fails the task (`$fail`)");
                self.report.added(format!("{}.on_error", step.foreign), why);
                "$fail".to_owned()
            }
        };
        (success, failure)
    }

    /// Returns where success leads; a step that does not say ends the workflow.
    fn way(
        &self,
        step: &OpenagentsStep<'_>,
        route: Option<&StepRoute<'_>>,
        verb: &str,
    ) -> RouteDraft {
        if let Some(StepRoute { to, .. }) = route {
            let target = self.target(&to.value);
            to.at.converted(format!("{verb} `{target}`"));
            return RouteDraft::to(target);
        }
        let why = "not given, which ends the workflow: `complete` leads to `$end`";
        self.report.added(format!("{}.on_success", step.foreign), why);
        RouteDraft::to("$end")
    }

    fn approval(
        &mut self,
        gate: &mut GateDraft,
        step: &OpenagentsStep<'_>,
        message: Option<&Said<'_>>,
        who: Option<&str>,
    ) {
        gate.role = names::plain(who.unwrap_or(APPROVER), APPROVER);
        gate.require_human = true;
        self.roles.add_people(&gate.role, Some("Decides where a person has to"));
        gate.brief.instructions = message.map(|said| {
            said.at.converted("`brief.instructions`");
            tidy(&literal(&said.value))
        });
        let approve = step.route(&["on_approve", "on_success"]);
        gate.route("approve", self.way(step, approve, "the decision `approve` leads to"));
        let reject = step.route(&["on_reject", "on_error"]);
        let rejected = match reject {
            Some(StepRoute { to, .. }) if to.value == END => {
                to.at.converted(
                    "the decision `reject` ends the task as cancelled: a person said no",
                );
                RouteDraft::cancelled()
            }
            Some(_) => self.way(step, reject, "the decision `reject` leads to"),
            None => {
                let why = "not given: there a no goes the way of a yes; here `reject` ends the task as cancelled";
                self.report.added(format!("{}.on_reject", step.foreign), why);
                RouteDraft::cancelled()
            }
        };
        gate.route("reject", rejected);
        step.unused(&[approve, reject]);
        if let Some(tries) = &step.max_retries {
            tries.at.dropped("a person is not tried again");
        }
        if let Some(input) = &step.input {
            input.at.dropped("whoever decides sees the task with all that was said before");
        }
    }

    fn parallel(&mut self, gate: &mut GateDraft, step: &OpenagentsStep<'_>, agents: &[String]) {
        gate.kind = Some("fork");
        let instructions = self.input(step);
        let mut ids = Names::default();
        for agent in agents {
            let role = self.role(agent);
            let (id, _) = ids.add(agent, "branch");
            let mut branch = GateDraft { id, role, can_reject: true, ..GateDraft::default() };
            branch.brief.instructions.clone_from(&instructions);
            gate.branches.push(branch);
        }
        let (success, failure) = self.success_and_failure(gate, step);
        let back = match &step.max_retries {
            Some(Said { value: tries, at, .. }) if *tries > 1 => {
                let again = tries - 1;
                at.converted(format!("`maxRetries: {again}`: it counts tries, so {tries} are {again} again, of all branches"));
                gate.max_retries = Some(again);
                gate.on_exhausted = Some(ExhaustedDraft::To(failure));
                step.gate.clone()
            }
            one => {
                if let Some(tries) = one {
                    tries.at.converted("one try: nothing is done again");
                }
                failure
            }
        };
        gate.route("needs_review", RouteDraft::to(back));
        step.unused(&[success, step.route(&["on_error"])]);
    }

    fn condition(
        &self,
        gate: &mut GateDraft,
        step: &OpenagentsStep<'_>,
        expression: Option<&Said<'_>>,
    ) {
        gate.kind = Some("condition");
        gate.when = Some(if let Some(said) = expression {
            said.at.kept_as("as `when`");
            said.value.clone()
        } else {
            step.at.lost("a condition that says nothing to judge");
            "true".to_owned()
        });
        let yes = step.route(&["on_true", "on_success"]);
        let no = step.route(&["on_false", "on_error"]);
        for (outcome, way) in [("true", yes), ("false", no)] {
            if way.is_none() {
                let field = format!("{}.on_{outcome}", step.foreign);
                self.report.added(field, "not given, which ends the workflow");
                gate.route(outcome, RouteDraft::to("$end"));
            } else {
                gate.route(outcome, self.way(step, way, &format!("`{outcome}` leads to")));
            }
        }
        step.unused(&[yes, no]);
    }

    fn target(&self, foreign: &str) -> String {
        let place = self.places.get(foreign);
        place.map_or_else(|| "$end".to_owned(), |place| self.steps[*place].gate.clone())
    }

    fn role(&mut self, agent: &str) -> String {
        if let Some(role) = self.names.get(agent) {
            return role.to_owned();
        }
        let (role, why) = self.names.add(agent, "agent");
        if let Some(why) = why {
            self.report.added(format!("agent {agent}"), why);
        }
        self.roles.add(&role, None);
        role
    }

    /// Returns what a step works on: the result of another step, or a text.
    fn input(&self, step: &OpenagentsStep<'_>) -> Option<String> {
        let Said { value, at, .. } = step.input.as_ref()?;
        if let Some(place) = self.places.get(value.as_str()) {
            let gate = &self.steps[*place].gate;
            at.converted(format!("`brief.instructions`: the result of `{gate}`"));
            return Some(format!("Work from the result of `{gate}`:\n\n{{{{{gate}}}}}\n"));
        }
        at.converted("`brief.instructions`: there is no step of that name, so it is a text");
        Some(tidy(&literal(value)))
    }
}

/// Returns which steps a workflow can come to from its first.
fn reached(steps: &[OpenagentsStep<'_>], places: &HashMap<&str, usize>) -> Vec<bool> {
    let mut reached = vec![false; steps.len()];
    let mut open: Vec<usize> = (0..steps.len().min(1)).collect();
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut reached[index], true) {
            let targets = steps[index].routes.iter().map(|route| route.to.value.as_str());
            open.extend(targets.filter_map(|target| places.get(target).copied()));
        }
    }
    reached
}
