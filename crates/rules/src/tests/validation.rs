use crate::tests::world::*;
use crate::{Finding, Rules};
use aof_domain::*;

fn findings(workflow: Workflow) -> Vec<Finding> {
    match Rules::new(project(workflow), org()) {
        Ok((_, findings)) | Err(findings) => findings,
    }
}

fn codes(workflow: Workflow, severity: Severity) -> Vec<&'static str> {
    let of =
        |finding: &Finding| finding.severity == severity && finding.code != "role_without_agents";
    findings(workflow).iter().filter(|finding| of(finding)).map(|finding| finding.code).collect()
}

fn named(mut gate: Gate, target: &str) -> Gate {
    gate.exits.reject_to = Some(id(target));
    gate
}

#[test]
fn all_errors_are_found_at_once() {
    let workflow = workflow(vec![
        reviewing("implement", "backend"),
        Gate { when: Some("tags.includes(".into()), ..gate("implement", "backned") },
        named(reviewing("review", "architect"), "implement"),
        with(gate("test", "qa"), |duty| duty.escalate_to = Some(id("nobody"))),
        with(gate("approve", "po"), |duty| duty.can_skip = true),
        Gate { on_condition_error: OnConditionError::Enter, ..gate("last", "qa") },
        with(gate("again", "qa"), |duty| {
            (duty.timeout, duty.escalate_to) = (Some(id("2h")), Some(id("qa")));
        }),
    ]);
    assert_eq!(
        codes(workflow, Severity::Error),
        [
            "first_gate_rejects",
            "duplicate_gate",
            "unknown_role",
            "invalid_condition",
            "dead_field",
            "unknown_role",
            "dead_field",
            "human_gate_skips",
            "dead_field",
            "escalates_to_itself",
        ]
    );
}

#[test]
fn a_named_rejection_needs_an_earlier_gate() {
    let with = |target: Option<&str>| {
        let mut workflow = sdlc();
        workflow.rejection = RejectionStrategy::Named;
        for gate in workflow.gates.iter_mut().filter(|gate| gate.can_reject()) {
            gate.exits.reject_to = Some(id("implement"));
        }
        workflow.gates[1].exits.reject_to = target.map(id);
        codes(workflow, Severity::Error)
    };
    assert!(with(Some("implement")).is_empty());
    assert_eq!(with(None), ["reject_to_missing"]);
    assert_eq!(with(Some("test")), ["reject_forward"]);
    assert_eq!(with(Some("review")), ["reject_forward"]);
    assert_eq!(with(Some("implment")), ["unknown_gate"]);
}

#[test]
fn hints_name_the_meant_word() {
    let mut workflow = sdlc();
    workflow.gates[0] = gate("implement", "backned");
    let all = findings(workflow);
    let finding = all.iter().find(|finding| finding.code == "unknown_role").unwrap();
    assert!(finding.help.as_ref().unwrap().starts_with("did you mean `backend`?"), "{finding:?}");
    assert_eq!(finding.at, ConfigPlace::Gate { workflow: id("default"), gate: 0, field: "role" });
}

#[test]
fn warnings_are_reported_and_stop_nothing() {
    assert!(Rules::new(project(sdlc()), org()).is_ok());
    assert_eq!(codes(sdlc(), Severity::Warning), ["human_gate_waits"]);
    assert_eq!(codes(sdlc(), Severity::Note), ["condition_fails_open", "condition_fails_open"]);
}

#[test]
fn the_hash_covers_deciding_fields() {
    let hash = |change: &dyn Fn(&mut Workflow)| {
        let mut workflow = sdlc();
        change(&mut workflow);
        rules(workflow).hash(&id("default")).unwrap().to_owned()
    };
    let plain = hash(&|_| ());
    assert_eq!(plain.len(), 16);
    assert_eq!(plain, hash(&|workflow| workflow.gates[0].description = Some("words".into())));
    assert_ne!(plain, hash(&|workflow| workflow.gates[0] = gate("implement", "qa")));
}
