//! Random task files, as people would write them over ten years, and random edits, as the engine makes them.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::frontmatter::{Edit, EditAct, Path, Segment};
use crate::yaml::{Node, NodeKind};

/// A small reproducible source of randomness (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap()
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

const PLAIN: &[&str] = &[
    "x",
    "agent-7",
    "two words",
    "no",
    "yes",
    "010",
    "1_000",
    "1:30",
    "2026-11-20",
    "2026-02-16T10:00:00Z",
    "~",
    "null",
    "true",
    "42",
    "-7",
    "1.5",
    "1e3",
    "it's",
    "a#b",
    "a:b",
    "http://x/y",
    "größe",
    "日本語",
    "🙂",
    "a, b",
    "C:\\x",
    "a 'q' b",
    "=",
];
const NASTY: &[&str] = &[
    "",
    " ",
    "a",
    "no",
    "Y",
    "0o17",
    "1_0",
    ".nan",
    "2026-01-01",
    "2026-02-16T10:00:00Z",
    "- a",
    "a: b",
    "a #b",
    "#",
    "a\nb",
    "a\nb\n",
    "a\n\nb\n\n",
    "\n",
    "\n\na",
    "  indented\nthen not",
    "a\n  b\n c",
    "\ttab",
    "a\n\ttab",
    "a \nb",
    "a\r\nb",
    "\0",
    "\u{feff}a",
    "a\u{85}b",
    "\u{2028}",
    "🙂 \u{200d}",
    "---",
    "---\nx",
    "...",
    "a\n---\nb",
    "'",
    "\"",
    "\\",
    "a\\nb",
    "it's \"q\"",
    "{a: 1}",
    "[a]",
    "*a",
    "&a",
    "!t",
    "%x",
    "@a",
    "`a",
    "a:",
    ":a",
    "? a",
    "|",
    ">",
    "<<",
    "=",
    "1.2.3",
    "1e5",
    "+1",
    "-",
    "0",
    "null",
    "~",
    "\u{202e}rtl",
    "\u{1b}[31m",
    "a,b",
    "a]b",
    "<<<<<<< x\n=======",
    "Fixed the token check.\n\nDetails:\n- first\n- second: done\n\n```rust\nfn main() {}\n```\n",
];

/// A random text value.
pub(crate) fn text(r: &mut Random) -> String {
    if r.one_in(6) {
        let count = 1 + r.below(4);
        return (0..count).map(|_| *r.pick(NASTY)).collect::<Vec<_>>().join(if r.one_in(2) {
            "\n"
        } else {
            " "
        });
    }
    (*r.pick(NASTY)).to_owned()
}

/// A random value of any kind.
pub(crate) fn value(r: &mut Random, depth: usize) -> Value {
    match r.below(if depth == 0 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => json!(r.one_in(2)),
        2 => json!(*r.pick(&[0_i64, -1, 16200, i64::MIN])),
        3 => json!(*r.pick(&[1.5, 1e16, -0.25, 1e-7])),
        4 | 5 => Value::String(text(r)),
        6 => (0..r.below(4)).map(|_| value(r, depth - 1)).collect(),
        _ => {
            let mut map = Map::new();
            for _ in 0..r.below(4) {
                let key = if r.one_in(4) {
                    text(r)
                } else {
                    (*r.pick(&["a", "b-c", "note", "on"])).to_owned()
                };
                map.insert(key, value(r, depth - 1));
            }
            Value::Object(map)
        }
    }
}

/// A whole random file.
pub(crate) fn file(r: &mut Random) -> String {
    let mut w = Writer { out: String::new(), marks: 0, anchors: 0, lone: r.one_in(3) };
    let keys = [
        "id",
        "title",
        "status",
        "tags",
        "blockers",
        "gate",
        "routing",
        "reviewContext",
        "metadata",
        "gateHistory",
        "x-note",
        "größe",
        "\"quoted key\"",
        "'q2'",
        "context",
    ];
    let chosen: Vec<&str> = keys.iter().copied().filter(|_| !r.one_in(3)).collect();
    if r.one_in(30) {
        w.out.push_str("{id: AOF-abc, tags: [a, b], gate: {current: x}}\n");
    } else {
        w.mapping(r, 0, 3, &chosen);
        w.trivia(r, 0);
    }
    let fence = if r.one_in(8) { "---  " } else { "---" };
    let bom = if r.one_in(10) { "\u{feff}" } else { "" };
    let body = *r.pick(&[
        "",
        "\n# Title\n\ntext\n",
        "no newline at end",
        "\ttab\n---\nmore\n---\n",
        "\n\n  🙂\n\n\n",
    ]);
    let last = if body.is_empty() && r.one_in(2) { "" } else { "\n" };
    let file = format!("{bom}{fence}\n{}---{last}{body}", w.out);
    if r.one_in(4) { file.replace('\n', "\r\n") } else { file }
}

