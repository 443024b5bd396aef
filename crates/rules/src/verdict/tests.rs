use proptest::prelude::*;
use serde_json::json;

use super::*;

fn tag() -> Mark {
    Mark::Tag { tag: "gate".to_owned(), pass: None, fail: None }
}

const OUTCOMES: &[&str] = &["complete", "needs_review", "blocked"];
const DECISIONS: &[&str] = &["approved", "needs_fixes", "rejected"];
const KEYS: &[&str] = &["pr_url", "comments", "files"];

#[track_caller]
fn says(mark: &Mark, words: &[&str], text: &str) -> TextVerdict {
    let verdict = read(mark, words, KEYS, text).verdict;
    // The form of line ends does not matter.
    let crlf = read(mark, words, KEYS, &text.replace('\n', "\r\n")).verdict;
    match (&verdict, &crlf) {
        (TextVerdict::Unreadable(_), TextVerdict::Unreadable(_)) => {}
        _ => assert_eq!(verdict, crlf, "{text:?}"),
    }
    verdict
}

fn gate(text: &str) -> TextVerdict {
    says(&tag(), OUTCOMES, text)
}

#[test]
fn the_last_tag_decides() {
    use TextVerdict::{Failed, Nothing, Passed};
    for (text, wanted) in [
        ("<gate>PASS</gate>", Passed),
        ("All is well.\n\n<gate>FAIL</gate>\n", Failed),
        ("<gate>PASS</gate> and then <gate>FAIL</gate>", Failed),
        ("<gate>FAIL</gate>\nlater\n<gate>PASS</gate> done", Passed),
        ("<Gate> pass </GATE>", Passed),
        ("<gate>\nPASS\n</gate>", Passed),
        ("- <gate>PASS</gate>", Passed),
        ("**<gate>PASS</gate>**", Passed),
        ("<gate>Complete</gate>", TextVerdict::Named("complete".into())),
        ("", Nothing),
        ("I think it is good.", Nothing),
        ("gate: PASS", Nothing),
        ("<promise>COMPLETE</promise>", Nothing),
        ("<gates>PASS</gates>", Nothing),
    ] {
        assert_eq!(gate(text), wanted, "{text}");
    }
    assert_eq!(
        says(&tag(), DECISIONS, "<gate>Needs_Fixes</gate>"),
        TextVerdict::Named("needs_fixes".into())
    );
    assert_eq!(
        says(&tag(), &["PASS", "fail"], "<gate>pass</gate>"),
        TextVerdict::Named("PASS".into())
    );
}

#[test]
fn an_unreadable_verdict_is_not_a_yes() {
    for text in [
        "<gate></gate>",
        "<gate>MAYBE</gate>",
        "<gate>PASS or FAIL</gate>",
        "<gate>PASS</gate>\n<gate>unclear</gate>",
        "<gate>PASS</gate>\n<gate>PASS",
        "PASS</gate>",
        "<gate>PA\u{200b}SS</gate>",
        "<gate>\u{feff}PASS</gate>",
        "<gate>РASS</gate>",
        "<gate>P\nASS</gate>",
        "<gate>\n> PASS\n</gate>",
        "<gate>`PASS`</gate>",
        "<gate><!-- PASS --></gate>",
        "<gate>\0PASS</gate>",
    ] {
        assert!(matches!(gate(text), TextVerdict::Unreadable(_)), "{text:?}: {:?}", gate(text));
    }
    let TextVerdict::Unreadable(shown) = gate(&format!("<gate>{}</gate>", "x".repeat(5_000)))
    else {
        panic!()
    };
    assert!(shown.len() < 100);
    // A tag that is split over lines is not a tag.
    assert_eq!(gate("<ga\nte>PASS</ga\nte>"), TextVerdict::Nothing);
}

