//! Reads the fields of a foreign mapping: what has the wrong kind is a fault with its place, what nobody asked for is reported.

use std::ops::Range;

use super::report::{At, ImportReport};
use crate::files::yaml::{Fault, Key, Kind, Node};

/// A mapping whose fields are asked for one by one.
pub(crate) struct Record<'n> {
    node: &'n Node<'static>,
    pub(crate) path: String,
    taken: Vec<&'n str>,
    pub(crate) report: &'n ImportReport<'n>,
}

/// A value of it, with the way there.
#[derive(Clone)]
pub(crate) struct Field<'n> {
    pub(crate) node: &'n Node<'static>,
    pub(crate) at: At<'n>,
}

/// What a field says.
#[derive(Clone)]
pub(crate) struct Said<'n, T = String> {
    pub(crate) value: T,
    pub(crate) at: At<'n>,
    /// The bytes of the value.
    pub(crate) span: Range<usize>,
}

impl<'n, T> Said<'n, T> {
    pub(crate) fn kept(self) -> T {
        self.at.kept();
        self.value
    }

    pub(crate) fn kept_as(self, what: impl Into<String>) -> T {
        self.at.kept_as(what);
        self.value
    }

    pub(crate) fn converted(self, into: impl Into<String>) -> T {
        self.at.converted(into);
        self.value
    }

    /// Returns the place of the value, for faults about it.
    pub(crate) fn value_at(&self) -> At<'n> {
        At { span: self.span.clone(), ..self.at.clone() }
    }
}

impl<'n> Record<'n> {
    /// Returns the fields of the node; `what` names the mapping with its article: `a step`.
    pub(crate) fn of(
        node: &'n Node<'static>,
        path: &str,
        what: &str,
        report: &'n ImportReport<'n>,
    ) -> Option<Self> {
        if matches!(node.kind, Kind::Mapping(_)) {
            return Some(Self { node, path: path.to_owned(), taken: Vec::new(), report });
        }
        let message = format!("{what} is a mapping of fields, and this is {}", node.noun());
        report.fault(Fault::new("wrong_kind", node.span.clone(), message));
        None
    }

    /// Returns the way to a key of it.
    pub(crate) fn at(&self, key: &Key<'_>) -> At<'n> {
        At { path: join(&self.path, &key.text), span: key.span.clone(), report: self.report }
    }

    /// Returns where it begins, for faults about it as a whole.
    pub(crate) fn start(&self) -> At<'n> {
        let first = self.node.entries().first().map(|entry| &entry.key.span);
        let span = first.unwrap_or(&self.node.span).clone();
        At { path: self.path.clone(), span, report: self.report }
    }

    /// Reports a field that is missing.
    pub(crate) fn missing(&self, message: impl Into<String>) {
        self.start().fault("missing_field", message, "");
    }

