//! A gate's `signal` as people write it: one word, or a mapping.

use super::decode::{Faults, FieldReader, parse_node};
use crate::yaml::{MappingEntry, Node, NodeKind};
use aof_domain::workflow::gate::{Mark, NO_TAGS};
use aof_domain::{Outcome, Signal, listed};

/// Returns the signal that a gate reads its verdict from.
pub(crate) fn read(node: &Node<'_>, faults: &Faults) -> Option<Signal> {
    match &node.kind {
        NodeKind::String(word) if word == "status" => {
            Some(Signal { mark: Mark::Status, missing: None, words: Vec::new() })
        }
        NodeKind::String(word) => {
            if !name(word, "a tag", node, faults) {
                return None;
            }
            let mark = Mark::Tag { tag: word.clone().into_owned(), pass: None, fail: None };
            Some(Signal { mark, missing: None, words: Vec::new() })
        }
        NodeKind::Mapping(_) => mapping(node, faults),
        _ => {
            let help = "write `signal: gate` for `<gate>PASS</gate>` and `<gate>FAIL</gate>`";
            let wanted = "`signal` is the name of a tag, `status`, or a mapping";
            faults.wrong_kind(node, wanted, help);
            None
        }
    }
}

fn mapping(node: &Node<'_>, faults: &Faults) -> Option<Signal> {
    let before = faults.len();
    let fields = FieldReader::of(node, "a signal", faults)?;
    let tag = fields.with("tag", |node, faults| named(node, "a tag", faults)).flatten();
    let key = fields.with("key", |node, faults| named(node, "a key", faults)).flatten();
    let expects = fields.with("expects", line).flatten();
    if fields.flag("status") == Some(false) {
        fields.fault("status", "invalid_value", "`status: false` says nothing", "remove it");
    }
    let (pass, fail, missing) =
        (fields.parsed("pass"), fields.parsed("fail"), fields.parsed("missing"));
    let words = fields.with("words", read_words).unwrap_or_default();
    let marks = ["tag", "key", "expects", "status"];
    let given: Vec<&str> = marks.into_iter().filter(|mark| fields.has(mark)).collect();
    if given.len() != 1 {
        let span = given.last().map_or_else(|| node.span.clone(), |mark| fields.key_span(mark));
        let message = match given.len() {
            0 => "a signal says what it looks for".to_owned(),
            _ => format!("a signal looks for one thing, and this one for {}", listed(&given)),
        };
        let help = "give one of `tag`, `key`, `expects` and `status: true`";
        faults.add("missing_field", &span, message, help);
    }
    for word in ["pass", "fail"] {
        if fields.has(word) && !fields.has("tag") {
            let message = format!("`{word}` belongs to a `tag`: here it would be ignored");
            fields.fault(word, "dead_field", message, "remove it");
        }
    }
    if fields.has("words") && !fields.has("key") && !fields.has("status") {
        let message = "`words` belong to a `key` or to `status`: here they would be ignored";
        fields.fault("words", "dead_field", message, "remove them");
    }
    fields.refuse_unknown();
    let mark = match (tag, key, expects) {
        (Some(tag), ..) => Mark::Tag { tag, pass, fail },
        (_, Some(key), _) => Mark::Key(key),
        (_, _, Some(line)) => Mark::Expects(line),
        _ => Mark::Status,
    };
    (faults.len() == before).then_some(Signal { mark, missing, words })
}

/// Reads the words that stand for outcomes.
fn read_words(node: &Node<'_>, faults: &Faults) -> Vec<(String, Outcome)> {
    if !matches!(node.kind, NodeKind::Mapping(_)) {
        let help = "as in `words: {failed: has_failed}`";
        faults.wrong_kind(node, "`words` is a mapping of words and outcomes", help);
    }
    let read = |entry: &MappingEntry<'_>| {
        let outcome = parse_node(&entry.value, "an outcome is a word", faults)?;
        Some((entry.key.text.to_string(), outcome))
    };
    node.entries().iter().filter_map(read).collect()
}

