//! The `allowed_signers` files of OpenSSH, which git reads, too: one key per line, with its owners and the uses it is trusted for.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use aof_domain::ssh::trusted_keys::{TrustedKey, TrustedKeys};
use aof_domain::{PublicKey, Timestamp};

/// A fault in a line of such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFault {
    pub line: usize,
    pub problem: String,
}

/// Returns the keys that the file trusts, or all its faults.
pub fn parse(text: &str) -> Result<TrustedKeys, Vec<LineFault>> {
    let mut keys = TrustedKeys::default();
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match read(line) {
            Ok(key) => keys.0.push(key),
            Err(problem) => faults.push(LineFault { line: index + 1, problem }),
        }
    }
    if faults.is_empty() { Ok(keys) } else { Err(faults) }
}

/// Returns a line that trusts the key with an agent's completions.
pub fn line(agent: &str, namespace: &str, key: &PublicKey) -> String {
    format!("{agent} namespaces=\"{namespace}\" {key} {}", key.comment()).trim_end().to_owned()
}

fn read(line: &str) -> Result<TrustedKey, String> {
    let (principals, rest) = word(line)?;
    let mut trusted = TrustedKey {
        principals: list(&principals),
        namespaces: None,
        after: None,
        before: None,
        key: None,
    };
    let mut rest = rest;
    if !is_type(rest) {
        let (options, key) = word(rest)?;
        rest = key;
        let mut is_authority = false;
        for option in split(&options) {
            let (name, value) = option
                .split_once('=')
                .map_or((option.as_str(), None), |(name, value)| (name, Some(value)));
            let value = value.map(|value| value.trim_matches('"'));
            match (name.to_ascii_lowercase().as_str(), value) {
                ("cert-authority", None) => is_authority = true,
                ("namespaces", Some(value)) => trusted.namespaces = Some(list(value)),
                ("valid-after", Some(value)) => trusted.after = Some(time(value)?),
                ("valid-before", Some(value)) => trusted.before = Some(time(value)?),
                _ => {
                    return Err(format!(
                        "`{}` is not an option of such files",
                        option.escape_debug()
                    ));
                }
            }
        }
        if !is_type(rest) {
            return Err("no key stands behind the options".to_owned());
        }
        if is_authority {
            // aof checks no certificates, so the line trusts no key.
            return Ok(trusted);
        }
    }
    // A key of a type that aof does not check may still be good for other programs.
    trusted.key = match rest.parse::<PublicKey>() {
        Ok(key) => Some(key),
        Err(_) if !is_checked(rest) => None,
        Err(fault) => return Err(fault.problem),
    };
    Ok(trusted)
}

fn is_type(text: &str) -> bool {
    ["ssh-", "ecdsa-", "sk-", "webauthn-"].iter().any(|start| text.starts_with(start))
}

fn is_checked(text: &str) -> bool {
    let kinds = ["ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ssh-rsa"];
    kinds.contains(&text.split(' ').next().unwrap_or_default())
}

/// Splits off the first word; blanks between quotes are part of it.
fn word(text: &str) -> Result<(String, &str), String> {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ' ' | '\t' if !quoted => return Ok((text[..at].to_owned(), text[at..].trim_start())),
            _ => {}
        }
    }
    Err("a line has a name, and a key behind it".to_owned())
}

/// Splits options at the commas outside quotes.
fn split(options: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in options.chars() {
        quoted ^= c == '"';
        match parts.last_mut() {
            Some(part) if c != ',' || quoted => part.push(c),
            _ => parts.push(String::new()),
        }
    }
    parts
}

fn list(text: &str) -> Vec<String> {
    text.trim_matches('"')
        .split(',')
        .map(|part| part.trim().to_owned())
        .filter(|part| !part.is_empty())
        .collect()
}

/// Reads `YYYYMMDD` or `YYYYMMDDHHMM[SS]`, with or without `Z`: in UTC, so that every machine reads the same time.
fn time(text: &str) -> Result<Timestamp, String> {
    let digits = text.strip_suffix('Z').unwrap_or(text);
    let whole = format!("{digits:0<14}");
    let is_time =
        matches!(digits.len(), 8 | 12 | 14) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let read = is_time.then(|| DateTime::strptime("%Y%m%d%H%M%S", &whole).ok()).flatten();
    let read = read.and_then(|time| time.to_zoned(TimeZone::UTC).ok());
    read.map(|time| time.timestamp()).ok_or_else(|| {
        format!("`{}` is not a time as in `20260216` or `202602161000Z`", text.escape_debug())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDrGwTXlPu6BCAs/WbjSjtwBTL/ZF3EAOFL3allUTOAO";

    fn trusts(text: &str, agent: &str, at: &str) -> bool {
        let keys = parse(text).unwrap();
        keys.trusts(&KEY.parse().unwrap(), &agent.parse().unwrap(), "aof", at.parse().unwrap())
    }

    #[test]
    fn lines_have_the_meaning_of_openssh() {
        let day = "2026-02-16T10:00:00Z";
        for (line, expected) in [
            (format!("human-ann {KEY} ann@laptop"), true),
            (format!("ann@example.org,human-ann {KEY}"), true),
            (format!("ann@example.org {KEY}"), false),
            (format!("human-* {KEY}"), true),
            (format!("*,!human-ann {KEY}"), false),
            (format!("human-ann namespaces=\"aof,git\" {KEY}"), true),
            (format!("human-ann namespaces=\"git\" {KEY}"), false),
            (format!("human-ann valid-after=\"20260216\",valid-before=\"20260217Z\" {KEY}"), true),
            (format!("human-ann valid-after=\"202602161001\" {KEY}"), false),
            (format!("human-ann valid-before=\"20260216095959Z\" {KEY}"), false),
            (format!("human-ann cert-authority {KEY}"), false),
            (format!("# human-ann {KEY}\n\n"), false),
            ("human-ann ecdsa-sha2-nistp521 AAAA".to_owned(), false),
        ] {
            assert_eq!(trusts(&line, "human-ann", day), expected, "{line}");
        }
        assert_eq!(
            line("human-ann", "aof", &KEY.parse().unwrap()),
            format!("human-ann namespaces=\"aof\" {KEY}")
        );
    }

    #[test]
    fn a_name_asks_for_signatures_and_a_pattern_does_not() {
        let named = |text: &str| {
            let at = "2026-02-16T10:00:00Z".parse().unwrap();
            parse(text).unwrap().names(&"human-ann".parse().unwrap(), "aof", at)
        };
        assert!(named(&format!("human-ann {KEY}")));
        assert!(!named(&format!("human-* {KEY}")));
        assert!(!named(&format!("human-ann valid-after=\"20260301\" {KEY}")));
    }

    #[test]
    fn everything_wrong_is_said_with_its_line() {
        let text = format!(
            "human-ann\n# fine\nann fly {KEY}\nann valid-after=\"today\" {KEY}\nann ssh-ed25519 AAAA\n{KEY}"
        );
        let lines: Vec<usize> = parse(&text).unwrap_err().iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [1, 3, 4, 5, 6]);
    }
}
