//! Decodes the fields of a mapping into domain types, and reports all faults and all unread fields.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::yaml::{EntryKey, Fault, MappingEntry, Node, NodeKind};
use aof_domain::{Map, Timestamp, listed, nearest};

/// Collects the faults of a file while it is read.
#[derive(Default)]
pub struct Faults(RefCell<Vec<Fault>>);

impl Faults {
    pub(crate) fn push(&self, fault: Fault) {
        self.0.borrow_mut().push(fault);
    }

    /// Reports a fault at a place; an empty `help` means none.
    pub(crate) fn add(
        &self,
        code: &'static str,
        span: &Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let help = Some(help.into()).filter(|help| !help.is_empty());
        self.push(Fault { help, ..Fault::new(code, span.clone(), message) });
    }

    /// Reports an invalid value.
    pub(crate) fn invalid(
        &self,
        node: &Node<'_>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add("invalid_value", &node.span, message, help);
    }

    /// Reports a value of the wrong kind.
    pub fn wrong_kind(&self, node: &Node<'_>, wanted: impl Display, help: &str) {
        let message = format!("{wanted}, and this is {}", node.noun());
        self.add("wrong_kind", &node.span, message, help);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    pub fn into_inner(self) -> Vec<Fault> {
        self.0.into_inner()
    }

    /// Returns the value if there is no fault, otherwise the faults.
    pub fn or_value<T>(self, value: Option<T>) -> Result<T, Vec<Fault>> {
        let faults = self.into_inner();
        value.filter(|_| faults.is_empty()).ok_or(faults)
    }
}

/// Reads the fields of one mapping. Fields that were never asked for are refused at the end.
pub struct FieldReader<'n, 's> {
    node: &'n Node<'s>,
    what: &'static str,
    known: RefCell<Vec<&'static str>>,
    pub(crate) faults: &'n Faults,
}

impl<'n, 's> FieldReader<'n, 's> {
    /// Returns the fields of the node. `what` is the name of the mapping, with its article: `a gate`.
    pub fn of(node: &'n Node<'s>, what: &'static str, faults: &'n Faults) -> Option<Self> {
        if matches!(node.kind, NodeKind::Mapping(_)) {
            return Some(Self { node, what, known: RefCell::default(), faults });
        }
        faults.wrong_kind(node, format_args!("{what} is a mapping of fields"), "");
        None
    }

    /// Returns the value of a field; an absent value (`key:`) counts as no field.
    pub(crate) fn take(&self, key: &'static str) -> Option<&'n Node<'s>> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
        self.node.get(key).filter(|node| !node.is_null())
    }

    /// Returns the fields of a mapping below.
    pub(crate) fn below(&self, key: &'static str, what: &'static str) -> Option<Self> {
        Self::of(self.take(key)?, what, self.faults)
    }

    /// Returns whether the key is there, even without a value.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.node.entry(key).is_some()
    }

    /// Returns the span of the key, for faults about the field as a whole; the mapping's beginning if it is missing.
    pub(crate) fn key_span(&self, key: &str) -> Range<usize> {
        self.node.entry(key).map_or_else(|| self.node.first_key(), |entry| entry.key.span.clone())
    }

    /// Reports a fault about a field as a whole; an empty `help` means none.
    pub(crate) fn fault(
        &self,
        key: &str,
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.faults.add(code, &self.key_span(key), message, help);
    }

    /// Returns a text. Numbers count as they are written, booleans as `true` or `false`.
    pub(crate) fn text(&self, key: &'static str) -> Option<String> {
        let node = self.take(key)?;
        let text = text_of(node);
        if text.is_none() {
            self.faults.wrong_kind(node, format_args!("`{key}` is a text"), "");
        }
        text.map(Cow::into_owned)
    }

    /// Returns a text parsed as a `T`.
    pub(crate) fn parsed<T: FromStr<Err: Display>>(&self, key: &'static str) -> Option<T> {
        parse_node(self.take(key)?, format_args!("`{key}` is a text"), self.faults)
    }

