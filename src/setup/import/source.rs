//! The bytes of a foreign file as a tree, whatever the notation: YAML, JSON or TOML.

use std::ops::Range;

use crate::files::diagnostic::excerpt::Lines;
use crate::files::json::json;
use crate::files::toml_tree;
use crate::files::yaml;
use crate::files::yaml::{Fault, Limits, Node};

/// The largest file that is read.
const LARGEST: usize = 16 << 20;

/// More than our own files may ask for: ten thousand steps are a file too.
const LIMITS: Limits = Limits { depth: 64, nodes: 2_000_000, alias_nodes: 200_000, text: 32 << 20 };

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    Yaml,
    Json,
    Toml,
}

/// A foreign file that could be read.
pub(crate) struct Tree<'s> {
    pub(crate) root: Node<'static>,
    pub(crate) notation: Notation,
    pub(crate) lines: Lines<'s>,
}

/// Returns the text of a file, and what is wrong where it is none.
pub(crate) fn decoded(bytes: &[u8]) -> Result<String, (String, Fault)> {
    let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let fault = if bytes.len() > LARGEST {
        Fault::new("too_large", 0..0, format!("the file is larger than {} MiB", LARGEST >> 20))
            .help("a workflow is a page or two; this may be another file")
    } else if let Err(error) = std::str::from_utf8(bytes) {
        let at = error.valid_up_to();
        let said = if utf16 { "this is UTF-16, not UTF-8" } else { "this is not UTF-8 text" };
        Fault::new("not_utf8", at..at + 1, said).help("save the file as UTF-8")
    } else {
        let text = String::from_utf8_lossy(bytes).into_owned();
        if !text.trim().is_empty() {
            return Ok(text);
        }
        Fault::new("empty_file", 0..0, "the file is empty")
            .help("name the file that has the workflow in it")
    };
    let shown = bytes.len().min(LARGEST);
    Err((String::from_utf8_lossy(&bytes[..shown]).into_owned(), fault))
}

/// Reads the text in the notation that its name and its beginning tell.
pub(crate) fn read<'s>(name: &str, text: &'s str) -> Result<Tree<'s>, Vec<Fault>> {
    let (root, notation) = match notation(name, text) {
        Notation::Json => (json(text)?, Notation::Json),
        Notation::Toml => (toml_tree::parse(text)?, Notation::Toml),
        Notation::Yaml => match yaml::parse(text, &LIMITS) {
            Ok(node) => (node.into_owned(), Notation::Yaml),
            // A TOML file may be called anything.
            Err(faults) => (toml_tree::parse(text).map_err(|_| faults)?, Notation::Toml),
        },
    };
    if root.entries().is_empty() {
        let said = match root.noun() {
            "a mapping" => "this file says nothing".to_owned(),
            noun => format!("a workflow file is a mapping of fields, and this is {noun}"),
        };
        return Err(vec![Fault::new("no_workflow", first_line(text), said)]);
    }
    Ok(Tree { root, notation, lines: Lines::of(text) })
}

fn notation(name: &str, text: &str) -> Notation {
    let suffix = name.rsplit_once('.').map(|(_, suffix)| suffix.to_ascii_lowercase());
    match suffix.as_deref() {
        Some("toml") => Notation::Toml,
        _ if text.trim_start().starts_with(['{', '[']) && !looks_like_toml(text) => Notation::Json,
        _ => Notation::Yaml,
    }
}

/// A table header is no JSON, although it begins with a bracket.
fn looks_like_toml(text: &str) -> bool {
    let line = text.trim_start().lines().next().unwrap_or_default().trim_end();
    let name = line.trim_matches(['[', ']']);
    line.starts_with('[')
        && line.ends_with(']')
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// What begins with a brace may be YAML as well: comments and trailing commas are forgiven where YAML does.
fn json(text: &str) -> Result<Node<'static>, Vec<Fault>> {
    match yaml::parse(text, &LIMITS) {
        Ok(node) => Ok(node.into_owned()),
        Err(faults) if faults.iter().any(|fault| fault.code == "duplicate_key") => Err(faults),
        Err(_) => json::parse(text).map(Node::into_owned).map_err(|fault| vec![fault]),
    }
}

fn first_line(text: &str) -> Range<usize> {
    let start = text.len() - text.trim_start().len();
    start..start + text[start..].lines().next().map_or(0, str::len)
}
