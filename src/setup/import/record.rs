//! Reads the fields of a foreign mapping: what has the wrong kind is a fault with its place, what nobody asked for is told.

use std::ops::Range;

use crate::files::yaml::{Fault, Key, Kind, Node};

use super::report::{At, Ledger};

/// A mapping whose fields are asked for one by one.
pub(crate) struct Record<'n> {
    node: &'n Node<'static>,
    path: String,
    taken: Vec<&'n str>,
}

/// A value of it, with the way there.
#[derive(Clone)]
pub(crate) struct Field<'n> {
    pub(crate) node: &'n Node<'static>,
    pub(crate) at: At,
}

impl<'n> Record<'n> {
    /// Returns the fields of the node; `what` names the mapping with its article: `a step`.
    pub(crate) fn of(
        node: &'n Node<'static>,
        path: &str,
        what: &str,
        ledger: &mut Ledger<'_>,
    ) -> Option<Self> {
        if matches!(node.kind, Kind::Mapping(_)) {
            return Some(Self { node, path: path.to_owned(), taken: Vec::new() });
        }
        let message = format!("{what} is a mapping of fields, and this is {}", node.noun());
        ledger.fault(Fault::new("wrong_kind", node.span.clone(), message));
        None
    }

    /// Renames the way to it, once its own name is known.
    pub(crate) fn called(&mut self, path: String) {
        self.path = path;
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the way to a key of it.
    pub(crate) fn at(&self, key: &Key<'_>) -> At {
        At { path: join(&self.path, &key.text), span: key.span.clone() }
    }

    /// Returns where it begins, for faults about it as a whole.
    pub(crate) fn start(&self) -> Range<usize> {
        self.node
            .entries()
            .first()
            .map_or_else(|| self.node.span.clone(), |entry| entry.key.span.clone())
    }

    /// Tells whether a field is there, with something behind it.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.node.get(key).is_some_and(|node| !node.is_null())
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

    /// Returns a text, with its field.
    pub(crate) fn text(
        &mut self,
        key: &'static str,
        ledger: &mut Ledger<'_>,
    ) -> Option<(String, Field<'n>)> {
        let field = self.take(key)?;
        let text = field.text(ledger)?;
        Some((text, field))
    }

    /// Returns a whole number, with its field.
    pub(crate) fn count(
        &mut self,
        key: &'static str,
        ledger: &mut Ledger<'_>,
    ) -> Option<(u64, Field<'n>)> {
        let field = self.take(key)?;
        let number = match &field.node.kind {
            Kind::Number(decimal) => {
                decimal.number().as_u64().or_else(|| whole(decimal.number().as_f64()?))
            }
            Kind::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        if number.is_none() {
            ledger.fault(field.wrong("a whole number"));
        }
        Some((number?, field))
    }

    /// Returns a yes or no, with its field.
    pub(crate) fn flag(
        &mut self,
        key: &'static str,
        ledger: &mut Ledger<'_>,
    ) -> Option<(bool, Field<'n>)> {
        let field = self.take(key)?;
        let flag = match &field.node.kind {
            Kind::Bool(flag) => Some(*flag),
            Kind::String(text) if matches!(text.as_ref(), "yes" | "on") => Some(true),
            Kind::String(text) if matches!(text.as_ref(), "no" | "off") => Some(false),
            _ => None,
        };
        if flag.is_none() {
            ledger.fault(field.wrong("`true` or `false`"));
        }
        Some((flag?, field))
    }

    /// Tells of every field that nobody asked for. One whose name speaks of the way of a task is lost; any other is dropped.
    pub(crate) fn finish(
        self,
        ledger: &mut Ledger<'_>,
        explain: impl Fn(&str) -> Option<&'static str>,
    ) {
        for entry in self.node.entries() {
            let key = entry.key.text.as_ref();
            if self.taken.contains(&key) {
                continue;
            }
            let at = self.at(&entry.key);
            if entry.value.is_null() {
                ledger.dropped(&at, "it says nothing");
            } else if let Some(why) = explain(key) {
                ledger.dropped(&at, why);
            } else if speaks_of_the_way(key) {
                ledger.lost(&at, "not known here, and by its name it says where a task goes");
            } else {
                ledger.dropped(&at, "not known here");
            }
        }
    }
}

impl Field<'_> {
    /// Returns the value as a text; numbers and yes or no count as what they look like.
    pub(crate) fn text(&self, ledger: &mut Ledger<'_>) -> Option<String> {
        let text = scalar(self.node);
        if text.is_none() {
            ledger.fault(self.wrong("a text"));
        }
        text
    }

    /// Returns a list of texts; one text alone counts as a list of one.
    pub(crate) fn texts(&self, ledger: &mut Ledger<'_>) -> Option<Vec<String>> {
        if let Some(text) = scalar(self.node) {
            return Some(vec![text]);
        }
        let Kind::Sequence(items) = &self.node.kind else {
            ledger.fault(self.wrong("a list of texts"));
            return None;
        };
        let mut texts = Vec::new();
        for item in items {
            match scalar(item) {
                Some(text) => texts.push(text),
                None => ledger.fault(Fault::new(
                    "wrong_kind",
                    item.span.clone(),
                    format!("`{}` is a list of texts, and this is {}", self.at.path, item.noun()),
                )),
            }
        }
        Some(texts)
    }

    /// Says what was wanted and what is there.
    pub(crate) fn wrong(&self, wanted: &str) -> Fault {
        let said = format!("`{}` is {wanted}, and this is {}", self.at.path, self.node.noun());
        Fault::new("wrong_kind", self.node.span.clone(), said)
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

/// Tells whether the name of an unknown field is one that sends tasks somewhere.
fn speaks_of_the_way(key: &str) -> bool {
    const WHOLE: [&str; 13] = [
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
    WHOLE.contains(&key.as_str())
        || key.starts_with("on_")
        || ["_step", "_to", "_if", "_when"].iter().any(|end| key.ends_with(end))
}
