//! `<gate>PASS</gate>`: the last such tag decides.

use super::mask::Masked;
use super::{TextVerdict, cut, judged};

/// Returns what the last tag says, and where it ends.
pub(crate) fn verdict(masked: &Masked<'_>, tag: &str, words: &[&str]) -> (TextVerdict, usize) {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let loud = masked.loud();
    let Some(start) = places(loud, &open).last() else {
        // A tag that is closed and was never opened is no verdict, and no silence either.
        return match places(loud, &close).last() {
            Some(at) => (TextVerdict::Unreadable(close), at),
            None => (TextVerdict::Nothing, 0),
        };
    };
    let from = start + open.len();
    let Some(end) = places(loud, &close).find(|at| *at >= from) else {
        return (
            TextVerdict::Unreadable(cut(
                masked.text[start..].lines().next().unwrap_or_default(),
                80,
            )),
            start,
        );
    };
    let word = loud[from..end].trim();
    let at = end + close.len();
    let known = |wanted: &str| words.iter().any(|word| word.eq_ignore_ascii_case(wanted));
    if word.eq_ignore_ascii_case("pass") && !known("pass") {
        return (TextVerdict::Passed, at);
    }
    if word.eq_ignore_ascii_case("fail") && !known("fail") {
        return (TextVerdict::Failed, at);
    }
    (judged(word, &masked.text[from..end], words), at)
}

/// Returns where the tag stands, whatever its case; not where it leans against a backtick: that one is shown, not said.
fn places<'a>(loud: &'a str, tag: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = loud.as_bytes();
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'<').map(|(at, _)| at).filter(
        move |at| {
            let found = bytes
                .get(*at..*at + tag.len())
                .is_some_and(|found| found.eq_ignore_ascii_case(tag.as_bytes()));
            let before = at.checked_sub(1).and_then(|before| bytes.get(before));
            let shown = before == Some(&b'`')
                || bytes.get(*at + tag.len()).is_some_and(|next| b"`\\".contains(next));
            found && !shown
        },
    )
}
