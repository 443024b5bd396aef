//! Draws a workflow as text, as a Graphviz graph, and as a Mermaid flowchart.

use unicode_width::UnicodeWidthStr;

use crate::board::model::drawing::{columns_of, edge_label, exhausted, joining, rounds, times};
use crate::cli::{bold, cyan, dim, length, width, wrapped, yellow};
use crate::domain::{
    AgentId, Branch, Destination, Duty, ForEach, Gate, GateId, GateKind, OnConditionError, Outcome,
    RejectionStrategy, Target, Verdict, Workflow, listed,
};
use crate::files::printable::one_line;
use crate::observability::stats::gates::GateRow;
use crate::rules::{EdgeKind, Rules, TimeLimits, Workplace, asked_for, edges, first, reads};

/// Returns the drawing; `rows` has the numbers of tasks at gates, or is empty if they are not to be shown.
pub(crate) fn draw(rules: &Rules, workflow: &Workflow, rows: &[GateRow]) -> String {
    let mut text = bold(&workflow.name);
    if let Some(version) = &workflow.version {
        text.push_str(&format!("  {}", dim(format!("version {}", one_line(version)))));
    }
    if let Some(description) = &workflow.description {
        text.push_str(&format!("  {}", one_line(description)));
    }
    text.push_str("\n\n");
    let rail = Rail::new(workflow);
    let widest = workflow.gates.iter().map(|gate| gate.id.as_str().width()).max().unwrap_or(0);
    for (index, gate) in workflow.gates.iter().enumerate() {
        let space = " ".repeat(widest - gate.id.as_str().width());
        let (id, gate_staff) = (cyan(&gate.id), gate_staff(rules, gate));
        let task_counts =
            task_counts(workflow, gate, rows).map(|what| format!("  {}", yellow(what)));
        let task_counts = task_counts.unwrap_or_default();
        text.push_str(&format!("{}○  {id}{space}  {gate_staff}{task_counts}\n", rail.at(index)));
        let rail = rail.after(index);
        let column = rail.width() + 1 + 2 + widest + 2;
        for note in notes(workflow, index, gate) {
            for line in wrapped(&note, width().saturating_sub(column)) {
                text.push_str(&format!("{rail}│  {:widest$}  {}\n", "", dim(line)));
            }
        }
        for branch in gate.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default() {
            let gate_staff = workplace_staff(rules, &Workplace::at_branch(gate, branch));
            text.push_str(&format!(
                "{rail}├  {:widest$}  {}  {gate_staff}\n",
                "",
                cyan(branch.id())
            ));
            for note in branch_notes(workflow, branch) {
                for line in wrapped(&note, width().saturating_sub(column + 2)) {
                    text.push_str(&format!("{rail}│  {:widest$}    {}\n", "", dim(line)));
                }
            }
        }
        text.push_str(&format!("{rail}│\n"));
    }
    text.push_str(&format!("{}●  end\n", rail.after(workflow.gates.len())));
    if let Some(repeat) = &workflow.repeat {
        text.push_str(&format!("\n{}\n", rounds(repeat)));
    }
    text
}

