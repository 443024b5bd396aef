//! Files that are not YAML, and files with conflict markers of a merge.

use insta::assert_snapshot;

use super::*;

#[test]
fn broken_yaml_is_shown_at_its_place() {
    assert_snapshot!(bad(&[
        ("project.yaml", "workflow:\n  gates:\n\t- id: a\n"),
        ("org.yaml", "roles:\n  a: {agents: [x]\n  b: {}\n"),
    ]), @"
    error[yaml_syntax]: a tab cannot indent YAML
     --> project.yaml:3:2
      |
    3 |     - id: a
      |     ^
      |
      = help: indent with spaces

    error[yaml_syntax]: not valid YAML: ',' or '}' is missing here
     --> org.yaml:3:3
      |
    3 |   b: {}
      |   ^
      |
      = help: a bracket or brace may be left open above
    ");
    assert_snapshot!(bad(&[("project.yaml", "workflow:\n  gates:\n    - id: a\n      role: r\n      when: !tags.includes('x')\n      id: b\nworkflow: {}\n")]), @"
    error[tag]: the tag `!tags.includes('x')` is not supported
     --> project.yaml:5:13
      |
    5 |       when: !tags.includes('x')
      |             ^^^^^^^^^^^^^^^^^^^
      |
      = help: remove it; a text that begins with `!` needs quotes

    error[duplicate_key]: the key `id` on line 6 is already defined on line 3
     --> project.yaml:6:7
      |
    3 |     - id: a
      |       -- first defined here
    ...
    6 |       id: b
      |       ^^
      |
      = help: keep one of the two

    error[duplicate_key]: the key `workflow` on line 7 is already defined on line 1
     --> project.yaml:7:1
      |
    1 | workflow:
      | -------- first defined here
    ...
    7 | workflow: {}
      | ^^^^^^^^
      |
      = help: keep one of the two
    ");
    let invalid =
        load(&[Source { name: "org.yaml".into(), bytes: b"roles:\n  caf\xe9: {}\n".to_vec() }])
            .unwrap_err();
    assert_snapshot!(render_all(&invalid, ColorMode::Plain), @"
    error[not_utf8]: this is not UTF-8 text
     --> org.yaml:2:6
      |
    2 |   caf�: {}
      |      ^
      |
      = help: save the file as UTF-8
    ");
}

#[test]
fn the_markers_of_a_merge_are_reported_as_that() {
    let org =
        "roles:\n<<<<<<< HEAD\n  a: {agents: [x]}\n=======\n  a: {agents: [y]}\n>>>>>>> other\n";
    let project = "project: {name: x}\n<<<<<<< HEAD\nworkflow:\n  gates: [a\n=======\nworkflow: x\n>>>>>>> other\n";
    assert_snapshot!(bad(&[("project.yaml", project), ("org.yaml", org)]), @"
    error[conflict_markers]: line 2 is a merge conflict marker
     --> project.yaml:2:1
      |
    2 | <<<<<<< HEAD
      | ^^^^^^^^^^^^
      |
      = help: keep what counts of lines 2 to 7, take the markers out, then `git add` the file and commit

    error[conflict_markers]: line 2 is a merge conflict marker
     --> org.yaml:2:1
      |
    2 | <<<<<<< HEAD
      | ^^^^^^^^^^^^
      |
      = help: keep what counts of lines 2 to 6, take the markers out, then `git add` the file and commit
    ");
    assert_snapshot!(bad(&[("project.yaml", "workflow: [a\n"), ("workflows/x.yaml", "a: 'b\n")]), @"
    error[yaml_syntax]: not valid YAML: unclosed bracket '['
     --> project.yaml:1:11
      |
    1 | workflow: [a
      |           ^
      |
      = help: close it with `]`

    error[yaml_syntax]: not valid YAML: this quote is not closed
     --> workflows/x.yaml:1:4
      |
    1 | a: 'b
      |    ^
      |
      = help: close it with the same quote; a text of more than one line goes on indented
    ");
    // In a text, markers are part of it.
    let quoting = "project:\n  name: |\n    =======\n    <<<<<<< HEAD\n";
    assert_eq!(
        good(&[("project.yaml", quoting)]).project.name.as_deref(),
        Some("=======\n<<<<<<< HEAD\n")
    );
}
