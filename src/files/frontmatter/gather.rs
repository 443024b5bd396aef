//! Edits gathered into one tree of changes over the original nodes, so that several of them meet in one patch.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::change::{Change, Inside};
use super::edit::{Edit, Path, Segment};
use super::refusal::SpliceRefusal;
use crate::files::yaml::{Kind, Node, Sharing, line_column};

/// Gathers edits over the tree of one file.
pub(crate) struct Changes<'a> {
    source: &'a str,
    path: &'a Path,
}

type Outcome = Result<(), SpliceRefusal>;

/// A change that may not have come about yet.
pub(crate) type Slot = Option<Change>;

impl<'a> Changes<'a> {
    /// Returns what the edits, one after the other, do to the root.
    pub(crate) fn gather(
        source: &'a str,
        root: &Node<'_>,
        edits: &[Edit],
    ) -> Result<Inside, SpliceRefusal> {
        let mut slot = None;
        for edit in edits {
            let path = edit.path();
            let changes = Changes { source, path };
            let act = match edit {
                Edit::Set { value, .. } => Act::Set(value),
                Edit::Append { value, .. } => Act::Append(value),
                Edit::Remove { .. } => Act::Remove,
            };
            changes.edit(root, &mut slot, &path.0, &act)?;
            if matches!(slot, Some(Change::Replace(_) | Change::Remove)) {
                return Err(changes.shape(root, "the whole frontmatter", "a key"));
            }
        }
        match slot {
            Some(Change::Inside(inside)) => Ok(inside),
            _ => Ok(Inside::default()),
        }
    }

    fn edit(&self, node: &Node<'_>, slot: &mut Slot, path: &[Segment], act: &Act<'_>) -> Outcome {
        if let Some(Change::Replace(value)) = slot
            && (!path.is_empty() || matches!(act, Act::Append(_)))
        {
            return self.edit_value(node, value, path, act);
        }
        let Some((segment, rest)) = path.split_first() else {
            return self.arrive(node, slot, act);
        };
        self.own(node)?;
        match (&node.kind, segment) {
            (Kind::Mapping(entries), Segment::Key(key)) => {
                let inside = inside(slot);
                if let Some(index) = entries.iter().position(|entry| entry.key.text == *key) {
                    return self.child(
                        &entries[index].value,
                        &mut inside.children,
                        index,
                        rest,
                        act,
                    );
                }
                let at = inside.added.iter().position(|(added, _)| added.as_ref() == Some(key));
                match at {
                    Some(at) if rest.is_empty() && matches!(act, Act::Remove) => {
                        inside.added.remove(at);
                        Ok(())
                    }
                    Some(at) => {
                        let mut value = std::mem::take(&mut inside.added[at].1);
                        let outcome = self.edit_value(node, &mut value, rest, act);
                        inside.added[at].1 = value;
                        outcome
                    }
                    None => {
                        if let Some(value) = self.build(node, rest, act)? {
                            inside.added.push((Some(key.clone()), value));
                        }
                        Ok(())
                    }
                }
            }
            (Kind::Sequence(items), Segment::Index(wanted)) => {
                let inside = inside(slot);
                let gone =
                    |index: &usize| matches!(inside.children.get(index), Some(Change::Remove));
                let live: Vec<usize> = (0..items.len()).filter(|index| !gone(index)).collect();
                if let Some(&index) = live.get(*wanted) {
                    return self.child(&items[index], &mut inside.children, index, rest, act);
                }
                let at = wanted - live.len();
                if at >= inside.added.len() {
                    let length = live.len() + inside.added.len();
                    return self.missing_item(act, length);
                }
                if rest.is_empty() && matches!(act, Act::Remove) {
                    inside.added.remove(at);
                    return Ok(());
                }
                let mut value = std::mem::take(&mut inside.added[at].1);
                let outcome = self.edit_value(node, &mut value, rest, act);
                inside.added[at].1 = value;
                outcome
            }
            (Kind::Null, Segment::Key(key)) => {
                if let Some(value) = self.build(node, rest, act)? {
                    let mut map = Map::new();
                    map.insert(key.clone(), value);
                    *slot = Some(Change::Replace(Value::Object(map)));
                }
                Ok(())
            }
            _ => self.mismatch(node, node.noun(), segment, act),
        }
    }

    fn child(
        &self,
        node: &Node<'_>,
        children: &mut BTreeMap<usize, Change>,
        index: usize,
        rest: &[Segment],
        act: &Act<'_>,
    ) -> Outcome {
        let mut slot = children.remove(&index);
        if matches!(slot, Some(Change::Remove)) {
            // Removed before, wanted again: it comes back in its old place.
            slot = match self.build(node, rest, act)? {
                Some(value) => Some(Change::Replace(value)),
                None => Some(Change::Remove),
            };
        } else {
            self.edit(node, &mut slot, rest, act)?;
        }
        if let Some(change) = slot {
            children.insert(index, change);
        }
        Ok(())
    }