/// Returns the numbers of tasks at the gate; `None` if there are none.
pub(crate) fn task_counts(workflow: &Workflow, gate: &Gate, rows: &[GateRow]) -> Option<String> {
    let is_own =
        |row: &&GateRow| row.workflow == workflow.name.as_str() && row.gate == gate.id.as_str();
    let row = rows.iter().find(is_own)?;
    let counts = [
        (row.ready, "ready"),
        (row.waiting, "waiting"),
        (row.in_progress, "in progress"),
        (row.blocked, "blocked"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}

fn gate_staff(rules: &Rules, gate: &Gate) -> String {
    match (gate.fork(), Workplace::at(gate)) {
        (Some(fork), _) => joining(fork),
        (None, Some(workplace)) => workplace_staff(rules, &workplace),
        (None, None) => "decides by itself".to_owned(),
    }
}

fn workplace_staff(rules: &Rules, workplace: &Workplace<'_>) -> String {
    let human = workplace.requires_human(rules);
    let members =
        rules.org.role(workplace.role).map(|role| role.agents.as_slice()).unwrap_or_default();
    let names: Vec<&str> =
        members.iter().filter(|agent| !human || agent.is_human()).map(AgentId::as_str).collect();
    let people = if human { ", people only" } else { "" };
    match &names[..] {
        _ if rules.is_open(workplace.role) => "any agent".to_owned(),
        [] => format!("{} (nobody{people})", workplace.role),
        names => format!("{} ({}{people})", workplace.role, names.join(", ")),
    }
}

fn notes(workflow: &Workflow, index: usize, gate: &Gate) -> Vec<String> {
    let mut notes: Vec<String> = gate.description.iter().map(|text| one_line(text)).collect();
    if let Some(when) = &gate.when {
        let otherwise = match gate.on_condition_error {
            OnConditionError::Skip => "",
            OnConditionError::Enter => " (also if that cannot be evaluated)",
        };
        notes.push(format!("when {}{otherwise}", one_line(when)));
    }
    if let Some(ForEach { list, verify_each, .. }) = gate.for_each() {
        let verified = verify_each.as_ref().map(|gate| format!(", each verified at {gate}"));
        notes.push(format!("each of {list}{}", verified.unwrap_or_default()));
    }
    if gate.can_reject() && gate.exits.route(&Outcome::NeedsReview).is_none() {
        notes.push(format!("needs_review -> {}", rejection(workflow, index, gate)));
    }
    for (outcome, route) in gate.exits.written() {
        let suffix = match &route.prompt.as_deref().map(asked_for).unwrap_or_default()[..] {
            [] => String::new(),
            suffix => format!(", telling {}", suffix.join(", ")),
        };
        notes.push(format!("{outcome} -> {}{suffix}", route.to));
    }
    if let Some(most) = gate.exits.retries().filter(|_| leads_back(workflow, index, gate)) {
        let then = exhausted(&gate.exits.on_exhausted);
        notes.push(format!("sends back {} at most, then {then}", times(most)));
    }
    if gate.detour {
        let has_exit = gate.exits.decides() || gate.exits.route(&Outcome::Complete).is_some();
        let left = match verified_loop(workflow, gate) {
            _ if has_exit => "",
            Some(_) => ", and left to the next item",
            None => ", and left to where the task came from",
        };
        notes.push(format!("entered only by a route{left}"));
    }
    if !gate.check.is_empty() {
        notes.push(format!("checks the {} before a task passes", listed(&gate.check)));
    }
    notes.extend(gate.wait_for.map(|what| format!("waits for {what}")));
    notes.extend(gate.duty().into_iter().flat_map(|duty| duty_notes(workflow, duty)));
    notes
}

/// Returns the first gate whose items are verified at that gate.
fn verified_loop<'w>(workflow: &'w Workflow, gate: &Gate) -> Option<&'w Gate> {
    let is_verified = |verifier: &&Gate| {
        verifier.for_each().is_some_and(|each| each.verify_each.as_ref() == Some(&gate.id))
    };
    workflow.gates.iter().find(is_verified)
}

fn duty_notes(workflow: &Workflow, duty: &Duty) -> Vec<String> {
    let mut notes = keys(duty);
    if !duty.separate_from.is_empty() {
        let gates: Vec<&str> = duty.separate_from.iter().map(GateId::as_str).collect();
        notes.push(format!("not for the {} that worked at {}", duty.separate_by, gates.join(", ")));
    }
    if duty.can_skip {
        notes.push("skip: its agent may say that it does not apply".to_owned());
    }
    if let Some(timeout) = TimeLimits::of(workflow, duty).timeout {
        let then = duty.escalate_to.as_ref().map(|role| format!(", then {role}"));
        let timeout = length(timeout.seconds());
        notes.push(format!("timeout {timeout}{}", then.unwrap_or_default()));
    }
    notes
}

