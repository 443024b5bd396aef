//! The short form of the commands for tasks.

use crate::support::environment::TestEnvironment;
use crate::support::terminal::Seat;

#[test]
fn a_task_goes_its_way_in_short_words() {
    let env = TestEnvironment::new();
    let id = &env.new_task(&["Add login"]);
    let next = env.aof(&["next", "--agent", "agent-7"]).success();
    assert!(next.stdout.contains("ticket AOF-xxxxx@0"), "{next}");
    let _ = env.aof(&["comment", id, "Begun"]).success();
    let _ = env.aof(&["release", id, "--agent", "agent-7"]).success();
    for (gate, agent) in [("implement", "agent-7"), ("review", "agent-3")] {
        let listed = env.aof(&["ls", "--gate", gate]).success();
        assert!(listed.stdout.contains("Add login"), "{listed}");
        let done = &["complete", id, "--agent", agent, "-o", "complete", "-s", "Works"];
        let _ = env.aof(done).success();
    }
    let short = env.aof(&["log", id]).success();
    assert!(short.stdout.contains("implement"), "{short}");
    assert_eq!(short.stdout, env.aof(&["task", "history", id]).success().stdout);
    assert_eq!(env.aof(&["show", id]).stdout, env.aof(&["task", "show", id]).stdout);
}

#[test]
fn printed_short_commands_name_the_agent() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let refused = env.aof(&["complete", &id, "--agent", "agent-7", "-s", "x", "-o", "nonsense"]);
    let refused = refused.code(4);
    assert!(refused.stderr.contains("@0 --agent agent-7 --outcome complete"), "{refused}");
}

/// Work, a review with decisions, and a person's gate; git's user is Ada.
const DECISIONS: &str = "\
workflow:
  gates:
    - {id: implement, role: backend}
    - id: review
      role: lead
      routes: {approved: {to: sign-off}, rejected: {to: implement}}
    - {id: sign-off, role: boss, requireHuman: true, canReject: true}
";

const PEOPLE: &str = "\
roles:
  backend: {agents: [agent-7]}
  lead: {agents: [agent-3, human-ada]}
  boss: {agents: [human-ada]}
agents:
  agent-7: {maxTasks: 1}
  agent-3: {}
  human-ada: {email: ada@example.org}
";

fn at_sign_off(env: &TestEnvironment, title: &str) -> String {
    let id = env.new_task(&[title]);
    let _ = env.complete(&id, "agent-7").success();
    let _ = env.aof(&["approve", &id, "--agent", "agent-3"]).success();
    id
}

#[test]
fn approve_and_reject_are_the_decisions_of_a_gate() {
    let env = TestEnvironment::with_rules(DECISIONS, PEOPLE);
    let id = &env.new_task(&["Add login"]);
    // Who works has to say what was done, and nothing is sent back from there.
    let silent = env.aof(&["approve", id, "--agent", "agent-7"]).code(4);
    assert!(silent.stderr.contains("the `summary` is missing"), "{silent}");
    let no = env.aof(&["reject", id, "No", "--agent", "agent-7"]).code(4);
    assert!(no.stderr.contains("valid here: `complete`, `blocked`"), "{no}");
    let _ = env.aof(&["approve", id, "Works", "--agent", "agent-7"]).success();
    let rejected = ["reject", id, "The test is missing", "No docs", "--agent", "agent-3"];
    let _ = env.aof(&rejected).success();
    let text = env.task_text(id);
    assert!(text.contains("outcome: rejected\n    summary: The test is missing\n"), "{text}");
    assert!(
        text.contains("    blockers:\n      - The test is missing\n      - No docs\n"),
        "{text}"
    );
    let _ = env.aof(&["complete", id, "-o", "complete", "-s", "Tested", "--agent", "agent-7"]);
    let _ = env.aof(&["approve", id, "--agent", "agent-3"]).success();
    assert!(env.task_text(id).contains("outcome: approved\n    summary: Approved\n"));
    let person = env.aof(&["approve", id, "-s", "Fine", "--agent", "agent-7"]).code(4);
    assert!(person.stderr.contains("human"), "{person}");
    assert!(env.log().contains("review -> sign-off (approved)"), "{}", env.log());
}

#[test]
fn a_gate_without_such_a_decision_lists_its_own() {
    let rules = DECISIONS.replace("approved:", "ship:").replace("rejected:", "mend:");
    let env = TestEnvironment::with_rules(&rules, PEOPLE);
    let id = &env.new_task(&["Add login"]);
    let _ = env.complete(id, "agent-7").success();
    for args in [["approve", id, "Fine"], ["reject", id, "No tests"]] {
        let refused = env.aof(&[&args[..], &["--agent", "agent-3"]].concat()).code(4);
        assert!(refused.stderr.contains("`ship`, `mend`"), "{refused}");
    }
}

