//! `workspaces` of project.yaml: the worktrees in which agents work at tasks.

use super::decode::{Faults, FieldReader, parse_node, text_of};
use super::run_file::read_command;
use crate::yaml::{Node, NodeKind};
use aof_domain::{BranchName, WorkspaceSettings};

/// Reads the settings.
pub(crate) fn read(node: &Node<'_>, faults: &Faults) -> Option<WorkspaceSettings> {
    let fields = FieldReader::of(node, "`workspaces`", faults)?;
    let unsaid = WorkspaceSettings::default();
    let settings = WorkspaceSettings {
        root: fields.with("root", read_root).flatten().unwrap_or(unsaid.root),
        base: fields.parsed("base"),
        prefix: fields.with("prefix", read_prefix).flatten().unwrap_or(unsaid.prefix),
        setup: fields.with("setup", read_setup).unwrap_or_default(),
        copy: fields.list("copy").unwrap_or_default(),
        uncommitted: fields.parsed("uncommitted").unwrap_or(unsaid.uncommitted),
    };
    fields.refuse_unknown();
    Some(settings)
}

fn read_root(node: &Node<'_>, faults: &Faults) -> Option<String> {
    let root = text_of(node).map(|text| text.trim().to_owned()).unwrap_or_default();
    let is_inside = |folder: &str| root == folder || root.starts_with(&format!("{folder}/"));
    if root.is_empty() || is_inside(".git") || is_inside(".aof/branch") {
        let help = "name a folder that holds nothing else, as in `../work`";
        faults.invalid(node, "`root` is the folder for the worktrees", help);
        return None;
    }
    Some(root)
}

/// Reads the beginning of the branches' names; a slash at its end is not part of it.
fn read_prefix(node: &Node<'_>, faults: &Faults) -> Option<BranchName> {
    let text = text_of(node).unwrap_or_default();
    match text.strip_suffix('/').unwrap_or(&text).parse() {
        Ok(prefix) => Some(prefix),
        Err(_) => parse_node(node, "`prefix` is the beginning of a branch's name", faults),
    }
}

/// Reads the list of commands.
fn read_setup(node: &Node<'_>, faults: &Faults) -> Vec<Vec<String>> {
    let is_command = |item: &Node<'_>| matches!(item.kind, NodeKind::Sequence(_));
    if !matches!(node.kind, NodeKind::Sequence(_)) || !node.items().iter().all(is_command) {
        let wanted = "`setup` is a list of commands, each a list of a program and its arguments";
        faults.wrong_kind(node, wanted, "write `setup: [[npm, ci]]`");
        return Vec::new();
    }
    node.items().iter().filter_map(|item| read_command(item, faults)).collect()
}
