//! The ways back of a workflow, drawn at its left side: a lane for each gate that tasks come back to.
//!
//! ```text
//! ╭──▸○  plan
//! │╭─▸○  work
//! ├┴──○  review     (leads back to both)
//! ╰───○  approve    (leads back to plan)
//! ```

use crate::domain::{Destination, Workflow};
use crate::rules::{Edge, Way};

/// The lanes, the innermost last.
pub(crate) struct Rail {
    columns: Vec<Vec<Lane>>,
}

/// All ways back to one gate.
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
    pub(crate) fn of(workflow: &Workflow, edges: &[Edge]) -> Self {
        let mut lanes: Vec<Lane> = Vec::new();
        for edge in edges.iter().filter(|edge| matches!(edge.way, Way::Back(_) | Way::Exhausted(_)))
        {
            let Destination::Gate(to) = &edge.to else { continue };
            let (Some((from, _)), Some((to, _))) = (workflow.gate(&edge.from), workflow.gate(to))
            else {
                continue;
            };
            if to >= from {
                continue;
            }
            match lanes.iter_mut().find(|lane| lane.to == to) {
                Some(lane) => lane.from.push(from),
                None => lanes.push(Lane { to, from: vec![from] }),
            }
        }
        // Short ones go inside; lanes that do not meet share a column.
        lanes.sort_by_key(|lane| (lane.last() - lane.to, lane.to));
        let mut columns: Vec<Vec<Lane>> = Vec::new();
        for lane in lanes {
            let free = |column: &&mut Vec<Lane>| {
                !column.iter().any(|other| other.to <= lane.last() && lane.to <= other.last())
            };
            match columns.iter_mut().find(free) {
                Some(column) => column.push(lane),
                None => columns.push(vec![lane]),
            }
        }
        columns.reverse();
        Self { columns }
    }

    /// Returns what stands before the gate of that number.
    pub(crate) fn at(&self, index: usize) -> String {
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
        text.push(match (arrives, running) {
            (true, _) => '▸',
            (false, true) => '─',
            (false, false) => ' ',
        });
        text
    }

    /// Returns what stands before the lines below the gate of that number.
    pub(crate) fn after(&self, index: usize) -> String {
        if self.columns.is_empty() {
            return String::new();
        }
        let runs = |lane: &Lane| lane.covers(index) && lane.last() != index;
        let glyphs =
            self.columns.iter().map(|column| if column.iter().any(runs) { '│' } else { ' ' });
        glyphs.chain([' ']).collect()
    }
}
