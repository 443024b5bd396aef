//! Who says which `KEY: value`, and who reads it: what a step asks for in its reply is what its gate hands on.

use std::collections::BTreeSet;

/// The key that says how a step went; it is a verdict and is handed on to nobody.
pub(crate) const STATUS: &str = "status";

/// Returns the keys that a step's input asks for in the reply, as templates name them. A reply begins behind words such as
/// `Reply with:`; before them `KEY: {{key}}` tells the agent something.
pub(crate) fn asked_for(input: &str) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let mut in_reply = false;
    for line in input.lines() {
        let line = line.trim().trim_start_matches(['-', '*', '`', ' ']);
        if let Some(rest) = announced(line) {
            in_reply = true;
            keys.extend(key_of(rest.trim()));
        } else if in_reply {
            keys.extend(key_of(line));
        }
    }
    keys
}

/// Returns what stands behind the words that announce a reply, if the line has them.
fn announced(line: &str) -> Option<&str> {
    const OPENINGS: [&str; 9] = [
        "reply with",
        "respond with",
        "answer with",
        "output exactly",
        "output:",
        "reply:",
        "output format",
        "return:",
        "end with",
    ];
    let lower = line.to_ascii_lowercase();
    if let Some(opening) = OPENINGS.iter().find(|opening| lower.starts_with(**opening)) {
        return Some(line[opening.len()..].trim_start_matches(':'));
    }
    let at = ["output:", "reply with:", "output ", "reply "].iter().find_map(|words| {
        let at = lower.rfind(words)?;
        let before = lower[..at].ends_with([' ', ',']);
        before.then_some(at + words.len())
    })?;
    let rest = &line[at..];
    (rest.trim().is_empty() || key_of(rest.trim()).is_some()).then_some(rest)
}

/// Returns the key of a line `KEY: ...`, in lower case.
pub(crate) fn key_of(line: &str) -> Option<String> {
    let (key, _) = line.split_once(':')?;
    let key = key.trim_end_matches('`');
    let shouted = key.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        && key.starts_with(|c: char| c.is_ascii_uppercase())
        && key.len() > 1;
    shouted.then(|| key.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(input: &str) -> Vec<String> {
        asked_for(input).into_iter().collect()
    }

    #[test]
    fn keys_of_a_reply_are_told_from_keys_of_the_question() {
        let input = "Look at it.\nREPO: {{repo}}\n\nReply with:\nSTATUS: done\nROOT_CAUSE: why\n\nOr:\nSTATUS: retry\nISSUES:\n- what";
        assert_eq!(asked(input), ["issues", "root_cause", "status"]);
        assert_eq!(
            asked("If it works, output: DEPLOY_STATUS: ok\nIf not, output: DEPLOY_STATUS: failed"),
            ["deploy_status"]
        );
        assert_eq!(asked("REQUIREMENTS OUTPUT: {{x}}\nNOTE: be brief"), Vec::<String>::new());
        assert_eq!(
            asked("Otherwise, output:\n  PHASE_DONE: skipped\nOUTPUT:\nSWARM: x"),
            ["phase_done", "swarm"]
        );
        assert_eq!(asked("Output exactly one of:\n  SMOKE_PASS: true"), ["smoke_pass"]);
    }
}
