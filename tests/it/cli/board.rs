//! `aof board`, in real terminals.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::contract::doors::made;
use crate::support::environment::{TestEnvironment, eventually};
use crate::support::terminal::Seat;

/// Work, and a review; git's user is Ada.
const PROJECT: &str = "\
project: {name: shop}
workflow:
  gates:
    - {id: implement, role: backend}
    - {id: review, role: lead, canReject: true}
";

const PEOPLE: &str = "\
roles:
  backend: {agents: [agent-7, human-ada]}
  lead: {agents: [human-ada]}
agents:
  agent-7: {}
  human-ada: {email: ada@example.org}
";

/// Returns a project with a task at its review, and its id.
fn at_review(title: &str) -> (TestEnvironment, String) {
    let env = TestEnvironment::with_rules(PROJECT, PEOPLE);
    let id = env.new_task(&[title]);
    let _ = env.complete(&id, "agent-7").success();
    (env, id)
}

fn board(env: &TestEnvironment) -> Seat {
    let seat = Seat::of(env, &["board"]);
    seat.screen_has("review");
    seat
}

/// Ends the board by `q`. Returns all that it wrote.
#[track_caller]
fn quits(seat: Seat) -> String {
    seat.presses("q");
    let (status, written) = seat.ends();
    assert!(status.success(), "{status}");
    assert_clean(&written);
    written
}

/// Asserts that the terminal is as it was: no second screen, a cursor, no mouse.
#[track_caller]
fn assert_clean(written: &str) {
    for (on, off) in [("\x1b[?1049h", "\x1b[?1049l"), ("\x1b[?1000h", "\x1b[?1000l")] {
        assert!(written.rfind(on) < written.rfind(off), "{on:?} has the last word");
    }
    assert!(written.rfind("\x1b[?25l") < written.rfind("\x1b[?25h"), "no cursor");
}

fn signal(seat: &Seat, signal: Signal) {
    let pid = Pid::from_child(&seat.child);
    kill_process(pid, signal).unwrap();
}

#[test]
fn a_person_opens_moves_filters_and_approves() {
    let (env, id) = at_review("Add login");
    let other = env.new_task(&["Payments"]);
    let seat = board(&env);
    seat.screen_has("1 waits for you");
    // Two clicks on the second column's first card.
    seat.presses("\x1b[<0;45;5M\x1b[<0;45;5m\x1b[<0;45;5M\x1b[<0;45;5m");
    seat.screen_has("[task]");
    seat.presses("\x1b");
    seat.screen_lacks("[task]");
    seat.presses("/pay");
    seat.screen_lacks("Add login");
    seat.presses("\x1b");
    seat.screen_has("Add login");
    seat.presses("w");
    seat.screen_has("Waiting for you 1");
    seat.presses("\r");
    seat.screen_has("[task]");
    seat.presses("t");
    seat.screen_has("implement → review");
    seat.presses("v");
    seat.screen_has("<- here");
    seat.presses("a");
    seat.screen_has("without one, Approved");
    seat.presses("\r");
    seat.screen_has("approved → done, z takes it back");
    assert!(env.log().contains(&format!("{}: review -> end (complete)", env.plain(&id))));
    let _ = env.aof(&["verify"]).success();
    quits(seat);
    let left = env.aof(&["list"]).success();
    assert!(left.stdout.contains(&env.plain(&other)), "{left}");
}

#[test]
fn a_rejection_has_its_points() {
    let (env, id) = at_review("Add login");
    let seat = board(&env);
    seat.screen_has("1 waits for you");
    seat.presses("r");
    seat.screen_has("to fix:");
    // A paste with newlines sends nothing.
    seat.presses("\x1b[200~no test\nfor 日本\x1b[201~\rno docs\r\r");
    seat.screen_has("> no docs");
    seat.presses("\r");
    seat.screen_has("sent back → implement, z takes it back");
    quits(seat);
    let task = env.task_text(&id);
    assert!(task.contains("no docs"), "{task}");
    assert!(task.contains("for 日本"), "{task}");
}

#[test]
fn a_refusal_is_shown_and_the_form_stays() {
    let (env, id) = at_review("Add login");
    let seat = board(&env);
    seat.screen_has("1 waits for you");
    seat.presses("r");
    seat.screen_has("to fix:");
    seat.presses("\r\r");
    seat.screen_has("refused");
    seat.presses("\x1b");
    seat.screen_has("to fix:");
    seat.presses("\x1b");
    // Escape and a key at once would be another key.
    seat.screen_lacks("to fix:");
    // Somebody else is faster: one transition, and a conflict.
    seat.presses("a");
    seat.screen_has("without one, Approved");
    let before = env.aof(&["approve", &id, "--agent", "human-ada"]).success();
    seat.presses("fine\r");
    seat.screen_has("refused");
    seat.presses("\x1b");
    seat.screen_has("> fine");
    seat.presses("\x1b");
    seat.screen_lacks("> fine");
    quits(seat);
    assert_eq!(env.log().matches("review -> end").count(), 1, "{before}");
}

