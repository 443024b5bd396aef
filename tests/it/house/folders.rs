//! The shape of `src`: small and shallow folders without circles, plain `mod.rs` files, one name for one type, and the tour of
//! `docs/architecture.md`, whose functions are there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::architecture::{Source, sources};

/// How many entries a folder may have, `mod.rs` aside; the top folder holds the layers.
const MOST: usize = 16;
const MOST_AT_TOP: usize = 18;

/// How many folders may lie in each other below `src`.
const DEEPEST: usize = 3;

/// A path of modules and names below the crate.
type ItemPath = Vec<String>;

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn segments(path: &str) -> ItemPath {
    path.split("::").map(|part| part.trim().to_owned()).collect()
}

/// Returns the single paths of a tree such as `a::{b, c::{d, e as f}}`, each with the name that it is given.
fn flattened(tree: &str) -> Vec<(String, String)> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
        let last = path.trim().rsplit("::").next().unwrap_or_default();
        let name = if name.is_empty() { last } else { name.trim() };
        return vec![(path.trim().to_owned(), name.to_owned())];
    };
    let (head, group) = tree.split_at(open);
    let group = &group[1..group.rfind('}').unwrap()];
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for character in group.chars() {
        match character {
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        parts.last_mut().unwrap().push(character);
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts
        .flat_map(|part| flattened(part))
        .map(|(path, name)| match path.as_str() {
            "self" => {
                let whole = head.trim_end_matches("::");
                let last = whole.rsplit("::").next().unwrap_or_default();
                (whole.to_owned(), if name == "self" { last.to_owned() } else { name })
            }
            path => (format!("{head}{path}"), name),
        })
        .collect()
}

/// The modules of the crate: what each names, and how it names it.
struct Modules {
    imported: BTreeMap<ItemPath, BTreeMap<String, ItemPath>>,
    bodies: BTreeMap<ItemPath, String>,
}

impl Modules {
    fn of(sources: &[Source]) -> Self {
        let mut modules = Self { imported: BTreeMap::new(), bodies: BTreeMap::new() };
        for source in sources.iter().filter(|source| !matches!(&*source.path, "lib.rs" | "main.rs"))
        {
            let module = module_of(&source.path);
            let mut names = BTreeMap::new();
            let mut body = String::new();
            let mut rest = source.code.as_str();
            while let Some(at) = next_use(rest) {
                body.push_str(&rest[..at]);
                let (tree, after) = rest[at + "use ".len()..].split_once(';').unwrap();
                for (path, name) in flattened(tree) {
                    names.insert(name, absolute(&path, &module));
                }
                rest = after;
            }
            body.push_str(rest);
            modules.imported.insert(module.clone(), names);
            modules.bodies.insert(module, body);
        }
        modules
    }

    /// Returns the module that defines what a path names. Re-exports and imported modules are followed.
    fn home(&self, path: &[String], depth: usize) -> Option<ItemPath> {
        let known = (1..=path.len()).rev().find(|many| self.bodies.contains_key(&path[..*many]))?;
        let (module, rest) = path.split_at(known);
        let module = module.to_vec();
        let Some(target) = rest.first().and_then(|name| self.imported[&module].get(name)) else {
            return Some(module);
        };
        if depth == 0 {
            return Some(module);
        }
        let target: ItemPath = target.iter().chain(&rest[1..]).cloned().collect();
        self.home(&target, depth - 1).or(Some(module))
    }

    /// Returns the modules that a module names.
    fn imports(&self, module: &ItemPath) -> BTreeSet<ItemPath> {
        let body = &self.bodies[module];
        let names = &self.imported[module];
        let is_facade = |name: &str| !words(body).any(|word| word == name);
        let mut paths: Vec<ItemPath> = names
            .iter()
            .filter(|(name, _)| !is_facade(name))
            .map(|(_, path)| path.clone())
            .collect();
        for path in inline_paths(body) {
            let first = path.split("::").next().unwrap_or_default();
            if let Some(target) = names.get(first) {
                paths.push(target.iter().cloned().chain(segments(&path).split_off(1)).collect());
            } else if matches!(first, "crate" | "super" | "self") {
                paths.push(absolute(&path, module));
            }
        }
        let mut homes: BTreeSet<_> = paths.iter().filter_map(|path| self.home(path, 10)).collect();
        homes.remove(module);
        homes
    }
}

fn module_of(path: &str) -> ItemPath {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// Returns where the next `use` begins that is a declaration, and no word of a text.
fn next_use(code: &str) -> Option<usize> {
    let before = |at: usize| code[..at].rsplit('\n').next().unwrap_or_default().trim();
    let mut places = code.match_indices("use ").map(|(at, _)| at);
    places.find(|at| matches!(before(*at), "" | "pub" | "pub(crate)" | "pub(super)"))
}

pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c))
}

