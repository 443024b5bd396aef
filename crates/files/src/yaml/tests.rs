//! The values in the tree, their spans, and the texts that are refused.

use std::fmt::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Fault, Node, NodeKind, NodeLayout, ParseLimits, Sharing, line_column, parse};

fn read(source: &str) -> Node<'_> {
    parse(source, &ParseLimits::default()).unwrap_or_else(|faults| panic!("{faults:?}\n{source}"))
}

fn faults(source: &str) -> Vec<Fault> {
    parse(source, &ParseLimits::default()).expect_err(source)
}

/// Returns `code line:column message` of every fault.
fn report(source: &str) -> String {
    let lines: Vec<String> = faults(source)
        .iter()
        .map(|fault| {
            let (line, column) = fault.line_column(source);
            format!("{} {line}:{column} {}", fault.code, fault.message)
        })
        .collect();
    lines.join("\n")
}

#[test]
fn scalars_keep_their_written_form() {
    let strings = [
        "no",
        "yes",
        "on",
        "off",
        "y",
        "n",
        "010",
        "00",
        "-010",
        "1_000",
        "0x1f",
        "0o17",
        "0b1",
        "1:30",
        "190:20:30",
        "2026-11-20",
        "2026-02-16T10:00:00Z",
        ".inf",
        "-.inf",
        ".nan",
        ".NaN",
        "1.2.3",
        "1e",
        "e5",
        "+",
        "-.",
        ".",
        "1e999",
        "99999999999999999999",
        "nULL",
        "tRUE",
        "+-1",
        "1 2",
        "12e03x",
    ];
    for text in strings {
        assert_eq!(read(&format!("k: {text}")).to_value(), json!({ "k": text }), "{text}");
    }
    let others = [
        ("~", Value::Null),
        ("null", Value::Null),
        ("Null", Value::Null),
        ("", Value::Null),
        ("true", json!(true)),
        ("FALSE", json!(false)),
        ("0", json!(0)),
        ("-7", json!(-7)),
        ("+5", json!(5)),
        ("1.5", json!(1.5)),
        ("1e3", json!(1000.0)),
        ("-0.25", json!(-0.25)),
        (".5", json!(0.5)),
        ("1.", json!(1.0)),
        ("1.0e+16", json!(1e16)),
        ("18446744073709551615", json!(u64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("!!str 12", json!("12")),
        ("!!int 12", json!(12)),
        ("!!map {}", json!({})),
        ("'12'", json!("12")),
        ("\"~\"", json!("~")),
    ];
    for (text, value) in others {
        assert_eq!(read(&format!("k: {text}")).to_value(), json!({ "k": value }), "{text}");
    }
}

#[test]
fn a_number_has_its_value_and_keeps_its_written_form() {
    for (text, value) in [
        ("1.10", json!(1.1)),
        ("1.0000", json!(1.0)),
        ("+5", json!(5)),
        (".5", json!(0.5)),
        ("5.", json!(5.0)),
        ("1e3", json!(1000.0)),
        ("1.50e-7", json!(1.5e-7)),
        ("0.1234567890123456789", json!(0.123_456_789_012_345_68)),
        ("43", json!(43)),
        ("18446744073709551615", json!(u64::MAX)),
    ] {
        let node = read(text);
        let NodeKind::Number(number) = &node.kind else { panic!("{text}") };
        assert_eq!((number.source(), node.to_value()), (text, value.clone()));
        assert!(node.says(&value) && !node.says(&json!(text)), "{text}");
        assert!(node.agrees(&read(&value.to_string())), "{text}");
        assert!(!node.agrees(&read(&format!("'{text}'"))), "a text is no number: {text}");
    }
    for text in ["-0", "-0.0"] {
        let value = read(text).to_value();
        assert!(value.as_f64().unwrap().is_sign_negative(), "{text} became {value}");
    }
}

#[test]
fn every_span_is_the_text_of_its_value() {
    let source = "id: a  # c\r\ntags: [x, 'y z', {k: 1}]\nlit: |-  # c\n  one\n  two\n\n  # not yet below\nempty:\nseq:\n- &a \"q\"\n- - in\n-\n  k: *a\nmulti: one\n  two # c\n";
    let root = read(source);
    let text = |node: &Node<'_>| &source[node.span.clone()];
    let at = |key: &str| root.get(key).unwrap();
    assert_eq!(text(at("id")), "a");
    assert_eq!(text(at("tags")), "[x, 'y z', {k: 1}]");
    assert_eq!(text(at("tags").items()[2].get("k").unwrap()), "1");
    assert_eq!(text(at("lit")), "|-  # c\n  one\n  two\n\n  # not yet below");
    assert_eq!(text(at("empty")), "");
    assert_eq!(text(at("seq")), "- &a \"q\"\n- - in\n-\n  k: *a");
    assert_eq!(text(&at("seq").items()[0]), "\"q\"");
    assert_eq!(text(&at("seq").items()[1]), "- in");
    assert_eq!(text(&at("seq").items()[2]), "k: *a");
    assert_eq!(text(at("multi")), "one\n  two");
    assert_eq!(&source[root.entry("seq").unwrap().key.span.clone()], "seq");
    assert_eq!(at("seq").items()[2].get("k").unwrap().sharing, Sharing::Alias);
    assert_eq!(root.get("seq").unwrap().items()[0].sharing, Sharing::Anchored);
    assert_eq!(root.get("lit").unwrap().layout, NodeLayout::Literal);
    assert_eq!(root.get("seq").unwrap().items()[2].get("k").unwrap().as_str(), Some("q"));
}

#[test]
fn dashes_and_colons_are_found_behind_comments() {
    let source = "--- # start\na: # - not this\n  # - nor this\n  - x\n? b # : no\n: - y\n";
    let root = read(source);
    let item = &root.get("a").unwrap().items()[0];
    assert_eq!(item.indicator, source.find("- x"));
    assert_eq!(root.get("b").unwrap().indicator, source.find(": - y"));
    assert!(root.entry("b").unwrap().key.decorated);
}

#[test]
fn a_header_that_nothing_follows_is_an_empty_text() {
    for text in ["> ", ">", "|", "| ", "|+", "a: >", "a: | ", "- >-  ", "a: >\n", "a:\n  b: | # x"]
    {
        let read = parse(text, &ParseLimits::default());
        let Ok(node) = read else { continue };
        let value = node.entries().first().map_or(&node, |entry| &entry.value);
        assert!(value.span.end <= text.len(), "{text:?} is at {:?}", value.span);
    }
    assert_eq!(
        parse("a: > ", &ParseLimits::default()).unwrap().get("a").unwrap().as_str(),
        Some("")
    );
}

#[test]
fn an_empty_text_is_null() {
    for source in ["", "\n", "# only a comment\n", "---\n", "\u{feff}"] {
        assert!(read(source).is_null(), "{source:?}");
    }
    assert_eq!(read("\u{feff}a: 1").to_value(), json!({"a": 1}));
}

#[test]
fn faults_name_place_and_reason() {
    insta::assert_snapshot!(report("a: 1\nb: 2\na: 3\nc: {d: 1, d: 2}\n"), @"
    duplicate_key 3:1 the key `a` on line 3 is already defined on line 1
    duplicate_key 4:11 the key `d` on line 4 is already defined on line 4
    ");
    insta::assert_snapshot!(report("1: x\nTrue: y\ntrue: y\n~: z\n[a]: b\n<<: {c: d}\nok: 1\n"), @"
    key_not_string 1:1 the key `1` is a number, not a string
    key_not_string 2:1 the key `True` is a yes or no, not a string
    key_not_string 4:1 the key `~` is nothing, not a string
    key_not_string 5:1 a list cannot be a key
    merge_key 6:1 merge keys (`<<`) are not supported
    ");
    insta::assert_snapshot!(report("a: !secret x\nb: !!int x\nc: !!set {d}\nd: !!seq {}\n"), @"
    tag 1:4 the tag `!secret` is not supported
    tag_mismatch 2:4 this value is no `!!int`
    tag 3:10 the tag `!!set` is not supported
    tag 4:10 the tag `!!seq` is not supported
    ");
    insta::assert_snapshot!(report("a: 1\n---\nb: 2\n"), @"several_documents 2:1 only one YAML document is allowed in a file");
    insta::assert_snapshot!(report("a: 1\n...\n---\nb: 2\n"), @"several_documents 3:1 only one YAML document is allowed in a file");
    insta::assert_snapshot!(report("a: *nobody\n"), @"unknown_alias 1:4 this alias names an anchor that does not exist");
    insta::assert_snapshot!(report("a: &a [*a]\n"), @"recursive_alias 1:8 this alias stands inside the value that it names");
    insta::assert_snapshot!(report("a: \"x\0\"\n"), @"nul_byte 1:6 a NUL byte is not allowed in YAML");
    insta::assert_snapshot!(report("%YAML 1.2\n---\na: 1\n"), @"directive 1:1 YAML directives are not supported");
    insta::assert_snapshot!(report("a: 1\n\tb: 2\n"), @"yaml_syntax 2:2 a tab cannot indent YAML");
    insta::assert_snapshot!(report("a:\n  - id: x\n\n \tb: 2\n\tc: 3\n"), @"yaml_syntax 4:3 a tab cannot indent YAML");
    insta::assert_snapshot!(report("a:\n\tb: 2\n"), @"yaml_syntax 2:2 a tab cannot indent YAML");
    insta::assert_snapshot!(report("a: \"x\nb: [c, \"d\"]\n"), @"yaml_syntax 1:4 not valid YAML: this quote is not closed");
    insta::assert_snapshot!(report("a: 'it''s'\n# b's\nb: # c's\n  - e\n  - 'f\n  - g\n"), @"yaml_syntax 5:5 not valid YAML: this quote is not closed");
    insta::assert_snapshot!(report("a: 1\n'b: 2\nc: 3\n"), @"yaml_syntax 2:1 not valid YAML: this quote is not closed");
    insta::assert_snapshot!(report("größe: [1, 2\nb: 3\n"), @"yaml_syntax 2:2 not valid YAML: illegal placement of ':' indicator");
    insta::assert_snapshot!(report("a: b: c\n"), @"yaml_syntax 1:5 not valid YAML: there is a `:` already on this line");
    insta::assert_snapshot!(report("&k a: 1\n*k : 2\n"), @"alias_key 2:1 an alias cannot be a key; it stands for `a`");
}

#[test]
fn a_byte_order_mark_anywhere_is_read_or_refused() {
    // Found by a fuzzer: after such a mark, the parser reads on from another place than where the mark is.
    let found =
        "\r\r\r\r|-\n\r\r\r\r\r h%story: []\n\r\r\r\r\r\r\r\r\r\r\r\u{feff}!<\r\r\r\rn\u{6}]\n";
    assert_eq!(faults(found).first().map(|fault| fault.code), Some("unplaced"));
    let mut read = 0;
    for source in [
        "a: |-\n  b\n\n  c\nd: [e, \"f\"]\n",
        "|-\r\r a: b\r\r\n c\r",
        "- >+\n   a\n\n- !!str b # c\n- &d 'e'\n",
    ] {
        for at in 0..=source.len() {
            let text = format!("{}\u{feff}{}", &source[..at], &source[at..]);
            let Ok(root) = parse(&text, &ParseLimits::default()) else { continue };
            assert!(text.get(root.span.clone()).is_some(), "{text:?} is at {:?}", root.span);
            read += 1;
        }
    }
    assert!(read > 20, "only {read} were read");
}

#[test]
fn a_duplicate_key_points_at_both_places() {
    let many = (0..40).map(|n| format!("k{n}: v\n")).collect::<Vec<_>>().concat();
    for source in [format!("a: 1\n{many}a: 2\n"), "a: 1\n'a': 2\n".to_owned()] {
        let [fault] = &faults(&source)[..] else { panic!("one fault expected") };
        let label = fault.label.as_ref().unwrap();
        assert_eq!(label.span, 0..1);
        assert_eq!(
            fault.span.start,
            source.rfind('a').unwrap() - usize::from(source.contains('\''))
        );
    }
}

#[test]
fn bombs_are_refused_at_once() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..30 {
        let aliases = vec![format!("*a{}", n - 1); 10].join(", ");
        writeln!(bomb, "a{n}: &a{n} [{aliases}]").unwrap();
    }
    let text_bomb =
        format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), vec!["*a"; 10_000].join(", "));
    let deep_flow = "[".repeat(50_000);
    let deep_block =
        (0..2000).map(|n| format!("{}k:\n", " ".repeat(n))).collect::<Vec<_>>().concat();
    for (source, code) in [
        (bomb, "too_large"),
        (text_bomb, "too_large"),
        (deep_flow, "too_deep"),
        (deep_block, "too_deep"),
    ] {
        let start = Instant::now();
        assert_eq!(faults(&source)[0].code, code);
        // Measured far below this; the bound only distinguishes linear from exponential on a busy machine.
        assert!(start.elapsed() < Duration::from_secs(2));
    }
    let nested = format!("a: {}{}{}", "&a [".repeat(60), "x, ".repeat(10_000), "]".repeat(60));
    assert_eq!(faults(&nested)[0].code, "too_large");
    let few = ParseLimits { nodes: 3, ..ParseLimits::default() };
    assert_eq!(parse("[a, b, c]", &few).unwrap_err()[0].code, "too_large");
    let deepest = format!("{}{}", "[".repeat(64), "]".repeat(64));
    assert!(parse(&deepest, &ParseLimits::default()).is_ok());
}

#[test]
fn aliases_stand_for_their_value() {
    let root = read("base: &b {x: [1, 2]}\ncopy: *b\nlist: [*b, &c z, *c]\n");
    assert_eq!(root.get("copy").unwrap().to_value(), json!({"x": [1, 2]}));
    assert_eq!(root.get("list").unwrap().to_value(), json!([{"x": [1, 2]}, "z", "z"]));
    assert!(root.says(
        &json!({"list": [{"x": [1, 2]}, "z", "z"], "base": {"x": [1, 2]}, "copy": {"x": [1, 2]}})
    ));
    assert!(!root.says(&json!({})));
}

#[test]
fn nodes_agree_on_values_in_any_form() {
    let block = read("a: 1\nb:\n  - x\n  - {c: 'yes', d: ~}\ne: true\n");
    assert!(block.agrees(&read("{e: True, b: [\"x\", {d: , c: \"yes\"}], a: +1}")));
    for other in [
        "a: 2",
        "b: [x]",
        "b: [{c: 'yes', d: ~}, x]",
        "e: 'true'",
        "a: ~",
        "e: {}",
        "e: []",
        "f: 1",
    ] {
        let mut changed = block.to_value();
        let Value::Object(map) = read(other).to_value() else { panic!("a mapping") };
        changed.as_object_mut().unwrap().extend(map);
        let text = changed.to_string();
        assert!(!block.agrees(&read(&text)) && !read(&text).agrees(&block), "{other}");
    }
}

#[test]
fn key_order_is_that_of_the_text() {
    let root = read("z: 1\na: 2\nm: 3\n");
    let NodeKind::Mapping(entries) = &root.kind else { panic!("a mapping") };
    assert_eq!(
        entries.iter().map(|entry| entry.key.text.as_ref()).collect::<Vec<_>>(),
        ["z", "a", "m"]
    );
    assert_eq!(root.to_value().to_string(), r#"{"z":1,"a":2,"m":3}"#);
}

#[test]
fn lines_and_columns_count_characters_from_one() {
    let source = "\u{feff}a: 1\r\ngröße: 🙂x\n";
    assert_eq!(line_column(source, 0), (1, 1));
    assert_eq!(line_column(source, 3), (1, 1));
    assert_eq!(line_column(source, source.find('x').unwrap()), (2, 9));
    assert_eq!(line_column(source, 9999), (3, 1));
}
