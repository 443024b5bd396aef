//! From a tree to nouns: reads the fields of a mapping, says everything that is wrong with them, and everything nobody reads.

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;

use crate::domain::{Map, listed, nearest};
use crate::files::yaml::{Entry, Fault, Key, Kind, Node};

/// More fields than any shape has: what has been asked for is noted once a field.
const FIELDS: usize = 32;

/// The fields of one mapping. What has been asked for is known; what remains at the end is refused.
pub(crate) struct Fields<'n, 's> {
    node: &'n Node<'s>,
    what: &'static str,
    known: Vec<&'static str>,
}

impl<'n, 's> Fields<'n, 's> {
    /// Returns the fields of the node. `what` names the mapping with its article: `a gate`.
    pub(crate) fn of(
        node: &'n Node<'s>,
        what: &'static str,
        faults: &mut Vec<Fault>,
    ) -> Option<Self> {
        if matches!(node.kind, Kind::Mapping(_)) {
            return Some(Self { node, what, known: Vec::with_capacity(FIELDS) });
        }
        faults.push(wrong_kind(node, format_args!("{what} is a mapping of fields")));
        None
    }

    /// Returns the value of a field; an absent value (`key:`) counts as no field.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<&'n Node<'s>> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.node.get(key).filter(|node| !node.is_null())
    }

    /// Tells whether the key is written, be it with nothing behind it.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.node.entry(key).is_some()
    }

    /// Returns where the key stands, for faults about the field as a whole; the mapping's beginning where it is absent.
    pub(crate) fn key_span(&self, key: &str) -> Range<usize> {
        self.node.entry(key).map_or_else(|| start_of(self.node), |entry| entry.key.span.clone())
    }

    /// Returns a text. Numbers count as what is written, yes or no as what it looks like.
    pub(crate) fn text(&mut self, key: &'static str, faults: &mut Vec<Fault>) -> Option<String> {
        let node = self.take(key)?;
        let text = text_of(node);
        if text.is_none() {
            faults.push(wrong_kind(node, format_args!("`{key}` is a text")));
        }
        text.map(Cow::into_owned)
    }

    /// Returns a text that reads as a `T`.
    pub(crate) fn parsed<T>(&mut self, key: &'static str, faults: &mut Vec<Fault>) -> Option<T>
    where
        T: FromStr,
        T::Err: Display,
    {
        let node = self.take(key)?;
        parse_node(node, format_args!("`{key}` is a text"), faults)
    }

    /// Returns a yes or no.
    pub(crate) fn flag(&mut self, key: &'static str, faults: &mut Vec<Fault>) -> Option<bool> {
        let node = self.take(key)?;
        if let Kind::Bool(value) = node.kind {
            return Some(value);
        }
        let fault = wrong_kind(node, format_args!("`{key}` is `true` or `false`"));
        faults.push(match node.as_str() {
            Some("yes" | "Yes" | "on" | "On") => fault.help(format!("write `{key}: true`")),
            Some("no" | "No" | "off" | "Off") => fault.help(format!("write `{key}: false`")),
            _ => fault,
        });
        None
    }

    /// Returns a whole number.
    pub(crate) fn count(&mut self, key: &'static str, faults: &mut Vec<Fault>) -> Option<u32> {
        let node = self.take(key)?;
        let count = text_of(node).and_then(|text| text.parse().ok());
        if count.is_none() {
            let said = text_of(node).map_or_else(
                || node.noun().to_owned(),
                |text| format!("`{}`", text.escape_debug()),
            );
            let message = format!("`{key}` is a whole number from 0 on, and this is {said}");
            faults.push(
                Fault::new("invalid_value", node.span.clone(), message)
                    .help(format!("write it as in `{key}: 2`")),
            );
        }
        count
    }

    /// Returns a list whose items read as a `T`; one item alone counts as a list of one.
    pub(crate) fn list<T>(&mut self, key: &'static str, faults: &mut Vec<Fault>) -> Option<Vec<T>>
    where
        T: FromStr,
        T::Err: Display,
    {
        let node = self.take(key)?;
        if matches!(node.kind, Kind::Sequence(_) | Kind::String(_)) {
            return Some(parse_text_list(node, format_args!("`{key}`"), faults));
        }
        faults.push(wrong_kind(node, format_args!("`{key}` is a list")));
        None
    }

    /// Returns a mapping as it stands.
    pub(crate) fn object(&mut self, key: &'static str, faults: &mut Vec<Fault>) -> Option<Map> {
        let node = self.take(key)?;
        if let serde_json::Value::Object(map) = node.to_value() {
            return Some(map);
        }
        faults.push(wrong_kind(node, format_args!("`{key}` is a mapping of keys and values")));
        None
    }

    /// Returns the value, or says that the field is missing (unless a fault about it has been said).
    pub(crate) fn require<T>(
        &self,
        key: &'static str,
        value: Option<T>,
        faults: &mut Vec<Fault>,
    ) -> Option<T> {
        if value.is_none() && self.node.get(key).is_none_or(Node::is_null) {
            let span = if self.node.entry(key).is_some() {
                self.key_span(key)
            } else {
                start_of(self.node)
            };
            faults.push(Fault::new("missing_field", span, format!("{} needs `{key}`", self.what)));
        }
        value
    }

    /// Returns the fields that nobody asked for.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = &'n Entry<'s>> {
        self.node.entries().iter().filter(|entry| !self.known.contains(&entry.key.text.as_ref()))
    }

    /// Refuses every field that nobody asked for: it would be ignored.
    pub(crate) fn refuse_unknown(self, faults: &mut Vec<Fault>) {
        self.refuse_unknown_but(faults, |_| None);
    }

    /// Refuses every field that nobody asked for; `explain` may know what was meant by one that is no slip of the pen.
    pub(crate) fn refuse_unknown_but(
        self,
        faults: &mut Vec<Fault>,
        explain: impl Fn(&str) -> Option<String>,
    ) {
        for entry in self.node.entries() {
            let key = entry.key.text.as_ref();
            if self.known.contains(&key) {
                continue;
            }
            let message = format!("{} has no field `{key}`", self.what);
            let help =
                explain(key).unwrap_or_else(|| match nearest(key, self.known.iter().copied()) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => format!("its fields are {}", listed(&self.known)),
                });
            faults.push(Fault::new("unknown_field", entry.key.span.clone(), message).help(help));
        }
    }
}