    /// Returns whether a field is there, with something behind it.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.peek(key).is_some_and(|node| !node.is_null())
    }

    /// Returns a value without asking for its field.
    pub(crate) fn peek(&self, key: &str) -> Option<&'n Node<'static>> {
        self.node.get(key)
    }

    /// Returns a field; one with nothing behind it counts as absent.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Field<'n>> {
        let entry = self.node.entry(key)?;
        if entry.value.is_null() {
            return None;
        }
        self.taken.push(key);
        Some(Field { node: &entry.value, at: self.at(&entry.key) })
    }

    /// Returns the first of these fields that is there.
    pub(crate) fn take_any(&mut self, keys: &[&'static str]) -> Option<Field<'n>> {
        keys.iter().find_map(|key| self.take(key))
    }

    pub(crate) fn text(&mut self, key: &'static str) -> Option<Said<'n>> {
        self.take(key)?.text()
    }

    pub(crate) fn texts(&mut self, keys: &[&'static str]) -> Option<Said<'n, Vec<String>>> {
        self.take_any(keys)?.texts()
    }

    /// Returns the name of what the record describes, and renames the way to it accordingly.
    pub(crate) fn own_name(&mut self, key: &'static str, parent: &str) -> Option<Said<'n>> {
        let mut name = self.text(key)?;
        self.path = join(parent, &name.value);
        name.at.path = join(&self.path, key);
        Some(name)
    }

    /// Returns a whole number.
    pub(crate) fn count(&mut self, key: &'static str) -> Option<Said<'n, u64>> {
        let field = self.take(key)?;
        let number = match &field.node.kind {
            Kind::Number(decimal) => {
                decimal.number().as_u64().or_else(|| whole(decimal.number().as_f64()?))
            }
            Kind::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        field.said(number, "a whole number")
    }

    /// Returns a yes or no.
    pub(crate) fn flag(&mut self, key: &'static str) -> Option<Said<'n, bool>> {
        let field = self.take(key)?;
        let flag = match &field.node.kind {
            Kind::Bool(flag) => Some(*flag),
            Kind::String(text) if matches!(text.as_ref(), "yes" | "on") => Some(true),
            Kind::String(text) if matches!(text.as_ref(), "no" | "off") => Some(false),
            _ => None,
        };
        field.said(flag, "`true` or `false`")
    }

    /// Reports every field that nobody asked for. One whose name speaks of where a task goes is lost; any other is dropped.
    pub(crate) fn finish(self, explain: impl Fn(&str) -> Option<&'static str>) {
        for entry in self.node.entries() {
            let key = entry.key.text.as_ref();
            if self.taken.contains(&key) {
                continue;
            }
            let at = self.at(&entry.key);
            if entry.value.is_null() {
                at.dropped("it says nothing");
            } else if let Some(why) = explain(key) {
                at.dropped(why);
            } else if names_a_way(key) {
                at.lost("not known here, and by its name it says where a task goes");
            } else {
                at.dropped("not known here");
            }
        }
    }
}

impl<'n> Field<'n> {
    fn said<T>(self, value: Option<T>, wanted: &str) -> Option<Said<'n, T>> {
        if value.is_none() {
            self.wrong(wanted);
        }
        Some(Said { value: value?, span: self.node.span.clone(), at: self.at })
    }

    /// Returns the value as a text; numbers and yes or no count as what they look like.
    pub(crate) fn text(self) -> Option<Said<'n>> {
        let text = scalar(self.node);
        self.said(text, "a text")
    }

    /// Returns a list of texts; one text alone counts as a list of one.
    pub(crate) fn texts(self) -> Option<Said<'n, Vec<String>>> {
        let list = match (&self.node.kind, scalar(self.node)) {
            (_, Some(text)) => Some(vec![text]),
            (Kind::Sequence(items), None) => {
                let text = |item: &Node<'_>| {
                    let text = scalar(item);
                    if text.is_none() {
                        let (path, noun) = (&self.at.path, item.noun());
                        let at = At { span: item.span.clone(), ..self.at.clone() };
                        let message = format!("`{path}` is a list of texts, and this is {noun}");
                        at.fault("wrong_kind", message, "");
                    }
                    text
                };
                Some(items.iter().filter_map(text).collect())
            }
            _ => None,
        };
        self.said(list, "a list of texts")
    }

    /// Returns the items of a list as records: each is `what`. Reports a value that is no such list, and with `none` an empty one.
    pub(crate) fn records(&self, wanted: &str, what: &str, none: Option<&str>) -> Vec<Record<'n>> {
        let Kind::Sequence(items) = &self.node.kind else {
            self.wrong(wanted);
            return Vec::new();
        };
        if let Some(message) = none.filter(|_| items.is_empty()) {
            self.value_at().fault("no_gates", message, "");
        }
        let record = |(index, item)| {
            Record::of(item, &format!("{}.{}", self.at.path, index + 1), what, self.at.report)
        };
        items.iter().enumerate().filter_map(record).collect()
    }

    /// Returns workflows with their names, or of a list.
    pub(crate) fn workflows(&self) -> Vec<(Option<&'n str>, Record<'n>)> {
        if let Kind::Sequence(_) = self.node.kind {
            let records = self.records("a list of workflows", "a workflow", None);
            return records.into_iter().map(|record| (None, record)).collect();
        }
        let Kind::Mapping(entries) = &self.node.kind else {
            self.wrong("a mapping of names and workflows");
            return Vec::new();
        };
        let record = |entry: &'n crate::files::yaml::Entry<'static>| {
            let name = entry.key.text.as_ref();
            let path = join(&self.at.path, name);
            Some((Some(name), Record::of(&entry.value, &path, "a workflow", self.at.report)?))
        };
        entries.iter().filter_map(record).collect()
    }

    pub(crate) fn value_at(&self) -> At<'n> {
        At { span: self.node.span.clone(), ..self.at.clone() }
    }

    /// Reports what was wanted and what is there.
    pub(crate) fn wrong(&self, wanted: &str) {
        let message = format!("`{}` is {wanted}, and this is {}", self.at.path, self.node.noun());
        self.value_at().fault("wrong_kind", message, "");
    }
}

/// Returns the way to a part of something.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Returns a scalar as a text.
pub(crate) fn scalar(node: &Node<'_>) -> Option<String> {
    match &node.kind {
        Kind::String(text) => Some(text.clone().into_owned()),
        Kind::Number(number) => Some(number.source().to_owned()),
        Kind::Bool(value) => Some(value.to_string()),
        Kind::Null | Kind::Sequence(_) | Kind::Mapping(_) => None,
    }
}

fn whole(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked: it is whole, and in range"
    )]
    (number.fract() == 0.0 && (0.0..1e15).contains(&number)).then_some(number as u64)
}

/// Returns whether the name of an unknown field is one that sends tasks somewhere.
fn names_a_way(key: &str) -> bool {
    const WORDS: &str =
        "next goto then else if when unless condition branches depends_on dependson needs routes";
    let key = key.to_ascii_lowercase();
    WORDS.split(' ').any(|word| word == key)
        || key.starts_with("on_")
        || ["_step", "_to", "_if", "_when"].iter().any(|end| key.ends_with(end))
}
