//! Changes to flow style (`[a, b]`, `{a: 1}`) as patches: commas, and items on lines of their own.

use std::ops::Range;

use super::change::{Inside, NodeChange, value_after};
use super::emit::{Context, scalar_like};
use super::emit::{flow, flow_entry};
use super::patch::{EditResult, SpliceRefusal};
use super::splice::{Renderer, child, empties};
use crate::yaml::{Node, NodeKind, NodeLayout};

impl Renderer<'_> {
    /// Changes inside a flow list or mapping that keeps some children, or that is empty and grows.
    pub(crate) fn flow_inside(&mut self, node: &Node<'_>, inside: &Inside) -> EditResult {
        if node.layout != NodeLayout::Flow {
            return Err(self.layout(
                node.span.start,
                "it is a `key: value` pair without braces inside a list",
            ));
        }
        let count = node.items().len() + node.entries().len();
        if count > 0 && inside.removes(count - 1) && !inside.added.is_empty() {
            return self.rewrite(node, inside);
        }
        let mut index = 0;
        while index < count {
            let run = (index..count).take_while(|&at| inside.removes(at)).count();
            if run > 0 {
                self.flow_remove(node, index..index + run, count)?;
            } else if let Some(change) = inside.children.get(&index) {
                self.flow_value(node, index, change)?;
            }
            index += run.max(1);
        }
        let new: Vec<String> = inside
            .added
            .iter()
            .map(|(key, value)| {
                key.as_ref().map_or_else(|| flow(value), |key| flow_entry(key, value))
            })
            .collect();
        if !new.is_empty() {
            self.flow_add(node, &new);
        }
        Ok(())
    }

    /// Rewrites the whole collection. Refuses one with line breaks or comments, which would be lost.
    fn rewrite(&mut self, node: &Node<'_>, inside: &Inside) -> EditResult {
        if self.text()[node.span.clone()].contains(['\n', '\r', '#']) {
            return Err(self.layout(
                node.span.start,
                "the end of a list in brackets is both removed and extended",
            ));
        }
        let text = self.rewritten(node, inside)?;
        self.patches.replace(node.span.clone(), text);
        Ok(())
    }

    /// Returns the collection on one line; unchanged children stay as they are written.
    fn rewritten(&self, node: &Node<'_>, inside: &Inside) -> Result<String, SpliceRefusal> {
        let mut texts = Vec::new();
        for index in 0..node.items().len() + node.entries().len() {
            let (value, _) = child(node, index);
            let new = match inside.children.get(&index) {
                Some(NodeChange::Remove) => continue,
                None => {
                    texts.push(
                        self.text()[self.child_start(node, index)?..flow_end(node, index)]
                            .to_owned(),
                    );
                    continue;
                }
                Some(NodeChange::Inside(inside)) if value.layout == NodeLayout::Flow => {
                    self.rewritten(value, inside)?
                }
                change => flow(&value_after(value, change)),
            };
            let key = node.entries().get(index).map(|entry| &self.text()[entry.key.span.clone()]);
            texts.push(key.map_or_else(|| new.clone(), |key| format!("{key}: {new}")));
        }
        texts.extend(inside.added.iter().map(|(key, value)| match key {
            Some(key) => flow_entry(key, value),
            None => flow(value),
        }));
        let text = texts.join(", ");
        Ok(if matches!(node.kind, NodeKind::Mapping(_)) {
            format!("{{{text}}}")
        } else {
            format!("[{text}]")
        })
    }

    fn flow_value(&mut self, node: &Node<'_>, index: usize, change: &NodeChange) -> EditResult {
        self.child_start(node, index)?;
        let (value, _) = child(node, index);
        let new = match change {
            NodeChange::Remove => return Ok(()),
            NodeChange::Inside(inside) if !empties(value, inside) => {
                return self.flow_inside(value, inside);
            }
            change => value_after(value, Some(change)),
        };
        let text = scalar_like(&new, value, Context::Flow).unwrap_or_else(|| flow(&new));
        match (value.layout, value.indicator) {
            (NodeLayout::Absent, Some(colon)) => self.patches.insert(colon + 1, format!(" {text}")),
            (NodeLayout::Absent, None) => self.patches.insert(value.span.end, format!(": {text}")),
            _ => self.patches.replace(value.outer..value.span.end, text),
        }
        Ok(())
    }

    /// Removes neighbours, with their commas and lines.
    fn flow_remove(&mut self, node: &Node<'_>, run: Range<usize>, count: usize) -> EditResult {
        for index in run.clone() {
            self.child_start(node, index)?;
        }
        let start = self.child_start(node, run.start)?;
        let end = flow_end(node, run.end - 1);
        let comma = self.comma(end);
        let last = run.end == count;
        if self.lines.begins_line(start)
            && let Some(line_end) = self.lines.rest_of_line(comma.map_or(end, |comma| comma + 1))
        {
            self.patches.delete(self.lines.line_start(start)..self.lines.after_break(line_end));
            if last
                && comma.is_none()
                && run.start > 0
                && let Some(comma) = self.comma(flow_end(node, run.start - 1))
            {
                self.patches.delete(comma..comma + 1);
            }
        } else if last && run.start > 0 {
            let before = flow_end(node, run.start - 1);
            // A trailing comma remains; without one, the comma before is removed as well.
            match (self.comma(before), comma) {
                (Some(before), Some(after)) => self.patches.delete(before + 1..after + 1),
                _ => self.patches.delete(before..end),
            }
        } else {
            let after = comma.map_or(end, |comma| self.lines.skip_blanks(comma + 1));
            self.patches.delete(start..after);
        }
        Ok(())
    }

    fn flow_add(&mut self, node: &Node<'_>, new: &[String]) {
        let count = node.items().len() + node.entries().len();
        let closer = node.span.end - 1;
        if count == 0 {
            self.patches.insert(closer, new.join(", "));
            return;
        }
        let start = match &node.kind {
            NodeKind::Mapping(entries) => entries[count - 1].key.span.start,
            _ => node.items()[count - 1].outer,
        };
        let end = flow_end(node, count - 1);
        let comma = self.comma(end);
        let line_end = self.lines.rest_of_line(comma.map_or(end, |comma| comma + 1));
        if self.lines.begins_line(start)
            && let Some(line_end) = line_end
        {
            let indent = " ".repeat(self.lines.column(start));
            let text: Vec<String> = new.iter().map(|text| format!("\n{indent}{text}")).collect();
            if comma.is_none() {
                self.patches.insert(end, ",");
            }
            let last = if comma.is_some() { "," } else { "" };
            self.patches.insert(line_end, text.join(",") + last);
        } else if let Some(comma) = comma {
            self.patches.insert(comma + 1, format!(" {},", new.join(", ")));
        } else {
            self.patches.insert(end, format!(", {}", new.join(", ")));
        }
    }

    /// Returns the comma after the child that ends at an offset.
    fn comma(&self, end: usize) -> Option<usize> {
        let at = self.lines.skip_trivia(end);
        (self.lines.byte(at) == Some(b',')).then_some(at)
    }
}

fn flow_end(node: &Node<'_>, index: usize) -> usize {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            entries[index].value.span.end.max(entries[index].key.span.end)
        }
        _ => node.items()[index].span.end,
    }
}
