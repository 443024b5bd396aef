//! Forks: what opens, what each branch may say, and what they come to together.

use super::world::*;
use crate::engine::brief::{Body, brief_at};
use crate::engine::{Act, Actor, Change, Decision, Finding, Post, Refusal, Rules, decide, explain, passes_by_itself};
use crate::model::*;

/// work (backend) -> review: a (architect), b (qa), c (backend), each may reject -> done (architect)
fn forked(join: JoinStrategy) -> Workflow {
    let branches = vec![branch("a", "architect"), branch("b", "qa"), branch("c", "backend")];
    workflow(vec![gate("work", "backend"), fork("review", join, branches), gate("done", "architect")])
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

/// Says something at branches, in turn.
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
fn what_the_branches_come_to() {
    use JoinStrategy::{All, Any, Majority};
    // What is said at a, b and c in that order, and where the task is then.
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
                *branch = Branch::new(with(branch.gate().clone(), |duty| duty.can_skip = true)).unwrap();
            }
        }
        let rules = rules(flow);
        let says: Vec<(&str, &str)> = AGENTS.iter().map(|(branch, _)| *branch).zip(says.split(' ')).collect();
        assert_eq!(stands(&walk(&rules, &says)), *then, "{join}: {says:?}");
    }
}

#[test]
fn one_rejection_comes_back_once_with_what_everybody_wants() {
    let rules = rules(forked(JoinStrategy::All));
    let task = walk(&rules, &[("a", "needs_review"), ("b", "blocked")]);
    assert!(task.review.is_none(), "nothing is told before all have spoken");
    let task = say_at(&rules, &task, "c", "agent-7", "needs_review").unwrap().task;
    assert_eq!(stands(&task), "work@4 ready");
    assert_eq!(task.history.last().unwrap().retry, Some(1));
    let review = task.review.clone().unwrap();
    assert_eq!(review.from_gate, id("review"));
    assert_eq!((review.from_agent, review.from_role), (None, None), "two branches reject");
    let wants: Vec<&str> = review.blockers.iter().map(|text| &text[..3]).collect();
    assert_eq!(wants, ["a: ", "b: ", "c: "]);
    // The fork opens anew, its branches are told their own part, and its pass answers the rejection.
    let task = say(&rules, &task, "agent-7", "complete").unwrap().task;
    assert_eq!(stands(&task), "review@5 ready");
    let brief = brief_at(&rules, &task, &Post::of_branch(&rules, &task, &id("a")).unwrap(), &Body::default()).unwrap();
    assert_eq!(brief.ticket.to_string(), "AOF-abc@5/a");
    assert_eq!(brief.expectations[0], "Check that this is settled: coverage is 65%, need 80%");
    let task = ["a", "b", "c"]
        .iter()
        .zip(["agent-3", "agent-5", "agent-8"])
        .fold(task, |task, (branch, agent)| say_at(&rules, &task, branch, agent, "complete").unwrap().task);
    assert_eq!(stands(&task), "done@8 ready");
    assert!(task.review.is_none());
}

#[test]
fn a_single_rejection_names_who_rejected() {
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
        assert!(refusal.problem().starts_with("`AOF-abc@1/c` at gate `review/c` has ended: `agent-7`"));
    }
    // Its own completion, delivered again, is settled; the ticket is still good when the fork has long been left.
    let mut again = completion("agent-7", "complete");
    again.id = id("c1");
    assert!(matches!(decide(&rules, &task, &Act::Complete(again), at(99)), Ok(Decision::Settled { visit: 1 })));
    let left = walk(&rules, &[("c", "complete"), ("a", "complete"), ("b", "complete")]);
    let mut late = completion("agent-8", "complete");
    late.ticket = id("AOF-abc@1/c");
    let refusal = decide(&rules, &left, &Act::Complete(late.clone()), at(99)).unwrap_err();
    assert!(matches!(&refusal, Refusal::VisitEnded { winner: Some(winner), .. } if winner.as_str() == "agent-7"));
    late.ticket = id("AOF-abc@1");
    let refusal = decide(&rules, &left, &Act::Complete(late), at(99)).unwrap_err();
    assert!(matches!(&refusal, Refusal::VisitEnded { gate, .. } if gate.to_string() == "review/b"), "who closed it");
}

