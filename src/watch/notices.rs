//! Notices: written for new commits, and delivered beside everything else, each channel on a thread of its own. A receiver that does
//! not answer holds up nobody else.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::desk::Desk;
use super::report::{ReportedErrors, WatchReport};
use super::worker::{NextRun, Worker};
use crate::domain::ChannelKey;
use crate::history::new_commits::unreported::Remaining;
use crate::observability::notices::compose::put_out;
use crate::observability::notices::delivery::{
    Receiver, Round, Tried, deliver_channel, deliver_notices, receivers,
};
use crate::project::workspace::Workspace;
use crate::storage::StoreError;

/// How long one delivery of a channel may take.
const TURN: Duration = Duration::from_mins(10);
/// How long `aof watch --once` delivers.
const ONCE: Duration = Duration::from_mins(1);
/// How long deliveries under way are waited for at the end.
const LAST: Duration = Duration::from_secs(1);

/// Notices on their way.
#[derive(Default)]
pub(crate) struct Notices {
    /// The receiver is shared with the thread, which looks at it before each message.
    channels: HashMap<ChannelKey, (Receiver, Worker<Result<Round, StoreError>>)>,
    told: ReportedErrors,
}

impl Notices {
    /// Writes notices, or a part of them, and has them delivered; returns what is left to be written. An error is reported once
    /// while it lasts.
    pub(crate) fn send(&mut self, workspace: &Workspace, desk: &mut Desk<'_>) -> Remaining {
        self.take_outcomes(desk);
        let mut left = Remaining::Nothing;
        match put_out(workspace) {
            Ok(put) => {
                left = put.left;
                if let Some(problem) = put.restarted {
                    self.tell(problem, desk);
                }
            }
            Err(error) => self.tell(error.to_string(), desk),
        }
        match receivers(workspace) {
            Ok(receivers) => receivers.into_iter().for_each(|one| self.deliver(one, desk)),
            Err(error) => self.tell(error.to_string(), desk),
        }
        left
    }

    /// Delivers what is due before it returns.
    pub(crate) fn send_now(&mut self, workspace: &Workspace, desk: &mut Desk<'_>) {
        match deliver_notices(workspace, Tried::Due, ONCE) {
            Ok(rounds) => rounds.into_iter().for_each(|round| self.note(round, desk)),
            Err(error) => self.tell(error.to_string(), desk),
        }
    }

    /// Ends what is under way. The next watcher delivers the rest.
    pub(crate) fn stop(&mut self, desk: &mut Desk<'_>) {
        let end = Instant::now() + LAST;
        for (_, worker) in self.channels.values() {
            worker.stop(Duration::ZERO);
        }
        for (_, worker) in self.channels.values() {
            worker.stop(end.saturating_duration_since(Instant::now()));
        }
        self.take_outcomes(desk);
    }

    /// Has a channel delivered; a delivery under way follows the rules in force now.
    fn deliver(&mut self, receiver: Receiver, desk: &mut Desk<'_>) {
        if let Some((own, worker)) = self.channels.get(&receiver.key) {
            own.follow(&receiver);
            return worker.ask();
        }
        let own = receiver.clone();
        let started = Worker::start("notices", move |stop| {
            let end = Instant::now() + TURN;
            (deliver_channel(&own, Tried::Due, end, stop), NextRun::default())
        });
        match started {
            Ok(worker) => {
                worker.ask();
                self.channels.insert(receiver.key.clone(), (receiver, worker));
            }
            Err(cause) => self.tell(format!("no thread can be started: {cause}"), desk),
        }
    }

    fn take_outcomes(&mut self, desk: &mut Desk<'_>) {
        let outcomes = self.channels.values().flat_map(|(_, worker)| worker.outcomes());
        for outcome in outcomes.collect::<Vec<_>>() {
            match outcome {
                Ok(round) => self.note(round, desk),
                Err(error) => self.tell(error.to_string(), desk),
            }
        }
    }

    fn note(&mut self, round: Round, desk: &mut Desk<'_>) {
        if round.delivered > 0 {
            self.told.forget_the_rest();
        }
        if let Some(trouble) = round.trouble {
            self.tell(trouble, desk);
        }
    }

    fn tell(&mut self, problem: String, desk: &mut Desk<'_>) {
        if self.told.is_news(problem.clone()) {
            desk.tell(WatchReport::Undelivered { problem });
        }
    }
}
