//! The keys that a person trusts, whatever the repository says: the content of an `allowed_signers` file of OpenSSH.

use crate::{AgentId, PublicKey, Timestamp};

/// All trusted keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustedKeys(pub Vec<TrustedKey>);

/// A key, and the uses that it is trusted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    /// The owners: names, and patterns with `*` and `?`. A pattern that begins with `!` excludes the names that match it.
    pub principals: Vec<String>,
    /// The namespaces that it may sign in; `None` means all.
    pub namespaces: Option<Vec<String>>,
    pub after: Option<Timestamp>,
    pub before: Option<Timestamp>,
    /// The key; `None` if aof does not check keys of its type.
    pub key: Option<PublicKey>,
}

impl TrustedKeys {
    /// Returns whether the key belonged to that agent at that time, for signatures in that namespace.
    pub fn trusts(&self, key: &PublicKey, agent: &AgentId, namespace: &str, at: Timestamp) -> bool {
        self.0.iter().any(|line| {
            line.key.as_ref() == Some(key)
                && line.is_for(namespace, at)
                && any_fits(&line.principals, agent.as_str())
        })
    }

    /// Returns whether a key that was valid then names the agent: an agent with a key must sign. A pattern names no agent.
    pub fn names(&self, agent: &AgentId, namespace: &str, at: Timestamp) -> bool {
        let named =
            |line: &TrustedKey| line.principals.iter().any(|principal| principal == agent.as_str());
        self.0.iter().any(|line| line.key.is_some() && line.is_for(namespace, at) && named(line))
    }
}

impl TrustedKey {
    fn is_for(&self, namespace: &str, at: Timestamp) -> bool {
        self.namespaces.as_ref().is_none_or(|patterns| any_fits(patterns, namespace))
            && self.after.is_none_or(|after| at >= after)
            && self.before.is_none_or(|before| at <= before)
    }
}

/// Returns whether a pattern matches, and no excluding pattern does.
fn any_fits(patterns: &[String], text: &str) -> bool {
    let forbidden =
        |pattern: &String| pattern.strip_prefix('!').is_some_and(|pattern| fits(pattern, text));
    !patterns.iter().any(forbidden)
        && patterns.iter().any(|pattern| !pattern.starts_with('!') && fits(pattern, text))
}

/// Returns whether the pattern matches: `*` is anything, `?` any one character. Each star is tried once from each place on, so a
/// long pattern costs no more than its length times the text's.
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut read) = (0, 0);
    let mut star = None;
    while read < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(c) if *c == '?' || *c == text[read] => (at, read) = (at + 1, read + 1),
            _ => {
                let Some((place, from)) = star else { return false };
                star = Some((place, from + 1));
                (at, read) = (place + 1, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_those_of_openssh_do() {
        for (pattern, text, expected) in [
            ("human-ann", "human-ann", true),
            ("human-ann", "human-anna", false),
            ("*", "", true),
            ("human-*", "human-ann", true),
            ("*-ann", "human-ann", true),
            ("h*-a?n", "human-ann", true),
            ("h*-a?n", "human-an", false),
            ("*a*b*c*", "xxaxxbxxbxxc", true),
            ("*a*b*c*", "xxaxxcxxb", false),
            ("?", "", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert!(any_fits(&list(&["ann", "bob"]), "bob"));
        assert!(!any_fits(&list(&["*", "!bob"]), "bob"));
        assert!(!any_fits(&list(&["!bob"]), "ann"), "what is only forbidden allows nobody");
    }
}
