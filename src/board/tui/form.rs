//! Typed input: lines with a cursor, and forms of several lines.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

use crate::board::model::act::BoardAct;
use crate::board::model::page::OutputField;
use crate::domain::{CompletionId, Map, Outcome, Ticket};
use crate::operations::Operation;
use crate::operations::arguments::Arguments;
use crate::operations::fields::Doors;
use crate::operations::table::{COMPLETE, EDIT};

/// A text with a cursor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TextEdit {
    pub text: String,
    /// A place between two characters, in bytes.
    pub cursor: usize,
}

impl TextEdit {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), cursor: text.len() }
    }

    pub(super) fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..].chars().next().map_or(self.cursor, |c| self.cursor + c.len_utf8())
    }

    /// Changes the text according to a key. Returns true if the key has a meaning here.
    pub(super) fn take(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if control => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
            KeyCode::Char('w') if control => {
                let kept = self.text[..self.cursor].trim_end();
                let start = kept
                    .rfind(char::is_whitespace)
                    .map_or(0, |at| at + kept[at..].chars().next().map_or(1, char::len_utf8));
                self.text.drain(start..self.cursor);
                self.cursor = start;
            }
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = self.text.len(),
            KeyCode::Char(_) if control => return false,
            KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::ALT) => {
                self.insert(c.encode_utf8(&mut [0; 4]));
            }
            KeyCode::Backspace => {
                let start = self.before();
                self.text.drain(start..self.cursor);
                self.cursor = start;
            }
            KeyCode::Delete => {
                let end = self.after();
                self.text.drain(self.cursor..end);
            }
            KeyCode::Left => self.cursor = self.before(),
            KeyCode::Right => self.cursor = self.after(),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => return false,
        }
        true
    }
}

/// The purpose of a field of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FieldKind {
    /// The one text of the form: a summary, a reason or a title.
    Main,
    Blocker,
    /// A value that the gate hands on.
    Output(Box<OutputField>),
}

/// A line of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FormField {
    pub kind: FieldKind,
    pub label: String,
    pub edit: TextEdit,
}

/// The purpose of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FormPurpose {
    Complete {
        ticket: Ticket,
        outcome: Outcome,
        id: CompletionId,
    },
    /// An operation with at most one text.
    Act(&'static Operation, Ticket),
    /// The names of those for whom a task is planned.
    Plan(Ticket),
    /// The approval of several tasks, each with its outcome.
    ApproveAll(Vec<(Ticket, String)>),
    New,
}

/// A form over the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TuiForm {
    pub purpose: FormPurpose,
    /// The task that it is about, and the act in words, as in `Approve → done`.
    pub subject: String,
    pub label: String,
    pub lead: Vec<String>,
    pub fields: Vec<FormField>,
    pub focus: usize,
    /// The default of the main text.
    pub usual: Option<String>,
    /// True if the form was sent and there is no answer yet.
    pub is_sent: bool,
}

/// The effect of a key on a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormStep {
    Stays,
    Closes,
    Sends,
}

impl TuiForm {
    pub(super) fn new(purpose: FormPurpose, (subject, label): (&str, String), main: &str) -> Self {
        let main =
            FormField { kind: FieldKind::Main, label: main.to_owned(), edit: TextEdit::default() };
        let (subject, lead, usual) = (subject.to_owned(), Vec::new(), None);
        Self { purpose, subject, label, lead, fields: vec![main], focus: 0, usual, is_sent: false }
    }

    pub(super) fn add_field(&mut self, kind: FieldKind, label: String, text: &str) {
        self.fields.push(FormField { kind, label, edit: TextEdit::new(text) });
    }

    fn is_blank(&self, at: usize) -> bool {
        self.fields.get(at).is_none_or(|field| field.edit.text.trim().is_empty())
    }

    /// Handles a key. Enter moves to the next field; on the last one it sends the form.
    pub(super) fn take(&mut self, key: KeyEvent) -> FormStep {
        if key.code == KeyCode::Esc {
            return FormStep::Closes;
        }
        // A form that was sent no longer changes.
        if self.is_sent {
            return FormStep::Stays;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('s') if control => return FormStep::Sends,
            KeyCode::Enter if alt => self.paste("\n"),
            KeyCode::Char('j') if control => self.paste("\n"),
            KeyCode::Enter => {
                let is_blocker = self.fields[self.focus].kind == FieldKind::Blocker;
                let next_is = self.fields.get(self.focus + 1).map(|field| &field.kind);
                if is_blocker && !self.is_blank(self.focus) && next_is != Some(&FieldKind::Blocker)
                {
                    let label = self.fields[self.focus].label.clone();
                    let edit = TextEdit::default();
                    let more = FormField { kind: FieldKind::Blocker, label, edit };
                    self.fields.insert(self.focus + 1, more);
                }
                if self.focus + 1 == self.fields.len() {
                    return FormStep::Sends;
                }
                self.focus += 1;
            }
            KeyCode::Tab | KeyCode::Down => self.focus = (self.focus + 1) % self.fields.len(),
            KeyCode::BackTab | KeyCode::Up => {
                self.focus = (self.focus + self.fields.len() - 1) % self.fields.len();
            }
            _ => {
                self.fields[self.focus].edit.take(key);
            }
        }
        FormStep::Stays
    }

