use crate::tests::world::*;
use crate::{Act, Decision, RefusalKind, decide};
use aof_domain::*;

fn refused(
    change: impl FnOnce(&mut Completion),
) -> (&'static str, serde_json::Map<String, serde_json::Value>) {
    let rules = rules(sdlc());
    let task = say(&rules, &opened(&rules, &[]), "agent-7", "complete").unwrap().task;
    let mut completion = completion("agent-3", "needs_review");
    change(&mut completion);
    let refusal = step(&rules, &task, &Act::Complete(completion), 9).unwrap_err();
    assert!(!refusal.problem().is_empty() && !refusal.fix().to_string().is_empty());
    (refusal.code(), refusal.fields())
}

#[test]
fn every_mistake_of_a_completion_has_its_code_and_fields() {
    let (code, fields) = refused(|c| c.content.outcome = Some("done".into()));
    assert_eq!(code, "invalid_outcome");
    assert_eq!(fields["validOutcomes"], serde_json::json!(["complete", "needs_review", "blocked"]));

    assert_eq!(refused(|c| c.content.outcome = None).0, "missing_outcome");
    assert_eq!(refused(|c| c.content.summary = None).0, "missing_summary");
    assert_eq!(refused(|c| c.content.summary = Some("  \n".into())).0, "missing_summary");
    let (code, fields) = refused(|c| c.content.blockers = None);
    assert_eq!((code, &fields["requiredField"]), ("missing_blockers", &"blockers".into()));
    assert_eq!(refused(|c| c.content.blockers = Some(vec![])).0, "empty_blockers");
    assert_eq!(refused(|c| c.content.blockers = Some(vec![" ".into()])).0, "empty_blockers");
    assert_eq!(refused(|c| c.content.summary = Some("x".repeat(20_000))).0, "too_long");
    assert_eq!(refused(|c| c.content.body = Some("x".repeat(BODY_LIMIT + 1))).0, "too_long");
    let (code, fields) = refused(|c| c.content.outcome = Some("skip".into()));
    assert_eq!((code, &fields["canSkip"]), ("skip_not_allowed", &false.into()));

    let (code, fields) = refused(|c| c.agent = id("agent-7"));
    assert_eq!(code, "wrong_role");
    assert_eq!(
        (&fields["expectedRole"], &fields["actualRole"]),
        (&"architect".into(), &"backend".into())
    );
    let (code, fields) = refused(|c| c.ticket.visit = Some(0));
    assert_eq!(code, "visit_ended");
    assert_eq!(
        (&fields["winningAgent"], &fields["losingAgent"]),
        (&"agent-7".into(), &"agent-3".into())
    );
    assert_eq!(refused(|c| c.ticket.visit = Some(7)).0, "visit_ahead");
}

#[test]
fn a_gate_that_cannot_reject_says_so() {
    let rules = rules(sdlc());
    let refusal = say(&rules, &opened(&rules, &[]), "agent-7", "needs_review").unwrap_err();
    assert_eq!(refusal.code(), "reject_not_allowed");
    let fields: Map = refusal.fields();
    assert_eq!(fields["canReject"], false);
    assert_eq!(fields["validOutcomes"], serde_json::json!(["complete", "blocked"]));
}

#[test]
fn an_omitted_outcome_counts_only_if_it_cannot_hide_a_rejection() {
    let rules = rules(sdlc());
    let task = opened(&rules, &[]);
    let mut silent = completion("agent-7", "complete");
    silent.content.outcome = None;
    let task = step(&rules, &task, &Act::Complete(silent), 1).unwrap().task;
    assert_eq!(stands(&task), "review@1 ready");
    assert_eq!(task.history[0].outcome, Ending::Completed(Outcome::Complete));
}

