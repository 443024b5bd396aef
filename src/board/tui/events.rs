//! The effects of the mouse, the feeds, the workers and ended commands on the state.

use std::mem;

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::detail::{diff_lines, fault_lines, graph_lines};
use super::form::TuiForm;
use super::key_table::KeyContext;
use super::state::{ClickTarget, Effects, Overlay, TuiEffect, TuiState};
use super::text::lines;
use super::update::acts::{ActStart, begin};
use super::worker::{Denial, LoadedPage, WorkAnswer, WorkRequest};
use crate::board::model::feed::BoardNews;
use crate::board::model::keys::{KeyAct, KeyPlace};
use crate::domain::{GateId, TaskId};

impl TuiState {
    pub(super) fn receive(&mut self, project: usize, news: BoardNews) -> Effects {
        self.projects[project].receive(news);
        if project != self.current {
            return Vec::new();
        }
        // The task that is shown may have changed, or another one may be selected now.
        match &self.detail {
            Some(detail) if self.in_detail => self.ask(WorkRequest::Page(detail.id.clone())),
            Some(_) => self.follow(true),
            None => Vec::new(),
        }
    }

    pub(super) fn take_answer(&mut self, project: usize, answer: WorkAnswer) -> Effects {
        let is_shown = project == self.current;
        match answer {
            WorkAnswer::Act(done) => return self.take_done(project, done),
            WorkAnswer::Page(id, page) if is_shown => {
                self.take_page(&id, *page);
                let is_open = self.detail.as_ref().is_some_and(|detail| detail.id == id);
                let mention = self.project().mention(&id).filter(|_| is_open);
                let seen = mention.map(|mention| WorkRequest::Seen(id, mention.at));
                return seen.map(|seen| self.ask(seen)).unwrap_or_default();
            }
            WorkAnswer::Diff(id, diff) if is_shown => {
                let lines = diff.map_or_else(|why| fault_lines(&why), |diff| diff_lines(&diff));
                if let Some(detail) = self.detail.as_mut().filter(|detail| detail.id == id) {
                    detail.diff = Some(lines);
                }
            }
            WorkAnswer::Graph(name, text) if is_shown => {
                let board = self.project().board.clone();
                if let Some(detail) = self.detail.as_mut().filter(|shown| shown.workflow == name) {
                    let card = board.as_ref().and_then(|board| board.card(&detail.id));
                    let gate = card.and_then(|card| card.gate.as_ref()).map(GateId::as_str);
                    detail.graph = Some(match text {
                        Ok(text) => graph_lines(&text, gate),
                        Err(why) => fault_lines(&why),
                    });
                }
            }
            _ => {}
        }
        Vec::new()
    }

    pub(super) fn take_page(&mut self, id: &TaskId, page: Result<LoadedPage, Denial>) {
        let (you, board) = (self.project().you.clone(), self.project().board.clone());
        let board = board.unwrap_or_default();
        let pending = self.pending.take_if(|(ticket, _)| ticket.task == *id);
        if let Some((seen, asked)) = pending {
            self.message = None;
            match (&page, &you) {
                (Ok(loaded), Ok(you)) => match begin(asked, loaded, &seen, (you, &board)) {
                    ActStart::Form(form) => self.open_form(*form),
                    ActStart::Menu(forms) => self.overlay = Some(Overlay::Menu { forms, at: 0 }),
                    ActStart::Not(why) => self.message = Some((why, true)),
                },
                (Err(denial), _) => self.refuse(id.as_str(), denial),
                (_, Err(why)) => self.message = Some((why.clone(), true)),
            }
        }
        if let Some(detail) = self.detail.as_mut().filter(|detail| detail.id == *id) {
            match page {
                Ok(loaded) => detail.set_page(loaded, &board),
                Err(denial) => detail.set_fault(&denial.problem),
            }
        }
    }

    pub(super) fn take_done(&mut self, project: usize, done: Result<String, Denial>) -> Effects {
        self.is_busy = false;
        if done.is_err() {
            self.queue.clear();
        }
        match done {
            Ok(sentence) => {
                if let Some(next) = self.queue.pop_front() {
                    return self.send_act(next);
                }
                self.form = self.form.take().filter(|form| !form.is_sent);
                self.project_mut().marked.clear();
                self.note_done(sentence);
                let id = self.detail.as_ref().filter(|_| project == self.current);
                let id = id.map(|detail| detail.id.clone());
                id.map(|id| self.ask(WorkRequest::Page(id))).unwrap_or_default()
            }
            // If only a passphrase is missing, the command asks for it at the terminal.
            Err(denial) if denial.code == "cannot_sign" => {
                let words = self.form.as_ref().and_then(TuiForm::command);
                words.map(|words| vec![TuiEffect::Run(project, words)]).unwrap_or_default()
            }
            Err(denial) => {
                self.refuse("refused", &denial);
                Vec::new()
            }
        }
    }

