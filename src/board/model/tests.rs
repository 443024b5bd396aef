//! Columns, cards and filters of small projects.

use super::columns::{BoardSource, BoardView, Card, Place};
use crate::domain::{AgentId, GateId, Timestamp};
use crate::files::config::configuration::{Source, load};
use crate::files::task_file::{Defaults, parse};
use crate::rules::Rules;
use crate::tasks::headers::filter::TaskFilter;
use crate::tasks::headers::listing::Listing;
use crate::tasks::headers::summary::TaskSummary;

const PROJECT: &str = "\
project: {name: garden}
workflow:
  gates:
    - {id: work, role: dev}
    - {id: is-big, type: condition, when: \"tags.includes('big')\", routes: {'true': $next, 'false': $end}}
    - id: checks
      type: fork
      joinStrategy: all
      branches: [{id: law, role: lead, canReject: true}, {id: style, role: dev}]
    - {id: sign-off, role: lead, requireHuman: true, canReject: true}
";

const UNUSED: &str = "gates: [{id: only, role: dev}]\n";

const ORG: &str = "\
roles:
  dev: {agents: [agent-7, agent-8]}
  lead: {agents: [human-ada]}
agents:
  agent-7: {maxTasks: 2}
  agent-8: {maxTasks: 1}
  human-ada: {}
";

/// Frontmatter of tasks in different states.
const TASKS: [(&str, &str); 7] = [
    (
        "AOF-aaa",
        "title: Low\npriority: low\nstatus: ready\ngate: {current: work, entered: \"2026-02-16T10:00:00Z\", visit: 0}",
    ),
    (
        "AOF-bbb",
        "title: Urgent\npriority: critical\ntags: [Login, api]\nstatus: ready\ngate: {current: work, entered: \"2026-02-16T10:00:00Z\", visit: 0}",
    ),
    (
        "AOF-ccc",
        "title: Late\ndue: 2026-02-15\nmilestone: M 1\nstatus: in_progress\nrouting: {workflow: default, role: dev, agent: agent-7}\ngate: {current: work, entered: \"2026-02-16T10:00:00Z\", visit: 0}",
    ),
    (
        "AOF-ddd",
        "title: Sign\nstatus: ready\ngate: {current: sign-off, entered: \"2026-02-16T10:00:00Z\", visit: 0}",
    ),
    ("AOF-eee", "title: Made by hand"),
    (
        "AOF-fff",
        "title: Lost its gate\nstatus: ready\ngate: {current: gone, entered: \"2026-02-16T10:00:00Z\", visit: 0}",
    ),
    (
        "AOF-ggg",
        "title: Done\nrouting: {workflow: default}\nstatus: complete\nupdated: \"2026-02-16T09:00:00Z\"\ngateHistory:\n  - {gate: sign-off, role: lead, entered: \"2026-02-16T08:00:00Z\", exited: \"2026-02-16T09:00:00Z\", outcome: complete, summary: x, to: $end}",
    ),
];

fn board() -> BoardView {
    let source = |name: &str, text: &str| Source { name: name.to_owned(), bytes: text.into() };
    let sources = [
        source("project.yaml", PROJECT),
        source("org.yaml", ORG),
        source("workflows/unused.yaml", UNUSED),
    ];
    let read = load(&sources).unwrap();
    let rules = Rules::new(read.project, read.org).unwrap().0;
    let mut listing = Listing::default();
    for (id, fields) in TASKS {
        let text = format!("---\n{fields}\n---\n- [x] one\n- [ ] two\n");
        let defaults =
            Defaults { workflow: "default".parse().unwrap(), created: Timestamp::UNIX_EPOCH };
        let file = parse(text.as_bytes(), &id.parse().unwrap(), &defaults).unwrap();
        let mut task = Box::new(TaskSummary::of(&file));
        task.follow(&rules);
        listing.tasks.push((task, format!("tasks/{id}.md").parse().unwrap()));
    }
    let you: AgentId = "human-ada".parse().unwrap();
    BoardView::new(&BoardSource {
        rules: &rules,
        listing: &listing,
        waiting: &[],
        you: Some(&you),
        now: "2026-02-16T12:00:00Z".parse().unwrap(),
    })
}

fn titles<'b>(cards: impl IntoIterator<Item = &'b Card>) -> Vec<&'b str> {
    cards.into_iter().map(|card| card.title.as_str()).collect()
}

#[test]
fn each_place_is_a_column_and_each_task_is_on_one() {
    let board = board();
    let lanes: Vec<&str> = board.lanes.iter().map(|lane| lane.workflow.as_str()).collect();
    assert_eq!(lanes, ["default"], "a workflow without tasks has no lane");
    let columns = &board.lanes[0].columns;
    let shown: Vec<(&str, Vec<&str>)> =
        columns.iter().map(|column| (column.place.name(), titles(&column.cards))).collect();
    assert_eq!(
        shown,
        [
            ("(new)", vec!["Made by hand"]),
            ("work", vec!["Late", "Urgent", "Low"]),
            ("checks", vec![]),
            ("sign-off", vec!["Sign"]),
            ("(stranded)", vec!["Lost its gate"]),
            ("(finished)", vec!["Done"]),
        ]
    );
    let of = |name: &str| columns.iter().find(|column| column.place.name() == name).unwrap();
    assert_eq!(of("work").capacity, Some(3), "what its agents can hold together");
    assert_eq!((of("sign-off").capacity, of("sign-off").human), (None, true));
    let branches: Vec<&str> = of("checks").branches.iter().map(GateId::as_str).collect();
    assert_eq!(branches, ["law", "style"]);
    assert_eq!(board.cards().count(), TASKS.len());
    assert_eq!(of("work").place, Place::Gate("work".parse().unwrap()));
}

#[test]
fn a_card_shows_its_holder_and_its_problem() {
    let board = board();
    let late = board.card(&"AOF-ccc".parse().unwrap()).unwrap();
    assert!(late.overdue && !late.mine);
    assert_eq!(late.agents, ["agent-7".parse().unwrap()]);
    let boxes = late.checklist.unwrap();
    assert_eq!((boxes.done, boxes.total), (1, 2));
    assert!(board.card(&"AOF-ddd".parse().unwrap()).unwrap().mine, "its role has the reader");
}

#[test]
fn filters_take_words_fields_and_states() {
    let board = board();
    for (line, found) in [
        ("", 7),
        ("LOG", 1),
        ("aof-d", 1),
        ("tag:API", 1),
        ("tag:ap", 0),
        ("gate:work agent:agent-7", 1),
        ("milestone:\"M 1\"", 1),
        ("is:overdue", 1),
        ("is:mine role:lead", 1),
        ("workflow:default done", 1),
        ("a:b", 0),
    ] {
        let filter: TaskFilter = line.parse().unwrap();
        assert_eq!(board.cards().filter(|card| filter.admits(*card)).count(), found, "{line}");
    }
    let fault = "is:overdu".parse::<TaskFilter>().unwrap_err().to_string();
    assert!(fault.contains("did you mean `overdue`?"), "{fault}");
}

#[test]
fn a_board_is_json() {
    let value = serde_json::to_value(board()).unwrap();
    let card = &value["lanes"][0]["columns"][1]["cards"][0];
    assert_eq!(card["id"], "AOF-ccc");
    assert_eq!(card["ticket"], "AOF-ccc@0");
    assert_eq!(value["lanes"][0]["columns"][1]["place"]["gate"], "work");
    assert_eq!(value["lanes"][0]["columns"][0]["place"]["gate"], serde_json::Value::Null);
    assert_eq!(value["you"], "human-ada");
}