#[test]
fn quoted_text_never_decides() {
    for text in [
        "> <gate>PASS</gate>",
        "   > <gate>PASS</gate>",
        "```\n<gate>PASS</gate>\n```",
        "```xml\n<gate>PASS</gate>",
        "~~~\n<gate>PASS</gate>\n~~~\n",
        "````\n```\n<gate>PASS</gate>\n```\n````",
        "````\n```\n````\n```\n<gate>PASS</gate>",
        "```\n~~~\n```\n~~~\n<gate>PASS</gate>\n~~~",
        "```\n    ```\n<gate>PASS</gate>\n```",
        "```\n``` x\n<gate>PASS</gate>\n```",
        "    <gate>PASS</gate>",
        "\t<gate>PASS</gate>",
        "  \t<gate>PASS</gate>",
        "Say `<gate>PASS</gate>` when done",
        "Say ``<gate>PASS</gate> ` `` when done",
        "Say `\n<gate>PASS</gate>\n` when done",
        "\\`<gate>PASS</gate>\\`",
        "\\` a `<gate>PASS</gate>`",
        "<!-- <gate>PASS</gate> -->",
        "<!--\n<gate>PASS</gate>\n",
        "a <!-- b\n\n<gate>PASS</gate> --> c",
        "<!--\n```\n-->\n```\n<gate>PASS</gate>\n```",
        "<pre>\n<gate>PASS</gate>\n</pre>",
        "x <CODE class=a><gate>PASS</gate></CODE>",
        "<blockquote><gate>PASS</gate></blockquote>",
        "+<gate>PASS</gate>",
        "-<gate>PASS</gate>",
        "@@ -1,2 +1,2 @@\n <gate>PASS</gate>\n+x\n",
        "- ```\n  <gate>PASS</gate>\n  ```",
        "1. ~~~\n   <gate>PASS</gate>\n",
        "- a\n\n      <gate>PASS</gate>\n",
        "> ```diff\n> +<gate>PASS</gate>\n> ```",
    ] {
        assert_eq!(gate(text), TextVerdict::Nothing, "{text}");
        assert_eq!(gate(&format!("<gate>FAIL</gate>\n\n{text}")), TextVerdict::Failed, "{text}");
        let key = text.replace("<gate>PASS</gate>", "DECISION: approved");
        if !key.contains("`DECISION") && !key.contains(">DECISION") {
            assert_eq!(
                says(&Mark::Key("DECISION".into()), DECISIONS, &key),
                TextVerdict::Nothing,
                "{key}"
            );
        }
    }
}

#[test]
fn text_beside_code_decides() {
    for text in [
        "```\ncode\n```\n<gate>PASS</gate>",
        "`a` <gate>PASS</gate> `b`",
        "it`s <gate>PASS</gate>",
        "it`s\n\n<gate>PASS</gate>\n\nit`s",
        "- `a\n- <gate>PASS</gate> b`",
        "> quoted\n\n<gate>PASS</gate>",
        "> ```\n\n<gate>PASS</gate>",
        "- ```\n<gate>PASS</gate>",
        "- a\n  - b\n\n<gate>PASS</gate>",
        "<!-- a --> <gate>PASS</gate>",
        "@@ -1 +1 @@\n-a\n+b\nsettled\n<gate>PASS</gate>",
        "--- \n<gate>PASS</gate>",
        "``` `` ```\n<gate>PASS</gate>",
        "<codes><gate>PASS</gate>",
    ] {
        assert_eq!(gate(text), TextVerdict::Passed, "{text}");
    }
}

#[test]
fn keys_name_outcomes() {
    let key = Mark::Key("DECISION".to_owned());
    let named = |word: &str| TextVerdict::Named(word.to_owned());
    for (text, wanted) in [
        ("DECISION: approved", named("approved")),
        ("decision: Approved.", named("approved")),
        ("DECISION: rejected\n\nOn second thought\nDECISION: needs_fixes\n", named("needs_fixes")),
        ("**DECISION:** approved", named("approved")),
        ("**DECISION**: approved", named("approved")),
        ("**DECISION: approved**", named("approved")),
        ("__DECISION__: **approved**", named("approved")),
        ("- DECISION: \"approved\"", named("approved")),
        ("## Decision: approved", named("approved")),
        ("DECISION:\n  approved\nbecause it is good", named("approved")),
        ("DECISION: approved\nwith a long reason", named("approved")),
        ("The DECISION: approved", TextVerdict::Nothing),
        ("DECISION approved", TextVerdict::Nothing),
        ("DECISION_X: approved", TextVerdict::Nothing),
        ("DECISION:approved", TextVerdict::Nothing),
    ] {
        assert_eq!(says(&key, DECISIONS, text), wanted, "{text}");
    }
    for text in [
        "DECISION:",
        "DECISION: approved, mostly",
        "DECISION: approved\nDECISION: unclear",
        "DECISION: `approved`",
        "DECISION: approved | rejected",
        "DECISION: <promise>COMPLETE</promise>",
    ] {
        assert!(matches!(says(&key, DECISIONS, text), TextVerdict::Unreadable(_)), "{text}");
    }
}

