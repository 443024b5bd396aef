//! Words of a command line, as they have to be written for a shell.

use std::borrow::Cow;

/// Returns the word so that a shell takes it as one.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,@%:=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    // What moves a line is written as bash, zsh and ksh read it.
    if word.chars().any(char::is_control) {
        return Cow::Owned(format!("$'{}'", word.chars().map(escaped).collect::<String>()));
    }
    Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
}

fn escaped(c: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\'' | '\\' => format!("\\{c}"),
        c if c.is_control() => c
            .to_string()
            .bytes()
            .fold(String::new(), |written, byte| written + &format!("\\x{byte:02x}")),
        c => c.to_string(),
    }
}

/// Returns several, each as one.
pub(crate) fn all_quoted<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one() {
        assert_eq!(
            all_quoted(["tasks/AOF-abc.md", "my folder/x", "it's", ""]),
            r"tasks/AOF-abc.md 'my folder/x' 'it'\''s' ''"
        );
        assert_eq!(quoted("$(x)"), "'$(x)'");
        assert_eq!(quoted("a\nb\t'\\\u{1b}é"), r"$'a\nb\t\'\\\x1bé'");
    }
}
