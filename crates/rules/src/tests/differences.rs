//! Each field of the rules, changed by itself, is reported as a difference. The patterns have every field: a new one does not
//! compile before it is here.

use serde_json::json;

use crate::differences;
use crate::tests::world::*;
use aof_domain::workflow::gate::Mark;
use aof_domain::*;

/// Returns the differences between two workflows and organizations, in words.
fn described(old: (&Workflow, &Org), new: (&Workflow, &Org)) -> Vec<String> {
    let (before, after) = (project(old.0.clone()), project(new.0.clone()));
    let all = differences((&before, old.1), (&after, new.1));
    all.into_iter().flat_map(|difference| difference.what).collect()
}

fn check(field: &str, old: (&Workflow, &Org), new: (&Workflow, &Org)) {
    let what = described(old, new);
    assert!(what.iter().any(|text| text.contains(field)), "{field}: {what:?}");
    assert_eq!(what.len(), 1, "{field}: {what:?}");
}

fn period(text: &str) -> Period {
    id(text)
}

/// Checks each change of a value that is anywhere in a workflow.
macro_rules! each {
    ($change:ident, $pattern:pat, $value:ident, [$($field:literal => $edit:expr),+ $(,)?]) => {
        $({
            let mut workflow = plain();
            {
                let $value = $change(&mut workflow);
                // The pattern is exhaustive.
                let $pattern = $value;
            }
            let edit: &dyn Fn(&mut _) = &$edit;
            edit($change(&mut workflow));
            check($field, (&plain(), &org()), (&workflow, &org()));
        })+
    };
}

fn plain() -> Workflow {
    let forked =
        fork("both", JoinStrategy::All, vec![branch("one", "qa"), branch("two", "architect")]);
    workflow(vec![
        gate("work", "backend"),
        routed(gate("judge", "qa"), &[("fine", "$next")]),
        forked,
    ])
}

fn whole(workflow: &mut Workflow) -> &mut Workflow {
    workflow
}

fn first(workflow: &mut Workflow) -> &mut Gate {
    &mut workflow.gates[0]
}

fn duty(workflow: &mut Workflow) -> &mut Duty {
    let GateKind::Work(duty) = &mut first(workflow).kind else { panic!("nobody works there") };
    duty
}

fn exits(workflow: &mut Workflow) -> &mut Exits {
    &mut first(workflow).exits
}

fn route(workflow: &mut Workflow) -> &mut Route {
    &mut workflow.gates[1].exits.routes[0].1
}

fn limits() -> RunLimits {
    RunLimits { timeout: Some(period("9m")), ..RunLimits::default() }
}

#[test]
fn no_field_of_a_workflow_is_forgotten() {
    each!(whole, Workflow { name: _, description: _, version: _, visible_to: _, timeout: _, lease: _, run: _, budget: _, context: _,
        default_outcome: _, rejection: _, holds_rejections: _, repeat: _, gates: _ }, workflow, [
        "description none -> new" => |workflow: &mut Workflow| workflow.description = Some("new".into()),
        "version none -> 2" => |workflow: &mut Workflow| workflow.version = Some("2".into()),
        "visibleTo" => |workflow: &mut Workflow| workflow.visible_to = vec!["qa".into()],
        "timeout none -> 2h" => |workflow: &mut Workflow| workflow.timeout = Some(period("2h")),
        "lease none -> 2h" => |workflow: &mut Workflow| workflow.lease = Some(period("2h")),
        "run.timeout none -> 9m" => |workflow: &mut Workflow| workflow.run = limits(),
        "budget.time none -> 9m" => |workflow: &mut Workflow| workflow.budget.time = Some(period("9m")),
        "context.maxBytes 4096 -> 5" => |workflow: &mut Workflow| workflow.context.max_bytes = 5,
        "defaultOutcome" => |workflow: &mut Workflow| workflow.default_outcome = Outcome::Skip,
        "rejectionStrategy" => |workflow: &mut Workflow| workflow.rejection = RejectionStrategy::Previous,
        "holdsRejections" => |workflow: &mut Workflow| workflow.holds_rejections = true,
        "repeat" => |workflow: &mut Workflow| {
            workflow.repeat = Some(Repeat { until: "true".into(), max: 3, on_exhausted: Exhausted::Block });
        },
        "the order is" => |workflow: &mut Workflow| workflow.gates.reverse(),
    ]);
    let mut renamed = plain();
    renamed.name = id("other");
    let (before, after) = (project(plain()), project(renamed));
    let all = differences((&before, &org()), (&after, &org()));
    assert_eq!(all.len(), 2, "{all:?}");
}

