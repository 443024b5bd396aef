//! The places of values in the files, down to a part of an expression.

use insta::assert_snapshot;

use super::*;

#[test]
fn places_are_found_in_the_files() {
    let org = "roles:\n  po: {agents: [human-ada, agent-1]}\n  solo: {agents: agent-1}\nagents:\n- id: agent-1\n  may: [new]\n";
    let more = "workflow:\n  gates:\n    - {id: a, role: r}\n";
    let configuration =
        good(&[("project.yaml", PLANTS), ("org.yaml", org), ("workflows/more.yaml", more)]);
    let text = |at: &ConfigPlace| {
        let (file, span) = located(&configuration, at);
        let text = [("project.yaml", PLANTS), ("org.yaml", org), ("workflows/more.yaml", more)];
        let text = text.iter().find(|(name, _)| *name == file).unwrap().1;
        format!("{file}: {}", &text[span])
    };
    let gate = |gate, field| ConfigPlace::Gate { workflow: workflow("planting"), gate, field };
    let role = |role: &str, field| ConfigPlace::Role { role: role.parse().unwrap(), field };
    let member = |role: &str, index| ConfigPlace::Member { role: role.parse().unwrap(), index };
    assert_eq!(text(&gate(1, "timeout")), "project.yaml: 1h30m");
    assert_eq!(text(&gate(1, "brief")), "project.yaml: brief");
    assert_eq!(text(&gate(1, "rejectTo")), "project.yaml: id: inspect");
    assert_eq!(text(&gate(9, "id")), "project.yaml: gates");
    assert_eq!(text(&ConfigPlace::Project { field: "project.idPrefix" }), "project.yaml: BG");
    assert_eq!(text(&ConfigPlace::Project { field: "tasks.sizes" }), "project.yaml: tasks");
    assert_eq!(
        text(&ConfigPlace::Workflow { workflow: workflow("planting"), field: "name" }),
        "project.yaml: planting"
    );
    assert_eq!(
        text(&ConfigPlace::Workflow { workflow: workflow("more"), field: "gates" }),
        "workflows/more.yaml: gates"
    );
    assert_eq!(text(&role("po", "agents")), "org.yaml: [human-ada, agent-1]");
    assert_eq!(text(&role("po", "requireHuman")), "org.yaml: po");
    assert_eq!(
        (text(&member("po", 1)), text(&member("solo", 0))),
        ("org.yaml: agent-1".into(), "org.yaml: agent-1".into())
    );
    assert_eq!(
        text(&ConfigPlace::Agent { agent: "agent-1".parse().unwrap(), field: "may" }),
        "org.yaml: [new]"
    );
    let empty = good(&[]);
    assert_eq!(located(&empty, &role("po", "agents")), ("org.yaml", 0..0));
}

#[test]
fn a_part_of_an_expression_is_underlined_however_it_is_written() {
    let expression = |written: &str| {
        format!("workflow:\n  gates:\n    - id: a\n      role: r\n      when: {written}\n")
    };
    let marked = |written: &str| {
        let text = expression(written);
        let configuration = good(&[("project.yaml", &text)]);
        let when = configuration.project.workflows[0].gates[0].when.clone().unwrap();
        let start = when.find("meta").unwrap();
        let at = ConfigPlace::Gate { workflow: workflow("default"), gate: 0, field: "when" };
        let found = configuration.diagnostic(
            Severity::Error,
            "invalid_condition",
            &at,
            Some(&(start..start + 8)),
            "no",
            None,
        );
        text[found.span].to_owned()
    };
    assert_eq!(marked("tags.length + metadata"), "metadata");
    assert_eq!(marked("\"!tags.includes('é') || metadata.x\""), "metadata");
    assert_eq!(marked(r#""tags.includes(\"a\\\") || metadata.x""#), "metadata");
    assert_eq!(marked("'tags.includes(''a'') || metadata.x'"), "metadata");
    assert_eq!(marked("|\n        tags.includes('a')\n          || metadata.x\n"), "metadata");
    assert_eq!(marked("|-\n        tags.includes('a') &&\n\n        metadata.x"), "metadata");
    // A text that is folded over two lines is marked as a whole.
    assert_eq!(marked(">-\n        tags.length >\n        metadata.x"), "when");
    assert_eq!(marked("\"\\u0061 + metadata\""), "\"\\u0061 + metadata\"");
    let text = expression("\"tags.includs('a')\"");
    let at = ConfigPlace::Gate { workflow: workflow("default"), gate: 0, field: "when" };
    let found = good(&[("project.yaml", &text)]).diagnostic(
        Severity::Warning,
        "invalid_condition",
        &at,
        Some(&(5..12)),
        "a list has no `includs`",
        Some("did you mean `includes`?"),
    );
    assert_snapshot!(found.render(ColorMode::Plain), @r#"
    warning[invalid_condition]: a list has no `includs`
     --> project.yaml:5:19
      |
    5 |       when: "tags.includs('a')"
      |                   ^^^^^^^
      |
      = help: did you mean `includes`?
    "#);
}
