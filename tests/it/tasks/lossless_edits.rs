//! A transition changes its own lines of a task file, whatever people have written around them.

use insta::assert_snapshot;

use crate::support::checker::check_what_people_moved;
use crate::support::environment::TestEnvironment;

/// A file that many hands and tools have written over ten years. It stands at `implement`.
const OLD: &str = "---
# Made by hand in 2016; do not reformat!
title:   \"Add login\"   # the \"old\" one
id: AOF-abc
status: 'ready'          # by hand
created: 2016-01-02T03:04:05Z
updated: 2016-01-02T03:04:05Z
x-defaults: &who {name: Ada, mail: \"ada@example.org\"}

x-owner: *who
tags: [auth,   'no',  \"010\"]   # flow, on purpose
metadata:
    # four spaces here
    priority:   high
    list:
    - a      # not indented
    -   b
description: >-
   Folded
   text: with a colon

   and a gap
x-block: |+
  kept # is no comment

routing: {workflow: default, role: backend}
gate:
  # where it is
  current: implement   # the gate
  entered: 2016-01-02T03:04:05Z
  visit: 0
# the end
---

# Body\twith a tab

---

not: frontmatter
---
last line";

fn project(bytes: &[u8]) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.write(".gitattributes", "* -text\n");
    env.write("tasks/AOF-abc.md", bytes);
    env.commit_all("an old task");
    env
}

/// Returns the lines that a diff takes away and adds.
fn changed(env: &TestEnvironment) -> String {
    let diff = env.git_plain(&["show", "--format=", "--unified=0", "--no-renames"]);
    let lines = diff.lines().filter(|line| {
        !line.starts_with("@@") && !line.starts_with("index") && !line.starts_with("diff")
    });
    lines.map(|line| format!("{}\n", line.escape_debug())).collect()
}

#[test]
fn only_the_transition_is_in_the_diff() {
    let env = project(OLD.as_bytes());
    let _ = env.complete("AOF-abc", "agent-7");
    assert_snapshot!(changed(&env), @"
    --- a/tasks/AOF-abc.md
    +++ b/tasks/AOF-abc.md
    -updated: 2016-01-02T03:04:05Z
    +updated: 2026-02-16T10:00:06Z
    -routing: {workflow: default, role: backend}
    +routing: {workflow: default, role: architect}
    -  current: implement   # the gate
    -  entered: 2016-01-02T03:04:05Z
    -  visit: 0
    +  current: review   # the gate
    +  entered: 2026-02-16T10:00:06Z
    +  visit: 1
    +workflowHash: HASH
    +gateHistory:
    +  - gate: implement
    +    role: backend
    +    agent: agent-7
    +    entered: 2016-01-02T03:04:05Z
    +    exited: 2026-02-16T10:00:06Z
    +    duration: 319532161
    +    outcome: complete
    +    summary: Did it
    +    to: review
    +    workflow: HASH
    +    completion:
    +      id: ULID
    +      sha256: SHA256
    ");
    let _ = env
        .say("AOF-abc", "agent-3", "needs_review", &["--blocker", "`login.rs` panics: \"now\""])
        .success();
    assert_snapshot!(changed(&env), @r#"
    --- a/tasks/AOF-abc.md
    +++ b/tasks/AOF-abc.md
    -updated: 2026-02-16T10:00:06Z
    +updated: 2026-02-16T10:00:08Z
    -routing: {workflow: default, role: architect}
    +routing: {workflow: default, role: backend}
    -  current: review   # the gate
    -  entered: 2026-02-16T10:00:06Z
    -  visit: 1
    +  current: implement   # the gate
    +  entered: 2026-02-16T10:00:08Z
    +  visit: 2
    +  - gate: review
    +    role: architect
    +    agent: agent-3
    +    entered: 2026-02-16T10:00:06Z
    +    exited: 2026-02-16T10:00:08Z
    +    duration: 2
    +    outcome: needs_review
    +    summary: Did it
    +    blockers:
    +      - \"`login.rs` panics: \\\"now\\\"\"
    +    to: implement
    +    retry: 1
    +    workflow: HASH
    +    completion:
    +      id: ULID
    +      sha256: SHA256
    +reviewContext:
    +  fromGate: review
    +  fromAgent: agent-3
    +  fromRole: architect
    +  timestamp: 2026-02-16T10:00:08Z
    +  blockers:
    +    - \"`login.rs` panics: \\\"now\\\"\"
    "#);
    check_what_people_moved(&env);
}

#[test]
fn line_ends_and_the_mark_at_the_beginning_stay() {
    let bytes = format!("\u{feff}{}", OLD.replace('\n', "\r\n"));
    let env = project(bytes.as_bytes());
    let _ = env.complete("AOF-abc", "agent-7");
    let text = env.task_text("AOF-abc");
    assert!(
        text.starts_with("\u{feff}---\r\n# Made by hand") && text.ends_with("\r\n---\r\nlast line")
    );
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert_snapshot!(changed(&env), @"
    --- a/tasks/AOF-abc.md
    +++ b/tasks/AOF-abc.md
    -updated: 2016-01-02T03:04:05Z
    +updated: 2026-02-16T10:00:06Z
    -routing: {workflow: default, role: backend}
    +routing: {workflow: default, role: architect}
    -  current: implement   # the gate
    -  entered: 2016-01-02T03:04:05Z
    -  visit: 0
    +  current: review   # the gate
    +  entered: 2026-02-16T10:00:06Z
    +  visit: 1
    +workflowHash: HASH
    +gateHistory:
    +  - gate: implement
    +    role: backend
    +    agent: agent-7
    +    entered: 2016-01-02T03:04:05Z
    +    exited: 2026-02-16T10:00:06Z
    +    duration: 319532161
    +    outcome: complete
    +    summary: Did it
    +    to: review
    +    workflow: HASH
    +    completion:
    +      id: ULID
    +      sha256: SHA256
    ");
    check_what_people_moved(&env);
}

#[test]
fn text_after_the_frontmatter_is_kept_to_the_byte() {
    for body in [
        "",
        "\n",
        "no final newline",
        "\r\n mixed \n ends \r",
        "---\n---\n",
        "\u{2028}\u{85}\u{0}\t",
        "\n\n\n",
    ] {
        let env = project(format!("---\ntitle: Add login\n---\n{body}").as_bytes());
        let _ = env.complete("AOF-abc", "agent-7");
        let text = env.task_text("AOF-abc");
        assert!(text.ends_with(&format!("\n---\n{body}")), "{body:?}: {text:?}");
        let _ = env.complete("AOF-abc", "agent-3");
        let text = env.task_text("AOF-abc");
        assert!(text.ends_with(&format!("\n---\n{body}")), "{body:?}: {text:?}");
        check_what_people_moved(&env);
    }
}

#[test]
fn the_rights_of_a_file_stay() {
    use std::os::unix::fs::PermissionsExt;
    let env = project(OLD.as_bytes());
    let path = env.path("tasks/AOF-abc.md");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let _ = env.complete("AOF-abc", "agent-7");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    check_what_people_moved(&env);
}
