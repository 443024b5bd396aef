//! Goes every way that a workflow has, through the engine: each outcome at each gate, until a task ends, waits for somebody, or
//! has been sent back too often.

use std::collections::{BTreeMap, BTreeSet};

use aof::domain::{
    BranchStatus, Completion, CompletionContent, Destination, Exhausted, Gate, Map, Outcome,
    Outputs, Status, Target, Task, Ticket, Timestamp, Visit, Workflow,
};
use aof::files::config::configuration::{Source, load};
use aof::rules::outputs::{example, judge};
use aof::rules::{
    Act, Decision, Edge, EdgeKind, Rules, Workplace, decide, edges, may_complete, passes_by_itself,
    unanswered,
};
use aof::tasks::create::{NewTask, new_from};

/// So many different situations are enough for any workflow that people can follow.
const MOST: usize = 100_000;

/// What was met on all ways.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Gate, outcome, and where it led.
    pub taken: BTreeSet<(String, String, String)>,
    /// What became of the tasks that ended.
    pub ends: BTreeSet<String>,
}

/// What a task is like: its conditions hold or not.
struct Kind {
    tags: Vec<String>,
    metadata: Map,
    outputs: Map,
}

/// Walks the workflow, and expects that every route that is written is taken, that every gate is visited, and that nobody can
/// walk for ever.
#[track_caller]
pub(crate) fn walk(rules: &Rules, workflow: &Workflow) -> Walk {
    let mut walk = Walk::default();
    for kind in kinds(workflow) {
        walk.every_way(rules, workflow, &kind);
    }
    for gate in &workflow.gates {
        let visited = walk.taken.iter().any(|(at, _, _)| *at == gate.id.as_str());
        assert!(visited, "no walk comes to gate `{}` of `{}`", gate.id, workflow.name);
        for branch in gate.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default() {
            let here = format!("{}/{}", gate.id, branch.id());
            let answers = |outcome: &Outcome| {
                walk.taken.iter().any(|(at, answers, _)| *at == here && answers == outcome.as_str())
            };
            let mut written = branch.gate().exits.written().map(|(outcome, _)| outcome);
            assert!(written.all(answers), "not everything is said at {here}: {walk:#?}");
        }
        for (outcome, route) in gate.exits.written() {
            assert!(
                walk.took(gate, outcome, &route.to),
                "`{outcome}` of `{}` is not taken: {walk:#?}",
                gate.id
            );
        }
    }
    walk.compare(workflow);
    assert!(
        walk.ends.contains(Status::Complete.as_str()),
        "no walk through `{}` is complete",
        workflow.name
    );
    walk
}

/// Returns tasks for which the conditions of the workflow hold and do not.
fn kinds(workflow: &Workflow) -> Vec<Kind> {
    let conditions: Vec<&str> =
        workflow.gates.iter().filter_map(|gate| gate.when.as_deref()).collect();
    let tags: BTreeSet<&str> =
        conditions.iter().flat_map(|text| text.split('\'').skip(1).step_by(2)).collect();
    let after = |start: &str| -> Map {
        let names = conditions.iter().flat_map(|text| text.split(start).skip(1));
        let word = |text: &str| {
            text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
        };
        names.map(|text| (word(text), serde_json::json!(1_000_000))).collect()
    };
    let outputs: Map =
        workflow.gates.iter().flat_map(|gate| after(&format!("context.{}.", gate.id))).collect();
    let kind = |tags: Vec<&str>, metadata: &Map, outputs: &Map| Kind {
        tags: tags.into_iter().map(str::to_owned).collect(),
        metadata: metadata.clone(),
        outputs: outputs.clone(),
    };
    let (none, metadata) = (Map::new(), after("metadata."));
    let mut kinds = vec![
        kind(Vec::new(), &none, &none),
        kind(Vec::new(), &metadata, &outputs),
        kind(tags.iter().copied().collect(), &metadata, &outputs),
    ];
    kinds.extend(tags.iter().map(|tag| kind(vec![*tag], &none, &none)));
    kinds
}

