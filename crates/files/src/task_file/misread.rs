//! Forms of people's keys that are probably not read as they are meant. Committed ones keep their meaning, since replay needs it.

use serde_json::json;

use super::TaskFile;
use crate::config::decode::{one_or_many, text_of};
use crate::yaml::scalar::{Legacy, legacy};
use crate::yaml::{Fault, Node, NodeKind, NodeLayout};
use aof_domain::{Due, PlanKey, Priority, nearest};

/// The keys that a misspelled key may mean, besides those of the plan, each with other spellings of it.
const KEYS: [(&str, &[&str]); 12] = [
    ("routing: {workflow: ...}", &["workflow"]),
    ("title", &[]),
    ("tests", &["test", "acceptancetests"]),
    ("tags", &["tag", "labels", "label", "hashtags"]),
    ("due", &["duedate"]),
    ("notBefore", &["startdate", "start", "from", "defer", "snooze"]),
    ("assignee", &["assignees", "assignedto"]),
    ("links", &["link"]),
    ("dependsOn", &["depends", "dependencies"]),
    ("parent", &[]),
    ("metadata", &[]),
    ("context", &[]),
];

fn keys() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    KEYS.into_iter().chain(PlanKey::names().map(|key| (key, &[][..])))
}

/// Returns the values that are read otherwise than they look, each with its place and the form to write.
pub fn misread(file: &TaskFile) -> Vec<Fault> {
    let mut found = Vec::new();
    let mut add = |at: &Node<'_>, message: String, help: String| {
        found.push(Fault::new("misread_form", at.span.clone(), message).help(help));
    };
    let field = |key| file.field(key).filter(|node| !node.is_null());
    if let Some(tags) = field("tags") {
        let is_text = !matches!(tags.kind, NodeKind::Sequence(_));
        for (node, tag) in one_or_many(tags).iter().filter_map(|node| Some((node, text_of(node)?)))
        {
            let parts = tag.split(|c| matches!(c, ',' | ';') || is_text && char::is_whitespace(c));
            let parts: Vec<&str> = parts.map(|part| whole_tag(part.trim())).collect();
            if parts != [tag.as_ref()] {
                let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                let fix = format!("write `tags: [{}]`", parts.join(", "));
                add(node, format!("`{tag}` is read as one tag of that name"), fix);
            }
        }
    }
    if let Some(NodeKind::String(text)) = field("links").map(|node| &node.kind)
        && text.contains(", ")
        && let Some(node) = field("links")
    {
        let fix = "write a list, as in `links: [one, other]`".to_owned();
        add(node, format!("`{text}` is read as one link"), fix);
    }
    let priority = field("priority").or_else(|| field("metadata")?.get("priority"));
    if let Some(node) = priority.filter(|node| !node.is_null()) {
        let word = text_of(node).unwrap_or_else(|| node.noun().into());
        let near = match word.to_lowercase().as_str() {
            "p0" | "urgent" | "highest" => Some("critical"),
            other => nearest(other, Priority::ALL.iter().map(|known| known.as_str())),
        };
        if word.parse::<Priority>().is_err() {
            let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            let fix = format!("{near}It is one of `critical`, `high`, `medium`, `low`");
            add(node, format!("`{word}` is no priority and counts as `medium`"), fix);
        }
    }
    if let Some(node) = field("notBefore")
        && let Err(fault) = text_of(node).unwrap_or_default().parse::<Due>()
    {
        add(node, "`notBefore` counts as absent".to_owned(), fault.to_string());
    }
    for key in ["metadata", "context"] {
        if let Some(node) = field(key) {
            add_yes_and_no(key, node, &mut add);
        }
    }
    for entry in file.source.root().entries() {
        let (key, value) = (entry.key.text.as_ref(), &entry.value);
        let is_text = matches!(key, "title" | "milestone" | "tags");
        for node in one_or_many(value) {
            let is_cut = is_text && node.layout == NodeLayout::Plain
                || node.is_null() && keys().any(|(known, _)| known == key);
            if let Some(cut) = is_cut.then(|| hashed(file.source.text(), node)).flatten() {
                let fix = "put the text in quotes, or leave out the `#`".to_owned();
                add(node, format!("`{cut}` is a comment and is not read as `{key}`"), fix);
            }
        }
    }
    let plain = |key: &str| key.replace(['_', '-', ' '], "").to_lowercase();
    for entry in file.source.root().entries() {
        let given = &entry.key.text;
        let meant = keys().find(|(key, others)| {
            let given = plain(given);
            given == plain(key) || others.contains(&given.as_str())
        });
        let is_empty = |key: &str| {
            file.field(key).is_none_or(|node| node.is_null() || node.to_value() == json!([]))
        };
        if let Some((key, _)) = meant.filter(|(key, _)| given.as_ref() != *key && is_empty(key)) {
            let message = format!("the key `{given}` is not read");
            let fault = Fault::new("misread_form", entry.key.span.clone(), message);
            found.push(fault.help(format!("did you mean `{key}`?")));
        }
    }
    if let Some(at) = file.source.text().find('\0') {
        let message =
            "a NUL character, for which git takes the file for binary and shows no change of it";
        found.push(Fault::new("nul_byte", at..at + 1, message).help("remove it"));
    }
    found
}

/// Returns a tag without the mark that people put before it in notes: `#api`, or `-api` for an item of a list.
fn whole_tag(tag: &str) -> &str {
    let item = tag.strip_prefix('-').filter(|rest| rest.starts_with(char::is_alphabetic));
    item.unwrap_or(tag).trim_start_matches('#')
}

fn add_yes_and_no(name: &str, node: &Node<'_>, add: &mut impl FnMut(&Node<'_>, String, String)) {
    node.entries().iter().for_each(|entry| add_yes_and_no(&entry.key.text, &entry.value, add));
    node.items().iter().for_each(|item| add_yes_and_no(name, item, add));
    let word = node.as_str().filter(|_| node.layout == NodeLayout::Plain);
    if let Some(word) = word.filter(|word| legacy(word) == Some(Legacy::Bool)) {
        let fix = format!("write `{name}: true`, `{name}: false`, or `{name}: \"{word}\"`");
        add(node, format!("`{name}: {word}` is read as a text, not as yes or no"), fix);
    }
}

/// Returns the comment after a value on its line if it looks like a part of the text: `#12`, not `# later`.
pub(crate) fn hashed<'t>(text: &'t str, node: &Node<'_>) -> Option<&'t str> {
    let from = if node.is_null() { node.indicator? + 1 } else { node.span.end };
    let behind = text.get(from..)?.lines().next()?.trim();
    let is_word = behind.strip_prefix('#')?.starts_with(char::is_alphanumeric);
    is_word.then_some(behind)
}
