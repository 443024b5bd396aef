//! Builds the tree from parser events. Keeps a cursor over the source, since events lack the places of dashes, colons, block scalar
//! headers and absent values.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, ScalarStyle, Span, StructureStyle, Tag};

use super::error::{Fault, ParseLimits, line_column, too_deep};
use super::node::{EntryKey, MappingEntry, Node, NodeKind, NodeLayout, Sharing, into_key};
use super::scalar;
use super::scalar::{foreign, tagged};

/// Builds one document from its events.
pub(crate) struct Builder<'s, 'l> {
    source: &'s str,
    limits: &'l ParseLimits,
    base: usize,
    cursor: Cursor<'s>,
    frames: Vec<Frame<'s>>,
    root: Option<Node<'s>>,
    documents: usize,
    anchors: HashMap<usize, Node<'s>>,
    /// The number of nodes and of bytes of text, with aliases expanded.
    used: (usize, usize),
    /// The number of nodes under anchors and in aliases.
    copies: usize,
    pub(crate) faults: Vec<Fault>,
}

/// A list or mapping that is still open.
struct Frame<'s> {
    node: Node<'s>,
    anchor: usize,
    /// The key whose value is pending, and whether it is valid: the value of an invalid key is still read.
    key: Option<(EntryKey<'s>, bool)>,
    explicit_key: bool,
}

impl<'s, 'l> Builder<'s, 'l> {
    pub(crate) fn new(source: &'s str, range: Range<usize>, limits: &'l ParseLimits) -> Self {
        Self {
            source,
            limits,
            base: range.start,
            cursor: Cursor::new(source, range),
            frames: Vec::new(),
            root: None,
            documents: 0,
            anchors: HashMap::new(),
            used: (0, 0),
            copies: 0,
            faults: Vec::new(),
        }
    }

