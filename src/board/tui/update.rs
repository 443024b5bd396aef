//! The effects of each event and each key on the state.

pub(super) mod acts;
pub(super) mod jump;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::detail::{DetailPane, DetailTab};
use super::form::{FormStep, TextEdit};
use super::key_table::{self, KeyContext, help};
use super::state::{Effects, Overlay, TuiEffect, TuiEvent, TuiState};
use super::worker::WorkRequest;
use crate::board::model::keys::{KeyAct, KeyPlace};
use crate::domain::TaskId;
use crate::tasks::headers::filter::TaskFilter;

impl TuiState {
    /// Handles an event. Returns the effects to carry out.
    pub(super) fn update(&mut self, event: TuiEvent) -> Effects {
        match event {
            TuiEvent::Key(key) => self.press(key),
            TuiEvent::Mouse(mouse) => self.point(mouse),
            TuiEvent::Paste(text) => {
                self.paste(&text);
                Vec::new()
            }
            TuiEvent::Resize(width, height) => {
                self.size = (width, height);
                // If only one pane fits, it shows the task.
                self.in_detail |= self.detail.is_some() && !self.is_wide();
                Vec::new()
            }
            TuiEvent::News(project, news) => self.receive(project, news),
            TuiEvent::Answer(project, answer) => self.take_answer(project, answer),
            TuiEvent::Returned(outcome) => self.come_back(outcome),
            TuiEvent::Resumed => vec![TuiEffect::Redraw],
            TuiEvent::Stop => vec![TuiEffect::Quit],
        }
    }

