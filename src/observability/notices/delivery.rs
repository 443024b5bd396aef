//! Delivers messages from the outbox to programs and servers: one after the other in a channel, each retried until it is accepted.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use tracing::info;

use super::compose::{report_dropped, write_notices};
use super::message::{Failure, Message};
use super::{command, webhook};
use crate::domain::{Channel, ChannelKey, Timestamp};
use crate::history::unreported::Remaining;
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::trust::RulePrograms;
use crate::project::workspace::{Clock, Workspace};
use crate::storage::outbox::{ChannelRest, OutboxMessage};
use crate::storage::{Outbox, Paths, StoreError};

/// The time for which a message is retried.
const MAX_AGE: Duration = Duration::from_hours(7 * 24);
const SHORTEST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_hours(6);
/// The factor by which each pause is longer than the previous one.
const FACTOR: u32 = 3;

/// The messages that a round tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageScope {
    /// The messages that are due.
    Due,
    /// All messages, because a person asks for it.
    All,
}

/// A channel with messages. Clones share its settings.
#[derive(Debug, Clone)]
pub(crate) struct Receiver {
    /// The name of the channel in the outbox.
    pub key: ChannelKey,
    /// The settings; `None` if the rules in force no longer have the channel.
    channel: Arc<Mutex<Option<Channel>>>,
    programs: RulePrograms,
    paths: Paths,
    clock: Clock,
}

impl Receiver {
    /// Takes the settings of a newer receiver of the same channel, from the next message on.
    pub(crate) fn update_channel(&self, newer: &Self) {
        *self.channel.lock().unwrap_or_else(PoisonError::into_inner) = newer.channel();
    }

