//! Writes messages about commits to the outbox.
//!
//! The cursor moves when the messages are durable. After a kill in between they are written again, with the same names and ids: an id
//! depends on the event, not on the time when it was noticed.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;
use tracing::warn;

use crate::domain::{ChangeEvents, ChannelKey, Digest, Event, EventKind, Task};
use crate::files::event::render::notice_value;
use crate::files::printable::one_line;
use crate::files::task_file::review_value;
use crate::history::commit_events::EventDeriver;
use crate::history::unreported::{MOST_COMMITS, Remaining, UnreportedCommits};
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::routing::reviews::standing_reviews;
use crate::rules::{Refusal, Rules, audience};
use crate::storage::StoreError;
use crate::storage::outbox::{MOST_WAITING, Outbox, OutboxMessage};
use crate::system::crash_points;
use crate::tasks::complete::record_event;
use crate::tasks::state::task_state::TaskState;

/// Returns the messages about these events, by channel.
pub(crate) fn compose(
    workspace: &Workspace,
    rules: &Rules,
    happened: &[ChangeEvents],
) -> BTreeMap<ChannelKey, Vec<OutboxMessage>> {
    let mut messages: BTreeMap<ChannelKey, Vec<OutboxMessage>> = BTreeMap::new();
    for one in happened {
        for (place, notice) in
            audience(rules, one.task.as_deref(), &one.events).into_iter().enumerate()
        {
            let event = &one.events[notice.event];
            // A channel gets no notice of its own dropped messages.
            if matches!(event, Event::NoticesDropped { channel, .. } if *channel == notice.channel.to_string())
            {
                continue;
            }
            let occurrence = one.occurrence(event);
            let key = notice.channel.key();
            let mark =
                format!("{} {} {} {:?}", one.mark, notice.event, key.as_str(), notice.reader);
            let id = format!("aof_{}", &Digest::of(mark.as_bytes()).as_str()[..32]);
            let waiting = OutboxMessage {
                order: (one.at.as_second(), one.later, place),
                channel: notice.channel.to_string(),
                since: workspace.now(),
                message: with_review(
                    notice_value(&occurrence, &id, &notice.to, notice.reader),
                    event,
                    one.task.as_deref(),
                ),
                attempts: 0,
                next: None,
                error: None,
                id,
            };
            messages.entry(key).or_default().push(waiting);
        }
    }
    messages
}

/// Adds the last review to the notice of an escalation.
fn with_review(mut message: Value, event: &Event, task: Option<&Task>) -> Value {
    let review = task.and_then(|task| standing_reviews(task).into_iter().next());
    if let (Event::Escalated { .. }, Some((review, _))) = (event, review) {
        let by = review.from_agent.as_ref().map(|agent| format!(", by agent '{agent}'"));
        let points = review.blockers.iter().chain(&review.notes).map(|point| one_line(point));
        let points = points.collect::<Vec<_>>().join("; ");
        let text = message["text"].as_str().unwrap_or_default();
        let text = format!("{text}\nThe last review{}: {points}", by.unwrap_or_default());
        message["text"] = text.into();
        message["reviewContext"] = review_value(&review);
    }
    message
}

/// Writes messages, and returns their number.
pub(crate) fn write(
    outbox: &Outbox,
    messages: &BTreeMap<ChannelKey, Vec<OutboxMessage>>,
) -> Result<usize, StoreError> {
    for (key, messages) in messages {
        outbox.put(key, messages)?;
    }
    Ok(messages.values().map(Vec::len).sum())
}

/// Drops the oldest messages of a channel if too many wait.
pub(crate) fn drop_surplus(outbox: &Outbox, key: &ChannelKey) -> Result<(), StoreError> {
    let names = outbox.names(key)?;
    let reason = format!("more than {MOST_WAITING} messages waited for it");
    for name in &names[..names.len().saturating_sub(MOST_WAITING)] {
        if let Some(waiting) = outbox.read(key, name)? {
            outbox.give_up(key, &waiting, &reason)?;
        }
    }
    Ok(())
}

/// Writes notices about messages that were dropped since the last time. After a kill in between they are written again.
pub(crate) fn report_dropped(
    workspace: &Workspace,
    outbox: &Outbox,
    rules: &Rules,
) -> Result<(), ProjectError> {
    if outbox.unreported()?.is_empty() {
        return Ok(());
    }
    let Some(right) = outbox.writing()? else { return Ok(()) };
    let unreported = outbox.unreported()?;
    let mut channels: BTreeMap<&str, Vec<&OutboxMessage>> = BTreeMap::new();
    // A dropped notice about dropped messages is not reported again.
    for waiting in unreported
        .iter()
        .filter(|waiting| waiting.message["event"] != EventKind::NoticesDropped.as_str())
    {
        channels.entry(&waiting.channel).or_default().push(waiting);
    }
    let at = workspace.now();
    let happened: Vec<ChangeEvents> = channels
        .into_iter()
        .map(|(channel, dropped)| {
            let ids: Vec<&str> = dropped.iter().map(|waiting| waiting.id.as_str()).collect();
            let reason = dropped.last().and_then(|last| last.error.clone()).unwrap_or_default();
            let event =
                Event::NoticesDropped { channel: channel.to_owned(), count: dropped.len(), reason };
            let mark = format!("dropped {}", ids.join(" "));
            ChangeEvents {
                mark,
                at,
                later: 0,
                project: rules.project.name.clone(),
                task: None,
                events: vec![event],
            }
        })
        .collect();
    for dropped in &happened {
        for event in &dropped.events {
            // No notice waits for the event stream.
            if let Err(error) = record_event(workspace, &dropped.mark, dropped.occurrence(event)) {
                warn!("the event stream misses that messages were given up: {error}");
            }
        }
    }
    write(outbox, &compose(workspace, rules, &happened))?;
    Ok(outbox.note_reported(&right, &unreported)?)
}

