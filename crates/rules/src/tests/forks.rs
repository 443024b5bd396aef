//! Forks: the branches that open, their possible outcomes, and their joint result.

mod hands;
mod rules;

use crate::brief::brief_at;
use crate::template::Body;
use crate::tests::world::*;
use crate::{
    Act, Actor, Decision, Finding, Refusal, Rules, StateChange, Workplace, decide, explain,
    passes_by_itself,
};
use aof_domain::*;

/// work (backend) -> review: a (architect), b (qa), c (backend), each may reject -> done (architect)
fn forked(join: JoinStrategy) -> Workflow {
    let branches = vec![branch("a", "architect"), branch("b", "qa"), branch("c", "backend")];
    workflow(vec![
        gate("work", "backend"),
        fork("review", join, branches),
        gate("done", "architect"),
    ])
}

/// Returns the rules with one branch changed.
fn changed(number: usize, change: impl FnOnce(&mut Gate)) -> Workflow {
    let mut workflow = forked(JoinStrategy::All);
    if let GateKind::Fork(fork) = &mut workflow.gates[1].kind {
        let mut gate = fork.branches[number].gate().clone();
        change(&mut gate);
        fork.branches[number] = Branch::new(gate).unwrap();
    }
    workflow
}

fn at_fork(rules: &Rules) -> Task {
    say(rules, &opened(rules, &[]), "agent-7", "complete").unwrap().task
}

const AGENTS: [(&str, &str); 3] = [("a", "agent-3"), ("b", "agent-5"), ("c", "agent-7")];

/// Completes branches, in turn.
fn walk(rules: &Rules, says: &[(&str, &str)]) -> Task {
    says.iter().fold(at_fork(rules), |task, (branch, outcome)| {
        let (_, agent) = AGENTS.iter().find(|(id, _)| id == branch).unwrap();
        say_at(rules, &task, branch, agent, outcome).unwrap().task
    })
}

fn branches(task: &Task) -> Vec<&'static str> {
    task.gate.iter().flat_map(|open| &open.branches).map(|branch| branch.status.as_str()).collect()
}

fn codes(workflow: Workflow) -> Vec<&'static str> {
    let findings = Rules::new(project(workflow), org()).err().unwrap_or_default();
    let errors = findings.iter().filter(|finding: &&Finding| finding.severity == Severity::Error);
    errors.map(|finding| finding.code).collect()
}

#[test]
fn a_fork_opens_its_branches_and_keeps_its_number_until_they_have_joined() {
    let rules = rules(forked(JoinStrategy::All));
    let task = at_fork(&rules);
    assert_eq!(stands(&task), "review@1 ready");
    assert_eq!(branches(&task), ["ready", "ready", "ready"]);
    assert_eq!(task.routing.role, None, "the roles are the branches'");
    let task = walk(&rules, &[("b", "complete"), ("a", "complete")]);
    assert_eq!(stands(&task), "review@1 ready");
    assert_eq!(branches(&task), ["complete", "complete", "ready"]);
    assert_eq!(task.history[1].station().to_string(), "review/b");
    assert_eq!(task.history[1].to, None);
    let task = say_at(&rules, &task, "c", "agent-7", "complete").unwrap().task;
    assert_eq!(stands(&task), "done@4 ready");
    let last = task.history.last().unwrap();
    assert_eq!((last.join, last.verdict), (Some(Join::Passed), Some(Verdict::Pass)));
}