#[test]
fn without_a_branch_in_the_ticket_the_only_one_that_can_be_meant_is() {
    let rules = rules(forked(JoinStrategy::All));
    let task = at_fork(&rules);
    let said = say(&rules, &task, "agent-5", "complete").unwrap().task;
    assert_eq!(branches(&said), ["ready", "complete", "ready"]);
    assert_eq!(say(&rules, &said, "agent-5", "complete").unwrap_err().code(), "visit_ended");
    let refusal = say(&rules, &task, "human-ada", "complete").unwrap_err();
    assert_eq!(refusal.code(), "not_your_branch");
    let twice = Rules::new(project(changed(0, |gate| *gate = with(gate.clone(), |duty| duty.role = id("qa")))), org());
    let rules = twice.unwrap().0;
    let task = at_fork(&rules);
    let refusal = say(&rules, &task, "agent-5", "complete").unwrap_err();
    assert_eq!(refusal.code(), "branch_needed");
    assert!(refusal.fix().contains("`AOF-abc@1/a`  role qa") && refusal.fix().contains("`AOF-abc@1/b`  role qa"));
    // What it has claimed is what it means.
    let claim = Act::Claim { agent: id("agent-5"), branch: Some(id("b")) };
    let task = step(&rules, &task, &claim, 5).unwrap().task;
    assert_eq!(branches(&say(&rules, &task, "agent-5", "complete").unwrap().task), ["ready", "complete", "ready"]);
}

#[test]
fn tickets_of_branches_that_are_not_there_are_refused() {
    let rules = rules(changed(1, |gate| gate.when = Some("tags.includes('x')".into())));
    let task = at_fork(&rules);
    assert_eq!(branches(&task), ["ready", "skipped", "ready"]);
    for branch in ["nonsense", "b"] {
        assert_eq!(say_at(&rules, &task, branch, "agent-5", "complete").unwrap_err().code(), "no_such_branch");
    }
    let work = opened(&rules, &[]);
    assert_eq!(say_at(&rules, &work, "a", "agent-7", "complete").unwrap_err().code(), "no_such_branch");
    let mut ahead = completion("agent-7", "complete");
    ahead.ticket = id("AOF-abc@2/c");
    assert_eq!(decide(&rules, &task, &Act::Complete(ahead), at(9)).unwrap_err().code(), "visit_ahead");
}

#[test]
fn a_fork_none_of_whose_branches_applies_passes_by_itself() {
    let mut flow = forked(JoinStrategy::All);
    if let GateKind::Fork(fork) = &mut flow.gates[1].kind {
        for branch in &mut fork.branches {
            *branch = Branch::new(Gate { when: Some("false".into()), ..branch.gate().clone() }).unwrap();
        }
    }
    let rules = rules(flow);
    let task = at_fork(&rules);
    assert!(passes_by_itself(&rules, &task));
    assert_eq!(say(&rules, &task, "agent-7", "complete").unwrap_err().code(), "nobody_works_here");
    let after = step(&rules, &task, &Act::Pass, 9).unwrap().task;
    assert_eq!(stands(&after), "done@2 ready");
    assert!(matches!(explain(&rules, Some(&task), &after), Change::Act(found) if found.act == Act::Pass));
}

