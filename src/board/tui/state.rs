//! The state of the board. Nothing here waits or touches a disk.

use std::collections::VecDeque;

use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;

use super::detail::{DetailPane, DetailTab};
use super::form::{TextEdit, TuiForm};
use super::key_table::KeyContext;
use super::project_view::ProjectView;
use super::theme::Theme;
use super::worker::{WorkAnswer, WorkRequest};
use crate::board::model::act::BoardAct;
use crate::board::model::feed::BoardNews;
use crate::board::model::keys::{KeyAct, KeyPlace};
use crate::domain::Ticket;

/// The width from which a task is shown beside the board.
const WIDE: u16 = 110;

/// An event of the board.
#[derive(Debug, Clone)]
pub(crate) enum TuiEvent {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Resize(u16, u16),
    /// A report of the feed of the project with that number.
    News(usize, BoardNews),
    /// An answer of the worker of the project with that number.
    Answer(usize, WorkAnswer),
    /// A command in the terminal has ended, with its result if that matters.
    Returned(Result<Option<String>, String>),
    /// The process continues after a stop.
    Resumed,
    Stop,
}

/// An effect that the loop must carry out after an event.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TuiEffect {
    Ask(usize, WorkRequest),
    /// Leaves the screen and runs this program with these words.
    Run(usize, Vec<String>),
    Redraw,
    Suspend,
    Quit,
}

/// An act that was sent, with its words for the person, as in `approve → done`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SentAct {
    pub project: usize,
    pub act: BoardAct,
    pub words: String,
}

/// An overlay of the board.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Overlay {
    /// A text: the help, or a refusal.
    Text { title: String, lines: Vec<String>, scroll: usize },
    /// The forms to choose from.
    Menu { forms: Vec<TuiForm>, at: usize },
    /// The tasks and acts that match a text.
    Jump { edit: TextEdit, at: usize },
}

/// A target of a click.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClickTarget {
    Card {
        column: usize,
        row: usize,
    },
    Column(usize),
    Tab(DetailTab),
    /// A row of the list.
    Row(usize),
    /// An item of a menu.
    Item(usize),
    Detail,
}

/// The positions of everything on the screen, from drawing to the state.
#[derive(Debug, Clone, Default)]
pub(super) struct ScreenMap {
    pub targets: Vec<(Rect, ClickTarget)>,
    /// The largest scroll position of the scrolled pane.
    pub reach: usize,
    /// The number of cards or lines on a page.
    pub page: usize,
}

/// The state of the board.
pub(super) struct TuiState {
    pub projects: Vec<ProjectView>,
    pub current: usize,
    pub theme: Theme,
    pub size: (u16, u16),
    pub detail: Option<DetailPane>,
    /// True if keys go to the task beside the board.
    pub in_detail: bool,
    pub overlay: Option<Overlay>,
    pub form: Option<TuiForm>,
    /// A form that was closed with text in it: it is shown again when the same act begins again.
    pub draft: Option<TuiForm>,
    pub filter_line: Option<TextEdit>,
    /// A sentence above the footer, and true if it is bad news.
    pub message: Option<(String, bool)>,
    /// An act that begins when the page of its task has arrived.
    pub pending: Option<(Ticket, KeyAct)>,
    /// True if an act is under way.
    pub is_busy: bool,
    /// The act that was sent.
    pub sent: Option<SentAct>,
    /// The acts that follow it, for the other selected tasks.
    pub queue: VecDeque<SentAct>,
    /// The last act of the person that can be taken back.
    pub last: Option<SentAct>,
    pub map: ScreenMap,
}

pub(super) type Effects = Vec<TuiEffect>;

impl TuiState {
    pub(super) fn new(projects: Vec<ProjectView>, theme: Theme, size: (u16, u16)) -> Self {
        Self {
            projects,
            current: 0,
            theme,
            size,
            detail: None,
            in_detail: false,
            overlay: None,
            form: None,
            draft: None,
            filter_line: None,
            message: None,
            pending: None,
            is_busy: false,
            sent: None,
            queue: VecDeque::new(),
            last: None,
            map: ScreenMap::default(),
        }
    }

    pub(super) fn project(&self) -> &ProjectView {
        &self.projects[self.current]
    }

    pub(super) fn project_mut(&mut self) -> &mut ProjectView {
        &mut self.projects[self.current]
    }

    /// Returns true if the task is shown beside the board.
    pub(super) fn is_wide(&self) -> bool {
        self.size.0 >= WIDE
    }

    /// Returns the part of the screen that keys go to now.
    pub(super) fn context(&self) -> KeyContext {
        match (&self.overlay, &self.form, &self.filter_line) {
            (Some(Overlay::Jump { .. }), ..) => KeyContext::Jump,
            (Some(_), ..) => KeyContext::Place(KeyPlace::Over),
            (None, Some(_), _) => KeyContext::Form,
            (None, None, Some(_)) => KeyContext::FilterLine,
            (None, None, None) if self.in_detail => KeyContext::Place(KeyPlace::Task),
            (None, None, None) if self.project().in_list => KeyContext::Place(KeyPlace::List),
            (None, None, None) => KeyContext::Place(KeyPlace::Board),
        }
    }

    pub(super) fn ask(&self, request: WorkRequest) -> Effects {
        vec![TuiEffect::Ask(self.current, request)]
    }
}
