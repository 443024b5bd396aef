//! The keys of the boards: one table for the terminal and the web has the act of each, its words, and where it counts.

use serde::Serialize;

/// The act of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum KeyAct {
    Left,
    Right,
    Down,
    Up,
    First,
    Last,
    PageDown,
    PageUp,
    OtherSide,
    Open,
    Back,
    Approve,
    SendBack,
    Done,
    Block,
    Unblock,
    Take,
    PlanFor,
    Comment,
    Edit,
    New,
    Undo,
    Diff,
    History,
    Workflow,
    Filter,
    Jump,
    Board,
    Waiting,
    List,
    Activity,
    Statistics,
    Select,
    SelectDown,
    SelectUp,
    NextWorkflow,
    PreviousWorkflow,
    NextProject,
    PreviousProject,
    Help,
    Redraw,
    Suspend,
    Quit,
}

/// The part of a board that has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum KeyPlace {
    /// The columns with their cards.
    Board,
    /// An open task.
    Task,
    /// A table of tasks, as Waiting.
    List,
    /// A menu or a text over the rest.
    Over,
}

/// The boards that know a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyDoor {
    Both,
    Terminal,
    Web,
}

/// Keys with the same act.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct BoardKey {
    /// A character as it is typed, a name as in `esc`, or `ctrl-` and a character. On the web, `g b` is two keys.
    pub keys: &'static [&'static str],
    pub act: KeyAct,
    /// The act in one or two words.
    pub word: &'static str,
    pub places: &'static [KeyPlace],
    /// The places whose foot line names the first key.
    #[serde(skip)]
    pub foot: &'static [KeyPlace],
    #[serde(skip)]
    pub door: KeyDoor,
}

use KeyDoor::{Both, Terminal, Web};
use KeyPlace::{Board, List, Over, Task};

const EVERYWHERE: &[KeyPlace] = &[Board, Task, List, Over];
const ON_TASKS: &[KeyPlace] = &[Board, Task, List];
const NONE: &[KeyPlace] = &[];

const fn row(
    keys: &'static [&'static str],
    act: KeyAct,
    word: &'static str,
    (places, foot): (&'static [KeyPlace], &'static [KeyPlace]),
    door: KeyDoor,
) -> BoardKey {
    BoardKey { keys, act, word, places, foot, door }
}