#[test]
fn branches_are_claimed_given_back_and_set_going_each_on_its_own() {
    let rules = rules(forked(JoinStrategy::All));
    let task = at_fork(&rules);
    let claim = |branch: &str, agent: &str| Act::Claim { agent: id(agent), branch: Some(id(branch)) };
    let task = step(&rules, &task, &claim("c", "agent-7"), 2).unwrap().task;
    assert_eq!(stands(&task), "review@1 ready", "others can be taken");
    assert_eq!(decide(&rules, &task, &claim("c", "agent-8"), at(2)).unwrap_err().code(), "assigned_to_another");
    assert_eq!(say_at(&rules, &task, "c", "agent-8", "complete").unwrap_err().code(), "assigned_to_another");
    let task = step(&rules, &task, &claim("a", "agent-3"), 3).unwrap().task;
    let task = step(&rules, &task, &claim("b", "agent-5"), 4).unwrap().task;
    assert_eq!(stands(&task), "review@1 in_progress");
    let person = || Actor::Person(None);
    let release = |branch: Option<&str>| Act::Release { by: person(), branch: branch.map(id) };
    assert_eq!(decide(&rules, &task, &release(None), at(5)).unwrap_err().code(), "branch_needed");
    let task = step(&rules, &task, &release(Some("b")), 5).unwrap().task;
    assert_eq!(branches(&task), ["in_progress", "ready", "in_progress"]);
    let own = Act::Release { by: Actor::Agent(id("agent-3")), branch: None };
    let task = step(&rules, &task, &own, 6).unwrap().task;
    assert_eq!(branches(&task), ["ready", "ready", "in_progress"]);

    let task = say_at(&rules, &task, "a", "agent-3", "blocked").unwrap().task;
    assert_eq!((branches(&task), stands(&task)), (vec!["blocked", "ready", "in_progress"], "review@1 ready".into()));
    assert_eq!(decide(&rules, &task, &claim("a", "agent-3"), at(70)).unwrap_err().code(), "task_blocked");
    let unblock = |branch: Option<&str>| Act::Unblock { by: person(), branch: branch.map(id), reason: None };
    assert_eq!(decide(&rules, &task, &unblock(Some("b")), at(70)).unwrap_err().code(), "not_blocked");
    let after = step(&rules, &task, &unblock(None), 70).unwrap().task;
    assert_eq!(branches(&after), ["ready", "ready", "in_progress"]);
    assert!(matches!(explain(&rules, Some(&task), &after), Change::Act(_)));
    // A blocked branch may also say its word without more ado.
    assert_eq!(branches(&say_at(&rules, &task, "a", "agent-3", "complete").unwrap().task)[0], "complete");
}

#[test]
fn whoever_holds_a_branch_does_not_hold_the_task() {
    let rules = rules(forked(JoinStrategy::All));
    let claim = Act::Claim { agent: id("agent-7"), branch: Some(id("c")) };
    let task = step(&rules, &at_fork(&rules), &claim, 2).unwrap().task;
    let by = || Actor::Agent(id("agent-7"));
    let reason = || "I say so".to_owned();
    let unblock = |branch: Option<&str>| Act::Unblock { by: by(), branch: branch.map(id), reason: None };
    let table = [
        (Act::Override { by: by(), to: id("done"), reason: reason() }, "not_permitted"),
        (Act::Cancel { by: by(), reason: reason() }, "not_permitted"),
        (unblock(None), "not_permitted"),
        (unblock(Some("a")), "not_permitted"),
        (unblock(Some("c")), "not_blocked"),
    ];
    for (act, code) in table {
        assert_eq!(decide(&rules, &task, &act, at(9)).unwrap_err().code(), code, "{act:?}");
    }
    let own = Act::Release { by: by(), branch: Some(id("c")) };
    assert_eq!(branches(&step(&rules, &task, &own, 9).unwrap().task), ["ready", "ready", "ready"]);
}

