//! One project on the board: the lane that is shown, the cards that pass the filter, and the selected card.

use std::sync::Arc;

use crate::board::model::columns::{BoardColumn, BoardLane, BoardView, Card};
use crate::board::model::feed::BoardNews;
use crate::domain::{AgentId, TaskId, WorkflowName};
use crate::tasks::headers::filter::TaskFilter;

/// One project, as the person looks at it.
#[derive(Debug, Clone)]
pub(crate) struct ProjectView {
    pub name: String,
    /// The agent who acts, or the reason why no one can.
    pub you: Result<AgentId, String>,
    pub board: Option<Arc<BoardView>>,
    /// The reason why the board may be out of date.
    pub trouble: Option<String>,
    pub filter: TaskFilter,
    pub filter_text: String,
    /// The lane that is shown; the first one if the board does not have it.
    workflow: Option<WorkflowName>,
    /// The cards that are shown, for each column of the lane, as indices in its list.
    shown: Vec<Vec<usize>>,
    /// The selected task. The selection follows the task to other columns.
    selected: Option<TaskId>,
    pub column: usize,
    pub row: usize,
}

impl ProjectView {
    pub(crate) fn new(name: String, you: Result<AgentId, String>) -> Self {
        let (filter, filter_text) = (TaskFilter::default(), String::new());
        Self {
            name,
            you,
            board: None,
            trouble: None,
            filter,
            filter_text,
            workflow: None,
            shown: Vec::new(),
            selected: None,
            column: 0,
            row: 0,
        }
    }

    /// Stores a report of the feed.
    pub(super) fn receive(&mut self, news: BoardNews) {
        match news {
            BoardNews::Trouble(why) => self.trouble = Some(why),
            BoardNews::Board(board) => {
                self.trouble = None;
                if let Some(name) = &board.project {
                    self.name.clone_from(name);
                }
                let is_first = self.board.is_none();
                self.board = Some(board);
                self.arrange();
                if is_first {
                    self.column = self.shown.iter().position(|one| !one.is_empty()).unwrap_or(0);
                    self.note_selection();
                }
            }
        }
    }

    /// Shows only the cards that pass the filter.
    pub(super) fn set_filter(&mut self, text: String, filter: TaskFilter) {
        (self.filter_text, self.filter) = (text, filter);
        self.arrange();
        if self.count(self.column) == 0 {
            let found = self.shown.iter().position(|column| !column.is_empty());
            self.column = found.unwrap_or(self.column);
            self.note_selection();
        }
    }

    /// Finds the shown cards, and the selected task among them. Runs once for each change, never for a key.
    fn arrange(&mut self) {
        let columns = self.lane().into_iter().flat_map(|lane| &lane.columns);
        let shown = columns.map(|column: &BoardColumn| -> Vec<usize> {
            let cards = column.cards.iter().enumerate();
            cards.filter(|(_, card)| self.filter.admits(*card)).map(|(at, _)| at).collect()
        });
        self.shown = shown.collect();
        if let Some(place) = self.selected.as_ref().and_then(|id| self.place_of(id)) {
            (self.column, self.row) = place;
        }
        self.clamp();
    }

    /// Returns column and row of a task in the lane that is shown.
    fn place_of(&self, id: &TaskId) -> Option<(usize, usize)> {
        let lane = self.lane()?;
        let mut columns = self.shown.iter().zip(&lane.columns).enumerate();
        columns.find_map(|(at, (shown, column))| {
            let row = shown.iter().position(|card| column.cards[*card].id == *id)?;
            Some((at, row))
        })
    }

    fn clamp(&mut self) {
        self.column = self.column.min(self.shown.len().saturating_sub(1));
        self.row = self.row.min(self.count(self.column).saturating_sub(1));
        self.note_selection();
    }

    fn note_selection(&mut self) {
        self.selected = self.card().map(|card| card.id.clone());
    }

    /// Returns the lane that is shown.
    pub(super) fn lane(&self) -> Option<&BoardLane> {
        let lanes = &self.board.as_ref()?.lanes;
        let current = lanes.iter().find(|lane| Some(&lane.workflow) == self.workflow.as_ref());
        current.or(lanes.first())
    }

    /// Returns the columns that are shown.
    pub(super) fn columns(&self) -> &[BoardColumn] {
        self.lane().map(|lane| lane.columns.as_slice()).unwrap_or_default()
    }

    /// Returns the number of cards of a column that are shown.
    pub(super) fn count(&self, column: usize) -> usize {
        self.shown.get(column).map_or(0, Vec::len)
    }

    /// Returns the card that is shown in that column and row.
    pub(super) fn card_at(&self, column: usize, row: usize) -> Option<&Card> {
        let at = *self.shown.get(column)?.get(row)?;
        self.columns().get(column)?.cards.get(at)
    }

    /// Returns the selected card.
    pub(super) fn card(&self) -> Option<&Card> {
        self.card_at(self.column, self.row)
    }

    /// Returns the tasks about which the reader may decide now, in the order of the board.
    pub(super) fn waiting(&self) -> Vec<&Card> {
        let board = self.board.iter();
        let tickets =
            board.flat_map(|board| board.waiting_for_you.iter().map(move |card| (board, card)));
        let cards = tickets.filter_map(|(board, ticket)| board.card(&ticket.task));
        let mut cards: Vec<&Card> = cards.collect();
        // Each branch of a fork has a ticket of its own.
        cards.dedup_by_key(|card| &card.id);
        cards
    }

    /// Selects by column and row. Both are limited to what exists.
    pub(super) fn select(&mut self, column: usize, row: usize) {
        (self.column, self.row) = (column, row);
        self.clamp();
    }

    /// Selects the next column, or the previous one.
    pub(super) fn step(&mut self, is_forward: bool) {
        let next = if is_forward { self.column + 1 } else { self.column.saturating_sub(1) };
        if next < self.shown.len() {
            self.select(next, self.row);
        }
    }

    /// Selects a task, in its lane. Returns true if the task is shown.
    pub(super) fn select_task(&mut self, id: &TaskId) -> bool {
        let board = self.board.clone();
        let Some(card) = board.as_ref().and_then(|board| board.card(id)) else { return false };
        if self.lane().is_none_or(|lane| lane.workflow != card.workflow) {
            self.workflow = Some(card.workflow.clone());
        }
        self.selected = Some(id.clone());
        self.arrange();
        self.selected.as_ref() == Some(id)
    }

    /// Shows another lane.
    pub(super) fn turn_lane(&mut self, is_forward: bool) {
        let Some(board) = self.board.clone() else { return };
        let count = board.lanes.len();
        let current = self.lane().map(|lane| &lane.workflow);
        let at = board.lanes.iter().position(|lane| Some(&lane.workflow) == current);
        let (Some(at), true) = (at, count > 1) else { return };
        let next = if is_forward { at + 1 } else { at + count - 1 } % count;
        self.workflow = Some(board.lanes[next].workflow.clone());
        (self.selected, self.row) = (None, 0);
        self.arrange();
        self.column = self.shown.iter().position(|column| !column.is_empty()).unwrap_or(0);
        self.clamp();
    }
}