/// Returns the values that a gate's texts read, and those that its completions hand on.
pub(crate) fn keys(duty: &Duty) -> Vec<String> {
    let handed = duty.outputs.names().into_iter().map(str::to_owned).collect();
    let lists = [("reads", reads(duty)), ("hands on", handed)];
    let suffix = lists.iter().filter(|(_, names)| !names.is_empty());
    suffix.map(|(what, names)| format!("{what} {}", names.join(", "))).collect()
}

fn branch_notes(workflow: &Workflow, branch: &Branch) -> Vec<String> {
    let gate = branch.gate();
    let mut notes: Vec<String> = gate.description.iter().map(|text| one_line(text)).collect();
    notes.extend(gate.when.iter().map(|when| format!("when {}", one_line(when))));
    let rejects = gate.can_reject() && gate.exits.route(&Outcome::NeedsReview).is_none();
    let written = gate.exits.routes.iter().map(|(outcome, _)| outcome);
    for outcome in written.chain(rejects.then_some(&Outcome::NeedsReview)) {
        notes.push(match branch.verdict(outcome) {
            Verdict::Pass => format!("{outcome} passes"),
            Verdict::Reject => format!("{outcome} rejects"),
            Verdict::Hold => format!("{outcome} waits"),
            Verdict::Skip => format!("{outcome}: it does not apply"),
        });
    }
    notes.extend(duty_notes(workflow, branch.duty()));
    notes
}

/// Returns true if a route of the gate leads back.
fn leads_back(workflow: &Workflow, index: usize, gate: &Gate) -> bool {
    let is_back = |to: &Target| match to {
        Target::Gate(to) => {
            workflow.gate(to).is_some_and(|(place, to)| place <= index || to.detour)
        }
        Target::Origin | Target::Previous => true,
        _ => false,
    };
    gate.can_reject() || gate.exits.written().any(|(_, route)| is_back(&route.to))
}

/// Returns the gates to which a rejection may lead, the most likely first.
fn rejection(workflow: &Workflow, index: usize, gate: &Gate) -> String {
    if workflow.holds_rejections {
        return "stays here for a person to decide".to_owned();
    }
    match (workflow.rejection, &gate.exits.reject_to) {
        (RejectionStrategy::Named, Some(to)) => to.to_string(),
        _ if let Some(at) = verified_loop(workflow, gate) => {
            format!("{}, the same item", at.id)
        }
        (RejectionStrategy::Previous, _) if index > 0 => {
            "the gate before it that was visited last".to_owned()
        }
        _ => {
            // Up to the nearest earlier gate that always applies.
            let before = workflow.gates[..index].split_inclusive(|gate| gate.when.is_none()).next();
            let before = before.unwrap_or(&workflow.gates[..1]);
            let names: Vec<&str> = before.iter().map(|gate| gate.id.as_str()).collect();
            names.join(", else ")
        }
    }
}

/// The routes back: a lane for each gate that tasks return to, the innermost column last.
///
/// ```text
/// ╭──▸○  plan
/// │╭─▸○  work
/// ├┴──○  review     (leads back to both)
/// ╰───○  approve    (leads back to plan)
/// ```
struct Rail {
    columns: Vec<Vec<Lane>>,
}

/// All routes back to one gate.
struct Lane {
    to: usize,
    from: Vec<usize>,
}

impl Lane {
    fn last(&self) -> usize {
        self.from.iter().copied().max().unwrap_or(self.to)
    }

    fn covers(&self, index: usize) -> bool {
        (self.to..=self.last()).contains(&index)
    }
}

impl Rail {
    fn new(workflow: &Workflow) -> Self {
        let mut lanes: Vec<Lane> = Vec::new();
        for edge in edges(workflow) {
            let (
                EdgeKind::Back(_) | EdgeKind::Exhausted(_) | EdgeKind::Each | EdgeKind::Again(_),
                Destination::Gate(to),
            ) = (edge.way, &edge.to)
            else {
                continue;
            };
            let (Some((from, _)), Some((to, _))) = (workflow.gate(&edge.from), workflow.gate(to))
            else {
                continue;
            };
            match lanes.iter_mut().find(|lane| lane.to == to) {
                _ if to >= from => {}
                Some(lane) => lane.from.push(from),
                None => lanes.push(Lane { to, from: vec![from] }),
            }
        }
        let spans: Vec<(usize, usize)> = lanes.iter().map(|lane| (lane.to, lane.last())).collect();
        let mut columns: Vec<Vec<Lane>> = Vec::new();
        for (lane, column) in lanes.into_iter().zip(columns_of(&spans)) {
            columns.resize_with(columns.len().max(column + 1), Vec::new);
            columns[column].push(lane);
        }
        columns.reverse();
        Self { columns }
    }