impl Walk {
    fn took(&self, gate: &Gate, outcome: &Outcome, target: &Target) -> bool {
        let to = match target {
            Target::Gate(to) => Some(to.to_string()),
            Target::Hold => Some(gate.id.to_string()),
            Target::End => Some(Destination::End.to_string()),
            Target::Cancelled => Some(Destination::Cancelled.to_string()),
            Target::Fail => Some(Destination::Fail.to_string()),
            Target::Next | Target::Origin | Target::Previous => None,
        };
        self.taken.iter().any(|(at, answer, led)| {
            *at == gate.id.as_str()
                && *answer == outcome.as_str()
                && to.as_ref().is_none_or(|to| to == led)
        })
    }

    /// Expects that the picture of the workflow has every way that was taken, and none that nobody took.
    fn compare(&self, workflow: &Workflow) {
        let edges = edges(workflow);
        let drawn = |gate: &str, outcome: &str| -> BTreeSet<String> {
            let takes = |edge: &&Edge| {
                let answer = edge.outcomes.iter().any(|answer| answer.as_str() == outcome);
                let always = matches!(edge.way, EdgeKind::Exhausted(_) | EdgeKind::Again(_));
                edge.from.as_str() == gate && (answer || always)
            };
            let mut to: BTreeSet<String> =
                edges.iter().filter(takes).map(|edge| edge.to.to_string()).collect();
            // After the last round the task goes elsewhere, or stays.
            if to.contains(Destination::End.to_string().as_str()) {
                to.extend(workflow.repeat.iter().map(|own| match &own.on_exhausted {
                    Exhausted::Route(Target::Fail) => Destination::Fail.to_string(),
                    Exhausted::Route(Target::Gate(to)) => to.to_string(),
                    _ => gate.to_owned(),
                }));
            }
            // Gates that do not apply are passed over.
            while let Some(over) = edges.iter().find(|edge| {
                edge.way == EdgeKind::Over
                    && to.contains(edge.from.as_str())
                    && !to.contains(&edge.to.to_string())
            }) {
                to.insert(over.to.to_string());
            }
            to
        };
        let whole = |(gate, _, _): &&(String, String, String)| !gate.contains('/');
        let answers = |to: &str| {
            workflow.gates.iter().any(|gate| gate.id.as_str() == to && gate.can_reject())
        };
        for (gate, outcome, to) in self.taken.iter().filter(whole) {
            let known = drawn(gate, outcome).contains(to)
                || outcome == "blocked" && to == gate
                || answers(to);
            assert!(
                known,
                "`{outcome}` at `{gate}` of `{}` led to {to}, and is not drawn",
                workflow.name
            );
        }
        for edge in
            edges.iter().filter(|edge| !matches!(edge.way, EdgeKind::Over | EdgeKind::Exhausted(_)))
        {
            let took = |outcome: &Outcome| {
                let key = (edge.from.to_string(), outcome.to_string(), edge.to.to_string());
                self.taken.contains(&key)
            };
            assert!(edge.outcomes.iter().all(took), "nobody took {edge:?} of `{}`", workflow.name);
        }
    }

    fn every_way(&mut self, rules: &Rules, workflow: &Workflow, kind: &Kind) {
        let mut open = vec![opened(rules, workflow, kind)];
        let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        while let Some(task) = open.pop() {
            let here = situation(&task);
            if known.contains_key(&here) {
                continue;
            }
            assert!(known.len() < MOST, "`{}` has no end: {here}", workflow.name);
            let next = self.every_outcome(rules, workflow, kind, &task);
            known.insert(here, next.iter().map(situation).collect());
            open.extend(next);
        }
        if let Some(at) = circle(known) {
            panic!("`{}` can be walked for ever, at {at}", workflow.name);
        }
    }

