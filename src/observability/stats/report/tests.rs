//! Stories of tasks, as input of the counters.

use super::*;
use crate::files::config::configuration::{Source, load};
use crate::files::task_file::{Defaults, parse};
use crate::tasks::headers::summary::{EndedVisit, JoinedFork, TaskSummary};

/// A task in the making.
#[derive(Debug, Clone)]
pub(crate) struct Story {
    id: String,
    stays: Vec<EndedVisit>,
    now: i64,
}

pub(crate) const START: i64 = 1_771_236_000;

/// A visit that passed.
pub(crate) fn passed(gate: &str, to: &str) -> EndedVisit {
    EndedVisit {
        gate: gate.into(),
        role: None,
        agent: Some(format!("{gate}-agent")),
        session: None,
        run: None,
        entered: START,
        seconds: 60,
        skewed: false,
        timeouts: 0,
        ended: "complete".into(),
        completed: true,
        rejected: false,
        to: Some(to.into()).filter(|_| !to.is_empty()),
        skipped: Box::default(),
        item: None,
        round: None,
        retry: None,
        join: None,
    }
}

/// A visit that sent the task back.
pub(crate) fn sent_back(gate: &str, to: &str) -> EndedVisit {
    EndedVisit { ended: "needs_review".into(), rejected: true, retry: Some(1), ..passed(gate, to) }
}

impl Story {
    pub(crate) fn new(id: &str) -> Self {
        Self { id: format!("AOF-{id}{id}{id}"), stays: Vec::new(), now: START }
    }

    /// Adds a visit, which begins when the last one ended; branches begin with their fork.
    pub(crate) fn then(mut self, mut stay: EndedVisit) -> Self {
        stay.entered = self.now;
        if !stay.gate.contains('/') || stay.to.is_some() {
            self.now += i64::try_from(stay.seconds).unwrap();
        }
        self.stays.push(stay);
        self
    }

    /// Adds a visit with another length.
    fn lasting(self, seconds: u64, stay: EndedVisit) -> Self {
        self.then(EndedVisit { seconds, ..stay })
    }

    pub(crate) fn task(&self) -> TaskSummary {
        let last = self.stays.last().and_then(|stay| stay.to.as_deref()).unwrap_or("work");
        let end = last.starts_with('$');
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let text = format!(
            "---\ntitle: x\ncreated: {}\nupdated: {}\nstatus: ready\ngate: {{current: {}, entered: \"{}\", visit: 0}}\n---\n",
            at(START),
            at(self.now),
            if end { "work" } else { last },
            at(self.now),
        );
        let defaults = Defaults { workflow: "default".parse().unwrap(), created: at(START) };
        let file = parse(text.as_bytes(), &self.id.parse().unwrap(), &defaults).unwrap();
        let mut task = TaskSummary::of(&file);
        if end {
            (task.task.status, task.task.gate) = (Status::Complete, None);
        }
        task.visits = self.stays.clone().into_boxed_slice().into();
        task
    }
}

fn rules() -> Rules {
    let project = "workflow:\n  gates:\n    - {id: work, role: r}\n    - {id: review, role: r, canReject: true}\n    \
        - id: checks\n      type: fork\n      joinStrategy: all\n      branches:\n        \
        - {id: a, role: r, canReject: true}\n        - {id: b, role: r, canReject: true}\n    - {id: ship, role: r}\n";
    let source = |name: &str, text: &str| Source { name: name.to_owned(), bytes: text.into() };
    let read =
        load(&[source("project.yaml", project), source("org.yaml", "roles: {r: {agents: [x]}}")])
            .unwrap();
    Rules::new(read.project, read.org).unwrap().0
}

fn stats_of(stories: &[Story], since: Option<i64>, now: i64) -> Stats {
    let tasks: Vec<TaskSummary> = stories.iter().map(Story::task).collect();
    let question = StatsQuery {
        since: since.map(|seconds| Timestamp::from_second(seconds).unwrap()),
        ..StatsQuery::default()
    };
    count(
        &tasks.iter().collect::<Vec<_>>(),
        &rules(),
        &question,
        Timestamp::from_second(now).unwrap(),
    )
}

fn gate<'s>(stats: &'s Stats, name: &str) -> &'s GateStats {
    stats.gates.iter().find(|gate| gate.gate == name).unwrap()
}

#[test]
fn of_no_task_nothing_is_said() {
    let stats = stats_of(&[], None, START);
    assert_eq!((stats.lead, stats.first_pass.rate(), stats.loops.average()), (None, None, None));
    assert_eq!(
        (stats.throughput(), stats.bottleneck(), stats.trend.direction()),
        (None, None, None)
    );
    assert!(stats.gates.iter().all(|gate| gate.is_idle() && gate.time.rate().is_none()));
    assert_eq!(stats.weeks.len(), 1);
}

