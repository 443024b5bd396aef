//! Runners at a terminal: the live view, and people who are asked.

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::scripted_agents::{history, project_of, send, shown, stand};
use crate::support::signer::{has_ssh_keygen, ssh_key};
use crate::support::terminal::Seat;

fn environment() -> TestEnvironment {
    let rules = "\
workflow:
  gates:
    - {id: work, role: worker}
    - {id: approve, role: lead, requireHuman: true, canReject: true}
";
    let script = "\
echo thinking
echo 'fn login() {}' > login.rs
echo '{\"outcome\": \"complete\", \"summary\": \"Did it\"}' > \"$AOF_OUTPUT\"
";
    let env = project_of(rules, &[("coder", "worker", "", script), ("human-ada", "lead", "", "")]);
    env.edit("org.yaml", "human-ada: {maxTasks: 5}", "human-ada: {email: ada@example.org}");
    env.commit_all("people");
    env
}

#[test]
fn a_person_is_asked_and_the_answer_counts() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let mut seat = Seat::of(&env, &["run", "--task", &id]);
    seat.shows("1/2: work");
    seat.shows("work → approve");
    seat.shows("a approve → ");
    seat.presses("x?");
    seat.shows("stand for approve, send back, skip");
    seat.presses("d");
    seat.shows("the commit before the task was made:");
    seat.shows("new files that git does not know yet");
    seat.shows("  login.rs");
    seat.presses("n");
    seat.shows("\n- ");
    seat.types("");
    seat.shows("it needs at least one");
    seat.types("login.rs has no tests");
    seat.shows("\n- ");
    seat.types("");
    seat.shows("Summary (login.rs has no tests):");
    seat.types("");
    seat.shows("sent back to work");
    seat.shows("q leave");
    seat.presses("y");
    seat.shows("Summary (Approved):");
    seat.types("Fine now");
    let (status, screen) = seat.ends();
    assert_eq!(status.code(), Some(0), "{screen}");
    assert!(screen.contains(", 4 visits"), "{screen}");
    assert_snapshot!(history(&env, &id), @"
    work coder complete [file] Did it
    approve human-ada needs_review [-] login.rs has no tests
    work coder complete [file] Did it
    approve human-ada complete [-] Fine now
    ");
    let _ = std::fs::remove_file(env.path("login.rs"));
    check(&env);
}

#[test]
fn an_approval_is_signed_if_the_person_has_a_key() {
    if !has_ssh_keygen() {
        return;
    }
    let env = environment();
    let (_, public) = ssh_key(&env, "ada", &["-t", "ed25519"]);
    let signs = format!("{{email: ada@example.org, signingKey: {public}}}");
    env.edit("org.yaml", "human-ada: {email: ada@example.org}", &format!("human-ada: {signs}"));
    env.commit_all("ada signs");
    let id = env.new_task(&["Add login"]);
    let mut seat = Seat::of(&env, &["run", "--task", &id]);
    seat.shows("q leave");
    seat.presses("y");
    seat.shows("Summary (Approved):");
    seat.types("Fine");
    // What cannot be signed is asked again, and what was said is kept.
    seat.shows("could not be signed");
    seat.shows("--sign-with");
    env.git(&["config", "user.signingKey", "~/ada"]);
    seat.shows("q leave");
    seat.presses("y");
    seat.shows("Summary (Fine):");
    seat.types("");
    let (status, screen) = seat.ends();
    assert_eq!(status.code(), Some(0), "{screen}");
    assert!(
        history(&env, &id).trim_end().ends_with("approve human-ada complete [-] Fine"),
        "{}",
        history(&env, &id)
    );
    let _ = std::fs::remove_file(env.path("login.rs"));
    check(&env);
}

#[test]
fn answering_later_leaves_the_task_waiting() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let mut seat = Seat::of(&env, &["run", "--task", &id]);
    seat.shows("q leave");
    seat.presses("l");
    let (status, screen) = seat.ends();
    assert_eq!(status.code(), Some(7), "{screen}");
    assert_eq!(stand(&env, &id), "ready approve -");
    let (status, screen) = Seat::of(&env, &["run", "--task", &id, "--no-ask"]).ends();
    assert_eq!(status.code(), Some(7), "{screen}");
    assert!(!screen.contains("q leave"), "{screen}");
}

#[test]
fn a_runner_can_be_stopped_while_it_asks() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let mut seat = Seat::of(&env, &["run", "--task", &id]);
    seat.shows("q leave");
    send("INT", &seat.child);
    let (status, screen) = seat.ends();
    assert_eq!(status.code(), Some(130), "{screen}");
    assert_eq!(stand(&env, &id), "ready approve -");
}

#[test]
fn a_terminal_without_a_cursor_gets_lines() {
    let env = environment();
    for term in [Some("dumb"), None] {
        let id = env.new_task(&["Add login"]);
        let mut seat = Seat::with(&env, &["run", "--task", &id], |command| {
            command.env_remove("TERM").envs(term.map(|term| ("TERM", term)));
        });
        seat.shows("Step 1/2: work: coder at ");
        seat.shows("work → approve");
        seat.shows("q leave");
        seat.presses("y");
        seat.shows("Summary (Approved):");
        seat.types("");
        seat.shows("approve → done");
        let (status, screen) = seat.ends();
        assert_eq!(status.code(), Some(0), "{screen}");
    }
}