    /// The path ends at this node.
    fn arrive(&self, node: &Node<'_>, slot: &mut Slot, act: &Act<'_>) -> Outcome {
        match act {
            Act::Remove => {
                self.unshared(node)?;
                *slot = Some(Change::Remove);
            }
            // Decided against the original: whatever changed inside before is overwritten.
            Act::Set(value) => *slot = self.difference(node, value)?,
            Act::Append(value) => match &node.kind {
                Kind::Sequence(_) => {
                    self.own(node)?;
                    inside(slot).added.push((None, (*value).clone()));
                }
                Kind::Null => {
                    self.own(node)?;
                    *slot = Some(Change::Replace(Value::Array(vec![(*value).clone()])));
                }
                _ => return Err(self.shape(node, node.noun(), "a list")),
            },
        }
        Ok(())
    }

    /// Edits a value that is not in the file yet.
    fn edit_value(
        &self,
        near: &Node<'_>,
        value: &mut Value,
        path: &[Segment],
        act: &Act<'_>,
    ) -> Outcome {
        let Some((segment, rest)) = path.split_first() else {
            return match (act, &mut *value) {
                (Act::Set(new), _) => {
                    *value = (*new).clone();
                    Ok(())
                }
                (Act::Append(item), Value::Array(items)) => {
                    items.push((*item).clone());
                    Ok(())
                }
                (Act::Append(item), Value::Null) => {
                    *value = Value::Array(vec![(*item).clone()]);
                    Ok(())
                }
                (Act::Append(_), _) => Err(self.shape(near, noun(value), "a list")),
                // Whoever holds the value removes it.
                (Act::Remove, _) => Ok(()),
            };
        };
        if value.is_null() && matches!(segment, Segment::Key(_)) {
            if let Some(new) = self.build(near, path, act)? {
                *value = new;
            }
            return Ok(());
        }
        let last_removed = rest.is_empty() && matches!(act, Act::Remove);
        match (&mut *value, segment) {
            (Value::Object(map), Segment::Key(key)) if last_removed => {
                map.shift_remove(key);
                Ok(())
            }
            (Value::Object(map), Segment::Key(key)) => {
                if let Some(child) = map.get_mut(key) {
                    return self.edit_value(near, child, rest, act);
                }
                if let Some(child) = self.build(near, rest, act)? {
                    map.insert(key.clone(), child);
                }
                Ok(())
            }
            (Value::Array(items), Segment::Index(index)) if *index < items.len() => {
                if last_removed {
                    items.remove(*index);
                    return Ok(());
                }
                self.edit_value(near, &mut items[*index], rest, act)
            }
            (Value::Array(items), Segment::Index(_)) => self.missing_item(act, items.len()),
            (other, segment) => self.mismatch(near, noun(other), segment, act),
        }
    }

    /// Returns the value for a place that does not exist yet; `None` for a removal.
    fn build(
        &self,
        near: &Node<'_>,
        path: &[Segment],
        act: &Act<'_>,
    ) -> Result<Option<Value>, SpliceRefusal> {
        let mut value = match act {
            Act::Set(value) => (*value).clone(),
            Act::Append(value) => Value::Array(vec![(*value).clone()]),
            Act::Remove => return Ok(None),
        };
        for segment in path.iter().rev() {
            let Segment::Key(key) = segment else {
                return Err(self.shape(near, "nothing", "a list"));
            };
            value = Value::Object(Map::from_iter([(key.clone(), value)]));
        }
        Ok(Some(value))
    }

    pub(crate) fn own(&self, node: &Node<'_>) -> Outcome {
        if node.sharing == Sharing::Own { Ok(()) } else { Err(self.shared(node)) }
    }

    pub(crate) fn unshared(&self, node: &Node<'_>) -> Outcome {
        node.shared().map_or(Ok(()), |shared| Err(self.shared(shared)))
    }

    fn shared(&self, node: &Node<'_>) -> SpliceRefusal {
        SpliceRefusal::Shared { path: self.path.to_string(), line: self.line(node) }
    }

    fn shape(&self, node: &Node<'_>, found: &'static str, expected: &'static str) -> SpliceRefusal {
        SpliceRefusal::Shape { path: self.path.to_string(), line: self.line(node), found, expected }
    }

    fn mismatch(
        &self,
        node: &Node<'_>,
        found: &'static str,
        segment: &Segment,
        act: &Act<'_>,
    ) -> Outcome {
        if matches!(act, Act::Remove) {
            return Ok(());
        }
        let expected = match segment {
            Segment::Key(_) => "a mapping",
            Segment::Index(_) => "a list",
        };
        Err(self.shape(node, found, expected))
    }

    fn missing_item(&self, act: &Act<'_>, length: usize) -> Outcome {
        if matches!(act, Act::Remove) {
            return Ok(());
        }
        Err(SpliceRefusal::OutOfRange { path: self.path.to_string(), length })
    }

    fn line(&self, node: &Node<'_>) -> usize {
        line_column(self.source, node.span.start).0
    }
}

/// What an edit does where its path ends.
enum Act<'e> {
    Set(&'e Value),
    Append(&'e Value),
    Remove,
}

fn inside(slot: &mut Slot) -> &mut Inside {
    if !matches!(slot, Some(Change::Inside(_))) {
        *slot = Some(Change::Inside(Inside::default()));
    }
    match slot {
        Some(Change::Inside(inside)) => inside,
        _ => unreachable!("it was just put there"),
    }
}

fn noun(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a yes or no",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
