use proptest::prelude::*;

use super::*;
use crate::agents::runner::report::{Exit, RunOutput};
use crate::agents::runner::report_formats::{
    all_text, claude, codex, gemini, one_object, opencode,
};
use crate::domain::workflow::gate::Mark;
use crate::domain::{AgentId, Map, Outcome, Outputs, Signal, Ticket};
use crate::files::config::shape_file;
use crate::files::yaml;

/// A gate as the tests need it.
struct Gate {
    ticket: Ticket,
    agent: AgentId,
    possible: Vec<Outcome>,
    back: Vec<Outcome>,
    default: Option<Outcome>,
    signal: Option<Signal>,
    outputs: Outputs,
    exit: Vec<(u8, Outcome)>,
}

impl Gate {
    fn of(words: &[&str]) -> Self {
        Self {
            ticket: "AOF-abc@3".parse().unwrap(),
            agent: "agent-7".parse().unwrap(),
            possible: words.iter().map(|word| word.parse().unwrap()).collect(),
            back: Vec::new(),
            default: None,
            signal: None,
            outputs: Outputs::Open,
            exit: Vec::new(),
        }
    }

    fn review() -> Self {
        Self::of(&["complete", "needs_review", "blocked"])
    }

    fn tagged() -> Self {
        let mark = Mark::Tag { tag: "gate".to_owned(), pass: None, fail: None };
        Self { signal: Some(Signal { mark, missing: None, words: Vec::new() }), ..Self::review() }
    }

    fn exits(mut self, exits: &[(u8, &str)]) -> Self {
        self.exit = exits.iter().map(|(status, word)| (*status, word.parse().unwrap())).collect();
        self
    }

    fn asked(&self) -> RunQuestion<'_> {
        RunQuestion {
            ticket: &self.ticket,
            agent: &self.agent,
            possible: self.possible.clone(),
            back: self.back.clone(),
            default: self.default.as_ref(),
            signal: self.signal.as_ref(),
            outputs: &self.outputs,
            exit: &self.exit,
            program: "the-agent -p".to_owned(),
            prompt:
                "Work.\n```json\n{\"outcome\": \"complete\", \"summary\": \"an example\"}\n```\n"
                    .to_owned(),
        }
    }

    /// Returns the verdict of a run that prints text.
    fn hears(&self, text: &str, file: Option<&str>, exit: Exit) -> Result<RunAnswer, Trouble> {
        let printed = RunOutput { stdout: text.as_bytes(), stderr: b"", exit };
        verdict(&self.asked(), &all_text(&printed), &printed, file.map(str::as_bytes))
    }
}

/// Returns a verdict in short: `complete (OutputFile)`, or the beginning of the fault.
fn short(verdict: &Result<RunAnswer, Trouble>) -> String {
    match verdict {
        Ok(verdict) => {
            format!(
                "{} ({:?})",
                verdict.outcome.as_ref().map_or("-", Outcome::as_str),
                verdict.source
            )
        }
        Err(Trouble { kind: TroubleKind::BadAnswer, why, .. }) => format!("bad: {why}"),
        Err(trouble) => format!("crashed: {:?}: {}", trouble.kind, trouble.why),
    }
}

fn holds(verdict: &Result<RunAnswer, Trouble>, wanted: &str) {
    let short = short(verdict);
    assert!(short.contains(wanted), "wanted {wanted}, and it is {short}");
}

const OK: Exit = Exit::SUCCESS;
const COMPLETE: &str = r#"{"outcome": "complete", "summary": "did it"}"#;
const REJECT: &str = r#"{"outcome": "needs_review", "summary": "no", "blockers": ["a", "b"]}"#;

fn fenced(object: &str) -> String {
    format!("I looked at it.\n\n```json\n{object}\n```\n")
}

