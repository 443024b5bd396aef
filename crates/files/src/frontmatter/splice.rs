//! Edits into bytes: gather, patch, verify. The only way a frontmatter is ever changed.

use super::change::{Inside, NodeChange, collection_after, gather, value_after};
use super::edit::Edit;
use super::emit::{Lead, flow, push_entry, push_item};
use super::patch::{EditResult, Lines, Patches, SpliceRefusal};
use super::split::{Frontmatter, parse};
use crate::yaml::{Node, NodeKind, NodeLayout, line_column};

/// Returns the file with the edits applied in order, and with `rest` from the closing fence on (`file.rest()` if nothing changes
/// there). All other bytes stay the same. The result was parsed from the new bytes to verify them, so the caller need not parse
/// it again. Fails if the verification does.
pub fn splice(
    file: &Frontmatter<'_>,
    edits: &[Edit],
    rest: &str,
) -> Result<Frontmatter<'static>, SpliceRefusal> {
    let (text, split) = (file.text(), &file.split);
    let changes = gather(text, &file.root, edits)?;
    let newline = if text[split.open.clone()].ends_with("\r\n") { "\r\n" } else { "\n" };
    let patches = Renderer::new(file).root(&changes)?;
    let unverified = |reason: String| {
        let paths: Vec<String> = edits.iter().map(|edit| format!("`{}`", edit.path)).collect();
        SpliceRefusal::Unverified { paths: paths.join(", "), reason }
    };
    let mut result = patches
        .apply(&text[..split.close.start], newline)
        .ok_or_else(|| unverified("two of its changes overlap".to_owned()))?;
    result.push_str(rest);
    let new = verify(file, edits, rest, &result).map_err(unverified)?;
    Ok(new.into_owned())
}

/// Parses a changed file and verifies it: the frontmatter has the edited values, the part before it is the same, and the part
/// from the closing fence on is `rest`.
fn verify<'n>(
    original: &Frontmatter<'_>,
    edits: &[Edit],
    rest: &str,
    changed: &'n str,
) -> Result<Frontmatter<'n>, String> {
    let new = parse(changed.as_bytes()).map_err(|faults| {
        let fault = faults.first();
        let (line, _) = fault.map_or((0, 0), |f| f.line_column(changed));
        let message = fault.map_or("unreadable", |f| f.message.as_str());
        format!("the result would not be readable: line {line}: {message}")
    })?;
    let mut expected = original.root.to_value();
    let is_made = edits.iter().all(|edit| edit.act.apply(&mut expected, &edit.path.0).is_ok());
    if !is_made || !new.root.says(&expected) {
        return Err("the result would not say what the edit means".to_owned());
    }
    let before =
        [&original.split.bom, &original.split.open].map(|range| &original.text[range.clone()]);
    let after = [&new.split.bom, &new.split.open].map(|range| &changed[range.clone()]);
    if before != after || new.rest() != rest {
        return Err("the result would change the text outside the frontmatter".to_owned());
    }
    Ok(new)
}

/// Turns the changes of one file into patches.
pub(crate) struct Renderer<'a> {
    file: &'a Frontmatter<'a>,
    pub(crate) lines: Lines<'a>,
    pub(crate) patches: Patches,
}

impl<'a> Renderer<'a> {
    pub(crate) fn new(file: &'a Frontmatter<'a>) -> Self {
        Self { file, lines: Lines::new(file.text(), &file.split.yaml), patches: Patches::default() }
    }

    /// Returns the patches for all changes of the root.
    pub(crate) fn root(mut self, inside: &Inside) -> Result<Patches, SpliceRefusal> {
        let root = &self.file.root;
        match root.layout {
            NodeLayout::Flow
                if empties(root, inside)
                    && !(inside.children.is_empty() && inside.added.is_empty()) =>
            {
                self.patches.replace(root.span.clone(), flow(&collection_after(root, inside)));
            }
            NodeLayout::Flow => self.flow_inside(root, inside)?,
            _ => self.block_inside(root, inside, None)?,
        }
        Ok(self.patches)
    }