#[test]
fn results_of_branches_are_combined() {
    use JoinStrategy::{All, Any, Majority};
    // The outcomes at a, b and c in that order, and the task's state after them.
    let table: &[(JoinStrategy, &str, &str)] = &[
        (All, "complete complete complete", "done@4 ready"),
        (All, "complete complete skip", "done@4 ready"),
        (All, "skip skip skip", "done@4 ready"),
        (All, "needs_review complete", "review@1 ready"),
        (All, "needs_review complete complete", "work@4 ready"),
        (All, "complete complete needs_review", "work@4 ready"),
        (All, "needs_review blocked blocked", "work@4 ready"),
        (All, "complete blocked complete", "review@1 blocked"),
        (All, "blocked blocked blocked", "review@1 blocked"),
        (Any, "complete", "done@2 ready"),
        (Any, "needs_review complete", "done@3 ready"),
        (Any, "needs_review needs_review", "review@1 ready"),
        (Any, "needs_review needs_review needs_review", "work@4 ready"),
        (Any, "needs_review skip needs_review", "work@4 ready"),
        (Any, "needs_review blocked needs_review", "review@1 blocked"),
        (Any, "skip skip skip", "done@4 ready"),
        (Majority, "complete", "review@1 ready"),
        (Majority, "complete complete", "done@3 ready"),
        (Majority, "complete needs_review complete", "done@4 ready"),
        (Majority, "needs_review needs_review", "review@1 ready"),
        (Majority, "needs_review needs_review complete", "work@4 ready"),
        (Majority, "needs_review needs_review blocked", "work@4 ready"),
        (Majority, "needs_review complete blocked", "review@1 blocked"),
        (Majority, "skip needs_review complete", "work@4 ready"),
        (Majority, "skip skip complete", "done@4 ready"),
    ];
    for (join, says, then) in table {
        let mut flow = forked(*join);
        if let GateKind::Fork(fork) = &mut flow.gates[1].kind {
            for branch in &mut fork.branches {
                *branch =
                    Branch::new(with(branch.gate().clone(), |duty| duty.can_skip = true)).unwrap();
            }
        }
        let rules = rules(flow);
        let says: Vec<(&str, &str)> =
            AGENTS.iter().map(|(branch, _)| *branch).zip(says.split(' ')).collect();
        assert_eq!(stands(&walk(&rules, &says)), *then, "{join}: {says:?}");
    }
}

#[test]
fn one_rejection_comes_back_once_with_all_requests() {
    let rules = rules(forked(JoinStrategy::All));
    let task = walk(&rules, &[("a", "needs_review"), ("b", "blocked")]);
    assert!(task.review.is_none(), "nothing is reported before all branches have completed");
    let task = say_at(&rules, &task, "c", "agent-7", "needs_review").unwrap().task;
    assert_eq!(stands(&task), "work@4 ready");
    assert_eq!(task.history.last().unwrap().retry, Some(1));
    let review = task.review.clone().unwrap();
    assert_eq!(review.from_gate, id("review"));
    assert_eq!((review.from_agent, review.from_role), (None, None), "two branches reject");
    let wants: Vec<&str> = review.blockers.iter().map(|text| &text[..3]).collect();
    assert_eq!(wants, ["a: ", "b: ", "c: "]);
    // The fork opens again, its branches get their own part of the requests, and its pass answers the rejection.
    let task = say(&rules, &task, "agent-7", "complete").unwrap().task;
    assert_eq!(stands(&task), "review@5 ready");
    let brief = brief_at(
        &rules,
        &task,
        &Workplace::of_branch(&rules, &task, &id("a")).unwrap(),
        &Body::default(),
    )
    .unwrap();
    assert_eq!(brief.ticket.to_string(), "AOF-abc@5/a");
    assert_eq!(brief.review.unwrap().blockers, ["coverage is 65%, need 80%"]);
    let task = ["a", "b", "c"]
        .iter()
        .zip(["agent-3", "agent-5", "agent-8"])
        .fold(task, |task, (branch, agent)| {
            say_at(&rules, &task, branch, agent, "complete").unwrap().task
        });
    assert_eq!(stands(&task), "done@8 ready");
    assert!(task.review.is_none());
}

#[test]
fn a_single_rejection_names_its_branch() {
    let rules = rules(forked(JoinStrategy::All));
    let task = walk(&rules, &[("a", "needs_review"), ("b", "complete"), ("c", "complete")]);
    let review = task.review.unwrap();
    assert_eq!((review.from_agent, review.from_role), (Some(id("agent-3")), Some(id("architect"))));
    assert_eq!(review.blockers, ["a: coverage is 65%, need 80%"]);
}

