//! From steps to gates. Every route is written out, because the list's order says nothing there.

use std::collections::HashMap;

use super::steps::{END, Kindred, Step, Way, places};
use crate::setup::import::import::Roles;
use crate::setup::import::import::{period, run_period, tidy};
use crate::setup::import::names;
use crate::setup::import::names::Names;
use crate::setup::import::placeholders::literal;
use crate::setup::import::report::{At, Ledger};
use crate::setup::import::workflow_draft::{
    ExhaustedSketch, GateSketch, KindSketch, RouteSketch, Sketch, WorkSketch,
};

/// Who decides about approvals, where the file does not say.
const APPROVER: &str = "approver";

pub(crate) fn build(
    sketch: &mut Sketch,
    roles: &mut Roles,
    steps: &[Step],
    ledger: &mut Ledger<'_>,
) {
    let reached = reached(steps);
    let mut builder =
        Builder { roles, steps, places: places(steps), names: Names::default(), ledger };
    for (step, reached) in steps.iter().zip(reached) {
        if reached {
            let gate = builder.gate(step);
            sketch.gates.push(gate);
        } else {
            builder
                .ledger
                .dropped(&step.at, "nothing leads to this step, so it never runs there either");
            for way in &step.routes {
                builder.ledger.dropped(&way.at, format!("nothing leads to `{}`", step.foreign));
            }
        }
    }
    sketch.leave_out_what_the_order_says();
}

struct Builder<'a, 'l, 's> {
    roles: &'a mut Roles,
    steps: &'a [Step],
    places: HashMap<&'a str, usize>,
    names: Names,
    ledger: &'l mut Ledger<'s>,
}

impl Step {
    fn way(&self, on: &str) -> Option<&Way> {
        self.routes.iter().find(|way| way.on == on)
    }
}

