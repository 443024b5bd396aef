//! The architecture: imports go down only, each outside crate has one home, every module opens with its purpose.

use std::fs;
use std::path::Path;

/// The folders and their layers. A folder imports only from lower layers, and not those of [`HIDDEN`].
const LAYERS: &[(&str, u8)] = &[
    // Crates: the compiler holds which of them sees which.
    ("system", 0),
    ("domain", 0),
    ("rules", 0),
    ("files", 0),
    ("git", 0),
    ("storage", 3),
    ("project", 4),
    ("tasks", 5),
    ("history", 6),
    ("observability", 7),
    ("health", 8),
    ("setup", 8),
    ("dispatch", 8),
    ("operations", 9),
    ("watch", 10),
    ("agents", 10),
    ("board", 10),
    ("cli", 11),
];

/// Lower layers that a folder must not import all the same: storage knows nothing of the rules.
const HIDDEN: &[(&str, &str)] = &[("storage", "rules")];

/// Where each outside crate may be used; a dependency that is missing here has no home.
const HOMES: &[(&str, &[&str])] = &[
    ("annotate_snippets", &["files/diagnostic"]),
    ("anstream", &["cli", "agents/runner"]),
    ("anstyle", &["cli"]),
    ("argon2", &["project/access"]),
    ("axum", &["board/web"]),
    ("base64", &["agents/mcp", "domain/ssh", "observability/notices", "board/web"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    // For a feature of it: ratatui names it.
    ("crossterm", &[]),
    // The cache of headers has its checksum from it.
    ("flate2", &["git", "storage"]),
    ("form_urlencoded", &["board/pages", "board/web"]),
    ("fs4", &["storage"]),
    ("futures_util", &["board/web"]),
    ("getrandom", &["storage", "git"]),
    ("git2", &["git"]),
    ("granit_parser", &["files"]),
    ("hmac", &["observability/notices", "board/web"]),
    ("hyper", &["board/web"]),
    ("hyper_util", &["board/web"]),
    ("indicatif", &["cli"]),
    ("jsonc_parser", &["setup/agent_files"]),
    // For a feature of it: nobody names it.
    ("libz_sys", &[]),
    ("maud", &["board/pages", "board/web"]),
    ("memchr", &["git", "tasks/headers"]),
    ("mimalloc", &["main.rs"]),
    ("notify", &["watch"]),
    ("oxc_allocator", &["rules/condition"]),
    ("oxc_ast", &["rules/condition"]),
    ("oxc_parser", &["rules/condition"]),
    ("oxc_span", &["rules/condition"]),
    ("oxc_syntax", &["rules/condition"]),
    ("postcard", &["storage"]),
    ("proptest", &["domain/workflow/shape/random.rs"]),
    ("pulldown_cmark", &["board/pages", "cli/render"]),
    ("ratatui", &["board/tui"]),
    ("ring", &["rules/signing"]),
    ("rustix", &["system", "storage", "git"]),
    ("sha1", &["git"]),
    ("sha2", &["domain", "system", "observability/notices", "board/web"]),
    ("signal_hook", &["system"]),
    ("strsim", &["domain"]),
    ("tempfile", &["git", "cli", "agents/runner"]),
    ("supports_hyperlinks", &["cli/render"]),
    ("terminal_size", &["cli"]),
    ("tokio", &["board/web"]),
    ("toml", &["files"]),
    ("toml_edit", &["setup/agent_files"]),
    ("unicode_normalization", &["domain"]),
    ("unicode_width", &["cli", "board/tui"]),
    ("ureq", &["observability/notices", "project/test_run"]),
    ("walkdir", &["storage"]),
    (
        "tracing",
        &[
            "cli",
            "agents",
            "project",
            "tasks",
            "history",
            "observability",
            "dispatch",
            "setup",
            "health",
            "watch",
        ],
    ),
    ("tracing_subscriber", &["cli"]),
    // Words of the whole house: times, shapes, errors.
    ("jiff", &[""]),
    ("serde", &[""]),
    ("serde_json", &[""]),
    ("thiserror", &[""]),
];

/// How many lines of code a module may have.
const LONGEST: usize = 500;

/// One source file, without its tests and comments.
pub(crate) struct Source {
    /// Its path below `src/`.
    pub path: String,
    pub text: String,
    pub code: String,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            code: without_comments(&without_tests(text)),
        }
    }

    fn folder(&self) -> &str {
        self.path.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }

    /// Returns how many modules lie around what is in this file, the crate not counted.
    fn depth(&self) -> usize {
        let module = self.path.trim_end_matches(".rs").trim_end_matches("/mod");
        module.split('/').count()
    }

    /// Returns the top folders that the file names.
    fn imported_folders(&self) -> Vec<String> {
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
        seen.retain(|name| LAYERS.iter().any(|(folder, _)| folder == name));
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
        .filter_map(|pair| {
            pair[1].trim_start_matches("pub(crate) ").strip_prefix("mod ")?.strip_suffix(';')
        })
        .map(|name| format!("{folder}/{name}").trim_start_matches('/').to_owned())
        .collect()
}

pub(crate) fn crates() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap())).collect()
}

