//! From commits to messages: what each commit since the last time says happened, written into the outbox for whoever wants to know.
//!
//! The cursor moves when the messages are durable. A kill in between has them written again, under the same names and ids: an id
//! is made of what happened, not of when it was noticed.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::compose::{bound, compose, tell_of_dropped, write};
use crate::domain::ChannelKey;
use crate::history::commit_events::EventDeriver;
use crate::history::unreported::{MOST_COMMITS, Remaining, UnreportedCommits};
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::outbox::Outbox;
use crate::storage::outbox::OutboxMessage;
use crate::system::crash_points;

/// What came of looking for something to say.
#[derive(Debug, Default)]
pub(crate) struct Put {
    /// How many messages were written.
    pub written: usize,
    /// Whether the branch was rewritten, or nothing was known of what it had: messages may be missing or doubled.
    pub restarted: Option<String>,
    /// What is left to be said.
    pub left: Remaining,
}

/// Writes what is to be said of the commits that came to the branch since the last time, or of the first of them where there are many.
/// The first time, there is nothing to say.
pub(crate) fn put_out(workspace: &Workspace) -> Result<Put, ProjectError> {
    let outbox = Outbox::of(&workspace.paths);
    let head = workspace.repository.look()?;
    let Some(newest) = head.commit.filter(|_| head.reference != "HEAD") else {
        return Ok(Put::default());
    };
    let rules = Rc::clone(&in_force(workspace, &head)?.rules);
    tell_of_dropped(workspace, &outbox, &rules)?;
    if rules.channels().next().is_none() {
        outbox.forget_cursor()?;
        return Ok(Put::default());
    }
    let known = outbox.cursor()?.unwrap_or_default();
    if known.commit(&head.reference).is_some_and(|last| last == newest.to_string()) {
        return Ok(Put::default());
    }
    let Some(right) = outbox.writing()? else { return Ok(Put::default()) };
    let mut known = outbox.cursor()?.unwrap_or_default();
    let mut put = Put::default();
    let mut told = None;
    if let Some(last) = UnreportedCommits::begin(workspace, &known, &head, newest)? {
        if let Some(news) =
            UnreportedCommits::since(workspace, &known, (last, newest), MOST_COMMITS)?
        {
            let messages = messages(workspace, &rules, &news, known.told)?;
            put.written = write(&outbox, &messages)?;
            for key in messages.keys() {
                bound(&outbox, key)?;
            }
            put.left = news.left;
            known.told += news.commits.len();
            told = Some(news);
        } else {
            let problem = format!(
                "history does not lead back to `{last}`, up to which messages were written"
            );
            put.restarted = Some(problem);
        }
    }
    crash_points::point("outbox.written");
    match told {
        Some(news) => news.note_in(&mut known, &head.reference),
        None => known.set(&head.reference, &newest.to_string()),
    }
    outbox.set_cursor(&right, &known)?;
    Ok(put)
}

/// Returns what is to be told of these commits, behind so many others.
fn messages(
    workspace: &Workspace,
    rules: &Rules,
    news: &UnreportedCommits,
    before: usize,
) -> Result<BTreeMap<ChannelKey, Vec<OutboxMessage>>, ProjectError> {
    let mut messages: BTreeMap<ChannelKey, Vec<OutboxMessage>> = BTreeMap::new();
    let mut telling = EventDeriver::new(workspace);
    for (number, commit) in news.commits.iter().enumerate() {
        let told = telling.of(news, *commit, before + number)?;
        for (key, own) in compose(workspace, rules, &told.happened) {
            messages.entry(key).or_default().extend(own);
        }
    }
    Ok(messages)
}