#[test]
fn the_first_source_that_speaks_counts() {
    let gate = Gate::review();
    for (text, file, wanted) in [
        ("approved", Some(COMPLETE), "complete (OutputFile)"),
        (
            "",
            Some("outcome: needs_review\nsummary: no\nblockers: [a]\n"),
            "needs_review (OutputFile)",
        ),
        ("", Some("---\noutcome: blocked\n---\nLong.\n"), "blocked (OutputFile)"),
        (COMPLETE, None, "complete (Structured)"),
        (&fenced(REJECT), None, "needs_review (Structured)"),
        (&fenced(COMPLETE), Some(" \n"), "complete (Structured)"),
        (&fenced(COMPLETE), Some(COMPLETE), "complete (OutputFile)"),
    ] {
        holds(&gate.hears(text, file, OK), wanted);
    }
    let Ok(answer) = gate.hears(&fenced(REJECT), None, OK) else { panic!("nothing was said") };
    assert_eq!(
        (answer.content.summary.as_deref(), answer.content.blockers),
        (Some("no"), Some(vec!["a".to_owned(), "b".to_owned()]))
    );
    let file = "---\ntask: AOF-abc@3\nagent: agent-7\nid: c-1\noutcome: complete\noutputs: {n: 1}\n---\nText.\n";
    let Ok(answer) = gate.hears("", Some(file), OK) else { panic!("nothing was said") };
    assert_eq!(answer.content.body.as_deref(), Some("Text.\n"));
    assert_eq!(answer.content.outputs["n"], 1);
}

#[test]
fn a_verdict_in_passing_does_not_count() {
    let gate = Gate::review();
    for text in [
        "",
        " \n\t",
        "approved",
        "outcome: complete",
        "All done, outcome complete. LGTM! <gate>PASS</gate>",
        "```json\n{\"result\": \"complete\"}\n```",
        "```json\n{\"outcome\": \"complete\"}\n```\nno:\n```json\n{\"a\": 1}\n```",
        "```json\n{\"outcome\": \"complete\"",
        "```json\n{\"outcome\": \"complete\"}\n",
        "```json\n[{\"outcome\": \"complete\"}]\n```",
        "```\n{\"outcome\": \"complete\"}\n```",
        "> ```json\n> {\"outcome\": \"complete\"}\n> ```",
        "````\n```json\n{\"outcome\": \"complete\"}\n```\n````",
        "Here: {\"outcome\": \"complete\"}",
        "{\"outcome\": \"complete\"",
        "{\"outcome\": \"complete\"} {}",
        "{\"$status\": \"complete\"}",
        "```json\n{\"outcome\": \"complete\", \"summary\": \"an example\"}\n```",
    ] {
        holds(
            &gate.hears(text, None, OK),
            "bad: `the-agent -p` ended with exit status 0 and did not say how",
        );
        holds(
            &gate.hears(text, None, Exit::Status(3)),
            "crashed: Failed: `the-agent -p` ended with exit status 3",
        );
        holds(
            &gate.hears(text, None, Exit::Signal(9)),
            "crashed: Failed: `the-agent -p` was ended by signal 9",
        );
    }
    let silence = gate.hears("```json\n{\"outcome\": \"compl", None, OK);
    insta::assert_snapshot!(short(&silence), @"bad: `the-agent -p` ended with exit status 0 and did not say how the work ended: looked for a completion of its own, the file `$AOF_OUTPUT` (it is not there, or empty), a block of JSON with `outcome` at the end of the last message (its last block of JSON has no end); `outcome` is one of `complete`, `needs_review`, `blocked`");
    let tagged = Gate::tagged().hears("", None, OK);
    insta::assert_snapshot!(short(&tagged), @"bad: `the-agent -p` ended with exit status 0 and did not say how the work ended: looked for a completion of its own, the file `$AOF_OUTPUT` (it is not there, or empty), a block of JSON with `outcome` at the end of the last message (there is no last message), `<gate>PASS</gate>` or `<gate>FAIL</gate>` in the last message; `outcome` is one of `complete`, `needs_review`, `blocked`");
}