#[test]
fn a_line_is_expected() {
    let expects = Mark::Expects("STATUS: done".to_owned());
    for text in [
        "STATUS: done",
        "x\n  Status: Done  \ny",
        "**STATUS: done**",
        "STATUS: retry\nSTATUS: done",
    ] {
        assert_eq!(says(&expects, OUTCOMES, text), TextVerdict::Passed, "{text}");
    }
    for text in [
        "",
        "STATUS: done soon",
        "> STATUS: done",
        "STATUS: done\nSTATUS: retry",
        "```\nSTATUS: done\n```",
    ] {
        assert_ne!(says(&expects, OUTCOMES, text), TextVerdict::Passed, "{text}");
    }
    assert_eq!(
        says(&expects, OUTCOMES, "STATUS: done\nSTATUS: retry"),
        TextVerdict::Unreadable("STATUS: retry".to_owned())
    );
    assert_eq!(
        says(&Mark::Expects("All good".into()), OUTCOMES, "so:\nall good\n"),
        TextVerdict::Passed
    );
}

#[test]
fn frontmatter_says_its_status() {
    let decides: Vec<Outcome> =
        ["approved", "rejected", "blocked"].map(|word| word.parse().unwrap()).into();
    let passes: Vec<Outcome> = ["complete", "blocked"].map(|word| word.parse().unwrap()).into();
    let signal = Signal { mark: Mark::Status, missing: None, words: Vec::new() };
    let of = |possible: &[Outcome], fields: serde_json::Value| {
        let fields =
            ReplyFields { fields: fields.as_object().cloned().unwrap(), ..Default::default() };
        status_verdict(&fields, STATUS, &signal, possible)
    };
    let named = |word: &str| TextVerdict::Named(word.to_owned());
    assert_eq!(of(&decides, json!({"$status": "Rejected", "a": 1})), named("rejected"));
    assert_eq!(of(&decides, json!({"a": 1})), TextVerdict::Nothing);
    for status in [json!("done"), json!(null), json!(["approved"]), json!("_"), json!("")] {
        let verdict = of(&decides, json!({"$status": status}));
        assert!(matches!(verdict, TextVerdict::Unreadable(_)), "{status}");
    }
    for single in [json!({"a": 1}), json!({}), json!({"$status": "_"})] {
        assert_eq!(of(&passes, single), TextVerdict::Passed);
    }
    for suspended in [&decides, &passes] {
        assert_eq!(of(suspended, json!({"$status": "$SUSPEND"})), named("blocked"));
    }
    let unreadable = ReplyFields { fault: Some("line 2: what".to_owned()), ..Default::default() };
    assert!(matches!(
        status_verdict(&unreadable, STATUS, &signal, &passes),
        TextVerdict::Unreadable(_)
    ));
}

#[test]
fn a_key_alone_expects_any_value() {
    let mark = Mark::Expects("TIER:".into());
    for text in [
        "TIER: 2",
        "Looked at it.\n**TIER:** big\nMORE: x",
        "TIER:\n- a\n- b",
        "STATUS: done\nTIER: 1",
    ] {
        assert_eq!(says(&mark, OUTCOMES, text), TextVerdict::Passed, "{text}");
    }
    for text in ["no tier", "> TIER: 2", "`TIER: 2`"] {
        assert_eq!(says(&mark, OUTCOMES, text), TextVerdict::Nothing, "{text}");
    }
    assert!(matches!(says(&mark, OUTCOMES, "TIER: 1\nTIER:\n"), TextVerdict::Unreadable(_)));
}

