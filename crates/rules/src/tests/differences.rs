//! Each field of the rules, changed by itself, is reported as a difference. The patterns have every field: a new one does not
//! compile before it is here.

use serde_json::json;

use crate::differences;
use crate::tests::world::*;
use aof_domain::workflow::gate::Mark;
use aof_domain::*;

/// Returns the differences between two workflows and organizations, in words.
fn told(old: (&Workflow, &Org), new: (&Workflow, &Org)) -> Vec<String> {
    let (before, after) = (project(old.0.clone()), project(new.0.clone()));
    let all = differences((&before, old.1), (&after, new.1));
    all.into_iter().flat_map(|own| own.what).collect()
}

fn check(field: &str, old: (&Workflow, &Org), new: (&Workflow, &Org)) {
    let what = told(old, new);
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
    each!(whole, Workflow { name: _, description: _, version: _, visible_to: _, timeout: _, lease: _, run: _, context: _,
        default_outcome: _, rejection: _, holds_rejections: _, repeat: _, gates: _ }, own, [
        "description none -> new" => |own: &mut Workflow| own.description = Some("new".into()),
        "version none -> 2" => |own: &mut Workflow| own.version = Some("2".into()),
        "visibleTo" => |own: &mut Workflow| own.visible_to = vec!["qa".into()],
        "timeout none -> 2h" => |own: &mut Workflow| own.timeout = Some(period("2h")),
        "lease none -> 2h" => |own: &mut Workflow| own.lease = Some(period("2h")),
        "run.timeout none -> 9m" => |own: &mut Workflow| own.run = limits(),
        "context.maxBytes 4096 -> 5" => |own: &mut Workflow| own.context.max_bytes = 5,
        "defaultOutcome" => |own: &mut Workflow| own.default_outcome = Outcome::Skip,
        "rejectionStrategy" => |own: &mut Workflow| own.rejection = RejectionStrategy::Previous,
        "holdsRejections" => |own: &mut Workflow| own.holds_rejections = true,
        "repeat" => |own: &mut Workflow| {
            own.repeat = Some(Repeat { until: "true".into(), max: 3, on_exhausted: Exhausted::Block });
        },
        "the order is" => |own: &mut Workflow| own.gates.reverse(),
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
        exits: _, metadata: _, kind: _ }, own, [
        "description none -> new" => |own: &mut Gate| own.description = Some("new".into()),
        "when none -> true" => |own: &mut Gate| own.when = Some("true".into()),
        "onConditionError" => |own: &mut Gate| own.on_condition_error = OnConditionError::Enter,
        "detour" => |own: &mut Gate| own.detour = true,
        "waitFor none -> children" => |own: &mut Gate| own.wait_for = Some(WaitFor::Children),
        "check" => |own: &mut Gate| own.check = vec![GateCheck::Tests],
        "delivery false -> true" => |own: &mut Gate| own.delivery = true,
        "metadata.team none -> blue" => |own: &mut Gate| drop(own.metadata.insert("team".into(), json!("blue"))),
        "type work -> condition" => |own: &mut Gate| own.kind = GateKind::Condition,
    ]);
    each!(duty, Duty { role: _, can_reject: _, can_skip: _, require_human: _, timeout: _, escalate_to: _, lease: _, for_each: _,
        separate_from: _, separate_by: _, outputs: _, signal: _, files: _, brief: _, run: _ }, own, [
        "role backend -> qa" => |own: &mut Duty| own.role = id("qa"),
        "canReject" => |own: &mut Duty| own.can_reject = true,
        "canSkip" => |own: &mut Duty| own.can_skip = true,
        "requireHuman" => |own: &mut Duty| own.require_human = true,
        "timeout none -> 1h" => |own: &mut Duty| own.timeout = Some(period("1h")),
        "escalateTo none -> qa" => |own: &mut Duty| own.escalate_to = Some(id("qa")),
        "lease none -> 1h" => |own: &mut Duty| own.lease = Some(period("1h")),
        "forEach" => |own: &mut Duty| {
            own.for_each = Some(ForEach { list: "input.all".into(), max_items: 3, verify_each: None });
        },
        "separateFrom" => |own: &mut Duty| own.separate_from = vec![id("judge")],
        "separateBy" => |own: &mut Duty| own.separate_by = Identity::Session,
        "outputs" => |own: &mut Duty| own.outputs = Outputs::One(Shape::default()),
        "signal" => |own: &mut Duty| {
            own.signal = Some(Signal { mark: Mark::Status, missing: None, words: Vec::new() });
        },
        "files" => |own: &mut Duty| own.files = vec!["src/**".into()],
        "brief.instructions none -> Do it" => |own: &mut Duty| own.brief.entry.instructions = Some("Do it".into()),
        "brief.reentry.role none -> You" => |own: &mut Duty| own.brief.reentry.role = Some("You".into()),
        "run.timeout none -> 9m" => |own: &mut Duty| own.run.limits = limits(),
        "run.exit" => |own: &mut Duty| own.run.exit = vec![(3, Outcome::Blocked)],
    ]);
    each!(exits, Exits { routes: _, on_failure: _, reject_to: _, max_retries: _, on_exhausted: _ }, own, [
        "new route complete: judge" => |own: &mut Exits| own.routes = vec![(Outcome::Complete, Route::to(id("judge")))],
        "onFailure" => |own: &mut Exits| own.on_failure = Some(Route::to(id("judge"))),
        "rejectTo none -> judge" => |own: &mut Exits| own.reject_to = Some(id("judge")),
        "maxRetries none -> 2" => |own: &mut Exits| own.max_retries = Some(2),
        "onExhausted" => |own: &mut Exits| own.on_exhausted = Exhausted::Escalate(id("qa")),
    ]);
    each!(route, Route { to: _, prompt: _, clear: _ }, own, [
        "route fine: $next -> work" => |own: &mut Route| own.to = id("work"),
        "route fine" => |own: &mut Route| own.prompt = Some("Go".into()),
        "route fine" => |own: &mut Route| own.clear = vec![id("work")],
    ]);
    // A branch is a gate.
    let mut changed = plain();
    let GateKind::Fork(Fork { branches, join: _ }) = &mut changed.gates[2].kind else {
        panic!("no fork")
    };
    let lasting = Gate { delivery: true, ..branches[0].gate().clone() };
    branches[0] = Branch::new(with(lasting, |duty| duty.run.limits = limits())).unwrap();
    let what = told((&plain(), &org()), (&changed, &org()));
    assert_eq!(what, ["branch one: run.timeout none -> 9m", "branch one: delivery false -> true"]);
    let GateKind::Fork(Fork { branches: _, join }) = &mut changed.gates[2].kind else {
        panic!("no fork")
    };
    *join = JoinStrategy::Any;
    assert!(
        told((&plain(), &org()), (&changed, &org()))
            .contains(&"joinStrategy all -> any".to_owned())
    );
}

