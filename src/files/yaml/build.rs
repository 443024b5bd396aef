//! The tree under construction. Keeps a cursor over the source, since events do not say where dashes, colons, block
//! scalar headers and absent values are.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, ScalarStyle, Span, StructureStyle, Tag};

use super::cursor::Cursor;
use super::error::{Fault, Limits, line_column, too_deep};
use super::node::{Entry, Key, Kind, Layout, Node, Sharing, into_key};
use super::scalar;
use super::scalar::{foreign, tagged};

/// Builds one document from its events.
pub(crate) struct Builder<'s, 'l> {
    source: &'s str,
    limits: &'l Limits,
    base: usize,
    cursor: Cursor<'s>,
    frames: Vec<Frame<'s>>,
    root: Option<Node<'s>>,
    documents: usize,
    anchors: HashMap<usize, (Node<'s>, Weight)>,
    used: Weight,
    copies: usize,
    pub(crate) faults: Vec<Fault>,
}

/// A list or mapping that is still open.
struct Frame<'s> {
    node: Node<'s>,
    anchor: usize,
    key: Option<PendingKey<'s>>,
    explicit_key: bool,
    before: Weight,
}

/// A key whose value is still to come; one that cannot be used keeps its place so that its value is read too.
struct PendingKey<'s> {
    key: Key<'s>,
    usable: bool,
}

/// What a subtree costs its reader.
#[derive(Clone, Copy, Default)]
struct Weight {
    nodes: usize,
    text: usize,
}

/// Where a node begins: its indicator, its anchor and tag, itself.
#[derive(Clone, Copy)]
struct Opening {
    indicator: Option<usize>,
    outer: usize,
}

impl<'s, 'l> Builder<'s, 'l> {
    pub(crate) fn new(source: &'s str, range: Range<usize>, limits: &'l Limits) -> Self {
        Self {
            source,
            limits,
            base: range.start,
            cursor: Cursor::new(source, range),
            frames: Vec::new(),
            root: None,
            documents: 0,
            anchors: HashMap::new(),
            used: Weight::default(),
            copies: 0,
            faults: Vec::new(),
        }
    }

