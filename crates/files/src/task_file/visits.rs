//! The visits of a task: the open one (`gate`), and the entries of `gateHistory`. Read strictly.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{TaskFile, applying};
use crate::config::decode::{Faults, FieldReader, parse_key, parse_node, point_in_time, text_of};
use crate::yaml::{MappingEntry, Node, NodeKind};
use aof_domain::{
    CheckResults, ChecklistCount, Ending, Landing, LandingCheck, LoopItem, OpenBranch, OpenVisit,
    Stamp, Station, Status, TaskId, TestCount, Visit, WorkBranch,
};

/// Reads the open visit. Its number is the length of the history without the entries of the open fork's branches.
pub(crate) fn read_open_visit(
    node: &Node<'_>,
    history: &[Visit],
    faults: &Faults,
) -> Option<OpenVisit> {
    let ended = history.iter().rposition(|visit| !visit.leaves_open()).map_or(0, |last| last + 1);
    let fields = FieldReader::of(node, "`gate`", faults)?;
    let (current, entered) = (fields.parsed("current"), fields.time("entered"));
    if let Some(visit) = fields.parsed("visit").filter(|visit: &usize| *visit != ended) {
        let message = format!("`visit: {visit}`, and the history has {ended}");
        let help = "the history or the visit was changed by hand; bring back what the engine wrote";
        fields.fault("visit", "inconsistent_visit", message, help);
    }
    Some(OpenVisit {
        current: fields.require("current", current)?,
        entered: fields.require("entered", entered)?,
        visit: ended,
        item: fields.take("item").and_then(|node| read_item(node, faults)),
        escalated: fields.parsed("escalated"),
        resumed: fields.time("resumed"),
        answer: fields.text("answer"),
        overdue: fields.time("overdue"),
        held: fields.time("held"),
        branches: fields.with("branches", read_open_branches).unwrap_or_default(),
    })
}

fn read_open_branches(node: &Node<'_>, faults: &Faults) -> Vec<OpenBranch> {
    if !matches!(node.kind, NodeKind::Sequence(_)) {
        faults.wrong_kind(node, "`branches` is the list of the branches of a fork", "");
    }
    node.items().iter().filter_map(|item| read_open_branch(item, faults)).collect()
}

fn read_open_branch(node: &Node<'_>, faults: &Faults) -> Option<OpenBranch> {
    let fields = FieldReader::of(node, "an open branch", faults)?;
    let (id, role, status) =
        (fields.required("id"), fields.required("role"), fields.required("status"));
    Some(OpenBranch {
        escalated: fields.parsed("escalated"),
        agent: fields.parsed("agent"),
        claimed: fields.time("claimed"),
        lost: fields.parsed("lost"),
        resumed: fields.time("resumed"),
        answer: fields.text("answer"),
        overdue: fields.time("overdue"),
        blockers: fields.list("blockers").unwrap_or_default(),
        id: id?,
        role: role?,
        status: status?,
    })
}

/// Returns the open visit as files show it.
pub(crate) fn open_visit_value(gate: &OpenVisit) -> Value {
    Value::Object(applying(json!({
        "current": gate.current,
        "entered": gate.entered,
        "visit": gate.visit,
        "item": gate.item,
        "escalated": gate.escalated,
        "resumed": gate.resumed,
        "answer": gate.answer,
        "overdue": gate.overdue,
        "held": gate.held,
        "branches": gate.branches.iter().map(branch_value).collect::<Vec<_>>(),
    })))
}

/// Returns an open branch as files and JSON show it.
pub fn branch_value(branch: &OpenBranch) -> Value {
    Value::Object(applying(json!({
        "id": branch.id,
        "role": branch.role,
        "status": branch.status,
        "escalated": branch.escalated,
        "agent": branch.agent,
        "lost": branch.lost,
        "claimed": branch.claimed,
        "resumed": branch.resumed,
        "answer": branch.answer,
        "overdue": branch.overdue,
        "blockers": branch.blockers,
    })))
}

/// Reads the ended visits; empty without a node.
pub(crate) fn read_history(node: Option<&Node<'_>>, faults: &Faults) -> Vec<Visit> {
    node.map(Node::items)
        .unwrap_or_default()
        .iter()
        .filter_map(|entry| read_visit(entry, faults))
        .collect()
}

