//! The short form of the commands for tasks.

use serde_json::{Value, json};

use crate::support::environment::{Output, TestEnvironment};
use crate::support::scripted_agents::send;
use crate::support::terminal::Seat;

#[test]
fn a_task_goes_its_way_in_short_words() {
    let env = TestEnvironment::new();
    let id = &env.new_task(&["Add login"]);
    let next = env.aof(&["next", "--agent", "agent-7"]).success();
    assert!(next.stdout.contains("ticket AOF-xxxxx@0"), "{next}");
    let _ = env.aof(&["comment", id, "-m", "Begun"]).success();
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
    let no = env.aof(&["reject", id, "-m", "No", "--agent", "agent-7"]).code(4);
    assert!(no.stderr.contains("valid here: `complete`, `blocked`"), "{no}");
    let _ = env.aof(&["approve", id, "-m", "Works", "--agent", "agent-7"]).success();
    let rejected =
        ["reject", id, "-m", "The test is missing", "-m", "No docs", "--agent", "agent-3"];
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
    let person = env.aof(&["approve", id, "-m", "Fine", "--agent", "agent-7"]).code(4);
    assert!(person.stderr.contains("human"), "{person}");
    assert!(env.log().contains("review -> sign-off (approved)"), "{}", env.log());
}

#[test]
fn a_gate_without_such_a_decision_lists_its_own() {
    let rules = DECISIONS.replace("approved:", "ship:").replace("rejected:", "mend:");
    let env = TestEnvironment::with_rules(&rules, PEOPLE);
    let id = &env.new_task(&["Add login"]);
    let _ = env.complete(id, "agent-7").success();
    for args in [["approve", id, "-m", "Fine"], ["reject", id, "-m", "No tests"]] {
        let refused = env.aof(&[&args[..], &["--agent", "agent-3"]].concat()).code(4);
        assert!(refused.stderr.contains("`ship`, `mend`"), "{refused}");
    }
}

#[test]
fn block_and_reject_take_texts_alone() {
    let env = TestEnvironment::new();
    let id = &env.new_task(&["Add login"]);
    let silent = env.aof(&["block", id, "--agent", "agent-7"]).code(4);
    assert!(silent.stderr.contains("\n  aof block AOF-xxxxx@0 --agent agent-7 -m \""), "{silent}");
    let json = env.aof(&["block", id, "--agent", "agent-7", "--json"]).code(4).json();
    assert_eq!(json["error"], "missing_blockers");
    let _ =
        env.aof(&["block", id, "--agent", "agent-7", "-m", "No key", "-m", "No server"]).success();
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
    let _ = env.aof(&["reject", id, "-m", "No docs", "--agent", "human-ada"]).success();
    let _ = env.aof(&["undo", id]).success();
    let _ = env.aof(&["reject", id, "-m", "No tests", "--agent", "human-ada"]).success();
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
    let _ = env.aof(&["block", id, "-m", "No key", "--agent", "human-ada"]).success();
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
fn decide_lists_waiting_tasks_without_a_terminal() {
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
    let _ = env.aof(&["edit", id, "-p", "high", "--due", "2026-02-17", "-t", "auth"]).success();
    let mut seat = Seat::of(&env, &["approve", id]);
    seat.shows("Add login");
    seat.shows("  ! high  due Tue  #auth");
    seat.shows("review: approved → sign-off: Approved");
    seat.shows("a approve → done   m comment   s skip");
    seat.presses("d");
    seat.shows("login.rs");
    seat.shows("q leave");
    seat.presses("l");
    let (status, screen) = seat.ends();
    assert!(status.success() && screen.contains("nothing was changed"), "{screen}");
    let mut seat = Seat::of(&env, &["complete", id]);
    seat.shows("a approve → ");
    seat.presses("n");
    seat.shows("- ");
    seat.types("No docs");
    seat.shows("- ");
    seat.types("");
    seat.shows("Summary (No docs): ");
    seat.types("");
    seat.shows("sent back to implement");
    assert!(seat.ends().0.success());
    // Where one may not decide, nothing is asked.
    let (status, screen) = Seat::of(&env, &["approve", id]).ends();
    assert_eq!(status.code(), Some(4), "{screen}");
    assert!(screen.contains("is the work of role `backend`"), "{screen}");
}

#[test]
fn leaving_at_any_prompt_of_decide_records_nothing() {
    let env = TestEnvironment::with_rules(DECISIONS, PEOPLE);
    for number in 0..13 {
        let _ = at_sign_off(&env, &format!("Task {number}"));
    }
    let head = env.git(&["rev-parse", "HEAD"]);
    // The keys that lead to a prompt, what it shows, and those that lead from there.
    let prompts: [(&[&str], &str); 5] = [
        (&[], "q leave"),
        (&["a"], "Summary (Approved): "),
        (&["r"], "\n- "),
        (&["r", "No docs\n", "\n"], "Summary (No docs): "),
        (&["m"], "Comment: "),
    ];
    for (keys, prompt) in prompts {
        for leaves in ["q", "\u{3}", "\u{1b}", "end"] {
            let mut seat = Seat::of(&env, &["decide"]);
            seat.shows("1 of 13");
            seat.shows("q leave");
            for key in keys {
                seat.presses(key);
            }
            if !keys.is_empty() {
                seat.shows(prompt);
            }
            match leaves {
                // Under `nohup` a hang-up is ignored.
                "end" => {
                    send("TERM", &seat.child);
                    let _ = seat.ends();
                }
                // At a text, the terminal makes a signal of ctrl-c.
                "\u{3}" => {
                    if keys.is_empty() {
                        seat.presses("\u{3}");
                    } else {
                        // Below a shell that started this in the background, it is ignored.
                        send(if ignores_interrupts() { "TERM" } else { "INT" }, &seat.child);
                    }
                    let _ = seat.ends();
                }
                // Back to the keys, and from there out.
                back => {
                    // Escape needs no Enter; an arrow begins with it, and is no key of its own.
                    if !keys.is_empty() && back == "\u{1b}" {
                        seat.presses("Half a text\u{1b}[A");
                    } else if !keys.is_empty() {
                        seat.types(back);
                    }
                    if !keys.is_empty() {
                        seat.shows("q leave");
                    }
                    seat.presses("q");
                    let (status, screen) = seat.ends();
                    assert!(status.success() && screen.contains("13 skipped"), "{screen}");
                }
            }
            assert_eq!(env.git(&["rev-parse", "HEAD"]), head, "{keys:?} {leaves:?}");
            assert_eq!(env.git(&["status", "--porcelain"]), "");
        }
    }
}

/// Returns whether this process, and so each program that it starts, ignores SIGINT, where the system tells.
fn ignores_interrupts() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 0b10 != 0)
}