    /// Returns a text parsed as a `T`; reports a missing field.
    pub fn required<T: FromStr<Err: Display>>(&self, key: &'static str) -> Option<T> {
        self.require(key, self.parsed(key))
    }

    /// Returns the result of a function that reads the value of a field.
    pub(crate) fn with<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&'n Node<'s>, &'n Faults) -> T,
    ) -> Option<T> {
        self.take(key).map(|node| read(node, self.faults))
    }

    /// Returns a time: RFC 3339, or a date, which means its first second in UTC.
    pub(crate) fn time(&self, key: &'static str) -> Option<Timestamp> {
        let node = self.take(key)?;
        let time = point_in_time(node.as_str().unwrap_or_default());
        if time.is_none() {
            let message = format!("`{key}` is not a point in time");
            self.faults.add(
                "invalid_time",
                &node.span,
                message,
                "write it like `2026-02-16T10:00:00Z`",
            );
        }
        time
    }

    /// Returns a boolean.
    pub(crate) fn flag(&self, key: &'static str) -> Option<bool> {
        let node = self.take(key)?;
        if let NodeKind::Bool(value) = node.kind {
            return Some(value);
        }
        let help = match node.as_str() {
            Some("yes" | "Yes" | "on" | "On") => format!("write `{key}: true`"),
            Some("no" | "No" | "off" | "Off") => format!("write `{key}: false`"),
            _ => String::new(),
        };
        self.faults.wrong_kind(node, format_args!("`{key}` is `true` or `false`"), &help);
        None
    }

    /// Returns a whole number.
    pub(crate) fn count(&self, key: &'static str) -> Option<u32> {
        let node = self.take(key)?;
        let count = text_of(node).and_then(|text| text.parse().ok());
        if count.is_none() {
            let given = text_of(node).map_or_else(
                || node.noun().to_owned(),
                |text| format!("`{}`", text.escape_debug()),
            );
            let message = format!("`{key}` is a whole number from 0 on, and this is {given}");
            self.faults.invalid(node, message, format!("write it as in `{key}: 2`"));
        }
        count
    }

    /// Returns a list of items parsed as `T`; a single item counts as a list of one.
    pub(crate) fn list<T: FromStr<Err: Display>>(&self, key: &'static str) -> Option<Vec<T>> {
        let node = self.take(key)?;
        if matches!(node.kind, NodeKind::Sequence(_) | NodeKind::String(_)) {
            return Some(parse_text_list(node, format_args!("`{key}`"), self.faults));
        }
        self.faults.wrong_kind(node, format_args!("`{key}` is a list"), "");
        None
    }

    /// Returns a mapping as JSON.
    pub(crate) fn object(&self, key: &'static str) -> Option<Map> {
        let node = self.take(key)?;
        if let serde_json::Value::Object(map) = node.to_value() {
            return Some(map);
        }
        self.faults.wrong_kind(node, format_args!("`{key}` is a mapping of keys and values"), "");
        None
    }

    /// Returns the value, or reports a missing field, unless a fault about it was reported.
    pub(crate) fn require<T>(&self, key: &'static str, value: Option<T>) -> Option<T> {
        if value.is_none() && self.node.get(key).is_none_or(Node::is_null) {
            self.fault(key, "missing_field", format!("{} needs `{key}`", self.what), "");
        }
        value
    }

    /// Returns the fields that were never asked for.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = &'n MappingEntry<'s>> {
        let known = self.known.borrow().clone();
        self.node.entries().iter().filter(move |entry| !known.contains(&entry.key.text.as_ref()))
    }

    /// Refuses every field that was never asked for, since it would be ignored.
    pub(crate) fn refuse_unknown(&self) {
        self.refuse_unknown_but(|_| None);
    }

    /// Refuses every field that was never asked for; `explain` may give better help than the nearest name.
    pub fn refuse_unknown_but(&self, explain: impl Fn(&str) -> Option<String>) {
        let known = self.known.borrow();
        for entry in self.unknown() {
            let key = entry.key.text.as_ref();
            let message = format!("{} has no field `{key}`", self.what);
            let help = explain(key).unwrap_or_else(|| match nearest(key, known.iter().copied()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("its fields are {}", listed(known.iter())),
            });
            self.faults.add("unknown_field", &entry.key.span, message, help);
        }
    }
}