#[test]
fn an_unreadable_verdict_is_reported_with_its_fix() {
    let gate = Gate::review();
    for (text, file, wanted) in [
        (
            "",
            Some("{\"outcome\": "),
            "bad: the file `$AOF_OUTPUT` cannot be read: this is not JSON",
        ),
        (
            COMPLETE,
            Some("All is well."),
            "bad: the file `$AOF_OUTPUT` cannot be read: a completion is a mapping",
        ),
        ("", Some("outcom: complete"), "(did you mean `outcome`?)"),
        (
            "",
            Some("summary: done"),
            "has no `outcome` that is a text; it is one of `complete`, `needs_review`, `blocked`",
        ),
        (
            "",
            Some("outcome: Complete"),
            "has the outcome `Complete`, which is none here; there are `complete`,",
        ),
        ("", Some("outcome: skip"), "which is none here"),
        (
            "",
            Some("task: AOF-xyz\noutcome: complete"),
            "is about `AOF-xyz`, and the work is `AOF-abc@3`",
        ),
        (
            "",
            Some("task: AOF-abc@2\noutcome: complete"),
            "is about `AOF-abc@2`, and the work is `AOF-abc@3`",
        ),
        (
            "",
            Some("task: AOF-abc@3/security\noutcome: complete"),
            "is about `AOF-abc@3/security`, and",
        ),
        ("", Some("task: AOF-abc\noutcome: complete"), "complete (OutputFile)"),
        (
            "",
            Some("agent: agent-8\noutcome: complete"),
            "is signed by `agent-8`, and the work is `agent-7`'s",
        ),
        (
            "",
            Some("outcome: complete\n$status: blocked"),
            "one outcome in `outcome` and another in `$status`",
        ),
        (
            &fenced("{\"outcome\": [\"complete\"]}"),
            None,
            "the JSON object that was printed cannot be read: `outcome` is a text",
        ),
        (
            &fenced("{\"outcome\": null}"),
            None,
            "the JSON object that was printed has no `outcome` that is a text",
        ),
        (
            &fenced("{\"outcome\": \"complete\", \"outcome\": \"blocked\"}"),
            None,
            "cannot be read: the key `outcome`",
        ),
    ] {
        holds(&gate.hears(text, file, OK), wanted);
    }
    holds(
        &gate.hears("", Some("{\"outc"), Exit::Signal(15)),
        "was ended by signal 15; the file `$AOF_OUTPUT` cannot be",
    );
    let odd = RunOutput { stdout: b"", stderr: b"", exit: OK };
    holds(
        &verdict(&gate.asked(), &Report::default(), &odd, Some(b"\xff")),
        "this is not UTF-8 text",
    );
}

#[test]
fn contradictions_are_no_pass() {
    let gate = Gate::review();
    for (text, file, exit, wanted) in [
        (
            fenced(REJECT),
            Some(COMPLETE),
            OK,
            "bad: the file `$AOF_OUTPUT` says `complete`, and the JSON object that was printed says `needs_review`",
        ),
        (
            fenced(COMPLETE),
            Some(REJECT),
            OK,
            "bad: the file `$AOF_OUTPUT` says `needs_review`, and the JSON object",
        ),
        (
            String::new(),
            Some(COMPLETE),
            Exit::Status(2),
            "bad: the file `$AOF_OUTPUT` says `complete`, and `the-agent -p` ended with exit status 2; a pass counts",
        ),
        (
            fenced(COMPLETE),
            None,
            Exit::Signal(9),
            "bad: the JSON object that was printed says `complete`, and `the-agent -p` was ended by signal 9",
        ),
        (fenced(REJECT), None, Exit::Status(2), "needs_review (Structured)"),
        (fenced("{\"outcome\": \"blocked\"}"), None, Exit::Signal(9), "blocked (Structured)"),
    ] {
        holds(&gate.hears(&text, file, exit), wanted);
    }
    let gate = Gate::review().exits(&[(0, "complete"), (1, "needs_review"), (3, "complete")]);
    for (file, exit, wanted) in [
        (COMPLETE, 0, "complete (OutputFile)"),
        (COMPLETE, 3, "complete (OutputFile)"),
        (
            COMPLETE,
            1,
            "bad: the file `$AOF_OUTPUT` says `complete`, and `the-agent -p` ended with exit status 1, which means `needs_review` here",
        ),
        (
            COMPLETE,
            2,
            "bad: the file `$AOF_OUTPUT` says `complete`, and `the-agent -p` ended with exit status 2;",
        ),
        (REJECT, 0, "needs_review (OutputFile)"),
    ] {
        holds(&gate.hears("", Some(file), Exit::Status(exit)), wanted);
    }
}

