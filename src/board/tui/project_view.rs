//! One project on the board: the lane that is shown, the cards that pass the filter, and the selected card.

use std::collections::HashMap;
use std::sync::Arc;

use crate::board::model::columns::{BoardColumn, BoardLane, BoardView, Card};
use crate::board::model::feed::BoardNews;
use crate::domain::{AgentId, TaskId, WorkflowName};
use crate::tasks::headers::filter::TaskFilter;
use crate::tasks::headers::mentions::Mention;

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
    /// A task that the reader passes on: the selection does not follow it.
    pub leaving: Option<TaskId>,
    pub column: usize,
    pub row: usize,
    /// True if the tasks that wait for the reader take the place of the columns.
    pub in_list: bool,
    pub list_row: usize,
    /// The tasks of the list that are selected together.
    pub marked: Vec<TaskId>,
    /// The tasks of the list that pass the filter.
    list: Vec<ListedTask>,
}

/// A task of the list, with its place on the board.
#[derive(Debug, Clone)]
struct ListedTask {
    id: TaskId,
    lane: usize,
    column: usize,
    card: usize,
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
            leaving: None,
            column: 0,
            row: 0,
            in_list: false,
            list_row: 0,
            marked: Vec::new(),
            list: Vec::new(),
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
                // Without a choice the workflow with most for the reader is shown, and stays.
                let first = || board.tabs().first().map(|lane| lane.workflow.clone());
                self.workflow = self.workflow.take().or_else(first);
                self.board = Some(board);
                self.arrange();
            }
        }
    }

    /// Takes out the mention of a task that the reader has seen.
    pub(super) fn see(&mut self, task: &TaskId) {
        if self.mention(task).is_some() {
            self.board.as_mut().and_then(|board| Arc::make_mut(board).see(task));
            self.arrange();
        }
    }

    /// Returns the comment in a task that mentions the reader.
    pub(super) fn mention(&self, task: &TaskId) -> Option<&Mention> {
        self.board.as_ref()?.mentions.iter().find(|mention| mention.task == *task)
    }

    /// Shows only the cards that pass the filter.
    pub(super) fn set_filter(&mut self, text: String, filter: TaskFilter) {
        (self.filter_text, self.filter) = (text, filter);
        self.arrange();
    }

    /// Finds the shown cards, and the selected task among them. Runs once for each change, never for a key.
    fn arrange(&mut self) {
        let columns = self.lane().into_iter().flat_map(|lane| &lane.columns);
        let shown = columns.map(|column: &BoardColumn| -> Vec<usize> {
            let cards = column.cards.iter().enumerate();
            cards.filter(|(_, card)| self.filter.admits(*card)).map(|(at, _)| at).collect()
        });
        self.shown = shown.collect();
        let follows = self.selected.as_ref().filter(|id| self.leaving.as_ref() != Some(id));
        if let Some(place) = follows.and_then(|id| self.place_of(id)) {
            (self.column, self.row) = place;
        }
        self.clamp();
        let listed = self.list.get(self.list_row).map(|listed| listed.id.clone());
        self.list = self.waiting();
        let row = self.list.iter().position(|now| Some(&now.id) == listed.as_ref());
        // A task that was decided makes room for the next one.
        self.select_row(row.unwrap_or(self.list_row));
        let list = &self.list;
        self.marked.retain(|id| list.iter().any(|listed| listed.id == *id));
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
        let has_cards = |at: &usize| self.count(*at) > 0;
        let nearest = (self.column..self.shown.len()).chain((0..self.column).rev()).find(has_cards);
        self.column = nearest.unwrap_or(self.column);
        self.row = self.row.min(self.count(self.column).saturating_sub(1));
        self.note_selection();
    }

    fn note_selection(&mut self) {
        self.selected = self.board_card().map(|card| card.id.clone());
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

    /// Returns the number of cards of the lane that are shown.
    pub(super) fn shown_count(&self) -> usize {
        self.shown.iter().map(Vec::len).sum()
    }

    /// Returns the card that is shown in that column and row.
    pub(super) fn card_at(&self, column: usize, row: usize) -> Option<&Card> {
        let at = *self.shown.get(column)?.get(row)?;
        self.columns().get(column)?.cards.get(at)
    }

    /// Returns the selected card.
    pub(super) fn card(&self) -> Option<&Card> {
        if self.in_list { self.listed_card(self.list_row) } else { self.board_card() }
    }

    /// Returns the card that is selected in the columns.
    fn board_card(&self) -> Option<&Card> {
        self.card_at(self.column, self.row)
    }

    /// Returns the tasks about which the reader may decide now, the most urgent first.
    fn waiting(&self) -> Vec<ListedTask> {
        let Some(board) = &self.board else { return Vec::new() };
        // Each branch of a fork has a ticket of its own: the first one counts.
        let decisions = board.waiting_for_you.iter().map(|ticket| &ticket.task);
        let tasks = decisions.chain(board.mentions.iter().map(|mention| &mention.task));
        let tasks: Vec<&TaskId> = tasks.collect();
        let tasks = tasks.into_iter().enumerate().rev();
        let order: HashMap<&TaskId, usize> = tasks.map(|(at, task)| (task, at)).collect();
        let mut found = Vec::new();
        for (lane, shown) in board.lanes.iter().enumerate() {
            for (column, cards) in shown.columns.iter().enumerate() {
                let cards = cards.cards.iter().enumerate();
                found.extend(cards.filter(|(_, card)| self.filter.admits(*card)).filter_map(
                    |(at, card)| {
                        let id = card.id.clone();
                        Some((*order.get(&id)?, ListedTask { id, lane, column, card: at }))
                    },
                ));
            }
        }
        found.sort_by_key(|(order, _)| *order);
        found.into_iter().map(|(_, listed)| listed).collect()
    }

    /// Returns the number of tasks in the list.
    pub(super) fn listed(&self) -> usize {
        self.list.len()
    }

    /// Returns the card in that row of the list.
    pub(super) fn listed_card(&self, row: usize) -> Option<&Card> {
        let ListedTask { lane, column, card, .. } = self.list.get(row)?;
        self.board.as_ref()?.lanes.get(*lane)?.columns.get(*column)?.cards.get(*card)
    }

    /// Selects a row of the list, limited to what exists.
    pub(super) fn select_row(&mut self, row: usize) {
        self.list_row = row.min(self.list.len().saturating_sub(1));
    }

    /// Selects the task of the row for a common act, or no longer.
    pub(super) fn mark(&mut self) {
        let count = self.marked.len();
        self.mark_too();
        if let (true, Some(listed)) = (self.marked.len() == count, self.list.get(self.list_row)) {
            self.marked.retain(|id| *id != listed.id);
        }
    }

    /// Selects the task of the row, too.
    pub(super) fn mark_too(&mut self) {
        let id = self.list.get(self.list_row).map(|listed| listed.id.clone());
        self.marked.extend(id.filter(|id| !self.marked.contains(id)));
    }

    /// Shows the list in place of the columns, or the columns again.
    pub(super) fn show_list(&mut self, in_list: bool) {
        (self.in_list, self.list_row) = (in_list, 0);
        self.marked.clear();
    }

    /// Selects by column and row. Both are limited to what exists.
    pub(super) fn select(&mut self, column: usize, row: usize) {
        (self.column, self.row, self.leaving) = (column, row, None);
        self.clamp();
    }

    /// Selects the next column with cards, or the previous one.
    pub(super) fn step(&mut self, is_forward: bool) {
        let has_cards = |at: &usize| self.count(*at) > 0;
        let next = if is_forward {
            (self.column + 1..self.shown.len()).find(has_cards)
        } else {
            (0..self.column).rev().find(has_cards)
        };
        if let Some(next) = next {
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
        (self.selected, self.leaving) = (Some(id.clone()), None);
        self.arrange();
        self.selected.as_ref() == Some(id)
    }

    /// Shows another lane.
    pub(super) fn turn_lane(&mut self, is_forward: bool) {
        let Some(board) = self.board.clone() else { return };
        let tabs = board.tabs();
        let count = tabs.len();
        let current = self.lane().map(|lane| &lane.workflow);
        let at = tabs.iter().position(|lane| Some(&lane.workflow) == current);
        let (Some(at), true) = (at, count > 1) else { return };
        let next = if is_forward { at + 1 } else { at + count - 1 } % count;
        self.workflow = Some(tabs[next].workflow.clone());
        (self.selected, self.row) = (None, 0);
        self.column = 0;
        self.arrange();
    }
}