fn named(node: &Node<'_>, what: &str, faults: &Faults) -> Option<String> {
    let text: String = parse_node(node, format_args!("{what} is a word"), faults)?;
    name(&text, what, node, faults).then_some(text)
}

/// Checks that a word can be found again in a text.
fn name(text: &str, what: &str, node: &Node<'_>, faults: &Faults) -> bool {
    let is_plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    let is_edge = |c: char| c.is_ascii_alphanumeric();
    let is_word = is_plain && text.starts_with(is_edge) && text.ends_with(is_edge);
    if !is_word || text.len() > 64 {
        let shown: String = text.chars().filter(|c| !c.is_control()).take(60).collect();
        let message = format!("`{shown}` is not {what} that can be looked for");
        let help =
            "use letters and digits, with `-` and `_` between them, at most 64 (as in `gate`)";
        faults.invalid(node, message, help);
        return false;
    }
    if what == "a tag" && NO_TAGS.iter().any(|known| known.eq_ignore_ascii_case(text)) {
        let message = format!("`<{text}>` is never a verdict");
        let help = "what stands in it is quoted, or promised by everybody; use a tag of its own, as in `signal: gate`";
        faults.invalid(node, message, help);
        return false;
    }
    true
}

fn line(node: &Node<'_>, faults: &Faults) -> Option<String> {
    let text: String = parse_node(node, "`expects` is a line of text", faults)?;
    let line = text.trim();
    let problem = if line.is_empty() {
        "a blank line is in every text"
    } else if line.contains(['\n', '\r']) {
        "`expects` is one line, and this is several"
    } else if line.len() > 200 {
        "`expects` has at most 200 bytes"
    } else if line.contains('`') || line.starts_with('>') {
        "what is quoted or code never decides, so this line would never be found"
    } else if line.to_ascii_lowercase().contains("<promise>") {
        "a promise that everybody makes is never a verdict"
    } else {
        return Some(line.to_owned());
    };
    let help = "write the line as the agent is to write it, as in `expects: \"STATUS: done\"`";
    faults.invalid(node, problem, help);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{ParseLimits, line_column, parse};
    use aof_domain::Outcome;

    #[test]
    fn a_word_or_a_mapping() {
        let signal = |text: &str| {
            let faults = Faults::default();
            let signal = read(&parse(text, &ParseLimits::default()).unwrap(), &faults);
            assert_eq!(faults.into_inner(), [], "{text}");
            signal.unwrap()
        };
        let gate = |pass, fail| Mark::Tag { tag: "gate".to_owned(), pass, fail };
        assert_eq!(
            signal("gate"),
            Signal { mark: gate(None, None), missing: None, words: Vec::new() }
        );
        assert_eq!(signal("{tag: gate}"), signal("gate"));
        assert_eq!(
            signal("status"),
            Signal { mark: Mark::Status, missing: None, words: Vec::new() }
        );
        assert_eq!(
            signal("{status: true, missing: blocked}"),
            Signal { mark: Mark::Status, missing: Some(Outcome::Blocked), words: Vec::new() }
        );
        assert_eq!(
            signal("{tag: gate, pass: skip, fail: needs_review, missing: blocked}"),
            Signal {
                mark: gate(Some(Outcome::Skip), Some(Outcome::NeedsReview)),
                missing: Some(Outcome::Blocked),
                words: Vec::new(),
            }
        );
        assert_eq!(signal("{key: DECISION}").mark, Mark::Key("DECISION".to_owned()));
        assert_eq!(
            signal("{expects: ' STATUS: done '}").mark,
            Mark::Expects("STATUS: done".to_owned())
        );
    }

    #[test]
    fn a_signal_that_cannot_occur_is_refused() {
        let refusals: Vec<String> = [
            "[gate]",
            "promise",
            "<gate>",
            "''",
            "{tag: Code}",
            "{key: 'DECISION:'}",
            "{key: KEY_, pass: complete}",
            "{}",
            "{tag: gate, key: K}",
            "{status: false}",
            "{expects: ''}",
            "{expects: \"a\\nb\"}",
            "{expects: '`done`'}",
            "{expects: '<promise>COMPLETE</promise>'}",
            "{tga: gate}",
            "{tag: gate, missing: done now}",
        ]
        .iter()
        .flat_map(|text| {
            let faults = Faults::default();
            let root = parse(text, &ParseLimits::default()).unwrap();
            assert_eq!(read(&root, &faults), None, "{text}");
            let described = faults.into_inner().into_iter().map(move |fault| {
                let (_, column) = line_column(text, fault.span.start);
                format!(
                    "{text} :{column} {}: {} ({})",
                    fault.code,
                    fault.message,
                    fault.help.unwrap_or_default()
                )
            });
            described.collect::<Vec<_>>()
        })
        .collect();
        insta::assert_snapshot!(refusals.join("\n"), @r#"
        [gate] :1 wrong_kind: `signal` is the name of a tag, `status`, or a mapping, and this is a list (write `signal: gate` for `<gate>PASS</gate>` and `<gate>FAIL</gate>`)
        promise :1 invalid_value: `<promise>` is never a verdict (what stands in it is quoted, or promised by everybody; use a tag of its own, as in `signal: gate`)
        <gate> :1 invalid_value: `<gate>` is not a tag that can be looked for (use letters and digits, with `-` and `_` between them, at most 64 (as in `gate`))
        '' :1 invalid_value: `` is not a tag that can be looked for (use letters and digits, with `-` and `_` between them, at most 64 (as in `gate`))
        {tag: Code} :7 invalid_value: `<Code>` is never a verdict (what stands in it is quoted, or promised by everybody; use a tag of its own, as in `signal: gate`)
        {key: 'DECISION:'} :7 invalid_value: `DECISION:` is not a key that can be looked for (use letters and digits, with `-` and `_` between them, at most 64 (as in `gate`))
        {key: KEY_, pass: complete} :7 invalid_value: `KEY_` is not a key that can be looked for (use letters and digits, with `-` and `_` between them, at most 64 (as in `gate`))
        {key: KEY_, pass: complete} :13 dead_field: `pass` belongs to a `tag`: here it would be ignored (remove it)
        {} :1 missing_field: a signal says what it looks for (give one of `tag`, `key`, `expects` and `status: true`)
        {tag: gate, key: K} :13 missing_field: a signal looks for one thing, and this one for `tag`, `key` (give one of `tag`, `key`, `expects` and `status: true`)
        {status: false} :2 invalid_value: `status: false` says nothing (remove it)
        {expects: ''} :11 invalid_value: a blank line is in every text (write the line as the agent is to write it, as in `expects: "STATUS: done"`)
        {expects: "a\nb"} :11 invalid_value: `expects` is one line, and this is several (write the line as the agent is to write it, as in `expects: "STATUS: done"`)
        {expects: '`done`'} :11 invalid_value: what is quoted or code never decides, so this line would never be found (write the line as the agent is to write it, as in `expects: "STATUS: done"`)
        {expects: '<promise>COMPLETE</promise>'} :11 invalid_value: a promise that everybody makes is never a verdict (write the line as the agent is to write it, as in `expects: "STATUS: done"`)
        {tga: gate} :1 missing_field: a signal says what it looks for (give one of `tag`, `key`, `expects` and `status: true`)
        {tga: gate} :2 unknown_field: a signal has no field `tga` (did you mean `tag`?)
        {tag: gate, missing: done now} :22 invalid_value: `done now` is not a decision (use a letter or digit, then letters, digits, `-`, `_` or `.`, at most 64 in all, and no word that has a meaning already)
        "#);
    }
}