#[test]
fn a_pass_beside_an_error_is_none() {
    let gate = Gate::review().exits(&[(0, "complete"), (1, "needs_review")]);
    let login =
        r#"{"type":"result","subtype":"success","is_error":true,"result":"Please run /login"}"#;
    let printed = RunOutput { stdout: login.as_bytes(), stderr: b"", exit: Exit::Status(1) };
    let hears = |file: Option<&str>| {
        verdict(&gate.asked(), &claude(&printed), &printed, file.map(str::as_bytes))
    };
    holds(&hears(None), "crashed: Unavailable: `claude` reports an error: Please run /login");
    holds(
        &hears(Some(COMPLETE)),
        "bad: the file `$AOF_OUTPUT` says `complete`, and `claude` reports an error",
    );
    holds(&hears(Some(REJECT)), "needs_review (OutputFile)");
    holds(
        &hears(Some("{")),
        "crashed: Unavailable: `claude` reports an error: Please run /login; the file",
    );
    let good = RunOutput { exit: OK, ..printed };
    holds(&verdict(&gate.asked(), &claude(&good), &good, None), "crashed: Unavailable");
}

#[test]
fn an_exit_status_means_what_the_gate_maps_it_to() {
    let gate = Gate::review().exits(&[(0, "complete"), (1, "needs_review"), (2, "blocked")]);
    let hears = |stdout: &str, stderr: &str, exit| {
        let printed = RunOutput { stdout: stdout.as_bytes(), stderr: stderr.as_bytes(), exit };
        verdict(&gate.asked(), &all_text(&printed), &printed, None)
    };
    let Ok(answer) = hears("ok", "", OK) else { panic!("nothing was said") };
    assert_eq!((answer.outcome, answer.content.blockers), (Some(Outcome::Complete), None));
    assert_eq!(answer.content.summary.as_deref(), Some("`the-agent -p` ended with exit status 0"));

    let many: Vec<String> =
        (0..1000).map(|line| format!("\u{1b}[31mline {line}\u{1b}[0m\r\n")).collect();
    let Ok(answer) = hears(&many.concat(), "error: one\nerror: two\n", Exit::Status(1)) else {
        panic!("nothing was said")
    };
    let blockers = answer.content.blockers.unwrap();
    assert_eq!((answer.outcome, blockers.len()), (Some(Outcome::NeedsReview), 1));
    assert!(
        blockers[0].starts_with("line 982\n")
            && blockers[0].ends_with("line 999\nerror: one\nerror: two"),
        "{}",
        blockers[0]
    );
    assert_eq!(blockers[0].lines().count(), 20);

    let Ok(answer) = hears("", "", Exit::Status(2)) else { panic!("nothing was said") };
    assert_eq!(answer.content.blockers.unwrap(), ["`the-agent -p` ended with exit status 2"]);
    let Ok(answer) = hears(&"ö".repeat(100_000), "", Exit::Status(1)) else {
        panic!("nothing was said")
    };
    assert!(answer.content.blockers.unwrap()[0].len() <= 4096);
    holds(
        &hears("", "oh no\n", Exit::Status(5)),
        "exit status 5; the last thing it printed: oh no",
    );
}

