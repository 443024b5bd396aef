//! Parses a text to a tree: drives the event parser, and enforces the limits.

use std::ops::Range;

use granit_parser::{ErrorKind, Event, Options, Parser, ScanError};

use super::build::Builder;
use super::error::{Fault, ParseLimits, too_deep};
use super::node::Node;

/// Reads one YAML document. Every recoverable fault is reported, in the order of the text; grammar errors and broken
/// limits end the reading.
pub fn parse<'s>(source: &'s str, limits: &ParseLimits) -> Result<Node<'s>, Vec<Fault>> {
    parse_within(source, 0..source.len(), limits)
}

/// Reads the YAML document in a part of a text. All spans are those of the whole text.
pub(crate) fn parse_within<'s>(
    source: &'s str,
    range: Range<usize>,
    limits: &ParseLimits,
) -> Result<Node<'s>, Vec<Fault>> {
    let text = &source[range.clone()];
    if let Some(at) = text.find('\0') {
        let at = range.start + at;
        let fault = Fault::new("nul_byte", at..at + 1, "a NUL byte is not allowed in YAML")
            .help("remove it; the file may be binary or cut off");
        return Err(vec![fault]);
    }
    let mut builder = Builder::new(source, range.clone(), limits);
    let mut understood = 0;
    for next in Parser::new_from_str_with_options(text, options(limits)) {
        let outcome = match next {
            Ok((Event::StreamEnd, _)) => break,
            Ok((event, span)) => {
                understood = span.end.byte_offset().unwrap_or(understood);
                builder.event(event, &span)
            }
            Err(error) => Err(syntax(text, range.start, understood, limits, &error)),
        };
        if let Err(fault) = outcome {
            builder.faults.push(fault);
            break;
        }
    }
    builder.finish()
}

fn options(limits: &ParseLimits) -> Options {
    granit_parser::options! {
        disallow_directives: true,
        emit_comments: false,
        // Two more than our own limit, so that our own check reports it first.
        flow_nesting_limit: limits.depth + 2,
        block_nesting_limit: limits.depth + 2,
    }
}

/// Returns the fault of a text that could be parsed only up to an offset.
fn syntax(
    text: &str,
    base: usize,
    understood: usize,
    limits: &ParseLimits,
    error: &ScanError,
) -> Fault {
    let mut at = text.floor_char_boundary(error.marker().byte_offset().unwrap_or(0));
    if is_tab(error.kind()) {
        at = indented_by_tab(text, at);
    }
    if matches!(error.kind(), ErrorKind::InvalidQuotedScalarIndent)
        && let Some(quote) = opening_quote(text, understood, at)
    {
        let fault = Fault::new(
            "yaml_syntax",
            base + quote..base + quote + 1,
            "not valid YAML: this quote is not closed",
        );
        return fault
            .help("close it with the same quote; a text of more than one line goes on indented");
    }
    let end = at + text[at..].chars().next().map_or(0, char::len_utf8);
    let span = base + at..base + end;
    match error.kind() {
        ErrorKind::UnknownAnchor => {
            Fault::new("unknown_alias", span, "this alias names an anchor that does not exist")
                .help("define it before, as `&name`; a text that begins with `*` needs quotes")
        }
        ErrorKind::RecursionLimitExceeded => too_deep(span, limits.depth),
        ErrorKind::DirectiveDisallowed => {
            Fault::new("directive", span, "YAML directives are not supported")
                .help("remove the line that begins with `%`")
        }
        kind if is_tab(kind) => {
            Fault::new("yaml_syntax", span, "a tab cannot indent YAML").help("indent with spaces")
        }
        ErrorKind::MappingValueNotAllowed => {
            Fault::new("yaml_syntax", span, "not valid YAML: there is a `:` already on this line")
                .help("a text with `: ` in it needs quotes")
        }
        kind @ (ErrorKind::InvalidColonPlacement
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::ExpectedFlowMappingSeparator) => {
            Fault::new("yaml_syntax", span, format!("not valid YAML: {}", in_plain_words(kind)))
                .help("a bracket or brace may be left open above")
        }
        kind => {
            let message = format!("not valid YAML: {}", in_plain_words(kind));
            let fault = Fault::new("yaml_syntax", span, message);
            match kind {
                ErrorKind::UnclosedFlowCollection { open: '[' } => fault.help("close it with `]`"),
                ErrorKind::UnclosedFlowCollection { .. } => fault.help("close it with `}`"),
                ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
                    fault.help("close it with the same quote; a text of more than one line goes on indented")
                }
                ErrorKind::SimpleKeyExpected => fault.help("write `key: value`"),
                _ => fault,
            }
        }
    }
}

fn in_plain_words(kind: &ErrorKind) -> String {
    let words = kind.to_string().replace("simple key expected", "did not find expected");
    let missing = words.rsplit_once("did not find expected ").map(|(_, missing)| missing);
    missing.map_or(words.clone(), |missing| format!("{missing} is missing here"))
}

fn is_tab(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TabInIndentation
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInPlainScalar
            | ErrorKind::TabNotAllowed
    )
}

/// Returns the offset of the text that a tab indents: the parser may report the end of the text that it read before, lines above.
fn indented_by_tab(text: &str, at: usize) -> usize {
    let mut start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    for (place, line) in text[start..].split_inclusive('\n').enumerate() {
        let indentation = line.len() - line.trim_start_matches([' ', '\t']).len();
        let says_something = !line.trim().is_empty();
        match says_something && line[..indentation].contains('\t') {
            true if place == 0 => break,
            true => return start + indentation,
            false if place > 0 && says_something => break,
            false => start += line.len(),
        }
    }
    at
}

/// Returns the start of the next quoted text. For an unclosed quote, the parser reports a later line, which has no fault itself.
fn opening_quote(text: &str, understood: usize, end: usize) -> Option<usize> {
    let mut at = understood;
    for line in text.get(understood..end)?.split_inclusive('\n') {
        let comment = if line.trim_start().starts_with('#') { Some(0) } else { line.find(" #") };
        let content = &line[..comment.unwrap_or(line.len())];
        if let Some(quote) = content.find(['\'', '"']) {
            return Some(at + quote);
        }
        at += line.len();
    }
    None
}