#[test]
fn a_rejection_counts_at_its_gate_and_for_the_author_of_the_work() {
    let story = Story::new("a")
        .lasting(600, passed("work", "review"))
        .lasting(60, sent_back("review", "work"))
        .lasting(300, passed("work", "review"))
        .lasting(60, passed("review", "$end"));
    let clean = Story::new("b")
        .lasting(100, passed("work", "review"))
        .lasting(20, passed("review", "$end"));
    let stats = stats_of(&[story, clean], None, START + 2_000);
    assert_eq!((stats.tally.completed, stats.tally.active, stats.tally.visits), (2, 0, 6));
    assert_eq!(stats.first_pass, Share { part: 1, whole: 2 });
    assert_eq!(
        stats.rejections,
        Share { part: 1, whole: 3 },
        "where nothing can be sent back, passing says nothing"
    );
    assert_eq!(stats.lead.map(|lead| (lead.count, lead.p50)), Some((2, 570)));
    let review = gate(&stats, "review");
    assert_eq!(
        (review.rejections, review.first_pass),
        (Share { part: 1, whole: 3 }, Share { part: 1, whole: 2 })
    );
    assert_eq!(
        gate(&stats, "work").spread.map(|spread| (spread.count, spread.p50)),
        Some((3, 300))
    );
    assert_eq!(stats.bottleneck().map(|gate| gate.gate.as_str()), Some("work"));
    assert!(gate(&stats, "ship").is_idle() && !review.is_idle());
    let agents: Vec<_> = stats
        .agents
        .iter()
        .map(|own| (own.agent.as_str(), own.sent_back, own.rejects.part))
        .collect();
    let share = |part| Share { part, whole: 3 };
    assert_eq!(agents, [("review-agent", share(0), 1), ("work-agent", share(1), 0)]);
    let pace = |name: &str| stats.agents.iter().find(|own| own.agent == name).unwrap().pace;
    assert_eq!(pace("work-agent"), Some(1.0), "who alone works at a gate is neither fast nor slow");
    assert_eq!((stats.loops.few, stats.loops.average()), ([1, 1, 0], Some(1.5)));
}

#[test]
fn an_agent_is_measured_by_the_gates_it_works_at() {
    let visit =
        |agent: &str, gate: &str| EndedVisit { agent: Some(agent.into()), ..passed(gate, "$end") };
    let stories = [
        Story::new("a").lasting(1_000, visit("quick", "work")),
        Story::new("b").lasting(2_000, visit("slow", "work")),
        Story::new("c").lasting(3_000, visit("slow", "work")),
        Story::new("d").lasting(10, visit("reviewer", "review")),
    ];
    let stats = stats_of(&stories, None, START + 5_000);
    let mut paces: Vec<_> = stats.agents.iter().map(|own| (own.agent.as_str(), own.pace)).collect();
    paces.sort_by_key(|(name, _)| *name);
    assert_eq!(paces, [("quick", Some(0.5)), ("reviewer", Some(1.0)), ("slow", Some(1.25))]);
}

#[test]
fn a_fork_is_counted_once_and_each_branch_for_itself() {
    let mut closing = EndedVisit { seconds: 90, retry: Some(1), ..passed("checks/b", "work") };
    closing.join = Some(Box::new(JoinedFork { fork: "checks".into(), failed: true }));
    let story = Story::new("a")
        .lasting(10, passed("work", "checks"))
        .lasting(30, EndedVisit { rejected: true, ..passed("checks/a", "") })
        .then(closing);
    let stats = stats_of(&[story], None, START + 100);
    assert_eq!(
        stats.rejections,
        Share { part: 1, whole: 1 },
        "the fork speaks, for its branches together"
    );
    assert_eq!(gate(&stats, "checks/a").rejections, Share { part: 1, whole: 1 });
    assert_eq!(gate(&stats, "checks/b").rejections, Share { part: 0, whole: 1 });
    assert_eq!(gate(&stats, "checks").rejections, Share { part: 1, whole: 1 });
    assert_eq!(
        gate(&stats, "checks").time,
        Share { part: 90, whole: 100 },
        "branches spend the time of their fork"
    );
    assert_eq!(gate(&stats, "checks").spread.map(|spread| spread.p50), Some(90));
    let worker = stats.agents.iter().find(|agent| agent.agent == "work-agent").unwrap();
    assert_eq!(worker.sent_back, Share { part: 1, whole: 1 });
}

#[test]
fn only_visits_that_ended_in_the_span_count_with_their_full_length() {
    let story = Story::new("a")
        .lasting(1_000, passed("work", "review"))
        .lasting(500, sent_back("review", "work"));
    let stats = stats_of(&[story], Some(START + 900), START + 1_600);
    let work = gate(&stats, "work");
    assert_eq!(work.spread.map(|spread| spread.p50), Some(1_000));
    assert_eq!(
        work.time,
        Share { part: 100 + 100, whole: 700 },
        "its end, and the visit that is open"
    );
    assert_eq!((work.standing, work.oldest), (1, Some(100)));
    let later = stats_of(
        &[Story::new("a").lasting(1_000, passed("work", "review"))],
        Some(START + 1_001),
        START + 1_600,
    );
    assert_eq!((later.tally.visits, later.loops.tasks, later.agents.len()), (0, 0, 0));
    assert!(gate(&later, "work").is_idle() && !gate(&later, "review").is_idle());
}

#[test]
fn a_gate_that_is_gone_keeps_its_numbers_behind_those_in_force() {
    let story = Story::new("a").then(passed("old", "work")).then(passed("work", "$end"));
    let stats = stats_of(&[story], None, START + 500);
    let last = stats.gates.last().unwrap();
    assert_eq!((last.gate.as_str(), last.in_force, last.is_idle()), ("old", false, false));
    assert_eq!(stats.gates.iter().filter(|gate| gate.in_force).count(), 6);
}

#[test]
fn a_clock_that_ran_backwards_is_reported_and_costs_no_time() {
    let story =
        Story::new("b").then(EndedVisit { seconds: 0, skewed: true, ..passed("work", "$end") });
    let stats = stats_of(&[story, Story::new("a")], None, START - 5_000);
    assert_eq!(stats.skewed, ["AOF-bbb"]);
    assert_eq!(stats.lead.map(|lead| lead.p50), Some(0));
    assert_eq!(gate(&stats, "work").oldest, Some(0), "now is before it came");
}