    /// Says every outcome that the task's gate has, and returns what comes of each.
    fn every_outcome(
        &mut self,
        rules: &Rules,
        workflow: &Workflow,
        kind: &Kind,
        task: &Task,
    ) -> Vec<Task> {
        if task.status.is_finished() {
            self.ends.insert(task.status.to_string());
            return Vec::new();
        }
        let escalated = task.gate.as_ref().is_some_and(|open| open.escalated.is_some());
        if task.status == Status::Blocked || (escalated && said_before(task)) {
            return Vec::new();
        }
        let acts: Vec<Act> = if passes_by_itself(rules, task) {
            vec![Act::Pass]
        } else {
            let waits = |post: &Workplace<'_>| {
                let open = task
                    .gate
                    .as_ref()
                    .zip(post.branch())
                    .and_then(|(open, branch)| open.branch(branch));
                open.is_some_and(|branch| branch.status == BranchStatus::Blocked)
            };
            let posts = Workplace::open(rules, task).into_iter().filter(|post| !waits(post));
            let say = |post: Workplace<'_>| -> Vec<Act> {
                let outcomes = post.outcomes(rules);
                let all = |outcome| {
                    let answer = completion(rules, task, &post, outcome, kind);
                    let turned = turned(&post, outcome, &answer.content.outputs);
                    let other = turned.map(|outputs| {
                        let mut other = answer.clone();
                        other.content.outputs = outputs;
                        other
                    });
                    [answer].into_iter().chain(other).map(Act::Complete).collect::<Vec<Act>>()
                };
                outcomes.iter().flat_map(all).collect()
            };
            posts.flat_map(say).collect()
        };
        assert!(!acts.is_empty(), "a task of `{}` is stuck: {task:#?}", workflow.name);
        let after: Vec<Task> = acts.iter().map(|act| step(rules, task, act)).collect();
        for visit in after.iter().filter_map(|task| task.history.last()) {
            let to = visit.to.as_ref().map(ToString::to_string).unwrap_or_default();
            self.taken.insert((visit.station().to_string(), visit.outcome.to_string(), to.clone()));
            // What the branches of a fork came to is what the fork said.
            if let Some(answer) = visit.gate_outcome().filter(|_| visit.branch.is_some()) {
                self.taken.insert((visit.gate.to_string(), answer.to_string(), to));
            }
        }
        after
    }
}

/// Returns whether the role that stepped in has had its say before: it may send a task round as often as it likes.
fn said_before(task: &Task) -> bool {
    task.history.iter().filter(|visit| visit.escalated_to.is_some()).count() > 1
}

/// Returns all that decides where a task can go from here. Counters are part of it: they only ever grow.
fn situation(task: &Task) -> String {
    let back = |visit: &&Visit| visit.retry.is_some();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for visit in task.history.iter().filter(back) {
        *counts.entry(format!("{:?}", visit.to)).or_default() += 1;
    }
    let waiting: Vec<&str> =
        unanswered(&task.history).iter().map(|visit| visit.gate.as_str()).collect();
    let from = task.history.last().map(|visit| visit.gate.to_string());
    let branches = task.gate.iter().flat_map(|open| &open.branches);
    let branches: Vec<String> =
        branches.map(|branch| format!("{} {}", branch.id, branch.status)).collect();
    let open =
        task.gate.as_ref().map(|open| (open.current.to_string(), open.escalated.clone(), branches));
    let rounds = task.history.iter().filter(|visit| visit.round.is_some()).count();
    format!("{open:?} {} from {from:?} {counts:?} {waiting:?} {rounds}", task.status)
}

/// Returns a situation that comes back to itself.
fn circle(mut ways: BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    loop {
        let ending: Vec<String> =
            ways.iter().filter(|(_, next)| next.is_empty()).map(|(here, _)| here.clone()).collect();
        if ending.is_empty() {
            return ways.into_keys().next();
        }
        for here in &ending {
            ways.remove(here);
        }
        for next in ways.values_mut() {
            next.retain(|to| !ending.contains(to));
        }
    }
}

fn opened(rules: &Rules, workflow: &Workflow, kind: &Kind) -> Task {
    let mut new = NewTask::titled("Walk");
    new.fields.tags.clone_from(&kind.tags);
    new.fields.metadata.clone_from(&kind.metadata);
    let task = new_from(&new, "AOF-abc".parse().unwrap(), workflow.name.clone(), at(0));
    step(rules, &task, &Act::Open)
}

