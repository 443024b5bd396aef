//! Reads the fields of a foreign mapping, and reports how each was converted.
//!
//! Each importer has tables of the fates of fields; code notes only fates that depend on the value.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Range;

use crate::domain::{FieldFate, ImportRemark, nearest};
use crate::files::diagnostic::excerpt::{SourceLines, visible_text};
use crate::files::yaml::{Fault, Node, NodeKind};

/// The fates of the fields of a mapping: the key, its fate, and the reason or target. `x-*` matches every key with that prefix.
pub(crate) type FieldTable = &'static [(&'static str, FieldFate, &'static str)];

/// Collects remarks and errors while a file is read.
pub(crate) struct ImportReport<'s> {
    lines: SourceLines<'s>,
    /// The remarks, each with its offset in the file; those without an offset are last.
    remarks: RefCell<Vec<(usize, ImportRemark)>>,
    /// The paths of fields that need no remark from a table.
    reported: RefCell<HashSet<String>>,
    faults: RefCell<Vec<Fault>>,
}

impl<'s> ImportReport<'s> {
    pub(crate) fn new(lines: SourceLines<'s>) -> Self {
        let (remarks, reported, faults) = Default::default();
        Self { lines, remarks, reported, faults }
    }

    /// Notes a field that the file lacks and the new file needs.
    pub(crate) fn added(&self, field: impl AsRef<str>, note: impl Into<String>) {
        let field = visible_text(field.as_ref());
        let remark = ImportRemark { line: None, field, fate: FieldFate::Added, note: note.into() };
        self.remarks.borrow_mut().push((usize::MAX, remark));
    }

    pub(crate) fn has_faults(&self) -> bool {
        !self.faults.borrow().is_empty()
    }

    /// Returns all remarks in the order of the file, those without a line last; or the faults, if there are any.
    pub(crate) fn finish(self) -> Result<Vec<ImportRemark>, Vec<Fault>> {
        let mut faults = self.faults.into_inner();
        if !faults.is_empty() {
            faults.sort_by_key(|fault| fault.span.start);
            // A field may have been read twice.
            faults.dedup();
            return Err(faults);
        }
        let mut remarks = self.remarks.into_inner();
        remarks.sort_by_key(|(at, _)| *at);
        Ok(remarks.into_iter().map(|(_, remark)| remark).collect())
    }
}

/// A field of the foreign file: its path, and the bytes of its key.
#[derive(Clone)]
pub(crate) struct FieldPlace<'n> {
    pub(crate) path: String,
    pub(crate) span: Range<usize>,
    pub(crate) report: &'n ImportReport<'n>,
}

impl FieldPlace<'_> {
    /// Notes the fate of the field.
    pub(crate) fn note(&self, fate: FieldFate, note: impl Into<String>) {
        let line = Some(self.report.lines.line_of(self.span.start));
        let remark =
            ImportRemark { line, field: visible_text(&self.path), fate, note: note.into() };
        self.report.remarks.borrow_mut().push((self.span.start, remark));
        self.mark_reported();
    }

    /// Marks the field as reported.
    pub(crate) fn mark_reported(&self) {
        self.report.reported.borrow_mut().insert(self.path.clone());
    }

    /// Reports an error of the field; an empty `help` means no help.
    pub(crate) fn fault(&self, code: &'static str, message: impl Into<String>, help: &str) {
        let fault = Fault::new(code, self.span.clone(), message.into());
        let fault = if help.is_empty() { fault } else { fault.help(help) };
        self.report.faults.borrow_mut().push(fault);
    }

    /// Reports an unknown name, with the nearest known one.
    pub(crate) fn unknown<'k>(
        &self,
        (what, name): (&str, &str),
        known: impl IntoIterator<Item = &'k str>,
        otherwise: &str,
    ) {
        let near = nearest(name, known).map(|near| format!("did you mean `{near}`?"));
        let help = near.as_deref().unwrap_or(otherwise);
        self.fault("unknown_gate", format!("there is no {what} `{name}`"), help);
    }

    /// Reports a value of a wrong kind.
    pub(crate) fn wrong_kind(&self, node: &Node<'_>, wanted: &str) {
        let message = format!("`{}` is {wanted}, and this is {}", self.path, node.noun());
        Self { span: node.span.clone(), ..self.clone() }.fault("wrong_kind", message, "");
    }

    /// Returns a part of the field, or something below it.
    pub(crate) fn below(&self, key: &str, span: Range<usize>) -> Self {
        let path = join(&self.path, key);
        Self { path, span, report: self.report }
    }

    /// Notes the fate of a slot in the field's text.
    pub(crate) fn note_slot(&self, slot: &str, fate: FieldFate, note: impl Into<String>) {
        Self { path: format!("{}: {{{{{slot}}}}}", self.path), ..self.clone() }.note(fate, note);
    }
}