    /// Returns the rail before the gate of that number.
    fn at(&self, index: usize) -> String {
        if self.columns.is_empty() {
            return String::new();
        }
        let (mut text, mut running, mut arrives) = (String::new(), false, false);
        for column in &self.columns {
            let lane = column.iter().find(|lane| lane.covers(index));
            let (glyph, turns) = match lane {
                None => (if running { '─' } else { ' ' }, false),
                Some(lane) if lane.to == index => (if running { '┬' } else { '╭' }, true),
                Some(lane) if lane.last() == index => (if running { '┴' } else { '╰' }, true),
                Some(lane) if lane.from.contains(&index) => (if running { '┼' } else { '├' }, true),
                Some(_) => (if running { '┼' } else { '│' }, false),
            };
            text.push(glyph);
            running |= turns;
            arrives |= lane.is_some_and(|lane| lane.to == index);
        }
        text.push(if arrives {
            '▸'
        } else if running {
            '─'
        } else {
            ' '
        });
        text
    }

    /// Returns the rail before the lines below the gate of that number.
    fn after(&self, index: usize) -> String {
        if self.columns.is_empty() {
            return String::new();
        }
        let runs = |lane: &Lane| lane.covers(index) && lane.last() != index;
        let glyphs =
            self.columns.iter().map(|column| if column.iter().any(runs) { '│' } else { ' ' });
        glyphs.chain([' ']).collect()
    }
}

const ENDS: [Destination; 3] = [Destination::End, Destination::Cancelled, Destination::Fail];

/// Returns the workflow in the language of Graphviz.
pub(crate) fn dot(workflow: &Workflow, rows: &[GateRow]) -> String {
    // No gate can have the name `$start`.
    let mut lines = vec![
        format!("digraph {} {{", dot_string(workflow.name.as_str())),
        "  node [shape=box, style=rounded, fontname=\"sans-serif\"];".to_owned(),
        "  edge [fontname=\"sans-serif\", fontsize=10];".to_owned(),
        "  \"$start\" [shape=circle, label=\"\", width=0.2];".to_owned(),
    ];
    for gate in &workflow.gates {
        let shape = match gate.kind {
            GateKind::Condition => ", shape=diamond, style=solid",
            _ if gate.detour => ", style=\"rounded,dashed\"",
            GateKind::Fork(_) => ", peripheries=2",
            GateKind::Work(_) => "",
        };
        let label = dot_string(&gate_lines(workflow, gate, rows).join("\n"));
        lines.push(format!("  {} [label={label}{shape}];", dot_string(gate.id.as_str())));
    }
    let edges = edges(workflow);
    for end in ENDS.iter().filter(|end| edges.iter().any(|edge| edge.to == **end)) {
        let (name, label) = (dot_string(&end.to_string()), dot_string(end.noun()));
        lines.push(format!("  {name} [label={label}, shape=doublecircle];"));
    }
    lines.push(format!("  \"$start\" -> {};", dot_string(first(workflow).id.as_str())));
    for edge in &edges {
        // `constraint=false`: a route back does not move its target below the gate that it leaves.
        let style = match (edge.way, &edge.to) {
            (EdgeKind::On | EdgeKind::Return, _) => "",
            (EdgeKind::Back(_) | EdgeKind::Each | EdgeKind::Again(_), _) => {
                ", style=bold, constraint=false"
            }
            (EdgeKind::Exhausted(_), Destination::Gate(_)) => ", style=dashed, constraint=false",
            (EdgeKind::Exhausted(_) | EdgeKind::Over | EdgeKind::Hold, _) => ", style=dashed",
        };
        let label = dot_string(&edge_label(workflow, edge));
        let (from, to) = (dot_string(edge.from.as_str()), dot_string(&edge.to.to_string()));
        lines.push(format!("  {from} -> {to} [label={label}{style}];"));
    }
    lines.join("\n") + "\n}\n"
}