#[test]
fn block_and_reject_take_texts_alone() {
    let env = TestEnvironment::new();
    let id = &env.new_task(&["Add login"]);
    let silent = env.aof(&["block", id, "--agent", "agent-7"]).code(4);
    assert!(silent.stderr.contains("\n  aof block AOF-xxxxx@0 --agent agent-7 \""), "{silent}");
    let json = env.aof(&["block", id, "--agent", "agent-7", "--json"]).code(4).json();
    assert_eq!(json["error"], "missing_blockers");
    let _ = env.aof(&["block", id, "--agent", "agent-7", "No key", "-b", "No server"]).success();
    let shown = env.aof(&["show", id]).success();
    assert!(shown.stdout.contains("No server") && shown.stdout.contains("No key"), "{shown}");
}

#[test]
fn claim_takes_a_certain_task() {
    let env = TestEnvironment::with_rules(DECISIONS, PEOPLE);
    let (id, other) = (&env.new_task(&["Add login"]), &env.new_task(&["Add logout"]));
    let brief = env.aof(&["claim", other, "--agent", "agent-7"]).success();
    assert!(brief.stdout.contains("Add logout"), "{brief}");
    let again = env.aof(&["claim", other, "--agent", "agent-7"]).success();
    assert_eq!(brief.stdout, again.stdout);
    let full = env.aof(&["claim", id, "--agent", "agent-7", "--json"]).code(4);
    assert_eq!(full.json()["error"], "too_many_tasks");
    let _ = env.aof(&["claim", id, "--agent", "agent-3"]).code(4);
    assert!(env.log().contains("claimed by agent-7 at implement"), "{}", env.log());
}

