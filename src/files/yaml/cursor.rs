//! A place in the source between two events. Events do not say where dashes, colons, anchors and block scalar headers
//! are; the cursor finds them, since only blanks and comments can stand before them.

use std::ops::Range;

/// The end of what was read so far.
pub(crate) struct Cursor<'s> {
    source: &'s str,
    range: Range<usize>,
    pub(crate) at: usize,
}

impl<'s> Cursor<'s> {
    pub(crate) fn new(source: &'s str, range: Range<usize>) -> Self {
        Self { source, at: range.start, range }
    }

    /// Moves behind an indicator, if it comes next, and returns where it is.
    pub(crate) fn take(&mut self, indicator: u8) -> Option<usize> {
        let at = self.skip_trivia();
        let bytes = self.bytes();
        // `?` and `-` are indicators only before a blank; the parser has already told this from a text.
        let stands = bytes.get(at) == Some(&indicator)
            && (matches!(indicator, b':' | b',')
                || bytes.get(at + 1).is_none_or(|b| b" \t\r\n".contains(b)));
        stands.then(|| {
            self.at = at + 1;
            at
        })
    }

    /// Moves behind anchor and tag and returns where they begin.
    pub(crate) fn properties(&mut self) -> usize {
        let outer = self.skip_trivia();
        let mut at = outer;
        while matches!(self.bytes().get(at), Some(b'&' | b'!')) {
            let rest = &self.bytes()[at..];
            let ends: &[u8] = if rest.starts_with(b"!<") { b" \t\r\n" } else { b" \t\r\n,[]{}" };
            self.at = at + rest.iter().take_while(|b| !ends.contains(b)).count();
            at = self.skip_trivia();
        }
        outer
    }

    /// Returns the span of a block scalar from its header on. The parser's begins at the first line of text and runs
    /// into the indentation of whatever follows. Nothing where no header is: among characters that it should refuse the parser may have
    /// read on from somewhere else.
    pub(crate) fn block_scalar(&self, text: &Range<usize>) -> Option<Range<usize>> {
        let start = self.skip_trivia();
        if !matches!(self.bytes().get(start), Some(b'|' | b'>')) {
            return None;
        }
        let marks = self.bytes()[start..].iter().skip(1);
        let end = self.range.end;
        let header =
            start + 1 + marks.take_while(|b| matches!(b, b'0'..=b'9' | b'+' | b'-')).count();
        // Of a header that nothing follows, not even a line break, the parser's span lies behind the end.
        let (header, from) = (header.min(end), text.start.max(header).min(end));
        let content = &self.source[from..text.end.clamp(from, end)];
        let kept = if self.source[start..header].contains('+') {
            let whole = content.trim_end_matches(' ');
            let whole = whole.strip_suffix('\n').unwrap_or(whole);
            whole.strip_suffix('\r').unwrap_or(whole)
        } else {
            content.trim_end_matches([' ', '\n', '\r'])
        };
        Some(if kept.is_empty() { start..header } else { start..from + kept.len() })
    }

    /// Returns where the next thing is that is no blank, line break, comment or byte order mark.
    fn skip_trivia(&self) -> usize {
        let bytes = self.bytes();
        let mut at = self.at;
        if at == self.range.start && bytes[at..].starts_with("\u{feff}".as_bytes()) {
            at += 3;
        }
        loop {
            match bytes.get(at) {
                Some(b' ' | b'\t' | b'\r' | b'\n') => at += 1,
                Some(b'#') => {
                    at += bytes[at..].iter().take_while(|b| !matches!(b, b'\r' | b'\n')).count();
                }
                _ => return at,
            }
        }
    }

    fn bytes(&self) -> &'s [u8] {
        &self.source.as_bytes()[..self.range.end]
    }
}