    /// Inserts a pasted text: newlines in it send nothing.
    pub(super) fn paste(&mut self, text: &str) {
        if !self.is_sent {
            self.fields[self.focus].edit.insert(&text.replace("\r\n", "\n").replace('\r', "\n"));
        }
    }

    fn main(&self) -> String {
        let main = self.fields.iter().find(|field| field.kind == FieldKind::Main);
        main.map(|field| field.edit.text.trim().to_owned()).unwrap_or_default()
    }

    /// Returns the act in words when it is done, as in `approved → done`.
    pub(super) fn past(&self) -> String {
        let (act, leads) = self.label.split_at(self.label.find(" → ").unwrap_or(self.label.len()));
        let act = match act {
            "Approve" => "approved".to_owned(),
            "Send back" => "sent back".to_owned(),
            "Comment" => "commented".to_owned(),
            "Unblock" => "unblocked".to_owned(),
            "Plan for" if self.main().is_empty() => "planned for nobody".to_owned(),
            "Plan for" => format!("planned for {}", self.main()),
            _ if matches!(self.purpose, FormPurpose::ApproveAll(_)) => "approved".to_owned(),
            act => act.to_lowercase(),
        };
        format!("{act}{leads}")
    }

    /// Returns true if text was typed into the form.
    pub(super) fn has_text(&self) -> bool {
        (0..self.fields.len()).any(|at| !self.is_blank(at))
    }

    /// Returns the acts that the form asks for; none if a command does it.
    pub(super) fn acts(&self) -> Vec<BoardAct> {
        let text = Some(self.main()).filter(|text| !text.is_empty());
        let act = |operation, ticket: &Ticket, given| BoardAct {
            operation,
            ticket: Some(ticket.clone()),
            given,
        };
        match &self.purpose {
            FormPurpose::Complete { ticket, .. } => vec![act(&COMPLETE, ticket, self.completion())],
            FormPurpose::Act(operation, ticket) => {
                let field = operation.fields_at(Doors::SCREEN).next().map(|field| field.name);
                let given = field.map(|name| (name, json!(text))).into_iter().collect();
                vec![act(operation, ticket, given)]
            }
            FormPurpose::Plan(ticket) => {
                let text = text.unwrap_or_default();
                let names: Vec<&str> =
                    text.split([',', ' ']).filter(|name| !name.is_empty()).collect();
                let given = if names.is_empty() {
                    [("unset", json!(["assignee"]))]
                } else {
                    [("assignee", json!(names))]
                };
                vec![act(&EDIT, ticket, Arguments::from_iter(given))]
            }
            FormPurpose::ApproveAll(decisions) => {
                let summary = text.or_else(|| self.usual.clone()).unwrap_or_default();
                let given = |outcome: &String| {
                    Arguments::from_iter([("outcome", json!(outcome)), ("summary", json!(summary))])
                };
                let acts = decisions.iter();
                acts.map(|(ticket, outcome)| act(&COMPLETE, ticket, given(outcome))).collect()
            }
            FormPurpose::New => Vec::new(),
        }
    }

    /// Returns the values that a completion's form has.
    fn completion(&self) -> Arguments {
        let FormPurpose::Complete { outcome, id, .. } = &self.purpose else {
            return Arguments::default();
        };
        let texts = |kind: FieldKind| {
            let fields = self.fields.iter().filter(move |field| field.kind == kind);
            fields.map(|field| field.edit.text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let blockers: Vec<String> = texts(FieldKind::Blocker).collect();
        let mut outputs = Map::new();
        for field in &self.fields {
            let text = field.edit.text.trim();
            if let FieldKind::Output(output) = &field.kind
                && !text.is_empty()
            {
                outputs.insert(output.name.clone(), output.value(text));
            }
        }
        let usual = || self.usual.clone().or_else(|| blockers.first().cloned());
        let summary = Some(self.main()).filter(|text| !text.is_empty()).or_else(usual);
        Arguments::from_iter([
            ("outcome", json!(outcome)),
            ("summary", json!(summary.unwrap_or_default())),
            ("id", json!(id)),
            ("blockers", json!(blockers)),
            ("outputs", Value::Object(outputs)),
        ])
    }

    /// Returns the command that does the same at the terminal, where a passphrase can be asked for.
    pub(super) fn command(&self) -> Option<Vec<String>> {
        if self.purpose == FormPurpose::New {
            return Some(vec!["new".to_owned(), "--".to_owned(), self.main()]);
        }
        let FormPurpose::Complete { ticket, .. } = &self.purpose else { return None };
        let given = self.completion();
        let mut words = vec!["complete".to_owned(), ticket.to_string()];
        for name in ["outcome", "summary", "id"] {
            words.push(format!("--{name}={}", given.text(name).unwrap_or_default()));
        }
        let blockers = given.texts("blockers").unwrap_or_default();
        words.extend(blockers.iter().map(|text| format!("--blocker={text}")));
        let outputs = given.object("outputs");
        words.extend(outputs.iter().map(|(name, value)| format!("--output={name}={value}")));
        Some(words)
    }
}
