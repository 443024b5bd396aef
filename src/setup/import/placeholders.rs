//! `{{x}}` in foreign texts: found, and written as ours. Whatever is none of ours stays literal, behind a backslash.

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    /// As it stands.
    Text(&'t str),
    /// What stands between the braces, without blanks around it.
    Slot(&'t str),
}

/// What a slot becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A slot of ours: `{{name}}`.
    Name(String),
    /// The text as it stands, braces and all: no reader of ours takes it for a slot.
    Literal,
}

/// Cuts a text at its slots; two and three braces mean the same. Braces that are not closed on their line are text.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut list = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let braces = if rest[open..].starts_with("{{{") { 3 } else { 2 };
        let inside = open + braces;
        let line = rest[inside..].find('\n').map_or(rest.len(), |at| inside + at);
        let closing = &"}}}"[..braces];
        let Some(close) = rest[inside..line].find(closing).map(|at| inside + at) else {
            list.push(Piece::Text(&rest[..inside]));
            rest = &rest[inside..];
            continue;
        };
        if open > 0 {
            list.push(Piece::Text(&rest[..open]));
        }
        list.push(Piece::Slot(rest[inside..close].trim()));
        rest = &rest[close + braces..];
    }
    if !rest.is_empty() {
        list.push(Piece::Text(rest));
    }
    list
}

/// Returns the text with each slot as `convert` says; what is no slot of ours is made inert.
pub(crate) fn rewritten(text: &str, mut convert: impl FnMut(&str) -> Slot) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => out.push_str(&text.replace("{{", "\\{{")),
            Piece::Slot(inner) => match convert(inner) {
                Slot::Name(name) => out.push_str(&format!("{{{{{name}}}}}")),
                Slot::Literal => out.push_str(&format!("\\{{{{{inner}}}}}")),
            },
        }
    }
    out
}

/// Returns the names of all slots of a text.
pub(crate) fn slots(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Slot(inner) => Some(inner),
        Piece::Text(_) => None,
    })
}

/// Returns the text with every brace pair inert: a text that was never a template.
pub(crate) fn literal(text: &str) -> String {
    text.replace("{{", "\\{{")
}

/// Tells whether a slot is a bare name: letters, digits, `_` and `-`.
pub(crate) fn is_bare(inner: &str) -> bool {
    !inner.is_empty() && inner.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_and_the_rest_is_made_inert() {
        let text = "a {{x}} b {{{ y }}} c {{if z}}{{ open\n{{x}}";
        let slots: Vec<&str> = slots(text).collect();
        assert_eq!(slots, ["x", "y", "if z", "x"]);
        let converted = rewritten(text, |inner| {
            if is_bare(inner) { Slot::Name(inner.to_owned()) } else { Slot::Literal }
        });
        assert_eq!(converted, "a {{x}} b {{y}} c \\{{if z}}\\{{ open\n{{x}}");
    }
}