#[test]
fn a_branch_for_which_there_is_nobody_waits_and_holds_nothing_up() {
    let rules = rules(changed(1, |gate| *gate = with(gate.clone(), |duty| duty.role = id("security"))));
    let task = at_fork(&rules);
    assert_eq!(branches(&task), ["ready", "blocked", "ready"]);
    assert_eq!(task.gate.as_ref().unwrap().branches[1].blockers, ["No agents available for role: security"]);
    let unblock = Act::Unblock { by: Actor::Person(None), branch: None, reason: None };
    assert_eq!(decide(&rules, &task, &unblock, at(20)).unwrap_err().code(), "task_blocked");
    let passed = walk(&rules, &[("a", "complete"), ("c", "complete")]);
    assert_eq!(stands(&passed), "review@1 blocked");
    assert_eq!(passed.blockers, ["b: No agents available for role: security"]);
    assert_eq!(stands(&walk(&rules, &[("a", "needs_review"), ("c", "complete")])), "work@3 ready");
}

#[test]
fn whoever_is_still_at_work_when_a_fork_is_left_is_named_and_told() {
    let rules = rules(forked(JoinStrategy::Any));
    let task = at_fork(&rules);
    let passed = say_at(&rules, &task, "b", "agent-5", "complete").unwrap().task;
    assert_eq!(passed.history.last().unwrap().unfinished, [id::<GateId>("a"), id("c")]);
    let mut late = completion("agent-3", "complete");
    late.ticket = id("AOF-abc@1/a");
    assert_eq!(decide(&rules, &passed, &Act::Complete(late), at(99)).unwrap_err().code(), "visit_ended");
    let person = Actor::Person(None);
    let moved = Act::Override { by: person.clone(), to: id("done"), reason: "now".into() };
    let cancelled = Act::Cancel { by: person, reason: "never".into() };
    let task = walk(&rules, &[("a", "blocked")]);
    for (act, then) in [(moved, "done@3 ready"), (cancelled, "cancelled")] {
        let after = step(&rules, &task, &act, 99).unwrap().task;
        assert_eq!(stands(&after), then);
        let last = after.history.last().unwrap();
        assert_eq!((last.branch.clone(), last.role.clone(), last.unfinished.len()), (None, None, 3));
        assert!(matches!(explain(&rules, Some(&task), &after), Change::Act(_)));
        assert!(after.review.is_none());
    }
}

#[test]
fn the_fork_says_where_the_task_goes_and_how_often() {
    let mut flow = forked(JoinStrategy::All);
    flow.gates[1] = routed(flow.gates[1].clone(), &[("complete", "$end"), ("needs_review", "work")]);
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
    assert_eq!((stands(&task), branches(&task)), ("review@4 ready".into(), vec!["ready", "ready", "ready"]));
}

/// Returns the rules in which the gate behind the fork may send a task back to it, and that once is too often.
fn sent_back(then: Exhausted) -> Rules {
    let mut flow = forked(JoinStrategy::All);
    flow.gates[2] = routed(reviewing("done", "architect"), &[("needs_review", "review")]);
    flow.gates[2].exits.max_retries = Some(0);
    flow.gates[2].exits.on_exhausted = then;
    rules(flow)
}

fn back_at_fork(rules: &Rules) -> Task {
    let passed = walk(rules, &[("a", "complete"), ("b", "complete"), ("c", "complete")]);
    say(rules, &passed, "agent-3", "needs_review").unwrap().task
}

#[test]
fn a_fork_that_is_escalated_belongs_to_that_role_in_all_its_branches() {
    let rules = sent_back(Exhausted::Escalate(id("po")));
    let mut task = back_at_fork(&rules);
    assert_eq!(stands(&task), "review@5 ready");
    let roles: Vec<&str> = task.gate.iter().flat_map(|open| &open.branches).map(|own| own.role.as_str()).collect();
    assert_eq!(roles, ["po", "po", "po"]);
    assert_eq!(say_at(&rules, &task, "a", "agent-3", "complete").unwrap_err().code(), "human_required");
    for branch in ["a", "b", "c"] {
        task = say_at(&rules, &task, branch, "human-ada", "complete").unwrap().task;
    }
    assert_eq!(stands(&task), "done@8 ready");
}

