//! Bounds a source before it is parsed.

use super::whole;
use crate::rules::condition::error::{Compiled, ConditionFault, FaultKind};

const MAX_BYTES: usize = 8 * 1024;
const MAX_TOKENS: usize = 500;
const MAX_BRACKETS: usize = 100;

/// Refuses what is so long or so nested that the parser or we, being recursive, could run out of stack.
///
/// Every level of nesting, of whatever kind, takes a word or an operator character, and a level of the costly kind an
/// opening bracket; so their numbers bound the depth, and counting them needs no lexer that could be fooled.
pub(crate) fn check(source: &str) -> Compiled<()> {
    let too_large = |what: String| {
        ConditionFault::new(
            FaultKind::Size,
            whole(source),
            format!("the condition is too long: {what}"),
        )
        .help("test many names at once, as in `['api', 'docs'].some(tag => tags.includes(tag))`")
    };
    if source.len() > MAX_BYTES {
        return Err(too_large(format!(
            "it has {} bytes, at most {MAX_BYTES} are allowed",
            source.len()
        )));
    }
    let is_letter = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
    let (mut tokens, mut brackets, mut in_word) = (0, 0, false);
    for character in source.chars() {
        let was_in_word = std::mem::replace(&mut in_word, is_letter(character));
        brackets += usize::from(matches!(character, '(' | '[' | '{'));
        let is_free = character.is_whitespace()
            || matches!(character, '.' | ',' | ')' | ']' | '}' | '\'' | '"');
        tokens += usize::from(if in_word { !was_in_word } else { !is_free });
    }
    if brackets > MAX_BRACKETS {
        return Err(too_large(format!(
            "it has {brackets} brackets, at most {MAX_BRACKETS} are allowed"
        )));
    }
    if tokens > MAX_TOKENS {
        return Err(too_large(format!(
            "it has {tokens} words and operators, at most {MAX_TOKENS} are allowed"
        )));
    }
    Ok(())
}