#[test]
fn of_two_completions_of_one_branch_the_second_is_a_conflict() {
    let rules = rules(forked(JoinStrategy::All));
    let task = walk(&rules, &[("c", "complete")]);
    for agent in ["agent-7", "agent-8"] {
        let refusal = say_at(&rules, &task, "c", agent, "complete").unwrap_err();
        assert_eq!(refusal.code(), "visit_ended");
        assert!(
            refusal.problem().starts_with("`AOF-abc@1/c` at gate `review/c` has ended: `agent-7`")
        );
    }
    // Its own completion, delivered again, is settled; the ticket is still valid long after the fork.
    let mut again = completion("agent-7", "complete");
    again.id = id("c1");
    assert!(matches!(
        decide(&rules, &task, &Act::Complete(again), at(99)),
        Ok(Decision::Settled { visit: 1 })
    ));
    let left = walk(&rules, &[("c", "complete"), ("a", "complete"), ("b", "complete")]);
    let mut late = completion("agent-8", "complete");
    late.ticket = id("AOF-abc@1/c");
    let refusal = decide(&rules, &left, &Act::Complete(late.clone()), at(99)).unwrap_err();
    assert!(
        matches!(&refusal, Refusal::VisitEnded { winner: Some(winner), .. } if winner.as_str() == "agent-7")
    );
    late.ticket = id("AOF-abc@1");
    let refusal = decide(&rules, &left, &Act::Complete(late), at(99)).unwrap_err();
    assert!(
        matches!(&refusal, Refusal::VisitEnded { gate, .. } if gate.to_string() == "review/b"),
        "who closed it"
    );
}

#[test]
fn without_a_branch_in_the_ticket_the_only_one_that_can_be_meant_is() {
    let rules = rules(forked(JoinStrategy::All));
    let task = at_fork(&rules);
    let with_vote = say(&rules, &task, "agent-5", "complete").unwrap().task;
    assert_eq!(branches(&with_vote), ["ready", "complete", "ready"]);
    assert_eq!(say(&rules, &with_vote, "agent-5", "complete").unwrap_err().code(), "visit_ended");
    let refusal = say(&rules, &task, "human-ada", "complete").unwrap_err();
    assert_eq!(refusal.code(), "not_your_branch");
    let twice = Rules::new(
        project(changed(0, |gate| *gate = with(gate.clone(), |duty| duty.role = id("qa")))),
        org(),
    );
    let rules = twice.unwrap().0;
    let task = at_fork(&rules);
    let refusal = say(&rules, &task, "agent-5", "complete").unwrap_err();
    assert_eq!(refusal.code(), "branch_needed");
    assert!(
        refusal.fix().to_string().contains("`AOF-abc@1/a`  role qa")
            && refusal.fix().to_string().contains("`AOF-abc@1/b`  role qa")
    );
    // The agent's completion is for the branch that it has claimed.
    let claim = Act::Claim { agent: id("agent-5"), branch: Some(id("b")) };
    let task = step(&rules, &task, &claim, 5).unwrap().task;
    assert_eq!(
        branches(&say(&rules, &task, "agent-5", "complete").unwrap().task),
        ["ready", "complete", "ready"]
    );
}

#[test]
fn tickets_of_branches_that_are_not_there_are_refused() {
    let rules = rules(changed(1, |gate| gate.when = Some("tags.includes('x')".into())));
    let task = at_fork(&rules);
    assert_eq!(branches(&task), ["ready", "skipped", "ready"]);
    for branch in ["nonsense", "b"] {
        assert_eq!(
            say_at(&rules, &task, branch, "agent-5", "complete").unwrap_err().code(),
            "no_such_branch"
        );
    }
    let work = opened(&rules, &[]);
    assert_eq!(
        say_at(&rules, &work, "a", "agent-7", "complete").unwrap_err().code(),
        "no_such_branch"
    );
    let mut ahead = completion("agent-7", "complete");
    ahead.ticket = id("AOF-abc@2/c");
    assert_eq!(
        decide(&rules, &task, &Act::Complete(ahead), at(9)).unwrap_err().code(),
        "visit_ahead"
    );
}

