//! Workflows: the forms that people write, the files that hold them, and their names.

use insta::assert_snapshot;

use super::*;
use aof_domain::RejectionStrategy;

/// Workflows of very different trades, in the forms in which people write them, with comments.
#[test]
fn workflows_of_any_trade_are_read_as_people_write_them() {
    let kitchen = "\
workflow:  # from order to table
  name: dinner         # what orders call it
  rejectionStrategy: origin  # back to the stove

  gates:  # in this order
    # The stove
    - id: cook  # gate id
      role: cook          # role in org.yaml
      description: \"Cook the dish\"  # shown

    - id: taste
      role: chef
      canReject: true     # may send it back
      when: \"metadata.guests > 4 || tags.includes('vip')\"  # large tables only

    - id: serve
      role: waiter
      requireHuman: true
      timeout: 10m
      escalateTo: chef
";
    let press = "\
name: press
rejectionStrategy: previous
gates:
- {id: draft, role: writer}
- {id: check, role: checker, canReject: true, when: 'tags.includes(''news'')'}
- {id: print, role: printer}
";
    let court = "
workflow:
  rejectionStrategy: named
  gates: [{id: file, role: clerk}, {id: hear, role: judge}, {id: appeal, role: judge, canReject: true, rejectTo: hear}]
";
    let org = "\
roles:  # who does what
  cook:
    agents:
      - agent-cook-1      # the first
      - agent-cook-2      # and a second
    description: \"Cooks\"
  chef:
    agents: [human-chef]
    requireHuman: true
";
    let files = [
        ("project.yaml", kitchen),
        ("org.yaml", org),
        ("workflows/newspaper.yaml", press),
        ("workflows/court.yaml", court),
    ];
    let configuration = good(&files);
    let workflows: Vec<(String, RejectionStrategy, usize)> = configuration
        .project
        .workflows
        .iter()
        .map(|one| (one.name.to_string(), one.rejection, one.gates.len()))
        .collect();
    let expected = [
        ("dinner".to_owned(), RejectionStrategy::Origin, 3),
        ("court".to_owned(), RejectionStrategy::Named, 3),
        ("press".to_owned(), RejectionStrategy::Previous, 3),
    ];
    assert_eq!(workflows, expected);
    assert_eq!(configuration.project.default_workflow, workflow("dinner"));
    let court = configuration.project.workflow(&workflow("court")).unwrap();
    assert_eq!(court.gates[2].exits.reject_to, Some("hear".parse().unwrap()));
    // The content is the same in a file that a Windows editor saved.
    let windows: Vec<(&str, String)> = files
        .iter()
        .map(|(name, text)| (*name, format!("\u{feff}{}", text.replace('\n', "\r\n"))))
        .collect();
    let windows =
        good(&windows.iter().map(|(name, text)| (*name, text.as_str())).collect::<Vec<_>>());
    assert_eq!((windows.project, windows.org), (configuration.project, configuration.org));
}

#[test]
fn an_anchored_value_counts_everywhere() {
    let text = "\
workflow:
  gates:
    - {id: a, role: r, brief: &brief {tips: [Look twice]}}
    - {id: b, role: r, brief: *brief, timeout: 1h}
";
    let configuration = good(&[("project.yaml", text)]);
    let gates = &configuration.project.workflows[0].gates;
    let brief = |index: usize| &gates[index].duty().unwrap().brief;
    assert_eq!(brief(0), brief(1));
    let at = ConfigPlace::Gate { workflow: workflow("default"), gate: 1, field: "brief" };
    let (_, span) = located(&configuration, &at);
    assert_eq!(&text[span], "*brief");
}