    /// Changes inside a block list or mapping; `floor` is the column of its parent.
    fn block_inside(
        &mut self,
        node: &Node<'_>,
        inside: &Inside,
        floor: Option<usize>,
    ) -> EditResult {
        let column =
            if node.layout == NodeLayout::Absent { 0 } else { self.lines.column(node.span.start) };
        let head = self.inline_head(node, inside, column)?;
        for (&index, change) in &inside.children {
            match change {
                NodeChange::Remove if index < head => {}
                NodeChange::Remove => {
                    let start = self.lines.line_start(self.child_start(node, index)?);
                    let mut end = self.child_end(node, index, column)?;
                    if self.keeps_blank_lines(node, inside, index)? {
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
            NodeLayout::Absent => self.file.split.yaml.end,
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

    /// Removes the leading children of a collection that begins after a dash (`- key: value`), so that the first remaining one
    /// moves up to the dash. Returns their number.
    fn inline_head(
        &mut self,
        node: &Node<'_>,
        inside: &Inside,
        column: usize,
    ) -> Result<usize, SpliceRefusal> {
        let count = (0..=inside.children.len()).take_while(|index| inside.removes(*index)).count();
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

    /// Changes a value after the key or dash at a column.
    fn value(
        &mut self,
        node: &Node<'_>,
        change: &NodeChange,
        column: usize,
        lead: Lead,
    ) -> EditResult {
        match change {
            NodeChange::Inside(inside) if empties(node, inside) => {
                self.replace(node, &value_after(node, Some(change)), column, lead)
            }
            NodeChange::Inside(inside) => match node.layout {
                NodeLayout::Block => self.block_inside(node, inside, Some(column)),
                _ => self.flow_inside(node, inside),
            },
            NodeChange::Replace(value) => self.replace(node, value, column, lead),
            NodeChange::Remove => Ok(()),
        }
    }

    /// Returns the start of a child, its key or dash included.
    pub(crate) fn child_start(
        &self,
        node: &Node<'_>,
        index: usize,
    ) -> Result<usize, SpliceRefusal> {
        match &node.kind {
            NodeKind::Mapping(entries) => {
                let key = &entries[index].key;
                if key.decorated {
                    return Err(
                        self.layout(key.span.start, "the key has a `?`, an anchor or a tag")
                    );
                }
                Ok(key.span.start)
            }
            _ if node.layout == NodeLayout::Block => {
                let item = &node.items()[index];
                item.indicator.ok_or_else(|| self.layout(item.span.start, "the item has no dash"))
            }
            _ => Ok(node.items()[index].outer),
        }
    }

    /// Returns the start of the line below a child and its comments.
    fn child_end(
        &self,
        node: &Node<'_>,
        index: usize,
        column: usize,
    ) -> Result<usize, SpliceRefusal> {
        let (child, _) = child(node, index);
        self.below(child.span.end, Some(column))
    }

    /// Returns whether the text above a child is a block scalar that includes every blank line below it (`|+`). Blank lines must
    /// then not remain when the child is removed.
    fn keeps_blank_lines(
        &self,
        node: &Node<'_>,
        inside: &Inside,
        index: usize,
    ) -> Result<bool, SpliceRefusal> {
        let Some(above) = (0..index).rev().find(|at| !inside.removes(*at)) else {
            return Ok(false);
        };
        let mut leaf = child(node, above).0;
        while let Some(last) =
            leaf.items().last().or(leaf.entries().last().map(|entry| &entry.value))
        {
            leaf = last;
        }
        let header = &self.file.text[leaf.span.start..self.block_header_end(leaf)];
        if !matches!(leaf.layout, NodeLayout::Literal | NodeLayout::Folded) || !header.contains('+')
        {
            return Ok(false);
        }
        // A comment in between ends the text, and remains.
        let next = self.child_start(node, above + 1)?;
        Ok(self.file.text[leaf.span.end..next].trim().is_empty())
    }

    pub(crate) fn below(&self, end: usize, floor: Option<usize>) -> Result<usize, SpliceRefusal> {
        self.lines
            .below(end, floor)
            .ok_or_else(|| self.layout(end, "something else stands on the same line"))
    }

    pub(crate) fn layout(&self, at: usize, reason: &'static str) -> SpliceRefusal {
        let (line, _) = line_column(self.text(), at);
        SpliceRefusal::Layout { line, reason }
    }

    pub(crate) fn text(&self) -> &'a str {
        self.file.text()
    }
}

/// Returns a child's value, and its indicator.
pub(crate) fn child<'n, 's>(node: &'n Node<'s>, index: usize) -> (&'n Node<'s>, Lead) {
    match &node.kind {
        NodeKind::Mapping(entries) => (&entries[index].value, Lead::Key),
        _ => (&node.items()[index], Lead::Dash),
    }
}

/// Returns whether all original children are removed.
pub(crate) fn empties(node: &Node<'_>, inside: &Inside) -> bool {
    (0..node.items().len() + node.entries().len()).all(|index| inside.removes(index))
}