    fn channel(&self) -> Option<Channel> {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The result of a round.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Round {
    /// The number of messages that were accepted.
    pub delivered: usize,
    /// The number of messages that were tried and not accepted.
    pub failed: usize,
    /// The last failure.
    pub trouble: Option<String>,
}

/// Returns the channels with messages. Programs and addresses come only from the rules in force: files in the outbox cannot name any.
pub(crate) fn receivers(workspace: &Workspace) -> Result<Vec<Receiver>, ProjectError> {
    let waiting = Outbox::at(&workspace.paths).channels()?;
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    workspace.check_own_folder()?;
    let rules = in_force(workspace, &workspace.repository.head_for_reading()?)?.rules;
    let programs = RulePrograms::read(workspace, &rules);
    let receiver = |key: ChannelKey| Receiver {
        channel: Arc::new(Mutex::new(
            rules.channels().find(|channel| channel.key() == key).cloned(),
        )),
        key,
        programs: programs.clone(),
        paths: workspace.paths.clone(),
        clock: workspace.clock(),
    };
    Ok(waiting.into_iter().map(receiver).collect())
}

/// Writes notices about the newest commits, and delivers once to all channels in parallel, for at most `time`.
pub(crate) fn deliver_notices(
    workspace: &Workspace,
    scope: MessageScope,
    time: Duration,
) -> Result<Vec<Round>, ProjectError> {
    let until = Instant::now() + time;
    while write_notices(workspace)?.left == Remaining::Commits && Instant::now() < until {}
    let stop = AtomicBool::new(false);
    let receivers = receivers(workspace)?;
    let rounds = std::thread::scope(|threads| {
        let started: Vec<_> = receivers
            .iter()
            .map(|receiver| threads.spawn(|| deliver_channel(receiver, scope, until, &stop)))
            .collect();
        started.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    let rules = in_force(workspace, &workspace.repository.head_for_reading()?)?.rules;
    report_dropped(workspace, &Outbox::at(&workspace.paths), &rules)?;
    Ok(rounds.into_iter().flatten().collect::<Result<_, StoreError>>()?)
}

/// Delivers the due messages of a channel, until none is left, the time is over, or it must stop. Does nothing while another
/// process delivers.
pub(crate) fn deliver_channel(
    receiver: &Receiver,
    scope: MessageScope,
    until: Instant,
    stop: &AtomicBool,
) -> Result<Round, StoreError> {
    let outbox = Outbox::at(&receiver.paths);
    let Some(_right) = outbox.delivering(&receiver.key)? else { return Ok(Round::default()) };
    let now = (receiver.clock)();
    let rest = outbox.rest(&receiver.key)?;
    let waits = rest.as_ref().is_some_and(|rest| must_wait(rest.until, now));
    if waits && scope == MessageScope::Due && receiver.channel().is_some() {
        return Ok(Round::default());
    }
    let mut names = outbox.names(&receiver.key)?;
    if let Some(rest) = &rest {
        // A message on which the receiver hangs must not block the others: it is tried last, and the message after it first.
        let after = names.partition_point(|name| *name <= rest.last);
        names.rotate_left(after);
    }
    let mut turn = ChannelTurn { receiver, outbox, round: Round::default() };
    for name in &names {
        if Instant::now() >= until || stop.load(Ordering::Relaxed) {
            return Ok(turn.round);
        }
        let Some(waiting) = turn.outbox.read(&receiver.key, name)? else { continue };
        if turn.try_message(waiting, scope, stop)?.is_break() {
            return Ok(turn.round);
        }
    }
    Ok(turn.round)
}

/// A round of one channel.
struct ChannelTurn<'r> {
    receiver: &'r Receiver,
    outbox: Outbox,
    round: Round,
}

impl ChannelTurn<'_> {
    /// Tries a message if it is due. Returns true if the next one may be tried.
    fn try_message(
        &mut self,
        waiting: OutboxMessage,
        scope: MessageScope,
        stop: &AtomicBool,
    ) -> Result<ControlFlow<()>, StoreError> {
        let receiver = self.receiver;
        let Some(channel) = receiver.channel() else {
            let why = "no rules in force have this channel any more";
            return self.outbox.give_up(&receiver.key, &waiting, why).map(ControlFlow::Continue);
        };
        let now = (receiver.clock)();
        if scope == MessageScope::Due && waiting.next.is_some_and(|next| must_wait(next, now)) {
            return Ok(ControlFlow::Continue(()));
        }
        if let Err(error) = receiver.programs.check_channel(&channel) {
            let why = format!("{}; {}", error.problem(), error.fix().unwrap_or_default());
            if is_past(waiting.since, now) {
                self.outbox.give_up(&receiver.key, &waiting, &why)?;
            }
            self.round.trouble = Some(format!("`{channel}`: {why}"));
            return Ok(ControlFlow::Continue(()));
        }
        let message = Message { id: &waiting.id, value: &waiting.message, now };
        let outcome = deliver(&channel, message, receiver.paths.root(), stop);
        let trouble = |why: &str| Some(format!("`{channel}`: {why}"));
        match outcome {
            Ok(()) => {
                self.outbox.remove_delivered(&receiver.key, &waiting)?;
                self.outbox.set_rest(&receiver.key, None)?;
                self.round.delivered += 1;
                info!(channel = channel.to_string(), id = waiting.id, "delivered a notice");
            }
            Err(Failure::Stopped) => return Ok(ControlFlow::Break(())),
            Err(Failure::Unwanted(why)) => {
                self.outbox.give_up(&receiver.key, &waiting, &why)?;
                self.round.trouble = trouble(&why);
            }
            Err(Failure::Refused(why)) => {
                self.round.trouble = trouble(&why);
                let spread = waiting.id.clone();
                self.note_failure(waiting, why, &spread)?;
                self.outbox.set_rest(&receiver.key, None)?;
            }
            Err(Failure::Unreachable { why, again_in }) => {
                self.round.trouble = trouble(&why);
                self.rest(&waiting, &why, again_in)?;
                self.note_failure(waiting, why, receiver.key.as_str())?;
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Schedules the next attempt of a message that was not accepted, or drops it.
    fn note_failure(
        &mut self,
        mut waiting: OutboxMessage,
        why: String,
        spread: &str,
    ) -> Result<(), StoreError> {
        let now = (self.receiver.clock)();
        self.round.failed += 1;
        waiting.attempts += 1;
        if is_past(waiting.since, now) {
            let why = format!("it was not taken within 7 days; the last time: {why}");
            return self.outbox.give_up(&self.receiver.key, &waiting, &why);
        }
        waiting.next = Some(later(now, backoff(waiting.attempts, spread)));
        waiting.error = Some(why);
        self.outbox.note(&self.receiver.key, &waiting)
    }

    /// Pauses a channel that does not answer. After a week without an answer, drops messages that are as old.
    fn rest(
        &self,
        tried: &OutboxMessage,
        why: &str,
        again_in: Option<Duration>,
    ) -> Result<(), StoreError> {
        let (outbox, key) = (&self.outbox, &self.receiver.key);
        let now = (self.receiver.clock)();
        let before = outbox.rest(key)?;
        let attempts = before.as_ref().map_or(0, |rest| rest.attempts) + 1;
        let since = before.map_or(now, |rest| rest.since);
        let until = later(
            now,
            backoff(attempts, key.as_str()).max(again_in.unwrap_or_default().min(LONGEST_PAUSE)),
        );
        let rest =
            ChannelRest { attempts, since, until, error: why.to_owned(), last: tried.name() };
        outbox.set_rest(key, Some(&rest))?;
        if !is_past(since, now) {
            return Ok(());
        }
        let why = format!("nobody has answered for 7 days; the last time: {why}");
        for name in outbox.names(key)?.iter().filter(|name| **name != rest.last) {
            if let Some(old) = outbox.read(key, name)?.filter(|old| is_past(old.since, now)) {
                outbox.give_up(key, &old, &why)?;
            }
        }
        Ok(())
    }
}

/// Returns true if a message that has waited since then is too old.
fn is_past(since: Timestamp, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(since)).is_ok_and(|age| age >= MAX_AGE)
}

/// Returns true if a retry must wait until then. A time further away than any pause is from a wrong clock.
fn must_wait(time: Timestamp, now: Timestamp) -> bool {
    time > now && time <= later(now, LONGEST_PAUSE * 2)
}

fn later(now: Timestamp, pause: Duration) -> Timestamp {
    let pause = jiff::SignedDuration::try_from(pause).unwrap_or(jiff::SignedDuration::MAX);
    now.checked_add(pause).unwrap_or(Timestamp::MAX)
}

/// Returns the pause after a number of attempts: three times as long each time, up to six hours, plus up to a fifth, which
/// depends on the id.
fn backoff(attempts: u32, id: &str) -> Duration {
    let steps = attempts.saturating_sub(1).min(20);
    let pause = SHORTEST_PAUSE.saturating_mul(FACTOR.saturating_pow(steps)).min(LONGEST_PAUSE);
    let spread = id
        .bytes()
        .fold(u32::from(b'a'), |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)))
        % 200;
    pause + pause * spread / 1000
}

/// A message, and its state.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutgoingMessage {
    pub id: String,
    /// The name of the event.
    pub event: String,
    #[serde(rename = "taskId")]
    pub task: Option<String>,
    /// The name of the channel for people.
    pub channel: String,
    pub state: OutgoingState,
    /// The time since which the message waits.
    pub since: Timestamp,
    /// The number of attempts.
    pub attempts: u32,
    /// The time of the next attempt, if it is later than now.
    pub next: Option<Timestamp>,
    /// The reason why the message was not accepted.
    pub error: Option<String>,
}

/// The state of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OutgoingState {
    /// The message was not yet tried, or must now be tried again.
    Due,
    /// The message is tried again later.
    Waiting,
    /// The message was given up.
    Dropped,
}