#[test]
fn decide_comments_and_takes_back() {
    let env = TestEnvironment::with_rules(DECISIONS, PEOPLE);
    let id = &at_sign_off(&env, "One");
    let other = &at_sign_off(&env, "Two");
    let mut seat = Seat::of(&env, &["decide"]);
    seat.shows("1 of 2");
    seat.presses("m");
    seat.shows("Comment: ");
    seat.types("Please look at Safari, too");
    seat.shows(": commented");
    seat.shows("q leave");
    seat.presses("a");
    seat.shows("Summary (Approved): ");
    seat.types("");
    seat.shows("z takes it back");
    seat.shows("2 of 2");
    seat.shows("z undo");
    seat.presses("z");
    seat.shows("One");
    seat.shows("q leave");
    seat.presses("s");
    seat.shows("Two");
    seat.shows("q leave");
    seat.presses("r");
    seat.shows("- ");
    seat.types("No docs");
    seat.types("");
    seat.shows("Summary (No docs): ");
    seat.types("");
    seat.shows("1 sent back, 1 skipped");
    assert!(seat.ends().0.success());
    assert!(env.task_text(id).contains("Please look at Safari, too"));
    assert_eq!(shown(&env, id)["gate"]["current"], "sign-off");
    assert_eq!(shown(&env, other)["gate"]["current"], "implement");
}

#[test]
fn decide_asks_about_one_task_after_another() {
    let env = TestEnvironment::with_rules(DECISIONS, PEOPLE);
    for title in ["One", "Two", "Three"] {
        let _ = at_sign_off(&env, title);
    }
    let mut seat = Seat::of(&env, &["decide"]);
    seat.shows("One");
    seat.shows("q leave");
    seat.presses("y");
    seat.shows("Summary (Approved): ");
    seat.types("");
    seat.shows("sign-off → done");
    seat.shows("Two");
    seat.shows("q leave");
    seat.presses("l");
    seat.shows("Three");
    seat.shows("q leave");
    seat.presses("y");
    seat.shows("Summary (Approved): ");
    seat.types("");
    seat.shows("2 approved, 1 skipped");
    assert!(seat.ends().0.success());
    let waiting = env.aof(&["decide", "--json"]).success().json()["waiting"].clone();
    assert_eq!(waiting[0]["title"], "Two");
    assert_eq!(waiting.as_array().unwrap().len(), 1);
}