#[test]
fn a_fork_to_which_a_task_comes_back_too_often_waits_as_a_whole() {
    let rules = sent_back(Exhausted::Block);
    let task = back_at_fork(&rules);
    assert_eq!(stands(&task), "review@5 blocked");
    assert_eq!(say_at(&rules, &task, "a", "agent-3", "complete").unwrap_err().code(), "circular_loop");
    let claim = Act::Claim { agent: id("agent-3"), branch: None };
    assert_eq!(decide(&rules, &task, &claim, at(99)).unwrap_err().code(), "task_blocked");
    let unblock = |reason: Option<&str>| Act::Unblock {
        by: Actor::Person(None),
        branch: None,
        reason: reason.map(str::to_owned),
    };
    assert_eq!(decide(&rules, &task, &unblock(None), at(99)).unwrap_err().code(), "missing_reason");
    let task = step(&rules, &task, &unblock(Some("once more")), 99).unwrap().task;
    assert_eq!((stands(&task), branches(&task)), ("review@6 ready".into(), vec!["ready", "ready", "ready"]));
}

#[test]
fn what_branches_hand_on_stands_side_by_side() {
    let rules = rules(forked(JoinStrategy::All));
    let mut task = at_fork(&rules);
    for (number, (branch, agent)) in AGENTS.into_iter().enumerate() {
        let mut says = completion(agent, "complete");
        says.ticket = task.ticket_of(Some(&id(branch)));
        says.id = id(&format!("x{number}"));
        says.outputs.insert("score".into(), number.into());
        task = step(&rules, &task, &Act::Complete(says), 50).unwrap().task;
    }
    let context = serde_json::json!({"review": {"a": {"score": 0}, "b": {"score": 1}, "c": {"score": 2}}});
    assert_eq!(serde_json::Value::Object(task.context), context);
}

#[test]
fn a_branch_decides_in_its_own_words() {
    let rules = rules(changed(0, |gate| {
        *gate = with(routed(gate.clone(), &[("fine", "$next"), ("ugly", "$previous"), ("later", "$hold")]), |duty| {
            duty.can_reject = false;
        });
    }));
    assert_eq!(branches(&walk(&rules, &[("a", "Fine")]))[0], "complete");
    assert_eq!(branches(&walk(&rules, &[("a", "ugly")]))[0], "rejected");
    assert_eq!(branches(&walk(&rules, &[("a", "later")]))[0], "blocked");
    let task = at_fork(&rules);
    assert_eq!(say_at(&rules, &task, "a", "agent-3", "complete").unwrap_err().code(), "invalid_outcome");
    let back = walk(&rules, &[("a", "ugly"), ("b", "complete"), ("c", "complete")]);
    assert_eq!(back.review.unwrap().blockers, ["a: said something"], "without a list, what was said");
}

#[test]
fn a_gate_that_became_a_fork_meanwhile_lets_nobody_through() {
    let before = rules(workflow(vec![gate("work", "backend"), gate("review", "qa"), gate("done", "architect")]));
    let task = at_fork(&before);
    let rules = rules(forked(JoinStrategy::All));
    assert!(!passes_by_itself(&rules, &task));
    assert_eq!(say(&rules, &task, "agent-5", "complete").unwrap_err().code(), "branches_not_open");
    let open = Act::Override { by: Actor::Person(None), to: id("review"), reason: "open it".into() };
    assert_eq!(branches(&step(&rules, &task, &open, 99).unwrap().task), ["ready", "ready", "ready"]);
}

