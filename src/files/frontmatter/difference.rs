//! The smallest change from one value to another: what stays the same is not touched.

use serde_json::Value;

use super::change::{Change, Inside};
use super::gather::{Changes, Slot};
use super::refusal::SpliceRefusal;
use crate::files::yaml::{Kind, Node};

impl Changes<'_> {
    /// Returns the smallest change that gives a node a value; `None` if it has it.
    pub(crate) fn difference(&self, node: &Node<'_>, value: &Value) -> Result<Slot, SpliceRefusal> {
        if node.says(value) {
            return Ok(None);
        }
        match (&node.kind, value) {
            (Kind::Mapping(entries), Value::Object(map))
                if !entries.is_empty() && !map.is_empty() =>
            {
                self.own(node)?;
                let mut inside = Inside::default();
                for (index, entry) in entries.iter().enumerate() {
                    let change = if let Some(value) = map.get(entry.key.text.as_ref()) {
                        self.difference(&entry.value, value)?
                    } else {
                        self.unshared(&entry.value)?;
                        Some(Change::Remove)
                    };
                    inside.children.extend(change.map(|change| (index, change)));
                }
                let known = |key: &str| entries.iter().any(|entry| entry.key.text == key);
                let new = map.iter().filter(|(key, _)| !known(key));
                inside.added.extend(new.map(|(key, value)| (Some(key.clone()), value.clone())));
                Ok(Some(Change::Inside(inside)))
            }
            (Kind::Sequence(items), Value::Array(values))
                if !items.is_empty() && !values.is_empty() =>
            {
                self.own(node)?;
                self.list_difference(items, values).map(|inside| Some(Change::Inside(inside)))
            }
            _ => {
                self.unshared(node)?;
                Ok(Some(Change::Replace(value.clone())))
            }
        }
    }

    /// Keeps the items that are the same at the start, and at the end if the list does not grow.
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
            inside.children.insert(index, Change::Remove);
        }
        let new = values.iter().skip(items.len().max(pairs));
        inside.added.extend(new.map(|value| (None, value.clone())));
        Ok(inside)
    }
}