/// Returns the items of a list that read as a `T`, or the one text in its place.
pub(crate) fn parse_text_list<T>(
    node: &Node<'_>,
    what: impl Display,
    faults: &mut Vec<Fault>,
) -> Vec<T>
where
    T: FromStr,
    T::Err: Display,
{
    match &node.kind {
        Kind::Sequence(items) => {
            let wanted = |item| parse_node(item, format_args!("each of {what} is a text"), faults);
            items.iter().filter_map(wanted).collect()
        }
        _ => parse_node(node, what, faults).into_iter().collect(),
    }
}

/// Returns the node as a `T`.
pub(crate) fn parse_node<T>(
    node: &Node<'_>,
    wanted: impl Display,
    faults: &mut Vec<Fault>,
) -> Option<T>
where
    T: FromStr,
    T::Err: Display,
{
    let Some(text) = text_of(node) else {
        let fault = wrong_kind(node, wanted);
        faults.push(match node.kind {
            Kind::Mapping(_) => fault.help("a text with `: ` in it needs quotes"),
            _ => fault,
        });
        return None;
    };
    parse_text(&text, &node.span, faults)
}

fn parse_text<T>(text: &str, span: &Range<usize>, faults: &mut Vec<Fault>) -> Option<T>
where
    T: FromStr,
    T::Err: Display,
{
    match text.parse() {
        Ok(value) => Some(value),
        Err(error) => {
            let (message, help) = advice(&error.to_string());
            faults.push(Fault { help, ..Fault::new("invalid_value", span.clone(), message) });
            None
        }
    }
}

/// Splits what is wrong from what to do: an id's rule stands behind a colon, the words there are and a form behind a semicolon.
fn advice(error: &str) -> (String, Option<String>) {
    // What a person wrote may hold either; it ends where the judgement begins.
    let from = error.rfind("` is ").unwrap_or(0);
    let split = |separator: &str| {
        let at = from + error[from..].find(separator)?;
        Some((error[..at].to_owned(), &error[at + separator.len()..]))
    };
    if let Some((message, words)) = split("; known: ") {
        return (message, Some(format!("it is one of {}", listed(words.split(", ")))));
    }
    match split(": ").or_else(|| split("; ")) {
        Some((message, help)) => (message, Some(help.to_owned())),
        None => (error.to_owned(), None),
    }
}

/// Returns a key as a `T`: the name of what stands under it.
pub(crate) fn parse_key<T>(key: &Key<'_>, faults: &mut Vec<Fault>) -> Option<T>
where
    T: FromStr,
    T::Err: Display,
{
    parse_text(&key.text, &key.span, faults)
}

/// Says what was wanted and what is there.
pub(crate) fn wrong_kind(node: &Node<'_>, wanted: impl Display) -> Fault {
    Fault::new("wrong_kind", node.span.clone(), format!("{wanted}, and this is {}", node.noun()))
}

/// Returns a text, a number as it is written, or what a yes or no looks like.
pub(crate) fn text_of<'n>(node: &'n Node<'_>) -> Option<Cow<'n, str>> {
    match &node.kind {
        Kind::String(text) => Some(Cow::Borrowed(text)),
        Kind::Number(number) => Some(Cow::Borrowed(number.source())),
        Kind::Bool(value) => Some(value.to_string().into()),
        Kind::Null | Kind::Sequence(_) | Kind::Mapping(_) => None,
    }
}

/// Returns the first key of a mapping: a place to point at when a field is not there.
fn start_of(node: &Node<'_>) -> Range<usize> {
    node.entries().first().map_or_else(|| node.span.clone(), |entry| entry.key.span.clone())
}
