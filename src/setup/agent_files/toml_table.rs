//! Our table of a TOML file, comments and layout of everything else kept. What the new text says is read back and compared before
//! anybody may write it. The one home of the `toml_edit` crate.
//!
//! Codex hands on to its servers those variables alone that are named: without them the server would not know who acts.

use serde_json::{Map, Value, json};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value as TomlValue};

use super::agent_files::{Unmergeable, line_break, starts_server};
use crate::files::toml_tree as reader;
use crate::files::yaml::line_column;

const SERVERS: &str = "mcp_servers";
const NAME: &str = "aof";

/// What the server takes from the environment: who acts, and for which run.
const VARIABLES: [&str; 3] = ["AOF_AGENT", "AOF_TASK", "AOF_RUN"];

/// Returns the text with the server. An entry that starts it stays as it is; of one that starts something else only `command`,
/// `args` and `env_vars` change.
pub(crate) fn merged(text: &str) -> Result<String, Unmergeable> {
    let newline = line_break(text);
    let plain = text.replace("\r\n", "\n");
    let mut document: DocumentMut = plain.parse().map_err(|error: toml_edit::TomlError| {
        let (line, _) = line_column(&plain, error.span().map_or(0, |span| span.start));
        let problem = format!(
            "line {line} is not TOML: {}",
            error.message().lines().next().unwrap_or_default()
        );
        Unmergeable::new(Some(line), problem, "mend it, then run this again")
    })?;
    let mut expected = said(&plain)?;
    if is_started(&expected) {
        return Ok(text.to_owned());
    }
    if document.to_string() != plain || plain.replace('\n', newline) != text {
        return Err(unsafe_change());
    }
    let not_table = |what: &str| {
        Unmergeable::new(
            None,
            format!("`{what}` is not a table"),
            "make it one, then run this again",
        )
    };
    let servers = document.entry(SERVERS).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers = servers.as_table_like_mut().ok_or_else(|| not_table(SERVERS))?;
    let own = servers.entry(NAME).or_insert_with(|| Item::Table(Table::new()));
    let own = own.as_table_like_mut().ok_or_else(|| not_table(&format!("{SERVERS}.{NAME}")))?;
    set(own, "command", "aof".into());
    set(own, "args", Array::from_iter(["mcp"]).into());
    set(own, "env_vars", Array::from_iter(VARIABLES).into());
    let merged = document.to_string();
    let wanted = expected
        .as_object_mut()
        .and_then(|root| member(root, SERVERS))
        .and_then(|map| member(map, NAME));
    if let Some(wanted) = wanted {
        wanted.insert("command".to_owned(), json!("aof"));
        wanted.insert("args".to_owned(), json!(["mcp"]));
        wanted.insert("env_vars".to_owned(), json!(VARIABLES));
    }
    if said(&merged)? != expected {
        return Err(unsafe_change());
    }
    Ok(merged.replace('\n', newline))
}

/// Sets a value; what stands around the old one stays.
fn set(table: &mut dyn TableLike, key: &str, mut value: TomlValue) {
    if let Some(old) = table.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    table.insert(key, Item::Value(value));
}

fn unsafe_change() -> Unmergeable {
    Unmergeable::new(
        None,
        "it cannot be changed without touching the rest of it",
        "write it by hand",
    )
}

fn member<'m>(map: &'m mut Map<String, Value>, name: &str) -> Option<&'m mut Map<String, Value>> {
    map.entry(name).or_insert_with(|| json!({})).as_object_mut()
}

/// Returns what a text says, by another reader than the one that changes it.
fn said(text: &str) -> Result<Value, Unmergeable> {
    let tree = reader::parse(text).map_err(|faults| {
        let line = faults.first().map(|fault| fault.line_column(text).0);
        let problem = faults.first().map_or_else(String::new, |fault| fault.message.clone());
        Unmergeable::new(line, problem, "mend it, then run this again")
    })?;
    Ok(tree.to_value())
}

fn is_started(value: &Value) -> bool {
    let Some(entry) = value.pointer("/mcp_servers/aof") else { return false };
    let args = entry.get("args").and_then(Value::as_array).into_iter().flatten();
    starts_server(entry.get("command").into_iter().chain(args).filter_map(Value::as_str))
}
