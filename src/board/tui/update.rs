//! The effects of each event and each key on the state.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::detail::{DetailPane, DetailTab};
use super::form::{FormPurpose, FormStep, TextEdit, TuiForm};
use super::key_table::{self, KeyContext, help};
use super::state::{Effects, Overlay, TuiEffect, TuiEvent, TuiState};
use super::worker::WorkRequest;
use crate::board::model::act::BoardAct;
use crate::board::model::keys::{KeyAct, KeyPlace};
use crate::domain::TaskId;
use crate::operations::arguments::Arguments;
use crate::operations::table::{CLAIM, COMMENT, UNBLOCK};
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
            KeyContext::Place(KeyPlace::List | KeyPlace::Over) => {
                asked.map(|asked| self.press_in_overlay(asked)).unwrap_or_default()
            }
            KeyContext::Place(KeyPlace::Board | KeyPlace::Task) => {
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

    pub(super) fn send(&mut self) -> Effects {
        let Some(form) = &mut self.form else { return Vec::new() };
        match form.act() {
            Some(act) => {
                form.is_sent = true;
                self.is_busy = true;
                self.ask(WorkRequest::Act(Box::new(act)))
            }
            None if !form.has_text() => {
                self.message = Some(("a task needs a title".to_owned(), true));
                Vec::new()
            }
            None => {
                let words = form.command().unwrap_or_default();
                form.is_sent = true;
                vec![TuiEffect::Run(self.current, words)]
            }
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
        let waiting = self.project().waiting().len();
        let (reach, page) = (self.map.reach, self.map.page.max(1));
        let Some(overlay) = &mut self.overlay else { return Vec::new() };
        let (at, last) = match overlay {
            Overlay::Text { scroll, .. } => (scroll, reach),
            Overlay::Menu { forms, at } => (at, forms.len().saturating_sub(1)),
            Overlay::Waiting { at } => (at, waiting.saturating_sub(1)),
        };
        match asked {
            KeyAct::Down => *at = (*at + 1).min(last),
            KeyAct::Up => *at = at.saturating_sub(1),
            KeyAct::PageDown => *at = (*at + page).min(last),
            KeyAct::PageUp => *at = at.saturating_sub(page),
            KeyAct::First => *at = 0,
            KeyAct::Last => *at = last,
            KeyAct::Open => return self.choose(),
            KeyAct::Back | KeyAct::Quit | KeyAct::Help | KeyAct::Waiting => {
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
            Some(Overlay::Waiting { at }) => {
                let id = self.project().waiting().get(at).map(|card| card.id.clone());
                id.map(|id| self.open_task(&id, DetailTab::Task)).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn run(&mut self, asked: KeyAct) -> Effects {
        match asked {
            KeyAct::Quit => return vec![TuiEffect::Quit],
            KeyAct::Help => {
                let title = "keys".to_owned();
                self.overlay = Some(Overlay::Text { title, lines: help(), scroll: 0 });
            }
            KeyAct::Filter => {
                self.filter_line = Some(TextEdit::new(&self.project().filter_text));
            }
            KeyAct::Waiting => self.overlay = Some(Overlay::Waiting { at: 0 }),
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
            KeyAct::History => return self.show_tab(DetailTab::Timeline),
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
            | KeyAct::Comment => return self.act(asked),
            _ if self.in_detail => return self.scroll(asked),
            _ => return self.step(asked),
        }
        Vec::new()
    }

    pub(super) fn back(&mut self) -> Effects {
        if self.detail.take().is_some() {
            self.in_detail = false;
        } else if !self.project().filter.is_empty() {
            self.project_mut().set_filter(String::new(), TaskFilter::default());
        }
        Vec::new()
    }

    pub(super) fn step(&mut self, asked: KeyAct) -> Effects {
        let page = self.map.page.max(1);
        let project = self.project_mut();
        let (column, row) = (project.column, project.row);
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
            DetailTab::Task | DetailTab::Timeline => {}
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

    /// Begins an act on the task that is shown or selected.
    pub(super) fn act(&mut self, asked: KeyAct) -> Effects {
        if asked == KeyAct::New {
            let purpose = FormPurpose::New;
            let mut form = TuiForm::new(purpose, "a new task".to_owned(), "title");
            form.lead.push("its text is written in your editor afterwards".to_owned());
            self.open_form(form);
            return Vec::new();
        }
        let shown = self.detail.as_ref().filter(|_| self.in_detail).map(|detail| &detail.id);
        let board = self.project().board.clone();
        let card = match shown {
            Some(id) => board.as_ref().and_then(|board| board.card(id)),
            None => self.project().card(),
        };
        let Some(card) = card else {
            self.message = Some(("no task is selected".to_owned(), true));
            return Vec::new();
        };
        let (id, ticket) = (card.id.clone(), card.ticket.clone());
        if asked == KeyAct::Edit {
            return vec![TuiEffect::Run(self.current, vec!["edit".to_owned(), id.to_string()])];
        }
        if let Err(why) = &self.project().you {
            let why = format!("the board is read-only: {why}");
            self.message = Some((why, true));
            return Vec::new();
        }
        if self.is_busy {
            self.message = Some(("the last act is still under way".to_owned(), true));
            return Vec::new();
        }
        match asked {
            KeyAct::Unblock => {
                let title = format!("{ticket}: unblock");
                let label = "why; may stay empty";
                self.open_form(TuiForm::new(FormPurpose::Act(&UNBLOCK, ticket), title, label));
            }
            KeyAct::Comment => {
                let title = format!("{id}: comment");
                let purpose = FormPurpose::Act(&COMMENT, ticket);
                self.open_form(TuiForm::new(purpose, title, "comment"));
            }
            KeyAct::Take => {
                self.is_busy = true;
                let (ticket, given) = (Some(ticket), Arguments::default());
                let act = BoardAct { operation: &CLAIM, ticket, given };
                return self.ask(WorkRequest::Act(Box::new(act)));
            }
            _ => {
                // The page has the possible outcomes; it is read again, so that the form fits the current state.
                self.pending = Some((ticket, asked));
                self.message = Some((format!("{id}: reading ..."), false));
                return self.ask(WorkRequest::Page(id));
            }
        }
        Vec::new()
    }

    pub(super) fn open_form(&mut self, form: TuiForm) {
        self.message = None;
        let same = |draft: &TuiForm| match (&draft.purpose, &form.purpose) {
            (
                FormPurpose::Complete { ticket, outcome, .. },
                FormPurpose::Complete { ticket: now, outcome: other, .. },
            ) => ticket == now && outcome == other,
            (draft, other) => draft == other,
        };
        self.form = Some(match self.draft.take().filter(same) {
            Some(draft) => TuiForm { purpose: form.purpose, focus: 0, ..draft },
            None => form,
        });
    }
}
