//! The keys at a question to a person: one for each outcome, with the gates that it leads to.

use unicode_width::UnicodeWidthStr;

use crate::agents::runner::PersonQuestion;
use crate::cli::{bold, width, wrapped};
use crate::domain::{Outcome, approving, rejecting};
use crate::rules::preview;
use crate::tasks::view::phrases::{act, leads_to};

/// A key at the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PromptKey {
    Outcome(Outcome),
    Diff,
    Text,
    Comment,
    Undo,
    Skip,
    Leave,
    Help,
}

/// The keys of a question, each with its act.
pub(crate) struct PromptKeys {
    keys: Vec<(char, PromptKey, String)>,
    /// The outcomes that `y` and `n` mean.
    yes: Option<Outcome>,
    no: Option<PromptKey>,
}

impl PromptKeys {
    pub(crate) fn of(
        asked: &PersonQuestion<'_>,
        outcomes: &[Outcome],
        wanted: Option<&Outcome>,
        extras: &[PromptKey],
    ) -> Self {
        let (task, rules) = (&asked.file.task, asked.rules);
        let leads = |outcome: &Outcome| {
            let passage =
                preview(rules, task, outcome).filter(|_| asked.opening.ticket.branch.is_none());
            let to =
                passage.and_then(|passage| Some(leads_to(rules.workflow_of(task)?, &passage.to)));
            to.map(|to| format!(" → {to}")).unwrap_or_default()
        };
        let (approving, rejecting) = (approving(outcomes), rejecting(outcomes));
        let mut keys = Vec::new();
        let mut number = b'0';
        for outcome in outcomes.iter().filter(|outcome| wanted.is_none_or(|one| one == *outcome)) {
            let (approves, rejects) = (Some(outcome) == approving, Some(outcome) == rejecting);
            let (key, word, to) = match outcome {
                _ if approves => ('a', "approve".to_owned(), leads(outcome)),
                _ if rejects => ('r', "send back".to_owned(), leads(outcome)),
                Outcome::Complete => ('c', "done".to_owned(), leads(outcome)),
                Outcome::Blocked => ('b', "blocked".to_owned(), String::new()),
                other => {
                    number += 1;
                    (char::from(number), act(other.as_str(), false, false), leads(outcome))
                }
            };
            keys.push((key, PromptKey::Outcome(outcome.clone()), format!("{word}{to}")));
        }
        let mut add = |key, act: PromptKey, word: &str| {
            let is_offered = match act {
                PromptKey::Comment | PromptKey::Undo => extras.contains(&act),
                _ => true,
            };
            if is_offered {
                keys.push((key, act, word.to_owned()));
            }
        };
        add('m', PromptKey::Comment, "comment");
        add('s', PromptKey::Skip, "skip");
        add('d', PromptKey::Diff, "diff");
        add('v', PromptKey::Text, "all of it");
        add('z', PromptKey::Undo, "undo");
        add('q', PromptKey::Leave, "leave");
        add('?', PromptKey::Help, "help");
        let no = match wanted {
            Some(_) => Some(PromptKey::Skip),
            None => rejecting.cloned().map(PromptKey::Outcome),
        };
        Self { keys, yes: wanted.or(approving).cloned(), no }
    }

    /// Returns the keys as lines that fit the terminal.
    pub(crate) fn lines(&self) -> String {
        let words: Vec<String> =
            self.keys.iter().map(|(key, _, word)| format!("{key} {word}")).collect();
        let mut lines = vec![String::new()];
        for word in words {
            let last = lines.last_mut().expect("there is a line");
            if !last.is_empty() && last.width() + 3 + word.width() > width().min(78) {
                lines.push(word);
            } else {
                let gap = if last.is_empty() { "" } else { "   " };
                last.push_str(&format!("{gap}{word}"));
            }
        }
        lines.join("\n")
    }

    pub(crate) fn help(&self) -> String {
        let keys = self.keys.iter().map(|(key, _, word)| format!("  {}  {word}\n", bold(key)));
        let texts = "At a text, esc or a line with only `q` goes back to the keys, and ctrl-c leaves. Neither records anything.";
        let texts = wrapped(texts, width().min(78)).join("\n");
        format!("{}  y n l  stand for approve, send back, skip\n{texts}", keys.collect::<String>())
    }

    pub(crate) fn meaning(&self, key: char) -> Option<PromptKey> {
        match key {
            'y' => self.yes.clone().map(PromptKey::Outcome),
            'n' => self.no.clone(),
            'l' => Some(PromptKey::Skip),
            key => {
                self.keys.iter().find(|(known, ..)| *known == key).map(|(_, act, _)| act.clone())
            }
        }
    }
}