fn step(rules: &Rules, task: &Task, act: &Act) -> Task {
    match decide(rules, task, act, at(task.history.len())) {
        Ok(Decision::Step(step)) => step.task,
        Ok(Decision::Settled { .. }) => panic!("settled: {act:?}"),
        Err(refusal) => panic!("{}: {act:?}", refusal.problem()),
    }
}

fn at(visit: usize) -> Timestamp {
    Timestamp::from_second(1_771_236_000 + 60 * i64::try_from(visit).unwrap()).unwrap()
}

fn completion(
    rules: &Rules,
    task: &Task,
    post: &Workplace<'_>,
    outcome: &Outcome,
    kind: &Kind,
) -> Completion {
    let members = &rules.org.role(post.role).unwrap().agents;
    let agent = members.iter().find(|agent| may_complete(rules, task, post, agent).is_ok());
    let branch = post.branch().cloned();
    Completion {
        ticket: Ticket { branch, ..task.ticket() },
        gate: None,
        agent: agent.unwrap_or_else(|| panic!("nobody may complete `{}`", post.gate.id)).clone(),
        content: CompletionContent {
            outcome: Some(outcome.to_string()),
            summary: Some(format!("said {outcome}")),
            blockers: matches!(outcome, Outcome::NeedsReview | Outcome::Blocked)
                .then(|| vec!["line 3 is wrong".into()]),
            outputs: outputs(post, outcome, kind),
            ..CompletionContent::default()
        },
        id: format!("c{}", task.history.len()).parse().unwrap(),
        signature: None,
        facts: Box::default(),
    }
}

/// Returns what is handed on: what the gate declares, or what its conditions ask for.
fn outputs(post: &Workplace<'_>, outcome: &Outcome, kind: &Kind) -> Map {
    match post.duty.outputs.shape(outcome.as_str()) {
        Some(shape) => {
            let usual = example(shape).as_object().unwrap().clone();
            let mut wished = usual.clone();
            wished.extend(kind.outputs.clone());
            if judge(shape, &wished).is_empty() { wished } else { usual }
        }
        None if post.duty.outputs == Outputs::Open => kind.outputs.clone(),
        None => Map::new(),
    }
}

/// Returns the same outputs with every yes a no, and every no a yes, if there are any.
fn turned(post: &Workplace<'_>, outcome: &Outcome, outputs: &Map) -> Option<Map> {
    let mut turned = outputs.clone();
    for value in turned.values_mut() {
        if let Some(yes) = value.as_bool() {
            *value = (!yes).into();
        }
    }
    let shape = post.duty.outputs.shape(outcome.as_str())?;
    (turned != *outputs && judge(shape, &turned).is_empty()).then_some(turned)
}

#[test]
fn a_circle_is_seen() {
    let ways = |ways: &[(&str, &[&str])]| {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        circle(ways.iter().map(|(from, to)| ((*from).to_owned(), set(to))).collect())
    };
    assert_eq!(ways(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]), None);
    assert_eq!(
        ways(&[("a", &["b"]), ("b", &["c", "d"]), ("c", &["b"]), ("d", &[])]).as_deref(),
        Some("a")
    );
}

#[test]
#[should_panic(expected = "`true` of `never` is not taken")]
fn a_route_that_nobody_can_take_is_seen() {
    let workflow = "
gates:
  - {id: work, role: worker}
  - {id: never, type: condition, when: tags.length > 1000, routes: {true: work, false: $end}}
";
    let source = |name: &str, text: &str| Source { name: name.to_owned(), bytes: text.into() };
    let org = source("org.yaml", "roles: {worker: {agents: [agent-1]}}");
    let configuration = load(&[source("workflows/odd.yaml", workflow), org]).unwrap();
    let (rules, _) = Rules::new(configuration.project, configuration.org).unwrap();
    walk(&rules, &rules.project.workflows[0]);
}