    pub(super) fn press(&mut self, key: KeyEvent) -> Effects {
        let context = self.context();
        let asked = key_table::act(key, context);
        match asked {
            Some(KeyAct::Suspend) => return vec![TuiEffect::Suspend],
            Some(KeyAct::Redraw) => return vec![TuiEffect::Redraw],
            Some(KeyAct::Quit) if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return vec![TuiEffect::Quit];
            }
            _ => {}
        }
        match context {
            KeyContext::Form => self.press_in_form(key),
            KeyContext::FilterLine => self.press_in_filter(key),
            KeyContext::Jump => self.press_in_jump(key),
            KeyContext::Place(KeyPlace::Over) => {
                asked.map(|asked| self.press_in_overlay(asked)).unwrap_or_default()
            }
            KeyContext::Place(_) => {
                self.message = None;
                // A person who goes on before the page has arrived no longer wants the act.
                self.pending = None;
                match (asked, key.code) {
                    (Some(asked), _) => self.run(asked),
                    (None, KeyCode::Char(digit @ '1'..='9')) => {
                        self.show_project(usize::from(digit as u8 - b'1'))
                    }
                    (None, _) => Vec::new(),
                }
            }
        }
    }

    pub(super) fn press_in_form(&mut self, key: KeyEvent) -> Effects {
        let Some(form) = &mut self.form else { return Vec::new() };
        match form.take(key) {
            FormStep::Stays => Vec::new(),
            FormStep::Closes => {
                self.draft = self.form.take().filter(|form| form.has_text() && !form.is_sent);
                Vec::new()
            }
            FormStep::Sends => self.send(),
        }
    }

    pub(super) fn press_in_filter(&mut self, key: KeyEvent) -> Effects {
        match key.code {
            KeyCode::Esc => {
                self.filter_line = None;
                self.message = None;
                self.project_mut().set_filter(String::new(), TaskFilter::default());
            }
            KeyCode::Enter => self.filter_line = None,
            _ => {
                if let Some(line) = &mut self.filter_line {
                    line.take(key);
                }
                self.filter();
            }
        }
        self.follow(false)
    }

    /// Filters by the text typed so far. A word without meaning is reported, and changes nothing.
    pub(super) fn filter(&mut self) {
        let Some(line) = &self.filter_line else { return };
        let text = line.text.clone();
        match text.parse() {
            Ok(filter) => {
                self.message = None;
                self.project_mut().set_filter(text, filter);
            }
            Err(fault) => self.message = Some((fault.to_string(), true)),
        }
    }

    pub(super) fn press_in_overlay(&mut self, asked: KeyAct) -> Effects {
        let (reach, page) = (self.map.reach, self.map.page.max(1));
        let Some(overlay) = &mut self.overlay else { return Vec::new() };
        let (at, last) = match overlay {
            Overlay::Text { scroll, .. } => (scroll, reach),
            Overlay::Menu { forms, at } => (at, forms.len().saturating_sub(1)),
            Overlay::Jump { .. } => return Vec::new(),
        };
        match asked {
            KeyAct::Down => *at = (*at + 1).min(last),
            KeyAct::Up => *at = at.saturating_sub(1),
            KeyAct::PageDown => *at = (*at + page).min(last),
            KeyAct::PageUp => *at = at.saturating_sub(page),
            KeyAct::First => *at = 0,
            KeyAct::Last => *at = last,
            KeyAct::Open => return self.choose(),
            KeyAct::Back | KeyAct::Quit | KeyAct::Help => {
                self.overlay = None;
            }
            _ => {}
        }
        Vec::new()
    }

    /// Opens the selected item.
    pub(super) fn choose(&mut self) -> Effects {
        match self.overlay.take() {
            Some(Overlay::Menu { mut forms, at }) if at < forms.len() => {
                self.open_form(forms.swap_remove(at));
                Vec::new()
            }
            jump @ Some(Overlay::Jump { .. }) => {
                self.overlay = jump;
                self.jump()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn run(&mut self, asked: KeyAct) -> Effects {
        match asked {
            KeyAct::Quit => return vec![TuiEffect::Quit],
            KeyAct::Help => {
                let title = "keys".to_owned();
                self.overlay = Some(Overlay::Text { title, lines: help(self.size.0), scroll: 0 });
            }
            KeyAct::Filter => {
                self.filter_line = Some(TextEdit::default());
                self.project_mut().set_filter(String::new(), TaskFilter::default());
            }
            KeyAct::Jump => self.overlay = Some(Overlay::Jump { edit: TextEdit::default(), at: 0 }),
            KeyAct::Waiting => {
                let in_list = !self.project().in_list;
                self.project_mut().show_list(in_list);
                (self.detail, self.in_detail) = (None, false);
            }
            KeyAct::Select => self.project_mut().mark(),
            KeyAct::SelectDown | KeyAct::SelectUp => {
                self.project_mut().mark_too();
                let is_down = asked == KeyAct::SelectDown;
                let effects = self.step(if is_down { KeyAct::Down } else { KeyAct::Up });
                self.project_mut().mark_too();
                return effects;
            }
            KeyAct::NextWorkflow | KeyAct::PreviousWorkflow => {
                self.project_mut().turn_lane(asked == KeyAct::NextWorkflow);
                return self.follow(false);
            }
            KeyAct::NextProject => {
                return self.show_project((self.current + 1) % self.projects.len());
            }
            KeyAct::PreviousProject => {
                let count = self.projects.len();
                return self.show_project((self.current + count - 1) % count);
            }
            KeyAct::History => return self.show_tab(DetailTab::History),
            KeyAct::Diff => return self.show_tab(DetailTab::Diff),
            KeyAct::Workflow => return self.show_tab(DetailTab::Graph),
            KeyAct::OtherSide if self.detail.is_some() => {
                self.in_detail = !self.in_detail || !self.is_wide();
            }
            KeyAct::Back => return self.back(),
            KeyAct::New
            | KeyAct::Edit
            | KeyAct::Done
            | KeyAct::Approve
            | KeyAct::SendBack
            | KeyAct::Block
            | KeyAct::Unblock
            | KeyAct::Take
            | KeyAct::PlanFor
            | KeyAct::Undo
            | KeyAct::Comment => return self.act(asked),
            _ if self.in_detail => return self.scroll(asked),
            _ => return self.step(asked),
        }
        Vec::new()
    }

    pub(super) fn back(&mut self) -> Effects {
        if let Some(detail) = self.detail.take() {
            self.in_detail = false;
            self.project_mut().see(&detail.id);
        } else if !self.project().filter.is_empty() {
            self.project_mut().set_filter(String::new(), TaskFilter::default());
        } else {
            self.project_mut().show_list(false);
        }
        Vec::new()
    }

    pub(super) fn step(&mut self, asked: KeyAct) -> Effects {
        let page = self.map.page.max(1);
        let project = self.project_mut();
        let (column, row) = (project.column, project.row);
        if asked != KeyAct::Open && project.in_list {
            let row = project.list_row;
            project.select_row(match asked {
                KeyAct::Down => row + 1,
                KeyAct::Up => row.saturating_sub(1),
                KeyAct::PageDown => row + page,
                KeyAct::PageUp => row.saturating_sub(page),
                KeyAct::First => 0,
                KeyAct::Last => usize::MAX,
                _ => row,
            });
            return self.follow(false);
        }
        match asked {
            KeyAct::Left => project.step(false),
            KeyAct::Right => project.step(true),
            KeyAct::Down => project.select(column, row + 1),
            KeyAct::Up => project.select(column, row.saturating_sub(1)),
            KeyAct::PageDown => project.select(column, row + page),
            KeyAct::PageUp => project.select(column, row.saturating_sub(page)),
            KeyAct::First => project.select(column, 0),
            KeyAct::Last => project.select(column, usize::MAX),
            KeyAct::Open => {
                let id = project.card().map(|card| card.id.clone());
                return id.map(|id| self.open_task(&id, DetailTab::Task)).unwrap_or_default();
            }
            _ => {}
        }
        self.follow(false)
    }

    pub(super) fn scroll(&mut self, asked: KeyAct) -> Effects {
        let (reach, page) = (self.map.reach, self.map.page.max(1));
        let Some(detail) = &mut self.detail else { return Vec::new() };
        let at = detail.scroll.min(reach);
        detail.scroll = match asked {
            KeyAct::Down => (at + 1).min(reach),
            KeyAct::Up => at.saturating_sub(1),
            KeyAct::PageDown => (at + page).min(reach),
            KeyAct::PageUp => at.saturating_sub(page),
            KeyAct::First => 0,
            KeyAct::Last => reach,
            KeyAct::Left | KeyAct::Right => {
                let tab = detail.tab.turned(asked == KeyAct::Right);
                return self.show_tab(tab);
            }
            _ => at,
        };
        Vec::new()
    }

    pub(super) fn show_project(&mut self, at: usize) -> Effects {
        if at < self.projects.len() && at != self.current {
            self.current = at;
            self.detail = None;
            self.in_detail = false;
            self.pending = None;
        }
        Vec::new()
    }

    /// Opens a task at a tab.
    pub(super) fn open_task(&mut self, id: &TaskId, tab: DetailTab) -> Effects {
        if self.project().in_list && self.project().card().is_none_or(|card| card.id != *id) {
            self.project_mut().show_list(false);
        }
        if !self.project_mut().select_task(id) {
            // The filter hides it.
            self.project_mut().set_filter(String::new(), TaskFilter::default());
            self.project_mut().select_task(id);
        }
        let Some(card) = self.project().card().filter(|card| card.id == *id) else {
            self.message = Some((format!("{id} is no longer on the board"), true));
            return Vec::new();
        };
        let workflow = card.workflow.clone();
        self.detail = Some(DetailPane::new(id.clone(), workflow, tab));
        self.in_detail = true;
        let mut effects = self.ask(WorkRequest::Page(id.clone()));
        effects.extend(self.load_tab());
        effects
    }

    /// Shows the selected task beside the board; with `again`, also if it is already shown.
    pub(super) fn follow(&mut self, again: bool) -> Effects {
        let Some(card) = self.project().card() else { return Vec::new() };
        let (id, workflow) = (card.id.clone(), card.workflow.clone());
        let Some(detail) = &self.detail else { return Vec::new() };
        let tab = detail.tab;
        if detail.id != id {
            self.detail = Some(DetailPane::new(id.clone(), workflow, tab));
        } else if !again {
            return Vec::new();
        }
        let mut effects = self.ask(WorkRequest::Page(id));
        effects.extend(self.load_tab());
        effects
    }

    pub(super) fn show_tab(&mut self, tab: DetailTab) -> Effects {
        let Some(detail) = &mut self.detail else {
            let id = self.project().card().map(|card| card.id.clone());
            return id.map(|id| self.open_task(&id, tab)).unwrap_or_default();
        };
        (detail.tab, detail.scroll) = (tab, 0);
        // A tab that is opened again is read again.
        match tab {
            DetailTab::Diff => detail.diff = None,
            DetailTab::Graph => detail.graph = None,
            DetailTab::Task | DetailTab::History => {}
        }
        self.in_detail = true;
        self.load_tab()
    }

    pub(super) fn load_tab(&self) -> Effects {
        match &self.detail {
            Some(DetailPane { tab: DetailTab::Diff, diff: None, id, .. }) => {
                self.ask(WorkRequest::Diff(id.clone()))
            }
            Some(DetailPane { tab: DetailTab::Graph, graph: None, workflow, .. }) => {
                self.ask(WorkRequest::Graph(workflow.clone()))
            }
            _ => Vec::new(),
        }
    }
}
