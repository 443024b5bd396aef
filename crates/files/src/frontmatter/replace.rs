//! Replaces one block-style value by another, in its style, with the comments around it in place.

use serde_json::Value;

use super::emit::{Context, literal_header, scalar_like};
use super::emit::{Lead, YamlText, flow, indented, write};
use super::patch::{EditResult, SpliceRefusal};
use super::splice::Renderer;
use crate::yaml::{Node, NodeLayout};

/// The longest list or mapping that stays in brackets when all of it is replaced.
const FLOW_WIDTH: usize = 80;

impl Renderer<'_> {
    /// Puts another value after the key or dash at a column.
    pub(crate) fn replace(
        &mut self,
        node: &Node<'_>,
        value: &Value,
        column: usize,
        lead: Lead,
    ) -> EditResult {
        let Some(indicator) = node.indicator else {
            return Err(self.layout(node.span.start, "the value has no `:` before it"));
        };
        let behind = indicator + 1;
        let tagged = node.outer < node.span.start;
        let YamlText { inline, lines } = self.written(node, value, column, lead)?;
        // The keys of an item are aligned below its first one, so the gap before that one can be chosen.
        let aligned = lead == Lead::Dash && !lines.is_empty() && !value.is_string();
        match node.layout {
            NodeLayout::Block if tagged => {
                return Err(self.layout(node.outer, "the list or mapping has a tag"));
            }
            NodeLayout::Block if self.lines.begins_line(node.span.start) => {
                let start = self.lines.line_start(node.span.start);
                let end = self.below(node.span.end, Some(column))?;
                self.insert_inline(behind, &inline);
                self.patches.replace(start..end, lines);
            }
            NodeLayout::Block => {
                let end = self.below(node.span.end, Some(column))?;
                self.patches.replace(behind..end, format!(" {inline}\n{lines}"));
            }
            NodeLayout::Absent if !tagged => {
                let below = self.below(behind, Some(column))?;
                self.insert_inline(behind, &inline);
                self.patches.insert(below, lines);
            }
            NodeLayout::Literal | NodeLayout::Folded => {
                let header = self.block_header_end(node);
                let content = self.line_below(header)?;
                let below = self.below_value(node)?.max(content);
                let (from, inline) = self.inline_for(node, behind, inline, aligned)?;
                self.patches.replace(from..header, inline);
                self.patches.replace(content..below, lines);
            }
            _ => {
                let below = self.below(node.span.end, Some(column))?;
                let (from, inline) = self.inline_for(node, behind, inline, aligned)?;
                self.patches.replace(from..node.span.end, inline);
                self.patches.insert(below, lines);
            }
        }
        Ok(())
    }

    /// Returns the offset for the text on the line of the key or dash, and that text.
    fn inline_for(
        &self,
        node: &Node<'_>,
        behind: usize,
        inline: String,
        aligned: bool,
    ) -> Result<(usize, String), SpliceRefusal> {
        let only_blanks = self.text()[behind..node.outer].trim().is_empty();
        match (only_blanks, inline.is_empty(), aligned) {
            (true, true, _) => Ok((behind, inline)),
            (true, false, true) => Ok((behind, format!(" {inline}"))),
            (false, _, true) => {
                Err(self.layout(node.outer, "a comment stands between the dash and its value"))
            }
            _ => Ok((node.outer, inline)),
        }
    }

    /// Returns the new value as text, in the style of the old one if possible.
    fn written(
        &self,
        old: &Node<'_>,
        value: &Value,
        column: usize,
        lead: Lead,
    ) -> Result<YamlText, SpliceRefusal> {
        let inline = |inline| Ok(YamlText { inline, lines: String::new() });
        let is_split = self.is_split(old, column)?;
        if let Some(text) = value.as_str()
            && let Some(header) = literal_header(text)
            && !is_split
        {
            return Ok(YamlText { inline: header, lines: indented(text, column + 2) });
        }
        let filled = |value: &Value| match value {
            Value::Array(items) => !items.is_empty(),
            Value::Object(map) => !map.is_empty(),
            _ => false,
        };
        if old.layout == NodeLayout::Flow
            && !(old.items().is_empty() && old.entries().is_empty())
            && filled(value)
        {
            let text = flow(value);
            if text.len() <= FLOW_WIDTH {
                return inline(text);
            }
        }
        match scalar_like(value, old, Context::Block) {
            Some(text) => inline(text),
            None if is_split => Ok(write(value, column, Lead::Key)),
            None => Ok(write(value, column, lead)),
        }
    }

    /// Returns whether comments or blank lines are between the line of a value and the place for more of its lines. Inside a text
    /// they would become text.
    fn is_split(&self, old: &Node<'_>, column: usize) -> Result<bool, SpliceRefusal> {
        if old.layout != NodeLayout::Block {
            return Ok(self.below(self.value_end(old), Some(column))? != self.below_value(old)?);
        }
        let behind = old.indicator.map_or(old.span.start, |indicator| indicator + 1);
        let start = self.lines.line_start(old.span.start);
        Ok(start > behind && self.line_below(behind)? != start)
    }

    /// Returns the offset where the line of a value continues: after the value, or after the header of a block scalar without text.
    fn value_end(&self, node: &Node<'_>) -> usize {
        match node.layout {
            NodeLayout::Absent => node.indicator.map_or(node.span.end, |indicator| indicator + 1),
            NodeLayout::Literal | NodeLayout::Folded => self.lines.line_end(node.span.end),
            _ => node.span.end,
        }
    }

    /// Returns the line below a value that is not a block list or mapping.
    fn below_value(&self, node: &Node<'_>) -> Result<usize, SpliceRefusal> {
        self.line_below(self.value_end(node))
    }

    pub(crate) fn block_header_end(&self, node: &Node<'_>) -> usize {
        let header = &self.text()[node.span.clone()];
        node.span.start + header.find(char::is_whitespace).unwrap_or(header.len())
    }

    fn insert_inline(&mut self, at: usize, inline: &str) {
        if !inline.is_empty() {
            self.patches.insert(at, format!(" {inline}"));
        }
    }

    fn line_below(&self, at: usize) -> Result<usize, SpliceRefusal> {
        let end = self.lines.rest_of_line(at);
        let end = end.ok_or_else(|| self.layout(at, "something else stands on the same line"))?;
        Ok(self.lines.after_break(end))
    }
}
