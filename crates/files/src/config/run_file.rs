//! `run` of an agent, a workflow, a gate and a branch: settings for starting agents, and limits of their runs.

use std::borrow::Cow;

use super::decode::{Faults, FieldReader, one_or_many, parse_key, text_of};
use super::notify_file::is_variable;
use crate::yaml::{Node, NodeKind};
use aof_domain::{Fix, GateRun, Launch, Outcome, Period, Preset, Remedy, RunLimits};

/// The key of the exit statuses by which a program is started again later.
const WAIT: &str = "wait";
/// The least seconds from one start to the next.
const LEAST_EVERY: u64 = 10;

/// The most runs of a program at once.
const MOST_PARALLEL: u32 = 64;
/// The most attempts that a visit may have.
const MOST_ATTEMPTS: u32 = 20;

/// Returns the settings for starting the agent.
pub(crate) fn read_launch(node: &Node<'_>, faults: &Faults) -> Option<Launch> {
    let fields = FieldReader::of(node, "an agent's `run`", faults)?;
    let preset = fields.parsed("preset");
    let command = fields.with("command", read_command);
    if command.is_none() && (preset == Some(Preset::Command) || !fields.has("preset")) {
        let (message, help) = match preset {
            Some(_) => {
                ("`preset: command` needs the `command`", "write `command: [program, argument]`")
            }
            None => (
                "an agent's `run` needs `preset` or `command`",
                "write `preset: claude`, or `command: [program, argument]`",
            ),
        };
        fields.fault("preset", "missing_field", message, help);
    }
    let launch = Launch {
        preset: preset.unwrap_or(Preset::Command),
        command: command.flatten().unwrap_or_default(),
        reads: fields.parsed("reads"),
        env: fields.with("env", read_env).unwrap_or_default(),
        secrets: fields.with("secrets", read_secrets).unwrap_or_default(),
        parallel: positive(&fields, "parallel", MOST_PARALLEL),
        limits: read_bounds(&fields),
    };
    refuse_unknown(&fields);
    Some(launch)
}

/// Returns the limits for runs of a workflow, a role or the project.
pub(crate) fn read_limits(node: &Node<'_>, whose: &'static str, faults: &Faults) -> RunLimits {
    let fields = FieldReader::of(node, whose, faults);
    let Some(fields) = fields else { return RunLimits::default() };
    let limits = read_bounds(&fields);
    refuse_unknown(&fields);
    limits
}

/// Returns the limits of a gate or a branch for runs.
pub(crate) fn read_gate(node: &Node<'_>, faults: &Faults) -> GateRun {
    let fields = FieldReader::of(node, "a gate's `run`", faults);
    let Some(fields) = fields else { return GateRun::default() };
    let limits = read_bounds(&fields);
    let (exit, wait) = fields.with("exit", read_exit).unwrap_or_default();
    let every: Option<Period> = fields.parsed("every");
    if let Some(node) = fields.take("every") {
        if wait.is_empty() {
            let message = "`every` counts only where an exit status means `wait`";
            fields.faults.invalid(node, message, "add one, as in `exit: {wait: 75}`");
        }
        if every.is_some_and(|every| every.seconds() < LEAST_EVERY) {
            let message = format!("`every` is at least {LEAST_EVERY} seconds");
            fields.faults.invalid(node, message, "");
        }
    }
    refuse_unknown(&fields);
    GateRun { limits, exit, wait, every }
}

fn refuse_unknown(fields: &FieldReader<'_, '_>) {
    fields.refuse_unknown_but(|key| match key {
        "preset" | "command" | "reads" | "env" | "secrets" | "parallel" => {
            Some(format!("how an agent is started is said in org.yaml: `agents: {{agent-1: {{run: {{{key}: ...}}}}}}`"))
        }
        "exit" | "every" => Some(
            "what an exit status means is said at the gate: `run: {exit: {complete: 0, needs_review: 1}}`".to_owned(),
        ),
        "prompt" => {
            Some("put `{prompt}` or `{promptFile}` into `command`; without them the prompt comes on stdin".to_owned())
        }
        _ => None,
    });
}

fn read_bounds(fields: &FieldReader<'_, '_>) -> RunLimits {
    let mut limits = RunLimits {
        timeout: fields.parsed("timeout"),
        idle: fields.parsed("idle"),
        model: fields.text("model"),
        workspace: fields.parsed("workspace"),
        attempts: positive(fields, "attempts", MOST_ATTEMPTS),
        resume: fields.flag("resume"),
        ..RunLimits::default()
    };
    if let Some(retry) = fields.below("retry", "`retry`") {
        limits.delay = retry.parsed("delay");
        limits.factor = positive(&retry, "factor", 10);
        limits.longest = retry.parsed("max");
        retry.refuse_unknown();
    }
    limits
}

