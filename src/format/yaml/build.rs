//! The tree under construction. Keeps a cursor over the source, since events do not say where dashes, colons, block
//! scalar headers and absent values are.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, ScalarStyle, Span, StructureStyle, Tag};

use super::fault::Fault;
use super::node::{Entry, Key, Kind, Layout, Node, Sharing};
use super::parse::{Limits, too_deep};
use super::scalar;
use super::unique::report_duplicates;

/// Builds one document from its events.
pub(super) struct Builder<'s, 'l> {
    source: &'s str,
    limits: &'l Limits,
    base: usize,
    end: usize,
    cursor: usize,
    frames: Vec<Frame<'s>>,
    root: Option<Node<'s>>,
    documents: usize,
    anchors: HashMap<usize, (Node<'s>, Weight)>,
    used: Weight,
    alias_nodes: usize,
    pub(super) faults: Vec<Fault>,
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
struct Opening {
    indicator: Option<usize>,
    outer: usize,
}

impl<'s, 'l> Builder<'s, 'l> {
    pub(super) fn new(source: &'s str, range: Range<usize>, limits: &'l Limits) -> Self {
        Self {
            source,
            limits,
            base: range.start,
            end: range.end,
            cursor: range.start,
            frames: Vec::new(),
            root: None,
            documents: 0,
            anchors: HashMap::new(),
            used: Weight::default(),
            alias_nodes: 0,
            faults: Vec::new(),
        }
    }

    /// Returns the tree, or everything that is wrong with it.
    pub(super) fn finish(mut self) -> Result<Node<'s>, Vec<Fault>> {
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
    pub(super) fn event(&mut self, event: Event<'s>, span: &Span) -> Result<(), Fault> {
        let range = self.range(span);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                self.cursor = self.cursor.max(range.end);
                if self.documents > 1 {
                    return Err(Fault::new("several_documents", range, "only one YAML document is allowed in a file")
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
            Event::SequenceEnd | Event::MappingEnd => self.close(range),
            _ => {}
        }
        Ok(())
    }

    fn range(&self, span: &Span) -> Range<usize> {
        // A parser over a string always knows its byte offsets.
        let range = span.byte_range().unwrap_or(0..0);
        self.base + range.start..self.base + range.end
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
            ScalarStyle::Plain if range.is_empty() => (Layout::Absent, self.cursor..self.cursor),
            ScalarStyle::Plain => (Layout::Plain, range),
            ScalarStyle::SingleQuoted => (Layout::SingleQuoted, range),
            ScalarStyle::DoubleQuoted => (Layout::DoubleQuoted, range),
            ScalarStyle::Literal => (Layout::Literal, self.block_scalar(&range)),
            ScalarStyle::Folded => (Layout::Folded, self.block_scalar(&range)),
        };
        self.cursor = span.end;
        let weight = Weight { nodes: 1, text: text.len() };
        let kind = match tag {
            Some(tag) => self.tagged(text, layout, tag, &span),
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
        self.complete(node, anchor, weight, tag.is_some());
        Ok(())
    }

    /// Returns the span of a block scalar from its header on. The parser's begins at the first line of text and runs
    /// into the indentation of whatever follows.
    fn block_scalar(&self, text: &Range<usize>) -> Range<usize> {
        let bytes = self.source.as_bytes();
        let start = self.skip_trivia(self.cursor);
        let header = bytes[start..self.end]
            .iter()
            .skip(1)
            .take_while(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-'))
            .count()
            + 1;
        let keep = bytes[start..start + header].contains(&b'+');
        let content = &self.source[text.start.max(start + header)..text.end.max(start + header)];
        let kept = if keep {
            let whole = content.trim_end_matches(' ');
            let whole = whole.strip_suffix('\n').unwrap_or(whole);
            whole.strip_suffix('\r').unwrap_or(whole)
        } else {
            content.trim_end_matches([' ', '\n', '\r'])
        };
        if kept.is_empty() {
            return start..start + header;
        }
        start..text.start.max(start + header) + kept.len()
    }

    fn tagged(&mut self, text: Cow<'s, str>, layout: Layout, tag: &Tag, span: &Range<usize>) -> Kind<'s> {
        let plain = layout == Layout::Plain || layout == Layout::Absent;
        let text = if layout == Layout::Absent { Cow::Borrowed("") } else { text };
        let resolved = if plain { scalar::resolve(text.clone()) } else { Kind::String(text.clone()) };
        match (tag.core_suffix(), resolved) {
            (Some("str"), _) => Kind::String(text),
            (Some("null"), kind @ Kind::Null)
            | (Some("bool"), kind @ Kind::Bool(_))
            | (Some("int" | "float"), kind @ Kind::Number(_))
                if tag.core_suffix() != Some("int") || !text.contains(['.', 'e', 'E']) =>
            {
                kind
            }
            (Some(name @ ("null" | "bool" | "int" | "float" | "seq" | "map")), _) => {
                self.faults.push(
                    Fault::new("tag_mismatch", span.clone(), format!("this value is no `!!{name}`"))
                        .help("remove the tag, or write a value of that type"),
                );
                Kind::Null
            }
            _ => {
                self.faults.push(foreign_tag(tag, span));
                Kind::Null
            }
        }
    }

    fn alias(&mut self, id: usize, range: Range<usize>) -> Result<(), Fault> {
        let opening = self.open(false);
        self.cursor = range.end;
        let Some((target, weight)) = self.anchors.get(&id).map(|(node, weight)| (node, *weight)) else {
            return Err(Fault::new("recursive_alias", range, "this alias stands inside the value that it names"));
        };
        self.alias_nodes += weight.nodes;
        if self.alias_nodes > self.limits.alias_nodes {
            let most = self.limits.alias_nodes;
            return Err(Fault::new("too_large", range, format!("aliases expand to more than {most} values"))
                .help("write the values out, or share less"));
        }
        let mut node = Node {
            span: range.clone(),
            kind: Kind::Null,
            layout: target.layout,
            sharing: Sharing::Alias,
            outer: opening.outer.min(range.start),
            indicator: opening.indicator,
        };
        // Paid for before it is copied.
        let spent = Weight { nodes: self.used.nodes + weight.nodes, text: self.used.text + weight.text };
        self.used = spent;
        check(self.limits, spent, &range)?;
        node.kind = target.kind.clone();
        self.complete(node, 0, weight, true);
        Ok(())
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
            let fits = match kind {
                Kind::Sequence(_) => tag.core_suffix() == Some("seq"),
                _ => tag.core_suffix() == Some("map"),
            };
            if !fits {
                self.faults.push(foreign_tag(tag, &range));
            }
        }
        let layout = match style {
            StructureStyle::Block => Layout::Block,
            StructureStyle::Flow if range.is_empty() => Layout::FlowPair,
            StructureStyle::Flow => Layout::Flow,
        };
        if layout == Layout::Flow {
            self.cursor = range.end;
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

    fn close(&mut self, range: Range<usize>) {
        let Some(Frame { mut node, anchor, before, .. }) = self.frames.pop() else {
            return;
        };
        if node.layout == Layout::Flow {
            self.cursor = range.end;
        }
        // The parser puts the start of a list without indentation at its first item's content.
        if let (Layout::Block, Some(first)) = (node.layout, node.items().first()) {
            node.span.start = first.indicator.unwrap_or(node.span.start);
            node.outer = node.outer.min(node.span.start);
        }
        node.span.end = self.cursor.max(node.span.start);
        if let Kind::Mapping(entries) = &node.kind {
            report_duplicates(self.source, entries, &mut self.faults);
        }
        let weight = Weight { nodes: self.used.nodes - before.nodes, text: self.used.text - before.text };
        self.complete(node, anchor, weight, false);
    }

    /// Puts a finished node where it belongs: the key or the value of a mapping, an item, the root.
    fn complete(&mut self, node: Node<'s>, anchor: usize, weight: Weight, decorated: bool) {
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return;
        };
        match &mut frame.node.kind {
            Kind::Sequence(items) => items.push(node),
            Kind::Mapping(entries) => match frame.key.take() {
                Some(pending) if pending.usable => entries.push(Entry { key: pending.key, value: node }),
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
    }

    /// Moves the cursor over the indicator that introduces the next node, and over its anchor and tag.
    fn open(&mut self, has_properties: bool) -> Opening {
        let mut indicator = None;
        if let Some(frame) = self.frames.last() {
            let flow = frame.node.layout != Layout::Block;
            let wanted = match frame.node.kind {
                Kind::Sequence(_) if flow => None,
                Kind::Sequence(_) => Some(b'-'),
                _ if frame.key.is_some() => Some(b':'),
                _ => Some(b'?'),
            };
            let mut at = self.skip_trivia(self.cursor);
            if flow && wanted != Some(b':') && self.byte(at) == Some(b',') {
                at = self.skip_trivia(at + 1);
            }
            if wanted.is_some() && self.byte(at) == wanted && (wanted != Some(b'?') || self.blank_after(at)) {
                self.cursor = at + 1;
                indicator = Some(at);
            }
        }
        if indicator.is_some_and(|at| self.byte(at) == Some(b'?'))
            && let Some(frame) = self.frames.last_mut()
        {
            frame.explicit_key = true;
        }
        if !has_properties {
            return Opening { indicator, outer: usize::MAX };
        }
        let outer = self.skip_trivia(self.cursor);
        let mut at = outer;
        while matches!(self.byte(at), Some(b'&' | b'!')) {
            let rest = &self.source.as_bytes()[at..self.end];
            let ends: &[u8] = if rest.starts_with(b"!<") { b" \t\r\n" } else { b" \t\r\n,[]{}" };
            let length = rest.iter().take_while(|b| !ends.contains(b)).count();
            self.cursor = at + length;
            at = self.skip_trivia(self.cursor);
        }
        Opening { indicator, outer }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.source.as_bytes()[..self.end].get(at).copied()
    }

    fn blank_after(&self, at: usize) -> bool {
        self.byte(at + 1).is_none_or(|b| b" \t\r\n".contains(&b))
    }

    /// Skips blanks, line breaks and comments.
    fn skip_trivia(&self, mut at: usize) -> usize {
        let bytes = &self.source.as_bytes()[..self.end];
        if at == self.base && bytes[at..].starts_with("\u{feff}".as_bytes()) {
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
    Err(Fault::new("too_large", span.clone(), message).help("split the file, or share less by aliases"))
}

fn into_key<'s>(source: &str, node: Node<'s>, decorated: bool) -> (Key<'s>, Option<Fault>) {
    let written = &source[node.span.clone()];
    let fault = match &node.kind {
        Kind::String(text) if node.sharing == Sharing::Alias => Some(
            Fault::new("alias_key", node.span.clone(), format!("an alias cannot be a key; it stands for `{text}`"))
                .help("write the key out"),
        ),
        Kind::String(text) if text == "<<" && node.layout == Layout::Plain => Some(
            Fault::new("merge_key", node.span.clone(), "merge keys (`<<`) are not supported")
                .help("write the keys out where they are needed"),
        ),
        Kind::String(_) => None,
        Kind::Sequence(_) | Kind::Mapping(_) => {
            Some(Fault::new("key_not_string", node.span.clone(), format!("{} cannot be a key", node.noun())))
        }
        _ => Some(
            Fault::new(
                "key_not_string",
                node.span.clone(),
                format!("the key `{written}` is {}, not a string", node.noun()),
            )
            .help(format!("quote it: `\"{written}\"`")),
        ),
    };
    let text = match node.kind {
        Kind::String(text) => text,
        _ => Cow::Borrowed(""),
    };
    let key = Key { text, span: node.outer.min(node.span.start)..node.span.end, decorated };
    (key, fault)
}

fn foreign_tag(tag: &Tag, span: &Range<usize>) -> Fault {
    let name = format!("{}{}", tag.original_handle(), tag.suffix());
    Fault::new("tag", span.clone(), format!("the tag `{name}` is not supported"))
        .help("remove it; a text that begins with `!` needs quotes")
}