#[test]
fn no_field_of_a_gate_or_a_branch_is_forgotten() {
    each!(first, Gate { id: _, description: _, when: _, on_condition_error: _, detour: _, wait_for: _, check: _, delivery: _,
        exits: _, metadata: _, kind: _ }, gate, [
        "description none -> new" => |gate: &mut Gate| gate.description = Some("new".into()),
        "when none -> true" => |gate: &mut Gate| gate.when = Some("true".into()),
        "onConditionError" => |gate: &mut Gate| gate.on_condition_error = OnConditionError::Enter,
        "detour" => |gate: &mut Gate| gate.detour = true,
        "waitFor none -> children" => |gate: &mut Gate| gate.wait_for = Some(WaitFor::Children),
        "check" => |gate: &mut Gate| gate.check = vec![GateCheck::Tests],
        "delivery false -> true" => |gate: &mut Gate| gate.delivery = true,
        "metadata.team none -> blue" => |gate: &mut Gate| drop(gate.metadata.insert("team".into(), json!("blue"))),
        "type work -> condition" => |gate: &mut Gate| gate.kind = GateKind::Condition,
    ]);
    each!(duty, Duty { role: _, can_reject: _, can_skip: _, require_human: _, timeout: _, escalate_to: _, lease: _, for_each: _,
        separate_from: _, separate_by: _, outputs: _, signal: _, files: _, brief: _, run: _ }, duty, [
        "role backend -> qa" => |duty: &mut Duty| duty.role = id("qa"),
        "canReject" => |duty: &mut Duty| duty.can_reject = true,
        "canSkip" => |duty: &mut Duty| duty.can_skip = true,
        "requireHuman" => |duty: &mut Duty| duty.require_human = true,
        "timeout none -> 1h" => |duty: &mut Duty| duty.timeout = Some(period("1h")),
        "escalateTo none -> qa" => |duty: &mut Duty| duty.escalate_to = Some(id("qa")),
        "lease none -> 1h" => |duty: &mut Duty| duty.lease = Some(period("1h")),
        "forEach" => |duty: &mut Duty| {
            duty.for_each = Some(ForEach { list: "input.all".into(), max_items: 3, verify_each: None });
        },
        "separateFrom" => |duty: &mut Duty| duty.separate_from = vec![id("judge")],
        "separateBy" => |duty: &mut Duty| duty.separate_by = Identity::Session,
        "outputs" => |duty: &mut Duty| duty.outputs = Outputs::One(Shape::default()),
        "signal" => |duty: &mut Duty| {
            duty.signal = Some(Signal { mark: Mark::Status, missing: None, words: Vec::new() });
        },
        "files" => |duty: &mut Duty| duty.files = vec!["src/**".into()],
        "brief.instructions none -> Do it" => |duty: &mut Duty| duty.brief.entry.instructions = Some("Do it".into()),
        "brief.reentry.role none -> You" => |duty: &mut Duty| duty.brief.reentry.role = Some("You".into()),
        "run.timeout none -> 9m" => |duty: &mut Duty| duty.run.limits = limits(),
        "run.exit" => |duty: &mut Duty| duty.run.exit = vec![(3, Outcome::Blocked)],
    ]);
    each!(exits, Exits { routes: _, on_failure: _, reject_to: _, max_retries: _, on_exhausted: _ }, exits, [
        "new route complete: judge" => |exits: &mut Exits| exits.routes = vec![(Outcome::Complete, Route::to(id("judge")))],
        "onFailure" => |exits: &mut Exits| exits.on_failure = Some(Route::to(id("judge"))),
        "rejectTo none -> judge" => |exits: &mut Exits| exits.reject_to = Some(id("judge")),
        "maxRetries none -> 2" => |exits: &mut Exits| exits.max_retries = Some(2),
        "onExhausted" => |exits: &mut Exits| exits.on_exhausted = Exhausted::Escalate(id("qa")),
    ]);
    each!(route, Route { to: _, prompt: _, clear: _ }, route, [
        "route fine: $next -> work" => |route: &mut Route| route.to = id("work"),
        "route fine" => |route: &mut Route| route.prompt = Some("Go".into()),
        "route fine" => |route: &mut Route| route.clear = vec![id("work")],
    ]);
    // A branch is a gate.
    let mut changed = plain();
    let GateKind::Fork(Fork { branches, join: _ }) = &mut changed.gates[2].kind else {
        panic!("no fork")
    };
    let lasting = Gate { delivery: true, ..branches[0].gate().clone() };
    branches[0] = Branch::new(with(lasting, |duty| duty.run.limits = limits())).unwrap();
    let what = described((&plain(), &org()), (&changed, &org()));
    assert_eq!(what, ["branch one: run.timeout none -> 9m", "branch one: delivery false -> true"]);
    let GateKind::Fork(Fork { branches: _, join }) = &mut changed.gates[2].kind else {
        panic!("no fork")
    };
    *join = JoinStrategy::Any;
    assert!(
        described((&plain(), &org()), (&changed, &org()))
            .contains(&"joinStrategy all -> any".to_owned())
    );
}

