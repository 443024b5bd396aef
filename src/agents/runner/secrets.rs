//! The secrets of an agent: which values must not be seen, and its answer without them. What it printed was masked as it stood; a
//! value that JSON or YAML spells in some other way comes out only when that is read.

use std::env;
use std::ffi::OsString;

use serde_json::Value;

use super::verdict::question::RunAnswer;
use crate::domain::{AgentId, Launch, Map};
use crate::files::completion_file::Answer;
use crate::system::process::Secrets;

/// The endings of names of variables whose values are secrets, whoever says so.
const SECRET_ENDINGS: [&str; 4] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD"];

/// Returns the values that must not be seen. Fails where one that the agent needs is not set.
pub(crate) fn secrets(launch: &Launch, agent: &AgentId) -> Result<Secrets, String> {
    if let Some(name) = missing(launch).next() {
        return Err(format!(
            "`{agent}` needs `{name}`, and the environment has no such variable; set it where `aof` is started"
        ));
    }
    let is_secret = |name: &String| {
        let has_ending = SECRET_ENDINGS.iter().any(|end| name.to_uppercase().ends_with(end));
        has_ending || launch.secrets.contains(name)
    };
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let all = env::vars_os().filter_map(text).filter(|(name, _)| is_secret(name));
    let all: Vec<(String, String)> = all.collect();
    Ok(Secrets::new(all.iter().map(|(name, value)| (name.as_str(), value.as_str()))))
}

/// Returns the variables that the agent needs and that are not set.
pub(crate) fn missing(launch: &Launch) -> impl Iterator<Item = &String> {
    launch.secrets.iter().filter(|name| env::var(name).unwrap_or_default().is_empty())
}

/// Returns the answer with every secret masked.
pub(crate) fn masked(secrets: &Secrets, answer: RunAnswer) -> RunAnswer {
    if secrets.is_empty() {
        return answer;
    }
    let text = |text: String| masked_text(secrets, &text);
    let fields = answer.fields;
    let fields = Answer {
        summary: fields.summary.map(text),
        blockers: fields.blockers.map(|blockers| blockers.into_iter().map(text).collect()),
        rejection_notes: fields.rejection_notes.map(text),
        outputs: masked_map(secrets, fields.outputs),
        metadata: masked_map(secrets, fields.metadata),
        body: fields.body.map(text),
        ..Answer::default()
    };
    RunAnswer { fields, ..answer }
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
    use crate::agents::runner::verdict::question::AnswerSource;

    #[test]
    fn a_secret_that_json_spells_otherwise_is_seen_when_it_is_read() {
        let secret = "a\"b\\c-and-more";
        let secrets = Secrets::new([("DB_PASSWORD", secret)]);
        let map = json!({"k": [{secret: secret}, 1]}).as_object().cloned().unwrap();
        let fields = Answer {
            summary: Some(format!("it is {secret}")),
            blockers: Some(vec![secret.to_owned()]),
            rejection_notes: Some(secret.to_owned()),
            outputs: map.clone(),
            metadata: map,
            body: Some(format!("{secret}\n")),
            ..Answer::default()
        };
        let said = RunAnswer { source: AnswerSource::Structured, outcome: None, fields };
        let masked = masked(&secrets, said);
        let all = format!("{masked:?}");
        assert!(!all.contains("and-more"), "{all}");
        assert_eq!(masked.fields.summary.as_deref(), Some("it is [secret DB_PASSWORD]"));
    }
}