    /// Returns the tree, or everything that is wrong with it.
    pub(crate) fn finish(mut self) -> Result<Node<'s>, Vec<Fault>> {
        if !self.faults.is_empty() {
            self.faults.sort_by_key(|fault| fault.span.start);
            return Err(self.faults);
        }
        Ok(self.root.unwrap_or(Node {
            span: self.base..self.base,
            kind: Kind::Null,
            layout: Layout::Absent,
            sharing: Sharing::Own,
            outer: self.base,
            indicator: None,
        }))
    }

    /// Takes in one event; an error ends the reading.
    pub(crate) fn event(&mut self, event: Event<'s>, span: &Span) -> Result<(), Fault> {
        let range = self.range(span);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                self.cursor.at = self.cursor.at.max(range.end);
                if self.documents > 1 {
                    return Err(Fault::new(
                        "several_documents",
                        range,
                        "only one YAML document is allowed in a file",
                    )
                    .help("remove the `---` or `...` line and what follows it"));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let opening = self.open(anchor != 0 || tag.is_some());
                self.scalar(text, style, anchor, tag.as_deref(), opening, range)?;
            }
            Event::Alias(id) => self.alias(id, range)?,
            Event::SequenceStart(style, anchor, tag) => {
                self.start(Kind::Sequence(Vec::new()), style, anchor, tag.as_deref(), range)?;
            }
            Event::MappingStart(style, anchor, tag) => {
                self.start(Kind::Mapping(Vec::new()), style, anchor, tag.as_deref(), range)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(range)?,
            _ => {}
        }
        Ok(())
    }

    fn range(&self, span: &Span) -> Range<usize> {
        // A parser over a string always knows its byte offsets.
        let range = span.byte_range().unwrap_or(0..0);
        self.base + range.start..self.base + range.end
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
        opening: Opening,
        range: Range<usize>,
    ) -> Result<(), Fault> {
        let (layout, span) = match style {
            ScalarStyle::Plain if range.is_empty() => {
                (Layout::Absent, self.cursor.at..self.cursor.at)
            }
            ScalarStyle::Plain => (Layout::Plain, range),
            ScalarStyle::SingleQuoted => (Layout::SingleQuoted, range),
            ScalarStyle::DoubleQuoted => (Layout::DoubleQuoted, range),
            ScalarStyle::Literal => (Layout::Literal, self.block_scalar(range)?),
            ScalarStyle::Folded => (Layout::Folded, self.block_scalar(range)?),
        };
        self.cursor.at = span.end;
        let weight = Weight { nodes: 1, text: text.len() };
        let kind = match tag {
            Some(tag) => tagged(text, layout, tag, &(opening.outer.min(span.start)..span.end))
                .unwrap_or_else(|fault| {
                    self.faults.push(fault);
                    Kind::Null
                }),
            None if layout == Layout::Absent => Kind::Null,
            None if layout == Layout::Plain => scalar::resolve(text),
            None => Kind::String(text),
        };
        let node = Node {
            outer: opening.outer.min(span.start),
            span,
            kind,
            layout,
            sharing: Self::sharing(anchor),
            indicator: opening.indicator,
        };
        self.spend(weight, &node.span)?;
        self.complete(node, anchor, weight, tag.is_some())
    }

    fn alias(&mut self, id: usize, range: Range<usize>) -> Result<(), Fault> {
        let opening = self.open(false);
        self.cursor.at = range.end;
        let Some((target, weight)) = self.anchors.get(&id).map(|(node, weight)| (node, *weight))
        else {
            return Err(Fault::new(
                "recursive_alias",
                range,
                "this alias stands inside the value that it names",
            ));
        };
        self.copies += weight.nodes;
        check_copies(self.limits, self.copies, &range)?;
        let mut node = Node {
            span: range.clone(),
            kind: Kind::Null,
            layout: target.layout,
            sharing: Sharing::Alias,
            outer: opening.outer.min(range.start),
            indicator: opening.indicator,
        };
        // Paid for before it is copied.
        let spent =
            Weight { nodes: self.used.nodes + weight.nodes, text: self.used.text + weight.text };
        self.used = spent;
        check(self.limits, spent, &range)?;
        node.kind = target.kind.clone();
        self.complete(node, 0, weight, true)
    }

    fn start(
        &mut self,
        kind: Kind<'s>,
        style: StructureStyle,
        anchor: usize,
        tag: Option<&Tag>,
        range: Range<usize>,
    ) -> Result<(), Fault> {
        let opening = self.open(anchor != 0 || tag.is_some());
        if self.frames.len() >= self.limits.depth {
            return Err(too_deep(range, self.limits.depth));
        }
        if let Some(tag) = tag {
            let wanted = if matches!(kind, Kind::Sequence(_)) { "seq" } else { "map" };
            if tag.core_suffix() != Some(wanted) {
                self.faults.push(foreign(tag, &range));
            }
        }
        let layout = match style {
            StructureStyle::Block => Layout::Block,
            StructureStyle::Flow if range.is_empty() => Layout::FlowPair,
            StructureStyle::Flow => Layout::Flow,
        };
        if layout == Layout::Flow {
            self.cursor.at = range.end;
        }
        let before = self.used;
        self.spend(Weight { nodes: 1, text: 0 }, &range)?;
        self.frames.push(Frame {
            node: Node {
                outer: opening.outer.min(range.start),
                span: range,
                kind,
                layout,
                sharing: Self::sharing(anchor),
                indicator: opening.indicator,
            },
            anchor,
            key: None,
            explicit_key: false,
            before,
        });
        Ok(())
    }

    fn close(&mut self, range: Range<usize>) -> Result<(), Fault> {
        let Some(Frame { mut node, anchor, before, .. }) = self.frames.pop() else {
            return Ok(());
        };
        if node.layout == Layout::Flow {
            self.cursor.at = range.end;
        }
        // The parser puts the start of a list without indentation at its first item's content.
        if let (Layout::Block, Some(first)) = (node.layout, node.items().first()) {
            node.span.start = first.indicator.unwrap_or(node.span.start);
            node.outer = node.outer.min(node.span.start);
        }
        node.span.end = self.cursor.at.max(node.span.start);
        if let Kind::Mapping(entries) = &node.kind {
            report_duplicates(self.source, entries, &mut self.faults);
        }
        let weight =
            Weight { nodes: self.used.nodes - before.nodes, text: self.used.text - before.text };
        self.complete(node, anchor, weight, false)
    }

    /// Puts a finished node where it belongs: the key or the value of a mapping, an item, the root.
    fn complete(
        &mut self,
        node: Node<'s>,
        anchor: usize,
        weight: Weight,
        decorated: bool,
    ) -> Result<(), Fault> {
        if anchor != 0 {
            // Anchors inside anchors would otherwise copy the same text once a level.
            self.copies += weight.nodes;
            check_copies(self.limits, self.copies, &node.span)?;
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut frame.node.kind {
            Kind::Sequence(items) => items.push(node),
            Kind::Mapping(entries) => match frame.key.take() {
                Some(pending) if pending.usable => {
                    entries.push(Entry { key: pending.key, value: node });
                }
                Some(_) => {}
                None => {
                    let decorated = decorated || anchor != 0 || frame.explicit_key;
                    let (key, fault) = into_key(self.source, node, decorated);
                    frame.key = Some(PendingKey { key, usable: fault.is_none() });
                    frame.explicit_key = false;
                    self.faults.extend(fault);
                }
            },
            _ => {}
        }
        Ok(())
    }

    /// Moves the cursor over the indicator that introduces the next node, and over its anchor and tag.
    fn open(&mut self, has_properties: bool) -> Opening {
        let mut indicator = None;
        if let Some(frame) = self.frames.last_mut() {
            let flow = frame.node.layout != Layout::Block;
            indicator = match frame.node.kind {
                Kind::Sequence(_) if flow => None,
                Kind::Sequence(_) => self.cursor.take(b'-'),
                _ if frame.key.is_some() => self.cursor.take(b':'),
                _ => {
                    if flow {
                        self.cursor.take(b',');
                    }
                    let explicit = self.cursor.take(b'?');
                    frame.explicit_key = explicit.is_some();
                    None
                }
            };
        }
        let outer = if has_properties { self.cursor.properties() } else { usize::MAX };
        Opening { indicator, outer }
    }

    fn sharing(anchor: usize) -> Sharing {
        if anchor == 0 { Sharing::Own } else { Sharing::Anchored }
    }

    fn spend(&mut self, weight: Weight, span: &Range<usize>) -> Result<(), Fault> {
        self.used.nodes += weight.nodes;
        self.used.text += weight.text;
        check(self.limits, self.used, span)
    }
}

