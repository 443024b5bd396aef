//! Blockers that somebody else cannot act upon.

/// Words that, alone, name no thing that could be mended.
const EMPTY_WORDS: &[&str] = &[
    "a",
    "again",
    "all",
    "and",
    "bad",
    "better",
    "broken",
    "change",
    "changes",
    "doesnt",
    "done",
    "enough",
    "fix",
    "fixes",
    "fixing",
    "good",
    "great",
    "improve",
    "improvement",
    "improvements",
    "incomplete",
    "is",
    "issue",
    "issues",
    "it",
    "looks",
    "more",
    "much",
    "need",
    "needed",
    "needs",
    "nice",
    "no",
    "not",
    "ok",
    "please",
    "poor",
    "problem",
    "problems",
    "quality",
    "redo",
    "required",
    "review",
    "rework",
    "some",
    "something",
    "stuff",
    "the",
    "this",
    "to",
    "todo",
    "very",
    "work",
    "working",
    "works",
    "wrong",
];

/// Returns whether the text names nothing in particular: every word of it is one that fits any work.
pub(crate) fn is_vague(text: &str) -> bool {
    let mut words = text
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .map(|word| word.replace('\'', "").to_lowercase())
        .filter(|word| !word.is_empty())
        .peekable();
    words.peek().is_none() || words.all(|word| EMPTY_WORDS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_a_complaint_from_a_blocker() {
        for text in [
            "needs work",
            "Not good enough",
            "needs improvement",
            "fix it",
            "...",
            "this doesn't work",
            "wrong!",
        ] {
            assert!(is_vague(text), "{text}");
        }
        for text in [
            "coverage at 65%, need 80%",
            "missing error handling for expired tokens",
            "waiting for the API specification",
            "typo in README",
            "テストが足りない",
        ] {
            assert!(!is_vague(text), "{text}");
        }
    }
}
