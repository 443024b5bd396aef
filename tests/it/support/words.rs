//! The words of the output for people, checked for each command that a test runs.

use std::process::Command;

/// Phrases that no output has.
const REMOVED: [&str; 6] = [
    "Say complete",
    "Other acts",
    "finished lately",
    "To mend",
    "wants one thing settled",
    "your word",
];

/// Commands whose output is for agents, for programs, or evidence.
const EXEMPT: [&str; 7] = ["schema", "metrics", "mcp", "brief", "next", "claim", "verify"];

/// Fails if the output for people has a removed phrase, or an exact time.
pub(crate) fn check_words(command: &Command, stdout: &str, stderr: &str) {
    let words: Vec<String> =
        command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let is_for_programs = |word: &String| {
        matches!(
            &**word,
            "--json" | "-v" | "-vv" | "--verbose" | "--log-format" | "--print" | "--help"
        ) || EXEMPT.contains(&&**word)
    };
    let is_aof = command.get_program().to_string_lossy().ends_with("/aof");
    if !is_aof || words.iter().any(is_for_programs) {
        return;
    }
    for line in stdout.lines().chain(stderr.lines()) {
        let removed = REMOVED.iter().find(|phrase| line.contains(**phrase));
        assert!(removed.is_none(), "{words:?}: `{removed:?}` in {line}");
        // A quoted line of a file, or a text that somebody wrote as JSON.
        let is_quoted = line.trim_start().starts_with(|c: char| c.is_ascii_digit())
            && line.contains(" | ")
            || line.contains("{\"");
        // What stands between backticks is to be typed, or was.
        let own = line.split('`').step_by(2).flat_map(|part| part.split([' ', '"', '(', ',']));
        let exact = own.filter(|_| !is_quoted).find(|word| is_exact_time(word));
        assert!(exact.is_none(), "{words:?}: `{exact:?}` in {line}");
    }
}

/// Returns whether a word is a time such as `2026-02-16T10:00:00Z`.
fn is_exact_time(word: &str) -> bool {
    let shape: String =
        word.chars().take(16).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0000-00-00T00:00"
}
