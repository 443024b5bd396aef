use insta::assert_snapshot;

use super::*;
use crate::format::diagnostic::{Paint, render_all};
use crate::model::{
    AgentId, BranchName, Layout, OnConditionError, Outcome, Period, Permission, RejectionStrategy, RemoteName,
};

fn source(name: &str, text: &str) -> Source {
    Source { name: name.to_owned(), bytes: text.as_bytes().to_vec() }
}

fn read(files: &[(&str, &str)]) -> Result<Configuration, Vec<Diagnostic>> {
    load(&files.iter().map(|(name, text)| source(name, text)).collect::<Vec<_>>())
}

fn good(files: &[(&str, &str)]) -> Configuration {
    read(files).unwrap_or_else(|found| panic!("{}", render_all(&found, Paint::Plain)))
}

fn bad(files: &[(&str, &str)]) -> String {
    render_all(&read(files).unwrap_err(), Paint::Plain)
}

fn workflow(name: &str) -> WorkflowName {
    name.parse().unwrap()
}

const PLANTS: &str = r#"
project: {name: Botanical garden, idPrefix: BG, owner: Ada}
workflow:  # how a plant gets its bed
  name: planting
  description: From the seed to the label
  defaultOutcome: "complete"
  rejectionStrategy: origin
  gates:
    - id: grow
      role: gardener
      description: "Grow it in the greenhouse"
      timeout: 2h
      escalateTo: head-gardener
    - id: inspect
      role: botanist
      canReject: true
      when: "!tags.includes('known') || metadata.rarity > 3"
      onConditionError: enter
      timeout: 1h30m
      escalateTo: head-gardener
      brief:
        role: You know plants
        expectations: [Check the leaves, Check the roots]
        outcomes: {complete: It is healthy, needs_review: It needs more care}
        tips: Use a lens
        instructions: |
          Look first.
          Then write.
        reentry:
          expectations: ["Check what was found: all of it"]
      metadata: {bed: 7, tools: [lens]}
    - id: label
      role: po
      canSkip: false
      requireHuman: true
      timeout: 1h
      escalateTo: director
  outcomes:
    complete: advance
    needs_review: reject
    blocked: hold
    skip: advance
tasks: {layout: sharded}
watch: {commitEdits: false}
git: {sync: true, remote: upstream, branch: team/tasks, every: 5m}
"#;

#[test]
fn a_whole_project_becomes_nouns() {
    let org = "
roles:
  gardener:
    agents: [agent-1, agent-2]
    description: Grows
  po: {agents: human-ada, requireHuman: true}
  empty:
agents:
  human-ada: {name: Ada, email: ada@garden.example, may: [cancel, reopen]}
  agent-1:
";
    let configuration = good(&[("org.yaml", org), ("project.yaml", PLANTS), ("README.md", ":\t?")]);
    let project = &configuration.project;
    assert_eq!((project.name.as_deref(), project.owner.as_deref()), (Some("Botanical garden"), Some("Ada")));
    assert_eq!((project.id_prefix.as_str(), project.layout, project.commit_edits), ("BG", Layout::Sharded, false));
    let git = &project.git;
    assert_eq!((git.sync, git.every.seconds()), (true, 300));
    assert_eq!(git.remote.as_ref().map(RemoteName::as_str), Some("upstream"));
    assert_eq!(git.branch.as_ref().map(BranchName::as_str), Some("team/tasks"));
    assert_eq!((&project.default_workflow, project.implicit_workflow), (&workflow("planting"), false));
    let planting = &project.workflows[0];
    assert_eq!((planting.rejection, planting.holds_rejections), (RejectionStrategy::Origin, false));
    let ids: Vec<&str> = planting.gates.iter().map(|gate| gate.id.as_str()).collect();
    assert_eq!(ids, ["grow", "inspect", "label"]);
    let inspect = &planting.gates[1];
    let duty = inspect.duty().unwrap();
    assert!(duty.can_reject && !duty.can_skip && !duty.require_human);
    assert_eq!(inspect.when.as_deref(), Some("!tags.includes('known') || metadata.rarity > 3"));
    assert_eq!(inspect.on_condition_error, OnConditionError::Enter);
    assert_eq!(duty.timeout.map(Period::seconds), Some(5_400));
    assert_eq!(duty.brief.entry.tips, Some(vec!["Use a lens".to_owned()]));
    assert_eq!(duty.brief.entry.instructions.as_deref(), Some("Look first.\nThen write.\n"));
    assert_eq!(duty.brief.entry.outcomes[1], (Outcome::NeedsReview, "It needs more care".to_owned()));
    assert_eq!(duty.brief.reentry.expectations, Some(vec!["Check what was found: all of it".to_owned()]));
    assert_eq!(inspect.metadata["bed"], 7);
    assert!(planting.gates[2].duty().unwrap().require_human);
    let org = &configuration.org;
    let people: AgentId = "human-ada".parse().unwrap();
    assert_eq!(org.role(&"gardener".parse().unwrap()).unwrap().agents.len(), 2);
    let po = org.role(&"po".parse().unwrap()).unwrap();
    assert!(po.require_human && po.agents == [people.clone()]);
    assert!(org.role(&"empty".parse().unwrap()).unwrap().agents.is_empty());
    let ada = org.agent(&people).unwrap();
    assert_eq!(
        (ada.email.as_deref(), &ada.may[..]),
        (Some("ada@garden.example"), &[Permission::Cancel, Permission::Reopen][..])
    );
    assert!(org.is_registered(&"agent-1".parse().unwrap()));
}

