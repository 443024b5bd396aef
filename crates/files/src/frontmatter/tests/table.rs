//! Hand-written files, and the diff that git would show for an edit.

use std::fmt::Write;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::splice;
use crate::frontmatter::{Edit, Path, emit_document, parse};
use crate::yaml::Node;

/// Returns the lines that an edit removes and adds, with the line before each group; or the refusal.
fn diff(file: &str, edits: &[Edit]) -> String {
    let changed = match splice(file.as_bytes(), edits) {
        Ok(changed) => String::from_utf8(changed).unwrap(),
        Err(refusal) => return format!("refused: {refusal}"),
    };
    let (old, new): (Vec<&str>, Vec<&str>) =
        (file.split('\n').collect(), changed.split('\n').collect());
    // Longest common subsequence; the files here are short.
    let mut length = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            length[i][j] = if old[i] == new[j] {
                length[i + 1][j + 1] + 1
            } else {
                length[i + 1][j].max(length[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut out, mut quiet) = (0, 0, String::new(), true);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j, quiet) = (i + 1, j + 1, true);
            continue;
        }
        if quiet && i > 0 {
            writeln!(out, "  {}", shown(old[i - 1])).unwrap();
        }
        quiet = false;
        if i < old.len() && (j == new.len() || length[i + 1][j] >= length[i][j + 1]) {
            writeln!(out, "- {}", shown(old[i])).unwrap();
            i += 1;
        } else {
            writeln!(out, "+ {}", shown(new[j])).unwrap();
            j += 1;
        }
    }
    out
}

fn shown(line: &str) -> String {
    line.replace('\r', "\\r").replace('\t', "\\t")
}

