//! Changes to block style as patches: each stays on the lines that are its own.

use serde_json::Value;

use super::change::{Change, Inside, collection_after, value_after};
use super::emit::{Lead, Written, flow, indented, push_entry, push_item, write};
use super::lines::Lines;
use super::patch::Patches;
use super::quote::{Context, literal_header, scalar_like};
use super::refusal::SpliceRefusal;
use super::split::Frontmatter;
use crate::format::yaml::{Kind, Layout, Node, line_column};

/// The longest list or mapping that stays in brackets when all of it is replaced.
const FLOW_WIDTH: usize = 80;

pub(super) type Outcome = Result<(), SpliceRefusal>;

/// Turns the changes of one file into patches.
pub(super) struct Renderer<'a> {
    file: &'a Frontmatter<'a>,
    pub(super) lines: Lines<'a>,
    pub(super) patches: Patches,
}

impl<'a> Renderer<'a> {
    pub(super) fn new(file: &'a Frontmatter<'a>) -> Self {
        Self { file, lines: Lines::new(file.text, &file.split.yaml), patches: Patches::default() }
    }

    /// Returns the patches for all changes of the root.
    pub(super) fn root(mut self, inside: &Inside) -> Result<Patches, SpliceRefusal> {
        let root = &self.file.root;
        match root.layout {
            Layout::Flow if empties(root, inside) && !(inside.children.is_empty() && inside.added.is_empty()) => {
                self.patches.replace(root.span.clone(), flow(&collection_after(root, inside)));
            }
            Layout::Flow => self.flow_inside(root, inside)?,
            _ => self.block_inside(root, inside, None)?,
        }
        Ok(self.patches)
    }

    /// Changes inside a block list or mapping; `floor` is the column of what holds it.
    fn block_inside(&mut self, node: &Node<'_>, inside: &Inside, floor: Option<usize>) -> Outcome {
        let column = if node.layout == Layout::Absent { 0 } else { self.lines.column(node.span.start) };
        let head = self.inline_head(node, inside, column)?;
        for (&index, change) in &inside.children {
            match change {
                Change::Remove if index < head => {}
                Change::Remove => {
                    let start = self.lines.line_start(self.child_start(node, index)?);
                    let mut end = self.child_end(node, index, column)?;
                    if self.keeps_blank_lines(node, inside, index) {
                        end = self.lines.skip_blank_lines(end);
                    }
                    self.patches.delete(start..end);
                }
                change => {
                    self.child_start(node, index)?;
                    let (child, lead) = child(node, index);
                    self.value(child, change, column, lead)?;
                }
            }
        }
        if inside.added.is_empty() {
            return Ok(());
        }
        let at = match node.layout {
            Layout::Absent => self.file.split.yaml.end,
            _ => self.below(node.span.end, floor)?,
        };
        let mut text = String::new();
        for (key, value) in &inside.added {
            match key {
                Some(key) => push_entry(&mut text, key, value, column),
                None => push_item(&mut text, value, column),
            }
        }
        self.patches.insert(at, text);
        Ok(())
    }

    /// Removes the leading children of a collection that begins behind a dash (`- key: value`), so that the first one
    /// that stays moves up behind it. Returns how many those were.
    fn inline_head(&mut self, node: &Node<'_>, inside: &Inside, column: usize) -> Result<usize, SpliceRefusal> {
        let removed = |index: &usize| matches!(inside.children.get(index), Some(Change::Remove));
        let count = (0..=inside.children.len()).take_while(removed).count();
        if count == 0 || self.lines.begins_line(node.span.start) {
            return Ok(0);
        }
        let start = self.child_start(node, 0)?;
        let end = self.child_end(node, count - 1, column)?;
        let next = self.lines.skip_blanks(end);
        if self.lines.at_break(next) {
            self.patches.delete(self.lines.before_blanks(start)..end);
        } else {
            self.patches.delete(start..next);
        }
        Ok(count)
    }