#[test]
fn a_fork_that_became_a_gate_meanwhile_is_claimed_and_given_back_as_a_gate() {
    let before = rules(forked(JoinStrategy::All));
    let task = walk(&before, &[("a", "blocked")]);
    let rules = rules(workflow(vec![gate("work", "backend"), gate("review", "qa"), gate("done", "architect")]));
    let claim = Act::Claim { agent: id("agent-5"), branch: None };
    let claimed = step(&rules, &task, &claim, 60).unwrap().task;
    assert_eq!(stands(&claimed), "review@1 in_progress");
    for by in [Actor::Agent(id("agent-5")), Actor::Person(None)] {
        let free = step(&rules, &claimed, &Act::Release { by, branch: None }, 61).unwrap().task;
        assert_eq!((stands(&free), free.routing.agent.clone()), ("review@1 ready".into(), None));
        assert!(matches!(explain(&rules, Some(&claimed), &free), Change::Act(_)));
    }
    let by = Actor::Person(None);
    for act in [
        Act::Release { by: by.clone(), branch: Some(id("a")) },
        Act::Unblock { by: by.clone(), branch: Some(id("a")), reason: None },
    ] {
        assert_eq!(decide(&rules, &claimed, &act, at(61)).unwrap_err().code(), "no_such_branch");
    }
    let unblock = Act::Unblock { by, branch: None, reason: None };
    assert_eq!(decide(&rules, &claimed, &unblock, at(61)).unwrap_err().code(), "not_blocked");
    let held = say(&rules, &claimed, "agent-5", "blocked").unwrap().task;
    assert_eq!(stands(&step(&rules, &held, &unblock, 99).unwrap().task), "review@3 ready");
}

#[test]
fn a_branch_that_is_gone_from_the_rules_holds_nothing_up() {
    let before = rules(forked(JoinStrategy::All));
    let task = walk(&before, &[("a", "complete")]);
    let mut flow = forked(JoinStrategy::All);
    if let GateKind::Fork(fork) = &mut flow.gates[1].kind {
        fork.branches.remove(2);
    }
    let rules = rules(flow);
    assert_eq!(say_at(&rules, &task, "c", "agent-7", "complete").unwrap_err().code(), "no_such_branch");
    assert_eq!(stands(&say_at(&rules, &task, "b", "agent-5", "complete").unwrap().task), "done@3 ready");
}

#[test]
fn a_fork_is_judged_again_when_the_rules_took_away_whoever_was_waited_for() {
    let before = rules(forked(JoinStrategy::All));
    let without = |number: usize| {
        let mut flow = forked(JoinStrategy::All);
        if let GateKind::Fork(fork) = &mut flow.gates[1].kind {
            fork.branches.remove(number);
        }
        rules(flow)
    };
    let mut people = org();
    people.roles[0].1.agents.clear();
    let nobody = Rules::new(project(forked(JoinStrategy::All)), people).unwrap().0;
    let claim = Act::Claim { agent: id("agent-7"), branch: Some(id("c")) };
    let rejected = walk(&before, &[("a", "needs_review"), ("b", "complete")]);
    let claimed = step(&before, &rejected, &claim, 40).unwrap().task;
    let passed = walk(&before, &[("a", "complete"), ("b", "complete")]);
    let blocked = walk(&before, &[("a", "complete"), ("b", "complete"), ("c", "blocked")]);
    assert_eq!(stands(&blocked), "review@1 blocked");
    let unblock = Act::Unblock { by: Actor::Person(None), branch: None, reason: None };
    let table = [
        (&rejected, without(2), "work@4 ready"),
        (&claimed, without(2), "work@4 ready"),
        (&passed, without(2), "done@4 ready"),
        (&rejected, nobody.clone(), "work@4 blocked"),
    ];
    for (task, rules, then) in table {
        assert!(!passes_by_itself(&before, task), "somebody is waited for");
        assert!(passes_by_itself(&rules, task));
        let after = step(&rules, task, &unblock, 60).unwrap().task;
        assert_eq!(stands(&after), then);
        assert!(matches!(explain(&rules, Some(task), &after), Change::Act(found) if found.act == Act::Pass));
        let last = after.history.last().unwrap();
        assert_eq!((last.branch.clone(), last.agent.clone()), (None, None));
        let wants: Vec<String> = after.review.into_iter().flat_map(|review| review.blockers).collect();
        let expected: &[&str] = if then == "done@4 ready" { &[] } else { &["a: coverage is 65%, need 80%"] };
        assert_eq!(wants, expected);
    }
    // A branch that waited is set going, and is gone then.
    let rules = without(2);
    let after = step(&rules, &blocked, &unblock, 60).unwrap().task;
    assert_eq!(stands(&step(&rules, &after, &Act::Pass, 60).unwrap().task), "done@5 ready");
    // Where nothing was said, and where somebody can still speak, nothing is judged.
    assert!(!passes_by_itself(&rules, &at_fork(&before)));
    assert!(!passes_by_itself(&nobody, &passed));
    assert_eq!(decide(&without(1), &rejected, &Act::Pass, at(60)).unwrap_err().code(), "not_automatic");
}