/// A mapping whose fields are read one by one; a field without a value counts as absent.
#[derive(Clone)]
pub(crate) struct Record<'n> {
    node: &'n Node<'static>,
    pub(crate) path: String,
    pub(crate) report: &'n ImportReport<'n>,
}

impl<'n> Record<'n> {
    /// Returns the fields of a file, whose root is a mapping.
    pub(crate) fn root(node: &'n Node<'static>, report: &'n ImportReport<'n>) -> Self {
        Self { node, path: String::new(), report }
    }

    /// Returns the fields of the node; `what` names the mapping with its article: `a step`.
    pub(crate) fn of(
        node: &'n Node<'static>,
        path: &str,
        what: &str,
        report: &'n ImportReport<'n>,
    ) -> Option<Self> {
        if matches!(node.kind, NodeKind::Mapping(_)) {
            return Some(Self { node, path: path.to_owned(), report });
        }
        let message = format!("{what} is a mapping of fields, and this is {}", node.noun());
        report.faults.borrow_mut().push(Fault::new("wrong_kind", node.span.clone(), message));
        None
    }

    /// Returns the place of a field, or the start of the record if it lacks the field.
    pub(crate) fn at(&self, key: &str) -> FieldPlace<'n> {
        let span =
            self.node.entry(key).map_or_else(|| self.node.first_key(), |e| e.key.span.clone());
        FieldPlace { path: join(&self.path, key), span, report: self.report }
    }

    /// Returns the place of a field's value.
    pub(crate) fn value_at(&self, key: &str) -> FieldPlace<'n> {
        let place = self.at(key);
        let span = self.node.get(key).map_or(place.span, |node| node.span.clone());
        FieldPlace { span, ..self.at(key) }
    }

    /// Notes the fate of a field.
    pub(crate) fn note(&self, key: &str, fate: FieldFate, note: impl Into<String>) {
        self.at(key).note(fate, note);
    }

    /// Notes a field that the file lacks and the new file needs.
    pub(crate) fn added(&self, key: &str, note: impl Into<String>) {
        self.report.added(join(&self.path, key), note);
    }

    /// Reports a field that is missing.
    pub(crate) fn missing(&self, message: impl Into<String>) {
        let place = FieldPlace { span: self.node.first_key(), ..self.at("") };
        place.fault("missing_field", message, "");
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'n Node<'static>> {
        self.node.get(key).filter(|node| !node.is_null())
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    fn read<T>(
        &self,
        key: &str,
        wanted: &str,
        read: impl FnOnce(&'n Node<'static>) -> Option<T>,
    ) -> Option<T> {
        let node = self.get(key)?;
        let value = read(node);
        if value.is_none() {
            self.at(key).wrong_kind(node, wanted);
        }
        value
    }

    /// Returns a text; numbers and booleans count as their text.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.read(key, "a text", scalar)
    }

    /// Returns a list of texts; one text alone counts as a list of one.
    pub(crate) fn texts(&self, key: &str) -> Option<Vec<String>> {
        self.read(key, "a text or a list of texts", |node| match scalar(node) {
            Some(text) => Some(vec![text]),
            None if matches!(node.kind, NodeKind::Sequence(_)) => {
                node.items().iter().map(scalar).collect()
            }
            None => None,
        })
    }

    /// Returns a whole number.
    pub(crate) fn count(&self, key: &str) -> Option<u64> {
        let given = self.get(key).and_then(scalar);
        if let Some(number) = given.filter(|text| text.trim().starts_with('-')) {
            let place = self.value_at(key);
            let message = format!("`{}` must not be negative, and this is `{number}`", place.path);
            place.fault("invalid_value", message, "");
            return None;
        }
        self.read(key, "a whole number", |node| {
            let text = scalar(node)?;
            let text = text.trim();
            text.parse().ok().or_else(|| text.strip_suffix(".0")?.parse().ok())
        })
    }

    /// Returns a boolean.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        self.read(key, "`true` or `false`", |node| match scalar(node)?.as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        })
    }

    /// Returns a nested mapping; its fields are reported, not the mapping itself.
    pub(crate) fn record(&self, key: &str) -> Option<Self> {
        let place = self.at(key);
        place.mark_reported();
        Self::of(self.get(key)?, &place.path, &format!("`{}`", place.path), self.report)
    }

    /// Returns the items of a list as records; `what` names an item.
    pub(crate) fn records(&self, key: &str, wanted: &str, what: &str) -> Vec<Self> {
        self.at(key).mark_reported();
        let is_list = |node: &'n Node<'static>| match &node.kind {
            NodeKind::Sequence(items) => Some(items.as_slice()),
            _ => None,
        };
        let items = self.read(key, wanted, is_list).unwrap_or_default();
        let path = join(&self.path, key);
        let record =
            |(index, item)| Self::of(item, &format!("{path}.{}", index + 1), what, self.report);
        items.iter().enumerate().filter_map(record).collect()
    }

    /// Returns the entries of a mapping, each with its key and its place.
    pub(crate) fn entries(
        &self,
        key: &str,
        wanted: &str,
    ) -> Vec<(&'n str, FieldPlace<'n>, &'n Node<'static>)> {
        let place = self.at(key);
        place.mark_reported();
        let is_mapping = |node: &'n Node<'static>| match &node.kind {
            NodeKind::Mapping(entries) => Some(entries.as_slice()),
            _ => None,
        };
        let entries = self.read(key, wanted, is_mapping).unwrap_or_default();
        let entry = |entry: &'n crate::files::yaml::MappingEntry<'static>| {
            let name = entry.key.text.as_ref();
            (name, place.below(name, entry.key.span.clone()), &entry.value)
        };
        entries.iter().map(entry).collect()
    }

    /// Returns the workflows of a mapping, with their names, or those of a list.
    pub(crate) fn workflows(&self, key: &str) -> Vec<(Option<&'n str>, Self)> {
        if self.get(key).is_some_and(|node| matches!(node.kind, NodeKind::Sequence(_))) {
            let records = self.records(key, "a list of workflows", "a workflow");
            return records.into_iter().map(|record| (None, record)).collect();
        }
        let entries = self.entries(key, "a mapping of names and workflows").into_iter();
        let record = |(name, place, node): (_, FieldPlace<'_>, _)| {
            Some((Some(name), Self::of(node, &place.path, "a workflow", self.report)?))
        };
        entries.filter_map(record).collect()
    }

    /// Notes the fate of each field that is not yet reported, by the first table that has it. An unknown field is lost if its name is
    /// about routes or people's approval, and dropped otherwise.
    pub(crate) fn finish(&self, tables: &[FieldTable]) {
        for entry in self.node.entries() {
            let key = entry.key.text.as_ref();
            let place = self.at(key);
            if self.report.reported.borrow().contains(&place.path) {
                continue;
            }
            let is_meant = |name: &str| match name.strip_suffix('*') {
                Some(start) => key.starts_with(start),
                None => key == name,
            };
            let known = tables.iter().copied().flatten().find(|(name, ..)| is_meant(name));
            match known {
                _ if entry.value.is_null() => place.note(FieldFate::Dropped, "it says nothing"),
                Some((_, fate, note)) => place.note(*fate, *note),
                None if is_approval_key(key) && !is_off(&entry.value) => {
                    let note = "not known here, and by its name it says that a person approves";
                    place.note(FieldFate::Lost, note);
                }
                None if is_routing_key(key) => {
                    let note = "not known here, and by its name it says where a task goes";
                    place.note(FieldFate::Lost, note);
                }
                None => place.note(FieldFate::Dropped, "not known here"),
            }
        }
    }
}

/// Returns the path of a part of a field.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Returns a scalar as a text.
pub(crate) fn scalar(node: &Node<'_>) -> Option<String> {
    crate::files::config::decode::text_of(node).map(std::borrow::Cow::into_owned)
}

/// Returns true if the name of an unknown field is about approval by a person.
fn is_approval_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase().replace(['_', '-'], "");
    ["approv", "human", "manual", "confirm", "signoff"].iter().any(|part| key.contains(part))
}

fn is_off(value: &Node<'_>) -> bool {
    scalar(value).is_some_and(|text| matches!(&*text, "false" | "no" | "off"))
}

/// Returns true if the name of an unknown field is about routes.
fn is_routing_key(key: &str) -> bool {
    const WORDS: [&str; 13] = [
        "next",
        "goto",
        "then",
        "else",
        "if",
        "when",
        "unless",
        "condition",
        "branches",
        "depends_on",
        "dependson",
        "needs",
        "routes",
    ];
    let key = key.to_ascii_lowercase();
    WORDS.contains(&key.as_str())
        || key.starts_with("on_")
        || ["_step", "_to", "_if", "_when"].iter().any(|end| key.ends_with(end))
}
