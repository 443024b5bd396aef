//! Edits of a frontmatter in terms of values, and their effect on a value.

use std::fmt;

use serde_json::{Map, Value};

use crate::json::placeless;
use crate::yaml::Node;

/// One change to a frontmatter.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    pub path: Path,
    pub act: EditAct,
}

/// The action of an edit at its path.
#[derive(Debug, Clone, PartialEq)]
pub enum EditAct {
    /// Sets the value; missing keys on the path are created.
    Set(Value),
    /// Appends an item to a list; a missing or empty value becomes a list.
    Append(Value),
    /// Removes a key or an item, if there is one.
    Remove,
}

/// The reason why a value has no such path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misfit {
    Kind {
        found: &'static str,
        expected: &'static str,
    },
    /// The list has only this many items.
    OutOfRange(usize),
}

impl Edit {
    /// Returns an edit that sets a value.
    pub fn set(path: impl Into<Path>, value: impl Into<Value>) -> Self {
        Self { path: path.into(), act: EditAct::Set(value.into()) }
    }

    /// Returns an edit that appends an item to a list.
    pub fn append(path: impl Into<Path>, value: impl Into<Value>) -> Self {
        Self { path: path.into(), act: EditAct::Append(value.into()) }
    }

    /// Returns an edit that removes a key or an item.
    pub fn remove(path: impl Into<Path>) -> Self {
        Self { path: path.into(), act: EditAct::Remove }
    }
}

impl EditAct {
    pub(crate) fn is_remove(&self) -> bool {
        matches!(self, Self::Remove)
    }

    /// Applies the edit to a value, at a path below it.
    pub(crate) fn apply(&self, value: &mut Value, path: &[Segment]) -> Result<(), Misfit> {
        let Some((segment, rest)) = path.split_first() else {
            match (self, &mut *value) {
                (Self::Set(new), _) => value.clone_from(new),
                (Self::Append(item), Value::Array(items)) => items.push(item.clone()),
                (Self::Append(item), Value::Null) => *value = Value::Array(vec![item.clone()]),
                (Self::Append(_), other) => {
                    return Err(Misfit::Kind {
                        found: placeless(other.clone()).noun(),
                        expected: "a list",
                    });
                }
                // The caller removes the value from its parent.
                (Self::Remove, _) => {}
            }
            return Ok(());
        };
        let removes = self.is_remove() && rest.is_empty();
        if value.is_null() && !self.is_remove() && matches!(segment, Segment::Key(_)) {
            *value = Value::Object(Map::new());
        }
        match (value, segment) {
            (Value::Object(map), Segment::Key(key)) if removes => drop(map.shift_remove(key)),
            (Value::Object(map), Segment::Key(key)) => match map.get_mut(key) {
                Some(child) => return self.apply(child, rest),
                None if self.is_remove() => {}
                None => self.apply(map.entry(key.as_str()).or_insert(Value::Null), rest)?,
            },
            (Value::Array(items), Segment::Index(index)) if *index < items.len() => {
                if !removes {
                    return self.apply(&mut items[*index], rest);
                }
                items.remove(*index);
            }
            _ if self.is_remove() => {}
            (Value::Array(items), Segment::Index(_)) => {
                return Err(Misfit::OutOfRange(items.len()));
            }
            (other, segment) => {
                return Err(Misfit::Kind {
                    found: placeless(other.clone()).noun(),
                    expected: segment.container(),
                });
            }
        }
        Ok(())
    }
}

/// A path from the root: `gate.current`, `tags[2]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path(pub Vec<Segment>);

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// To a key of a mapping.
    Key(String),
    /// To an item of a list, from 0.
    Index(usize),
}

impl Segment {
    /// Returns the kind of value that has such parts.
    pub(crate) fn container(&self) -> &'static str {
        match self {
            Self::Key(_) => "a mapping",
            Self::Index(_) => "a list",
        }
    }
}

impl Path {
    /// Returns the path with one more step.
    #[must_use]
    pub fn then(mut self, segment: impl Into<Segment>) -> Self {
        self.0.push(segment.into());
        self
    }

    /// Returns the node at the path, if there is one.
    pub fn find<'n, 's>(&self, root: &'n Node<'s>) -> Option<&'n Node<'s>> {
        self.0.iter().try_fold(root, |node, segment| match segment {
            Segment::Key(key) => node.get(key),
            Segment::Index(index) => node.items().get(*index),
        })
    }
}

impl From<&str> for Segment {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<usize> for Segment {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// A path of one key at the root; dots in the key are part of it.
impl From<&str> for Path {
    fn from(key: &str) -> Self {
        Self(vec![key.into()])
    }
}

impl<const N: usize> From<[&str; N]> for Path {
    fn from(keys: [&str; N]) -> Self {
        Self(keys.into_iter().map(Segment::from).collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("(root)");
        }
        for (at, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if at == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