/// Returns what is written as `a::b::c` in code.
fn inline_paths(code: &str) -> Vec<String> {
    let found = code.split(|c: char| !is_word(c) && c != ':').filter(|path| path.contains("::"));
    found.map(|path| path.trim_matches(':').to_owned()).collect()
}

fn absolute(path: &str, module: &ItemPath) -> ItemPath {
    let mut parts = segments(path);
    let mut base = module.clone();
    match parts[0].as_str() {
        "crate" => base.clear(),
        "self" => {}
        "super" => {
            let up = parts.iter().take_while(|part| *part == "super").count();
            base.truncate(base.len() - up);
            parts.drain(..up - 1);
        }
        _ => return base.into_iter().chain(parts).collect(),
    }
    base.into_iter().chain(parts.drain(1..)).collect()
}

/// Returns for each folder its entries, and which of them name which others.
fn graphs(modules: &Modules) -> BTreeMap<ItemPath, BTreeMap<String, BTreeSet<String>>> {
    let mut graphs: BTreeMap<ItemPath, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for module in modules.bodies.keys() {
        for depth in 0..module.len() {
            let entries = graphs.entry(module[..depth].to_vec()).or_default();
            entries.entry(module[depth].clone()).or_default();
        }
        for other in modules.imports(module) {
            let shared = module.iter().zip(&other).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (module.get(shared), other.get(shared)) {
                let entries = graphs.entry(module[..shared].to_vec()).or_default();
                entries.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    graphs
}

/// Returns the entries that lie on a circle.
fn circle(entries: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let reaches_itself = |start: &String| {
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![start]);
        while let Some(entry) = waiting.pop() {
            for next in entries.get(entry).into_iter().flatten() {
                if next == start {
                    return true;
                }
                if seen.insert(next) {
                    waiting.push(next);
                }
            }
        }
        false
    };
    entries.keys().filter(|entry| reaches_itself(entry)).cloned().collect()
}

fn folder_faults(sources: &[Source]) -> Vec<String> {
    let modules = Modules::of(sources);
    let mut faults = Vec::new();
    for (folder, entries) in graphs(&modules) {
        let most = if folder.is_empty() { MOST_AT_TOP } else { MOST };
        let shown = folder.join("/");
        if entries.len() > most {
            faults.push(format!("`{shown}` has {} entries, and may have {most}", entries.len()));
        }
        let circle = circle(&entries);
        if !circle.is_empty() {
            faults.push(format!("entries of `{shown}` name each other: {}", circle.join(", ")));
        }
    }
    for source in sources {
        let path = &source.path;
        if path.matches('/').count() > DEEPEST {
            faults.push(format!("{path} lies too deep"));
        }
        let is_facade = path.ends_with("/mod.rs") || path == "lib.rs";
        if is_facade && words(&source.code).any(|word| word == "fn") {
            faults.push(format!("{path} has functions: it only declares"));
        }
        if source.code.contains("include!(") || source.code.contains("#[path") {
            faults.push(format!("{path} includes another file"));
        }
        if source.code.contains("::*;") {
            faults.push(format!("{path} imports by `*`"));
        }
    }
    faults
}

/// Returns the names of types that more than one module defines, each with where.
fn shared_names(sources: &[Source]) -> Vec<String> {
    let mut types: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in sources {
        for line in source.code.lines() {
            let line =
                line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
            let kinds = ["struct ", "enum ", "trait ", "type "];
            let Some(rest) = kinds.iter().find_map(|kind| line.strip_prefix(kind)) else {
                continue;
            };
            types.entry(words(rest).next().unwrap()).or_default().insert(&source.path);
        }
    }
    types.retain(|_, places| places.len() > 1);
    types.iter().map(|(name, places)| format!("{name}: {places:?}")).collect()
}

#[test]
fn folders_are_small_and_have_no_circles() {
    let faults = folder_faults(&sources());
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn a_name_is_one_type() {
    let shared = shared_names(&sources());
    assert!(shared.is_empty(), "\n{}", shared.join("\n"));
}

#[test]
fn the_tour_shows_functions_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let sources = sources();
    let mut functions = 0;
    for line in page.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
        // 12. `function` in `src/path.rs`: what it does
        let mut quoted = line.split('`').skip(1).step_by(2);
        let (Some(name), Some(path)) = (quoted.next(), quoted.next()) else { continue };
        let source = sources.iter().find(|source| source.path == path);
        let code = &source.unwrap_or_else(|| panic!("{path} of the tour is missing")).code;
        let is_there =
            code.contains(&format!("fn {name}(")) || code.contains(&format!("fn {name}<"));
        assert!(is_there, "{path} has no function `{name}`");
        functions += 1;
    }
    assert!(functions > 30, "the tour has {functions} functions");
}

#[test]
fn the_map_names_modules_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let map = fs::read_to_string(root.join("lib.rs")).unwrap();
    let map: Vec<&str> = map.lines().filter(|line| line.starts_with("//!")).collect();
    let map = map.join("\n");
    let modules = map.split('`').skip(1).step_by(2).filter(|name| name.contains("::"));
    let sources = sources();
    let mut count = 0;
    for module in modules {
        let path = module.replace("::", "/");
        let (file, folder) = (format!("{path}.rs"), format!("{path}/"));
        let is_there = |source: &Source| source.path == file || source.path.starts_with(&folder);
        assert!(sources.iter().any(is_there), "there is no {module}");
        count += 1;
    }
    assert!(count > 15, "the map names {count} modules");
}