fn dot_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Returns the workflow as a Mermaid flowchart.
pub(crate) fn mermaid(workflow: &Workflow, rows: &[GateRow]) -> String {
    let mut lines = vec!["flowchart TD".to_owned(), "  start(( ))".to_owned()];
    for (index, gate) in workflow.gates.iter().enumerate() {
        let label = gate_lines(workflow, gate, rows);
        let label = label.iter().map(|line| mermaid_text(line)).collect::<Vec<_>>().join("<br/>");
        lines.push(match gate.kind {
            GateKind::Condition => format!("  g{index}{{\"{label}\"}}"),
            _ if gate.detour => format!("  g{index}([\"{label}\"])"),
            GateKind::Fork(_) => format!("  g{index}[[\"{label}\"]]"),
            GateKind::Work(_) => format!("  g{index}[\"{label}\"]"),
        });
    }
    let edges = edges(workflow);
    for end in ENDS.iter().filter(|end| edges.iter().any(|edge| edge.to == **end)) {
        lines.push(format!("  {}(((\"{}\")))", mermaid_node(workflow, end), end.noun()));
    }
    lines.push(format!("  start --> {}", mermaid_gate(workflow, &first(workflow).id)));
    for edge in &edges {
        let arrow = match edge.way {
            EdgeKind::On | EdgeKind::Return => "-->",
            EdgeKind::Back(_) | EdgeKind::Each | EdgeKind::Again(_) => "==>",
            EdgeKind::Over | EdgeKind::Exhausted(_) | EdgeKind::Hold => "-.->",
        };
        let label = mermaid_text(&edge_label(workflow, edge));
        let (from, to) = (mermaid_gate(workflow, &edge.from), mermaid_node(workflow, &edge.to));
        lines.push(format!("  {from} {arrow}|\"{label}\"| {to}"));
    }
    lines.join("\n") + "\n"
}

/// Returns the name of a node. Mermaid reserves some words, such as `end`.
fn mermaid_node(workflow: &Workflow, to: &Destination) -> String {
    match to {
        Destination::Gate(id) => mermaid_gate(workflow, id),
        Destination::End => "finish".to_owned(),
        Destination::Cancelled => "cancelled".to_owned(),
        Destination::Fail => "failed".to_owned(),
    }
}

fn mermaid_gate(workflow: &Workflow, id: &GateId) -> String {
    workflow.gate(id).map_or_else(|| "start".to_owned(), |(index, _)| format!("g{index}"))
}

/// Returns a text with entities in place of characters with a meaning in Mermaid or HTML.
fn mermaid_text(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " .,:/_-()!?+".contains(c);
    let written = |c: char| {
        if is_plain(c) { c.to_string() } else { format!("#{};", u32::from(c)) }
    };
    text.chars().map(written).collect()
}

/// Returns the lines of a gate's label.
fn gate_lines(workflow: &Workflow, gate: &Gate, rows: &[GateRow]) -> Vec<String> {
    let mut lines = vec![gate.id.to_string()];
    lines.extend(gate.role().map(ToString::to_string));
    if let Some(fork) = gate.fork() {
        lines.push(joining(fork));
        lines.extend(
            fork.branches.iter().map(|branch| format!("{}: {}", branch.id(), branch.duty().role)),
        );
    }
    lines.extend(gate.when.iter().map(|when| match gate.kind {
        GateKind::Condition => one_line(when),
        GateKind::Work(_) | GateKind::Fork(_) => format!("when {}", one_line(when)),
    }));
    lines.extend(gate.duty().into_iter().flat_map(keys));
    lines.extend(gate.detour.then(|| "detour".to_owned()));
    lines.extend(gate.wait_for.map(|what| format!("waits for {what}")));
    lines.extend(task_counts(workflow, gate, rows));
    lines
}