#[test]
fn a_failed_status_outweighs_a_decision() {
    let (key, any) = (Mark::Key("DECISION".into()), Mark::Expects("STATUS:".into()));
    let words = &["approved", "blocked", "failed"][..];
    let named = |word: &str| TextVerdict::Named(word.to_owned());
    for text in [
        "STATUS: failed\nDECISION: approved",
        "DECISION: approved\n**Status:** Failed - no tests",
        "STATUS: done\nDECISION: approved\nSTATUS: error.",
    ] {
        assert_eq!(says(&key, words, text), named("failed"), "{text}");
        assert!(matches!(says(&key, DECISIONS, text), TextVerdict::Unreadable(_)), "{text}");
    }
    assert_eq!(says(&key, words, "STATUS: blocked\nDECISION: approved"), named("blocked"));
    for text in [
        "DECISION: approved\nSTATUS: done",
        "STATUS: failed\nSTATUS: done\nDECISION: approved",
        "DECISION: approved\n> STATUS: failed",
    ] {
        assert_eq!(says(&key, words, text), named("approved"), "{text}");
    }
    assert_eq!(says(&any, words, "STATUS: failed"), named("failed"));
    assert_eq!(says(&any, words, "STATUS: ok"), TextVerdict::Passed);
    assert_eq!(
        says(&Mark::Key("STATUS".into()), &["failed_twice", "blocked"], "STATUS: failed_twice"),
        named("failed_twice")
    );
}

#[test]
fn keys_give_values_that_run_on() {
    let text = "Intro\nPR_URL: https://x/1\nCOMMENTS:\nNote: the parser\n- fails on `x: y`\n\n```\nPR_URL: no\n```\nFILES: a.rs\nSTATUS: done\nnot a file\nDECISION: approved\nfiles: b.rs\n";
    let values = read(&Mark::Key("DECISION".into()), DECISIONS, KEYS, text).values;
    let wanted = [
        ("pr_url", "https://x/1"),
        ("comments", "Note: the parser\n- fails on `x: y`\n\n```\nPR_URL: no\n```"),
        ("files", "b.rs"),
    ];
    assert_eq!(values, wanted.map(|(key, value)| (key.to_owned(), value.to_owned())));
    let values = read(&tag(), OUTCOMES, KEYS, "comments: a\nb\n<gate>FAIL</gate>\nc").values;
    assert_eq!(values, [("comments".to_owned(), "a\nb".to_owned())]);
}

#[test]
fn text_inside_a_value_is_not_a_key() {
    let expects = Mark::Expects("STATUS: done".to_owned());
    let quoted =
        "STATUS: retry\nISSUES:\n- The script ends before it prints the line:\n  STATUS: done";
    let unreadable = TextVerdict::Unreadable("STATUS: retry".to_owned());
    assert_eq!(says(&expects, OUTCOMES, quoted), unreadable);
    let below = "comments:\n- STATUS: done\n";
    assert_eq!(says(&expects, OUTCOMES, below), TextVerdict::Nothing);
    for text in [
        "STATUS: done\nISSUES:\n  - status: must be 404 when missing",
        "ISSUES: none\nSTATUS: done",
        "- ISSUES: none\n- STATUS: done",
        "1. ISSUES:\n   - status: 404\n2. STATUS: done",
        "ISSUES:\n- none\n**STATUS:** done",
    ] {
        assert_eq!(says(&expects, OUTCOMES, text), TextVerdict::Passed, "{text}");
    }
    let decides = Mark::Key("DECISION".to_owned());
    let text = "DECISION: rejected\nCOMMENTS: |\n  - files: rename `x`\n    in src\n  - decision: approved is too early\n";
    let read = read(&decides, DECISIONS, KEYS, text);
    assert_eq!(read.verdict, TextVerdict::Named("rejected".to_owned()));
    let value = "- files: rename `x`\n  in src\n- decision: approved is too early";
    assert_eq!(read.values, [("comments".to_owned(), value.to_owned())]);
    assert_eq!(read.items, ["files: rename `x` in src", "decision: approved is too early"]);
}

