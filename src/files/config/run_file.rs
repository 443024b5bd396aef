//! `run` of an agent, a workflow, a gate and a branch: how agents are started, and what bounds their runs.

use std::borrow::Cow;

use super::decode::{Fields, parse_key, text_of, wrong_kind};
use super::notify_file::is_variable;
use crate::domain::{GateRun, Launch, Outcome, Preset, RunLimits};
use crate::files::yaml::{Fault, Kind, Node};

/// The most attempts that a visit may have.
const MOST_ATTEMPTS: u32 = 20;

/// Returns how the agent is started.
pub(crate) fn read_launch(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<Launch> {
    let mut fields = Fields::of(node, "an agent's `run`", faults)?;
    let preset = fields.parsed("preset", faults);
    let command = fields.take("command").map(|node| read_command(node, faults));
    if preset.is_none() && !fields.has("preset") && command.is_none() {
        faults.push(
            Fault::new(
                "missing_field",
                fields.key_span("preset"),
                "an agent's `run` needs `preset` or `command`",
            )
            .help("write `preset: claude`, or `command: [program, argument]`"),
        );
    }
    if preset == Some(Preset::Command) && command.is_none() {
        faults.push(
            Fault::new(
                "missing_field",
                fields.key_span("preset"),
                "`preset: command` needs the `command`",
            )
            .help("write `command: [program, argument]`"),
        );
    }
    let launch = Launch {
        preset: preset.unwrap_or(Preset::Command),
        command: command.flatten().unwrap_or_default(),
        reads: fields.parsed("reads", faults),
        env: fields.take("env").map(|node| read_env(node, faults)).unwrap_or_default(),
        secrets: fields.take("secrets").map(|node| read_secrets(node, faults)).unwrap_or_default(),
        limits: read_bounds(&mut fields, faults),
    };
    refuse_unknown(fields, faults);
    Some(launch)
}

/// Returns what a workflow says of runs.
pub(crate) fn read_limits(node: &Node<'_>, faults: &mut Vec<Fault>) -> RunLimits {
    let Some(mut fields) = Fields::of(node, "a workflow's `run`", faults) else {
        return RunLimits::default();
    };
    let limits = read_bounds(&mut fields, faults);
    refuse_unknown(fields, faults);
    limits
}

/// Returns what a gate or a branch says of runs.
pub(crate) fn read_gate(node: &Node<'_>, faults: &mut Vec<Fault>) -> GateRun {
    let Some(mut fields) = Fields::of(node, "a gate's `run`", faults) else {
        return GateRun::default();
    };
    let limits = read_bounds(&mut fields, faults);
    let exit = fields.take("exit").map(|node| read_exit(node, faults)).unwrap_or_default();
    refuse_unknown(fields, faults);
    GateRun { limits, exit }
}

fn refuse_unknown(fields: Fields<'_, '_>, faults: &mut Vec<Fault>) {
    fields.refuse_unknown_but(faults, |key| match key {
        "preset" | "command" | "reads" | "env" | "secrets" => {
            Some(format!("how an agent is started is said in org.yaml: `agents: {{agent-1: {{run: {{{key}: ...}}}}}}`"))
        }
        "exit" => Some(
            "what an exit status means is said at the gate: `run: {exit: {complete: 0, needs_review: 1}}`".to_owned(),
        ),
        "prompt" => {
            Some("put `{prompt}` or `{promptFile}` into `command`; without them the prompt comes on stdin".to_owned())
        }
        _ => None,
    });
}

fn read_bounds(fields: &mut Fields<'_, '_>, faults: &mut Vec<Fault>) -> RunLimits {
    let mut limits = RunLimits {
        timeout: fields.parsed("timeout", faults),
        idle: fields.parsed("idle", faults),
        model: fields.text("model", faults),
        attempts: positive(fields, "attempts", MOST_ATTEMPTS, faults),
        ..RunLimits::default()
    };
    if let Some(mut retry) =
        fields.take("retry").and_then(|node| Fields::of(node, "`retry`", faults))
    {
        limits.delay = retry.parsed("delay", faults);
        limits.factor = positive(&mut retry, "factor", 10, faults);
        limits.longest = retry.parsed("max", faults);
        retry.refuse_unknown(faults);
    }
    limits
}

fn positive(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    most: u32,
    faults: &mut Vec<Fault>,
) -> Option<u32> {
    let count = fields.count(key, faults)?;
    if (1..=most).contains(&count) {
        return Some(count);
    }
    let span = fields.take(key).map_or_else(|| fields.key_span(key), |node| node.span.clone());
    faults.push(Fault::new(
        "invalid_value",
        span,
        format!("`{key}` is a number from 1 to {most}, and this is {count}"),
    ));
    None
}

fn read_command(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<Vec<String>> {
    let words: Option<Vec<String>> = match &node.kind {
        Kind::Sequence(items) => {
            items.iter().map(|item| text_of(item).map(Cow::into_owned)).collect()
        }
        _ => None,
    };
    let sound = |words: &[String]| words.first().is_some_and(|program| !program.trim().is_empty());
    if let Some(words) = words.filter(|words| sound(words)) {
        if let Some(word) = words.iter().find(|word| word.contains('\0')) {
            let message =
                format!("`{}` holds a NUL, which no program can be given", word.escape_debug());
            faults.push(Fault::new("invalid_value", node.span.clone(), message));
        }
        return Some(words);
    }
    faults.push(
        wrong_kind(node, "`command` is a list of texts: the program and its arguments")
            .help("no shell reads it; write `command: [my-agent, --task, \"{task}\"]`"),
    );
    None
}

fn read_env(node: &Node<'_>, faults: &mut Vec<Fault>) -> Vec<(String, String)> {
    if !matches!(node.kind, Kind::Mapping(_)) {
        faults.push(
            wrong_kind(node, "`env` is a mapping of names and texts")
                .help("write `env: {CI: \"1\"}`"),
        );
    }
    let mut variables = Vec::new();
    for entry in node.entries() {
        let name = entry.key.text.as_ref();
        let Some(value) = text_of(&entry.value) else {
            faults.push(wrong_kind(&entry.value, format!("`{name}` is a text")));
            continue;
        };
        if !is_variable(name) || name.starts_with("AOF_") {
            let fault = Fault::new(
                "invalid_value",
                entry.key.span.clone(),
                format!("`{name}` cannot be set here"),
            );
            faults
                .push(fault.help("a name has letters, digits and `_`, and those that begin with `AOF_` are aof's own"));
        }
        variables.push((name.to_owned(), value.into_owned()));
    }
    variables
}

fn read_secrets(node: &Node<'_>, faults: &mut Vec<Fault>) -> Vec<String> {
    let items = match &node.kind {
        Kind::Sequence(items) => items.iter().collect(),
        _ => vec![node],
    };
    let mut names = Vec::new();
    for item in items {
        match item.as_str().filter(|name| is_variable(name)) {
            Some(name) => names.push(name.to_owned()),
            None => faults.push(
                Fault::new("invalid_value", item.span.clone(), "`secrets` names environment variables").help(
                    "write the secret into a variable of the environment that `aof run` is started in, and its name here: `secrets: [API_KEY]`",
                ),
            ),
        }
    }
    names
}

fn read_exit(node: &Node<'_>, faults: &mut Vec<Fault>) -> Vec<(u8, Outcome)> {
    if !matches!(node.kind, Kind::Mapping(_)) {
        faults.push(
            wrong_kind(node, "`exit` is a mapping of outcomes and exit statuses")
                .help("write `exit: {complete: 0, needs_review: 1}`"),
        );
    }
    let mut meanings: Vec<(u8, Outcome)> = Vec::new();
    for entry in node.entries() {
        let outcome: Option<Outcome> = parse_key(&entry.key, faults);
        let statuses = match &entry.value.kind {
            Kind::Sequence(items) => items.iter().collect(),
            _ => vec![&entry.value],
        };
        for node in statuses {
            let Some(status) = text_of(node).and_then(|text| text.parse::<u8>().ok()) else {
                let fault = Fault::new(
                    "invalid_value",
                    node.span.clone(),
                    "an exit status is a number from 0 to 255",
                );
                faults.push(fault.help("write `exit: {complete: 0, needs_review: [1, 2]}`"));
                continue;
            };
            if meanings.iter().any(|(known, _)| *known == status) {
                let message = format!("exit status {status} has two meanings");
                faults.push(
                    Fault::new("invalid_value", node.span.clone(), message)
                        .help("keep one of the two"),
                );
            }
            meanings.extend(outcome.clone().map(|outcome| (status, outcome)));
        }
    }
    meanings
}
