//! The keys of the terminal board, from the table of both boards.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::board::model::keys::{BoardKey, KEYS, KeyAct, KeyDoor, KeyPlace};

/// The part of the screen that keys go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyContext {
    Place(KeyPlace),
    Form,
    FilterLine,
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
        KeyContext::Form | KeyContext::FilterLine => {
            name.starts_with("ctrl-") && always.contains(&row.act)
        }
    };
    counts.then_some(row.act)
}

/// Returns the keys that the foot line names, with their words.
pub(super) fn foot(context: KeyContext) -> Vec<(&'static str, &'static str)> {
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
        KeyContext::Place(place) => {
            let named = keys().filter(|row| row.foot.contains(&place));
            named.map(|row| (row.keys[0], row.word)).collect()
        }
    }
}

/// Returns all keys, as the help shows them.
pub(super) fn help() -> Vec<String> {
    let shown = |row: &BoardKey| {
        let keys = row.keys.iter().filter(|key| !key.contains(' ')).copied();
        format!("{:<24}{}", keys.collect::<Vec<_>>().join(" "), row.word)
    };
    keys().map(shown).collect()
}
