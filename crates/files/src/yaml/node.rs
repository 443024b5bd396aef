//! The parsed tree: values with their spans.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Map, Number, Value};

use super::error::Fault;

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<'s> {
    /// The bytes of the value, quotes and brackets included; empty if nothing is written (`key:`).
    pub span: Range<usize>,
    pub kind: NodeKind<'s>,
    pub layout: NodeLayout,
    /// The connection to an anchor or an alias, if any.
    pub sharing: Sharing,
    /// The start of the value with its anchor and its tag.
    pub(crate) outer: usize,
    /// The offset of the colon or the dash that introduces the value, if there is one.
    pub(crate) indicator: Option<usize>,
}

/// The value of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind<'s> {
    /// `null`, `~`, or an absent value.
    Null,
    /// A boolean.
    Bool(bool),
    /// A decimal number.
    Number(Decimal<'s>),
    /// A text.
    String(Cow<'s, str>),
    /// A list.
    Sequence(Vec<Node<'s>>),
    /// Keys and their values, in the order they are written.
    Mapping(Vec<MappingEntry<'s>>),
}

/// One key of a mapping with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct MappingEntry<'s> {
    pub key: EntryKey<'s>,
    pub value: Node<'s>,
}

/// The key of an entry and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryKey<'s> {
    /// The key itself, without quotes.
    pub text: Cow<'s, str>,
    pub span: Range<usize>,
    /// True if the key is written with `?`, or has an anchor or a tag.
    pub(crate) decorated: bool,
}

/// The notation of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeLayout {
    /// Not written: `key:` or `-` alone.
    Absent,
    /// A scalar without quotes.
    Plain,
    /// `'...'`
    SingleQuoted,
    /// `"..."`
    DoubleQuoted,
    /// `|` and lines below.
    Literal,
    /// `>` and lines below.
    Folded,
    /// A list or mapping by indentation.
    Block,
    /// A list or mapping in brackets.
    Flow,
    /// A mapping of one key inside a flow list, without brackets: `[a: b]`.
    FlowPair,
}

/// The sharing of a value between several places of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Written here, and used nowhere else.
    Own,
    /// Written here under an anchor (`&name`).
    Anchored,
    /// An alias (`*name`); the spans of its children are those of the anchored value.
    Alias,
}

impl MappingEntry<'_> {
    fn into_owned(self) -> MappingEntry<'static> {
        let key = EntryKey {
            text: self.key.text.into_owned().into(),
            span: self.key.span,
            decorated: self.key.decorated,
        };
        MappingEntry { key, value: self.value.into_owned() }
    }
}

impl<'s> Node<'s> {
    /// Returns a node of a notation without anchors, tags and block style.
    pub(crate) fn plain(kind: NodeKind<'s>, span: Range<usize>) -> Self {
        let outer = span.start;
        let (layout, sharing) = (NodeLayout::Flow, Sharing::Own);
        Self { span, kind, layout, sharing, outer, indicator: None }
    }

    /// Returns the first key of a mapping: the place to point at when a field is missing. For other nodes, returns the whole span.
    pub fn first_key(&self) -> Range<usize> {
        self.entries().first().map_or_else(|| self.span.clone(), |entry| entry.key.span.clone())
    }

