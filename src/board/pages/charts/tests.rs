//! Charts of few and of many tasks.

use insta::assert_snapshot;

use super::*;
use crate::board::model::figures::FlowBand;
use crate::domain::Timestamp;
use crate::observability::stats::breakdowns::Weeks;
use crate::observability::stats::numbers::Span;

const FROM: i64 = 1_796_083_200;
const DAY: i64 = 86_400;

fn task(number: u64, title: &str, seconds: u64) -> CycleTime {
    let id = format!("AOF-{}", number + 100_000).parse().unwrap();
    let completed = FROM + i64::try_from(number * 7_919 % (89 * 86_400)).unwrap();
    CycleTime { id, title: title.to_owned(), completed, seconds }
}

/// Returns figures of ninety days with these completed tasks.
fn figures(tasks: Vec<CycleTime>) -> ProjectFigures {
    let first: Date = "2026-12-01".parse().unwrap();
    ProjectFigures {
        project: "garden".to_owned(),
        days: first.series(jiff::Span::new().days(1)).take(90).collect(),
        from: Timestamp::from_second(FROM).unwrap(),
        until: Timestamp::from_second(FROM + 89 * DAY + 3_600).unwrap(),
        flows: Vec::new(),
        cycle_spread: Spread::of(tasks.iter().map(|task| task.seconds).collect()),
        cycle_times: tasks,
        weeks: Vec::new(),
        gates: Vec::new(),
        unreadable: 0,
        zone: TimeZone::UTC,
    }
}

fn link(id: &TaskId) -> String {
    format!("/garden/{id}")
}

fn page(figures: &ProjectFigures) -> String {
    let page = figures_page(figures, &link).into_string() + &charts(figures, &link).into_string();
    assert!(!page.contains("style=") && !page.contains("<script"), "{page}");
    charts(figures, &link).into_string()
}

#[test]
fn charts_begin_with_enough_work() {
    let tasks = |count| figures((0..count).map(|at| task(at, "A title", 7_200)).collect());
    let shown = |figures: &ProjectFigures| figures_page(figures, &link).into_string();
    assert!(shown(&tasks(9)).contains("Charts begin"));
    assert!(!shown(&tasks(10)).contains("Charts begin"));
    let mut short = tasks(10);
    short.days.truncate(13);
    assert!(shown(&short).contains("Charts begin"));
    assert!(shown(&short).contains("<dt>Finished</dt><dd>10</dd>"), "{}", shown(&short));
}

/// Returns a page with one element per line.
fn lines(page: &str) -> String {
    page.replace("><", ">\n<")
}

