//! Figures of small projects.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::files::config::configuration::{Source, load};
use crate::observability::stats::numbers::WEEK;
use crate::observability::stats::report::tests::{START, Story, passed, sent_back};
use crate::tasks::headers::summary::EndedVisit;

const DAY: i64 = 86_400;

fn rules(project: &str) -> Rules {
    let source = |name: &str, text: &str| Source { name: name.to_owned(), bytes: text.into() };
    let org = "roles: {r: {agents: [x]}}";
    let read = load(&[source("project.yaml", project), source("org.yaml", org)]).unwrap();
    Rules::new(read.project, read.org).unwrap().0
}

const PROJECT: &str =
    "workflow: {gates: [{id: work, role: r}, {id: review, role: r, canReject: true}]}\n";

fn lasting(days: i64, visit: EndedVisit) -> EndedVisit {
    EndedVisit { seconds: u64::try_from(days * DAY).unwrap(), ..visit }
}

/// Returns the figures at this day after the first task.
fn figures(tasks: &[TaskSummary], day: i64) -> ProjectFigures {
    let now = time(START + day * DAY);
    figures_of(&tasks.iter().collect::<Vec<_>>(), &rules(PROJECT), now)
}

fn flow(figures: &ProjectFigures) -> String {
    let band = |band: &FlowBand| format!("{}: {:?}\n", band.place.name(), band.counts);
    let flow = |flow: &WorkflowFlow| flow.bands.iter().map(band).collect::<String>();
    figures.flows.iter().map(flow).collect()
}

fn done() -> Story {
    Story::new("a")
        .then(lasting(2, passed("work", "review")))
        .then(lasting(1, passed("review", "$end")))
}

#[test]
fn tasks_flow_from_gate_to_gate() {
    let back = Story::new("b").then(lasting(1, passed("work", "review")));
    let back = back.then(lasting(1, sent_back("review", "work")));
    let gone = Story::new("c").then(lasting(4, passed("old", "review")));
    let figures = figures(&[done().task(), back.task(), gone.task()], 6);
    assert_eq!(figures.days.first().unwrap().to_string(), "2026-02-16");
    assert_snapshot!(flow(&figures), @r#"
    work: [2, 1, 1, 1, 1, 1, 1]
    review: [0, 1, 1, 0, 1, 1, 1]
    (stranded): [1, 1, 1, 1, 0, 0, 0]
    (finished): [0, 0, 0, 1, 1, 1, 1]
    "#);
}

#[test]
fn a_task_finished_before_counts_once_reopened() {
    let mut reopened = passed("review", "work");
    reopened.ended = "reopened".into();
    let mut story = done().then(lasting(0, reopened)).task();
    let entry = story.visits.len() - 1;
    let mut visits = story.visits.to_vec();
    visits[entry].entered = START + 98 * DAY;
    story.visits = visits.into_boxed_slice().into();
    story.task.gate.as_mut().unwrap().entered = time(START + 98 * DAY);
    let figures = figures(&[story, done().task()], 100);
    assert_eq!(figures.days.len(), 90);
    let counts = &figures.flows[0].bands[0].counts;
    assert_eq!((counts[86], &counts[87..]), (0, &[1, 1, 1][..]));
    assert_eq!((figures.cycle_times.len(), figures.cycle_spread), (0, None));
}

#[test]
fn a_project_without_tasks_has_a_week() {
    let figures = figures(&[], 0);
    assert_eq!((figures.days.len(), figures.flows.len(), figures.weeks.len()), (7, 0, 1));
}

#[test]
fn days_are_those_of_the_project() {
    let project = format!("project: {{timezone: Pacific/Auckland}}\n{PROJECT}");
    let figures = figures_of(&[], &rules(&project), "2026-11-26T11:30:00Z".parse().unwrap());
    assert_eq!(figures.days.last().unwrap().to_string(), "2026-11-27");
    assert_eq!(figures.from.to_string(), "2026-11-20T11:00:00Z");
}

#[test]
fn programs_read_them_as_json() {
    let figures = serde_json::to_value(figures(&[done().task()], 6)).unwrap();
    assert_snapshot!(figures["cycleTimes"][0], @r#"{"id":"AOF-aaa","title":"x","completed":"2026-02-19T10:00:00Z","seconds":259200}"#);
    assert_snapshot!(figures["flows"][0]["bands"][1], @r#"{"place":{"name":"review","gate":"review"},"counts":[0,0,1,0,0,0,0]}"#);
    let keys: Vec<&String> = figures.as_object().unwrap().keys().collect();
    let names = [
        "project",
        "days",
        "from",
        "until",
        "flows",
        "cycleTimes",
        "cycleSpread",
        "weeks",
        "gates",
        "unreadable",
    ];
    assert_eq!(keys, names);
}

/// A task that begins on a day, with the lengths of its visits in hours; perhaps it ends.
fn any_task() -> impl Strategy<Value = TaskSummary> {
    (0_i64..150, proptest::collection::vec(0_u64..900, 0..6), any::<bool>()).prop_map(
        |(begin, lengths, ends)| {
            let mut story = Story::new("a");
            let last = lengths.len();
            for (at, hours) in lengths.into_iter().enumerate() {
                let (gate, next) =
                    if at % 2 == 0 { ("work", "review") } else { ("review", "work") };
                let to = if ends && at + 1 == last { "$end" } else { next };
                story = story.then(EndedVisit { seconds: hours * 3_600, ..passed(gate, to) });
            }
            let mut task = story.task();
            let later = |at: Timestamp| time(at.as_second() + begin * DAY);
            task.task.created = later(task.created);
            if let Some(open) = &mut task.task.gate {
                open.entered = later(open.entered);
            }
            let mut visits = task.visits.to_vec();
            for visit in &mut visits {
                visit.entered += begin * DAY;
            }
            task.visits = visits.into_boxed_slice().into();
            task
        },
    )
}

proptest! {
    #[test]
    fn every_task_is_at_one_place(tasks in proptest::collection::vec(any_task(), 1..20), day in 1_i64..250) {
        let now = START + day * DAY;
        let tasks: Vec<TaskSummary> = tasks.into_iter().filter(|task| start(task) < now).collect();
        let figures = figures(&tasks, day);
        let from = figures.from.as_second();
        for (at, date) in figures.days.iter().enumerate() {
            let ends = date.tomorrow().unwrap().to_zoned(TimeZone::UTC).unwrap().timestamp().as_second();
            let is_last = at + 1 == figures.days.len();
            let there = tasks.iter().filter(|task| is_last || start(task) < ends);
            let there = there.filter(|task| !task.is_finished() || last_end(task) >= from).count();
            let bands = figures.flows.iter().flat_map(|flow| &flow.bands);
            let counted: u64 = bands.map(|band| band.counts[at]).sum();
            prop_assert_eq!(counted, u64::try_from(there).unwrap(), "{}", date);
        }
        let done = figures.weeks.iter().map(|week| week.completed).sum::<u64>();
        prop_assert_eq!(usize::try_from(done).unwrap(), figures.cycle_times.len());
        if let Some(spread) = figures.cycle_spread {
            let under = |most| figures.cycle_times.iter().filter(|task| task.seconds <= most).count();
            prop_assert!(under(spread.p50) * 2 >= figures.cycle_times.len());
            prop_assert!(under(spread.p85) * 100 >= 85 * (figures.cycle_times.len() - 1));
        }
        prop_assert!(figures.weeks.iter().all(|week| week.until - week.from <= i64::try_from(WEEK).unwrap()));
    }
}