#[test]
fn changes_of_others_appear_and_sizes_change() {
    let (env, _) = at_review("Add login");
    let seat = board(&env);
    let other = env.new_task(&["From elsewhere"]);
    seat.screen_has("From elsewhere");
    let _ = env.complete(&other, "agent-7").success();
    seat.screen_has("2 wait for you");
    seat.resize(60, 200);
    let wide = || seat.screen(60, 200).screen().contents();
    signal(&seat, Signal::WINCH);
    // The key may come together with the signal.
    seat.presses("\r");
    eventually("it is wide", || {
        wide().lines().next().is_some_and(|head| head.trim_end().len() > 180)
    });
    eventually("the task beside the board", || {
        wide().lines().any(|line| line.contains('▌') && line.contains("[task]"))
    });
    seat.resize(8, 30);
    signal(&seat, Signal::WINCH);
    eventually("it is too small", || {
        seat.screen(8, 30).screen().contents().contains("needs 40 columns")
    });
    quits(seat);
}

#[test]
fn however_it_ends_the_terminal_is_clean() {
    let (env, _) = at_review("Add login");
    for ending in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        let seat = board(&env);
        signal(&seat, ending);
        let (status, written) = seat.ends();
        assert!(status.success(), "{ending:?}: {status}");
        assert_clean(&written);
    }
    let seat = board(&env);
    seat.presses("/x\x03");
    let (status, written) = seat.ends();
    assert!(status.success(), "{status}");
    assert_clean(&written);
}

#[test]
fn a_stopped_board_goes_on() {
    let (env, _) = at_review("Add login");
    let mut seat = board(&env);
    seat.presses("\x1a");
    seat.shows("\x1b[?1049l");
    // It restores the screen before it stops.
    let stopped = waitpid(Some(Pid::from_child(&seat.child)), WaitOptions::UNTRACED).unwrap();
    assert!(stopped.is_some_and(|(_, status)| status.stopped()));
    signal(&seat, Signal::CONT);
    seat.shows("\x1b[?1049h");
    seat.presses("?");
    seat.screen_has("take");
    seat.presses("?");
    quits(seat);
}

#[test]
fn the_editor_opens_in_the_terminal_and_the_board_comes_back() {
    let (env, id) = at_review("Add login");
    env.write("editor", "#!/bin/sh\nsed -i 's/^title: .*/title: Edited/' \"$1\"\n");
    crate::support::environment::executable(&env.path("editor"));
    let editor = env.path("editor");
    let seat = Seat::with(&env, &["board"], |command| {
        command.env("TERM", "xterm").env("EDITOR", &editor).env("VISUAL", &editor);
    });
    seat.screen_has("1 waits for you");
    seat.presses("e");
    seat.screen_has("Edited");
    seat.presses("nA new one\r");
    seat.screen_has(": created");
    quits(seat);
    assert!(env.task_text(&id).contains("title: Edited"));
    assert_eq!(env.log().matches("created at implement").count(), 2);
}

#[test]
fn several_projects_have_a_board_each() {
    let (env, _) = at_review("Add login");
    let (other, _) = at_review("Second shop");
    let path = other.path("");
    let seat = Seat::of(&env, &["board", ".", path.to_str().unwrap()]);
    seat.screen_has("Add login");
    seat.presses("]");
    seat.screen_has("Second shop");
    seat.presses("1");
    seat.screen_has("Add login");
    quits(seat);
}

#[test]
fn a_reader_that_nobody_knows_acts_not() {
    let (env, _) = at_review("Add login");
    env.git(&["config", "user.email", "stranger@example.org"]);
    let seat = board(&env);
    seat.screen_has("read-only");
    seat.presses("a");
    seat.screen_has("the board is read-only");
    quits(seat);
}

#[test]
fn elsewhere_than_at_a_terminal_it_names_the_list() {
    let (env, _) = at_review("Add login");
    let refused = env.aof(&["board"]).code(4);
    assert!(refused.stderr.contains("`aof list`"), "{refused}");
    let refused = env.aof(&["board", "--json"]).code(4);
    assert_eq!(refused.json()["error"], "no_terminal", "{refused}");
}

#[test]
fn a_folder_that_is_put_back_is_shown_again() {
    let (env, _) = at_review("Add login");
    let seat = board(&env);
    seat.screen_has("Add login");
    std::fs::rename(env.path("tasks"), env.path("aside")).unwrap();
    seat.screen_lacks("Add login");
    std::fs::rename(env.path("aside"), env.path("tasks")).unwrap();
    seat.screen_has("Add login");
    quits(seat);
}

/// A key that makes a commit, and the command that makes the same one.
struct ActRow {
    /// The words of the key in the guide.
    word: &'static str,
    /// Commands that bring the task into the state for it; `ID` is the task.
    before: &'static [&'static [&'static str]],
    /// The text that the board shows after the key, and what is typed then; several times for several steps.
    typed: &'static [(&'static str, &'static str)],
    command: &'static [&'static str],
}