/// Writes notices about a completion that arrived after another one of the same visit; it is in no commit. `delivery` identifies its
/// file.
pub(crate) fn write_conflict_notice(
    workspace: &Workspace,
    refusal: &Refusal,
    delivery: &Digest,
) -> Result<(), ProjectError> {
    let Refusal::VisitEnded { ticket, gate, agent: Some(loser), winner, .. } = refusal else {
        return Ok(());
    };
    let rules = Rc::clone(&in_force(workspace, &workspace.repository.head_for_reading()?)?.rules);
    if rules.channels().next().is_none() {
        return Ok(());
    }
    let task = TaskState::read(workspace, &ticket.task)?.file.task;
    let happened = ChangeEvents {
        mark: format!("conflict {ticket} {}", delivery.as_str()),
        at: workspace.now(),
        later: task.history.len(),
        project: rules.project.name.clone(),
        task: Some(Rc::new(task)),
        events: vec![Event::Conflict {
            gate: gate.clone(),
            winning_agent: winner.clone(),
            losing_agent: loser.clone(),
        }],
    };
    write(&Outbox::at(&workspace.paths), &compose(workspace, &rules, &[happened]))?;
    Ok(())
}

/// The result of [`write_notices`].
#[derive(Debug, Default)]
pub(crate) struct WrittenNotices {
    /// The number of messages written.
    pub written: usize,
    /// The reason for starting again at HEAD, if the branch was rewritten: messages may be missing or repeated.
    pub restarted: Option<String>,
    /// `Commits` if some are left.
    pub left: Remaining,
}

/// Writes messages about the commits since the last time, or about the first of them if there are many. Writes nothing the first
/// time.
pub(crate) fn write_notices(workspace: &Workspace) -> Result<WrittenNotices, ProjectError> {
    let outbox = Outbox::at(&workspace.paths);
    let head = workspace.repository.head_for_reading()?;
    let Some(newest) = head.commit.filter(|_| head.reference != "HEAD") else {
        return Ok(WrittenNotices::default());
    };
    let rules = Rc::clone(&in_force(workspace, &head)?.rules);
    report_dropped(workspace, &outbox, &rules)?;
    if rules.channels().next().is_none() {
        outbox.forget_cursor()?;
        return Ok(WrittenNotices::default());
    }
    let known = outbox.cursor()?.unwrap_or_default();
    if known.commit(&head.reference).is_some_and(|last| last == newest.to_string()) {
        return Ok(WrittenNotices::default());
    }
    let Some(right) = outbox.writing()? else { return Ok(WrittenNotices::default()) };
    let mut known = outbox.cursor()?.unwrap_or_default();
    let mut put = WrittenNotices::default();
    let mut reported = None;
    if let Some(last) = UnreportedCommits::last_reported(workspace, &known, &head, newest)? {
        if let Some(unreported) =
            UnreportedCommits::since(workspace, &known, (last, newest), MOST_COMMITS)?
        {
            let messages = messages(workspace, &rules, &unreported, known.reported)?;
            put.written = write(&outbox, &messages)?;
            for key in messages.keys() {
                drop_surplus(&outbox, key)?;
            }
            put.left = unreported.left;
            known.reported += unreported.commits.len();
            reported = Some(unreported);
        } else {
            let problem =
                format!("the history no longer contains `{last}`, the last commit with messages");
            put.restarted = Some(problem);
        }
    }
    crash_points::point("outbox.written");
    match reported {
        Some(unreported) => unreported.note_in(&mut known, &head.reference),
        None => known.set(&head.reference, &newest.to_string()),
    }
    outbox.set_cursor(&right, &known)?;
    Ok(put)
}

/// Returns the messages about these commits; `before` is the number of commits already reported.
fn messages(
    workspace: &Workspace,
    rules: &Rules,
    unreported: &UnreportedCommits,
    before: usize,
) -> Result<BTreeMap<ChannelKey, Vec<OutboxMessage>>, ProjectError> {
    let mut messages: BTreeMap<ChannelKey, Vec<OutboxMessage>> = BTreeMap::new();
    let mut deriver = EventDeriver::new(workspace);
    for (number, commit) in unreported.commits.iter().enumerate() {
        let reported = deriver.events(unreported, *commit, before + number)?;
        for (key, composed) in compose(workspace, rules, &reported.happened) {
            messages.entry(key).or_default().extend(composed);
        }
    }
    Ok(messages)
}