#[test]
fn no_field_of_a_role_or_an_agent_is_forgotten() {
    let with_agent = || {
        let agents = [(id("agent-7"), Agent::default())].into_iter().collect();
        Org { agents: Some(agents), ..org() }
    };
    let told_of = |change: &dyn Fn(&mut Role, &mut Agent)| {
        let mut changed = with_agent();
        let own = changed.agents.as_mut().unwrap().get_mut(&id("agent-7")).unwrap();
        change(&mut changed.roles[0].1, own);
        let what = told((&plain(), &with_agent()), (&plain(), &changed));
        what.join(", ")
    };
    let Role { description: _, agents: _, require_human: _, hand_out: _, notify: _ } =
        Role::default();
    let channel = Channel::Command(vec!["tell".into()]);
    let subscription = Subscription { on: On::All, channel };
    let launch = Launch {
        preset: Preset::Command,
        command: vec!["run".into()],
        reads: None,
        env: vec![("TOKEN".into(), "secret".into())],
        secrets: Vec::new(),
        limits: limits(),
    };
    assert_eq!(
        told_of(&|role, _| role.description = Some("new".into())),
        "description none -> new"
    );
    assert_eq!(told_of(&|role, _| role.agents = vec![id("agent-7")]), "without agent-8");
    assert_eq!(told_of(&|role, _| role.agents.reverse()), "the order of its agents differs");
    assert_eq!(told_of(&|role, _| role.require_human = true), "requireHuman false -> true");
    assert_eq!(told_of(&|role, _| role.hand_out = Some(HandOut::Ask)), "handOut none -> ask");
    assert_eq!(told_of(&|role, _| role.notify = vec![subscription.clone()]), "notify differs");
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
    assert_eq!(told_of(&|_, own| own.name = Some("Bob".into())), "name none -> Bob");
    assert_eq!(told_of(&|_, own| own.description = Some("new".into())), "description none -> new");
    assert_eq!(
        told_of(&|_, own| own.email = Some("a@b.example".into())),
        "email none -> a@b.example"
    );
    assert_eq!(told_of(&|_, own| own.may = vec![Permission::New]), "may differs");
    assert_eq!(told_of(&|_, own| own.max_tasks = Some(2)), "maxTasks none -> 2");
    assert_eq!(told_of(&|_, own| own.notify = vec![subscription.clone()]), "notify differs");
    assert_eq!(told_of(&|_, own| own.run = Some(launch.clone())), "run differs");
    let keys: Vec<PublicKey> = vec![id(super::ssh_made::MADE[0].0)];
    assert_eq!(told_of(&|_, own| own.signing_keys.clone_from(&keys)), "signingKeys differs");
    let one = differences((&project(plain()), &org()), (&project(plain()), &with_agent()));
    assert_eq!(one.len(), 1, "{one:?}");
}