const DONE: &[&str] = &["complete", "ID", "--agent", "agent-7", "-o", "complete", "-s", "Did it"];

const ACTS: &[ActRow] = &[
    ActRow {
        word: "approve",
        before: &[DONE],
        typed: &[("Approve → done", "\r")],
        command: &["approve", "ID"],
    },
    ActRow {
        word: "send back",
        before: &[DONE],
        typed: &[("Send back → implement", "no test\r\r\r")],
        command: &["reject", "ID", "-m", "no test"],
    },
    ActRow {
        word: "done",
        before: &[],
        typed: &[("▌ Done → review", "\r"), ("summary", "Did it\r")],
        command: &["done", "ID", "-s", "Did it"],
    },
    ActRow {
        word: "blocked",
        before: &[],
        typed: &[("waits for", "no key\r\r\r")],
        command: &["block", "ID", "-m", "no key"],
    },
    ActRow {
        word: "unblock",
        before: &[&["block", "ID", "--agent", "human-ada", "-m", "no key"]],
        typed: &[("what changed", "It came\r")],
        command: &["unblock", "ID", "-m", "It came"],
    },
    ActRow { word: "take", before: &[], typed: &[], command: &["claim", "ID"] },
    ActRow {
        word: "plan for",
        before: &[],
        typed: &[("names", "agent-7\r")],
        command: &["assign", "ID", "agent-7"],
    },
    ActRow {
        word: "comment",
        before: &[],
        typed: &[("comment:", "A word\r")],
        command: &["comment", "ID", "-m", "A word"],
    },
    ActRow { word: "edit", before: &[], typed: &[], command: &["edit", "ID", "--title", "Edited"] },
    ActRow {
        word: "new",
        before: &[],
        typed: &[("title:", "Edited\r")],
        command: &["new", "Edited"],
    },
];

/// Returns the keys of the guide, each with its words.
fn guide() -> Vec<(String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guides/board.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    cells.map(|row| (row[1].trim_matches('`').to_owned(), row[2].to_owned())).collect()
}

#[test]
fn each_key_that_acts_makes_the_commit_of_its_command() {
    let guide = guide();
    let prepared = |row: &ActRow| {
        let env = TestEnvironment::with_rules(PROJECT, PEOPLE);
        env.write("editor", "#!/bin/sh\nsed -i 's/^title: .*/title: Edited/' \"$1\"\n");
        crate::support::environment::executable(&env.path("editor"));
        let id = env.new_task(&["Add login"]);
        for words in row.before {
            let _ = env.aof(&for_task(words, &id)).success();
        }
        (env, id)
    };
    for row in ACTS {
        let (env, id) = prepared(row);
        let words = [&for_task(row.command, &id)[..], &["--agent", "human-ada"]].concat();
        let _ = env.aof(&words).success();
        // The command was given the name that the board finds by git's user.
        let wanted = made(&env).replace("Aof-Named: human-ada\n", "");
        let (env, _) = prepared(row);
        let before = env.head();
        let editor = env.path("editor");
        let seat = Seat::with(&env, &["board"], |command| {
            command.env("TERM", "xterm").env("EDITOR", &editor).env("VISUAL", &editor);
        });
        seat.screen_has("Add login");
        let key = guide.iter().find(|(_, word)| word == row.word);
        seat.presses(&key.expect("the guide has it").0);
        for (shown, typed) in row.typed {
            seat.screen_has(shown);
            seat.presses(typed);
        }
        eventually(row.word, || env.head() != before);
        assert_eq!(made(&env), wanted, "{}", row.word);
        // A form takes `q` as a letter, and an editor has the terminal for a while.
        seat.screen_lacks("ctrl-s");
        match row.word {
            "new" => seat.screen_has(": created"),
            "edit" => seat.screen_has("Edited"),
            _ => {}
        }
        if ["approve", "take"].contains(&row.word) {
            seat.screen_has("z takes it back");
            let acted = env.head();
            seat.presses("z");
            eventually("it is taken back", || env.head() != acted);
            seat.screen_has("taken back");
        }
        quits(seat);
        let _ = env.aof(&["verify"]).success();
    }
}

fn for_task<'w>(words: &[&'w str], id: &'w str) -> Vec<&'w str> {
    words.iter().map(|word| if *word == "ID" { id } else { word }).collect()
}

#[test]
fn several_decisions_are_approved_at_once() {
    let (env, _) = at_review("Add login");
    let other = env.new_task(&["Payments"]);
    let _ = env.complete(&other, "agent-7").success();
    let seat = board(&env);
    seat.screen_has("2 wait for you");
    seat.presses("w");
    seat.screen_has("Waiting for you 2");
    seat.presses("Ja");
    seat.screen_has("Approve 2");
    seat.presses("\r");
    seat.screen_has("nothing waits for you");
    quits(seat);
    assert_eq!(env.log().matches("review -> end (complete)").count(), 2);
}
