//! Our entries in a TOML file such as Codex's.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value as TomlValue};

use super::{
    UnmergeableFile, expected_value, is_set, line_break, pointer, start_members, unsafe_change,
};
use crate::files::toml_tree;
use crate::files::yaml::line_column;

/// Returns the text with the entry at that path. An entry that is already set stays unchanged; in one that starts something else, only
/// `command`, `args` and `env_vars` change.
pub(super) fn with_table(
    text: &str,
    path: &[&str],
    name: &str,
    entry: &Value,
) -> Result<String, UnmergeableFile> {
    let newline = line_break(text);
    let plain = text.replace("\r\n", "\n");
    let mut document: DocumentMut = plain.parse().map_err(|error: toml_edit::TomlError| {
        let (line, column) = line_column(&plain, error.span().map_or(0, |span| span.start));
        let problem = format!(
            "line {line}, column {column} is not TOML: {}",
            error.message().lines().next().unwrap_or_default()
        );
        UnmergeableFile::new(Some(line), problem, "fix it, then run this again")
    })?;
    let before = toml_value(&plain)?;
    if before.pointer(&pointer(path, name)).is_some_and(|entry| is_set(name, entry)) {
        return Ok(text.to_owned());
    }
    if document.to_string() != plain || plain.replace('\n', newline) != text {
        return Err(unsafe_change());
    }
    let not_table = |what: &str| {
        UnmergeableFile::new(
            None,
            format!("`{what}` is not a table"),
            "make it one, then run this again",
        )
    };
    let mut place: &mut dyn TableLike = document.as_table_mut();
    for (at, part) in path.iter().enumerate() {
        let new = || {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        };
        let inner = place.entry(part).or_insert_with(new).as_table_like_mut();
        place = inner.ok_or_else(|| not_table(&path[..=at].join(".")))?;
    }
    if let Some(who) = entry.as_str() {
        set_toml(place, name, who.into());
    } else {
        let table = place.entry(name).or_insert_with(|| Item::Table(Table::new()));
        let table = table.as_table_like_mut();
        let table = table.ok_or_else(|| not_table(&[path, &[name]].concat().join(".")))?;
        for (key, value) in start_members(entry) {
            let words = value.as_array().into_iter().flatten().filter_map(Value::as_str);
            let words = || words.collect::<Array>().into();
            set_toml(table, key, value.as_str().map_or_else(words, Into::into));
        }
    }
    let merged = document.to_string();
    if Some(toml_value(&merged)?) != expected_value(before, path, name, entry) {
        return Err(unsafe_change());
    }
    Ok(merged.replace('\n', newline))
}

/// Sets a value, and keeps the comments and spaces around the old one.
fn set_toml(table: &mut dyn TableLike, key: &str, mut value: TomlValue) {
    if let Some(old) = table.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    table.insert(key, Item::Value(value));
}

/// Returns the TOML text without our entry, and without tables that this leaves empty.
pub(super) fn without_table(
    text: &str,
    path: &[&str],
    name: &str,
) -> Result<String, UnmergeableFile> {
    let plain = text.replace("\r\n", "\n");
    let is_ours =
        |value: Value| value.pointer(&pointer(path, name)).is_some_and(|entry| is_set(name, entry));
    if !toml_value(&plain).is_ok_and(is_ours) {
        return Ok(text.to_owned());
    }
    let mut document: DocumentMut = plain.parse().map_err(|_| unsafe_change())?;
    remove_entry(document.as_table_mut(), path, name).ok_or_else(unsafe_change)?;
    Ok(document.to_string().replace('\n', line_break(text)))
}

/// Removes an entry, and the tables of its path that this leaves empty. Returns `None` if a part of the path is not a table.
fn remove_entry(table: &mut dyn TableLike, path: &[&str], name: &str) -> Option<()> {
    let Some((first, rest)) = path.split_first() else {
        table.remove(name);
        return Some(());
    };
    let inner = table.get_mut(first)?.as_table_like_mut()?;
    remove_entry(inner, rest, name)?;
    if inner.is_empty() {
        table.remove(first);
    }
    Some(())
}

/// Parses TOML with a parser other than the one that edits it.
fn toml_value(text: &str) -> Result<Value, UnmergeableFile> {
    let tree = toml_tree::parse(text).map_err(|faults| {
        let line = faults.first().map(|fault| fault.line_column(text).0);
        let problem = faults.first().map_or_else(String::new, |fault| fault.message.clone());
        UnmergeableFile::new(line, problem, "fix it, then run this again")
    })?;
    Ok(tree.to_value())
}