#[test]
fn what_is_wrong_with_a_fork_is_said_when_it_is_loaded() {
    let two = |first: Branch, second: Branch| {
        let review = fork("review", JoinStrategy::All, vec![first, second]);
        workflow(vec![gate("work", "backend"), review, gate("done", "architect")])
    };
    let routed_branch = |routes: &[(&str, &str)]| Branch::new(routed(gate("a", "architect"), routes)).unwrap();
    let b = || branch("b", "qa");
    assert_eq!(codes(two(branch("b", "architect"), b())), ["duplicate_branch"]);
    assert_eq!(codes(two(branch("work", "architect"), b())), ["branch_named_like_gate"]);
    assert_eq!(codes(two(branch("a", "nobody"), b())), ["unknown_role"]);
    assert_eq!(codes(two(routed_branch(&[("fine", "done")]), b())), ["branch_leads_away"]);
    assert_eq!(codes(two(routed_branch(&[("fine", "$end")]), b())), ["branch_leads_away"]);
    assert_eq!(codes(two(routed_branch(&[("complete", "$previous")]), b())), ["branch_leads_away"]);
    assert_eq!(codes(two(routed_branch(&[("ugly", "$previous")]), b())), ["branch_never_passes"]);
    assert_eq!(codes(two(routed_branch(&[("skip", "$next")]), b())), ["dead_field"]);
    let first = workflow(vec![fork("review", JoinStrategy::All, vec![branch("a", "architect"), b()])]);
    assert_eq!(codes(first), ["first_gate_rejects"]);
    let one = workflow(vec![gate("work", "backend"), fork("review", JoinStrategy::All, vec![b()])]);
    assert_eq!(codes(one), ["fork_without_branches"]);
    let plain = || Branch::new(gate("a", "architect")).unwrap();
    let mut dead = two(plain(), Branch::new(gate("b", "qa")).unwrap());
    dead.gates[1] = routed(dead.gates[1].clone(), &[("needs_review", "work"), ("great", "$next")]);
    assert_eq!(codes(dead), ["dead_field", "dead_field"]);
    let itself = changed(0, |gate| *gate = with(gate.clone(), |duty| duty.separate_from = vec![id("review")]));
    assert_eq!(codes(itself), ["unknown_gate"]);
}

#[test]
fn a_fork_has_an_end() {
    let wide = |forks: usize, branches: usize| {
        let of = |number: usize| (0..branches).map(move |index| branch(&format!("b{number}-{index}"), "qa")).collect();
        let forks = (0..forks).map(|number| fork(&format!("f{number}"), JoinStrategy::All, of(number)));
        workflow([gate("work", "backend")].into_iter().chain(forks).collect())
    };
    let told = |flow: Workflow| {
        let findings = Rules::new(project(flow), org()).err().unwrap_or_default();
        let errors = findings.into_iter().filter(|finding| finding.severity == Severity::Error);
        errors.map(|finding| finding.message).collect::<Vec<_>>()
    };
    assert_eq!(codes(wide(1, 100)), Vec::<&str>::new());
    assert_eq!(told(wide(1, 101)), ["fork `f0` has 101 branches: 100 is the most"]);
    assert_eq!(told(wide(10, 100)), ["a workflow of 11 gates and 1000 branches: 1000 in all is the most"]);
    assert_eq!(codes(wide(2, 600)), ["too_many_gates", "too_many_branches", "too_many_branches"]);
}
