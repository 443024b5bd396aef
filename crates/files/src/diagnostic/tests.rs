use insta::assert_snapshot;

use super::*;

fn at(source: &str, wanted: &str) -> Range<usize> {
    let start = source.find(wanted).unwrap();
    start..start + wanted.len()
}

fn plain(source: &str, wanted: &str, message: &str) -> String {
    Diagnostic::new(Severity::Error, "bad", "project.yaml", source, at(source, wanted), message)
        .render(ColorMode::Plain)
}

#[test]
fn the_three_severities() {
    let source = "a: 1\nbee: 2\n";
    let diagnostics = [Severity::Error, Severity::Warning, Severity::Note].map(|severity| {
        Diagnostic::new(
            severity,
            "odd_value",
            "project.yaml",
            source,
            at(source, "bee"),
            "this is odd",
        )
        .help(Some("write another"))
    });
    assert_snapshot!(render_all(&diagnostics, ColorMode::Plain), @"
    error[odd_value]: this is odd
     --> project.yaml:2:1
      |
    2 | bee: 2
      | ^^^
      |
      = help: write another

    warning[odd_value]: this is odd
     --> project.yaml:2:1
      |
    2 | bee: 2
      | ^^^
      |
      = help: write another

    note[odd_value]: this is odd
     --> project.yaml:2:1
      |
    2 | bee: 2
      | ^^^
      |
      = help: write another
    ");
    assert_eq!(
        diagnostics[1].to_value().to_string(),
        r#"{"severity":"warning","code":"odd_value","file":"project.yaml","line":2,"column":1,"message":"this is odd","help":"write another"}"#
    );
}

#[test]
fn colours_change_nothing_but_colours() {
    let source = "a: 1\nbee: 2\n";
    let one = Diagnostic::new(
        Severity::Error,
        "odd",
        "project.yaml",
        source,
        at(source, "bee"),
        "this is odd",
    );
    let colored = one.render(ColorMode::Colored);
    assert!(colored.contains("\u{1b}["));
    let mut parts = colored.split("\u{1b}[");
    let first = parts.next().unwrap().to_owned();
    let stripped = parts.fold(first, |text, part| text + part.split_once('m').unwrap().1);
    assert_eq!(stripped, one.render(ColorMode::Plain));
}

#[test]
fn spans_of_every_shape() {
    // Several lines: the first is underlined.
    let source = "gates:\n  - id: a\n    role: r\nend: 1\n";
    let span = source.find("- id").unwrap()..source.find("end").unwrap();
    assert_snapshot!(Diagnostic::new(Severity::Error, "x", "f.yaml", source, span, "all of it").render(ColorMode::Plain), @"
    error[x]: all of it
     --> f.yaml:2:3
      |
    2 |   - id: a
      |   ^^^^^^^
    ");
    // The end of the file, and an empty file.
    assert_snapshot!(Diagnostic::new(Severity::Error, "x", "f.yaml", "a: [\n", 5..5, "it ends").render(ColorMode::Plain), @"
    error[x]: it ends
     --> f.yaml:2:1
      |
    2 |
      | ^
    ");
    let nothing = Diagnostic::new(Severity::Error, "x", "f.yaml", "", 0..0, "nothing there")
        .help(Some("write it"));
    assert_snapshot!(nothing.render(ColorMode::Plain), @"
    error[x]: nothing there
    --> f.yaml:1:1
     = help: write it
    ");
    // Wide characters, Windows line ends, tabs.
    assert_snapshot!(plain("title: \"日本 é\" # x\r\nb: 1\r\n", "é", "an accent"), @r#"
    error[bad]: an accent
     --> project.yaml:1:12
      |
    1 | title: "日本 é" # x
      |              ^
    "#);
    assert_snapshot!(plain("a:\tb\tc\n", "c", "behind tabs"), @"
    error[bad]: behind tabs
     --> project.yaml:1:6
      |
    1 | a:    b    c
      |            ^
    ");
    // A span outside this file does no harm.
    let astray = Diagnostic::new(Severity::Error, "x", "f.yaml", "é\n", 1..900, "astray");
    assert_eq!((astray.line, astray.column), (1, 1));
    assert!(astray.render(ColorMode::Plain).contains("astray"));
}

#[test]
fn a_second_place_is_shown_near_far_and_on_the_same_line() {
    let shown = |source: &str| {
        let fault = Fault::new(
            "twice",
            source.rfind("key").unwrap()..source.rfind("key").unwrap() + 3,
            "said twice",
        )
        .label(at(source, "key"), "first here");
        Diagnostic::from_fault("f.yaml", source, &fault).render(ColorMode::Plain)
    };
    assert_snapshot!(shown("{key: 1, key: 2}\n"), @"
    error[twice]: said twice
     --> f.yaml:1:10
      |
    1 | {key: 1, key: 2}
      |  ---     ^^^
      |  |
      |  first here
    ");
    assert_snapshot!(shown("key: 1\nother: 2\nkey: 3\n"), @"
    error[twice]: said twice
     --> f.yaml:3:1
      |
    1 | key: 1
      | --- first here
    2 | other: 2
    3 | key: 3
      | ^^^
    ");
    assert_snapshot!(shown(&format!("key: 1\n{}key: 3\n", "line: x\n".repeat(20))), @"
    error[twice]: said twice
      --> f.yaml:22:1
       |
     1 | key: 1
       | --- first here
    ...
    22 | key: 3
       | ^^^
    ");
}

#[test]
fn hostile_text_is_inert_and_cut() {
    let source =
        format!("a: \"\u{1b}[31m\u{202e}txet\u{7}\u{200b}\" # {}\nb: 1\n", "x".repeat(5_000));
    let message = format!("`\u{1b}]0;owned\u{7}\n\u{202e}{}` is odd", "y".repeat(5_000));
    let one = Diagnostic::new(
        Severity::Error,
        "bad",
        "a\n\u{1b}.yaml",
        &source,
        at(&source, "txet"),
        &message,
    )
    .help(Some(&message));
    let shown = one.render(ColorMode::Plain);
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
    assert!(!shown.contains(['\u{202e}', '\u{200b}']), "{shown:?}");
    assert!(shown.chars().count() < 2_000);
    assert_eq!(shown.lines().count(), 7, "{shown}");
    let deep = format!("{}wrong{}\n", "x, ".repeat(2_000), ", z".repeat(2_000));
    assert_snapshot!(plain(&deep, "wrong", "deep inside"), @"
    error[bad]: deep inside
     --> project.yaml:1:6001
      |
    1 | … x, x, x, x, x, x, x, x, x, x, x, x, x, wrong, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z…
      |                                          ^^^^^
    ");
}