#[test]
fn words_that_people_try_lead_to_the_right_command() {
    let env = TestEnvironment::new();
    for (word, command) in [
        ("finish", "`aof done ID`"),
        ("LGTM", "`aof approve ID`"),
        ("begin", "`aof next`"),
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

/// Work, and a review that several may do: each command names several tasks.
const TEAM_GATES: &str = "\
workflow:
  gates:
    - {id: implement, role: backend}
    - {id: review, role: lead, canReject: true}
    - {id: ship, role: lead}
";

const TEAM: &str = "\
roles:
  backend: {agents: [agent-7, agent-8]}
  lead: {agents: [human-ada, agent-3]}
agents:
  agent-7: {}
  agent-8: {}
  agent-3: {}
  human-ada: {email: ada@example.org}
";

/// Returns a project with tasks at their review.
fn at_review(count: usize) -> (TestEnvironment, Vec<String>) {
    let env = TestEnvironment::with_rules(TEAM_GATES, TEAM);
    let ids: Vec<String> =
        (0..count).map(|number| env.new_task(&[&format!("Task {number}")])).collect();
    for id in &ids {
        let _ = env.complete(id, "agent-7").success();
    }
    (env, ids)
}

/// Runs a command as the person of the project.
fn as_ada(env: &TestEnvironment, words: &[&str]) -> Output {
    env.aof(&[words, &["--agent", "human-ada"]].concat())
}

fn shown(env: &TestEnvironment, id: &str) -> Value {
    env.aof(&["show", id, "--json"]).success().json()
}

#[test]
fn the_second_task_is_approved_and_is_not_the_summary() {
    let (env, ids) = at_review(3);
    let short = ids[1].trim_start_matches("AOF-").to_uppercase();
    let ticket = format!("{}@1", ids[2]);
    let said = as_ada(&env, &["approve", &ids[0], &short, &ticket, "-m", "Reads well"]).success();
    assert_eq!(said.stdout.matches("review → ship").count(), 3, "{said}");
    for id in &ids {
        let task = shown(&env, id);
        assert_eq!(task["gate"]["current"], "ship");
        assert_eq!(task["gateHistory"][1]["summary"], "Reads well");
    }
    assert_eq!(env.log().matches("review -> ship (complete)").count(), 3);
    let _ = env.aof(&["verify"]).success();
}

/// Each command that takes several tasks, with what was before, its options, and the subject of each commit.
#[test]
fn every_word_of_these_commands_is_a_task() {
    for (before, command, options, subject) in [
        (&[][..], "approve", &[][..], "review -> ship (complete)"),
        (&[], "reject", &["-m", "No test", "-m", "No docs"], "review -> implement (needs_review)"),
        (&[], "reject", &["--summary", "No", "-m", "No test"], "review -> implement"),
        (&[], "block", &["-m", "The designer is away"], ": review (blocked)"),
        (&[], "hold", &["-m", "Wait"], ": held"),
        (&[], "cancel", &["-m", "Not needed"], ": review (cancelled)"),
        (&["hold", "-m", "Wait"], "unblock", &["-m", "Go on"], ": unblocked"),
        (&["hold", "-m", "Wait"], "resume", &[], ": unblocked"),
        (
            &["cancel", "-m", "No"],
            "reopen",
            &["--to", "review", "-m", "Yes"],
            ": review (reopened)",
        ),
        (&[], "override", &["--to", "ship", "-m", "Urgent"], "review -> ship (override)"),
        (&["approve"], "undo", &["-m", "Wrong one"], "ship -> review (override)"),
        (&[], "comment", &["-m", "Look at the log"], ": comment"),
        (&[], "edit", &["--tag", "api", "--priority", "high"], ": edit"),
        (&[], "claim", &[], ": claimed"),
        (&["claim"], "release", &[], ": released"),
    ] {
        let (env, ids) = at_review(2);
        let run = |words: &[&str], more: &[&str]| {
            as_ada(&env, &[&words[..1], &[&ids[0], &ids[1]], &words[1..], more].concat())
        };
        if !before.is_empty() {
            let _ = run(before, &[]).success();
        }
        let rehearsed = run(&[command], &[options, &["--dry-run"]].concat()).success();
        let head = env.head();
        let done = run(&[command], options).success();
        assert_eq!(env.git(&["rev-list", "--count", &format!("{head}..")]).trim(), "2", "{done}");
        let log = env.git(&["log", "-2", "--format=%s"]);
        for id in &ids {
            let is_about = |line: &str| line.contains(id.as_str()) && line.contains(subject);
            assert!(log.lines().any(is_about), "{command} {id}: {log}{rehearsed}");
        }
        let _ = env.aof(&["verify"]).success();
    }
}

#[test]
fn the_last_word_of_an_assignment_is_the_agent() {
    let env = TestEnvironment::with_rules(TEAM_GATES, TEAM);
    let ids = [env.new_task(&["One"]), env.new_task(&["Two"])];
    let _ = as_ada(&env, &["assign", "--claim", &ids[0], &ids[1], "agent-8"]).success();
    for id in &ids {
        assert_eq!(shown(&env, id)["routing"]["agent"], "agent-8");
    }
    let head = env.head();
    let _ = as_ada(&env, &["assign", "--claim", &ids[0]]).code(2);
    let none = as_ada(&env, &["assign", "--claim", &ids[0], "AOF-zzz", "agent-7"]).code(3);
    assert!(none.stderr.contains("AOF-zzz"), "{none}");
    assert_eq!(env.head(), head);
}

#[test]
fn a_text_in_the_place_of_a_task_is_refused_with_the_command_as_it_should_be() {
    let (env, ids) = at_review(2);
    let (one, two) = (ids[0].as_str(), ids[1].as_str());
    let head = env.head();
    for (words, code, wanted) in [
        (
            &["approve", one, "Reads well, all of it"][..],
            4,
            "aof approve ONE --agent human-ada -m \"Reads well, all of it\"",
        ),
        (
            &["approve", one, two, "Reads well"],
            4,
            "aof approve ONE TWO --agent human-ada -m \"Reads well\"",
        ),
        (&["approve", "Reads well"], 4, "aof approve --agent human-ada ID -m \"Reads well\""),
        (&["approve", one, "fine"], 3, "aof approve ONE --agent human-ada -m \"fine\""),
        (
            &["reject", one, "No test", "No docs: none"],
            4,
            "aof reject ONE --agent human-ada -m \"No test\" -m \"No docs: none\"",
        ),
        (
            &["reject", one, "No test", "-m", "No docs"],
            4,
            "aof reject ONE -m 'No docs' --agent human-ada -m \"No test\"",
        ),
        (&["block", one, "Who knows?"], 4, "aof block ONE --agent human-ada -m \"Who knows?\""),
        (
            &["hold", one, "They want to talk"],
            4,
            "aof hold ONE --agent human-ada -m \"They want to talk\"",
        ),
        (
            &["cancel", one, two, "Not needed"],
            4,
            "aof cancel ONE TWO --agent human-ada -m \"Not needed\"",
        ),
        (&["unblock", one, "Go on"], 4, "aof unblock ONE --agent human-ada -m \"Go on\""),
        (&["undo", one, "Wrong one"], 4, "aof undo ONE --agent human-ada -m \"Wrong one\""),
        (
            &["comment", one, "Mind the tokens"],
            4,
            "aof comment ONE --agent human-ada -m \"Mind the tokens\"",
        ),
        (
            &["comment", one, "it's \"$HOME\""],
            4,
            "aof comment ONE --agent human-ada -m 'it'\\''s \"$HOME\"'",
        ),
        // A text without quotes is one text, whatever its words look like.
        (
            &["comment", one, "xylophone", "this", "please"],
            3,
            "aof comment ONE --agent human-ada -m \"xylophone this please\"",
        ),
        (
            &["reject", one, "it", "isn't", "done", "--summary", "No"],
            4,
            "aof reject ONE --summary No --agent human-ada -m \"it isn't done\"",
        ),
        (
            &["hold", one, "wait", "for", two, "first"],
            3,
            "aof hold ONE --agent human-ada -m \"wait for TWO first\"",
        ),
        (
            &["comment", one, "comment", "on", "`main.rs`"],
            4,
            r"aof comment ONE --agent human-ada -m $'comment on \x60main.rs\x60'",
        ),
        (&["comment", one, "AOF-zzz"], 3, "no task `AOF-zzz`"),
        (&["approve", one, "Not so", "-m", "Fine"], 4, "each word is a task here"),
        (&["reopen", one, "Not so", "--to", "review", "-m", "Fine"], 4, "each word is a task here"),
        (&["edit", one, "A new title"], 4, "each word is a task here"),
        (&["claim", one, "please now"], 4, "each word is a task here"),
        (&["release", one, "no time"], 4, "each word is a task here"),
        (&["assign", "--claim", one, "no time", "agent-8"], 4, "each word is a task here"),
    ] {
        let refused = as_ada(&env, words).code(code);
        let wanted = wanted.replace("ONE", "AOF-xxxxx").replace("TWO", "AOF-xxxxx");
        assert!(refused.stderr.contains(&wanted), "{words:?}: {wanted}\n{refused}");
        let json = as_ada(&env, &[words, &["--json"]].concat()).code(code).json();
        let error = if code == 3 { "task_not_found" } else { "not_a_task" };
        assert_eq!(json["error"], error, "{words:?}: {json}");
        assert_eq!(env.head(), head, "{words:?}");
    }
}

#[test]
fn an_unknown_or_repeated_id_changes_nothing() {
    let (env, ids) = at_review(2);
    let (one, two) = (ids[0].as_str(), ids[1].as_str());
    let (short, capitals) = (one.trim_start_matches("AOF-"), one.to_uppercase());
    let (open, ended) = (format!("{one}@1"), format!("{one}@0"));
    let head = env.head();
    for (words, code, error) in [
        ([one, "AOF-zzz"], 3, "task_not_found"),
        (["AOF-zzz", one], 3, "task_not_found"),
        ([one, one], 4, "named_twice"),
        ([one, short], 4, "named_twice"),
        ([one, &capitals], 4, "named_twice"),
        ([one, &open], 4, "named_twice"),
        ([&ended, &open], 4, "named_twice"),
    ] {
        for command in [
            &["approve"][..],
            &["reject", "-m", "No test"],
            &["block", "-m", "No key"],
            &["hold", "-m", "Wait"],
            &["cancel", "-m", "No"],
            &["comment", "-m", "Look"],
            &["edit", "--tag", "api"],
            &["claim"],
            &["release"],
            &["unblock"],
        ] {
            let all = [&command[..1], &words[..], &[two], &command[1..], &["--json"]].concat();
            let refused = as_ada(&env, &all).code(code).json();
            assert_eq!(refused["error"], error, "{all:?}: {refused}");
            assert_eq!(env.head(), head, "{all:?}");
        }
    }
}

#[test]
fn branches_of_one_fork_are_tasks_of_their_own() {
    let project = "\
workflow:
  gates:
    - {id: implement, role: backend}
    - id: checks
      type: fork
      joinStrategy: all
      branches:
        - {id: law, role: lead, canReject: true}
        - {id: style, role: lead, canReject: true}
    - {id: ship, role: lead}
";
    let env = TestEnvironment::with_rules(project, TEAM);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    let (law, style) = (format!("{id}@1/law"), format!("{id}@1/style"));
    let twice = as_ada(&env, &["approve", &law, &law]).code(4);
    assert!(twice.stderr.contains("named twice"), "{twice}");
    let twice = as_ada(&env, &["approve", &law, &id]).code(4);
    assert!(twice.stderr.contains("named twice"), "{twice}");
    let _ = as_ada(&env, &["approve", &law, &style]).success();
    assert_eq!(shown(&env, &id)["gate"]["current"], "ship");
}

#[test]
fn a_refusal_stops_no_other_and_the_exit_code_is_the_worst() {
    let (env, ids) = at_review(4);
    let [one, two, three, four] = [0, 1, 2, 3].map(|at| ids[at].as_str());
    let ended = format!("{two}@0");
    let _ = as_ada(&env, &["cancel", three, "-m", "No"]).success();
    let mixed = as_ada(&env, &["approve", &ended, three, one, "--json"]).code(5);
    let told = mixed.json();
    assert_eq!(told["tasks"].as_array().unwrap().len(), 1, "{told}");
    let task = &told["tasks"][0];
    assert_eq!((&task["title"], &task["gate"]["current"]), (&json!("Task 0"), &json!("ship")));
    let failed: Vec<&Value> = told["failed"].as_array().unwrap().iter().collect();
    assert_eq!(failed.len(), 2, "{told}");
    assert_eq!(failed[0]["task"], json!("AOF-xxxxx@0"));
    assert_eq!(failed[1]["task"], json!("AOF-xxxxx"));
    assert!(
        failed.iter().all(|own| own["error"].is_string() && own["message"].is_string()),
        "{told}"
    );
    assert_eq!(mixed.stderr.lines().count(), 2, "{mixed}");
    // One task answers as it always did.
    let alone = as_ada(&env, &["approve", &format!("{one}@2"), "--json"]).success().json();
    assert_eq!((&alone["title"], &alone["tasks"]), (&json!("Task 0"), &Value::Null), "{alone}");
    let refused = as_ada(&env, &["approve", &ended, "--json"]).code(5).json();
    assert!(refused["error"].is_string() && refused["failed"].is_null(), "{refused}");
    let people = as_ada(&env, &["approve", &ended, four]).code(5);
    assert!(people.stderr.contains("error: ") && people.stdout.contains("→ ship"), "{people}");
    let both = as_ada(&env, &["comment", one, two, "-m", "Seen", "--json"]).success().json();
    assert_eq!(
        (both["tasks"].as_array().unwrap().len(), &both["failed"]),
        (2, &json!([])),
        "{both}"
    );
}

#[test]
fn one_text_from_stdin_is_for_all() {
    let (env, ids) = at_review(2);
    let read = |words: &[&str], text: &str| {
        let words = [words, &["--agent", "human-ada"]].concat();
        env.aof_reading(&words, text.as_bytes()).success()
    };
    let _ = read(&["comment", &ids[0], &ids[1], "-m", "-"], "From *stdin*\n");
    let _ = read(&["approve", &ids[0], &ids[1], "-m", "-"], "Reads well");
    for id in &ids {
        assert!(env.task_text(id).contains("From *stdin*"), "{}", env.task_text(id));
        assert_eq!(shown(&env, id)["gateHistory"][1]["summary"], "Reads well");
    }
    let _ = read(&["hold", &ids[0], "-m", "-"], "The customer\nwants to talk");
    assert!(env.task_text(&ids[0]).contains("wants to talk"));
}

#[test]
fn one_id_counts_for_one_completion() {
    let (env, ids) = at_review(2);
    let refused = as_ada(&env, &["approve", &ids[0], &ids[1], "--id", "once"]).code(4);
    assert!(refused.stderr.contains("`--id`"), "{refused}");
    assert_eq!(shown(&env, &ids[0])["gate"]["current"], "review");
    let _ = as_ada(&env, &["approve", &ids[0], "--id", "once"]).success();
}

#[test]
fn at_a_terminal_each_is_asked_about_until_the_input_ends() {
    let (env, ids) = at_review(3);
    let mut seat = Seat::of(&env, &["approve", &ids[0], &ids[1], &ids[2]]);
    seat.shows("Task 0");
    seat.shows("q leave");
    seat.presses("l");
    seat.shows("left for later");
    seat.shows("Task 1");
    seat.shows("q leave");
    seat.presses("y");
    seat.shows("Summary (Approved): ");
    seat.types("");
    seat.shows("Task 2");
    seat.shows("q leave");
    seat.presses("\x04");
    seat.shows("left for later");
    assert!(seat.ends().0.success());
    let gates: Vec<Value> =
        ids.iter().map(|id| shown(&env, id)["gate"]["current"].clone()).collect();
    assert_eq!(gates, ["review", "ship", "review"]);
}

#[test]
fn short_commands_show_the_state() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    // Each command is a second later.
    let words = |args: &[&str]| {
        let shown = env.aof(args).code(0).stdout;
        shown.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>()
    };
    assert_eq!(words(&[]), words(&["status"]));
    assert_eq!(words(&["gate"]), words(&["gate", "status"]));
    let _ = env.aof(&["start", &id, "--agent", "agent-7"]).code(0);
    let done = env.aof(&["done", &id, "--agent", "agent-7", "-s", "Did it"]).code(0);
    assert!(done.stdout.contains("implement → review"), "{done}");
    let nowhere = env.aof(&["-C", "/nope", "list"]).code(3);
    assert!(nowhere.stderr.contains("cannot enter `/nope`"), "{nowhere}");
}