#[test]
fn faults_of_folders_are_found() {
    let source = |path: &str, text: &str| Source::new(path, text);
    let faults = |sources: &[Source]| folder_faults(sources);
    let facade = source("tasks/mod.rs", "mod a;\nmod b;\nmod c;\npub(crate) use b::B;");
    let circle = [
        facade,
        source("tasks/a.rs", "use super::B;\nfn f(b: B) {}"),
        source("tasks/b.rs", "use crate::tasks::c::{C, D as E};\npub(crate) struct B(C, E);"),
        source("tasks/c.rs", "fn f() { super::a::f() }"),
    ];
    assert_eq!(faults(&circle), ["entries of `tasks` name each other: a, b, c"]);
    assert_eq!(faults(&circle[..3]), Vec::<String>::new());
    let many: Vec<Source> = (0..17).map(|n| source(&format!("tasks/m{n}.rs"), "")).collect();
    assert_eq!(faults(&many), ["`tasks` has 17 entries, and may have 16"]);
    for (path, text, fault) in [
        ("a/b/c/d/e.rs", "", "a/b/c/d/e.rs lies too deep"),
        ("a/mod.rs", "fn f() {}", "a/mod.rs has functions: it only declares"),
        ("a/b.rs", "use super::c::*;", "a/b.rs imports by `*`"),
        ("a/b.rs", "include!(\"c.rs\");", "a/b.rs includes another file"),
    ] {
        assert_eq!(faults(&[source(path, text)]), [fault]);
    }
    let twice = [source("a.rs", "pub struct Place;"), source("b.rs", "enum Place {}")];
    assert_eq!(shared_names(&twice), ["Place: {\"a.rs\", \"b.rs\"}"]);
}