#[test]
fn a_project_without_a_workflow_has_the_implicit_one() {
    for files in
        [&[][..], &[("project.yaml", "")], &[("project.yaml", "# nothing yet\n"), ("org.yaml", "# nobody yet\n")]]
    {
        let configuration = good(files);
        let project = configuration.project;
        assert!(project.implicit_workflow);
        assert_eq!(project.default_workflow, project.workflows[0].name);
        let [gate] = &project.workflows[0].gates[..] else { panic!("one gate") };
        assert_eq!((gate.id.as_str(), gate.role().unwrap().as_str()), ("complete", "default"));
        assert_eq!(configuration.org, Org::default());
    }
}

/// The shapes in which people write workflows of very different trades, comments and all.
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
    let told: Vec<(String, RejectionStrategy, usize)> = configuration
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
    assert_eq!(told, expected);
    assert_eq!(configuration.project.default_workflow, workflow("dinner"));
    let court = configuration.project.workflow(&workflow("court")).unwrap();
    assert_eq!(court.gates[2].exits.reject_to, Some("hear".parse().unwrap()));
    // As Windows editors save it, it says the same.
    let windows: Vec<(&str, String)> =
        files.iter().map(|(name, text)| (*name, format!("\u{feff}{}", text.replace('\n', "\r\n")))).collect();
    let windows = good(&windows.iter().map(|(name, text)| (*name, text.as_str())).collect::<Vec<_>>());
    assert_eq!((windows.project, windows.org), (configuration.project, configuration.org));
}

#[test]
fn what_is_written_once_with_an_anchor_counts_everywhere() {
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
    let at = Place::Gate { workflow: workflow("default"), gate: 1, field: "brief" };
    let (_, span) = configuration.locate(&at);
    assert_eq!(&text[span], "*brief");
}

#[test]
fn names_say_what_a_file_is_about() {
    let workflow = |stem: &str| Some(Subject::Workflow(stem.to_owned()));
    for (name, subject) in [
        ("project.yaml", Some(Subject::Project)),
        ("org.yaml", Some(Subject::Org)),
        ("workflows/release.yaml", workflow("release")),
        ("workflows/release.yml", workflow("release")),
        ("workflows/a.b.yaml", workflow("a.b")),
        ("workflows/README.md", None),
        ("workflows/.release.yaml", None),
        ("workflows/.yaml", None),
        ("workflows/old/release.yaml", None),
        ("workflowsx.yaml", None),
        ("sub/project.yaml", None),
        ("project.yml", None),
    ] {
        assert_eq!(Subject::of(name), subject, "{name}");
    }
}

