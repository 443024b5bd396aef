//! What a commit says of itself, held against what it did: its trailers, its author, its date, and what else it changed.

use super::finding::{BrokenRule, HistoryFinding, Judged};
use super::words::{RuleBreach, breach_told, short};
use crate::domain::{Task, TaskId, Visit};
use crate::git::log::trailers;
use crate::git::log::trailers::Trailer;
use crate::git::{ChangedFile, LogEntry};
use crate::project::author::agent_author;
use crate::rules::{Act, Found, Proof, Rules};
use crate::tasks::state::commit_message;

/// The trailers of the engine's own commits.
pub(crate) const OWN_TRAILERS: [&str; 6] =
    ["Aof-Task", "Aof-Gate", "Aof-Outcome", "Aof-Agent", "Aof-Completion", "Aof-Event"];

/// What a commit says of the change of a task.
pub(crate) struct CommitClaims<'c> {
    pub entry: &'c LogEntry,
    pub said: &'c [Trailer],
    /// The files of the project that it changed.
    pub changed: &'c [ChangedFile],
    /// A file outside the project that it changed.
    pub besides: Option<&'c str>,
    pub id: &'c TaskId,
}

/// Returns the trailers that the commit has more than once, with different values: whoever reads it may go by any of them.
pub(crate) fn contradictions(entry: &LogEntry, said: &[Trailer]) -> Vec<HistoryFinding> {
    let several = OWN_TRAILERS.iter().filter_map(|key| {
        let mut values = said.iter().filter(|one| one.key() == *key).map(Trailer::value);
        let first = values.next()?;
        let other = values.find(|value| *value != first)?;
        let (expected, found) =
            (format!("one `{key}`"), short(&format!("`{first}` and `{other}`")));
        Some(HistoryFinding::new(entry, None, BrokenRule::WrongTrailer, expected, found))
    });
    several.collect()
}

/// Returns the task that a commit says it changed.
pub(crate) fn named_task(said: &[Trailer]) -> Option<&str> {
    trailer(said, "Aof-Task")
}

fn trailer<'t>(said: &'t [Trailer], key: &str) -> Option<&'t str> {
    said.iter().find(|one| one.key() == key).map(Trailer::value)
}