#[test]
fn human_gates_are_for_people() {
    let mut chart = org();
    chart.roles[4].1.agents.push(id("agent-9"));
    let rules = crate::Rules::new(project(workflow(vec![gate("approve", "po")])), chart).unwrap().0;
    let task = opened(&rules, &[]);
    let refusal = say(&rules, &task, "agent-9", "complete").unwrap_err();
    assert_eq!(refusal.code(), "human_required");
    let fields: Map = refusal.fields();
    assert_eq!(
        (&fields["requireHuman"], &fields["yourAgentId"]),
        (&true.into(), &"agent-9".into())
    );
    assert_eq!(say(&rules, &task, "human-eve", "complete").unwrap_err().code(), "wrong_role");
    assert_eq!(stands(&say(&rules, &task, "human-ada", "complete").unwrap().task), "complete");
}

#[test]
fn only_the_holder_of_a_claim_completes() {
    let rules = rules(sdlc());
    let claimed =
        step(&rules, &opened(&rules, &[]), &Act::Claim { agent: id("agent-8"), branch: None }, 1)
            .unwrap()
            .task;
    assert_eq!(stands(&claimed), "implement@0 in_progress");
    assert_eq!(
        say(&rules, &claimed, "agent-7", "complete").unwrap_err().code(),
        "assigned_to_another"
    );
    let after = say(&rules, &claimed, "agent-8", "complete").unwrap().task;
    assert_eq!(after.routing.agent, None);
}

#[test]
fn a_redelivery_is_settled_and_a_reused_id_is_loud() {
    let rules = rules(sdlc());
    let task = opened(&rules, &[]);
    let mut first = completion("agent-7", "complete");
    first.id = id("delivery-1");
    let task = step(&rules, &task, &Act::Complete(first.clone()), 1).unwrap().task;
    let again = decide(&rules, &task, &Act::Complete(first.clone()), at(2)).unwrap();
    assert_eq!(again, Decision::Settled { visit: 0 });
    first.content.summary = Some("said something else".into());
    let refusal = step(&rules, &task, &Act::Complete(first), 2).unwrap_err();
    assert_eq!(refusal.code(), "completion_id_reused");
}

#[test]
fn a_finished_task_is_a_conflict() {
    let rules = rules(workflow(vec![gate("implement", "backend")]));
    let task = say(&rules, &opened(&rules, &[]), "agent-7", "complete").unwrap().task;
    let refusal = say(&rules, &task, "agent-7", "complete").unwrap_err();
    assert_eq!((refusal.code(), refusal.kind()), ("task_finished", RefusalKind::Conflict));
}

#[test]
fn vague_blockers_pass_with_a_warning() {
    let rules = rules(sdlc());
    let task = say(&rules, &opened(&rules, &[]), "agent-7", "complete").unwrap().task;
    let mut vague = completion("agent-3", "needs_review");
    vague.content.blockers = Some(vec!["not good".into(), "the parser loses comments".into()]);
    let step = step(&rules, &task, &Act::Complete(vague), 5).unwrap();
    assert_eq!(step.warnings[0].fields()["vagueBlockers"], serde_json::json!(["not good"]));
    assert_eq!(stands(&step.task), "implement@2 ready");
}

#[test]
fn a_clock_that_goes_backwards_makes_no_negative_visit() {
    let rules = rules(sdlc());
    let task = opened(&rules, &[]);
    let after =
        step(&rules, &task, &Act::Complete(completion("agent-7", "complete")), -500).unwrap().task;
    assert_eq!(
        (after.history[0].exited, after.history[0].duration()),
        (task.gate.unwrap().entered, 0)
    );
}

#[test]
fn outputs_stand_in_the_context_under_the_gate() {
    let rules = rules(sdlc());
    let mut done = completion("agent-7", "complete");
    done.content.outputs.insert("branch".into(), "login".into());
    let after = step(&rules, &opened(&rules, &[]), &Act::Complete(done), 1).unwrap().task;
    assert_eq!(
        serde_json::Value::Object(after.context),
        serde_json::json!({"implement": {"branch": "login"}})
    );
}