#[test]
fn a_signal_is_left_to_the_engine() {
    let gate = Gate::tagged();
    let Ok(answer) = gate.hears("It is good.\n<gate>PASS</gate>\n", None, OK) else {
        panic!("nothing was said")
    };
    assert_eq!((answer.outcome, answer.source), (None, AnswerSource::Signal));
    assert_eq!(answer.content.body.as_deref(), Some("It is good.\n<gate>PASS</gate>\n"));
    for (text, file, exit, wanted) in [
        ("No mark.", None, OK, "- (Signal)"),
        ("<gate>FAIL</gate>", None, Exit::Status(1), "- (Signal)"),
        (
            "<gate>PASS</gate>",
            None,
            Exit::Status(1),
            "bad: the last message says `complete`, and `the-agent -p` ended",
        ),
        ("No mark.", None, Exit::Status(1), "crashed: Failed"),
        ("<gate>PASS</gate>", Some(COMPLETE), OK, "complete (OutputFile)"),
        ("No mark.", Some(COMPLETE), OK, "complete (OutputFile)"),
        (
            "<gate>FAIL</gate>",
            Some(COMPLETE),
            OK,
            "bad: the file `$AOF_OUTPUT` says `complete`, and the last message says `needs_review`",
        ),
        ("<gate>PASS</gate>", Some(REJECT), OK, "bad: the file"),
        ("<gate>PASS</gate>", Some("outcome: blocked"), OK, "blocked (OutputFile)"),
    ] {
        holds(&gate.hears(text, file, exit), wanted);
    }
    let both = Gate::tagged().exits(&[(0, "complete"), (1, "needs_review")]);
    holds(&both.hears("No mark.", None, OK), "- (Signal)");
    holds(&both.hears("No mark.", None, Exit::Status(1)), "needs_review (ExitStatus)");
    holds(
        &both.hears("<gate>PASS</gate>", None, Exit::Status(1)),
        "which means `needs_review` here",
    );
    holds(&both.hears("", None, OK), "bad: ");
}

#[test]
fn a_text_that_is_cut_is_read_as_the_whole() {
    let gate = Gate::tagged();
    let long = format!("{}\n<gate>PASS</gate>\n", "x\n".repeat(100_000));
    let Ok(answer) = gate.hears(&long, None, OK) else { panic!("nothing was said") };
    let body = answer.content.body.unwrap();
    assert!(
        body.len() <= 60 * 1024 && body.starts_with("x\n") && body.ends_with("<gate>PASS</gate>\n")
    );
    // The content of a block whose beginning is cut off was a quote, and must not count now.
    let quoted = format!("```\n{}<gate>PASS</gate>\n```\n", "x\n".repeat(100_000));
    holds(
        &gate.hears(&quoted, None, OK),
        "bad: the last message is 195 KiB long, and its last 60 KiB read otherwise",
    );
    let early = format!("<gate>PASS</gate>\n{}", "x\n".repeat(100_000));
    holds(
        &gate.hears(&early, None, OK),
        "be brief, and end it with `<gate>PASS</gate>` or `<gate>FAIL</gate>`",
    );
}

#[test]
fn decisions_and_variants_are_answers_too() {
    let mut gate = Gate::of(&["approved", "rejected", "blocked"]);
    gate.back = vec!["rejected".parse().unwrap()];
    holds(&gate.hears("", Some("outcome: Approved"), OK), "approved (OutputFile)");
    holds(&gate.hears("", Some("outcome: approved"), Exit::Status(1)), "bad: ");
    holds(&gate.hears("", Some("outcome: rejected"), Exit::Status(1)), "rejected (OutputFile)");
    holds(&gate.hears("{\"$status\": \"approved\"}", None, OK), "bad: ");
    let declared = serde_json::json!({"oneOf": [
        {"properties": {"$status": {"const": "approved"}, "branch": {"type": "string"}}, "required": ["$status", "branch"]},
        {"properties": {"$status": {"const": "rejected"}}, "required": ["$status"]},
    ]});
    let declared = declared.to_string();
    let node = yaml::parse(&declared, &yaml::ParseLimits::default()).unwrap();
    gate.outputs = shape_file::read(&node, &crate::files::config::decode::Faults::default());
    let status = "{\"$status\": \"approved\", \"branch\": \"x\"}";
    let Ok(done) = gate.hears(&fenced(status), None, OK) else { panic!("nothing was said") };
    assert_eq!(
        (done.outcome.unwrap().as_str(), done.content.fields.unwrap().fields["branch"].as_str()),
        ("approved", Some("x"))
    );
    let mut plain = Gate::of(&["complete", "blocked"]);
    plain.default = Some(Outcome::Complete);
    holds(&plain.hears("", Some("summary: did it"), OK), "complete (OutputFile)");
    holds(&plain.hears("", Some("---\n$status: _\n---\nText."), OK), "complete (OutputFile)");
    holds(&plain.hears("", Some("summary: did it"), Exit::Status(1)), "bad: ");
    holds(&plain.hears("did it", None, OK), "bad: ");
}