impl Builder<'_, '_, '_> {
    fn gate(&mut self, step: &Step) -> GateSketch {
        let mut gate = match &step.kind {
            Kindred::Agent { agent } => self.agent(step, agent.as_deref()),
            Kindred::Approval { message, who } => {
                self.approval(step, message.as_ref(), who.as_deref())
            }
            Kindred::Parallel { agents } => self.parallel(step, agents),
            Kindred::Condition { expression } => self.condition(step, expression.as_ref()),
        };
        gate.description.clone_from(&step.description);
        if let Some((text, at)) = &step.timeout {
            // A person is waited for; an agent is run.
            let waits = matches!(step.kind, Kindred::Approval { .. });
            let timeout = if waits {
                period(text, at, self.ledger)
            } else {
                run_period(text, at, self.ledger)
            };
            match gate.worked() {
                Some(work) if waits => work.timeout = timeout,
                Some(work) => work.run.timeout = timeout,
                None => {}
            }
        }
        if let Some(work) = gate.worked() {
            work.run.model.clone_from(&step.model);
            work.run.delay.clone_from(&step.delay);
        }
        gate
    }

    fn agent(&mut self, step: &Step, agent: Option<&str>) -> GateSketch {
        let role = self.role(step, agent);
        let mut work = WorkSketch { role, ..WorkSketch::default() };
        work.brief.instructions = self.input(step);
        let mut gate = GateSketch::work(&step.gate, work);
        let success = step.way("on_success");
        gate.routes.push(("complete".to_owned(), self.success(step, success)));
        let failure = self.failure(step, success);
        self.retried(&mut gate, step, failure);
        self.unused(step, &["on_success", "on_error"]);
        gate
    }

    /// Where success leads; a step that does not say ends the workflow.
    fn success(&mut self, step: &Step, way: Option<&Way>) -> RouteSketch {
        if let Some(way) = way {
            let route = self.route(way);
            self.ledger.converted(&way.at, format!("`complete` leads to `{}`", route.to));
            route
        } else {
            let field = format!("{}.on_success", step.foreign);
            self.ledger
                .supplied(field, "not given, which ends the workflow: `complete` leads to `$end`");
            RouteSketch::to("$end")
        }
    }

    /// Where a failure leads.
    fn failure(&mut self, step: &Step, success: Option<&Way>) -> String {
        match step.way("on_error") {
            Some(way) if way.to == END => {
                self.ledger.converted(&way.at, "`$fail`: what ends by an error has not succeeded");
                "$fail".to_owned()
            }
            Some(way) => {
                let target = self.target(&way.to);
                self.ledger.converted(&way.at, format!("a failure leads to `{target}`"));
                target
            }
            None => {
                let there = match success {
                    Some(way) => format!("goes on to `{}` as if it had succeeded", way.to),
                    None => "ends the workflow as if it had succeeded".to_owned(),
                };
                let why =
                    format!("not given: there an error {there}; here it fails the task (`$fail`)");
                self.ledger.supplied(format!("{}.on_error", step.foreign), why);
                "$fail".to_owned()
            }
        }
    }

    /// Tries in all become tries again; when they are used up the failure takes its way.
    fn retried(&mut self, gate: &mut GateSketch, step: &Step, failure: String) {
        match &step.max_retries {
            Some((tries, at)) if *tries > 1 => {
                let again = tries - 1;
                self.ledger.converted(
                    at,
                    format!(
                        "`onFailure` to the gate itself, `maxRetries: {again}`: it counts tries, so {tries} are {again} again; \
                         here they are counted for the whole task, there anew at each arrival"
                    ),
                );
                gate.on_failure = Some(RouteSketch::to(&step.gate));
                gate.max_retries = Some(again);
                gate.on_exhausted = Some(ExhaustedSketch::To(failure));
            }
            Some((_, at)) => {
                self.ledger.converted(at, "one try: nothing is done again");
                gate.on_failure = Some(RouteSketch::to(failure));
            }
            None => gate.on_failure = Some(RouteSketch::to(failure)),
        }
    }

    fn approval(
        &mut self,
        step: &Step,
        message: Option<&(String, At)>,
        who: Option<&str>,
    ) -> GateSketch {
        let role = names::plain(who.unwrap_or(APPROVER), APPROVER);
        self.roles.add_people(&role, Some("Decides where a person has to"));
        let mut work = WorkSketch { role, require_human: true, ..WorkSketch::default() };
        work.brief.instructions = message.map(|(text, at)| {
            self.ledger.converted(at, "`brief.instructions`");
            tidy(&literal(text))
        });
        let mut gate = GateSketch::work(&step.gate, work);
        let approve = step.way("on_approve").or_else(|| step.way("on_success"));
        let approved = match approve {
            Some(way) => {
                let route = self.route(way);
                self.ledger
                    .converted(&way.at, format!("the decision `approve` leads to `{}`", route.to));
                route
            }
            None => self.success(step, None),
        };
        gate.routes.push(("approve".to_owned(), approved));
        let reject = step.way("on_reject").or_else(|| step.way("on_error"));
        let rejected = match reject {
            Some(way) if way.to == END => {
                self.ledger.converted(
                    &way.at,
                    "the decision `reject` ends the task as cancelled: a person said no",
                );
                RouteSketch::cancelled()
            }
            Some(way) => {
                let route = self.route(way);
                self.ledger
                    .converted(&way.at, format!("the decision `reject` leads to `{}`", route.to));
                route
            }
            None => {
                let why = "not given: there a no goes the way of a yes; here `reject` ends the task as cancelled";
                self.ledger.supplied(format!("{}.on_reject", step.foreign), why);
                RouteSketch::cancelled()
            }
        };
        gate.routes.push(("reject".to_owned(), rejected));
        let used: Vec<&str> = [approve, reject].into_iter().flatten().map(|way| way.on).collect();
        self.unused(step, &used);
        if let Some((_, at)) = &step.max_retries {
            self.ledger.dropped(at, "a person is not tried again");
        }
        if let Some((_, at)) = &step.input {
            self.ledger.dropped(at, "whoever decides sees the task with all that was said before");
        }
        gate
    }

    fn parallel(&mut self, step: &Step, agents: &[String]) -> GateSketch {
        let instructions = self.input(step);
        let mut ids = Names::default();
        let mut branches = Vec::new();
        for agent in agents {
            let role = self.named_role(agent);
            let (id, _) = ids.add(agent, "branch");
            let mut work = WorkSketch { role, can_reject: true, ..WorkSketch::default() };
            work.brief.instructions.clone_from(&instructions);
            branches.push((id, work));
        }
        let mut gate = GateSketch {
            id: step.gate.clone(),
            kind: KindSketch::Fork { branches, strategy: "all" },
            ..GateSketch::default()
        };
        let success = step.way("on_success");
        gate.routes.push(("complete".to_owned(), self.success(step, success)));
        let failure = self.failure(step, success);
        match &step.max_retries {
            Some((tries, at)) if *tries > 1 => {
                let again = tries - 1;
                self.ledger.converted(
                    at,
                    format!("`maxRetries: {again}`: it counts tries, so {tries} are {again} again, of all branches"),
                );
                gate.routes.push(("needs_review".to_owned(), RouteSketch::to(&step.gate)));
                gate.max_retries = Some(again);
                gate.on_exhausted = Some(ExhaustedSketch::To(failure));
            }
            other => {
                if let Some((_, at)) = other {
                    self.ledger.converted(at, "one try: nothing is done again");
                }
                gate.routes.push(("needs_review".to_owned(), RouteSketch::to(failure)));
            }
        }
        self.unused(step, &["on_success", "on_error"]);
        gate
    }

    fn condition(&mut self, step: &Step, expression: Option<&(String, At)>) -> GateSketch {
        let when = if let Some((text, at)) = expression {
            self.ledger.kept_as(at, "as `when`");
            text.clone()
        } else {
            self.ledger.lost(&step.at, "a condition that says nothing to judge");
            "true".to_owned()
        };
        let yes = step.way("on_true").or_else(|| step.way("on_success"));
        let no = step.way("on_false").or_else(|| step.way("on_error"));
        let mut gate = GateSketch {
            id: step.gate.clone(),
            kind: KindSketch::Condition,
            when: Some(when),
            ..GateSketch::default()
        };
        for (outcome, way) in [("true", yes), ("false", no)] {
            let route = if let Some(way) = way {
                let route = self.route(way);
                self.ledger.converted(&way.at, format!("`{outcome}` leads to `{}`", route.to));
                route
            } else {
                let field = format!("{}.on_{outcome}", step.foreign);
                self.ledger.supplied(field, "not given, which ends the workflow");
                RouteSketch::to("$end")
            };
            gate.routes.push((outcome.to_owned(), route));
        }
        let used: Vec<&str> = [yes, no].into_iter().flatten().map(|way| way.on).collect();
        self.unused(step, &used);
        gate
    }

    /// Routes by which a step of its kind never goes.
    fn unused(&mut self, step: &Step, used: &[&str]) {
        for way in step.routes.iter().filter(|way| !used.contains(&way.on)) {
            self.ledger.dropped(&way.at, "a step of this kind never goes that way");
        }
    }

    fn route(&self, way: &Way) -> RouteSketch {
        RouteSketch::to(self.target(&way.to))
    }

    fn target(&self, foreign: &str) -> String {
        let gate = self.places.get(foreign).map(|place| self.steps[*place].gate.clone());
        gate.unwrap_or_else(|| "$end".to_owned())
    }

    fn role(&mut self, step: &Step, agent: Option<&str>) -> String {
        if let Some(agent) = agent {
            self.named_role(agent)
        } else {
            let why = format!("the step names no agent: its role is called `{}`", step.gate);
            self.ledger.supplied(format!("{}.agent", step.foreign), why);
            self.roles.add(&step.gate, None);
            step.gate.clone()
        }
    }

    fn named_role(&mut self, agent: &str) -> String {
        if let Some(role) = self.names.get(agent) {
            return role.to_owned();
        }
        let (role, why) = self.names.add(agent, "agent");
        if let Some(why) = why {
            self.ledger.supplied(format!("agent {agent}"), why);
        }
        self.roles.add(&role, None);
        role
    }

    /// What a step works on: the result of another step, or a text.
    fn input(&mut self, step: &Step) -> Option<String> {
        let (text, at) = step.input.as_ref()?;
        if let Some(place) = self.places.get(text.as_str()) {
            let gate = self.steps[*place].gate.clone();
            self.ledger.converted(at, format!("`brief.instructions`: the result of `{gate}`"));
            return Some(format!("Work from the result of `{gate}`:\n\n{{{{{gate}}}}}\n"));
        }
        self.ledger
            .converted(at, "`brief.instructions`: there is no step of that name, so it is a text");
        Some(tidy(&literal(text)))
    }
}

/// Tells which steps a workflow can come to from its first.
fn reached(steps: &[Step]) -> Vec<bool> {
    let places = places(steps);
    let mut reached = vec![false; steps.len()];
    let mut open: Vec<usize> = (0..steps.len().min(1)).collect();
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut reached[index], true) {
            open.extend(
                steps[index].routes.iter().filter_map(|way| places.get(way.to.as_str()).copied()),
            );
        }
    }
    reached
}
