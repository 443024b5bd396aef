//! What a changed frontmatter should say: what it says now, and other values in the places that edits are about. Works on values
//! only, apart from the code that makes the patches; what no edit is about is not copied.

use std::borrow::Cow;

use serde_json::Value;

use super::edit::{Edit, Segment};
use crate::files::yaml::{Kind, Node};

/// What a node should say.
pub(crate) enum Expected<'n> {
    /// What it says now.
    Kept(&'n Node<'n>),
    /// Another value.
    Value(Value),
    /// These, in this order.
    List(Vec<Expected<'n>>),
    /// These, in any order.
    Mapping(Vec<(Cow<'n, str>, Expected<'n>)>),
}

impl<'n> Expected<'n> {
    /// Returns what a root should say once the edits are made, one after the other. Edits that do not fit are the business of the
    /// change tree, and ignored here.
    pub(crate) fn after(root: &'n Node<'n>, edits: &[Edit]) -> Self {
        let mut expected = Self::Kept(root);
        for edit in edits {
            expected.apply(edit);
        }
        expected
    }

    /// Tells whether a node says this.
    pub(crate) fn is_said_by(&self, node: &Node<'_>) -> bool {
        match self {
            Self::Kept(kept) => kept.agrees(node),
            Self::Value(value) => node.says(value),
            Self::List(items) => {
                matches!(&node.kind, Kind::Sequence(said) if said.len() == items.len()
                    && items.iter().zip(said).all(|(item, said)| item.is_said_by(said)))
            }
            Self::Mapping(entries) => {
                let said = |(key, value): &(Cow<'_, str>, Self)| {
                    node.get(key).is_some_and(|node| value.is_said_by(node))
                };
                matches!(&node.kind, Kind::Mapping(written) if written.len() == entries.len())
                    && entries.iter().all(said)
            }
        }
    }

    fn apply(&mut self, edit: &Edit) {
        match edit {
            Edit::Set { path, value } => {
                if let Some(place) = self.made(&path.0) {
                    *place = Self::Value(value.clone());
                }
            }
            Edit::Append { path, value } => {
                let Some(place) = self.made(&path.0) else { return };
                place.open();
                if place.is_null() {
                    *place = Self::List(Vec::new());
                }
                if let Self::List(items) = place {
                    items.push(Self::Value(value.clone()));
                }
            }
            Edit::Remove { path } => {
                if let Some((last, parents)) = path.0.split_last() {
                    self.remove(parents, last);
                }
            }
        }
    }

    /// Returns the place at a path; keys on the way are made.
    fn made(&mut self, path: &[Segment]) -> Option<&mut Self> {
        path.iter().try_fold(self, |place, segment| {
            place.open();
            if place.is_null() && matches!(segment, Segment::Key(_)) {
                *place = Self::Mapping(Vec::new());
            }
            if let (Self::Mapping(entries), Segment::Key(key)) = (&mut *place, segment)
                && !entries.iter().any(|(known, _)| known == key)
            {
                entries.push((key.clone().into(), Self::Value(Value::Null)));
            }
            place.child(segment)
        })
    }

    fn remove(&mut self, parents: &[Segment], last: &Segment) {
        let parent = parents.iter().try_fold(self, |place, segment| {
            place.open();
            place.child(segment)
        });
        let Some(parent) = parent else { return };
        parent.open();
        match (parent, last) {
            (Self::Mapping(entries), Segment::Key(key)) => {
                entries.retain(|(known, _)| known != key);
            }
            (Self::List(items), Segment::Index(index)) if *index < items.len() => {
                items.remove(*index);
            }
            _ => {}
        }
    }

    fn child(&mut self, segment: &Segment) -> Option<&mut Self> {
        match (self, segment) {
            (Self::Mapping(entries), Segment::Key(key)) => {
                entries.iter_mut().find(|(known, _)| known == key).map(|(_, value)| value)
            }
            (Self::List(items), Segment::Index(index)) => items.get_mut(*index),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        match self {
            Self::Kept(node) => node.is_null(),
            Self::Value(value) => value.is_null(),
            Self::List(_) | Self::Mapping(_) => false,
        }
    }

    /// Parts a list or mapping into what is in it, so that a part can become another.
    fn open(&mut self) {
        match self {
            Self::Kept(node) => match &node.kind {
                Kind::Sequence(items) => *self = Self::List(items.iter().map(Self::Kept).collect()),
                Kind::Mapping(entries) => {
                    let entry = |entry: &'n crate::files::yaml::Entry<'n>| {
                        (Cow::Borrowed(entry.key.text.as_ref()), Self::Kept(&entry.value))
                    };
                    *self = Self::Mapping(entries.iter().map(entry).collect());
                }
                _ => {}
            },
            Self::Value(value) => match value.take() {
                Value::Array(items) => {
                    *self = Self::List(items.into_iter().map(Self::Value).collect());
                }
                Value::Object(map) => {
                    *self = Self::Mapping(
                        map.into_iter()
                            .map(|(key, value)| (key.into(), Self::Value(value)))
                            .collect(),
                    );
                }
                other => *value = other,
            },
            Self::List(_) | Self::Mapping(_) => {}
        }
    }
}
