//! The house: imports go down only, each outside crate has its homes, every module says what it is. Reads the sources.

use std::fs;
use std::path::Path;

/// The rooms and their floors. A room sees the floors below it, with the exceptions of [`BLIND`] and [`NEIGHBOURS`].
const FLOORS: &[(&str, u8)] = &[
    ("stop", 0),
    ("disk", 0),
    ("process", 0),
    ("signals", 0),
    ("model", 1),
    ("engine", 2),
    ("format", 2),
    ("store", 3),
    ("audit", 3),
    ("observe", 3),
    ("ops", 4),
    ("cli", 5),
    ("watch", 5),
    ("mcp", 5),
    ("runner", 5),
];

/// What is below and still not to be seen: the ground knows nothing of the rules.
const BLIND: &[(&str, &str)] = &[("store", "engine"), ("audit", "engine"), ("observe", "engine")];

/// What is on the same floor and may be seen: the command line starts the watcher, the server and the runner.
const NEIGHBOURS: &[(&str, &str)] = &[("cli", "watch"), ("cli", "mcp"), ("cli", "runner")];

/// Where each outside crate may be used; a dependency that is missing here has no home.
const HOMES: &[(&str, &[&str])] = &[
    ("annotate_snippets", &["format"]),
    ("anstream", &["cli"]),
    ("anstyle", &["cli"]),
    ("base64", &["model/ssh", "observe"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("flate2", &["audit"]),
    ("fs4", &["store"]),
    ("getrandom", &["store", "audit"]),
    ("git2", &["audit"]),
    ("granit_parser", &["format"]),
    ("hmac", &["observe"]),
    ("indicatif", &["cli"]),
    ("jsonc_parser", &["format/agent_files"]),
    // For a feature of it: nobody names it.
    ("libz_sys", &[]),
    ("notify", &["watch"]),
    ("oxc_allocator", &["engine/condition"]),
    ("oxc_ast", &["engine/condition"]),
    ("oxc_parser", &["engine/condition"]),
    ("oxc_span", &["engine/condition"]),
    ("oxc_syntax", &["engine/condition"]),
    ("ring", &["engine/ssh.rs"]),
    ("rmcp", &["mcp"]),
    ("rustix", &["disk", "store", "audit", "process"]),
    ("sha1", &["audit"]),
    ("sha2", &["model", "observe", "process"]),
    ("signal_hook", &["signals"]),
    ("strsim", &["model"]),
    ("tempfile", &["audit", "cli", "runner"]),
    ("terminal_size", &["cli"]),
    ("tokio", &["mcp"]),
    ("toml", &["format"]),
    ("toml_edit", &["format/agent_files"]),
    ("unicode_width", &["cli"]),
    ("ureq", &["observe"]),
    ("walkdir", &["store"]),
    ("tracing", &["cli", "mcp", "ops", "runner", "watch"]),
    ("tracing_subscriber", &["cli"]),
    // Words of the whole house: times, shapes, errors.
    ("jiff", &[""]),
    ("serde", &[""]),
    ("serde_json", &[""]),
    ("thiserror", &[""]),
];

/// Modules over 500 lines, each with its reason. None so far.
const LONG: &[(&str, &str)] = &[];

/// One source file, without its tests and comments.
struct Source {
    /// Its path below `src/`.
    path: String,
    text: String,
    code: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            code: without_comments(&without_tests(text)),
        }
    }

    fn room(&self) -> &str {
        self.path.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }

    /// Returns how many modules lie around what is in this file, the crate not counted.
    fn depth(&self) -> usize {
        let module = self.path.trim_end_matches(".rs").trim_end_matches("/mod");
        module.split('/').count()
    }

    /// Returns the rooms that the file names.
    fn seen(&self) -> Vec<String> {
        let up = "super::".repeat(self.depth());
        let mut seen = Vec::new();
        for start in ["crate::", up.as_str()] {
            for (at, _) in self.code.match_indices(start) {
                let before = &self.code[..at];
                if before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                    continue;
                }
                seen.extend(first_names(&self.code[at + start.len()..]));
            }
        }
        seen.retain(|name| FLOORS.iter().any(|(room, _)| room == name));
        seen
    }

    fn uses_crate(&self, name: &str) -> bool {
        self.code.match_indices(name).any(|(at, _)| {
            let (before, after) = (&self.code[..at], &self.code[at + name.len()..]);
            let whole = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            let is_path = after.starts_with("::")
                || (before.ends_with("use ") && after.starts_with([';', ' ']));
            whole && is_path
        })
    }
}

/// Returns the names that a path begins with: `a::b` is `a`, `{a::b, c}` are `a` and `c`.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| {
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    let Some(group) = path.strip_prefix('{') else { return vec![name(path)] };
    let mut depth = 0;
    let mut names = vec![name(group.trim_start())];
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(name(group[at + 1..].trim_start())),
            _ => {}
        }
    }
    names
}

fn is_for_tests(line: &str) -> bool {
    line.trim() == "#[cfg(test)]" || line.trim().starts_with("#[cfg(all(test,")
}

/// Removes what stands under `#[cfg(test)]`.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !is_for_tests(line) {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        for line in lines.by_ref() {
            let end = line == format!("{indent}}}")
                || line.trim_end().ends_with([';', ',']) && line.starts_with(indent);
            if end && !line.starts_with(&format!("{indent} ")) {
                break;
            }
        }
    }
    kept
}

fn without_comments(text: &str) -> String {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.map(|line| format!("{line}\n")).collect()
}

