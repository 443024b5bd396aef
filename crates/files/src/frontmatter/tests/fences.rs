//! The beginning and end of frontmatter, and files that have none.

use crate::frontmatter::split::{MAX_FILE, MAX_FRONTMATTER};
use crate::frontmatter::{parse, split};

/// Returns the parts of a file, joined by `|`.
fn parts(file: &str) -> String {
    let split = split(file.as_bytes()).unwrap();
    [split.bom, split.open, split.yaml, split.close, split.body].map(|range| &file[range]).join("|")
}

fn fault(file: &[u8]) -> String {
    let faults = parse(file).unwrap_err();
    format!("{}: {}", faults[0].code, faults[0].message)
}

#[test]
fn the_first_fence_below_closes() {
    assert_eq!(parts("---\na: 1\n---\nbody\n---\nmore"), "|---\n|a: 1\n|---\n|body\n---\nmore");
    assert_eq!(
        parts("\u{feff}--- \t\r\na: 1\r\n--- \r\n\r\nbody"),
        "\u{feff}|--- \t\r\n|a: 1\r\n|--- \r\n|\r\nbody"
    );
    assert_eq!(parts("---\n---"), "|---\n||---|");
    assert_eq!(
        parts("---\na: |\n  ---\n --- \n----\n--- x\n---\n"),
        "|---\n|a: |\n  ---\n --- \n----\n--- x\n|---\n|"
    );
}

#[test]
fn the_tree_has_the_places_of_the_file() {
    let file = "\u{feff}---\nid: AOF-abc\n---\nbody";
    let head = parse(file.as_bytes()).unwrap();
    assert_eq!(&file[head.root.get("id").unwrap().span.clone()], "AOF-abc");
    assert_eq!(head.body(), "body");
    assert_eq!(parse(b"---\n# nothing\n---\n").unwrap().root.to_value(), serde_json::json!({}));
}

#[test]
fn files_without_sound_frontmatter_are_refused() {
    assert_eq!(fault(b""), "no_frontmatter: the file does not begin with frontmatter");
    assert_eq!(
        fault(b"\n---\na: 1\n---\n"),
        "no_frontmatter: the file does not begin with frontmatter"
    );
    assert_eq!(fault(b"----\n"), "no_frontmatter: the file does not begin with frontmatter");
    assert_eq!(
        fault(b"---\na: 1\n"),
        "unclosed_frontmatter: the frontmatter opened on line 1 is never closed"
    );
    assert_eq!(
        fault(b"---\n- a\n---\n"),
        "not_a_mapping: the frontmatter is a list, not a mapping"
    );
    assert_eq!(
        fault(b"---\nnull\n---\n"),
        "not_a_mapping: the frontmatter is nothing, not a mapping"
    );
    assert_eq!(
        fault(b"---\na: 1\n--- x\n---\n"),
        "several_documents: only one YAML document is allowed in a file"
    );
    assert_eq!(
        fault(b"---\na: \xff\n---\n"),
        "not_utf8: line 2 is not valid UTF-8 (byte 7 of the file)"
    );
    assert_eq!(
        fault(b"---\na: 1\n---\nb\xff"),
        "not_utf8: line 4 is not valid UTF-8 (byte 14 of the file)"
    );
}

#[test]
fn conflict_markers_have_their_own_fault() {
    let file = b"---\na: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> other\n---\n";
    assert_eq!(fault(file), "conflict_markers: line 3 is a merge conflict marker");
    assert_eq!(
        fault(b"---\na: 1\n=======\r\n---\n"),
        "conflict_markers: line 3 is a merge conflict marker"
    );
    assert_eq!(
        fault(b"<<<<<<< HEAD\n---\na: 1\n---\n"),
        "conflict_markers: line 1 is a merge conflict marker"
    );
    assert_eq!(split(file).unwrap_err().code, "conflict_markers");
    assert!(split(b"---\na: [\n---\n<<<<<<< HEAD\n=======\n>>>>>>> x\n").is_ok());
    assert!(parse(b"---\na: |\n  <<<<<<< x\n  =======\n---\n<<<<<<< HEAD\n").is_ok());
}

#[test]
fn sizes_are_bounded() {
    let mut file = b"---\na: ".to_vec();
    file.resize(MAX_FRONTMATTER + 5, b'x');
    file.extend_from_slice(b"\n---\n");
    assert!(fault(&file).ends_with("at most 1 MiB are read"), "{}", fault(&file));
    let file = vec![b'-'; MAX_FILE + 1];
    assert_eq!(fault(&file), "too_large: the file has 16777217 bytes; at most 16 MiB are read");
}
