//! I12: what an agent with a key has said is signed by it. Remakes what was signed from `docs/guides/signing.md` alone, and has the real
//! `ssh-keygen` check it; shares no code with `aof`.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::support::checker::parse;
use crate::support::environment::TestEnvironment;
use crate::support::signer::has_ssh_keygen;

/// Returns what is wrong with the signature of the newest entry of a task, which a commit brought.
pub(crate) fn signature_fault(
    env: &TestEnvironment,
    commit: &str,
    task: &str,
    history: &[Value],
) -> Option<String> {
    let entry = history.last().filter(|entry| entry["completion"].is_object())?;
    let agent = entry["agent"].as_str()?;
    let rules = |name: &str| {
        let text = env.try_git(&["show", &format!("{commit}^:./{name}")]);
        parse(format!("---\n{}\n---\n", text.stdout).as_bytes()).unwrap_or_default()
    };
    let keys = match &rules("org.yaml")["agents"][agent]["signingKey"] {
        Value::Null => Vec::new(),
        Value::Array(keys) => keys.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        key => key.as_str().map(str::to_owned).into_iter().collect::<Vec<_>>(),
    };
    let fault = |text: &str| Some(format!("I12: {commit} {task}: {text}"));
    match (entry["signature"].as_str(), keys.is_empty()) {
        (None, false) => fault(&format!("{agent} has a key and did not sign")),
        (Some(_), true) => fault(&format!("{agent} has signed and has no key")),
        (Some(signature), false) if has_ssh_keygen() => {
            let mut project = rules("project.yaml")["project"]["name"].clone();
            if project.is_number() {
                project = project.to_string().into();
            }
            let text = signed_text(&project, task, history);
            let problem = verify(env, &text, signature, agent, &keys)?;
            fault(&format!("ssh-keygen: {problem}\n{text}"))
        }
        (Some(_), false) | (None, true) => None,
    }
}

fn signed_text(project: &Value, task: &str, history: &[Value]) -> String {
    let (entry, before) = history.split_last().unwrap();
    // A branch that left others open ended no visit.
    let is_open =
        |entry: &&Value| entry["gate"].as_str().unwrap().contains('/') && entry["to"].is_null();
    let visit = before.len() - before.iter().rev().take_while(is_open).count();
    let gate = entry["gate"].as_str().unwrap();
    let branch = gate.split_once('/').map(|(_, branch)| format!("/{branch}")).unwrap_or_default();
    let or =
        |value: &Value, other: &str| if value.is_null() { other.to_owned() } else { json(value) };
    let facts = [
        ("project", or(project, "null")),
        ("task", format!("\"{task}@{visit}{branch}\"")),
        ("gate", json(&entry["gate"])),
        ("rules", json(&entry["workflow"])),
        ("agent", json(&entry["agent"])),
        ("outcome", json(&entry["outcome"])),
        ("summary", json(&entry["summary"])),
        ("blockers", or(&entry["blockers"], "[]")),
        ("rejectionNotes", or(&entry["rejectionNotes"], "null")),
        ("outputs", or(&entry["outputs"], "{}")),
        ("metadata", or(&entry["metadata"], "{}")),
        ("completion", json(&entry["completion"]["id"])),
        ("sha256", json(&entry["completion"]["sha256"])),
    ];
    let lines: String = facts.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    format!("aof-completion: 1\n{lines}")
}

fn json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}:{}", json(&key.as_str().into()), json(value)))
                .collect();
            entries.sort();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(","))
        }
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap().to_string(),
        other => escaped(&other.to_string()),
    }
}

/// Escapes the control characters that JSON would let stand.
fn escaped(json: &str) -> String {
    json.chars()
        .map(|c| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() })
        .collect()
}

/// Returns what `ssh-keygen` says against a signature.
fn verify(
    env: &TestEnvironment,
    text: &str,
    signature: &str,
    agent: &str,
    keys: &[String],
) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let (signers, file) = (folder.path().join("signers"), folder.path().join("signature"));
    fs::write(&signers, keys.iter().map(|key| format!("{agent} {key}\n")).collect::<String>())
        .unwrap();
    fs::write(&file, signature).unwrap();
    fs::write(folder.path().join("text"), text).unwrap();
    let mut command = env.command("ssh-keygen");
    command
        .args(["-Y", "verify", "-n", "aof", "-I", agent, "-f"])
        .arg(&signers)
        .arg("-s")
        .arg(&file);
    command.stdin(Stdio::from(fs::File::open(folder.path().join("text")).unwrap()));
    let output = command.output().unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).trim().to_owned())
}