/// Returns the files of modules that are only there for tests.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let folder = path.trim_end_matches(".rs").trim_end_matches("/mod").trim_end_matches("lib");
    let lines: Vec<&str> = text.lines().collect();
    let declared = lines.windows(2).filter(|pair| is_for_tests(pair[0]));
    declared
        .filter_map(|pair| pair[1].strip_prefix("mod ")?.strip_suffix(';'))
        .map(|name| format!("{folder}/{name}").trim_start_matches('/').to_owned())
        .collect()
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|suffix| suffix == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    let tests: Vec<String> =
        files.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let is_test = |path: &str| {
        tests
            .iter()
            .any(|test| path == format!("{test}.rs") || path.starts_with(&format!("{test}/")))
    };
    let mut sources: Vec<Source> = files
        .iter()
        .filter(|(path, _)| !is_test(path))
        .map(|(path, text)| Source::new(path, text))
        .collect();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn faults(sources: &[Source]) -> Vec<String> {
    let mut faults = Vec::new();
    for source in sources {
        let path = &source.path;
        if !source.text.starts_with("//!") && path != "main.rs" {
            faults.push(format!("{path} does not open with `//!`"));
        }
        let lines = source.code.lines().count();
        if lines > 500 && !LONG.iter().any(|(long, _)| long == path) {
            faults.push(format!("{path} has {lines} lines: split it, or list it with its reason"));
        }
        if source.code.contains(".unwrap()") {
            faults.push(format!("{path} unwraps outside its tests"));
        }
        faults.extend(floor_faults(source));
        for (name, homes) in HOMES {
            let at_home = homes.iter().any(|home| path.starts_with(home));
            if !at_home && source.uses_crate(name) {
                faults.push(format!("{path} uses `{name}`, whose home is {}", homes.join(", ")));
            }
        }
    }
    faults
}

fn floor_faults(source: &Source) -> Vec<String> {
    let room = source.room();
    if matches!(room, "main" | "lib") {
        return Vec::new();
    }
    let floor =
        |room: &str| FLOORS.iter().find(|(known, _)| *known == room).map(|(_, floor)| *floor);
    let Some(here) = floor(room) else { return vec![format!("{} is on no floor", source.path)] };
    let mut faults = Vec::new();
    for seen in source.seen() {
        let pair = (room, seen.as_str());
        let below = floor(&seen).is_some_and(|there| there < here);
        let allowed =
            (below && !BLIND.contains(&pair)) || seen == room || NEIGHBOURS.contains(&pair);
        if !allowed {
            faults.push(format!("{} sees `{seen}`", source.path));
        }
    }
    faults
}

#[test]
fn the_house_stands() {
    let sources = sources();
    assert!(sources.len() > 100, "only {} sources were found", sources.len());
    for room in ["model", "engine", "format", "store", "audit", "ops", "cli"] {
        assert!(sources.iter().any(|source| source.room() == room), "there is no room `{room}`");
    }
    let faults = faults(&sources);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_dependency_has_a_home() {
    let manifest =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let section = manifest.split("[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let names =
        section.lines().filter_map(|line| line.split(" =").next()).filter(|name| !name.is_empty());
    let homeless: Vec<String> = names
        .map(|name| name.replace('-', "_"))
        .filter(|name| !name.starts_with('#') && !HOMES.iter().any(|(known, _)| known == name))
        .collect();
    assert!(homeless.is_empty(), "no home for {homeless:?}");
}

#[test]
fn a_crooked_house_is_seen() {
    let crooked =
        |path: &str, text: &str| faults(&[Source::new(path, &format!("//! A room.\n{text}"))]);
    for (path, text, fault) in [
        ("engine/decide.rs", "use crate::format::yaml;", "engine/decide.rs sees `format`"),
        (
            "format/yaml/mod.rs",
            "use crate::{engine::Act, model::Task};",
            "format/yaml/mod.rs sees `engine`",
        ),
        (
            "format/yaml/mod.rs",
            "use crate::{\n    model::{Task, Visit},\n    engine,\n};",
            "format/yaml/mod.rs sees `engine`",
        ),
        ("store/lock.rs", "fn f() { crate::engine::decide() }", "store/lock.rs sees `engine`"),
        ("store/lock.rs", "use super::super::audit;", "store/lock.rs sees `audit`"),
        ("audit/log.rs", "use crate::store::Paths;", "audit/log.rs sees `store`"),
        ("model/task.rs", "use crate::ops;", "model/task.rs sees `ops`"),
        ("watch/mod.rs", "use crate::cli::main;", "watch/mod.rs sees `cli`"),
        ("attic/mod.rs", "", "attic/mod.rs is on no floor"),
        ("ops/edit.rs", "use git2::Oid;", "ops/edit.rs uses `git2`, whose home is audit"),
        (
            "engine/fold.rs",
            "fn f() { oxc_parser::Parser::new() }",
            "engine/fold.rs uses `oxc_parser`, whose home is engine/condition",
        ),
        ("ops/edit.rs", "fn f() { g().unwrap() }", "ops/edit.rs unwraps outside its tests"),
    ] {
        assert_eq!(crooked(path, text), [fault], "{text}");
    }
    assert_eq!(
        faults(&[Source::new("ops/edit.rs", "fn f() {}")]),
        ["ops/edit.rs does not open with `//!`"]
    );
    assert_eq!(
        crooked("ops/edit.rs", &"\n".repeat(501)),
        ["ops/edit.rs has 501 lines: split it, or list it with its reason"]
    );
    for (path, text) in [
        ("cli/task/new.rs", "use crate::ops::create;\nuse super::super::input;\nuse crate::watch;"),
        (
            "ops/edit.rs",
            "#[cfg(test)]\nmod tests {\n    use git2::Oid;\n    fn f() { g().unwrap() }\n}\nfn f() {}",
        ),
        ("ops/edit.rs", "// crate::cli is a door\nfn f() { my_git2::x() }"),
    ] {
        assert_eq!(crooked(path, text), Vec::<String>::new(), "{text}");
    }
}