/// Returns the files of Rust below a folder: their paths from there, behind the prefix, and their texts.
pub(crate) fn files_below(root: &Path, prefix: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|suffix| suffix == "rs") {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                files.push((format!("{prefix}{name}"), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files
}

/// Returns the files of `aof` and of its crates. A crate counts as a folder of its name: the layers hold for all alike.
pub(crate) fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = files_below(&root.join("src"), "");
    for name in crates() {
        let folder = root.join("crates").join(&name).join("src");
        let inside = files_below(&folder, &format!("{name}/"));
        files.extend(inside.into_iter().map(|(path, text)| {
            let path = path.replace("/lib.rs", "/mod.rs");
            (path, text.replace("crate::", &format!("crate::{name}::")))
        }));
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
        if lines > LONGEST {
            faults.push(format!("{path} has {lines} lines: split it"));
        }
        if source.code.contains(".unwrap()") {
            faults.push(format!("{path} unwraps outside its tests"));
        }
        faults.extend(layer_faults(source));
        for (name, homes) in HOMES {
            let at_home = homes.iter().any(|home| path.starts_with(home));
            if !at_home && source.uses_crate(name) {
                faults.push(format!("{path} uses `{name}`, whose home is {}", homes.join(", ")));
            }
        }
    }
    faults
}

fn layer_faults(source: &Source) -> Vec<String> {
    let folder = source.folder();
    if matches!(folder, "main" | "lib") {
        return Vec::new();
    }
    let layer =
        |folder: &str| LAYERS.iter().find(|(known, _)| *known == folder).map(|(_, layer)| *layer);
    let Some(own) = layer(folder) else { return vec![format!("{} has no layer", source.path)] };
    let mut faults = Vec::new();
    for imported in source.imported_folders() {
        let pair = (folder, imported.as_str());
        let is_lower = layer(&imported).is_some_and(|other| other < own);
        let allowed = imported == folder || is_lower && !HIDDEN.contains(&pair);
        if !allowed {
            faults.push(format!("{} imports `{imported}`", source.path));
        }
    }
    faults
}

#[test]
fn the_layers_hold() {
    let sources = sources();
    assert!(sources.len() > 100, "only {} sources were found", sources.len());
    for (folder, _) in LAYERS {
        let is_there = sources.iter().any(|source| source.folder() == *folder);
        assert!(is_there, "there is no folder `{folder}`");
    }
    let faults = faults(&sources);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_dependency_has_a_home() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let inner = crates().into_iter().map(|name| root.join("crates").join(name));
    let mut homeless = Vec::new();
    for folder in inner.chain([root.to_owned()]) {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let section = manifest.split("\n[dependencies]\n").nth(1).unwrap();
        let lines = section.split("\n[").next().unwrap().lines();
        let names = lines.filter_map(|line| line.split([' ', '.']).next());
        homeless.extend(names.map(|name| name.replace('-', "_")).filter(|name| {
            let is_ours =
                name.strip_prefix("aof_").is_some_and(|own| crates().contains(&own.to_owned()));
            let has_home = is_ours || HOMES.iter().any(|(known, _)| known == name);
            !has_home && !name.is_empty() && !name.starts_with('#')
        }));
    }
    assert!(homeless.is_empty(), "no home for {homeless:?}");
}

#[test]
fn violations_are_found() {
    let check =
        |path: &str, text: &str| faults(&[Source::new(path, &format!("//! A module.\n{text}"))]);
    for (path, text, fault) in [
        (
            "storage/lock.rs",
            "use crate::{rules::Act, domain::Task};",
            "storage/lock.rs imports `rules`",
        ),
        (
            "storage/lock.rs",
            "use crate::{\n    domain::{Task, Visit},\n    rules,\n};",
            "storage/lock.rs imports `rules`",
        ),
        ("storage/lock.rs", "fn f() { crate::rules::decide() }", "storage/lock.rs imports `rules`"),
        ("storage/lock.rs", "use super::super::project;", "storage/lock.rs imports `project`"),
        ("watch/run.rs", "use crate::cli::main;", "watch/run.rs imports `cli`"),
        ("attic/mod.rs", "", "attic/mod.rs has no layer"),
        ("tasks/edit.rs", "use git2::Oid;", "tasks/edit.rs uses `git2`, whose home is git"),
        (
            "rules/decide.rs",
            "fn f() { oxc_parser::Parser::new() }",
            "rules/decide.rs uses `oxc_parser`, whose home is rules/condition",
        ),
        ("tasks/edit.rs", "fn f() { g().unwrap() }", "tasks/edit.rs unwraps outside its tests"),
    ] {
        assert_eq!(check(path, text), [fault], "{text}");
    }
    assert_eq!(
        faults(&[Source::new("tasks/edit.rs", "fn f() {}")]),
        ["tasks/edit.rs does not open with `//!`"]
    );
    assert_eq!(
        check("tasks/edit.rs", &"\n".repeat(501)),
        ["tasks/edit.rs has 501 lines: split it"]
    );
    for (path, text) in [
        (
            "cli/task/new.rs",
            "use crate::tasks::create;\nuse super::super::input;\nuse crate::watch;",
        ),
        (
            "tasks/edit.rs",
            "#[cfg(test)]\nmod tests {\n    use git2::Oid;\n    fn f() { g().unwrap() }\n}\nfn f() {}",
        ),
        ("tasks/edit.rs", "// crate::cli is a door\nfn f() { my_git2::x() }"),
    ] {
        assert_eq!(check(path, text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn the_style_names_each_colour_once_among_its_tokens() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/board/web/assets/board.css");
    let style = fs::read_to_string(path).expect("the style");
    let end = style.find("\n}").expect("the tokens are the first rule");
    let named = |text: &str| -> Vec<String> {
        let is_colour = |word: &&str| {
            let is_hex = |hex: &str| hex.len() >= 3 && hex.chars().all(|c| c.is_ascii_hexdigit());
            let functions = ["rgb(", "rgba(", "hsl(", "hsla(", "oklch("];
            word.strip_prefix('#').is_some_and(is_hex)
                || functions.iter().any(|f| word.starts_with(f))
        };
        let words = text
            .split([' ', ',', ';', ')', '\n'])
            .map(|word| word.trim_start_matches("light-dark("));
        words.filter(is_colour).map(str::to_owned).collect()
    };
    assert_eq!(named(&style[end..]), Vec::<String>::new());
    let tokens = &style[..end];
    assert!(named(tokens).len() > 60, "{tokens}");
    let names =
        tokens.split(';').filter_map(|token| token.trim().strip_prefix("--")?.split(':').next());
    let names: Vec<&str> = names.collect();
    let distinct: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), distinct.len(), "a token is there twice");
}