impl CommitClaims<'_> {
    /// Judges the change by its proof, and what the commit says of it.
    pub(crate) fn judge(
        &self,
        rules: &Rules,
        before: Option<&Task>,
        after: &Task,
        proof: Proof,
        judged: &mut Judged,
    ) {
        let told: Vec<RuleBreach> = match proof {
            Proof::Breach(breach) => vec![breach_told(rules, before, after, &breach)],
            Proof::Several(steps) => vec![(
                BrokenRule::Squashed,
                "one step a commit".to_owned(),
                format!("{steps} at once, each of which the rules allow"),
            )],
            Proof::Kept if named_task(self.said) == Some(self.id.as_str()) => {
                let outcome = self.trailer("Aof-Outcome").map(|outcome| {
                    (
                        BrokenRule::WrongTrailer,
                        "an entry that says it".to_owned(),
                        format!("`Aof-Outcome: {}` alone", short(outcome)),
                    )
                });
                // The engine commits comments, edits and moved files alone, too.
                let event = self.trailer("Aof-Event");
                outcome.into_iter().chain(event.and_then(|_| self.more_than_the_task())).collect()
            }
            Proof::Kept => Vec::new(),
            Proof::Done(found) => {
                if matches!(found.act, Act::Override { .. }) {
                    judged.overridden.push(self.id.clone());
                }
                self.attested(rules, before, after, &found)
            }
        };
        judged.findings.extend(told.into_iter().map(|(rule, expected, found)| {
            HistoryFinding::new(self.entry, Some(self.id), rule, expected, found)
        }));
    }

    /// Returns where the commit does not say of itself what the engine would have said.
    fn attested(
        &self,
        rules: &Rules,
        before: Option<&Task>,
        after: &Task,
        done: &Found,
    ) -> Vec<RuleBreach> {
        let Some(named) = named_task(self.said) else {
            return vec![(
                BrokenRule::Unattested,
                "a commit of the engine, with its trailers".to_owned(),
                "none: made by hand, or squashed".to_owned(),
            )];
        };
        if named != self.id.as_str() {
            return vec![(
                BrokenRule::OtherFiles,
                format!("a change of {} alone", short(named)),
                format!("{} was moved with it", self.id),
            )];
        }
        let mut told = Vec::new();
        let known = before.map_or(0, |task| task.history.len());
        match after.history.last().filter(|_| after.history.len() > known) {
            Some(visit) => {
                let expected = commit_message::entry_trailers(visit);
                for key in ["Aof-Gate", "Aof-Outcome", "Aof-Agent", "Aof-Completion"] {
                    let own = expected.iter().find(|(known, _)| *known == key);
                    let (own, said) = (own.map(|(_, value)| value.as_str()), self.trailer(key));
                    if own != said {
                        let shown = |value: Option<&str>| match value {
                            Some(value) => format!("`{key}: {}`", short(value)),
                            None => format!("no `{key}`"),
                        };
                        told.push((BrokenRule::WrongTrailer, shown(own), shown(said)));
                    }
                }
                told.extend(self.wrong_text(visit));
            }
            None if self.trailer("Aof-Event").is_none() => {
                let expected = "an `Aof-Event`".to_owned();
                told.push((BrokenRule::WrongTrailer, expected, "none".to_owned()));
            }
            None => {}
        }
        told.extend(self.wrong_author(rules, done));
        if self.entry.authored.as_second() != after.updated.as_second() {
            let authored = self.entry.authored.to_string();
            told.push((BrokenRule::WrongDate, after.updated.to_string(), authored));
        }
        // The first commit of a project has its rules and a first task.
        let begins =
            self.changed.iter().any(|file| file.path == "project.yaml" && file.before.is_none());
        if !begins {
            told.extend(self.more_than_the_task());
        }
        told
    }

    fn wrong_author(&self, rules: &Rules, done: &Found) -> Option<RuleBreach> {
        let agent = match &done.act {
            Act::Complete(completion) => &completion.agent,
            Act::Claim { agent, .. } | Act::Renew { agent, .. }
                if self.trailer("Aof-Event") != Some("assigned") =>
            {
                agent
            }
            _ => return None,
        };
        let person = agent_author(&rules.org, agent).ok()?;
        let author = &self.entry.author;
        let shown = |name: &str, email: &str| short(&format!("{name} <{email}>"));
        let is_other = (author.name(), author.email()) != (person.name(), person.email());
        is_other.then(|| {
            let expected = shown(person.name(), person.email());
            (BrokenRule::WrongAuthor, expected, shown(author.name(), author.email()))
        })
    }

    /// Returns what the commit changed besides the task and the files that go with it.
    fn more_than_the_task(&self) -> Option<RuleBreach> {
        let is_other = |path: &&str| {
            let name = path.rsplit('/').next().unwrap_or_default();
            let rest = name.strip_prefix(self.id.as_str());
            !path.starts_with("tasks/") || rest.is_none_or(|rest| !rest.starts_with('.'))
        };
        let other = self.changed.iter().map(|file| file.path.as_str()).find(is_other);
        let other = other.or(self.besides)?;
        let expected = format!("a change of {} alone", self.id);
        Some((BrokenRule::OtherFiles, expected, short(&format!("`{other}` changed with it"))))
    }

    /// Returns where the text of the message differs from the entry: people read the log, and not the file.
    fn wrong_text(&self, visit: &Visit) -> Option<RuleBreach> {
        let expected = commit_message::entry_text(visit, self.id.as_str());
        let found = trailers::text_above(&self.entry.message);
        if found == expected {
            return None;
        }
        let (mut own, mut said) = (expected.lines(), found.lines());
        let (own, said) = loop {
            match (own.next(), said.next()) {
                (Some(own), Some(said)) if own == said => {}
                differing => break differing,
            }
        };
        let shown = |text: Option<&str>| {
            text.map_or_else(|| "no more".to_owned(), |text| short(&format!("`{text}`")))
        };
        Some((BrokenRule::WrongMessage, shown(own), shown(said)))
    }

    fn trailer(&self, key: &str) -> Option<&str> {
        trailer(self.said, key)
    }
}
