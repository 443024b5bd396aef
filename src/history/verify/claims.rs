//! What a commit says of itself, held against what it did: its trailers, its author, its date, and what else it changed.

use super::finding::{Broken, Wrong};
use super::judge::Judged;
use super::merge_claims::OWN;
use super::text::{short, told};
use crate::domain::{Task, TaskId, Visit};
use crate::git::log::trailers;
use crate::git::log::trailers::Trailer;
use crate::git::{ChangedFile, LogEntry};
use crate::project::author::agent_author;
use crate::rules::{Act, Found, Proof, Rules};
use crate::tasks::state::commit_message;

/// What a commit says of a change, besides the change.
pub(crate) struct Claims<'c> {
    pub entry: &'c LogEntry,
    pub said: &'c [Trailer],
    /// The files of the project that it changed.
    pub changed: &'c [ChangedFile],
    /// Something else that it changed.
    pub besides: Option<&'c str>,
    pub id: &'c TaskId,
}

impl Claims<'_> {
    pub(crate) fn judge(
        &self,
        rules: &Rules,
        before: Option<&Task>,
        after: &Task,
        proof: Proof,
        judged: &mut Judged,
    ) {
        let mut wrong = |broken, expected: String, found: String| {
            judged.wrong.push(Wrong::new(self.entry, Some(self.id), broken, expected, found));
        };
        match proof {
            Proof::Breach(breach) => {
                let (broken, expected, found) = told(rules, before, after, &breach);
                wrong(broken, expected, found);
            }
            Proof::Several(steps) => wrong(
                Broken::Squashed,
                "one step a commit".to_owned(),
                format!("{steps} at once, each of which the rules allow"),
            ),
            Proof::Kept if named_task(self.said) == Some(self.id.as_str()) => {
                if let Some(outcome) = self.trailer("Aof-Outcome") {
                    wrong(
                        Broken::WrongTrailer,
                        "an entry that says it".to_owned(),
                        format!("`Aof-Outcome: {}` alone", short(outcome)),
                    );
                }
                // A comment, an edit, a file that was moved: the engine commits these alone, too.
                if self.trailer("Aof-Event").is_some()
                    && let Some((broken, expected, found)) = self.more_than_the_task()
                {
                    wrong(broken, expected, found);
                }
            }
            Proof::Kept => {}
            Proof::Done(found) => {
                if matches!(found.act, Act::Override { .. }) {
                    judged.overridden.push(self.id.clone());
                }
                for (broken, expected, found) in self.attested(rules, before, after, &found) {
                    judged.wrong.push(Wrong::new(
                        self.entry,
                        Some(self.id),
                        broken,
                        expected,
                        found,
                    ));
                }
            }
        }
    }

    /// Returns the trailers that the commit has more than once, each saying something else: whoever reads it may go by any of them.
    pub(crate) fn contradictions(entry: &LogEntry, said: &[Trailer]) -> Vec<Wrong> {
        let several = OWN.iter().filter_map(|key| {
            let mut values = said.iter().filter(|one| one.key() == *key).map(Trailer::value);
            let first = values.next()?;
            let other = values.find(|value| *value != first)?;
            let found = format!("`{first}` and `{other}`");
            Some(Wrong::new(
                entry,
                None,
                Broken::WrongTrailer,
                format!("one `{key}`"),
                short(&found),
            ))
        });
        several.collect()
    }

    /// Returns where the commit does not say of itself what the engine would have said.
    fn attested(
        &self,
        rules: &Rules,
        before: Option<&Task>,
        after: &Task,
        done: &Found,
    ) -> Vec<(Broken, String, String)> {
        let mut wrong = Vec::new();
        let Some(named) = named_task(self.said) else {
            let expected = "a commit of the engine, with its trailers".to_owned();
            return vec![(
                Broken::Unattested,
                expected,
                "none: made by hand, or squashed".to_owned(),
            )];
        };
        if named != self.id.as_str() {
            let expected = format!("a change of {} alone", short(named));
            return vec![(Broken::OtherFiles, expected, format!("{} was moved with it", self.id))];
        }
        let ended = after
            .history
            .last()
            .filter(|_| after.history.len() > before.map_or(0, |task| task.history.len()));
        match ended {
            Some(visit) => {
                let expected = commit_message::entry_trailers(visit);
                for key in ["Aof-Gate", "Aof-Outcome", "Aof-Agent", "Aof-Completion"] {
                    let own = expected
                        .iter()
                        .find(|(known, _)| *known == key)
                        .map(|(_, value)| value.as_str());
                    let said = self.trailer(key);
                    if own != said {
                        let shown = |value: Option<&str>| {
                            value.map_or_else(
                                || format!("no `{key}`"),
                                |value| format!("`{key}: {}`", short(value)),
                            )
                        };
                        wrong.push((Broken::WrongTrailer, shown(own), shown(said)));
                    }
                }
                wrong.extend(self.wrong_text(visit));
            }
            None if self.trailer("Aof-Event").is_none() => {
                wrong.push((Broken::WrongTrailer, "an `Aof-Event`".to_owned(), "none".to_owned()));
            }
            None => {}
        }
        let by = match &done.act {
            Act::Complete(completion) => Some(&completion.agent),
            Act::Claim { agent, .. } | Act::Renew { agent, .. }
                if self.trailer("Aof-Event") != Some("assigned") =>
            {
                Some(agent)
            }
            _ => None,
        };
        if let Some(person) = by.and_then(|agent| agent_author(&rules.org, agent).ok()) {
            let author = &self.entry.author;
            if (author.name(), author.email()) != (person.name(), person.email()) {
                let shown = |name: &str, email: &str| short(&format!("{name} <{email}>"));
                let expected = shown(person.name(), person.email());
                wrong.push((Broken::WrongAuthor, expected, shown(author.name(), author.email())));
            }
        }
        if self.entry.authored.as_second() != after.updated.as_second() {
            wrong.push((
                Broken::WrongDate,
                after.updated.to_string(),
                self.entry.authored.to_string(),
            ));
        }
        // A project begins with its rules and a first task.
        let begins =
            self.changed.iter().any(|file| file.path == "project.yaml" && file.before.is_none());
        if !begins {
            wrong.extend(self.more_than_the_task());
        }
        wrong
    }

    /// Returns what else the commit changed, if anything: the engine commits a task with nothing but what goes where it goes.
    fn more_than_the_task(&self) -> Option<(Broken, String, String)> {
        let other =
            self.changed.iter().map(|file| file.path.as_str()).find(|path| !is_of(path, self.id));
        let other = other.or(self.besides)?;
        let expected = format!("a change of {} alone", self.id);
        Some((Broken::OtherFiles, expected, short(&format!("`{other}` changed with it"))))
    }

    /// Returns what the message says otherwise than the entry, above its trailers: people read the log, and not the file.
    fn wrong_text(&self, visit: &Visit) -> Option<(Broken, String, String)> {
        let expected = commit_message::entry_text(visit, self.id.as_str());
        let found = trailers::text_above(&self.entry.message);
        if found == expected {
            return None;
        }
        let beside = expected.lines().zip(found.lines()).find(|(own, said)| own != said);
        let line = expected.lines().count().min(found.lines().count());
        let (own, said) = beside
            .map_or((expected.lines().nth(line), found.lines().nth(line)), |(own, said)| {
                (Some(own), Some(said))
            });
        let shown = |text: Option<&str>| {
            text.map_or_else(|| "no more".to_owned(), |text| short(&format!("`{text}`")))
        };
        Some((Broken::WrongMessage, shown(own), shown(said)))
    }

    fn trailer(&self, key: &str) -> Option<&str> {
        self.said.iter().find(|one| one.key() == key).map(Trailer::value)
    }
}

pub(crate) fn named_task(said: &[Trailer]) -> Option<&str> {
    said.iter().find(|one| one.key() == "Aof-Task").map(Trailer::value)
}

/// Returns whether a file is the task's, or goes where it goes.
fn is_of(path: &str, id: &TaskId) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    path.starts_with("tasks/")
        && name.strip_prefix(id.as_str()).is_some_and(|rest| rest.starts_with('.'))
}