fn read_visit(node: &Node<'_>, faults: &Faults) -> Option<Visit> {
    let fields = FieldReader::of(node, "an entry of `gateHistory`", faults)?;
    let station: Option<Station> = fields.parsed("gate");
    let (gate, branch) =
        station.map_or((None, None), |station| (Some(station.gate), station.branch));
    let entered = fields.time("entered");
    let exited = fields.time("exited");
    let outcome = fields.parsed("outcome");
    // The duration is derived; it is in the file for people and other programs.
    let _: Option<u64> = fields.parsed("duration");
    let verdict = fields.parsed("verdict");
    // A branch that timed out has no verdict.
    let speaks = branch.is_some() && outcome != Some(Ending::Timeout);
    let verdict = if speaks { Some(fields.require("verdict", verdict)?) } else { None };
    let visit = Visit {
        overdue: fields.time("overdue"),
        branch,
        verdict,
        join: fields.parsed("join"),
        unfinished: fields.list("unfinished").unwrap_or_default(),
        item: fields.take("item").and_then(|node| read_item(node, faults)),
        role: fields.parsed("role"),
        agent: fields.parsed("agent"),
        summary: fields.text("summary").unwrap_or_default(),
        blockers: fields.list("blockers").unwrap_or_default(),
        rejection_notes: fields.text("rejectionNotes").filter(|notes| !notes.is_empty()),
        to: fields.parsed("to"),
        to_item: fields.take("toItem").and_then(|node| read_item(node, faults)),
        round: fields.parsed("round"),
        skipped: fields.list("skipped").unwrap_or_default(),
        cleared: fields.list("cleared").unwrap_or_default(),
        escalated_to: fields.parsed("escalatedTo"),
        retry: fields.parsed("retry"),
        outputs: fields.object("outputs").unwrap_or_default(),
        metadata: fields.object("metadata").unwrap_or_default(),
        children: fields.with("children", read_children).unwrap_or_default(),
        checks: fields.with("checks", read_checks).flatten().unwrap_or_default(),
        work: fields.with("work", read_work).flatten().map(Box::new),
        landed: fields.with("landed", read_landing).flatten().map(Box::new),
        workflow: fields.text("workflow"),
        completion: fields.take("completion").and_then(|node| read_stamp(node, faults)),
        signature: fields.parsed("signature"),
        gate: fields.require("gate", gate)?,
        entered: fields.require("entered", entered)?,
        exited: fields.require("exited", exited)?,
        outcome: fields.require("outcome", outcome)?,
    };
    fields.refuse_unknown();
    Some(visit)
}

fn read_item(node: &Node<'_>, faults: &Faults) -> Option<LoopItem> {
    let fields = FieldReader::of(node, "the item of a loop", faults)?;
    let (index, of) = (fields.required("index"), fields.required("of"));
    fields.refuse_unknown();
    let item = LoopItem { index: index?, of: of? };
    if item.index >= item.of {
        let message =
            format!("`index: {}` is counted from 0, and there are {}", item.index, item.of);
        let help = "it was changed by hand; bring back what the engine wrote";
        fields.fault("index", "inconsistent_visit", message, help);
    }
    Some(item)
}

fn read_children(node: &Node<'_>, faults: &Faults) -> BTreeMap<TaskId, Status> {
    if !matches!(node.kind, NodeKind::Mapping(_)) {
        faults.wrong_kind(node, "`children` is a mapping from tasks to their states", "");
    }
    let child = |entry: &MappingEntry<'_>| {
        let state = parse_node(&entry.value, "the state of a child is a text", faults);
        Some((parse_key(&entry.key, faults)?, state?))
    };
    node.entries().iter().filter_map(child).collect()
}

fn read_checks(node: &Node<'_>, faults: &Faults) -> Option<CheckResults> {
    let fields = FieldReader::of(node, "`checks`", faults)?;
    let count = |of: &FieldReader<'_, '_>, key| of.require(key, of.count(key));
    let tests = fields.below("tests", "the result of tests").and_then(|of| {
        let (passed, failed) = (count(&of, "passed"), count(&of, "failed"));
        let not_runnable = count(&of, "notRunnable");
        of.refuse_unknown();
        Some(TestCount { passed: passed?, failed: failed?, not_runnable: not_runnable? })
    });
    let checklist = fields.below("checklist", "the result of a checklist").and_then(|of| {
        let (done, open) = (count(&of, "done"), count(&of, "open"));
        of.refuse_unknown();
        Some(ChecklistCount { done: done?, open: open? })
    });
    fields.refuse_unknown();
    Some(CheckResults { tests, checklist })
}

fn read_work(node: &Node<'_>, faults: &Faults) -> Option<WorkBranch> {
    let fields = FieldReader::of(node, "`work`", faults)?;
    let (branch, base) = (fields.required("branch"), fields.required("base"));
    let head = fields.required("head");
    fields.refuse_unknown();
    Some(WorkBranch { branch: branch?, base: base?, head: head? })
}