    /// Changes a value behind the key or dash at a column.
    fn value(&mut self, node: &Node<'_>, change: &Change, column: usize, lead: Lead) -> Outcome {
        match change {
            Change::Inside(inside) if empties(node, inside) => {
                self.replace(node, &value_after(node, Some(change)), column, lead)
            }
            Change::Inside(inside) => match node.layout {
                Layout::Block => self.block_inside(node, inside, Some(column)),
                _ => self.flow_inside(node, inside),
            },
            Change::Replace(value) => self.replace(node, value, column, lead),
            Change::Remove => Ok(()),
        }
    }

    fn replace(&mut self, node: &Node<'_>, value: &Value, column: usize, lead: Lead) -> Outcome {
        let Some(indicator) = node.indicator else {
            return Err(self.layout(node.span.start, "the value has no `:` before it"));
        };
        let behind = indicator + 1;
        let tagged = node.outer < node.span.start;
        let Written { inline, lines } = self.written(node, value, column, lead)?;
        match node.layout {
            Layout::Block if tagged => return Err(self.layout(node.outer, "the list or mapping has a tag")),
            Layout::Block if self.lines.begins_line(node.span.start) => {
                let start = self.lines.line_start(node.span.start);
                let end = self.below(node.span.end, Some(column))?;
                self.insert_inline(behind, &inline);
                self.patches.replace(start..end, lines);
            }
            Layout::Block => {
                let end = self.below(node.span.end, Some(column))?;
                self.patches.replace(behind..end, format!(" {inline}\n{lines}"));
            }
            Layout::Absent if !tagged => {
                let below = self.below(behind, Some(column))?;
                self.insert_inline(behind, &inline);
                self.patches.insert(below, lines);
            }
            Layout::Literal | Layout::Folded => {
                let header = self.block_header_end(node);
                let content = self.line_below(header)?;
                let below = self.below_value(node)?.max(content);
                let from = if inline.is_empty() { self.lines.before_blanks(node.outer) } else { node.outer };
                self.patches.replace(from..header, inline);
                self.patches.replace(content..below, lines);
            }
            _ => {
                let gap = &self.file.text[behind..node.outer];
                let below = self.below(node.span.end, Some(column))?;
                // The keys of an item stand below its first one, so the gap before that is ours to choose.
                let aligned = lead == Lead::Dash && !lines.is_empty() && !value.is_string();
                if gap.trim().is_empty() && (inline.is_empty() || aligned) {
                    self.patches.delete(behind..node.span.end);
                    self.insert_inline(behind, &inline);
                } else if aligned {
                    return Err(self.layout(node.outer, "a comment stands between the dash and its value"));
                } else {
                    self.patches.replace(node.outer..node.span.end, inline);
                }
                self.patches.insert(below, lines);
            }
        }
        Ok(())
    }

    /// Returns the new value as text, in the style of the old one where that is sane.
    fn written(&self, old: &Node<'_>, value: &Value, column: usize, lead: Lead) -> Result<Written, SpliceRefusal> {
        let inline = |inline| Ok(Written { inline, lines: String::new() });
        let apart = self.apart(old, column)?;
        if let Some(text) = value.as_str()
            && let Some(header) = literal_header(text)
            && !apart
        {
            return Ok(Written { inline: header, lines: indented(text, column + 2) });
        }
        let filled = |value: &Value| match value {
            Value::Array(items) => !items.is_empty(),
            Value::Object(map) => !map.is_empty(),
            _ => false,
        };
        if old.layout == Layout::Flow && !(old.items().is_empty() && old.entries().is_empty()) && filled(value) {
            let text = flow(value);
            if text.len() <= FLOW_WIDTH {
                return inline(text);
            }
        }
        match scalar_like(value, old, Context::Block) {
            Some(text) => inline(text),
            None if apart => Ok(write(value, column, Lead::Key)),
            None => Ok(write(value, column, lead)),
        }
    }

    /// Tells whether comments or blank lines stand between the line of a value and the place for more of its lines.
    /// Inside a text they would become text.
    fn apart(&self, old: &Node<'_>, column: usize) -> Result<bool, SpliceRefusal> {
        if old.layout != Layout::Block {
            return Ok(self.below(self.value_end(old), Some(column))? != self.below_value(old)?);
        }
        let behind = old.indicator.map_or(old.span.start, |indicator| indicator + 1);
        let start = self.lines.line_start(old.span.start);
        Ok(start > behind && self.line_below(behind)? != start)
    }