/// Changes a file at a random place, as a typing mistake or a bad merge would.
pub(crate) fn damage(r: &mut Random, file: &mut String) {
    const BITS: &[&str] = &[
        "\n", "\r", " ", "  ", "\t", "#", " #", ":", ": ", "-", "- ", "\n- ", "? ", "|", ">", "|+",
        "\"", "'", "[", "]", "{", "}", ",", "&a ", "*a1", "!x ", "!!str ", "<<: ", "%", "@", "\\",
        "\u{feff}", "\u{85}", "\u{2028}", "é", "---", "\n...\n",
    ];
    let mut at = r.below(file.len() + 1);
    while !file.is_char_boundary(at) {
        at -= 1;
    }
    match r.below(3) {
        0 => file.insert_str(at, r.pick::<&str>(BITS)),
        1 => {
            file.pop();
            if at < file.len() {
                file.remove(at);
            }
        }
        _ => {
            let lines: Vec<String> = file.split_inclusive('\n').map(str::to_owned).collect();
            let (from, to) = (r.below(lines.len()), r.below(lines.len()));
            let mut lines = lines;
            let line = lines[from].clone();
            lines.insert(to, line);
            *file = lines.concat();
        }
    }
}

struct Writer {
    out: String,
    marks: usize,
    anchors: usize,
    lone: bool,
}

impl Writer {
    fn spaces(&mut self, count: usize) {
        self.out.push_str(&" ".repeat(count));
    }

    fn comment(&mut self) {
        self.marks += 1;
        write!(self.out, "# c{}: 'x", self.marks).unwrap();
    }

    fn end_line(&mut self, r: &mut Random) {
        if r.one_in(5) {
            self.spaces(1 + r.below(3));
            self.comment();
        } else if r.one_in(20) {
            self.spaces(2);
        }
        self.out.push('\n');
    }

    fn trivia(&mut self, r: &mut Random, column: usize) {
        while r.one_in(6) {
            if r.one_in(2) {
                self.spaces(if r.one_in(4) { r.below(7) } else { column });
                self.comment();
            }
            self.out.push('\n');
        }
    }

    fn mapping(&mut self, r: &mut Random, column: usize, depth: usize, keys: &[&str]) {
        for (at, key) in keys.iter().enumerate() {
            if at > 0 {
                self.trivia(r, column);
                self.spaces(column);
            }
            self.out.push_str(key);
            self.out.push(':');
            self.value(r, column, depth, true);
        }
    }

    /// A value after a colon or dash, up to the end of its last line.
    fn value(&mut self, r: &mut Random, column: usize, depth: usize, in_mapping: bool) {
        match r.below(if depth == 0 { 10 } else { 18 }) {
            0 => self.end_line(r),
            1 | 2 => {
                self.out.push_str("  ");
                self.quoted(r);
                self.end_line(r);
            }
            3 => {
                self.block_scalar(r, column);
            }
            4 => {
                write!(self.out, " first\n{0}  second\n\n{0}  third", " ".repeat(column)).unwrap();
                self.end_line(r);
            }
            5 if !self.lone => {
                if self.anchors == 0 || r.one_in(2) {
                    self.anchors += 1;
                    write!(self.out, " &a{} shared", self.anchors).unwrap();
                } else {
                    write!(self.out, " *a{}", 1 + r.below(self.anchors)).unwrap();
                }
                self.end_line(r);
            }
            5..=9 => {
                self.out.push(' ');
                let plain = *r.pick(PLAIN);
                self.out.push_str(plain);
                self.end_line(r);
            }
            10 | 11 => {
                self.out.push(' ');
                self.flow(r, column + 2, 2);
                self.end_line(r);
            }
            12 | 13 if in_mapping => {
                self.end_line(r);
                self.trivia(r, column + 2);
                let inner = column + 1 + r.below(4);
                self.spaces(inner);
                let keys = &["current", "entered", "visit", "x"][r.below(3)..];
                self.mapping(r, inner, depth - 1, keys);
            }
            12 | 13 => {
                self.out.push(' ');
                let keys = &["gate", "role", "outcome", "summary", "blockers"][r.below(4)..];
                self.mapping(r, column + 2, depth - 1, keys);
            }
            _ => {
                let inner = if in_mapping { column + *r.pick(&[0, 2, 2, 4]) } else { column + 2 };
                self.end_line(r);
                for _ in 0..=r.below(3) {
                    self.trivia(r, inner);
                    self.spaces(inner);
                    self.out.push('-');
                    self.value(r, inner, depth - 1, false);
                }
            }
        }
    }

    fn quoted(&mut self, r: &mut Random) {
        self.out.push_str(r.pick::<&str>(&[
            "'it''s # not'",
            "\"a \\\"b\\\" \\n c\"",
            "''",
            "\"\"",
            "\"no\"",
            "'two\n\n                              lines'",
        ]));
    }

