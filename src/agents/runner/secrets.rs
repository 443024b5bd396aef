//! The secrets of an agent: which values must not be seen, and its answer without them. What it printed was masked as it stood; a
//! value that JSON or YAML spells in some other way comes out only when that is read.

use serde_json::Value;

use super::verdict::question::Said;
use crate::domain::{AgentId, Launch, Map};
use crate::system::process::Secrets;

/// The endings of names of variables whose values are secrets, whoever says so.
const SECRET_ENDINGS: [&str; 4] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD"];

/// Returns the values that must not be seen; an error where one that is needed is not there.
pub(crate) fn secrets(launch: &Launch, agent: &AgentId) -> Result<Secrets, String> {
    let mut secrets = Vec::new();
    for name in &launch.secrets {
        match std::env::var(name) {
            Ok(value) if !value.is_empty() => secrets.push((name.clone(), value)),
            _ => {
                return Err(format!(
                    "`{agent}` needs `{name}`, and the environment has no such variable; set it where `aof` is started"
                ));
            }
        }
    }
    let is_secret =
        |name: &str| SECRET_ENDINGS.iter().any(|ending| name.to_uppercase().ends_with(ending));
    secrets.extend(std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        (is_secret(&name) && !launch.secrets.contains(&name)).then_some((name, value))
    }));
    Ok(Secrets::new(secrets.iter().map(|(name, value)| (name.as_str(), value.as_str()))))
}

/// Returns what was said with every secret masked.
pub(crate) fn masked(secrets: &Secrets, said: Said) -> Said {
    if secrets.is_empty() {
        return said;
    }
    let text = |text: String| masked_text(secrets, &text);
    Said {
        summary: said.summary.map(text),
        blockers: said.blockers.map(|blockers| blockers.into_iter().map(text).collect()),
        rejection_notes: said.rejection_notes.map(text),
        outputs: masked_map(secrets, said.outputs),
        metadata: masked_map(secrets, said.metadata),
        body: said.body.map(text),
        ..said
    }
}

/// Returns a text with every secret masked.
pub(crate) fn masked_text(secrets: &Secrets, text: &str) -> String {
    String::from_utf8_lossy(&secrets.masked(text.as_bytes())).into_owned()
}

fn masked_map(secrets: &Secrets, map: Map) -> Map {
    map.into_iter()
        .map(|(key, value)| (masked_text(secrets, &key), masked_value(secrets, value)))
        .collect()
}

fn masked_value(secrets: &Secrets, value: Value) -> Value {
    match value {
        Value::String(text) => masked_text(secrets, &text).into(),
        Value::Array(items) => items.into_iter().map(|item| masked_value(secrets, item)).collect(),
        Value::Object(map) => Value::Object(masked_map(secrets, map)),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agents::runner::verdict::question::Source;

    #[test]
    fn a_secret_that_json_spells_otherwise_is_seen_when_it_is_read() {
        let secret = "a\"b\\c-and-more";
        let secrets = Secrets::new([("DB_PASSWORD", secret)]);
        let map = json!({"k": [{secret: secret}, 1]}).as_object().cloned().unwrap();
        let said = Said {
            source: Source::Structured,
            outcome: None,
            summary: Some(format!("it is {secret}")),
            blockers: Some(vec![secret.to_owned()]),
            rejection_notes: Some(secret.to_owned()),
            outputs: map.clone(),
            metadata: map,
            body: Some(format!("{secret}\n")),
        };
        let masked = masked(&secrets, said);
        let all = format!("{masked:?}");
        assert!(!all.contains("and-more"), "{all}");
        assert_eq!(masked.summary.as_deref(), Some("it is [secret DB_PASSWORD]"));
    }
}