    /// Returns where the line of a value goes on: behind the value, or behind the header of a block scalar without text.
    fn value_end(&self, node: &Node<'_>) -> usize {
        match node.layout {
            Layout::Absent => node.indicator.map_or(node.span.end, |indicator| indicator + 1),
            Layout::Literal | Layout::Folded => self.lines.line_end(node.span.end),
            _ => node.span.end,
        }
    }

    /// Returns the line below a value that is no block list or mapping.
    fn below_value(&self, node: &Node<'_>) -> Result<usize, SpliceRefusal> {
        self.line_below(self.value_end(node))
    }

    fn block_header_end(&self, node: &Node<'_>) -> usize {
        let header = &self.file.text[node.span.clone()];
        node.span.start + header.find(char::is_whitespace).unwrap_or(header.len())
    }

    fn insert_inline(&mut self, at: usize, inline: &str) {
        if !inline.is_empty() {
            self.patches.insert(at, format!(" {inline}"));
        }
    }

    /// Returns where a child begins, its key or dash included.
    pub(super) fn child_start(&self, node: &Node<'_>, index: usize) -> Result<usize, SpliceRefusal> {
        match &node.kind {
            Kind::Mapping(entries) => {
                let key = &entries[index].key;
                if key.decorated {
                    return Err(self.layout(key.span.start, "the key has a `?`, an anchor or a tag"));
                }
                Ok(key.span.start)
            }
            _ if node.layout == Layout::Block => {
                let item = &node.items()[index];
                item.indicator.ok_or_else(|| self.layout(item.span.start, "the item has no dash"))
            }
            _ => Ok(node.items()[index].outer),
        }
    }

    /// Returns the start of the line below a child and its comments.
    fn child_end(&self, node: &Node<'_>, index: usize, column: usize) -> Result<usize, SpliceRefusal> {
        let (child, _) = child(node, index);
        self.below(child.span.end, Some(column))
    }

    /// Tells whether the text above a child is a block scalar that takes in every blank line below it (`|+`), so that
    /// blank lines cannot stay behind when the child goes.
    fn keeps_blank_lines(&self, node: &Node<'_>, inside: &Inside, index: usize) -> bool {
        let removed = |at: &usize| matches!(inside.children.get(at), Some(Change::Remove));
        let Some(above) = (0..index).rev().find(|at| !removed(at)) else {
            return false;
        };
        let mut leaf = child(node, above).0;
        while let Some(last) = leaf.items().last().or(leaf.entries().last().map(|entry| &entry.value)) {
            leaf = last;
        }
        let header = &self.file.text[leaf.span.start..self.block_header_end(leaf)];
        matches!(leaf.layout, Layout::Literal | Layout::Folded) && header.contains('+')
    }

    fn below(&self, end: usize, floor: Option<usize>) -> Result<usize, SpliceRefusal> {
        self.lines.below(end, floor).ok_or_else(|| self.layout(end, "something else stands on the same line"))
    }

    fn line_below(&self, at: usize) -> Result<usize, SpliceRefusal> {
        let end = self.lines.rest_of_line(at);
        let end = end.ok_or_else(|| self.layout(at, "something else stands on the same line"))?;
        Ok(self.lines.after_break(end))
    }

    pub(super) fn layout(&self, at: usize, reason: &'static str) -> SpliceRefusal {
        let (line, _) = line_column(self.file.text, at);
        SpliceRefusal::Layout { line, reason }
    }

    pub(super) fn text(&self) -> &'a str {
        self.file.text
    }
}

/// Returns a child's value, and what introduces it.
pub(super) fn child<'n, 's>(node: &'n Node<'s>, index: usize) -> (&'n Node<'s>, Lead) {
    match &node.kind {
        Kind::Mapping(entries) => (&entries[index].value, Lead::Key),
        _ => (&node.items()[index], Lead::Dash),
    }
}

/// Tells whether none of the original children stays.
pub(super) fn empties(node: &Node<'_>, inside: &Inside) -> bool {
    let removed = inside.children.values().filter(|change| matches!(change, Change::Remove)).count();
    removed == node.items().len() + node.entries().len()
}