#[test]
fn several_workflows_are_told_apart_by_name() {
    let gates = "gates: [{id: a, role: r}]";
    let default = |files: &[(&str, &str)]| good(files).project.default_workflow.to_string();
    let list = format!("workflows:\n- {{name: one, {gates}}}\n- {{name: default, {gates}}}\n");
    assert_eq!(default(&[("project.yaml", &list)]), "default");
    let mapping = format!("defaultWorkflow: two\nworkflows:\n  one: {{{gates}}}\n  two: {{name: two, {gates}}}\n");
    assert_eq!(default(&[("project.yaml", &mapping)]), "two");
    assert_eq!(default(&[("workflows/only.yml", gates)]), "only");
    let own = format!("workflow: {{{gates}}}");
    let under = format!("workflow:\n  name: late\n  {gates}\n");
    let files = [("workflows/b.yaml", under.as_str()), ("project.yaml", &own), ("workflows/a.yaml", gates)];
    assert_eq!(default(&files), "default");
    let names: Vec<String> = good(&files).project.workflows.iter().map(|one| one.name.to_string()).collect();
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
    assert_snapshot!(bad(&[("project.yaml", &own), ("workflows/default.yaml", gates)]), @"
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
    let other = format!("{own}\nworkflows:\n  two: {{name: three, {gates}}}\n");
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

const WRONG_PROJECT: &str = "\
project: {nam: Garden, idPrefix: bg}
git: {branch: tasks/}
gates: []
workflow:
  rejectionStrategy: orgin
  gates:
    - id: grow
      role: gardener
      timeout: 90
      canRejct: true
    - id: in spect
      canReject: yes
      brief: {tips: [Note: colons], reentry: {reentry: x}}
      when: [tags]
    - label
";

const WRONG_ORG: &str = "\
roles:
  gardener: [agent-1]
  po: {agents: {a: b}, requireHuman: on}
agents:
  human-ada: {email: Ada@garden.example}
  human-bob: {email: ada@garden.example, may: [delete]}
teams: []
";

#[test]
fn everything_wrong_with_a_project_is_said_at_once() {
    assert_snapshot!(bad(&[("project.yaml", WRONG_PROJECT)]), @"
    error[unknown_field]: `project` has no field `nam`
     --> project.yaml:1:11
      |
    1 | project: {nam: Garden, idPrefix: bg}
      |           ^^^
      |
      = help: did you mean `name`?

    error[invalid_value]: `bg` is not an id prefix
     --> project.yaml:1:34
      |
    1 | project: {nam: Garden, idPrefix: bg}
      |                                  ^^
      |
      = help: use a capital letter, then capitals or digits, at most 16 in all (as in `AOF`)

    error[invalid_value]: `tasks/` is not the name of a branch
     --> project.yaml:2:15
      |
    2 | git: {branch: tasks/}
      |               ^^^^^^
      |
      = help: use letters, digits, `-`, `_`, `.` and, between names, `/`, at most 128 in all (as in `aof` or `team/tasks`)

    error[unknown_field]: project.yaml has no field `gates`
     --> project.yaml:3:1
      |
    3 | gates: []
      | ^^^^^
      |
      = help: write it under `workflow`, indented

    error[invalid_value]: `orgin` is not a rejection strategy
     --> project.yaml:5:22
      |
    5 |   rejectionStrategy: orgin
      |                      ^^^^^
      |
      = help: it is one of `origin`, `previous`, `named`

    error[invalid_value]: `90` is not a length of time
     --> project.yaml:9:16
      |
    9 |       timeout: 90
      |                ^^
      |
      = help: write a number and a unit of `s`, `m`, `h` or `d`, as in `45m`, `2h` or `1h30m`

    error[unknown_field]: a gate has no field `canRejct`
      --> project.yaml:10:7
       |
    10 |       canRejct: true
       |       ^^^^^^^^
       |
       = help: did you mean `canReject`?

    error[missing_field]: a gate needs `role`
      --> project.yaml:11:7
       |
    11 |     - id: in spect
       |       ^^

    error[invalid_value]: `in spect` is not a gate id
      --> project.yaml:11:11
       |
    11 |     - id: in spect
       |           ^^^^^^^^
       |
       = help: use a letter or digit, then letters, digits, `-` or `_`, at most 64 in all (as in `code-review`)

    error[wrong_kind]: `canReject` is `true` or `false`, and this is a string
      --> project.yaml:12:18
       |
    12 |       canReject: yes
       |                  ^^^
       |
       = help: write `canReject: true`

    error[wrong_kind]: each of `tips` is a text, and this is a mapping
      --> project.yaml:13:22
       |
    13 |       brief: {tips: [Note: colons], reentry: {reentry: x}}
       |                      ^^^^^^^^^^^^
       |
       = help: a text with `: ` in it needs quotes

    error[unknown_field]: a brief for after a rejection has no field `reentry`
      --> project.yaml:13:47
       |
    13 |       brief: {tips: [Note: colons], reentry: {reentry: x}}
       |                                               ^^^^^^^
       |
       = help: its fields are `role`, `expectations`, `outcomes`, `tips`, `instructions`

    error[wrong_kind]: `when` is a text, and this is a list
      --> project.yaml:14:13
       |
    14 |       when: [tags]
       |             ^^^^^^

    error[wrong_kind]: a gate is a mapping of fields, and this is a string
      --> project.yaml:15:7
       |
    15 |     - label
       |       ^^^^^
    ");
}

#[test]
fn two_files_can_be_wrong_at_once() {
    let found = bad(&[("org.yaml", WRONG_ORG), ("project.yaml", WRONG_PROJECT)]);
    let own = bad(&[("project.yaml", WRONG_PROJECT)]) + "\n";
    assert_snapshot!(found.strip_prefix(&own).unwrap(), @"
    error[wrong_kind]: a role is a mapping of fields, and this is a list
     --> org.yaml:2:13
      |
    2 |   gardener: [agent-1]
      |             ^^^^^^^^^
      |
      = help: write the agents behind `agents:`, as in `agents: [agent-1]`

    error[wrong_kind]: `agents` is a list, and this is a mapping
     --> org.yaml:3:16
      |
    3 |   po: {agents: {a: b}, requireHuman: on}
      |                ^^^^^^

    error[wrong_kind]: `requireHuman` is `true` or `false`, and this is a string
     --> org.yaml:3:38
      |
    3 |   po: {agents: {a: b}, requireHuman: on}
      |                                      ^^
      |
      = help: write `requireHuman: true`

    error[duplicate_email]: `ada@garden.example` is already another agent's
     --> org.yaml:6:22
      |
    5 |   human-ada: {email: Ada@garden.example}
      |                      ------------------ of this one
    6 |   human-bob: {email: ada@garden.example, may: [delete]}
      |                      ^^^^^^^^^^^^^^^^^^
      |
      = help: give each agent an address of its own: it tells who acts

    error[invalid_value]: `delete` is not a permission
     --> org.yaml:6:48
      |
    6 |   human-bob: {email: ada@garden.example, may: [delete]}
      |                                                ^^^^^^
      |
      = help: it is one of `new`, `edit`, `cancel`, `unblock`, `reopen`, `override`, `hold`, `assign`

    error[unknown_field]: org.yaml has no field `teams`
     --> org.yaml:7:1
      |
    7 | teams: []
      | ^^^^^
      |
      = help: its fields are `roles`, `agents`
    ");
}

#[test]
fn outcomes_do_what_they_mean_or_nothing_loads() {
    let with = |outcomes: &str| format!("workflow:\n  gates: [{{id: a, role: r}}]\n  outcomes: {outcomes}\n");
    let holds = |outcomes: &str| good(&[("project.yaml", &with(outcomes))]).project.workflows[0].holds_rejections;
    assert!(!holds("{complete: advance, needs_review: reject, blocked: hold, skip: advance}"));
    assert!(holds("{needs_review: hold}"));
    let wrong = with("{complete: hold, needs_review: advance, blocked: 5, skip: reject, done: advance}");
    assert_snapshot!(bad(&[("project.yaml", &wrong)]), @"
    error[invalid_outcome_action]: `complete: hold` is not possible: finished work would not move on
     --> project.yaml:3:24
      |
    3 |   outcomes: {complete: hold, needs_review: advance, blocked: 5, skip: reject, done: advance}
      |                        ^^^^
      |
      = help: `complete` takes `advance`

    error[invalid_outcome_action]: `needs_review: advance` is not possible: work that failed a review would pass it
     --> project.yaml:3:44
      |
    3 |   outcomes: {complete: hold, needs_review: advance, blocked: 5, skip: reject, done: advance}
      |                                            ^^^^^^^
      |
      = help: `needs_review` takes `reject`, `hold`

    error[invalid_outcome_action]: `5` is nothing that an outcome does
     --> project.yaml:3:62
      |
    3 |   outcomes: {complete: hold, needs_review: advance, blocked: 5, skip: reject, done: advance}
      |                                                              ^
      |
      = help: `blocked` takes `hold`

    error[invalid_outcome_action]: `skip: reject` is not possible: a gate that does not apply would keep its task
     --> project.yaml:3:71
      |
    3 |   outcomes: {complete: hold, needs_review: advance, blocked: 5, skip: reject, done: advance}
      |                                                                       ^^^^^^
      |
      = help: `skip` takes `advance`

    error[unknown_outcome]: `done` is not one of the outcomes that a workflow has everywhere
     --> project.yaml:3:79
      |
    3 |   outcomes: {complete: hold, needs_review: advance, blocked: 5, skip: reject, done: advance}
      |                                                                               ^^^^
      |
      = help: say where it leads in the `routes` of the gate that has it, or in its `onFailure`
    ");
}

#[test]
fn broken_yaml_is_shown_where_it_breaks() {
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

    error[yaml_syntax]: not valid YAML: while parsing a flow mapping, did not find expected ',' or '}'
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
    let invalid = load(&[Source { name: "org.yaml".into(), bytes: b"roles:\n  caf\xe9: {}\n".to_vec() }]).unwrap_err();
    assert_snapshot!(render_all(&invalid, Paint::Plain), @"
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
fn the_markers_of_a_merge_are_told_as_that() {
    let org = "roles:\n<<<<<<< HEAD\n  a: {agents: [x]}\n=======\n  a: {agents: [y]}\n>>>>>>> other\n";
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

    error[yaml_syntax]: not valid YAML: invalid indentation in multiline quoted scalar
     --> workflows/x.yaml:2:1
      |
    2 |
      | ^
      |
      = help: a text ends with the quote that it begins with, and goes on indented
    ");
    // In a text they are part of it.
    let quoting = "project:\n  name: |\n    =======\n    <<<<<<< HEAD\n";
    assert_eq!(good(&[("project.yaml", quoting)]).project.name.as_deref(), Some("=======\n<<<<<<< HEAD\n"));
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

#[test]
fn places_are_found_in_the_files() {
    let org = "roles:\n  po: {agents: [human-ada, agent-1]}\n  solo: {agents: agent-1}\nagents:\n- id: agent-1\n  may: [new]\n";
    let more = "workflow:\n  gates:\n    - {id: a, role: r}\n";
    let configuration = good(&[("project.yaml", PLANTS), ("org.yaml", org), ("workflows/more.yaml", more)]);
    let text = |at: &Place| {
        let (file, span) = configuration.locate(at);
        let text = [("project.yaml", PLANTS), ("org.yaml", org), ("workflows/more.yaml", more)];
        let text = text.iter().find(|(name, _)| *name == file).unwrap().1;
        format!("{file}: {}", &text[span])
    };
    let gate = |gate, field| Place::Gate { workflow: workflow("planting"), gate, field };
    let role = |role: &str, field| Place::Role { role: role.parse().unwrap(), field };
    let member = |role: &str, index| Place::Member { role: role.parse().unwrap(), index };
    assert_eq!(text(&gate(1, "timeout")), "project.yaml: 1h30m");
    assert_eq!(text(&gate(1, "brief")), "project.yaml: brief");
    assert_eq!(text(&gate(1, "rejectTo")), "project.yaml: id: inspect");
    assert_eq!(text(&gate(9, "id")), "project.yaml: gates");
    assert_eq!(text(&Place::Project { field: "project.idPrefix" }), "project.yaml: BG");
    assert_eq!(text(&Place::Project { field: "tasks.sizes" }), "project.yaml: tasks");
    assert_eq!(text(&Place::Workflow { workflow: workflow("planting"), field: "name" }), "project.yaml: planting");
    assert_eq!(text(&Place::Workflow { workflow: workflow("more"), field: "gates" }), "workflows/more.yaml: gates");
    assert_eq!(text(&role("po", "agents")), "org.yaml: [human-ada, agent-1]");
    assert_eq!(text(&role("po", "requireHuman")), "org.yaml: po");
    assert_eq!(
        (text(&member("po", 1)), text(&member("solo", 0))),
        ("org.yaml: agent-1".into(), "org.yaml: agent-1".into())
    );
    assert_eq!(text(&Place::Agent { agent: "agent-1".parse().unwrap(), field: "may" }), "org.yaml: [new]");
    let empty = good(&[]);
    assert_eq!(empty.locate(&role("po", "agents")), ("org.yaml", 0..0));
}

#[test]
fn a_part_of_an_expression_is_underlined_however_it_is_written() {
    let expression =
        |written: &str| format!("workflow:\n  gates:\n    - id: a\n      role: r\n      when: {written}\n");
    let marked = |written: &str| {
        let text = expression(written);
        let configuration = good(&[("project.yaml", &text)]);
        let when = configuration.project.workflows[0].gates[0].when.clone().unwrap();
        let start = when.find("meta").unwrap();
        let at = Place::Gate { workflow: workflow("default"), gate: 0, field: "when" };
        let found =
            configuration.diagnostic(Severity::Error, "invalid_condition", &at, Some(&(start..start + 8)), "no", None);
        text[found.span].to_owned()
    };
    assert_eq!(marked("tags.length + metadata"), "metadata");
    assert_eq!(marked("\"!tags.includes('é') || metadata.x\""), "metadata");
    assert_eq!(marked(r#""tags.includes(\"a\\\") || metadata.x""#), "metadata");
    assert_eq!(marked("'tags.includes(''a'') || metadata.x'"), "metadata");
    assert_eq!(marked("|\n        tags.includes('a')\n          || metadata.x\n"), "metadata");
    assert_eq!(marked("|-\n        tags.includes('a') &&\n\n        metadata.x"), "metadata");
    // Folded over two lines: the whole of it.
    assert_eq!(marked(">-\n        tags.length >\n        metadata.x"), "when");
    assert_eq!(marked("\"\\u0061 + metadata\""), "\"\\u0061 + metadata\"");
    let text = expression("\"tags.includs('a')\"");
    let at = Place::Gate { workflow: workflow("default"), gate: 0, field: "when" };
    let found = good(&[("project.yaml", &text)]).diagnostic(
        Severity::Warning,
        "invalid_condition",
        &at,
        Some(&(5..12)),
        "a list has no `includs`",
        Some("did you mean `includes`?"),
    );
    assert_snapshot!(found.render(Paint::Plain), @r#"
    warning[invalid_condition]: a list has no `includs`
     --> project.yaml:5:19
      |
    5 |       when: "tags.includs('a')"
      |                   ^^^^^^^
      |
      = help: did you mean `includes`?
    "#);
}

#[test]
fn a_key_that_nobody_could_check_is_underlined() {
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDrGwTXlPu6BCAs/WbjSjtwBTL/ZF3EAOFL3allUTOAO";
    let org = format!(
        "agents:\n  human-ada: {{signingKey: {key} ada@garden.example}}\n  human-bob:\n    signingKey:\n      - {key}\n      \
         - ssh-ed25519 AAAA\n      - ssh-dss AAAAB3NzaC1kc3M=\n  human-eve: {{signingKey: []}}\n"
    );
    assert_snapshot!(bad(&[("org.yaml", &org)]), @"
    error[duplicate_signing_key]: this key stands here twice
     --> org.yaml:5:9
      |
    2 |   human-ada: {signingKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDrGwTXlPu6BCAs/WbjSjtwBTL/ZF3EAOFL3allUTOAO ada@garden.ex…
      |                           ---------------------------------------------------------------------------------------------- the same one
    ...
    5 |       - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDrGwTXlPu6BCAs/WbjSjtwBTL/ZF3EAOFL3allUTOAO
      |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: give each agent a key of its own: it tells who has signed

    error[invalid_value]: this is no OpenSSH public key, or not the whole of one
     --> org.yaml:6:9
      |
    6 |       - ssh-ed25519 AAAA
      |         ^^^^^^^^^^^^^^^^
      |
      = help: write the line of its `.pub` file, as in `ssh-ed25519 AAAA.. ann@laptop`

    error[invalid_value]: keys of type `ssh-dss` are not checked
     --> org.yaml:7:9
      |
    7 |       - ssh-dss AAAAB3NzaC1kc3M=
      |         ^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: use an Ed25519, ECDSA (P-256, P-384) or RSA key, or one of a hardware token (`ed25519-sk`, `ecdsa-sk`)

    error[invalid_value]: `signingKey` lists no key
     --> org.yaml:8:27
      |
    8 |   human-eve: {signingKey: []}
      |                           ^^
      |
      = help: name a public key, or leave it out: then nothing needs a signature
    ");
}