#[test]
fn a_verdict_handed_over_by_a_tool_counts() {
    let gate = Gate::review();
    let out = r#"{"type":"result","subtype":"success","result":"approved","structured_output":{"outcome":"needs_review","blockers":["x"]}}"#;
    let printed = RunOutput { stdout: out.as_bytes(), stderr: b"", exit: OK };
    holds(&verdict(&gate.asked(), &claude(&printed), &printed, None), "needs_review (Structured)");
    let out = br#"{"status": "complete"}"#;
    let printed = RunOutput { stdout: out, stderr: b"", exit: OK };
    let heard = verdict(&gate.asked(), &one_object(&printed), &printed, None);
    holds(&heard, "(the JSON object that was printed has no `outcome`)");
}

/// Texts that are nearly answers: pieces of the declared forms, never one of them whole.
fn free_text() -> impl Strategy<Value = String> {
    let known = [
        "approved LGTM PASS ",
        "outcome: complete\n",
        "\"outcome\": \"complete\"",
        "{",
        "}",
        "\n",
        "```\n",
        "```json",
        "~~~json ",
        "> ",
        "<gate>PASS</gate>\n",
        "---\n",
        "{\"outcome\": \"complete\"} ",
        "\u{1b}[0m\0",
    ];
    let piece = prop_oneof![4 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,8}"];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_without_a_declared_form_passes(text in free_text(), status in any::<u8>()) {
        // The one form that a text can have here by chance: a closed block, or nothing but an object.
        prop_assume!(!text.contains("json\n") && serde_json::from_str::<Map>(text.trim()).is_err());
        let printed = RunOutput { stdout: text.as_bytes(), stderr: text.as_bytes(), exit: Exit::Status(status) };
        for read in [all_text, claude, codex, gemini, opencode, one_object] {
            let heard = verdict(&Gate::review().asked(), &read(&printed), &printed, None);
            prop_assert!(heard.is_err(), "{}", short(&heard));
        }
    }

    #[test]
    fn no_input_ends_it_and_no_pass_comes_from_a_bad_end(
        out in proptest::collection::vec(any::<u8>(), 0..200),
        text in free_text(),
        file in proptest::option::of(free_text()),
        status in 1u8..,
    ) {
        let out = [text.as_bytes(), &out].concat();
        let printed = RunOutput { stdout: &out, stderr: &out, exit: Exit::Status(status) };
        for gate in [Gate::review(), Gate::tagged(), Gate::review().exits(&[(0, "complete"), (1, "needs_review")])] {
            for read in [all_text, claude, codex, gemini, opencode, one_object] {
                let heard = verdict(&gate.asked(), &read(&printed), &printed, file.as_deref().map(str::as_bytes));
                if let Ok(answer) = &heard {
                    prop_assert!(answer.outcome != Some(Outcome::Complete), "{}", short(&heard));
                }
            }
        }
    }
}

#[test]
fn much_text_is_judged_at_once() {
    let gate = Gate::tagged();
    for unit in ["```json\n", "```\n{\"outcome\": 1}\n", "{\"outcome\":", "<gate>", "`", "x"] {
        let much = unit.repeat(512 * 1024 / unit.len());
        assert!(gate.hears(&much, Some(&much), OK).is_err(), "{unit}");
        holds(&gate.hears(&much, None, Exit::Status(1)), "crashed: ");
    }
    let much = "y".repeat(5 * 1024 * 1024) + "\n```json\n" + COMPLETE + "\n```\n";
    holds(&Gate::review().hears(&much, None, OK), "complete (Structured)");
}
