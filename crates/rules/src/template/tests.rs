use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn filled(text: &str, context: &Value) -> Rendered {
    let look_up = |reference: &Reference| context.get(&reference.name).map(Cow::Borrowed);
    Template::parse(text).unwrap().render(look_up)
}

fn text(template: &str, context: &Value) -> String {
    filled(template, context).text
}

#[test]
fn names_stand_for_values() {
    let context = json!({"branch": "fix/1", "files": ["a.rs", "b\nc", 3], "n": 1.5, "o": {"k": ["v"]}, "e": "", "none": [],
        "rows": [[1], 2], "review.blockers": "x", "fork.security.summary": "ok", "null": null});
    for (template, wanted) in [
        ("on {{branch}}", "on fix/1"),
        ("{{{branch}}}{{ branch }}{{{ branch }}}", "fix/1fix/1fix/1"),
        ("{{\n branch\t}}", "fix/1"),
        ("Files:\n{{files}}\n", "Files:\n- a.rs\n- b\n  c\n- 3\n"),
        ("{{n}} {{o}} {{rows}} {{null}}", "1.5 {\"k\":[\"v\"]} [[1],2] null"),
        ("<{{e}}|{{none}}>", "<|>"),
        ("{{review.blockers}} {{fork.security.summary}}", "x ok"),
        ("{\"a\": {{n}}}", "{\"a\": 1.5}"),
        ("\\{{branch}} \\{{{branch}}} {{branch}}", "{{branch}} {{{branch}}} fix/1"),
        ("a { b } }} c \\ \\{ d", "a { b } }} c \\ \\{ d"),
        ("${{n}}", "$1.5"),
        ("", ""),
    ] {
        assert_eq!(text(template, &context), wanted, "{template}");
    }
}

#[test]
fn a_missing_value_is_reported_once() {
    let rendered = filled("{{a}} {{ b }} {{a}}", &json!({"b": 1}));
    assert_eq!(rendered.text, "[missing: a] 1 [missing: a]");
    assert_eq!(rendered.missing, ["a"]);
}

#[test]
fn values_are_never_read() {
    let context = json!({"a": "{{b}} \\{{b}} {{#if}} {{{", "b": "secret", "c": ["{{b}}"], "d": {"{{b}}": "}}"}});
    assert_eq!(text("{{a}}", &context), "{{b}} \\{{b}} {{#if}} {{{");
    assert_eq!(text("{{c}}", &context), "- {{b}}");
    assert_eq!(text("{{d}}", &context), "{\"{{b}}\":\"}}\"}");
    // Values that look like a placeholder only together with the text around them.
    assert_eq!(text("{ {{x}}b}}", &json!({"x": "{"})), "{ {b}}");
    let control = "\u{0}\u{1b}[2J\u{202e}\r\n\u{7f}";
    assert_eq!(text("{{a}}", &json!({"a": control})), control);
}

#[test]
fn references_tell_their_places() {
    let source = "é {{a}} \\{{no}} {{{ b.c }}}";
    let template = Template::parse(source).unwrap();
    let found: Vec<(&str, &str)> = template
        .references()
        .map(|reference| (reference.name.as_str(), &source[reference.range.clone()]))
        .collect();
    assert_eq!(found, [("a", "{{a}}"), ("b.c", "{{{ b.c }}}")]);
    assert_eq!(template.references().last().unwrap().parts(), ["b", "c"]);
}