    fn block_scalar(&mut self, r: &mut Random, column: usize) {
        let header = *r.pick(&["|", "|-", "|+", ">", ">-", "|2", ">+"]);
        let inner = if header == "|2" { 2 } else { 2 + 2 * r.below(2) };
        self.spaces(1 + r.below(2));
        self.out.push_str(header);
        self.end_line(r);
        for line in
            ["first line", "  # not a comment", "", "last: line"].iter().take(1 + r.below(4))
        {
            if !line.is_empty() {
                self.spaces(column + inner);
            }
            self.out.push_str(line);
            self.out.push('\n');
        }
        if r.one_in(4) {
            self.out.push('\n');
        }
    }

    fn flow(&mut self, r: &mut Random, column: usize, depth: usize) {
        let map = r.one_in(2);
        let lines = r.one_in(3);
        let count = r.below(4);
        self.out.push(if map { '{' } else { '[' });
        for at in 0..count {
            if lines {
                if r.one_in(4) {
                    self.out.push(' ');
                    self.comment();
                }
                self.out.push('\n');
                self.spaces(column);
            } else if at > 0 && r.one_in(2) {
                self.out.push(' ');
            }
            if map {
                self.out.push_str(["a", "\"b\"", "cc", "d"][at]);
                self.out.push_str(": ");
            }
            match r.below(4) {
                0 if depth > 0 => self.flow(r, column + 2, depth - 1),
                1 => self.out.push_str("'q, ]'"),
                2 if map => {}
                _ => self.out.push_str(r.pick::<&str>(&["x", "two words", "1", "no", "a/b"])),
            }
            if at + 1 < count || r.one_in(4) {
                self.out.push(',');
            }
        }
        if lines && count > 0 {
            self.out.push('\n');
            self.spaces(column);
        }
        self.out.push(if map { '}' } else { ']' });
    }
}

/// A random edit, of the engine's kind or at any place of the tree; usually one that fits the file.
pub(crate) fn edit(r: &mut Random, root: &Node<'_>) -> Edit {
    (0..6)
        .map(|_| any_edit(r, root))
        .find(|edit| fits(root, edit))
        .unwrap_or(Edit::remove("status"))
}

fn fits(root: &Node<'_>, edit: &Edit) -> bool {
    let mut node = root;
    for segment in &edit.path.0 {
        let next = match (&node.kind, segment) {
            (NodeKind::Mapping(_), Segment::Key(key)) => node.get(key),
            (NodeKind::Sequence(items), Segment::Index(index)) => items.get(*index),
            (NodeKind::Null, Segment::Key(_)) => None,
            _ => return matches!(edit.act, EditAct::Remove),
        };
        match next {
            Some(next) => node = next,
            None => return true,
        }
    }
    !matches!(edit.act, EditAct::Append(_))
        || matches!(node.kind, NodeKind::Sequence(_) | NodeKind::Null)
}

fn any_edit(r: &mut Random, root: &Node<'_>) -> Edit {
    if r.one_in(2) {
        return engine_edit(r);
    }
    let path = place(r, root);
    match r.below(4) {
        0 => Edit::append(path, value(r, 2)),
        1 => Edit::remove(path),
        2 => {
            let key = if r.one_in(5) { text(r) } else { "added".to_owned() };
            Edit::set(path.then(key.as_str()), value(r, 2))
        }
        _ => Edit::set(path, value(r, 2)),
    }
}

fn engine_edit(r: &mut Random) -> Edit {
    match r.below(9) {
        0 => Edit::set(["gate", "current"], text(r)),
        1 => Edit::set("status", *r.pick(&["ready", "in_progress", "blocked"])),
        2 | 3 => Edit::append("gateHistory", entry(r)),
        4 => Edit::set(
            "reviewContext",
            json!({"fromGate": "review", "blockers": [text(r), text(r)], "notes": text(r)}),
        ),
        5 => Edit::remove("reviewContext"),
        6 => Edit::set("blockers", (0..r.below(4)).map(|_| text(r)).collect::<Vec<_>>()),
        7 => Edit::set(["metadata", "priority"], value(r, 1)),
        _ => Edit::remove(Path::from("tags").then(r.below(3))),
    }
}

/// A history entry with random texts of an agent.
pub(crate) fn entry(r: &mut Random) -> Value {
    json!({"gate": "review", "role": "architect", "agent": "agent-3", "entered": "2026-02-16T14:30:00Z",
        "exited": "2026-02-16T15:00:00Z", "outcome": "needs_review", "summary": text(r),
        "blockers": (0..r.below(3)).map(|_| text(r)).collect::<Vec<_>>(), "rejectionNotes": text(r), "duration": 1800})
}

/// The path of a random node.
fn place(r: &mut Random, root: &Node<'_>) -> Path {
    let mut path = Path::default();
    let mut node = root;
    loop {
        let (segment, next) = match &node.kind {
            NodeKind::Mapping(entries) if !entries.is_empty() => {
                let entry = r.pick(entries);
                (Segment::Key(entry.key.text.to_string()), &entry.value)
            }
            NodeKind::Sequence(items) if !items.is_empty() => {
                let index = r.below(items.len());
                (Segment::Index(index), &items[index])
            }
            _ => return path,
        };
        path = path.then(segment);
        node = next;
        if r.one_in(3) {
            return path;
        }
    }
}
