//! What is to change, said in terms of values.

use std::fmt;

use serde_json::Value;

use crate::files::yaml::{Node, Step};

/// One change to a frontmatter.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Gives a place a value; keys that are missing on the way are created.
    Set { path: Path, value: Value },
    /// Adds an item at the end of a list; a missing or empty place becomes a list.
    Append { path: Path, value: Value },
    /// Takes a key or an item away; nothing happens where there is none.
    Remove { path: Path },
}

impl Edit {
    /// Returns an [`Edit::Set`].
    pub fn set(path: impl Into<Path>, value: impl Into<Value>) -> Self {
        Self::Set { path: path.into(), value: value.into() }
    }

    /// Returns an [`Edit::Append`].
    pub fn append(path: impl Into<Path>, value: impl Into<Value>) -> Self {
        Self::Append { path: path.into(), value: value.into() }
    }

    /// Returns an [`Edit::Remove`].
    pub fn remove(path: impl Into<Path>) -> Self {
        Self::Remove { path: path.into() }
    }

    /// Returns the place that changes.
    pub fn path(&self) -> &Path {
        match self {
            Self::Set { path, .. } | Self::Append { path, .. } | Self::Remove { path } => path,
        }
    }
}

/// The way from the root to a place: `gate.current`, `tags[2]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path(pub Vec<Segment>);

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Into a mapping.
    Key(String),
    /// Into a list, from 0.
    Index(usize),
}

impl Path {
    /// Returns the path one step further.
    #[must_use]
    pub fn then(mut self, segment: impl Into<Segment>) -> Self {
        self.0.push(segment.into());
        self
    }

    /// Returns the node at the path, if there is one.
    pub fn find<'n, 's>(&self, root: &'n Node<'s>) -> Option<&'n Node<'s>> {
        root.at(self.0.iter().map(|segment| match segment {
            Segment::Key(key) => Step::Key(key),
            Segment::Index(index) => Step::Index(*index),
        }))
    }
}

impl From<&str> for Segment {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<String> for Segment {
    fn from(key: String) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for Segment {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// One key at the root; dots in it are part of it.
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

impl From<Vec<Segment>> for Path {
    fn from(segments: Vec<Segment>) -> Self {
        Self(segments)
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
