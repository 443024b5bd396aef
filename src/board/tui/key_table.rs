//! The keys of the board: one table has the meaning of each, its places in the footer, and its text in the help.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The meaning of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyCommand {
    Left,
    Right,
    Down,
    Up,
    First,
    Last,
    PageDown,
    PageUp,
    Focus,
    Open,
    Back,
    Filter,
    Waiting,
    NextLane,
    PreviousLane,
    NextProject,
    PreviousProject,
    Timeline,
    Diff,
    Graph,
    New,
    Edit,
    Complete,
    Approve,
    Reject,
    Block,
    Unblock,
    Claim,
    Comment,
    Help,
    Redraw,
    Suspend,
    Quit,
}

/// The part of the screen that keys go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyContext {
    Board,
    Detail,
    /// A list to choose from.
    List,
    /// A text over the rest.
    Text,
    Form,
    FilterLine,
}

/// A key, or several keys with the same meaning.
struct KeyRow {
    codes: &'static [KeyCode],
    control: bool,
    shown: &'static str,
    does: &'static str,
    command: KeyCommand,
    /// The contexts in which the footer names the key.
    footer: &'static [KeyContext],
}

const fn plain(
    codes: &'static [KeyCode],
    shown: &'static str,
    does: &'static str,
    command: KeyCommand,
    footer: &'static [KeyContext],
) -> KeyRow {
    KeyRow { codes, control: false, shown, does, command, footer }
}

const fn control(
    codes: &'static [KeyCode],
    shown: &'static str,
    does: &'static str,
    command: KeyCommand,
) -> KeyRow {
    KeyRow { codes, control: true, shown, does, command, footer: &[] }
}

use KeyCode::Char;
use KeyContext::{Board, Detail, List, Text};

/// The keys in the order of the help; the footer takes as many as fit.
const KEYS: &[KeyRow] = &[
    plain(&[KeyCode::Enter], "enter", "open", KeyCommand::Open, &[Board, List]),
    plain(&[KeyCode::Esc], "esc", "back", KeyCommand::Back, &[Detail, List, Text]),
    plain(&[Char('?')], "?", "keys", KeyCommand::Help, &[Board, Detail]),
    plain(&[Char('q')], "q", "quit", KeyCommand::Quit, &[Board, Detail]),
    plain(&[Char('a')], "a", "approve", KeyCommand::Approve, &[Board, Detail]),
    plain(&[Char('r')], "r", "reject", KeyCommand::Reject, &[Board, Detail]),
    plain(&[Char('c')], "c", "complete", KeyCommand::Complete, &[Board, Detail]),
    plain(&[Char('d')], "d", "diff", KeyCommand::Diff, &[Board, Detail]),
    plain(&[Char('t')], "t", "timeline", KeyCommand::Timeline, &[Detail]),
    plain(&[Char('v')], "v", "workflow", KeyCommand::Graph, &[Detail]),
    plain(&[Char('/')], "/", "filter", KeyCommand::Filter, &[Board]),
    plain(&[Char('w')], "w", "waits for you", KeyCommand::Waiting, &[Board]),
    plain(&[Char('n')], "n", "new", KeyCommand::New, &[Board]),
    plain(&[Char('e')], "e", "edit", KeyCommand::Edit, &[Board, Detail]),
    plain(&[Char('b')], "b", "block", KeyCommand::Block, &[Detail]),
    plain(&[Char('u')], "u", "unblock", KeyCommand::Unblock, &[Detail]),
    plain(&[Char('p')], "p", "pick up: claim", KeyCommand::Claim, &[]),
    plain(&[Char('m')], "m", "comment", KeyCommand::Comment, &[]),
    plain(&[Char('h'), KeyCode::Left], "h ←", "left; the tab before", KeyCommand::Left, &[]),
    plain(&[Char('l'), KeyCode::Right], "l →", "right; the next tab", KeyCommand::Right, &[]),
    plain(&[Char('j'), KeyCode::Down], "j ↓", "down", KeyCommand::Down, &[Text]),
    plain(&[Char('k'), KeyCode::Up], "k ↑", "up", KeyCommand::Up, &[Text]),
    plain(&[Char('g'), KeyCode::Home], "g home", "first", KeyCommand::First, &[]),
    plain(&[Char('G'), KeyCode::End], "G end", "last", KeyCommand::Last, &[]),
    plain(&[KeyCode::PageDown, Char(' ')], "pgdn space", "a page down", KeyCommand::PageDown, &[]),
    plain(&[KeyCode::PageUp], "pgup", "a page up", KeyCommand::PageUp, &[]),
    control(&[Char('d'), Char('f')], "ctrl-d", "a page down", KeyCommand::PageDown),
    control(&[Char('u'), Char('b')], "ctrl-u", "a page up", KeyCommand::PageUp),
    plain(&[KeyCode::Tab], "tab", "from the board to the task, and back", KeyCommand::Focus, &[]),
    plain(&[Char('.'), Char('>')], ".", "the next workflow", KeyCommand::NextLane, &[]),
    plain(&[Char(','), Char('<')], ",", "the workflow before", KeyCommand::PreviousLane, &[]),
    plain(&[Char(']')], "]", "the next project; 1 to 9", KeyCommand::NextProject, &[]),
    plain(&[Char('[')], "[", "the project before", KeyCommand::PreviousProject, &[]),
    control(&[Char('l')], "ctrl-l", "draw again", KeyCommand::Redraw),
    control(&[Char('z')], "ctrl-z", "back to the shell; `fg` returns", KeyCommand::Suspend),
    control(&[Char('c')], "ctrl-c", "quit, from anywhere", KeyCommand::Quit),
];

/// Returns the meaning of a key. While text is typed, only keys with Ctrl have one.
pub(super) fn command(key: KeyEvent, context: KeyContext) -> Option<KeyCommand> {
    let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
    if key.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    let types = matches!(context, KeyContext::Form | KeyContext::FilterLine);
    let row = KEYS.iter().find(|row| row.control == has_control && row.codes.contains(&key.code));
    let command = row.map(|row| row.command)?;
    let always = [KeyCommand::Redraw, KeyCommand::Suspend, KeyCommand::Quit];
    (!types || has_control && always.contains(&command)).then_some(command)
}

/// Returns the keys that the footer names, with their meanings.
pub(super) fn footer(context: KeyContext) -> Vec<(&'static str, &'static str)> {
    match context {
        KeyContext::Form => vec![
            ("enter", "next, at the end send"),
            ("ctrl-s", "send"),
            ("alt-enter", "new line"),
            ("esc", "cancel"),
        ],
        KeyContext::FilterLine => vec![
            ("enter", "keep"),
            ("esc", "show all"),
            ("words", "is:mine is:overdue role: agent: tag:"),
        ],
        _ => {
            let named = KEYS.iter().filter(|row| row.footer.contains(&context));
            named.map(|row| (row.shown, row.does)).collect()
        }
    }
}

/// Returns all keys, as the help shows them.
pub(super) fn help() -> Vec<String> {
    KEYS.iter().map(|row| format!("{:<12}{}", row.shown, row.does)).collect()
}