fn check(limits: &Limits, used: Weight, span: &Range<usize>) -> Result<(), Fault> {
    let message = if used.nodes > limits.nodes {
        format!("more than {} values in one file", limits.nodes)
    } else if used.text > limits.text {
        format!("more than {} bytes of text, aliases expanded", limits.text)
    } else {
        return Ok(());
    };
    Err(Fault::new("too_large", span.clone(), message)
        .help("split the file, or share less by aliases"))
}

fn check_copies(limits: &Limits, copies: usize, span: &Range<usize>) -> Result<(), Fault> {
    if copies <= limits.alias_nodes {
        return Ok(());
    }
    let most = limits.alias_nodes;
    Err(Fault::new(
        "too_large",
        span.clone(),
        format!("anchors and aliases stand for more than {most} values"),
    )
    .help("write the values out, or share less"))
}

/// Up to here comparing every pair is cheaper than sorting.
const FEW: usize = 16;

/// Reports every key that was defined before in the same mapping, with both lines.
pub(crate) fn report_duplicates(source: &str, entries: &[Entry<'_>], faults: &mut Vec<Fault>) {
    if entries.len() <= FEW {
        for (index, later) in entries.iter().enumerate() {
            if let Some(first) = entries[..index].iter().find(|e| e.key.text == later.key.text) {
                faults.push(duplicate(source, first, later));
            }
        }
        return;
    }
    let mut order: Vec<&Entry<'_>> = entries.iter().collect();
    order.sort_by(|a, b| (&a.key.text, a.key.span.start).cmp(&(&b.key.text, b.key.span.start)));
    for same in order.chunk_by(|a, b| a.key.text == b.key.text) {
        faults.extend(same[1..].iter().map(|later| duplicate(source, same[0], later)));
    }
}

fn duplicate(source: &str, first: &Entry<'_>, later: &Entry<'_>) -> Fault {
    let key = &later.key.text;
    let (first_line, _) = line_column(source, first.key.span.start);
    let (line, _) = line_column(source, later.key.span.start);
    Fault::new(
        "duplicate_key",
        later.key.span.clone(),
        format!("the key `{key}` on line {line} is already defined on line {first_line}"),
    )
    .label(first.key.span.clone(), "first defined here")
    .help("keep one of the two")
}