#[test]
fn items_are_the_requests() {
    let items = |text: &str| read(&tag(), OUTCOMES, KEYS, text).items;
    assert_eq!(
        items(
            "# Review\n- no tests for\n  the parser\n* `x` leaks\n  - in two places\n1. typo\n- [x] builds\n- [ ] docs\n\nprose\n<gate>FAIL</gate>\n"
        ),
        ["no tests for the parser", "`x` leaks - in two places", "typo", "docs"]
    );
    assert_eq!(items("- good\n\n<gate>FAIL</gate>\n\n- bad\n- worse\n"), ["bad", "worse"]);
    assert_eq!(
        items("```\n- code\n```\n> - quoted\n- pr_url: x\n<gate>FAIL</gate>"),
        Vec::<String>::new()
    );
    let many = items(&"- x\n".repeat(10_000));
    assert_eq!(many.len(), 50);
    assert!(items(&format!("- {}", "long ".repeat(5_000)))[0].len() < 500);
}

#[test]
fn junk_is_read_in_no_time() {
    // Each of these would take hours if a step looked at the rest of the text again and again.
    let units = [
        "`",
        "``` ",
        "<gate>",
        "</gate>",
        "<!--",
        "<!",
        "\\`",
        "- ",
        "> ",
        "a: b\n",
        "- `\n",
        "`\n\n",
        "KEY: v\n",
        "\u{200b}",
        "<code",
        "1. ",
        "~~~\n",
        "``\n",
        "` `` ``` ",
    ];
    let read_all = |unit: &str| {
        let text = unit.repeat(130_000 / unit.len());
        for mark in [tag(), Mark::Key("KEY".into()), Mark::Expects("KEY: x".into()), Mark::Status] {
            read(&mark, OUTCOMES, KEYS, &text);
            read(&mark, OUTCOMES, KEYS, &format!("---\n{text}"));
        }
    };
    // One after the other they would take as long as all other tests together.
    std::thread::scope(|scope| {
        for unit in units {
            scope.spawn(move || read_all(unit));
        }
    });
}

#[test]
fn expected_verdicts_can_be_described() {
    for (mark, words, wanted) in [
        (tag(), OUTCOMES, "`<gate>PASS</gate>` or `<gate>FAIL</gate>`"),
        (
            tag(),
            &["approved", "rejected"][..],
            "`<gate>approved</gate>` or `<gate>rejected</gate>`",
        ),
        (Mark::Key("DECISION".into()), &["a", "b"][..], "a line `DECISION: a` or `DECISION: b`"),
        (Mark::Expects("STATUS: done".into()), OUTCOMES, "the line `STATUS: done`"),
        (Mark::Expects("TIER:".into()), OUTCOMES, "a line `TIER: <value>`"),
        (Mark::Status, &["a", "b"][..], "`$status` in the frontmatter, one of `a`, `b`"),
        (
            Mark::Status,
            &["complete"][..],
            "frontmatter at the beginning, with what is to be handed on",
        ),
    ] {
        assert_eq!(looked_for(&mark, words), wanted);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn nothing_panics_and_places_stay(text in "([ab:é`~>#*_+<\\-\n\r\t\0 ]|<gate>|</gate>|PASS|KEY: |<!--|-->|@@ -|---\n|\\$status: ){0,40}") {
        for mark in [tag(), Mark::Key("KEY".into()), Mark::Expects("KEY: a".into()), Mark::Status] {
            read(&mark, OUTCOMES, KEYS, &text);
        }
        let masked = Masked::new(&text);
        prop_assert_eq!(masked.loud().len(), text.len());
        for (loud, original) in masked.loud().bytes().zip(text.bytes()) {
            prop_assert!(loud == original || loud == 0);
        }
    }

    /// A verdict in a closed fence that is longer than any inside never decides, whatever surrounds it.
    #[test]
    fn a_fence_holds(inside in "[a `~>\n-]{0,30}") {
        let text = format!("{inside}\n<gate>PASS</gate>\n{inside}");
        let long = "`".repeat(40);
        prop_assert_eq!(gate(&format!("x\n\n{long}\n{text}\n{long}\n")), TextVerdict::Nothing);
    }
}