    /// Shows a refusal in full, over the typed text.
    pub(super) fn refuse(&mut self, title: &str, denial: &Denial) {
        if let Some(form) = &mut self.form {
            form.is_sent = false;
        }
        let mut text = lines(&denial.problem);
        if let Some(fix) = &denial.fix {
            text.push(String::new());
            text.extend(lines(fix));
        }
        let title = title.to_owned();
        self.overlay = Some(Overlay::Text { title, lines: text, scroll: 0 });
    }

    /// Returns to the board after a command.
    pub(super) fn come_back(&mut self, outcome: Result<Option<String>, String>) -> Effects {
        match outcome {
            Ok(text) => {
                self.form = None;
                self.message = text.map(|text| (text, false));
            }
            Err(why) => {
                if let Some(form) = &mut self.form {
                    form.is_sent = false;
                }
                self.message = Some((why, true));
            }
        }
        let id = self.detail.as_ref().map(|detail| detail.id.clone());
        id.map(|id| self.ask(WorkRequest::Page(id))).unwrap_or_default()
    }

    pub(super) fn paste(&mut self, text: &str) {
        match (&mut self.form, &mut self.filter_line) {
            (Some(form), _) if self.overlay.is_none() => form.paste(text),
            (None, Some(line)) => {
                line.insert(&text.replace(['\r', '\n'], " "));
                self.filter();
            }
            _ => {}
        }
    }

    pub(super) fn point(&mut self, mouse: MouseEvent) -> Effects {
        let place = Position::new(mouse.column, mouse.row);
        let under = self.map.targets.iter().rev().find(|(area, _)| area.contains(place));
        let target = under.map(|(_, target)| *target);
        match mouse.kind {
            MouseEventKind::ScrollDown | MouseEventKind::ScrollUp => {
                let is_down = mouse.kind == MouseEventKind::ScrollDown;
                let asked = if is_down { KeyAct::Down } else { KeyAct::Up };
                self.roll(target, asked)
            }
            MouseEventKind::Down(MouseButton::Left) => self.click(target),
            _ => Vec::new(),
        }
    }

    pub(super) fn roll(&mut self, target: Option<ClickTarget>, asked: KeyAct) -> Effects {
        match (self.context(), target) {
            (KeyContext::Form | KeyContext::FilterLine | KeyContext::Jump, _) => Vec::new(),
            (KeyContext::Place(KeyPlace::Over), _) => self.press_in_overlay(asked),
            (_, Some(ClickTarget::Detail)) => {
                for _ in 0..2 {
                    self.scroll(asked);
                }
                self.scroll(asked)
            }
            (_, Some(ClickTarget::Row(_))) => self.step(asked),
            (_, Some(ClickTarget::Card { column, .. } | ClickTarget::Column(column))) => {
                let row = if column == self.project().column { self.project().row } else { 0 };
                self.project_mut().select(column, row);
                self.step(asked)
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn click(&mut self, target: Option<ClickTarget>) -> Effects {
        let has_board =
            matches!(self.context(), KeyContext::Place(place) if place != KeyPlace::Over);
        match target {
            Some(ClickTarget::Item(item)) => {
                let Some(Overlay::Menu { at, .. } | Overlay::Jump { at, .. }) = &mut self.overlay
                else {
                    return Vec::new();
                };
                if mem::replace(at, item) == item { self.choose() } else { Vec::new() }
            }
            Some(ClickTarget::Card { column, row }) if has_board => {
                let project = self.project();
                let was_there = !self.in_detail && (project.column, project.row) == (column, row);
                self.in_detail = false;
                if was_there {
                    return self.step(KeyAct::Open);
                }
                self.project_mut().select(column, row);
                self.follow(false)
            }
            Some(ClickTarget::Row(row)) if has_board => {
                let was_there = !self.in_detail && self.project().list_row == row;
                self.in_detail = false;
                if was_there {
                    return self.step(KeyAct::Open);
                }
                self.project_mut().select_row(row);
                self.follow(false)
            }
            Some(ClickTarget::Column(column)) if has_board => {
                self.in_detail = false;
                self.project_mut().select(column, 0);
                self.follow(false)
            }
            Some(ClickTarget::Tab(tab)) if has_board => self.show_tab(tab),
            Some(ClickTarget::Detail) if has_board => {
                self.in_detail = true;
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}
