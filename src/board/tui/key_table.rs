//! The keys of the terminal board, from the table of both boards.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::board::model::keys::{BoardKey, KEYS, KeyAct, KeyDoor, KeyPlace};

/// The width from which the help has two columns.
const TWO_COLUMNS: u16 = 80;

/// The part of the screen that keys go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyContext {
    Place(KeyPlace),
    Form,
    FilterLine,
    /// The line of a jump, above its hits.
    Jump,
}

/// Returns the name of a key as the table has it.
fn name(key: KeyEvent) -> Option<String> {
    let name = match key.code {
        KeyCode::Enter => "enter",
        KeyCode::Esc => "esc",
        KeyCode::Tab => "tab",
        KeyCode::Left => "left",
        KeyCode::Right => "right",
        KeyCode::Up => "up",
        KeyCode::Down => "down",
        KeyCode::Home => "home",
        KeyCode::End => "end",
        KeyCode::PageUp => "pgup",
        KeyCode::PageDown => "pgdn",
        KeyCode::Char(' ') => "space",
        KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            return Some(format!("ctrl-{c}"));
        }
        KeyCode::Char(c) => return Some(c.to_string()),
        _ => return None,
    };
    Some(name.to_owned())
}

fn keys() -> impl Iterator<Item = &'static BoardKey> {
    KEYS.iter().filter(|row| row.is_at(KeyDoor::Terminal))
}

/// Returns the act of a key. While text is typed, only keys with Ctrl have one.
pub(super) fn act(key: KeyEvent, context: KeyContext) -> Option<KeyAct> {
    if key.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    let name = name(key)?;
    let row = keys().find(|row| row.keys.contains(&name.as_str()))?;
    let always = [KeyAct::Redraw, KeyAct::Suspend, KeyAct::Quit];
    let counts = match context {
        KeyContext::Place(place) => row.places.contains(&place),
        KeyContext::Form | KeyContext::FilterLine | KeyContext::Jump => {
            name.starts_with("ctrl-") && always.contains(&row.act)
        }
    };
    counts.then_some(row.act)
}

/// Returns the keys that the foot line names, with their words. Only a wide terminal has another side.
pub(super) fn foot(context: KeyContext, is_wide: bool) -> Vec<(&'static str, &'static str)> {
    match context {
        KeyContext::Form => vec![
            ("enter", "next, at the end send"),
            ("ctrl-s", "send"),
            ("alt-enter", "new line"),
            ("esc", "cancel"),
        ],
        KeyContext::FilterLine => vec![
            ("enter", "keep"),
            ("esc", "clear"),
            ("words", "is:mine is:overdue role: agent: tag:"),
        ],
        KeyContext::Jump => vec![("enter", "go"), ("esc", "back")],
        KeyContext::Place(place) => {
            let counts = |row: &BoardKey| is_wide || row.act != KeyAct::OtherSide;
            let named = keys().filter(|row| row.foot.contains(&place) && counts(row));
            named.map(|row| (row.keys[0], row.word)).collect()
        }
    }
}

/// Returns all keys, as the help shows them: in two columns if there is room.
pub(super) fn help(width: u16) -> Vec<String> {
    let shown = |row: &BoardKey| {
        let keys = row.keys.iter().filter(|key| !key.contains(' ')).take(2).copied();
        format!("{:<12}{}", keys.collect::<Vec<_>>().join(" "), row.word)
    };
    let lines: Vec<String> = keys().map(shown).collect();
    if width < TWO_COLUMNS {
        return lines;
    }
    let (left, right) = lines.split_at(lines.len().div_ceil(2));
    let right = right.iter().map(String::as_str).chain([""]);
    left.iter().zip(right).map(|(left, right)| format!("{left:<38}{right}")).collect()
}