/// Parses the items of a list, or a single text, as `T`.
pub(crate) fn parse_text_list<T: FromStr<Err: Display>>(
    node: &Node<'_>,
    what: impl Display,
    faults: &Faults,
) -> Vec<T> {
    match &node.kind {
        NodeKind::Sequence(items) => {
            let wanted = |item| parse_node(item, format_args!("each of {what} is a text"), faults);
            items.iter().filter_map(wanted).collect()
        }
        _ => parse_node(node, what, faults).into_iter().collect(),
    }
}

/// Parses the node as a `T`.
pub(crate) fn parse_node<T: FromStr<Err: Display>>(
    node: &Node<'_>,
    wanted: impl Display,
    faults: &Faults,
) -> Option<T> {
    let Some(text) = text_of(node) else {
        let is_mapping = matches!(node.kind, NodeKind::Mapping(_));
        let help = if is_mapping { "a text with `: ` in it needs quotes" } else { "" };
        faults.wrong_kind(node, wanted, help);
        return None;
    };
    parse_text(&text, &node.span, faults)
}

/// Parses a key as a `T`.
pub(crate) fn parse_key<T: FromStr<Err: Display>>(
    key: &EntryKey<'_>,
    faults: &Faults,
) -> Option<T> {
    parse_text(&key.text, &key.span, faults)
}

fn parse_text<T: FromStr<Err: Display>>(
    text: &str,
    span: &Range<usize>,
    faults: &Faults,
) -> Option<T> {
    let report = |error: T::Err| {
        let error = error.to_string();
        // The standard library reports these errors for a text that is not a number, or not in range.
        let is_number = ["invalid digit", "cannot parse integer", "number too"];
        let (message, help) = if is_number.iter().any(|raw| error.starts_with(raw)) {
            let got = text.escape_debug();
            (format!("this is a whole number from 0 on, not `{got}`"), "write it as in `2`".into())
        } else {
            advice(&error)
        };
        faults.add("invalid_value", span, message, help);
    };
    text.parse().map_err(report).ok()
}

/// Splits an error text into problem and help: an id's rule follows a colon; known words or a form follow a semicolon.
fn advice(error: &str) -> (String, String) {
    // The quoted text may contain either; skip it.
    let from = error.rfind("` is ").unwrap_or(0);
    let split = |separator: &str| {
        let at = from + error[from..].find(separator)?;
        Some((error[..at].to_owned(), error[at + separator.len()..].to_owned()))
    };
    if let Some((message, words)) = split("; known: ") {
        return (message, format!("it is one of {}", listed(words.split(", "))));
    }
    split(": ").or_else(|| split("; ")).unwrap_or_else(|| (error.to_owned(), String::new()))
}

/// Returns a text, a number as written, or a boolean as text.
pub fn text_of<'n>(node: &'n Node<'_>) -> Option<Cow<'n, str>> {
    match &node.kind {
        NodeKind::String(text) => Some(Cow::Borrowed(text)),
        NodeKind::Number(number) => Some(Cow::Borrowed(number.source())),
        NodeKind::Bool(value) => Some(value.to_string().into()),
        NodeKind::Null | NodeKind::Sequence(_) | NodeKind::Mapping(_) => None,
    }
}

/// Returns the items of a list, or a single value.
pub fn one_or_many<'n, 's>(node: &'n Node<'s>) -> &'n [Node<'s>] {
    match &node.kind {
        NodeKind::Sequence(items) => items,
        _ => std::slice::from_ref(node),
    }
}

/// Parses a time.
pub(crate) fn point_in_time(text: &str) -> Option<Timestamp> {
    let day = || Some(text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    text.parse().ok().or_else(day)
}