fn positive(fields: &FieldReader<'_, '_>, key: &'static str, most: u32) -> Option<u32> {
    let (count, node) = (fields.count(key)?, fields.take(key)?);
    if (1..=most).contains(&count) {
        return Some(count);
    }
    let message = format!("`{key}` is a number from 1 to {most}, and this is {count}");
    fields.faults.invalid(node, message, "");
    None
}

pub(super) fn read_command(node: &Node<'_>, faults: &Faults) -> Option<Vec<String>> {
    let is_list = matches!(node.kind, NodeKind::Sequence(_));
    let words = node.items().iter().map(|item| text_of(item).map(Cow::into_owned));
    let words: Option<Vec<String>> = words.collect();
    let has_program =
        |words: &Vec<String>| words.first().is_some_and(|word| !word.trim().is_empty());
    let Some(words) = words.filter(|words| is_list && has_program(words)) else {
        let help = "no shell reads it; write `command: [my-agent, --task, \"{task}\"]`";
        let wanted = "`command` is a list of texts: the program and its arguments";
        faults.wrong_kind(node, wanted, help);
        return None;
    };
    if let Some(word) = words.iter().find(|word| word.contains('\0')) {
        let message =
            format!("`{}` holds a NUL, which no program can be given", word.escape_debug());
        faults.invalid(node, message, "");
    }
    Some(words)
}

fn read_env(node: &Node<'_>, faults: &Faults) -> Vec<(String, String)> {
    if !matches!(node.kind, NodeKind::Mapping(_)) {
        let help = "write `env: {CI: \"1\"}`";
        faults.wrong_kind(node, "`env` is a mapping of names and texts", help);
    }
    let mut variables = Vec::new();
    for entry in node.entries() {
        let name = entry.key.text.as_ref();
        let Some(value) = text_of(&entry.value) else {
            faults.wrong_kind(&entry.value, format!("`{name}` is a text"), "");
            continue;
        };
        if !is_variable(name) || name.starts_with("AOF_") {
            let message = format!("`{name}` cannot be set here");
            let help = "a name has letters, digits and `_`, and those that begin with `AOF_` are aof's own";
            faults.add("invalid_value", &entry.key.span, message, help);
        }
        variables.push((name.to_owned(), value.into_owned()));
    }
    variables
}

fn read_secrets(node: &Node<'_>, faults: &Faults) -> Vec<String> {
    let mut names = Vec::new();
    for item in one_or_many(node) {
        match item.as_str().filter(|name| is_variable(name)) {
            Some(name) => names.push(name.to_owned()),
            None => faults.invalid(
                item,
                "`secrets` names environment variables",
                format!(
                    "write the secret into a variable of the environment that `{}` is started in, and its name here: `secrets: [API_KEY]`",
                    Fix::from(Remedy::Run)
                ),
            ),
        }
    }
    names
}

/// Reads the outcomes of exit statuses, and the statuses that mean `wait`.
fn read_exit(node: &Node<'_>, faults: &Faults) -> (Vec<(u8, Outcome)>, Vec<u8>) {
    if !matches!(node.kind, NodeKind::Mapping(_)) {
        let help = "write `exit: {complete: 0, needs_review: 1}`";
        faults.wrong_kind(node, "`exit` is a mapping of outcomes and exit statuses", help);
    }
    let (mut meanings, mut wait): (Vec<(u8, Outcome)>, Vec<u8>) = (Vec::new(), Vec::new());
    for entry in node.entries() {
        let is_wait = entry.key.text == WAIT;
        let outcome: Option<Outcome> = if is_wait { None } else { parse_key(&entry.key, faults) };
        for node in one_or_many(&entry.value) {
            let Some(status) = text_of(node).and_then(|text| text.parse::<u8>().ok()) else {
                let help = "write `exit: {complete: 0, needs_review: [1, 2]}`";
                faults.invalid(node, "an exit status is a number from 0 to 255", help);
                continue;
            };
            if meanings.iter().map(|(known, _)| known).chain(&wait).any(|known| *known == status) {
                let message = format!("exit status {status} has two meanings");
                faults.invalid(node, message, "keep one of the two");
            }
            meanings.extend(outcome.clone().map(|outcome| (status, outcome)));
            wait.extend(is_wait.then_some(status));
        }
    }
    (meanings, wait)
}