/// The keys in the order in which `?` shows them. A foot line takes as many as fit.
pub(crate) const KEYS: &[BoardKey] = &[
    row(&["j", "down"], KeyAct::Down, "down", (EVERYWHERE, NONE), Both),
    row(&["k", "up"], KeyAct::Up, "up", (EVERYWHERE, NONE), Both),
    row(&["h", "left"], KeyAct::Left, "left, over empty gates", (ON_TASKS, NONE), Both),
    row(&["l", "right"], KeyAct::Right, "right, over empty gates", (ON_TASKS, NONE), Both),
    row(&["enter"], KeyAct::Open, "open", (EVERYWHERE, &[Board, List, Over]), Both),
    row(&["esc"], KeyAct::Back, "back", (EVERYWHERE, &[Task, List, Over]), Both),
    row(&["tab"], KeyAct::OtherSide, "other side", (ON_TASKS, &[Task]), Terminal),
    row(&["a"], KeyAct::Approve, "approve", (ON_TASKS, ON_TASKS), Both),
    row(&["r"], KeyAct::SendBack, "send back", (ON_TASKS, ON_TASKS), Both),
    row(&["c"], KeyAct::Done, "done", (ON_TASKS, &[Board, Task]), Both),
    row(&["b"], KeyAct::Block, "blocked", (ON_TASKS, &[Task]), Both),
    row(&["u"], KeyAct::Unblock, "unblock", (ON_TASKS, NONE), Both),
    row(&["p"], KeyAct::Take, "take", (ON_TASKS, &[Board]), Both),
    row(&["i"], KeyAct::PlanFor, "plan for", (ON_TASKS, NONE), Both),
    row(&["m"], KeyAct::Comment, "comment", (ON_TASKS, &[Task]), Both),
    row(&["e"], KeyAct::Edit, "edit", (ON_TASKS, NONE), Both),
    row(&["n"], KeyAct::New, "new", (ON_TASKS, NONE), Both),
    row(&["z"], KeyAct::Undo, "undo my last act", (ON_TASKS, NONE), Both),
    row(&["d"], KeyAct::Diff, "diff", (ON_TASKS, NONE), Both),
    row(&["t"], KeyAct::History, "history", (ON_TASKS, NONE), Both),
    row(&["v"], KeyAct::Workflow, "workflow", (ON_TASKS, NONE), Both),
    row(&["/"], KeyAct::Filter, "filter", (ON_TASKS, ON_TASKS), Both),
    row(&["ctrl-k"], KeyAct::Jump, "jump to a task or an act", (ON_TASKS, NONE), Both),
    row(&["w", "g w"], KeyAct::Waiting, "waiting", (ON_TASKS, &[Board, Task]), Both),
    row(&["g b"], KeyAct::Board, "board", (ON_TASKS, NONE), Web),
    row(&["g l"], KeyAct::List, "list", (ON_TASKS, NONE), Web),
    row(&["g a"], KeyAct::Activity, "activity", (ON_TASKS, NONE), Web),
    row(&["g s"], KeyAct::Statistics, "statistics", (ON_TASKS, NONE), Web),
    row(&["x"], KeyAct::Select, "select", (&[List], &[List]), Both),
    row(&["J"], KeyAct::SelectDown, "select, and down", (&[List], NONE), Both),
    row(&["K"], KeyAct::SelectUp, "select, and up", (&[List], NONE), Both),
    row(&[".", ">"], KeyAct::NextWorkflow, "next workflow", (ON_TASKS, NONE), Both),
    row(&[",", "<"], KeyAct::PreviousWorkflow, "previous workflow", (ON_TASKS, NONE), Both),
    row(&["]"], KeyAct::NextProject, "next project, 1 to 9", (ON_TASKS, NONE), Terminal),
    row(&["["], KeyAct::PreviousProject, "previous project", (ON_TASKS, NONE), Terminal),
    row(&["g", "home"], KeyAct::First, "first", (EVERYWHERE, NONE), Terminal),
    row(&["G", "end"], KeyAct::Last, "last", (EVERYWHERE, NONE), Terminal),
    row(
        &["pgdn", "space", "ctrl-d", "ctrl-f"],
        KeyAct::PageDown,
        "a page down",
        (EVERYWHERE, NONE),
        Terminal,
    ),
    row(&["pgup", "ctrl-u", "ctrl-b"], KeyAct::PageUp, "a page up", (EVERYWHERE, NONE), Terminal),
    row(&["ctrl-l"], KeyAct::Redraw, "draw again", (EVERYWHERE, NONE), Terminal),
    row(&["ctrl-z"], KeyAct::Suspend, "to the shell, `fg` returns", (EVERYWHERE, NONE), Terminal),
    row(&["?"], KeyAct::Help, "keys", (EVERYWHERE, ON_TASKS), Both),
    row(&["q", "ctrl-c"], KeyAct::Quit, "quit", (EVERYWHERE, ON_TASKS), Terminal),
];

impl BoardKey {
    /// Returns true if that board knows the key.
    pub(crate) fn is_at(&self, door: KeyDoor) -> bool {
        self.door == Both || self.door == door
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Returns the table of the keys in Markdown.
    fn table() -> String {
        let line = |key: &BoardKey| {
            let names: Vec<String> = key.keys.iter().map(|key| format!("`{key}`")).collect();
            let place = match (key.door, key.places) {
                (_, [List]) => "in a list",
                (Both, _) => "",
                (Terminal, _) => "at the terminal",
                (Web, _) => "in the browser",
            };
            format!("| {} | {} | {place} |\n", names.join(" "), key.word)
        };
        let lines: String = KEYS.iter().map(line).collect();
        format!("| Key | Act | Where |\n|---|---|---|\n{lines}")
    }

    #[test]
    fn the_guide_has_the_keys() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guides/board.md");
        let guide = std::fs::read_to_string(guide).unwrap();
        let expected = table();
        assert!(guide.contains(&expected), "docs/guides/board.md must have:\n{expected}");
    }

    #[test]
    fn each_key_has_one_act_at_a_place() {
        for door in [Terminal, Web] {
            let mut seen = HashSet::new();
            for row in KEYS.iter().filter(|row| row.is_at(door)) {
                for (key, place) in
                    row.keys.iter().flat_map(|key| row.places.iter().map(move |at| (key, at)))
                {
                    assert!(
                        seen.insert((*key, format!("{place:?}"))),
                        "{door:?}: {key} at {place:?}"
                    );
                }
            }
        }
    }
}
