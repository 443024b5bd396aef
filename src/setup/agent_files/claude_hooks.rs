//! The hooks in Claude Code's settings: lists of groups, one for each event, in which others have groups of their own.

use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::{Value, json};

use super::{UnmergeableFile, json_input, json_options, json_value, parsed, unsafe_change};

const HOOKS: &str = "hooks";
/// The events, by their names in Claude Code.
const EVENTS: [&str; 3] = ["SessionStart", "PreCompact", "Stop"];

/// Returns the group of an event. The hook must not get in the way of people without `aof`, or with an older one.
fn group(event: &str) -> Value {
    let command = format!("aof hook {event} || true");
    json!({"hooks": [{"type": "command", "command": command, "timeout": 10}]})
}

/// Returns true if a group has only our hook.
fn is_ours(group: &Value, event: &str) -> bool {
    let ours = format!("aof hook {event}");
    let hooks = group["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_call =
        |hook: &Value| hook["command"].as_str().is_some_and(|command| command.starts_with(&ours));
    !hooks.is_empty() && hooks.iter().all(is_call)
}

/// Returns true if the settings have one of our hooks.
pub(super) fn has_hooks(text: &str) -> bool {
    let hooks = json_value(text).and_then(|file| file.get(HOOKS).cloned()).unwrap_or_default();
    let groups = |event: &str| hooks[event].as_array().cloned().unwrap_or_default();
    EVENTS.iter().any(|event| groups(event).iter().any(|group| is_ours(group, event)))
}

/// Returns the settings with our hooks; groups of others stay.
pub(crate) fn with_hooks(text: &str) -> Result<String, UnmergeableFile> {
    let mut expected = if text.trim().is_empty() {
        json!({})
    } else {
        parsed(text)?.to_serde_value().unwrap_or_default()
    };
    let refused = |what: &str, kind: &str| {
        let problem = format!("{what} is not {kind}");
        UnmergeableFile::new(None, problem, "make it one, then run this again")
    };
    let file = expected.as_object_mut().ok_or_else(|| refused("the file", "an object"))?;
    let hooks = file.entry(HOOKS).or_insert_with(|| json!({}));
    let hooks = hooks.as_object_mut().ok_or_else(|| refused("`hooks`", "an object"))?;
    let mut missing = Vec::new();
    for event in EVENTS {
        let groups = hooks.entry(event).or_insert_with(|| json!([]));
        let groups = groups
            .as_array_mut()
            .ok_or_else(|| refused(&format!("`hooks.{event}`"), "an array"))?;
        if !groups.iter().any(|group| is_ours(group, event)) {
            groups.push(group(event));
            missing.push(event);
        }
    }
    if text.trim().is_empty() {
        return Ok(format!("{expected:#}\n"));
    }
    if missing.is_empty() {
        return Ok(text.to_owned());
    }
    let root = parsed(text)?;
    let object = root.object_value().ok_or_else(unsafe_change)?.object_value_or_set(HOOKS);
    for event in missing {
        if let Some(groups) = object.array_value(event) {
            groups.append(json_input(&group(event)));
        } else {
            let groups = CstInputValue::Array(vec![json_input(&group(event))]);
            object.append(event, groups);
        }
    }
    let merged = root.to_string();
    if json_value(&merged) == Some(expected) { Ok(merged) } else { Err(unsafe_change()) }
}

/// Returns the settings without our hooks, and without lists that this leaves empty.
pub(crate) fn without_hooks(text: &str) -> Result<String, UnmergeableFile> {
    if !has_hooks(text) {
        return Ok(text.to_owned());
    }
    let root = CstRootNode::parse(text, &json_options()).map_err(|_| unsafe_change())?;
    let file = root.object_value().ok_or_else(unsafe_change)?;
    let hooks = file.object_value(HOOKS).ok_or_else(unsafe_change)?;
    for event in EVENTS {
        let Some(groups) = hooks.array_value(event) else { continue };
        for group in groups.elements() {
            if group.to_serde_value().is_some_and(|group| is_ours(&group, event)) {
                group.remove();
            }
        }
        if let Some(member) = hooks.get(event).filter(|_| groups.elements().is_empty()) {
            member.remove();
        }
    }
    if let Some(member) = file.get(HOOKS).filter(|_| hooks.properties().is_empty()) {
        member.remove();
    }
    Ok(if file.properties().is_empty() { String::new() } else { root.to_string() })
}
