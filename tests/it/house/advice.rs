//! Advice is data below the doors: no text there has a finished command of `aof`.

use super::architecture::{Source, sources};

/// The layers that know no command line.
const LAYERS: &[&str] = &["domain/", "files/", "git/", "rules/", "system/"];

/// The module of frozen texts.
const FROZEN: &str = "domain/blocker.rs";

/// Returns the lines with a command: the name of the program between a quote or a backtick and a word.
fn faults(source: &Source) -> Vec<String> {
    if !LAYERS.iter().any(|layer| source.path.starts_with(layer)) || source.path == FROZEN {
        return Vec::new();
    }
    let has_command = |line: &str| {
        ["`aof ", "\"aof "].iter().any(|start| {
            line.match_indices(start).any(|(at, _)| {
                line[at + start.len()..].starts_with(|letter: char| letter.is_ascii_lowercase())
            })
        })
    };
    let found = source.code.lines().filter(|line| has_command(line));
    found.map(|line| format!("{}: {}", source.path, line.trim())).collect()
}

#[test]
fn layers_below_the_doors_have_no_commands() {
    let faults: Vec<String> = sources().iter().flat_map(faults).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn commands_are_found() {
    let check = |path: &str, text: &str| faults(&Source::new(path, text)).len();
    assert_eq!(check("rules/a.rs", "fn f() { g(\"see `aof why`\") }"), 1);
    assert_eq!(check("git/a.rs", "fn f() { g(\"aof init\") }"), 1);
    assert_eq!(check("rules/a.rs", "/// See `aof why`.\nfn f() { g(\"aof {words}\") }"), 0);
    assert_eq!(check("cli/a.rs", "fn f() { g(\"aof init\") }"), 0);
}
