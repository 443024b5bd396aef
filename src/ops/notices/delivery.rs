//! From the outbox to programs and servers: one message after the other of a channel, each tried again until it is taken.
//!
//! Where nobody answers, the channel is left alone for longer and longer. Where a message alone is not taken, that one waits, and the
//! others go on. After a week it is given up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::derive::{put_out, tell_of_round};
use crate::model::{Channel, ChannelKey, EventKind, Timestamp};
use crate::observe::{Failure, Message, deliver};
use crate::ops::error::OpsError;
use crate::ops::in_force::in_force;
use crate::ops::workspace::{Clock, Workspace};
use crate::store::outbox::{Outbox, Rest, Waiting};
use crate::store::{Paths, StoreError};

/// How long a message waits at most.
const KEPT: Duration = Duration::from_hours(7 * 24);
const SHORTEST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_hours(6);
/// How much longer each time.
const FACTOR: u32 = 3;

/// Which messages are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Those whose time has come.
    Now,
    /// All: somebody asks for it.
    Anyway,
}

/// A channel with messages, and the way to it.
#[derive(Debug, Clone)]
pub struct Route {
    /// Its name in the outbox.
    pub key: ChannelKey,
    /// The way; nothing where the rules in force do not have it any more.
    pub channel: Option<Channel>,
    paths: Paths,
    clock: Clock,
}

/// What came of a round.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Round {
    /// How many messages were taken.
    pub delivered: usize,
    /// How many were tried and not taken.
    pub failed: usize,
    /// What was given up, but for messages that tell of just that.
    pub given_up: Option<GivenUp>,
    /// What the last failure was.
    pub trouble: Option<String>,
}

/// Messages that were given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUp {
    /// Whose they were.
    pub channel: String,
    /// How many.
    pub count: usize,
    /// Why the last of them was.
    pub reason: String,
}

/// Returns the channels with messages. Programs and addresses come from the rules in force alone: whatever lies in the outbox can name none.
pub fn routes(workspace: &Workspace) -> Result<Vec<Route>, OpsError> {
    let waiting = Outbox::of(&workspace.paths).channels()?;
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    let rules = in_force(workspace, &workspace.repository.look()?)?.rules;
    let route = |(key, _): (ChannelKey, usize)| Route {
        channel: rules.channels().find(|channel| channel.key() == key).cloned(),
        key,
        paths: workspace.paths.clone(),
        clock: workspace.clock(),
    };
    Ok(waiting.into_iter().map(route).collect())
}

/// Writes what is to be said of the newest commits, and does one round with all channels side by side, for as long as that takes at
/// most.
pub fn deliver_notices(workspace: &Workspace, due: Due, time: Duration) -> Result<Vec<Round>, OpsError> {
    put_out(workspace)?;
    let until = Instant::now() + time;
    let stop = AtomicBool::new(false);
    let routes = routes(workspace)?;
    let rounds = std::thread::scope(|scope| {
        let started: Vec<_> =
            routes.iter().map(|route| scope.spawn(|| deliver_channel(route, due, until, &stop))).collect();
        started.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    let mut all = Vec::new();
    for round in rounds.into_iter().flatten() {
        let round = round?;
        tell_of_round(workspace, &round)?;
        all.push(round);
    }
    Ok(all)
}

/// Delivers what is due in a channel, until nothing is, the time is over, or it is to stop. If somebody else does, nothing is done.
pub fn deliver_channel(route: &Route, due: Due, until: Instant, stop: &AtomicBool) -> Result<Round, StoreError> {
    let outbox = Outbox::of(&route.paths);
    let mut round = Round::default();
    let Some(_right) = outbox.delivering(&route.key)? else { return Ok(round) };
    let now = || (route.clock)();
    let resting = outbox.rest(&route.key)?.filter(|_| due == Due::Now);
    for name in outbox.names(&route.key)? {
        if Instant::now() >= until || stop.load(Ordering::Relaxed) {
            break;
        }
        let Some(mut waiting) = outbox.read(&route.key, &name)? else { continue };
        let Some(channel) = &route.channel else {
            round.give_up(&outbox, route, &waiting, "no rules in force have this channel any more")?;
            continue;
        };
        let time = now();
        if age(&waiting, time) >= KEPT {
            let last = waiting.error.clone().map(|error| format!("; the last time: {error}")).unwrap_or_default();
            round.give_up(&outbox, route, &waiting, &format!("nobody took it for 7 days{last}"))?;
            continue;
        }
        if resting.as_ref().is_some_and(|rest| rest.until > time) {
            break;
        }
        if due == Due::Now && waiting.next.is_some_and(|next| next > time) {
            continue;
        }
        let message = Message { id: &waiting.id, value: &waiting.message, now: time };
        match deliver(channel, message, route.paths.root(), stop) {
            Ok(()) => {
                outbox.settle(&route.key, &waiting)?;
                outbox.set_rest(&route.key, None)?;
                round.delivered += 1;
            }
            Err(Failure::Stopped) => break,
            Err(Failure::Unwanted { why }) => {
                round.give_up(&outbox, route, &waiting, &why)?;
                round.trouble = Some(format!("`{channel}`: {why}"));
            }
            Err(Failure::Refused { why }) => {
                waiting.attempts += 1;
                waiting.next = Some(later(now(), backoff(waiting.attempts, &waiting.id)));
                waiting.error = Some(why.clone());
                outbox.note(&route.key, &waiting)?;
                outbox.set_rest(&route.key, None)?;
                round.failed += 1;
                round.trouble = Some(format!("`{channel}`: {why}"));
            }
            Err(Failure::Unreachable { why, again_in }) => {
                let attempts = outbox.rest(&route.key)?.map_or(0, |rest| rest.attempts) + 1;
                let pause = backoff(attempts, route.key.as_str()).max(again_in.unwrap_or_default().min(LONGEST));
                let until = later(now(), pause);
                waiting.attempts += 1;
                waiting.error = Some(why.clone());
                outbox.note(&route.key, &waiting)?;
                outbox.set_rest(&route.key, Some(&Rest { attempts, until, error: why.clone() }))?;
                round.failed += 1;
                round.trouble = Some(format!("`{channel}`: {why}"));
                break;
            }
        }
    }
    Ok(round)
}

impl Round {
    fn give_up(&mut self, outbox: &Outbox, route: &Route, waiting: &Waiting, why: &str) -> Result<(), StoreError> {
        outbox.give_up(&route.key, waiting, why)?;
        // That something was given up is told once, not of itself again.
        if waiting.message["event"] != EventKind::NoticesDropped.as_str() {
            let count = self.given_up.as_ref().map_or(0, |before| before.count) + 1;
            let channel = waiting.channel.clone();
            self.given_up = Some(GivenUp { channel, count, reason: why.to_owned() });
        }
        Ok(())
    }
}

fn age(waiting: &Waiting, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(waiting.since)).unwrap_or_default()
}

fn later(now: Timestamp, pause: Duration) -> Timestamp {
    let pause = jiff::SignedDuration::try_from(pause).unwrap_or(jiff::SignedDuration::MAX);
    now.checked_add(pause).unwrap_or(Timestamp::MAX)
}

/// Returns how long to wait after so many attempts: three times as long each time, up to six hours. Those that began together spread
/// by up to a fifth, each always by the same.
fn backoff(attempts: u32, id: &str) -> Duration {
    let steps = attempts.saturating_sub(1).min(20);
    let pause = SHORTEST.saturating_mul(FACTOR.saturating_pow(steps)).min(LONGEST);
    let spread = id.bytes().fold(u32::from(b'a'), |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % 200;
    pause + pause * spread / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

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