    /// Returns the tree; fails with all faults.
    pub(crate) fn finish(mut self) -> Result<Node<'s>, Vec<Fault>> {
        if !self.faults.is_empty() {
            self.faults.sort_by_key(|fault| fault.span.start);
            return Err(self.faults);
        }
        Ok(self.root.unwrap_or(Node {
            span: self.base..self.base,
            kind: NodeKind::Null,
            layout: NodeLayout::Absent,
            sharing: Sharing::Own,
            outer: self.base,
            indicator: None,
        }))
    }

    /// Processes one event; an error ends the parsing.
    pub(crate) fn event(&mut self, event: Event<'s>, span: &Span) -> Result<(), Fault> {
        // A parser over a string always knows its byte offsets.
        let range = span.byte_range().unwrap_or(0..0);
        let range = self.base + range.start..self.base + range.end;
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                self.cursor.at = self.cursor.at.max(range.end);
                if self.documents > 1 {
                    let message = "only one YAML document is allowed in a file";
                    return Err(Fault::new("several_documents", range, message)
                        .help("remove the `---` or `...` line and what follows it"));
                }
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(text, style, anchor, tag.as_deref(), range)
            }
            Event::Alias(id) => self.alias(id, range),
            Event::SequenceStart(style, anchor, tag) => {
                self.start(NodeKind::Sequence(Vec::new()), style, anchor, tag.as_deref(), range)
            }
            Event::MappingStart(style, anchor, tag) => {
                self.start(NodeKind::Mapping(Vec::new()), style, anchor, tag.as_deref(), range)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(&range),
            _ => Ok(()),
        }
    }

    fn block_scalar(&self, text: Range<usize>) -> Result<Range<usize>, Fault> {
        self.cursor.block_scalar(&text).ok_or_else(|| {
            Fault::new("unplaced", text, "it cannot be said where in the file this text begins")
                .help("remove what stands around it and cannot be seen, such as a byte order mark (U+FEFF)")
        })
    }

    fn scalar(
        &mut self,
        text: Cow<'s, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        range: Range<usize>,
    ) -> Result<(), Fault> {
        let (indicator, outer) = self.open(anchor != 0 || tag.is_some());
        let (layout, span) = match style {
            ScalarStyle::Plain if range.is_empty() => {
                (NodeLayout::Absent, self.cursor.at..self.cursor.at)
            }
            ScalarStyle::Plain => (NodeLayout::Plain, range),
            ScalarStyle::SingleQuoted => (NodeLayout::SingleQuoted, range),
            ScalarStyle::DoubleQuoted => (NodeLayout::DoubleQuoted, range),
            ScalarStyle::Literal => (NodeLayout::Literal, self.block_scalar(range)?),
            ScalarStyle::Folded => (NodeLayout::Folded, self.block_scalar(range)?),
        };
        self.cursor.at = span.end;
        self.spend((1, text.len()), &span)?;
        let outer = outer.min(span.start);
        let kind = match tag {
            Some(tag) => tagged(text, layout, tag, &(outer..span.end)).unwrap_or_else(|fault| {
                self.faults.push(fault);
                NodeKind::Null
            }),
            None if layout == NodeLayout::Absent => NodeKind::Null,
            None if layout == NodeLayout::Plain => scalar::resolve(text),
            None => NodeKind::String(text),
        };
        let sharing = sharing(anchor);
        let node = Node { span, kind, layout, sharing, outer, indicator };
        self.complete(node, anchor, tag.is_some())
    }

    fn alias(&mut self, id: usize, span: Range<usize>) -> Result<(), Fault> {
        let (indicator, outer) = self.open(false);
        self.cursor.at = span.end;
        let Some(target) = self.anchors.get(&id) else {
            let message = "this alias stands inside the value that it names";
            return Err(Fault::new("recursive_alias", span, message));
        };
        // The copy counts against the limits before it is made.
        let weight = weight(target);
        self.copy(weight.0, &span)?;
        self.spend(weight, &span)?;
        let target = &self.anchors[&id];
        let node = Node {
            outer: outer.min(span.start),
            span,
            kind: target.kind.clone(),
            layout: target.layout,
            sharing: Sharing::Alias,
            indicator,
        };
        self.complete(node, 0, true)
    }

    fn start(
        &mut self,
        kind: NodeKind<'s>,
        style: StructureStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Range<usize>,
    ) -> Result<(), Fault> {
        let (indicator, outer) = self.open(anchor != 0 || tag.is_some());
        if self.frames.len() >= self.limits.depth {
            return Err(too_deep(span, self.limits.depth));
        }
        let core = if matches!(kind, NodeKind::Sequence(_)) { "seq" } else { "map" };
        if let Some(tag) = tag.filter(|tag| tag.core_suffix() != Some(core)) {
            self.faults.push(foreign(tag, &span));
        }
        let layout = match style {
            StructureStyle::Block => NodeLayout::Block,
            StructureStyle::Flow if span.is_empty() => NodeLayout::FlowPair,
            StructureStyle::Flow => NodeLayout::Flow,
        };
        if layout == NodeLayout::Flow {
            self.cursor.at = span.end;
        }
        self.spend((1, 0), &span)?;
        let (outer, sharing) = (outer.min(span.start), sharing(anchor));
        let node = Node { span, kind, layout, sharing, outer, indicator };
        self.frames.push(Frame { node, anchor, key: None, explicit_key: false });
        Ok(())
    }

    fn close(&mut self, range: &Range<usize>) -> Result<(), Fault> {
        let Some(Frame { mut node, anchor, .. }) = self.frames.pop() else {
            return Ok(());
        };
        if node.layout == NodeLayout::Flow {
            self.cursor.at = range.end;
        }
        // The parser puts the start of a list without indentation at its first item's content.
        if let (NodeLayout::Block, Some(first)) = (node.layout, node.items().first()) {
            node.span.start = first.indicator.unwrap_or(node.span.start);
            node.outer = node.outer.min(node.span.start);
        }
        node.span.end = self.cursor.at.max(node.span.start);
        if let NodeKind::Mapping(entries) = &node.kind {
            report_duplicates(self.source, entries, &mut self.faults);
        }
        self.complete(node, anchor, false)
    }

    /// Puts a finished node in its place: the key or the value of a mapping, an item, the root.
    fn complete(&mut self, node: Node<'s>, anchor: usize, decorated: bool) -> Result<(), Fault> {
        if anchor != 0 {
            // Anchors inside anchors would otherwise copy the same text once per level.
            self.copy(weight(&node).0, &node.span)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut frame.node.kind {
            NodeKind::Sequence(items) => items.push(node),
            NodeKind::Mapping(entries) => {
                if let Some((key, is_usable)) = frame.key.take() {
                    entries.extend(is_usable.then_some(MappingEntry { key, value: node }));
                } else {
                    let decorated = decorated || anchor != 0 || frame.explicit_key;
                    let (key, fault) = into_key(self.source, node, decorated);
                    frame.key = Some((key, fault.is_none()));
                    frame.explicit_key = false;
                    self.faults.extend(fault);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Moves the cursor over the indicator that introduces the next node, and over its anchor and tag. Returns the offset of the
    /// indicator, and the start of the anchor or tag.
    fn open(&mut self, has_properties: bool) -> (Option<usize>, usize) {
        let mut indicator = None;
        if let Some(frame) = self.frames.last_mut() {
            let flow = frame.node.layout != NodeLayout::Block;
            indicator = match frame.node.kind {
                NodeKind::Sequence(_) if flow => None,
                NodeKind::Sequence(_) => self.cursor.take(b'-'),
                _ if frame.key.is_some() => self.cursor.take(b':'),
                _ => {
                    if flow {
                        self.cursor.take(b',');
                    }
                    frame.explicit_key = self.cursor.take(b'?').is_some();
                    None
                }
            };
        }
        (indicator, if has_properties { self.cursor.properties() } else { usize::MAX })
    }

    fn spend(&mut self, (nodes, text): (usize, usize), span: &Range<usize>) -> Result<(), Fault> {
        self.used = (self.used.0 + nodes, self.used.1 + text);
        let message = if self.used.0 > self.limits.nodes {
            format!("more than {} values in one file", self.limits.nodes)
        } else if self.used.1 > self.limits.text {
            format!("more than {} bytes of text, aliases expanded", self.limits.text)
        } else {
            return Ok(());
        };
        Err(Fault::new("too_large", span.clone(), message)
            .help("split the file, or share less by aliases"))
    }

    fn copy(&mut self, nodes: usize, span: &Range<usize>) -> Result<(), Fault> {
        self.copies += nodes;
        let most = self.limits.alias_nodes;
        if self.copies <= most {
            return Ok(());
        }
        let message = format!("anchors and aliases stand for more than {most} values");
        Err(Fault::new("too_large", span.clone(), message)
            .help("write the values out, or share less"))
    }
}

fn sharing(anchor: usize) -> Sharing {
    if anchor == 0 { Sharing::Own } else { Sharing::Anchored }
}

/// Returns the size of a subtree: nodes, and bytes of text.
fn weight(node: &Node<'_>) -> (usize, usize) {
    let size = match &node.kind {
        NodeKind::String(text) => text.len(),
        NodeKind::Number(number) => number.source().len(),
        _ => 0,
    };
    let values = node.entries().iter().map(|entry| &entry.value);
    let keys: usize = node.entries().iter().map(|entry| entry.key.text.len()).sum();
    let below = node.items().iter().chain(values).map(weight);
    below.fold((1 + node.entries().len(), size + keys), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Reports every duplicate key of a mapping, with both lines.
pub(crate) fn report_duplicates(
    source: &str,
    entries: &[MappingEntry<'_>],
    faults: &mut Vec<Fault>,
) {
    let mut first: HashMap<&str, &MappingEntry<'_>> = HashMap::with_capacity(entries.len());
    for later in entries {
        let key = later.key.text.as_ref();
        let Some(first) = first.get(key) else {
            first.insert(key, later);
            continue;
        };
        let (first_line, _) = line_column(source, first.key.span.start);
        let (line, _) = line_column(source, later.key.span.start);
        let message =
            format!("the key `{key}` on line {line} is already defined on line {first_line}");
        faults.push(
            Fault::new("duplicate_key", later.key.span.clone(), message)
                .label(first.key.span.clone(), "first defined here")
                .help("keep one of the two"),
        );
    }
}

/// The byte offset up to which the text has been read.
pub(crate) struct Cursor<'s> {
    source: &'s str,
    range: Range<usize>,
    pub(crate) at: usize,
}

impl<'s> Cursor<'s> {
    pub(crate) fn new(source: &'s str, range: Range<usize>) -> Self {
        Self { source, at: range.start, range }
    }

    /// Moves past an indicator, if it comes next, and returns its offset.
    pub(crate) fn take(&mut self, indicator: u8) -> Option<usize> {
        let at = self.skip_trivia();
        let bytes = self.bytes();
        // `?` and `-` are indicators only before a blank; the parser has already distinguished them from texts.
        let stands = bytes.get(at) == Some(&indicator)
            && (matches!(indicator, b':' | b',')
                || bytes.get(at + 1).is_none_or(|b| b" \t\r\n".contains(b)));
        stands.then(|| {
            self.at = at + 1;
            at
        })
    }

    /// Moves past anchor and tag, and returns their start.
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

    /// Returns the span of a block scalar from its header on. The parser's span begins at the first line of text, and runs into the
    /// indentation of the line after it. Returns `None` if there is no header: among characters that it should refuse, the parser
    /// may have read on from somewhere else.
    pub(crate) fn block_scalar(&self, text: &Range<usize>) -> Option<Range<usize>> {
        let start = self.skip_trivia();
        if !matches!(self.bytes().get(start), Some(b'|' | b'>')) {
            return None;
        }
        let marks = self.bytes()[start..].iter().skip(1);
        let end = self.range.end;
        let header =
            start + 1 + marks.take_while(|b| matches!(b, b'0'..=b'9' | b'+' | b'-')).count();
        // If nothing follows a header, not even a line break, the parser's span is past the end.
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

    /// Returns the offset of the next byte that is not part of a blank, line break, comment or byte order mark.
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