fn read_landing(node: &Node<'_>, faults: &Faults) -> Option<Landing> {
    let fields = FieldReader::of(node, "`landed`", faults)?;
    let (onto, commit) = (fields.required("onto"), fields.required("commit"));
    let tree = fields.required("tree");
    let checks = fields.take("checks").map(Node::items).unwrap_or_default();
    let checks = checks.iter().filter_map(|check| read_landing_check(check, faults)).collect();
    fields.refuse_unknown();
    Some(Landing { onto: onto?, commit: commit?, tree: tree?, checks })
}

fn read_landing_check(node: &Node<'_>, faults: &Faults) -> Option<LandingCheck> {
    let fields = FieldReader::of(node, "a check of a landing", faults)?;
    let (exit, digest) = (fields.required("exit"), fields.required("digest"));
    let argv = fields.list("argv").unwrap_or_default();
    fields.refuse_unknown();
    Some(LandingCheck { argv, exit: exit?, digest: digest? })
}

fn read_stamp(node: &Node<'_>, faults: &Faults) -> Option<Stamp> {
    let fields = FieldReader::of(node, "`completion`", faults)?;
    let id = fields.parsed("id");
    let sha256 = fields.parsed("sha256");
    Some(Stamp { id: fields.require("id", id)?, sha256: fields.require("sha256", sha256)? })
}

/// Returns the entry as files and JSON show it; fields that do not apply are left out.
pub fn visit_value(visit: &Visit) -> Value {
    let stamp_value = |stamp: &Stamp| json!({"id": stamp.id, "sha256": stamp.sha256.as_str()});
    // Gate and branch are the station.
    let Visit {
        gate: _,
        branch: _,
        verdict,
        join,
        unfinished,
        item,
        role,
        agent,
        entered,
        exited,
        overdue,
        outcome,
        summary,
        blockers,
        rejection_notes,
        to,
        to_item,
        round,
        skipped,
        cleared,
        escalated_to,
        retry,
        outputs,
        metadata,
        children,
        checks,
        work,
        landed,
        workflow,
        completion,
        signature,
    } = visit;
    Value::Object(applying(json!({
        "gate": visit.station(),
        "item": item,
        "role": role,
        "agent": agent,
        "entered": entered,
        "exited": exited,
        "duration": visit.duration(),
        "overdue": overdue,
        "outcome": outcome,
        "verdict": verdict,
        "summary": summary,
        "blockers": blockers,
        "rejectionNotes": rejection_notes,
        "join": join,
        "unfinished": unfinished,
        "to": to,
        "toItem": to_item,
        "round": round,
        "skipped": skipped,
        "cleared": cleared,
        "retry": retry,
        "escalatedTo": escalated_to,
        "outputs": outputs,
        "metadata": metadata,
        "children": children,
        "checks": checks,
        "work": work,
        "landed": landed,
        "workflow": workflow,
        "completion": completion.as_ref().map(stamp_value),
        "signature": signature.as_ref().map(|signature| format!("{signature}\n")),
    })))
}

/// The keys of an entry that are points in time: programs that rewrite frontmatter may write those differently.
const TIMES: [&str; 3] = ["entered", "exited", "overdue"];

impl TaskFile {
    /// Returns whether the history starts with that of an earlier version. Entries are compared completely, including unknown keys.
    pub fn continues(&self, before: &Self) -> bool {
        let (old, new) = (before.entries(), self.entries());
        old.len() <= new.len() && old.iter().zip(new).all(|(old, new)| is_same_entry(old, new))
    }

    /// Returns whether the history equals that of another version.
    pub fn has_history_of(&self, other: &Self) -> bool {
        self.entries().len() == other.entries().len() && self.continues(other)
    }

    fn entries(&self) -> &[Node<'static>] {
        self.field("gateHistory").map_or(&[], Node::items)
    }
}

fn is_same_entry(old: &Node<'_>, new: &Node<'_>) -> bool {
    let (NodeKind::Mapping(entries), NodeKind::Mapping(others)) = (&old.kind, &new.kind) else {
        return old.agrees(new);
    };
    let same = |MappingEntry { key, value }: &MappingEntry<'_>| {
        new.get(&key.text).is_some_and(|other| {
            value.agrees(other) || TIMES.contains(&key.text.as_ref()) && is_same_time(value, other)
        })
    };
    entries.len() == others.len() && entries.iter().all(same)
}

fn is_same_time(old: &Node<'_>, new: &Node<'_>) -> bool {
    let time = |node: &Node<'_>| text_of(node).and_then(|text| point_in_time(&text));
    time(old).zip(time(new)).is_some_and(|(old, new)| old == new)
}
