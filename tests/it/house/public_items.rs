//! Public functions and constants of the crates: the compiler does not say which of them nobody uses.

use std::collections::HashSet;
use std::path::Path;

use super::architecture::{Source, crates, files_below, sources};
use super::folders::words;

/// Returns the name of a public function or constant that the line declares.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start().strip_prefix("pub ")?;
    let items = ["const fn ", "fn ", "const ", "static "];
    words(items.iter().find_map(|item| line.strip_prefix(item))?).next()
}

/// Returns the public items of a crate's sources that no other text names.
fn unused<'s>(sources: &[&'s Source], others: &HashSet<&str>) -> Vec<&'s str> {
    let names = sources.iter().flat_map(|source| source.code.lines().filter_map(declared));
    names.filter(|name| !others.contains(name)).collect()
}

#[test]
fn another_crate_uses_each_public_item() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = sources();
    let mut files = Vec::new();
    for folder in ["src", "tests", "benches", "fuzz/targets", "crates"] {
        files.extend(files_below(&root.join(folder), &format!("{folder}/")));
    }
    let texts: Vec<(&str, HashSet<&str>)> =
        files.iter().map(|(path, text)| (path.as_str(), words(text).collect())).collect();
    let mut faults = Vec::new();
    for name in crates() {
        let inside = format!("crates/{name}/");
        let outside = texts.iter().filter(|(path, _)| !path.starts_with(&inside));
        let others: HashSet<&str> = outside.flat_map(|(_, words)| words).copied().collect();
        let prefix = format!("{name}/");
        let inner: Vec<&Source> =
            sources.iter().filter(|source| source.path.starts_with(&prefix)).collect();
        assert!(inner.len() > 5, "`{name}` has few sources");
        faults.extend(unused(&inner, &others).into_iter().map(|item| format!("{name}: {item}")));
    }
    assert!(faults.is_empty(), "make them `pub(crate)`, or remove them:\n{}", faults.join("\n"));
}

#[test]
fn unused_items_are_found() {
    let source = Source::new(
        "git/a.rs",
        "//! A.\npub fn used() {}\npub const fn lonely() {}\npub const ALONE: u8 = 1;\npub struct Kept;\n    pub(crate) fn inner() {}\n",
    );
    let others = words("fn f() { used() }").collect();
    assert_eq!(unused(&[&source], &others), ["lonely", "ALONE"]);
}