#[test]
fn of_no_task_each_chart_says_so() {
    assert_snapshot!(lines(&page(&figures(Vec::new()))), @r#"
    <div class="charts">
    <figure class="chart">
    <h2>Flow</h2>
    <p class="no-chart">There was no task in this time.</p>
    </figure>
    <figure class="chart">
    <h2>Time to done</h2>
    <p class="no-chart">No task was completed in this time.</p>
    </figure>
    <figure class="chart">
    <h2>Finished per week</h2>
    <p class="no-chart">There was nothing to count in this time.</p>
    </figure>
    <figure class="chart">
    <h2>Sent back per week</h2>
    <p class="no-chart">There was nothing to count in this time.</p>
    </figure>
    </div>
    "#);
}

#[test]
fn one_task_is_a_mark_that_leads_to_it() {
    let figures = figures(vec![task(2, "Plant & water", 7_500)]);
    let page = cycle_chart(&figures, &link).into_string();
    let drawn = lines(&page);
    let mark = drawn.lines().skip_while(|line| !line.starts_with("<a "));
    let mark = mark.take_while(|line| !line.starts_with("</svg"));
    assert_snapshot!(mark.collect::<Vec<_>>().join("\n"), @r#"
    <a href="/garden/AOF-100002" tabindex="-1">
    <title>AOF-100002 Plant &amp; water, Dec 1, 2h 5m</title>
    <circle class="mark c0" cx="91" cy="302" r="6">
    </circle>
    </a>
    <path class="line" d="M90 302H940M90 302H940">
    </path>
    <text class="value end" x="940" y="326">50 %: 2h 5m</text>
    <text class="value end" x="940" y="294">85 %: 2h 5m</text>
    "#);
}

#[test]
fn many_tasks_share_marks() {
    let mut figures =
        figures((0..10_000).map(|at| task(at, "A title", at * at % 9_000_000)).collect());
    let mut weeks = Weeks::of(Span { from: FROM, until: FROM + 89 * DAY });
    for at in 0..10_000 {
        weeks.completed(FROM + at * 700, 60);
    }
    figures.weeks = weeks.close().0;
    let page = page(&figures);
    let marks = page.matches("<circle").count();
    assert!((100..=500).contains(&marks), "{marks}");
    assert!(page.len() < 150_000, "{}", page.len());
    let cells = cycle_marks(&figures, &Scale::of_durations([0, 9_000_000].into_iter(), ROOM));
    assert_eq!(cells.iter().map(|mark| mark.1.len()).sum::<usize>(), 10_000);
}

#[test]
fn the_most_single_marks_make_a_small_page() {
    let title = "x".repeat(300);
    let tasks = (0..250).map(|at| task(at * 31, &title, at * at * 40)).collect();
    let page = page(&figures(tasks));
    assert!(page.len() < 150_000, "{}", page.len());
}

#[test]
fn text_of_people_is_not_markup() {
    let page = page(&figures(vec![task(1, "<b>\"x\"</b>", 5)]));
    assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"), "{page}");
}

#[test]
fn areas_lie_on_each_other() {
    let days: Vec<Date> = figures(Vec::new()).days[..3].to_vec();
    let band = |place, counts: [u64; 3]| FlowBand { place, counts: counts.to_vec() };
    let gate = Place::Gate("work".parse().unwrap());
    let bands = vec![band(gate, [2, 1, 0]), band(Place::Finished, [0, 1, 2])];
    let flow = WorkflowFlow { workflow: "default".parse().unwrap(), bands };
    let page = lines(&flow_chart(&flow, &days).into_string());
    let areas = page.lines().filter(|line| line.contains("area") || line.contains("<td"));
    assert_snapshot!(areas.collect::<Vec<_>>().join("\n"), @r#"
    <path class="area c7" d="M90 380L515 200L940 20L940 380L515 380L90 380Z">
    <path class="area c0" d="M90 20L515 20L940 20L940 20L515 200L90 380Z">
    <td>0</td>
    <td>2</td>
    "#);
}

#[test]
fn weeks_without_verdicts_have_no_share() {
    let mut weeks = Weeks::of(Span { from: FROM, until: FROM + 10 * DAY });
    for rejects in [true, false, false] {
        weeks.judged(FROM + 9 * DAY, rejects);
    }
    let mut figures = figures(Vec::new());
    figures.weeks = weeks.close().0;
    let page = page(&figures);
    assert!(page.contains("<td>-</td>") && page.contains("<td>1 of 3</td>"), "{page}");
}

#[test]
fn scales_hold_their_values() {
    for greatest in [0, 1, 3, 4, 5, 999, 1_000, u64::from(u32::MAX)] {
        let scale = Scale::of_counts([greatest].into_iter());
        assert!(scale.place(greatest) <= ROOM && scale.place(0) == 0, "{greatest}");
    }
    for seconds in [0, 59, 60, 86_400, 400_000_000, u64::MAX] {
        let scale = Scale::of_durations([0, seconds].into_iter(), ROOM);
        let places = [0, 30, 7_000, seconds].map(|seconds| scale.place(seconds));
        assert!(places.iter().all(|place| *place <= ROOM), "{seconds}: {places:?}");
    }
    let scale = Scale::of_durations([60, 600].into_iter(), ROOM);
    assert_eq!([60, 330, 600].map(|seconds| scale.place(seconds)), [0, ROOM / 2, ROOM]);
}