/// A file that many people have edited for ten years.
const OLD: &str = "---
# created by hand, 2016 -- do not reorder (Grégoire)
id:     AOF-abc      # never changes
title:  'Don''t lose   spaces'
status: in_progress
tags: [ auth,  \"security\" , 'on' ]   # keep sorted!
dependsOn: []   # none yet
x-estimate: 010
gate: {current: implement, entered: 2016-02-16T10:00:00Z}  # short form
routing:
    role: backend      # four spaces here
    agent: agent-7
    # agent: agent-9   (on leave)
blockers:
notes: >
  folded text
  goes on

  # not a comment
metadata:
  priority: high
  url: http://x/#frag   # a comment
gateHistory:
- gate: implement   # the first one
  agent: agent-7
  summary: |
    Did it.

    Twice.
  blockers: []

- gate: review
  # a remark on the agent
  agent: agent-3
  blockers:
  - \"Missing tests\"
  - two: 2
# --- end of history ---
größe: 🙂
---
# Title

---
\tbody  
";

fn entry() -> Value {
    json!({"gate": "qa", "entered": "2026-02-16T10:00:00Z", "outcome": "complete", "duration": 1800,
        "summary": "Fixed: the token check.\n\n- first\n", "blockers": [], "note": "no"})
}

#[test]
fn a_transition_is_a_few_lines() {
    let edits = [
        Edit::append("gateHistory", entry()),
        Edit::set(["gate", "current"], "qa"),
        Edit::set(["gate", "visit"], 3),
        Edit::set("status", "ready"),
        Edit::set(["routing", "agent"], "agent-3"),
    ];
    assert_snapshot!(diff(OLD, &edits), @r#"
      title:  'Don''t lose   spaces'
    - status: in_progress
    + status: ready
      x-estimate: 010
    - gate: {current: implement, entered: 2016-02-16T10:00:00Z}  # short form
    + gate: {current: qa, entered: 2016-02-16T10:00:00Z, visit: 3}  # short form
          role: backend      # four spaces here
    -     agent: agent-7
    +     agent: agent-3
        - two: 2
    + - gate: qa
    +   entered: 2026-02-16T10:00:00Z
    +   outcome: complete
    +   duration: 1800
    +   summary: |
    +     Fixed: the token check.
    + 
    +     - first
    +   blockers: []
    +   note: "no"
    "#);
}

/// Every line that people wrote is still there, in order, after hundreds of transitions.
#[test]
fn a_long_life_leaves_every_foreign_line() {
    let engine = ["status:", "gate:", "    agent:"];
    let foreign = |file: &str| -> Vec<String> {
        let lines = file.lines().filter(|line| !engine.iter().any(|key| line.starts_with(key)));
        lines.map(str::to_owned).collect()
    };
    let mut random = crate::frontmatter::tests::generate::Random(7);
    let mut file = OLD.to_owned();
    for visit in 0..120 {
        let mut edits = vec![
            Edit::append("gateHistory", crate::frontmatter::tests::generate::entry(&mut random)),
            Edit::set(["gate", "current"], format!("gate-{}", visit % 5)),
            Edit::set(["gate", "visit"], visit),
            Edit::set("status", ["ready", "blocked", "in_progress"][visit % 3]),
            Edit::set(["routing", "agent"], format!("agent-{visit}")),
        ];
        edits.push(if visit % 2 == 0 {
            Edit::set(
                "reviewContext",
                json!({"fromGate": "review", "blockers": [crate::frontmatter::tests::generate::text(&mut random)]}),
            )
        } else {
            Edit::remove("reviewContext")
        });
        let changed =
            splice(file.as_bytes(), &edits).unwrap_or_else(|refusal| panic!("{visit}: {refusal}"));
        let changed = String::from_utf8(changed).unwrap();
        let (before, after) = (parse(file.as_bytes()).unwrap(), parse(changed.as_bytes()).unwrap());
        let entries = |root: &Node<'_>| root.get("gateHistory").unwrap().to_value();
        let (old, new) = (entries(&before.root), entries(&after.root));
        assert_eq!(old.as_array().unwrap()[..], new.as_array().unwrap()[..visit + 2]);
        file = changed;
    }
    let now = foreign(&file);
    let mut rest = now.iter();
    for line in foreign(OLD) {
        assert!(rest.any(|other| *other == line), "{line:?} is gone or moved");
    }
}

#[test]
fn lists_of_every_style_grow() {
    assert_snapshot!(diff(OLD, &[Edit::append("tags", "new, one")]), @r#"
      status: in_progress
    - tags: [ auth,  "security" , 'on' ]   # keep sorted!
    + tags: [ auth,  "security" , 'on', "new, one" ]   # keep sorted!
    "#);
    assert_snapshot!(diff(OLD, &[Edit::append("dependsOn", "AOF-xyz")]), @r#"
      tags: [ auth,  "security" , 'on' ]   # keep sorted!
    - dependsOn: []   # none yet
    + dependsOn:   # none yet
    +   - AOF-xyz
    "#);
    assert_snapshot!(diff(OLD, &[Edit::append("blockers", "a: b")]), @r#"
      blockers:
    +   - "a: b"
    "#);
    assert_snapshot!(diff(OLD, &[Edit::append("missing", json!({"a": [1, []]}))]), @"
      größe: 🙂
    + missing:
    +   - a:
    +       - 1
    +       - []
    ");
    let path = Path::from("gateHistory").then(1).then("blockers");
    assert_snapshot!(diff(OLD, &[Edit::append(path, "third")]), @"
        - two: 2
    +   - third
    ");
}

#[test]
fn removals_leave_the_neighbours() {
    assert_snapshot!(diff(OLD, &[Edit::remove("routing")]), @"
      gate: {current: implement, entered: 2016-02-16T10:00:00Z}  # short form
    - routing:
    -     role: backend      # four spaces here
    -     agent: agent-7
    -     # agent: agent-9   (on leave)
    ");
    assert_snapshot!(diff(OLD, &[Edit::remove(["gate", "current"])]), @"
      x-estimate: 010
    - gate: {current: implement, entered: 2016-02-16T10:00:00Z}  # short form
    + gate: {entered: 2016-02-16T10:00:00Z}  # short form
    ");
    assert_snapshot!(diff(OLD, &[Edit::remove(Path::from("tags").then(1))]), @r#"
      status: in_progress
    - tags: [ auth,  "security" , 'on' ]   # keep sorted!
    + tags: [ auth,  'on' ]   # keep sorted!
    "#);
    assert_snapshot!(diff(OLD, &[Edit::remove(Path::from("gateHistory").then(0))]), @"
      gateHistory:
    - - gate: implement   # the first one
    -   agent: agent-7
    -   summary: |
    -     Did it.
      
    -     Twice.
    -   blockers: []
    -
    ");
    assert_snapshot!(diff(OLD, &[Edit::remove(Path::from("gateHistory").then(1).then("gate"))]), @"
      
    - - gate: review
    -   # a remark on the agent
    + - # a remark on the agent
    ");
    assert_snapshot!(diff(OLD, &[Edit::remove(["routing", "role"]), Edit::remove(["routing", "agent"])]), @"
      gate: {current: implement, entered: 2016-02-16T10:00:00Z}  # short form
    - routing:
    -     role: backend      # four spaces here
    -     agent: agent-7
    -     # agent: agent-9   (on leave)
    + routing: {}
    ");
    assert_eq!(diff(OLD, &[Edit::remove("not there")]), "");
}

#[test]
fn values_keep_their_style() {
    assert_snapshot!(diff(OLD, &[Edit::set("title", "It's new")]), @"
      id:     AOF-abc      # never changes
    - title:  'Don''t lose   spaces'
    + title:  'It''s new'
    ");
    assert_snapshot!(diff(OLD, &[Edit::set("title", "two\nlines")]), @"
      id:     AOF-abc      # never changes
    - title:  'Don''t lose   spaces'
    + title:  |-
    +   two
    +   lines
    ");
    assert_snapshot!(diff(OLD, &[Edit::set("notes", "one line")]), @"
      blockers:
    - notes: >
    -   folded text
    -   goes on
    - 
    -   # not a comment
    + notes: one line
    ");
    assert_snapshot!(diff(OLD, &[Edit::set("blockers", json!(["x"])), Edit::set("x-estimate", 8)]), @"
      dependsOn: []   # none yet
    - x-estimate: 010
    + x-estimate: 8
      blockers:
    +   - x
    ");
    assert_snapshot!(diff(OLD, &[Edit::set("tags", json!(["auth", "on"]))]), @r#"
      status: in_progress
    - tags: [ auth,  "security" , 'on' ]   # keep sorted!
    + tags: [ auth,  'on' ]   # keep sorted!
    "#);
    assert_snapshot!(diff(OLD, &[Edit::set("metadata", json!({"priority": "low", "url": "http://x/#frag", "new": {}}))]), @"
      metadata:
    -   priority: high
    +   priority: low
        url: http://x/#frag   # a comment
    +   new: {}
    ");
    assert_snapshot!(diff(OLD, &[Edit::set("metadata", Value::Null), Edit::set("routing", json!([]))]), @"
      gate: {current: implement, entered: 2016-02-16T10:00:00Z}  # short form
    - routing:
    -     role: backend      # four spaces here
    -     agent: agent-7
    -     # agent: agent-9   (on leave)
    + routing: []
        # not a comment
    - metadata:
    -   priority: high
    -   url: http://x/#frag   # a comment
    + metadata: null
    ");
}

#[test]
fn brackets_over_several_lines_keep_their_shape() {
    let file =
        "---\ntags: [\n  a,  # first\n  b   # second\n]\nmap: {\n  \"x\": 1,\n  y: {},\n}\n---\n";
    assert_snapshot!(diff(file, &[Edit::append("tags", "c")]), @"
        a,  # first
    -   b   # second
    +   b,   # second
    +   c
    ");
    assert_snapshot!(diff(file, &[Edit::set(["map", "z"], "q, r")]), @r#"
        y: {},
    +   z: "q, r",
    "#);
    assert_snapshot!(diff(file, &[Edit::remove(Path::from("tags").then(1)), Edit::remove(["map", "y"])]), @r#"
      tags: [
    -   a,  # first
    -   b   # second
    +   a  # first
        "x": 1,
    -   y: {},
    "#);
}

#[test]
fn crlf_bom_and_a_missing_last_newline_stay() {
    let file = "\u{feff}---\r\nid: a\r\nlist:\r\n  - x # c\r\n---";
    let edits = [Edit::append("list", "two\nlines\n"), Edit::set("gate", json!({"current": "b"}))];
    assert_snapshot!(diff(file, &edits), @r"
        - x # c\r
    +   - |\r
    +     two\r
    +     lines\r
    + gate:\r
    +   current: b\r
    ");
}

#[test]
fn empty_frontmatter_takes_its_first_key() {
    assert_snapshot!(diff("---\n---\nbody", &[Edit::set(["a", "b"], 1)]), @"
      ---
    + a:
    +   b: 1
    ");
    assert_snapshot!(diff("---\n# only this\n---\n", &[Edit::set("a", json!([]))]), @"
      # only this
    + a: []
    ");
    assert_snapshot!(diff("---\n{}\n---\n", &[Edit::set("a", 1)]), @"
      ---
    - {}
    + {a: 1}
    ");
    assert_snapshot!(diff("---\na: 1\n---\n", &[Edit::remove("a")]), @"
      ---
    - a: 1
    ");
}

#[test]
fn unusual_but_sound_layouts_are_changed_too() {
    let json =
        "---\n{\n  \"id\": \"a\",\n  \"gate\": {\"current\":\"x\"},\n  \"list\": []\n}\n---\n";
    let edits =
        [Edit::set(["gate", "current"], "y"), Edit::append("list", 1), Edit::set("new", "no")];
    assert_snapshot!(diff(json, &edits), @r#"
        "id": "a",
    -   "gate": {"current":"x"},
    -   "list": []
    +   "gate": {"current":"y"},
    +   "list": [1],
    +   new: "no"
    "#);
    assert_snapshot!(diff("---\na: 1\n# end\n...\n---\n", &[Edit::set("b", 2)]), @"
      # end
    + b: 2
    ");
    assert_snapshot!(diff("---\n  a: 1\n  b:\t2\t# c\n---\n", &[Edit::set("b", json!([3])), Edit::set("c", 4)]), @r"
        a: 1
    -   b:\t2\t# c
    +   b:\t# c
    +     - 3
    +   c: 4
    ");
    assert_snapshot!(diff("---\na:\n  # why\n  1 # one\n---\n", &[Edit::set("a", 2)]), @"
        # why
    -   1 # one
    +   2 # one
    ");
    assert_snapshot!(diff("---\na: !!str 1\n---\n", &[Edit::set("a", 2)]), @"
      ---
    - a: !!str 1
    + a: 2
    ");
    assert_snapshot!(diff("---\na:\n-\n  - b: 1\n    c: 2\n---\n", &[Edit::remove(Path::from("a").then(0).then(0).then("b"))]), @"
      -
    -   - b: 1
    -     c: 2
    +   - c: 2
    ");
    assert_snapshot!(diff("---\nk: v # c\rx: y\n---\n", &[Edit::set("k", 2)]), @r"
      ---
    - k: v # c\rx: y
    + k: 2 # c\rx: y
    ");
}

#[test]
fn shared_and_odd_nodes_are_refused_with_their_line() {
    let file = "---\nbase: &b {x: 1}\ncopy: *b\n? odd\n: 1\nlist: [k: v]\nplain: 1\n---\n";
    assert_snapshot!(diff(file, &[Edit::set(["base", "x"], 2)]), @"refused: `base.x` on line 2 is shared by an anchor or alias (`&`, `*`); write the value out first");
    assert_snapshot!(diff(file, &[Edit::set(["copy", "x"], 2)]), @"refused: `copy.x` on line 3 is shared by an anchor or alias (`&`, `*`); write the value out first");
    assert_snapshot!(diff(file, &[Edit::remove("base")]), @"refused: `base` on line 2 is shared by an anchor or alias (`&`, `*`); write the value out first");
    assert_snapshot!(diff(file, &[Edit::set("odd", 2)]), @"refused: line 4 cannot be changed in place: the key has a `?`, an anchor or a tag");
    assert_snapshot!(diff(file, &[Edit::set(Path::from("list").then(0).then("w"), 2)]), @"refused: line 6 cannot be changed in place: it is a `key: value` pair without braces inside a list");
    assert_snapshot!(diff(file, &[Edit::append("plain", 2)]), @"refused: `plain` on line 7 is a number, not a list");
    assert_snapshot!(diff(file, &[Edit::set(Path::from("list").then(4), 2)]), @"refused: `list[4]` does not exist: the list ends after 1");
    assert_snapshot!(diff(file, &[Edit::set(Path::default(), json!({}))]), @"refused: `(root)` on line 2 is shared by an anchor or alias (`&`, `*`); write the value out first");
    assert_snapshot!(diff(file, &[Edit::set("plain", 2)]), @"
      list: [k: v]
    - plain: 1
    + plain: 2
    ");
}

#[test]
fn the_text_after_the_frontmatter_is_right() {
    let original = parse(b"---\na: 1\n---").unwrap();
    let rest = |rest: &str| crate::frontmatter::splice(&original, &[Edit::set("a", 2)], rest);
    assert_eq!(rest("---\n\nnew\n").unwrap().text(), "---\na: 2\n---\n\nnew\n");
    assert_eq!(rest("---\n\nnew\n").unwrap(), parse(b"---\na: 2\n---\n\nnew\n").unwrap());
    // A `rest` that would become frontmatter is not the text after it.
    assert_snapshot!(rest("b: 1\n---\n").unwrap_err(), @"the edit of `a` was not made: the result would not say what the edit means");
    assert_snapshot!(rest("# b\n---\n").unwrap_err(), @"the edit of `a` was not made: the result would change the text outside the frontmatter");
    assert_snapshot!(rest("a: 3\n---\n").unwrap_err(), @"the edit of `a` was not made: the result would not be readable: line 3: the key `a` on line 3 is already defined on line 2");
}

#[test]
fn edits_follow_one_another() {
    let file = "---\nlist: [a]\n---\n";
    let list = || Path::from("list");
    let edits = [
        Edit::append("list", "b"),
        Edit::append("list", "c"),
        Edit::remove(list().then(1)),
        Edit::set(list().then(1), "d"),
    ];
    assert_snapshot!(diff(file, &edits), @"
      ---
    - list: [a]
    + list: [a, d]
    ");
    let edits = [
        Edit::remove("list"),
        Edit::append("list", "z"),
        Edit::set(["new", "a"], 1),
        Edit::set(["new", "b"], 2),
    ];
    assert_snapshot!(diff(file, &edits), @"
      ---
    - list: [a]
    + list: [z]
    + new:
    +   a: 1
    +   b: 2
    ");
    let edits =
        [Edit::set(["new", "a"], 1), Edit::append(["new", "l"], 1), Edit::remove(["new", "a"])];
    assert_snapshot!(diff(file, &edits), @"
      list: [a]
    + new:
    +   l:
    +     - 1
    ");
}

/// In `[1.10, a]` the last item is removed and another one added; `1.10` stays as it is written.
#[test]
fn unchanged_entries_of_a_flow_list_keep_their_form() {
    let file = "---\nlist: [1.10,  'a', [+5, k: 2.50, {x: 1e3, y: 1}], z]\nmap: {v: 1.10, 'x y': {a: .5, b: 1}, w: 1}\n---\n";
    let list = || Path::from("list");
    let edits = [
        Edit::set(list().then(2).then(2).then("y"), 2),
        Edit::remove(list().then(2).then(0)),
        Edit::remove(list().then(3)),
        Edit::append("list", "new"),
        Edit::set(["map", "x y", "b"], 2),
        Edit::remove(["map", "w"]),
        Edit::set(["map", "n"], "new"),
    ];
    assert_snapshot!(diff(file, &edits), @r#"
      ---
    - list: [1.10,  'a', [+5, k: 2.50, {x: 1e3, y: 1}], z]
    - map: {v: 1.10, 'x y': {a: .5, b: 1}, w: 1}
    + list: [1.10, 'a', [k: 2.50, {x: 1e3, y: 2}], new]
    + map: {v: 1.10, 'x y': {a: .5, b: 2}, "n": new}
    "#);
}

#[test]
fn a_new_document_reads_well() {
    let value = json!({"id": "AOF-abc", "title": "Fix: login", "tags": ["a", "on"], "gate": {"current": "implement",
        "entered": "2026-02-16T10:00:00Z", "visit": 0}, "dependsOn": [], "context": {"input": {}},
        "nested": [[1, 2], {"k": ["x"]}], "text": "  indented\nlines", "odd key: ": "1.10"});
    let text = emit_document(value.as_object().unwrap());
    assert_eq!(crate::frontmatter::tests::oracle(&text).unwrap(), value);
    assert_snapshot!(text, @r#"
    id: AOF-abc
    title: "Fix: login"
    tags:
      - a
      - "on"
    gate:
      current: implement
      entered: 2026-02-16T10:00:00Z
      visit: 0
    dependsOn: []
    context:
      input: {}
    nested:
      - - 1
        - 2
      - k:
          - x
    text: |2-
        indented
      lines
    "odd key: ": "1.10"
    "#);
}
