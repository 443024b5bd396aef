//! Collects edits into one tree of changes that parallels the file's nodes, so that they become one patch.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::edit::{Edit, EditAct, Misfit, Path, Segment};
use super::patch::{EditResult, SpliceRefusal};
use crate::yaml::{Node, NodeKind, Sharing, line_column};

/// The change of a node.
#[derive(Debug)]
pub(crate) enum NodeChange {
    /// It is removed, with its key or dash.
    Remove,
    /// Its value is replaced.
    Replace(Value),
    /// Some of its children change.
    Inside(Inside),
}

/// The changes inside a list or mapping.
#[derive(Debug, Default)]
pub(crate) struct Inside {
    /// Changed children, by position among the original ones.
    pub(crate) children: BTreeMap<usize, NodeChange>,
    /// New entries; items of a list have no key.
    pub(crate) added: Vec<(Option<String>, Value)>,
}

impl Inside {
    pub(crate) fn removes(&self, index: usize) -> bool {
        matches!(self.children.get(&index), Some(NodeChange::Remove))
    }
}

/// Returns the value of a node after a change.
pub(crate) fn value_after(node: &Node<'_>, change: Option<&NodeChange>) -> Value {
    match change {
        None => node.to_value(),
        Some(NodeChange::Remove) => Value::Null,
        Some(NodeChange::Replace(value)) => value.clone(),
        Some(NodeChange::Inside(inside)) => collection_after(node, inside),
    }
}

/// Returns the value of a list or mapping after the changes inside.
pub(crate) fn collection_after(node: &Node<'_>, inside: &Inside) -> Value {
    let stays = |index: &usize| !inside.removes(*index);
    match &node.kind {
        NodeKind::Sequence(items) => {
            let old = (0..items.len()).filter(stays);
            let old = old.map(|index| value_after(&items[index], inside.children.get(&index)));
            old.chain(inside.added.iter().map(|(_, value)| value.clone())).collect()
        }
        NodeKind::Mapping(entries) => {
            let old = (0..entries.len()).filter(stays).map(|index| {
                let value = value_after(&entries[index].value, inside.children.get(&index));
                (entries[index].key.text.to_string(), value)
            });
            let new = inside.added.iter();
            let new = new.map(|(key, value)| (key.clone().unwrap_or_default(), value.clone()));
            Value::Object(old.chain(new).collect())
        }
        _ => node.to_value(),
    }
}

/// Returns the combined change of the root by these edits, in order.
pub(crate) fn gather(
    source: &str,
    root: &Node<'_>,
    edits: &[Edit],
) -> Result<Inside, SpliceRefusal> {
    let mut change = None;
    for Edit { path, act } in edits {
        let gathering = Gathering { source, path, act };
        gathering.edit(root, &mut change, &path.0)?;
        if matches!(change, Some(NodeChange::Replace(_) | NodeChange::Remove)) {
            let whole = Misfit::Kind { found: "the whole frontmatter", expected: "a key" };
            return Err(gathering.misfit(root, whole));
        }
    }
    match change {
        Some(NodeChange::Inside(inside)) => Ok(inside),
        _ => Ok(Inside::default()),
    }
}

/// Adds one edit to the tree of changes.
struct Gathering<'a> {
    source: &'a str,
    path: &'a Path,
    act: &'a EditAct,
}