#[test]
fn a_fork_without_an_applicable_branch_passes_by_itself() {
    let mut flow = forked(JoinStrategy::All);
    if let GateKind::Fork(fork) = &mut flow.gates[1].kind {
        for branch in &mut fork.branches {
            *branch =
                Branch::new(Gate { when: Some("false".into()), ..branch.gate().clone() }).unwrap();
        }
    }
    let rules = rules(flow);
    let task = at_fork(&rules);
    assert!(passes_by_itself(&rules, &task));
    assert_eq!(say(&rules, &task, "agent-7", "complete").unwrap_err().code(), "nobody_works_here");
    let after = step(&rules, &task, &Act::Pass, 9).unwrap().task;
    assert_eq!(stands(&after), "done@2 ready");
    assert!(
        matches!(explain(&rules, Some(&task), &after), StateChange::Act(found) if found.act == Act::Pass)
    );
}

#[test]
fn the_fork_sets_the_next_gate_and_its_limit() {
    let mut flow = forked(JoinStrategy::All);
    flow.gates[1] =
        routed(flow.gates[1].clone(), &[("complete", "$end"), ("needs_review", "work")]);
    flow.gates[1].exits.max_retries = Some(1);
    flow.gates[1].exits.on_exhausted = Exhausted::Route(Target::Fail);
    flow.gates.pop();
    let rules = rules(flow);
    let done = walk(&rules, &[("a", "complete"), ("b", "complete"), ("c", "complete")]);
    assert_eq!(stands(&done), "complete");
    let mut task = walk(&rules, &[("a", "needs_review"), ("b", "complete"), ("c", "complete")]);
    assert_eq!(stands(&task), "work@4 ready");
    task = say(&rules, &task, "agent-8", "complete").unwrap().task;
    for (branch, agent) in AGENTS {
        task = say_at(&rules, &task, branch, agent, "needs_review").unwrap().task;
    }
    assert_eq!(stands(&task), "failed");
}

#[test]
fn a_rejection_that_is_held_waits_for_a_person() {
    let mut flow = forked(JoinStrategy::All);
    flow.holds_rejections = true;
    let rules = rules(flow);
    let task = walk(&rules, &[("a", "needs_review"), ("b", "complete"), ("c", "complete")]);
    assert_eq!(stands(&task), "review@4 blocked");
    assert_eq!(task.blockers, ["a: coverage is 65%, need 80%"]);
    let unblock = Act::Unblock { by: Actor::Person(None), branch: None, reason: None };
    let task = step(&rules, &task, &unblock, 99).unwrap().task;
    assert_eq!(
        (stands(&task), branches(&task)),
        ("review@4 ready".into(), vec!["ready", "ready", "ready"])
    );
}

#[test]
fn outputs_of_branches_stand_side_by_side() {
    let rules = rules(forked(JoinStrategy::All));
    let mut task = at_fork(&rules);
    for (number, (branch, agent)) in AGENTS.into_iter().enumerate() {
        let mut says = completion(agent, "complete");
        says.ticket = task.ticket_of(Some(&id(branch)));
        says.id = id(&format!("x{number}"));
        says.content.outputs.insert("score".into(), number.into());
        task = step(&rules, &task, &Act::Complete(says), 50).unwrap().task;
    }
    let context =
        serde_json::json!({"review": {"a": {"score": 0}, "b": {"score": 1}, "c": {"score": 2}}});
    assert_eq!(serde_json::Value::Object(task.context), context);
}

#[test]
fn a_branch_decides_in_its_own_words() {
    let rules = rules(changed(0, |gate| {
        *gate = with(
            routed(gate.clone(), &[("fine", "$next"), ("ugly", "$previous"), ("later", "$hold")]),
            |duty| {
                duty.can_reject = false;
            },
        );
    }));
    assert_eq!(branches(&walk(&rules, &[("a", "Fine")]))[0], "complete");
    assert_eq!(branches(&walk(&rules, &[("a", "ugly")]))[0], "rejected");
    assert_eq!(branches(&walk(&rules, &[("a", "later")]))[0], "blocked");
    let task = at_fork(&rules);
    assert_eq!(
        say_at(&rules, &task, "a", "agent-3", "complete").unwrap_err().code(),
        "invalid_outcome"
    );
    let back = walk(&rules, &[("a", "ugly"), ("b", "complete"), ("c", "complete")]);
    assert_eq!(
        back.review.unwrap().blockers,
        ["a: said something"],
        "without a list, what was said"
    );
}
