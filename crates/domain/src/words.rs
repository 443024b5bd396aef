//! Closed sets of words, their serialization, and the closest known word to a mistyped one.

mod mention;

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
pub use unicode_normalization::char::is_combining_mark;

pub use mention::mentioned;

/// A word that is not in its set; `known` lists the words that are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {kind}; known: {}", .known.join(", "))]
pub struct Unknown {
    /// The expected kind, with its article.
    pub kind: &'static str,
    pub text: String,
    pub known: Vec<&'static str>,
}

#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $kind:literal, { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(unreachable_pub, reason = "words of public and of private modules are defined alike")]
        pub enum $name {
            $($(#[$vdoc])* $variant),+
        }

        #[allow(unreachable_pub, dead_code, reason = "not every set of words is listed somewhere")]
        impl $name {
            /// All of them, in the order of the definition.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the word in files and on the command line.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Unknown;

            fn from_str(text: &str) -> Result<Self, $crate::Unknown> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::Unknown { kind: $kind, text: text.to_owned(), known: vec![$($word),+] }),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub use words;

/// Serializes types as the text that they display as.
#[macro_export]
macro_rules! serialize_as_text {
    ($($name:ty),+) => {
        $(impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        })+
    };
}
pub(crate) use serialize_as_text;

words!(
    /// The severity of a fault, the worst last.
    Severity, "a severity", {
        /// Worth knowing.
        Note = "note",
        /// The result may surprise people.
        Warning = "warning",
        /// The file cannot come into force.
        Error = "error",
    }
);

/// Returns the candidate nearest to the text, if one is near enough to be meant.
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = text.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase()), candidate)
        })
        .filter(|(distance, candidate)| *distance <= (candidate.len().max(wanted.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the text with each letter and its accents as one character if that exists: a Mac writes `é` as two.
pub fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { text.into() } else { text.nfc().collect() }
}

/// Returns the text without the accents of its letters.
pub fn without_accents(text: &str) -> String {
    text.nfd().filter(|c| !matches!(c, '\u{300}'..='\u{36f}')).nfc().collect()
}

/// Returns the question "did you mean ..." with the nearest candidate, if one is near enough.
pub fn did_you_mean<'a>(
    text: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(text, candidates).map(|word| format!("did you mean `{word}`?"))
}

/// Returns the words between backticks with commas, or `none`.
pub fn listed<T: std::fmt::Display>(words: impl IntoIterator<Item = T>) -> String {
    let list: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    if list.is_empty() { "none".to_owned() } else { list.join(", ") }
}

/// Returns the items in their order, each once.
pub fn distinct<T: PartialEq + Clone>(
    items: impl IntoIterator<Item = T>,
) -> impl Iterator<Item = T> {
    let mut seen = Vec::new();
    items.into_iter().filter(move |item| {
        let is_new = !seen.contains(item);
        if is_new {
            seen.push(item.clone());
        }
        is_new
    })
}

/// Returns a number with its noun: `1 task`, `3 tasks`.
pub fn counted<N: Copy + std::fmt::Display + PartialEq + From<u8>>(
    number: N,
    noun: &str,
) -> String {
    let s = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{s}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggestion_is_the_meant_word_only() {
        let gates = ["implement", "code-review", "approve"];
        assert_eq!(nearest("implment", gates), Some("implement"));
        assert_eq!(nearest("Code-Review", gates), Some("code-review"));
        assert_eq!(nearest("deploy", gates), None);
    }
}