#[test]
fn an_unknown_placeholder_is_refused_by_name() {
    let faults: Vec<String> = [
        "a {{branch",
        "{{{branch}}",
        "{{a {{b}} c}}",
        "{{a} {{b}}",
        "{{}} {{ }} {{{}}}",
        "{{files | join: ', '}}",
        "{{#if x}}y{{/if}}{{^z}}",
        "{{> part}} {{! note}} {{&raw}} {{=<% %>=}}",
        "{{a b}} {{a..b}} {{a.b.c.d}} {{ä}} {{$status}} {{.}}",
        "{{%raw%}}",
    ]
    .iter()
    .flat_map(|source| {
        let faults = Template::parse(source).unwrap_err();
        faults
            .into_iter()
            .map(|fault| format!("{} -> {} ({})", &source[fault.range], fault.message, fault.help))
    })
    .collect();
    insta::assert_snapshot!(faults.join("\n"), @r"
    {{ -> `{{` is opened and not closed by `}}` (close it, or write `\{{` if it is meant as it stands)
    {{{ -> `{{{` is opened and not closed by `}}}` (close it, or write `\{{{` if it is meant as it stands)
    {{ -> `{{` is opened and not closed by `}}` (close it, or write `\{{` if it is meant as it stands)
    {{ -> `{{` is opened and not closed by `}}` (close it, or write `\{{` if it is meant as it stands)
    {{}} -> `` is no name (it is one to three words of letters, digits, `_` and `-`, with dots between, as in `branch` or `review.blockers`)
    {{ }} -> `` is no name (it is one to three words of letters, digits, `_` and `-`, with dots between, as in `branch` or `review.blockers`)
    {{{}}} -> `` is no name (it is one to three words of letters, digits, `_` and `-`, with dots between, as in `branch` or `review.blockers`)
    {{files | join: ', '}} -> `files | join: ', '` is no name (it is one to three words of letters, digits, `_` and `-`, with dots between, as in `branch` or `review.blockers`)
    {{#if x}} -> there are no sections here, and `{{#` begins one (a text has only names in it: what differs by outcome stands in the route's `prompt`, what differs after a rejection in `reentry`)
    {{/if}} -> there are no sections here, and `{{/` begins one (a text has only names in it: what differs by outcome stands in the route's `prompt`, what differs after a rejection in `reentry`)
    {{^z}} -> there are no sections here, and `{{^` begins one (a text has only names in it: what differs by outcome stands in the route's `prompt`, what differs after a rejection in `reentry`)
    {{> part}} -> there are no tags here, and `{{>` begins one (remove it)
    {{! note}} -> there are no tags here, and `{{!` begins one (remove it)
    {{&raw}} -> there are no tags here, and `{{&` begins one (remove it)
    {{=<% %>=}} -> there are no tags here, and `{{=` begins one (remove it)
    {{a b}} -> `a b` is no name (it is one to three words of letters, digits, `_` and `-`, with dots between, as in `branch` or `review.blockers`)
    {{a..b}} -> `a..b` is no name (it is one to three words of letters, digits, `_` and `-`, with dots between, as in `branch` or `review.blockers`)
    {{a.b.c.d}} -> `a.b.c.d` is no name (it is one to three words of letters, digits, `_` and `-`, with dots between, as in `branch` or `review.blockers`)
    {{ä}} -> `ä` is no name (it is one to three words of letters, digits, `_` and `-`, with dots between, as in `branch` or `review.blockers`)
    {{$status}} -> `$status` is no name (it is one to three words of letters, digits, `_` and `-`, with dots between, as in `branch` or `review.blockers`)
    {{.}} -> `.` is no name (it is one to three words of letters, digits, `_` and `-`, with dots between, as in `branch` or `review.blockers`)
    {{%raw%}} -> there are no tags here, and `{{%` begins one (remove it)
    ");
}

#[test]
fn hostile_sizes_are_bounded() {
    let many = "{{a}}".repeat(10_000);
    let rendered = filled(&many, &json!({"a": "x".repeat(1_000)}));
    assert_eq!(rendered.cut, ["a"]);
    assert!(rendered.text.len() < TEXT_LIMIT + many.len() + 100, "{}", rendered.text.len());
    let rendered = filled("<{{a}}> {{b}}", &json!({"a": "é".repeat(100_000), "b": "small"}));
    assert!(rendered.text.ends_with("[cut: a has 200000 bytes]> small"));
    assert!(rendered.text.len() < VALUE_LIMIT + 100);
    // Nothing here is quadratic; otherwise these would take minutes.
    assert_eq!(Template::parse(&"{{".repeat(500_000)).unwrap_err().len(), 50);
    assert!(Template::parse(&"\\{{".repeat(500_000)).is_ok());
    assert!(Template::parse(&"{{a".repeat(300_000)).is_err());
    assert!(Template::parse(&"{{{a}}".repeat(100_000)).is_err());
    assert_eq!(Template::parse(&"{{a}}".repeat(300_000)).unwrap().references().count(), 300_000);
}

proptest! {
    #[test]
    fn a_text_without_braces_is_itself(source in "[^{]{0,60}") {
        prop_assert_eq!(text(&source, &json!({})), source);
    }

    #[test]
    fn nothing_panics_and_places_are_right(source in "[ab.|#{}\\\\ é\n-]{0,40}") {
        match Template::parse(&source) {
            Ok(template) => {
                for reference in template.references() {
                    prop_assert!(source[reference.range.clone()].contains(&reference.name));
                }
                template.render(|_| None);
            }
            Err(faults) => {
                prop_assert!(!faults.is_empty());
                for fault in faults {
                    prop_assert!(source.get(fault.range).is_some());
                }
            }
        }
    }

    #[test]
    fn values_come_through_unchanged(before in "[a-z ]{0,5}", value in any::<String>(), after in "[a-z ]{0,5}") {
        let rendered = text(&format!("{before}{{{{key}}}}{after}"), &json!({"key": value}));
        prop_assert_eq!(rendered, format!("{before}{value}{after}"));
    }
}