/// Returns a project where somebody who approves has to say which kind of release it is.
fn environment_with_outputs() -> TestEnvironment {
    let rules = "\
workflow:
  gates:
    - id: approve
      role: lead
      requireHuman: true
      outputs: {properties: {release: {enum: [major, minor]}, note: {type: string}}, required: [release]}
";
    let env = project_of(rules, &[("human-ada", "lead", "", "")]);
    env.edit("org.yaml", "human-ada: {maxTasks: 5}", "human-ada: {email: ada@example.org}");
    env.commit_all("people");
    env
}

#[test]
fn the_gate_s_demands_are_asked_for_and_a_refusal_asks_again() {
    let env = environment_with_outputs();
    let id = env.new_task(&["Add login"]);
    let mut seat = Seat::of(&env, &["run", "--task", &id]);
    seat.shows("q leave");
    seat.presses("y");
    seat.shows("release (one of ");
    seat.types("");
    seat.shows("the gate needs it");
    seat.types("huge");
    seat.shows("Summary (Approved):");
    seat.types("Goes out");
    seat.shows("refused:");
    seat.shows("hint:");
    seat.shows("q leave");
    seat.presses("y");
    seat.shows("an empty line keeps \"huge\"");
    seat.types("minor");
    seat.shows("Summary (Goes out):");
    seat.types("");
    seat.shows("approve → ");
    let (status, screen) = seat.ends();
    assert_eq!(status.code(), Some(0), "{screen}");
    assert_snapshot!(history(&env, &id), @"approve human-ada complete [-] Goes out");
    assert_eq!(shown(&env, &id)["context"]["approve"]["release"], "minor");
    check(&env);
}

#[test]
fn a_refused_answer_can_be_left_for_later() {
    let env = environment_with_outputs();
    let id = env.new_task(&["Add login"]);
    let mut seat = Seat::of(&env, &["run", "--task", &id]);
    seat.shows("q leave");
    seat.presses("y");
    seat.shows("release (one of ");
    seat.types("q");
    seat.shows("q leave");
    seat.presses("l");
    let (status, screen) = seat.ends();
    assert_eq!(status.code(), Some(7), "{screen}");
    let mut seat = Seat::of(&env, &["run", "--task", &id]);
    seat.shows("q leave");
    seat.presses("b");
    seat.shows("\n- ");
    seat.types("No date");
    seat.shows("\n- ");
    seat.types("q");
    seat.shows("q leave");
    seat.presses("q");
    let (status, screen) = seat.ends();
    assert_eq!(status.code(), Some(7), "{screen}");
    assert_eq!(stand(&env, &id), "ready approve -");
}

#[test]
fn an_answer_that_comes_too_late_ends_no_run() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let mut seat = Seat::of(&env, &["run", "--task", &id]);
    seat.shows("q leave");
    seat.presses("y");
    seat.shows("Summary (Approved):");
    let words = ["--outcome", "complete", "--summary", "Fine", "--agent", "human-ada"];
    let _ = env.aof(&[&["task", "complete", &id][..], &words].concat()).success();
    seat.types("");
    seat.shows("what was said came too late");
    let (status, screen) = seat.ends();
    assert_eq!(status.code(), Some(0), "{screen}");
    assert!(history(&env, &id).contains("approve human-ada complete [-] Fine\n"));
    check(&env);
}

#[test]
fn an_answer_is_kept_while_the_task_is_frozen() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let mut seat = Seat::of(&env, &["run", "--task", &id]);
    seat.shows("q leave");
    let path = format!("tasks/{id}.md");
    let text = env.read(&path);
    env.write(&path, text.replace("summary: Did it", "summary: Did that"));
    seat.presses("y");
    seat.shows("Summary (Approved):");
    seat.types("Fine");
    seat.shows("it is tried again");
    env.write(&path, text);
    seat.shows("approve → ");
    let (status, screen) = seat.ends();
    assert_eq!(status.code(), Some(0), "{screen}");
    let _ = std::fs::remove_file(env.path("login.rs"));
    check(&env);
}

#[test]
fn a_key_that_is_no_text_changes_nothing() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let mut seat = Seat::of(&env, &["run", "--task", &id]);
    seat.shows("q leave");
    seat.types_bytes(b"\xff");
    seat.presses("y");
    seat.shows("Summary (Approved):");
    seat.types("");
    let (status, screen) = seat.ends();
    assert_eq!(status.code(), Some(0), "{screen}");
}

#[test]
fn the_diff_begins_with_the_task_and_steers_no_terminal() {
    let env = environment();
    env.write("notes.md", "before the task\n");
    env.commit_all("notes");
    let id = env.new_task(&["Add login"]);
    env.write("agents/evil.md", "\u{1b}]0;owned\u{7}\n");
    env.commit_all("work");
    let mut seat = Seat::of(&env, &["run", "--task", &id]);
    seat.shows("q leave");
    seat.presses("d");
    seat.shows("+\\u{1b}]0;owned\\u{7}");
    seat.shows("q leave");
    seat.presses("l");
    let (status, screen) = seat.ends();
    assert_eq!(status.code(), Some(7), "{screen}");
    assert!(!screen.contains("before the task\r\n") && !screen.contains("notes.md"), "{screen}");
    assert!(!screen.contains("\u{1b}]0;"), "{screen}");
}

#[test]
fn a_person_sees_the_message_of_the_gate() {
    let env = environment();
    env.edit(
        "project.yaml",
        "role: lead, requireHuman",
        "role: lead, brief: {instructions: \"Is {{task}} safe to ship?\"}, requireHuman",
    );
    env.commit_all("message");
    let id = env.new_task(&["Add login", "--context", "task=the login"]);
    let mut seat = Seat::of(&env, &["run", "--task", &id]);
    seat.shows("Is the login safe to ship?");
    seat.shows("q leave");
    seat.presses("l");
    let _ = seat.ends();
}