#[test]
fn several_workflows_are_distinguished_by_name() {
    let gates = "gates: [{id: a, role: r}]";
    let default = |files: &[(&str, &str)]| good(files).project.default_workflow.to_string();
    let list = format!("workflows:\n- {{name: one, {gates}}}\n- {{name: default, {gates}}}\n");
    assert_eq!(default(&[("project.yaml", &list)]), "default");
    let mapping = format!(
        "defaultWorkflow: two\nworkflows:\n  one: {{{gates}}}\n  two: {{name: two, {gates}}}\n"
    );
    assert_eq!(default(&[("project.yaml", &mapping)]), "two");
    assert_eq!(default(&[("workflows/only.yml", gates)]), "only");
    let one = format!("workflow: {{{gates}}}");
    let under = format!("workflow:\n  name: late\n  {gates}\n");
    let files =
        [("workflows/b.yaml", under.as_str()), ("project.yaml", &one), ("workflows/a.yaml", gates)];
    assert_eq!(default(&files), "default");
    let names: Vec<String> =
        good(&files).project.workflows.iter().map(|one| one.name.to_string()).collect();
    assert_eq!(names, ["default", "a", "late"]);
    assert_snapshot!(bad(&files[..1].iter().chain(&files[2..]).copied().collect::<Vec<_>>()), @"
    error[no_default_workflow]: none of the 2 workflows is the default
     --> workflows/a.yaml:1:1
      |
    1 | gates: [{id: a, role: r}]
      | ^
      |
      = help: add `defaultWorkflow: a` to project.yaml, or name another of `a`, `late`
    ");
    assert_snapshot!(bad(&[("project.yaml", &one), ("workflows/default.yaml", gates)]), @"
    error[duplicate_workflow]: there is already a workflow `default`, at project.yaml:1
     --> workflows/default.yaml:1:1
      |
    1 | gates: [{id: a, role: r}]
      | ^
      |
      = help: give each workflow a `name` of its own
    ");
    let twice = format!("workflows:\n- {{name: one, {gates}}}\n- {{name: one, {gates}}}\n");
    assert_snapshot!(bad(&[("project.yaml", &twice)]), @"
    error[duplicate_workflow]: there is already a workflow `one`, at project.yaml:2
     --> project.yaml:3:10
      |
    3 | - {name: one, gates: [{id: a, role: r}]}
      |          ^^^
      |
      = help: give each workflow a `name` of its own
    ");
    let other = format!("{one}\nworkflows:\n  two: {{name: three, {gates}}}\n");
    assert_snapshot!(bad(&[("project.yaml", &other)]), @"
    error[conflicting_fields]: `workflow` and `workflows` exclude each other
     --> project.yaml:2:1
      |
    1 | workflow: {gates: [{id: a, role: r}]}
      | -------- the other is here
    2 | workflows:
      | ^^^^^^^^^
      |
      = help: move the one workflow into `workflows`, and name it in `defaultWorkflow`

    error[name_mismatch]: this says `three`, and the workflow stands under `two`
     --> project.yaml:3:15
      |
    3 |   two: {name: three, gates: [{id: a, role: r}]}
      |               ^^^^^
      |
      = help: remove `name`: the key is the name
    ");
    assert_snapshot!(bad(&[("workflows/two words.yaml", gates), ("workflows/none.yaml", "# empty\n")]), @"
    error[empty_workflow]: this file says nothing
     --> workflows/none.yaml:1:1
      |
    1 | # empty
      | ^
      |
      = help: add `gates` to it, or remove the file

    error[missing_field]: the name of this file is no name for a workflow
     --> workflows/two words.yaml:1:1
      |
    1 | gates: [{id: a, role: r}]
      | ^
      |
      = help: add a `name` of letters, digits, `-` and `_`, or rename the file
    ");
}

#[test]
fn an_announced_workflow_that_is_not_there_is_no_free_pass() {
    for (text, code) in [
        ("workflow:\n", "empty_workflow"),
        ("workflows: []\n", "empty_workflow"),
        ("workflow: {name: a}\n", "missing_field"),
        ("workflow: {gates: []}\n", "no_gates"),
        ("workflow:\n  gates:\n    # - id: a\n", "missing_field"),
    ] {
        let found = read(&[("project.yaml", text)]).unwrap_err();
        assert_eq!(found.iter().map(|one| one.code).collect::<Vec<_>>(), [code], "{text}");
    }
}
