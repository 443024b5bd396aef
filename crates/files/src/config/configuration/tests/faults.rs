//! The faults of a project's files, all reported at once.

use insta::assert_snapshot;

use super::*;

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
fn a_time_zone_is_known_to_the_program_not_to_the_machine() {
    assert_snapshot!(bad(&[("project.yaml", "project: {timezone: Europe/Bremen}\n")]), @"
    error[invalid_value]: `Europe/Bremen` is not a time zone
     --> project.yaml:1:21
      |
    1 | project: {timezone: Europe/Bremen}
      |                     ^^^^^^^^^^^^^
      |
      = help: write its IANA name, as in `Europe/Berlin`
    ");
    for zone in ["UTC", "Europe/Berlin", "America/Sao_Paulo"] {
        let project =
            good(&[("project.yaml", &format!("project: {{timezone: {zone}}}\n"))]).project;
        assert_eq!(project.timezone.iana_name(), Some(zone));
    }
}

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
    let project = bad(&[("project.yaml", WRONG_PROJECT)]) + "\n";
    assert_snapshot!(found.strip_prefix(&project).unwrap(), @"
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
      = help: its fields are `roles`, `agents`, `passkeyOrigins`
    ");
}

#[test]
fn outcomes_keep_their_meaning_or_nothing_loads() {
    let with = |outcomes: &str| {
        format!("workflow:\n  gates: [{{id: a, role: r}}]\n  outcomes: {outcomes}\n")
    };
    let holds = |outcomes: &str| {
        good(&[("project.yaml", &with(outcomes))]).project.workflows[0].holds_rejections
    };
    assert!(!holds("{complete: advance, needs_review: reject, blocked: hold, skip: advance}"));
    assert!(holds("{needs_review: hold}"));
    let wrong =
        with("{complete: hold, needs_review: advance, blocked: 5, skip: reject, done: advance}");
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