/// Returns the waiting messages, channel by channel, the oldest first, then the dropped ones.
pub(crate) fn outgoing(workspace: &Workspace) -> Result<Vec<OutgoingMessage>, ProjectError> {
    let outbox = Outbox::at(&workspace.paths);
    let now = workspace.now();
    let mut messages = Vec::new();
    for key in outbox.channels()? {
        let rest = outbox.rest(&key)?;
        for name in outbox.names(&key)? {
            let Some(mut waiting) = outbox.read(&key, &name)? else { continue };
            if let Some(rest) = &rest {
                waiting.next = waiting.next.max(Some(rest.until));
                waiting.error.get_or_insert_with(|| rest.error.clone());
            }
            waiting.next = waiting.next.filter(|next| *next > now);
            let state =
                if waiting.next.is_some() { OutgoingState::Waiting } else { OutgoingState::Due };
            messages.push(message(waiting, state));
        }
    }
    for mut dropped in outbox.dropped()? {
        dropped.next = None;
        messages.push(message(dropped, OutgoingState::Dropped));
    }
    Ok(messages)
}

fn message(waiting: OutboxMessage, state: OutgoingState) -> OutgoingMessage {
    let field = |name: &str| waiting.message[name].as_str().map(str::to_owned);
    OutgoingMessage {
        event: field("event").unwrap_or_default(),
        task: field("taskId"),
        id: waiting.id,
        channel: waiting.channel,
        state,
        since: waiting.since,
        attempts: waiting.attempts,
        next: waiting.next,
        error: waiting.error,
    }
}

/// Delivers a message. Programs run in the project's folder; `stop` ends those that are running.
pub(crate) fn deliver(
    channel: &Channel,
    message: Message<'_>,
    root: &Path,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    match channel {
        Channel::Command(words) => command::run(words, message, root, stop),
        Channel::Webhook(webhook) => webhook::post(webhook, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{NetworkReach, Webhook};

    #[test]
    fn a_permission_lost_under_way_is_noticed() {
        let receiver = |reach: Option<NetworkReach>| {
            let url = "https://hooks.garden.example/aof".to_owned();
            let channel =
                |reach| Channel::Webhook(Webhook { url: url.clone(), secret_env: None, reach });
            Receiver {
                key: channel(NetworkReach::Public).key(),
                programs: RulePrograms::default(),
                channel: Arc::new(Mutex::new(reach.map(channel))),
                paths: Paths::at("/"),
                clock: || Timestamp::UNIX_EPOCH,
            }
        };
        let known = receiver(Some(NetworkReach::Private));
        let under_way = known.clone();
        for reach in [Some(NetworkReach::Public), None] {
            let newer = receiver(reach);
            known.update_channel(&newer);
            assert_eq!(under_way.channel(), newer.channel());
        }
    }

    #[test]
    fn each_pause_is_longer_up_to_a_limit() {
        let pauses: Vec<u64> = (1..=10).map(|attempts| backoff(attempts, "").as_secs()).collect();
        let bases = [5, 15, 45, 135, 405, 1215, 3645, 10935, 21600, 21600];
        for (pause, base) in pauses.iter().zip(bases) {
            assert!(*pause >= base && *pause <= base + base / 5, "{pauses:?}");
        }
        assert_eq!(backoff(u32::MAX, "x"), backoff(100, "x"));
        assert_eq!(backoff(3, "aof_1"), backoff(3, "aof_1"));
        let spread: std::collections::BTreeSet<Duration> =
            (0..50).map(|number| backoff(9, &format!("aof_{number}"))).collect();
        assert!(spread.len() > 30, "{spread:?}");
    }
}