#[test]
fn undo_takes_ones_own_last_step_back() {
    let env = TestEnvironment::with_rules(DECISIONS, PEOPLE);
    let id = &at_sign_off(&env, "Add login");
    let others = env.aof(&["undo", id]).code(4);
    assert!(others.stderr.contains("is one of `agent-3`"), "{others}");
    let agent = env.aof(&["undo", id, "--agent", "agent-3"]).code(4);
    assert!(agent.stderr.contains("may: [override]"), "{agent}");
    let _ = env.aof(&["approve", id, "--agent", "human-ada"]).success();
    assert!(env.task_path(id).starts_with("tasks/archive/"));
    let undone = env.aof(&["undo", id, "--reason", "wrong task"]).success();
    assert!(undone.stdout.contains("now at sign-off, ready for human-ada"), "{undone}");
    assert!(env.task_text(id).contains("summary: \"undone: complete at sign-off; wrong task\""));
    let twice = env.aof(&["undo", id, "--json"]).code(4);
    assert_eq!(twice.json()["error"], "cannot_undo");
    assert!(twice.stderr.contains("undone already"), "{twice}");
    // A rejection is taken back too, unless somebody went on.
    let _ = env.aof(&["reject", id, "No docs", "--agent", "human-ada"]).success();
    let _ = env.aof(&["undo", id]).success();
    let _ = env.aof(&["reject", id, "No tests", "--agent", "human-ada"]).success();
    let _ = env.aof(&["next", "--agent", "agent-7"]).success();
    let claimed = env.aof(&["undo", id]).code(4);
    assert!(claimed.stderr.contains("`agent-7` has claimed"), "{claimed}");
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn undo_lifts_a_block_and_leaves_branches_and_held_tasks_alone() {
    let forked = "\
workflow:
  gates:
    - {id: work, role: boss}
    - id: checks
      type: fork
      joinStrategy: all
      branches: [{id: law, role: boss}, {id: style, role: backend}]
";
    let env = TestEnvironment::with_rules(forked, PEOPLE);
    let id = &env.new_task(&["Add login"]);
    let _ = env.aof(&["block", id, "No key", "--agent", "human-ada"]).success();
    let undone = env.aof(&["undo", id]).success();
    assert!(undone.stdout.contains("now at work, ready"), "{undone}");
    let _ = env.aof(&["approve", id, "--agent", "human-ada"]).success();
    let _ = env.aof(&["hold", id, "--reason", "wait"]).success();
    let held = env.aof(&["undo", id]).code(4);
    assert!(held.stderr.contains("somebody held"), "{held}");
    let _ = env.aof(&["unblock", id]).success();
    let visit = env.aof(&["list", "--json"]).success().json()["tasks"][0]["visit"].clone();
    let law = format!("{id}@{visit}/law");
    let _ = env.aof(&["approve", &law, "--agent", "human-ada"]).success();
    let before = env.task_text(id);
    let branch = env.aof(&["undo", id]).code(4);
    assert!(branch.stderr.contains("is one of several at that gate"), "{branch}");
    assert_eq!(env.task_text(id), before);
}

#[test]
fn decide_lists_what_waits_where_nobody_can_be_asked() {
    let env = TestEnvironment::with_rules(DECISIONS, PEOPLE);
    assert_eq!(env.aof(&["decide"]).success().stdout, "nothing waits for you\n");
    let late = &env.new_task(&["Late"]);
    let _ = at_sign_off(&env, "Early");
    let _ = env.complete(late, "agent-7").success();
    let listed = env.aof(&["decide"]).success().stdout;
    assert!(listed.find("Early") < listed.find("Late"), "{listed}");
    assert!(
        listed.contains("at sign-off for ") && listed.contains("approved, rejected"),
        "{listed}"
    );
    let waiting = env.aof(&["decide", "--json"]).success().json()["waiting"].clone();
    assert_eq!(waiting.as_array().unwrap().len(), 2);
    assert_eq!(waiting[0]["ticket"], "AOF-xxxxx@2");
    env.git(&["config", "user.email", "nobody@example.org"]);
    let nobody = env.aof(&["decide"]).code(4);
    assert!(nobody.stderr.contains("which agent you are"), "{nobody}");
}

#[test]
fn a_person_at_a_terminal_is_shown_the_work_and_asked() {
    let env = TestEnvironment::with_rules(DECISIONS, PEOPLE);
    let id = &at_sign_off(&env, "Add login");
    env.write("login.rs", "fn login() {}\n");
    let mut seat = Seat::of(&env, &["approve", id]);
    seat.shows("Add login");
    seat.shows("before: review (approved) by agent-3: Approved");
    seat.shows("complete: [y]es, [d]iff, [l]ater? ");
    seat.types("d");
    seat.shows("login.rs");
    seat.shows("[l]ater? ");
    seat.types("l");
    let (status, screen) = seat.ends();
    assert!(status.success() && screen.contains("nothing was changed"), "{screen}");
    let mut seat = Seat::of(&env, &["complete", id]);
    seat.shows("[y]es, [n]o, blocked, [d]iff, [l]ater? ");
    seat.types("n");
    seat.shows("- ");
    seat.types("No docs");
    seat.shows("- ");
    seat.types("");
    seat.shows("Summary (No docs): ");
    seat.types("");
    seat.shows("sign-off -> implement (needs_review)");
    assert!(seat.ends().0.success());
    // Where one may not decide, nothing is asked.
    let (status, screen) = Seat::of(&env, &["approve", id]).ends();
    assert_eq!(status.code(), Some(4), "{screen}");
    assert!(screen.contains("is the work of role `backend`"), "{screen}");
}

#[test]
fn decide_asks_about_one_task_after_another() {
    let env = TestEnvironment::with_rules(DECISIONS, PEOPLE);
    for title in ["One", "Two", "Three"] {
        let _ = at_sign_off(&env, title);
    }
    let mut seat = Seat::of(&env, &["decide"]);
    seat.shows("One");
    seat.shows("[l]ater? ");
    seat.types("y");
    seat.shows("Summary (Approved): ");
    seat.types("");
    seat.shows("sign-off -> end (complete)");
    seat.shows("Two");
    seat.shows("[l]ater? ");
    seat.types("l");
    seat.shows("Three");
    seat.shows("[l]ater? ");
    seat.types("y");
    seat.shows("Summary (Approved): ");
    seat.types("");
    seat.shows("1 decision is left for later");
    assert!(seat.ends().0.success());
    let waiting = env.aof(&["decide", "--json"]).success().json()["waiting"].clone();
    assert_eq!(waiting[0]["title"], "Two");
    assert_eq!(waiting.as_array().unwrap().len(), 1);
}

#[test]
fn words_that_people_try_lead_to_the_right_command() {
    let env = TestEnvironment::new();
    for (word, command) in [
        ("done", "`aof complete ID`"),
        ("LGTM", "`aof approve ID`"),
        ("start", "`aof next`"),
        ("close", "`aof cancel ID`"),
        ("config", "project.yaml"),
        ("ready", "`aof list --ready`"),
        ("rm", "`aof cancel ID"),
    ] {
        for args in [&[word][..], &["task", word]] {
            let refused = env.aof(args).code(2);
            assert!(
                refused.stderr.contains("tip: ") && refused.stderr.contains(command),
                "{refused}"
            );
        }
    }
    let log = env.aof(&["log"]).code(2);
    assert!(log.stderr.contains("`aof events`"), "{log}");
    let typo = env.aof(&["complte"]).code(2);
    assert!(typo.stderr.contains("'complete'"), "{typo}");
    let other = env.aof(&["workflow", "add"]).code(2);
    assert!(!other.stderr.contains("aof new"), "{other}");
}
