//! `{{x}}` in foreign texts: found, and written as ours. Whatever is none of ours stays literal, behind a backslash.

/// Returns the text with each slot as `convert` names it; a slot without a name here becomes text. Two and three braces mean the
/// same, and braces that are not closed on their line are text.
pub(crate) fn rewritten(text: &str, mut convert: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        out.push_str(&rest[..open]);
        let braces = if rest[open..].starts_with("{{{") { 3 } else { 2 };
        let inside = &rest[open + braces..];
        let line = inside.lines().next().unwrap_or_default();
        let Some(close) = line.find(&"}}}"[..braces]) else {
            out.push_str("\\{{");
            rest = &rest[open + 2..];
            continue;
        };
        let inner = line[..close].trim();
        out.push_str(&match convert(inner) {
            Some(name) => format!("{{{{{name}}}}}"),
            None => format!("\\{{{{{inner}}}}}"),
        });
        rest = &inside[close + braces..];
    }
    out + rest
}

/// Returns what stands in each slot of a text.
pub(crate) fn slots(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    rewritten(text, |inner| {
        found.push(inner.to_owned());
        None
    });
    found
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
        assert_eq!(slots(text), ["x", "y", "if z", "x"]);
        let converted = rewritten(text, |inner| is_bare(inner).then(|| inner.to_owned()));
        assert_eq!(converted, "a {{x}} b {{y}} c \\{{if z}}\\{{ open\n{{x}}");
    }
}
