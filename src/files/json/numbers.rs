//! The numbers of a JSON text, as they are written. One that nobody can hold with all its digits (a whole one of more than 64 bits: an
//! order, an account; or one that is larger than any) is the text that is written, as in YAML: `serde_json` would round it, or refuse all.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_json::{Error, Value};

/// A text whose numbers all keep what they say.
pub(crate) struct Kept {
    /// The text with quotes around those that would not.
    text: Option<String>,
}

impl Kept {
    /// Returns the text, or what is wrong with it, at its place.
    pub(crate) fn new(text: &str) -> Result<Self, Error> {
        let long: Vec<Range<usize>> =
            places(text).filter(|place| is_too_long(&text[place.clone()])).collect();
        if long.is_empty() {
            return Ok(Self { text: None });
        }
        let (mut short, mut quoted, mut last) =
            (text.as_bytes().to_vec(), String::with_capacity(text.len() + 64), 0);
        for place in long {
            quoted.push_str(&text[last..place.start]);
            quoted.extend(["\"", &text[place.clone()], "\""]);
            last = place.end;
            short[place.clone()].fill(b' ');
            short[place.start] = b'0';
        }
        quoted.push_str(&text[last..]);
        // A text may stand where no number may: as a key. With small numbers in their place all else is held to its grammar, and
        // what is wrong stands where it stands.
        serde_json::from_slice::<serde::de::IgnoredAny>(&short)?;
        Ok(Self { text: Some(quoted) })
    }

    /// Returns it; `text` is what it was made of.
    pub(crate) fn text<'t>(&'t self, text: &'t str) -> &'t str {
        self.text.as_deref().unwrap_or(text)
    }
}

/// Reads a JSON text. A number that would lose digits is a text.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(Kept::new(text)?.text(text))
}

/// Reads a JSON text of which one member alone is read so: the others are another program's.
pub(crate) fn read_below(text: &str, key: &str) -> Result<Value, Error> {
    let kept = Kept::new(text)?;
    let Some(quoted) = &kept.text else { return serde_json::from_str(text) };
    let mut all: Value = serde_json::from_str(quoted)?;
    let Ok(mut plain) = serde_json::from_str::<Value>(text) else { return Ok(all) };
    if let (Some(plain), Some(kept)) = (plain.get_mut(key), all.get_mut(key)) {
        *plain = kept.take();
    }
    Ok(plain)
}

/// Returns the numbers of a JSON text as they are written.
pub(crate) fn numbers(text: &str) -> impl Iterator<Item = &str> {
    places(text).map(|place| &text[place])
}

/// Returns where they stand.
fn places(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            at += text[at..].find(|c: char| c == '"' || c == '-' || c.is_ascii_digit())?;
            let Some(inner) = text[at..].strip_prefix('"') else { break };
            let mut escaped = false;
            let closing = |c: char| {
                let closes = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                closes
            };
            at += inner.find(closing)? + 2;
        }
        let rest = &text[at..];
        let length =
            rest.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(rest.len());
        let place = at..at + length;
        at = place.end;
        Some(place)
    })
}

/// Tells whether the text is a number to JSON, and none to 64 bits.
fn is_too_long(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(unsigned);
    // So many digits fit, and no exponent of fewer than three reaches beyond.
    if whole == 0 || (whole > 1 && unsigned.starts_with('0')) || unsigned.len() < 4 {
        return false;
    }
    if whole == unsigned.len() {
        return text.parse::<i64>().is_err() && text.parse::<u64>().is_err();
    }
    let rest = &unsigned[whole..];
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => after.split_at(digits(after)),
        None => ("0", rest),
    };
    let exponent =
        rest.strip_prefix(['e', 'E']).map(|power| power.strip_prefix(['+', '-']).unwrap_or(power));
    let is_number = !fraction.is_empty()
        && exponent
            .map_or(rest.is_empty(), |power| !power.is_empty() && digits(power) == power.len());
    is_number && text.parse::<f64>().is_ok_and(f64::is_infinite)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_that_would_lose_digits_is_a_text_and_no_other_is() {
        let long = "12345678901234567890123";
        let text = format!(
            r#"{{"a": {long}, "b": [-{long}, 1e400, -1.5E+999, 18446744073709551615], "{long}": "x {long}"}}"#
        );
        let wanted = json!({"a": long, "b": [format!("-{long}"), "1e400", "-1.5E+999", u64::MAX], long: format!("x {long}")});
        assert_eq!(read::<Value>(&text).unwrap(), wanted);
        for same in [
            "1.10",
            "1e300",
            "-9223372036854775808",
            "0.1234567890123456789012",
            "1e-999",
            "[]",
            "\"1e400\"",
            "-0",
        ] {
            assert_eq!(
                read::<Value>(same).unwrap(),
                serde_json::from_str::<Value>(same).unwrap(),
                "{same}"
            );
        }
        assert_eq!(read::<Value>(long).unwrap(), long);
    }

    #[test]
    fn one_member_alone_keeps_its_digits() {
        let text =
            r#"{"id": 123456789012345678901, "params": {"n": 123456789012345678901, "m": 1.50}}"#;
        let read = read_below(text, "params").unwrap();
        assert!(read["id"].is_f64());
        assert_eq!(read["params"], json!({"n": "123456789012345678901", "m": 1.5}));
        assert_eq!(
            read_below(r#"{"params": [1e400]}"#, "params").unwrap(),
            json!({"params": ["1e400"]})
        );
        assert_eq!(read_below("[1]", "params").unwrap(), json!([1]));
    }

    #[test]
    fn what_is_wrong_is_told_where_it_stands() {
        let long = "123456789012345678901";
        for (wrong, column) in [
            (format!("{{{long}: 1}}"), 2),
            (format!("[{long}, x]"), 25),
            (format!("0{long}"), 2),
            (format!("[{long}, 1e400e5]"), 30),
            (format!("[{long} {long}]"), 24),
            (format!("[{long}, 1.e400]"), 27),
            (format!("[{long}, 01]"), 26),
            (format!("-{long}-"), 23),
            (format!("[{long}"), 22),
        ] {
            let error = read::<Value>(&wrong).unwrap_err();
            assert_eq!((error.line(), error.column()), (1, column), "{wrong}: {error}");
        }
        assert_eq!(read::<Value>(&format!("[{long},\n {long}, x]")).unwrap_err().line(), 2);
        assert!(read::<Value>(&format!("[\"{long}")).is_err());
    }
}