impl Gathering<'_> {
    fn edit(
        &self,
        node: &Node<'_>,
        change: &mut Option<NodeChange>,
        path: &[Segment],
    ) -> EditResult {
        if let Some(NodeChange::Replace(value)) = change
            && (!path.is_empty() || matches!(self.act, EditAct::Append(_)))
        {
            return self.edit_value(node, value, path);
        }
        let Some((segment, rest)) = path.split_first() else {
            return self.arrive(node, change);
        };
        self.ensure_own(node)?;
        let (child, added) = match (&node.kind, segment) {
            (NodeKind::Mapping(entries), Segment::Key(key)) => {
                let inside = inside(change);
                let is_own = |(added, _): &(Option<String>, _)| added.as_ref() == Some(key);
                let known = entries.iter().position(|entry| entry.key.text == *key);
                (known, inside.added.iter().position(is_own))
            }
            (NodeKind::Sequence(items), Segment::Index(wanted)) => {
                let inside = inside(change);
                let live: Vec<usize> =
                    (0..items.len()).filter(|index| !inside.removes(*index)).collect();
                let added = wanted.checked_sub(live.len());
                let length = live.len() + inside.added.len();
                if *wanted >= length {
                    return self.unless_removed(node, Misfit::OutOfRange(length));
                }
                (live.get(*wanted).copied(), added)
            }
            (NodeKind::Null, Segment::Key(_)) => {
                if !self.act.is_remove() {
                    *change = Some(NodeChange::Replace(self.built(node, path)?));
                }
                return Ok(());
            }
            _ => {
                let (found, expected) = (node.noun(), segment.container());
                return self.unless_removed(node, Misfit::Kind { found, expected });
            }
        };
        let inside = inside(change);
        match (child, added, segment) {
            (Some(index), ..) => self.edit_child(node, inside, index, rest),
            (_, Some(index), _) if rest.is_empty() && self.act.is_remove() => {
                inside.added.remove(index);
                Ok(())
            }
            (_, Some(index), _) => self.edit_value(node, &mut inside.added[index].1, rest),
            (_, None, Segment::Key(key)) if !self.act.is_remove() => {
                inside.added.push((Some(key.clone()), self.built(node, rest)?));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn edit_child(
        &self,
        parent: &Node<'_>,
        inside: &mut Inside,
        index: usize,
        rest: &[Segment],
    ) -> EditResult {
        let node = match &parent.kind {
            NodeKind::Mapping(entries) => &entries[index].value,
            _ => &parent.items()[index],
        };
        let mut change = inside.children.remove(&index);
        if !matches!(change, Some(NodeChange::Remove)) {
            self.edit(node, &mut change, rest)?;
        } else if !self.act.is_remove() {
            // The node was removed by an earlier edit, and is set again in its old place.
            change = Some(NodeChange::Replace(self.built(node, rest)?));
        }
        inside.children.extend(change.map(|change| (index, change)));
        Ok(())
    }

    /// Applies the edit to the node at the end of the path.
    fn arrive(&self, node: &Node<'_>, change: &mut Option<NodeChange>) -> EditResult {
        match (self.act, &node.kind) {
            (EditAct::Remove, _) => {
                self.unshared(node)?;
                *change = Some(NodeChange::Remove);
            }
            // The value is compared with the original: earlier changes inside are overwritten.
            (EditAct::Set(value), _) => *change = self.difference(node, value)?,
            (EditAct::Append(value), NodeKind::Sequence(_)) => {
                self.ensure_own(node)?;
                inside(change).added.push((None, value.clone()));
            }
            (EditAct::Append(value), NodeKind::Null) => {
                self.ensure_own(node)?;
                *change = Some(NodeChange::Replace(Value::Array(vec![value.clone()])));
            }
            (EditAct::Append(_), _) => {
                let kind = Misfit::Kind { found: node.noun(), expected: "a list" };
                return Err(self.misfit(node, kind));
            }
        }
        Ok(())
    }

    /// Edits a value that is not in the file yet.
    fn edit_value(&self, near: &Node<'_>, value: &mut Value, path: &[Segment]) -> EditResult {
        self.act.apply(value, path).map_err(|misfit| self.misfit(near, misfit))
    }

    /// Returns the value for a place that does not exist yet.
    fn built(&self, near: &Node<'_>, path: &[Segment]) -> Result<Value, SpliceRefusal> {
        let mut value = Value::Null;
        self.edit_value(near, &mut value, path)?;
        Ok(value)
    }

    /// Returns the smallest change that gives a node a value; `None` if it has it already.
    fn difference(
        &self,
        node: &Node<'_>,
        value: &Value,
    ) -> Result<Option<NodeChange>, SpliceRefusal> {
        if node.says(value) {
            return Ok(None);
        }
        let inside = match (&node.kind, value) {
            (NodeKind::Mapping(entries), Value::Object(map))
                if !entries.is_empty() && !map.is_empty() =>
            {
                self.ensure_own(node)?;
                self.mapping_difference(node, map)?
            }
            (NodeKind::Sequence(items), Value::Array(values))
                if !items.is_empty() && !values.is_empty() =>
            {
                self.ensure_own(node)?;
                self.list_difference(items, values)?
            }
            _ => {
                self.unshared(node)?;
                return Ok(Some(NodeChange::Replace(value.clone())));
            }
        };
        Ok(Some(NodeChange::Inside(inside)))
    }

    fn mapping_difference(
        &self,
        node: &Node<'_>,
        map: &Map<String, Value>,
    ) -> Result<Inside, SpliceRefusal> {
        let mut inside = Inside::default();
        for (index, entry) in node.entries().iter().enumerate() {
            let change = if let Some(value) = map.get(entry.key.text.as_ref()) {
                self.difference(&entry.value, value)?
            } else {
                self.unshared(&entry.value)?;
                Some(NodeChange::Remove)
            };
            inside.children.extend(change.map(|change| (index, change)));
        }
        let new = map.iter().filter(|(key, _)| node.entry(key).is_none());
        inside.added.extend(new.map(|(key, value)| (Some(key.clone()), value.clone())));
        Ok(inside)
    }

    /// Returns the changes that turn the items into the values. Equal items at the start stay, and at the end too if the list does
    /// not grow.
    fn list_difference(
        &self,
        items: &[Node<'_>],
        values: &[Value],
    ) -> Result<Inside, SpliceRefusal> {
        let mut inside = Inside::default();
        let same = |(item, value): &(&Node<'_>, &Value)| item.says(value);
        let start = items.iter().zip(values).take_while(same).count();
        let mut end = 0;
        if values.len() <= items.len() {
            let most = values.len() - start;
            end = items.iter().rev().zip(values.iter().rev()).take(most).take_while(same).count();
        }
        let pairs = (items.len() - end).min(values.len() - end);
        for index in start..pairs {
            let change = self.difference(&items[index], &values[index])?;
            inside.children.extend(change.map(|change| (index, change)));
        }
        for (index, item) in items.iter().enumerate().take(items.len() - end).skip(pairs) {
            self.unshared(item)?;
            inside.children.insert(index, NodeChange::Remove);
        }
        let new = values.iter().skip(items.len().max(pairs));
        inside.added.extend(new.map(|value| (None, value.clone())));
        Ok(inside)
    }

    /// Refuses a node that is an anchor or an alias.
    fn ensure_own(&self, node: &Node<'_>) -> EditResult {
        if node.sharing == Sharing::Own { Ok(()) } else { Err(self.shared(node)) }
    }

    /// Refuses a node that is or holds an anchor or an alias.
    fn unshared(&self, node: &Node<'_>) -> EditResult {
        node.shared().map_or(Ok(()), |shared| Err(self.shared(shared)))
    }

    fn shared(&self, node: &Node<'_>) -> SpliceRefusal {
        SpliceRefusal::Shared { path: self.path.to_string(), line: self.line(node) }
    }

    fn unless_removed(&self, node: &Node<'_>, misfit: Misfit) -> EditResult {
        if self.act.is_remove() { Ok(()) } else { Err(self.misfit(node, misfit)) }
    }

    fn misfit(&self, node: &Node<'_>, misfit: Misfit) -> SpliceRefusal {
        let path = self.path.to_string();
        match misfit {
            Misfit::Kind { found, expected } => {
                SpliceRefusal::Shape { path, line: self.line(node), found, expected }
            }
            Misfit::OutOfRange(length) => SpliceRefusal::OutOfRange { path, length },
        }
    }

    fn line(&self, node: &Node<'_>) -> usize {
        line_column(self.source, node.span.start).0
    }
}

fn inside(change: &mut Option<NodeChange>) -> &mut Inside {
    if !matches!(change, Some(NodeChange::Inside(_))) {
        *change = Some(NodeChange::Inside(Inside::default()));
    }
    match change {
        Some(NodeChange::Inside(inside)) => inside,
        _ => unreachable!("it was just put there"),
    }
}