    /// Returns the value of a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node<'s>> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Returns a key with its value, if this is a mapping that has it.
    pub fn entry(&self, key: &str) -> Option<&MappingEntry<'s>> {
        self.entries().iter().find(|entry| entry.key.text == key)
    }

    /// Returns the entries of a mapping; none for anything else.
    pub fn entries(&self) -> &[MappingEntry<'s>] {
        match &self.kind {
            NodeKind::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the items of a list; none for anything else.
    pub fn items(&self) -> &[Node<'s>] {
        match &self.kind {
            NodeKind::Sequence(items) => items,
            _ => &[],
        }
    }

    /// Returns the text, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns whether the value is `null`, `~` or absent.
    pub fn is_null(&self) -> bool {
        matches!(self.kind, NodeKind::Null)
    }

    /// Returns the kind of the value, for messages: `a list`, `a number`.
    pub fn noun(&self) -> &'static str {
        match &self.kind {
            NodeKind::Null => "nothing",
            NodeKind::Bool(_) => "a yes or no",
            NodeKind::Number(_) => "a number",
            NodeKind::String(_) => "a string",
            NodeKind::Sequence(_) => "a list",
            NodeKind::Mapping(_) => "a mapping",
        }
    }

    /// Returns the tree with texts of its own, so that it outlives the source.
    pub fn into_owned(self) -> Node<'static> {
        let kind = match self.kind {
            NodeKind::Null => NodeKind::Null,
            NodeKind::Bool(value) => NodeKind::Bool(value),
            NodeKind::Number(number) => NodeKind::Number(number.into_owned()),
            NodeKind::String(text) => NodeKind::String(text.into_owned().into()),
            NodeKind::Sequence(items) => {
                NodeKind::Sequence(items.into_iter().map(Node::into_owned).collect())
            }
            NodeKind::Mapping(entries) => {
                NodeKind::Mapping(entries.into_iter().map(MappingEntry::into_owned).collect())
            }
        };
        Node {
            span: self.span,
            kind,
            layout: self.layout,
            sharing: self.sharing,
            outer: self.outer,
            indicator: self.indicator,
        }
    }

    /// Returns the value without spans.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            NodeKind::Null => Value::Null,
            NodeKind::Bool(value) => Value::Bool(*value),
            NodeKind::Number(decimal) => Value::Number(decimal.number().clone()),
            NodeKind::String(text) => Value::String(text.clone().into_owned()),
            NodeKind::Sequence(items) => Value::Array(items.iter().map(Node::to_value).collect()),
            NodeKind::Mapping(entries) => {
                let mut map = Map::with_capacity(entries.len());
                for MappingEntry { key, value } in entries {
                    map.insert(key.text.clone().into_owned(), value.to_value());
                }
                Value::Object(map)
            }
        }
    }

    /// Returns whether the node equals a value; the order of keys does not count.
    pub fn says(&self, value: &Value) -> bool {
        match (&self.kind, value) {
            (NodeKind::Null, Value::Null) => true,
            (NodeKind::Bool(this), Value::Bool(other)) => this == other,
            (NodeKind::Number(this), Value::Number(other)) => this.number() == other,
            (NodeKind::String(this), Value::String(other)) => this.as_ref() == other,
            (NodeKind::Sequence(this), Value::Array(other)) => {
                this.len() == other.len() && this.iter().zip(other).all(|(a, b)| a.says(b))
            }
            (NodeKind::Mapping(this), Value::Object(other)) => {
                this.len() == other.len()
                    && this.iter().all(|entry| {
                        other
                            .get(entry.key.text.as_ref())
                            .is_some_and(|value| entry.value.says(value))
                    })
            }
            _ => false,
        }
    }

    /// Returns whether two nodes have equal values; notation and the order of keys do not count.
    pub fn agrees(&self, other: &Node<'_>) -> bool {
        match (&self.kind, &other.kind) {
            (NodeKind::Null, NodeKind::Null) => true,
            (NodeKind::Bool(this), NodeKind::Bool(other)) => this == other,
            (NodeKind::Number(this), NodeKind::Number(other)) => this.number() == other.number(),
            (NodeKind::String(this), NodeKind::String(other)) => this == other,
            (NodeKind::Sequence(this), NodeKind::Sequence(other)) => {
                this.len() == other.len() && this.iter().zip(other).all(|(a, b)| a.agrees(b))
            }
            (NodeKind::Mapping(this), NodeKind::Mapping(others)) => {
                // Usually both have their keys in one order.
                let found = |index: usize, key: &str| match others.get(index) {
                    Some(there) if there.key.text == key => Some(&there.value),
                    _ => other.get(key),
                };
                this.len() == others.len()
                    && this.iter().enumerate().all(|(index, MappingEntry { key, value })| {
                        found(index, &key.text).is_some_and(|other| value.agrees(other))
                    })
            }
            _ => false,
        }
    }

    /// Returns the first place in this tree that is an anchor or an alias.
    pub(crate) fn shared(&self) -> Option<&Node<'s>> {
        if self.sharing != Sharing::Own {
            return Some(self);
        }
        match &self.kind {
            NodeKind::Sequence(items) => items.iter().find_map(Node::shared),
            NodeKind::Mapping(entries) => entries.iter().find_map(|entry| entry.value.shared()),
            _ => None,
        }
    }
}

/// A decimal number and its text. If a text is expected, the text counts: `1.10` may be a version.
#[derive(Debug, Clone, PartialEq)]
pub struct Decimal<'s> {
    number: Number,
    source: Cow<'s, str>,
}

impl<'s> Decimal<'s> {
    pub(crate) fn new(number: Number, source: Cow<'s, str>) -> Self {
        Self { number, source }
    }

    /// Returns the number.
    pub fn number(&self) -> &Number {
        &self.number
    }

    /// Returns the number as it is written.
    pub fn source(&self) -> &str {
        &self.source
    }

    pub(crate) fn into_owned(self) -> Decimal<'static> {
        Decimal { number: self.number, source: self.source.into_owned().into() }
    }
}

/// Converts a number that has no source text; its text is the usual notation.
impl From<Number> for Decimal<'_> {
    fn from(number: Number) -> Self {
        let source = number.to_string().into();
        Self { number, source }
    }
}

/// Returns a node as the key of a mapping, and the fault if it is not a valid one.
pub(crate) fn into_key<'s>(
    source: &str,
    node: Node<'s>,
    decorated: bool,
) -> (EntryKey<'s>, Option<Fault>) {
    let written = &source[node.span.clone()];
    let fault = match &node.kind {
        NodeKind::String(text) if node.sharing == Sharing::Alias => Some(
            Fault::new(
                "alias_key",
                node.span.clone(),
                format!("an alias cannot be a key; it stands for `{text}`"),
            )
            .help("write the key out"),
        ),
        NodeKind::String(text) if text == "<<" && node.layout == NodeLayout::Plain => Some(
            Fault::new("merge_key", node.span.clone(), "merge keys (`<<`) are not supported")
                .help("write the keys out where they are needed"),
        ),
        NodeKind::String(_) => None,
        // `true` and `false` are the routes of a condition gate, and people write them without quotes.
        NodeKind::Bool(_) if matches!(written, "true" | "false") => None,
        NodeKind::Sequence(_) | NodeKind::Mapping(_) => Some(Fault::new(
            "key_not_string",
            node.span.clone(),
            format!("{} cannot be a key", node.noun()),
        )),
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
        NodeKind::String(text) => text,
        NodeKind::Bool(value) => Cow::Borrowed(if value { "true" } else { "false" }),
        _ => Cow::Borrowed(""),
    };
    let key = EntryKey { text, span: node.outer.min(node.span.start)..node.span.end, decorated };
    (key, fault)
}