#[test]
fn no_field_of_a_role_or_an_agent_is_forgotten() {
    let with_agent = || {
        let agents = [(id("agent-7"), Agent::default())].into_iter().collect();
        Org { agents: Some(agents), ..org() }
    };
    let described_change = |change: &dyn Fn(&mut Role, &mut Agent)| {
        let mut changed = with_agent();
        let agent = changed.agents.as_mut().unwrap().get_mut(&id("agent-7")).unwrap();
        change(&mut changed.roles[0].1, agent);
        let what = described((&plain(), &with_agent()), (&plain(), &changed));
        what.join(", ")
    };
    let Role { description: _, agents: _, require_human: _, hand_out: _, run: _, notify: _ } =
        Role::default();
    let channel = Channel::Command(vec!["tell".into()]);
    let subscription = Subscription { on: On::All, channel };
    let launch = Launch {
        preset: Preset::Command,
        command: vec!["run".into()],
        reads: None,
        env: vec![("TOKEN".into(), "secret".into())],
        secrets: Vec::new(),
        parallel: None,
        limits: limits(),
    };
    assert_eq!(
        described_change(&|role, _| role.description = Some("new".into())),
        "description none -> new"
    );
    assert_eq!(described_change(&|role, _| role.agents = vec![id("agent-7")]), "without agent-8");
    assert_eq!(
        described_change(&|role, _| role.agents.reverse()),
        "the order of its agents differs"
    );
    assert_eq!(
        described_change(&|role, _| role.require_human = true),
        "requireHuman false -> true"
    );
    assert_eq!(
        described_change(&|role, _| role.hand_out = Some(HandOut::Ask)),
        "handOut none -> ask"
    );
    assert_eq!(described_change(&|role, _| role.run = limits()), "run.timeout none -> 9m");
    assert_eq!(
        described_change(&|role, _| role.notify = vec![subscription.clone()]),
        "notify differs"
    );
    let Agent {
        name: _,
        description: _,
        email: _,
        may: _,
        max_tasks: _,
        notify: _,
        run: _,
        signing_keys: _,
    } = Agent::default();
    assert_eq!(described_change(&|_, one| one.name = Some("Bob".into())), "name none -> Bob");
    assert_eq!(
        described_change(&|_, one| one.description = Some("new".into())),
        "description none -> new"
    );
    assert_eq!(
        described_change(&|_, one| one.email = Some("a@b.example".into())),
        "email none -> a@b.example"
    );
    assert_eq!(described_change(&|_, one| one.may = vec![Permission::New]), "may differs");
    assert_eq!(described_change(&|_, one| one.max_tasks = Some(2)), "maxTasks none -> 2");
    assert_eq!(
        described_change(&|_, one| one.notify = vec![subscription.clone()]),
        "notify differs"
    );
    assert_eq!(described_change(&|_, one| one.run = Some(launch.clone())), "run differs");
    let keys: Vec<PublicKey> = vec![id(super::ssh_made::MADE[0].0)];
    assert_eq!(
        described_change(&|_, one| one.signing_keys.clone_from(&keys)),
        "signingKeys differs"
    );
    let one = differences((&project(plain()), &org()), (&project(plain()), &with_agent()));
    assert_eq!(one.len(), 1, "{one:?}");
}
