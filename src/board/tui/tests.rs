//! Screens and keys of the board, without a terminal.

use std::sync::Arc;

use insta::assert_snapshot;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use ratatui::style::Color;
use unicode_width::UnicodeWidthStr;

use super::draw::draw;
use super::project_view::ProjectView;
use super::state::{TuiEffect, TuiEvent, TuiState};
use super::theme::Theme;
use super::worker::{Denial, LoadedPage, WorkAnswer, WorkRequest};
use crate::board::model::act::BoardAct;
use crate::board::model::columns::{
    BoardColumn, BoardLane, BoardView, Card, CardWords, DoneCount, Place,
};
use crate::board::model::feed::BoardNews;
use crate::board::model::page::{
    OpeningPage, OutcomeChoice, OutputField, TaskDetails, TaskSheet, TimelineEntry,
};
use crate::domain::{Map, Outcome, Priority, Status, Timestamp};
use crate::rules::outputs::FieldInput;
use crate::storage::FileStat;
use crate::tasks::view::work_diff::WorkDiff;

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn card(id: &str, title: &str) -> Card {
    Card {
        id: id.parse().unwrap(),
        ticket: format!("{id}@1").parse().unwrap(),
        title: title.to_owned(),
        workflow: "feature".parse().unwrap(),
        gate: Some("review".parse().unwrap()),
        state: "ready",
        held: false,
        priority: Priority::Medium,
        roles: Vec::new(),
        agents: Vec::new(),
        since: time("2026-02-16T08:00:00Z"),
        due: None,
        overdue: false,
        escalated: None,
        waiting_for: Vec::new(),
        blockers: Vec::new(),
        rejections: 0,
        checklist: None,
        children: None,
        branches: Vec::new(),
        milestone: None,
        assignee: Vec::new(),
        agent_names: Vec::new(),
        assignee_names: Vec::new(),
        tags: Vec::new(),
        mine: false,
        waits_for_you: false,
        words: CardWords::default(),
        file: FileStat::default(),
    }
}

fn column(gate: &str, cards: Vec<Card>) -> BoardColumn {
    let place = Place::Gate(gate.parse().unwrap());
    let (roles, branches) = (Vec::new(), Vec::new());
    BoardColumn { place, roles, branches, human: gate == "release", capacity: None, cards }
}

/// Four gates, with titles that are hard to show.
fn board() -> BoardView {
    let login = Card { tags: vec!["web".to_owned()], mine: true, ..card("AOF-aaa", "Add login") };
    let wide = Card {
        agents: vec!["agent-7".parse().unwrap()],
        checklist: Some(DoneCount { done: 2, total: 5 }),
        ..card("AOF-bbb", "日本語のタイトル 👩‍💻 全角文字がとても長い")
    };
    let hostile = Card {
        priority: Priority::Critical,
        state: "blocked",
        ..card("AOF-ccc", "\u{1b}[2J\u{202e}clear\r\nthe screen")
    };
    let waiting = Card { waits_for_you: true, rejections: 2, ..card("AOF-ddd", "Payments") };
    let done =
        BoardColumn { place: Place::Finished, ..column("review", vec![card("AOF-eee", "Old")]) };
    let columns = vec![
        BoardColumn { capacity: Some(3), ..column("plan", vec![login, wide]) },
        column("implement", vec![hostile]),
        column("review", vec![waiting]),
        column("release", Vec::new()),
        done,
    ];
    let fix = card("AOF-fff", "Broken link");
    let fix = Card { workflow: "fix".parse().unwrap(), ..fix };
    BoardView {
        project: Some("shop".to_owned()),
        at: time("2026-02-16T10:00:00Z"),
        you: Some("human-ann".parse().unwrap()),
        lanes: vec![
            BoardLane { workflow: "feature".parse().unwrap(), columns },
            BoardLane {
                workflow: "fix".parse().unwrap(),
                columns: vec![column("repair", vec![fix])],
            },
        ],
        waiting_for_you: vec!["AOF-ddd@1".parse().unwrap()],
        unreadable: Vec::new(),
        paused: Vec::new(),
        decisions: Vec::new(),
        full_names: Vec::new(),
        zone: None,
    }
}

/// A review that may approve or reject.
fn page(id: &str) -> LoadedPage {
    let choice = |outcome: &str, to: Option<&str>| OutcomeChoice {
        outcome: outcome.to_owned(),
        meaning: format!("you say {outcome}"),
        to: to.map(str::to_owned),
        label: String::new(),
        leads: String::new(),
        needs_blockers: matches!(outcome, "needs_review" | "blocked"),
        rejects: outcome == "needs_review",
        approves: outcome == "complete",
        outputs: Vec::new(),
    };
    let version = OutputField {
        name: "version".to_owned(),
        required: true,
        form: "a text".to_owned(),
        description: Some("what is released".to_owned()),
        default: None,
        input: FieldInput::Text,
    };
    let approved = OutcomeChoice { outputs: vec![version], ..choice("complete", Some("release")) };
    let opening = OpeningPage {
        ticket: format!("{id}@1").parse().unwrap(),
        station: "review".to_owned(),
        role: "architect".parse().unwrap(),
        agents: vec!["human-ann".parse().unwrap()],
        human: false,
        blocked: false,
        brief: String::new(),
        choices: vec![approved, choice("needs_review", Some("implement")), choice("blocked", None)],
    };
    let entry = TimelineEntry {
        station: "implement".to_owned(),
        role: Some("backend".parse().unwrap()),
        agent: Some("agent-7".parse().unwrap()),
        entered: time("2026-02-16T07:00:00Z"),
        exited: time("2026-02-16T08:00:00Z"),
        seconds: 3_600,
        outcome: "complete".to_owned(),
        to: Some("review".to_owned()),
        summary: "Cards work\u{1b}[31m".to_owned(),
        blockers: Vec::new(),
        notes: None,
    };
    let page = TaskDetails {
        id: id.parse().unwrap(),
        title: "Payments".to_owned(),
        path: format!("tasks/{id}.md"),
        ticket: format!("{id}@1").parse().unwrap(),
        workflow: "feature".parse().unwrap(),
        status: Status::Ready,
        held: false,
        agents: Vec::new(),
        gate: Some("review".parse().unwrap()),
        gates: Vec::new(),
        frozen: None,
        frontmatter: Map::new(),
        body: "# Why\n\nBecause shops take money, and a sentence that is longer than the pane has to be wrapped at a blank somewhere.\n- [ ] one\n- [x] two\n".to_owned(),
        reasons: vec!["it came to review by complete".to_owned()],
        openings: vec![opening],
        timeline: vec![entry],
        sheet: TaskSheet::default(),
    };
    LoadedPage { page, completion: "01J00000000000000000000000".parse().unwrap() }
}

fn state(size: (u16, u16)) -> TuiState {
    let you = Ok("human-ann".parse().unwrap());
    let project = ProjectView::new("folder".to_owned(), you);
    let mut state = TuiState::new(vec![project], Theme { colour: false }, size);
    state.update(TuiEvent::News(0, BoardNews::Board(Arc::new(board()))));
    state
}

fn terminal(state: &mut TuiState) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(state.size.0, state.size.1)).unwrap();
    let mut map = None;
    terminal.draw(|frame| map = Some(draw(state, frame))).unwrap();
    state.map = map.unwrap();
    terminal
}

/// Returns the text of the screen without empty lines, and the number of these.
fn screen(state: &mut TuiState) -> String {
    let terminal = terminal(state);
    let buffer = terminal.backend().buffer();
    let row = |y: u16| {
        let (mut row, mut x) = (String::new(), 0);
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            x += u16::try_from(symbol.width()).unwrap().max(1);
        }
        row.trim_end().to_owned()
    };
    let rows: Vec<String> = (0..buffer.area.height).map(row).collect();
    let is_empty = |row: &str| row.is_empty() || row.trim() == "│";
    let empty = rows.iter().filter(|row| is_empty(row)).count();
    let kept = rows.into_iter().filter(|row| !is_empty(row));
    format!("{}\n({empty} empty)", kept.collect::<Vec<_>>().join("\n"))
}

/// Presses these keys: each letter is one, and `<enter>` names one. Returns the effects.
fn press(state: &mut TuiState, keys: &str) -> Vec<TuiEffect> {
    let mut done = Vec::new();
    let mut rest = keys;
    while let Some(first) = rest.chars().next() {
        let named = rest.strip_prefix('<').and_then(|key| key.split_once('>'));
        let (code, after) = match named {
            Some(("enter", after)) => (KeyCode::Enter, after),
            Some(("esc", after)) => (KeyCode::Esc, after),
            Some(("tab", after)) => (KeyCode::Tab, after),
            Some(("end", after)) => (KeyCode::End, after),
            _ => (KeyCode::Char(first), &rest[first.len_utf8()..]),
        };
        done.extend(state.update(TuiEvent::Key(KeyEvent::new(code, KeyModifiers::NONE))));
        rest = after;
    }
    done
}

fn answer_page(state: &mut TuiState, id: &str) {
    let answer = WorkAnswer::Page(id.parse().unwrap(), Box::new(Ok(page(id))));
    assert_eq!(state.update(TuiEvent::Answer(0, answer)), []);
}

#[test]
fn the_board_fits_a_small_terminal() {
    let mut state = state((80, 24));
    assert_snapshot!(screen(&mut state), @r#"
     shop  feature fix                                      1 for you  as human-ann
    plan                  2/3 implement               1 review                1 ›
    ━━━━━━━━━━━━━━━━━━━━━━━━━ ───────────────────────── ─────────────────────────
    ▌ AOF-aaa              2h   AOF-ccc !!           2h   AOF-ddd              2h
    ▌ Add login                 \u{1b}[2J\u{202e}clear…   Payments
    ▌ #web                      blocked                   you decide, back 2x
      AOF-bbb              2h
      日本語のタイトル 👩‍💻 全…
      agent-7, 2/5 done
    enter open  a approve  r send back  c done  p take  / filter  ? keys  q quit
    (14 empty)
    "#);
    press(&mut state, "llll");
    assert_snapshot!(screen(&mut state), @"
     shop  feature fix                                      1 for you  as human-ann
    ‹ review                1 release (people)        0 finished                1
    ───────────────────────── ───────────────────────── ━━━━━━━━━━━━━━━━━━━━━━━━━
      AOF-ddd              2h                           ▌ AOF-eee              2h
      Payments                                          ▌ Old
      you decide, back 2x                               ▌
    enter open  a approve  r send back  c done  p take  / filter  ? keys  q quit
    (17 empty)
    ");
    press(&mut state, "?");
    assert_snapshot!(screen(&mut state), @"
     shop  feature fix                                      1 for you  as human-ann
    ┌ keys ────────────────────────────────────────────────────────────────────────┐
    │ j down                  down                                                 │
    │ k up                    up                                                   │
    │ h left                  left, over empty gates                               │
    │ l right                 right, over empty gates                              │
    │ enter                   open                                                 │
    │ esc                     back                                                 │
    │ tab                     other side                                           │
    │ a                       approve                                              │
    │ r                       send back                                            │
    │ c                       done                                                 │
    │ b                       blocked                                              │
    │ u                       unblock                                              │
    │ p                       take                                                 │
    │ i                       plan for                                             │
    │ m                       comment                                              │
    │ e                       edit                                                 │
    │ n                       new                                                  │
    │ z                       undo my last act                                     │
    │ d                       diff                                      20 more ↓  │
    └──────────────────────────────────────────────────────────────────────────────┘
    enter open  esc back
    (1 empty)
    ");
}

#[test]
fn a_wide_terminal_shows_the_task_beside_the_board() {
    let mut state = state((200, 60));
    assert_snapshot!(screen(&mut state), @r#"
     shop  feature fix                                                                                                                                                              1 for you  as human-ann
    plan                                2/3 implement                             1 review                                1 release (people)                      0 finished                              1
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ ─────────────────────────────────────── ─────────────────────────────────────── ─────────────────────────────────────── ───────────────────────────────────────
    ▌ AOF-aaa                            2h   AOF-ccc !!                         2h   AOF-ddd                            2h                                           AOF-eee                            2h
    ▌ Add login                               \u{1b}[2J\u{202e}clear the screen       Payments                                                                        Old
    ▌ #web                                    blocked                                 you decide, back 2x
      AOF-bbb                            2h
      日本語のタイトル 👩‍💻 全角文字がとても…
      agent-7, 2/5 done
    enter open  a approve  r send back  c done  p take  / filter  w waiting  ? keys  q quit
    (50 empty)
    "#);
    let asked = press(&mut state, "ll<enter>");
    assert_eq!(asked, [TuiEffect::Ask(0, WorkRequest::Page("AOF-ddd".parse().unwrap()))]);
    answer_page(&mut state, "AOF-ddd");
    assert_snapshot!(screen(&mut state), @r#"
     shop  feature fix                                                                                                                                                              1 for you  as human-ann
    plan                 2/3 implement              1 review                 1 release (people)     0 › │ AOF-ddd [task] timeline  diff  workflow
    ──────────────────────── ──────────────────────── ━━━━━━━━━━━━━━━━━━━━━━━━ ──────────────────────── │ Payments
      AOF-aaa             2h   AOF-ccc !!          2h ▌ AOF-ddd             2h                          │ tasks/AOF-ddd.md
      Add login                \u{1b}[2J\u{202e}clea… ▌ Payments                                        │
      #web                     blocked                ▌ you decide, back 2x                             │ why it is here
      AOF-bbb             2h                                                                            │ - it came to review by complete
      日本語のタイトル 👩‍💻 …                                                                             │
      agent-7, 2/5 done                                                                                 │ what can be said at review, as architect
                                                                                                        │ you may say it
                                                                                                        │ - complete -> release: you say complete
                                                                                                        │ - needs_review -> implement: you say needs_review
                                                                                                        │ - blocked: you say blocked
                                                                                                        │ text
                                                                                                        │ # Why
                                                                                                        │ Because shops take money, and a sentence that is longer than the pane has to be wrapped at a
                                                                                                        │ blank somewhere.
                                                                                                        │ - [ ] one
                                                                                                        │ - [x] two
    esc back  tab other side  a approve  r send back  c done  b blocked  m comment  / filter  w waiting  ? keys  q quit
    (40 empty)
    "#);
}

#[test]
fn a_task_has_its_text_its_timeline_its_diff_and_its_workflow() {
    let mut state = state((80, 24));
    press(&mut state, "ll<enter>");
    assert!(screen(&mut state).contains("reading ..."));
    answer_page(&mut state, "AOF-ddd");
    assert_snapshot!(screen(&mut state), @"
     shop  feature fix                                      1 for you  as human-ann
    AOF-ddd [task] timeline  diff  workflow
    Payments
    tasks/AOF-ddd.md
    why it is here
    - it came to review by complete
    what can be said at review, as architect
    you may say it
    - complete -> release: you say complete
    - needs_review -> implement: you say needs_review
    - blocked: you say blocked
    text
    # Why
    Because shops take money, and a sentence that is longer than the pane has to be
    wrapped at a blank somewhere.
    - [ ] one
    - [x] two
    esc back  tab other side  a approve  r send back  c done  ? keys  q quit
    (6 empty)
    ");
    state.update(TuiEvent::Resize(200, 60));
    press(&mut state, "<tab>");
    assert!(!state.in_detail);
    state.update(TuiEvent::Resize(80, 24));
    assert!(state.in_detail, "the keys go to what is shown");
    press(&mut state, "t");
    let timeline = screen(&mut state);
    assert!(timeline.contains("implement: complete -> review"), "{timeline}");
    assert!(timeline.contains("by agent-7, after 1h"), "{timeline}");
    assert!(timeline.contains("Cards work\\u{1b}[31m"), "{timeline}");
    let id = "AOF-ddd".parse().unwrap();
    assert_eq!(press(&mut state, "d"), [TuiEffect::Ask(0, WorkRequest::Diff(id))]);
    let diff = WorkDiff {
        since: "1a2b3c4".to_owned(),
        which: "the commit before the task was made",
        text: "diff --git a/x b/x\n-old\n+new\tend\n".to_owned(),
        untracked: vec!["src/\u{1b}new.rs".to_owned()],
    };
    let answer = WorkAnswer::Diff("AOF-ddd".parse().unwrap(), Ok(diff));
    state.update(TuiEvent::Answer(0, answer));
    assert_snapshot!(screen(&mut state), @r#"
     shop  feature fix                                      1 for you  as human-ann
    AOF-ddd  task  timeline [diff] workflow
    changes since 1a2b3c4, the commit before the task was made
    diff --git a/x b/x
    -old
    +new    end
    new files that git does not know yet
      src/\u{1b}new.rs
    esc back  tab other side  a approve  r send back  c done  ? keys  q quit
    (15 empty)
    "#);
    let name = "feature".parse().unwrap();
    assert_eq!(press(&mut state, "v"), [TuiEffect::Ask(0, WorkRequest::Graph(name))]);
    let graph = "○  plan  backend\n│\n○  review  architect\n".to_owned();
    let answer = WorkAnswer::Graph("feature".parse().unwrap(), Ok(graph));
    state.update(TuiEvent::Answer(0, answer));
    assert_snapshot!(screen(&mut state), @"
     shop  feature fix                                      1 for you  as human-ann
    AOF-ddd  task  timeline  diff [workflow]
    ○  plan  backend
    ○  review  architect  <- here
    esc back  tab other side  a approve  r send back  c done  ? keys  q quit
    (19 empty)
    ");
}

#[test]
fn waiting_tasks_are_one_key_away() {
    let mut state = state((80, 24));
    press(&mut state, ".");
    assert!(screen(&mut state).contains("repair"));
    press(&mut state, "w");
    assert_snapshot!(screen(&mut state), @"
     shop  feature fix                                      1 for you  as human-ann
    repair                                                                        1
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    ▌ AOF-fff                                                                    2h
    ▌ Broken link
    ▌
    ┌ waits for you ───────────────────────────────────────────────────────────────┐
    │▌ AOF-ddd 2h review Payments                                                  │
    └──────────────────────────────────────────────────────────────────────────────┘
    enter open  esc back  a approve  r send back  c done  / filter  ? keys  q quit
    (14 empty)
    ");
    // It is in another workflow: the board switches to that.
    press(&mut state, "<enter>");
    answer_page(&mut state, "AOF-ddd");
    press(&mut state, "<esc>");
    let card = state.project().card().unwrap();
    assert_eq!(card.id.as_str(), "AOF-ddd");
}

#[test]
fn the_filter_shows_its_matches_and_names_unknown_words() {
    let mut state = state((80, 24));
    press(&mut state, "/is:wait");
    let fault = screen(&mut state);
    assert!(fault.contains("/is:wait"), "{fault}");
    assert!(fault.contains("`wait` filters nothing"), "{fault}");
    press(&mut state, "ing<enter>");
    assert_snapshot!(screen(&mut state), @"
     shop  feature fix                                      1 for you  as human-ann
    ‹ implement        0 of 1 review                  1 release (people)      0 ›
    ───────────────────────── ━━━━━━━━━━━━━━━━━━━━━━━━━ ─────────────────────────
                              ▌ AOF-ddd              2h
                              ▌ Payments
                              ▌ you decide, back 2x
    /is:waiting (esc shows all)
    enter open  a approve  r send back  c done  p take  / filter  ? keys  q quit
    (16 empty)
    ");
    // The selection does not change.
    press(&mut state, "<esc>hh");
    assert!(screen(&mut state).contains("Add login"));
}

#[test]
fn the_selection_follows_its_task() {
    let mut state = state((80, 24));
    press(&mut state, "j");
    assert_eq!(state.project().card().unwrap().id.as_str(), "AOF-bbb");
    let mut moved = board();
    let task = moved.lanes[0].columns[0].cards.remove(1);
    moved.lanes[0].columns[3].cards.push(task);
    state.update(TuiEvent::News(0, BoardNews::Board(Arc::new(moved))));
    assert_eq!((state.project().column, state.project().row), (3, 0));
    assert_eq!(state.project().card().unwrap().id.as_str(), "AOF-bbb");
    // If the task is gone, the selection stays at its position.
    state.update(TuiEvent::News(0, BoardNews::Board(Arc::new(board()))));
    let mut without = board();
    without.lanes[0].columns[0].cards.pop();
    state.update(TuiEvent::News(0, BoardNews::Board(Arc::new(without))));
    assert_eq!((state.project().column, state.project().row), (0, 0));
}

/// Returns the act among the effects.
fn act(effects: &[TuiEffect]) -> &BoardAct {
    match effects {
        [TuiEffect::Ask(0, WorkRequest::Act(act))] => act,
        other => panic!("no act: {other:?}"),
    }
}

#[test]
fn an_approval_gives_the_outputs_of_the_gate_and_counts_once() {
    let mut state = state((80, 24));
    press(&mut state, "lla");
    answer_page(&mut state, "AOF-ddd");
    assert_snapshot!(screen(&mut state), @"
     shop  feature fix                                      1 for you  as human-ann
    ‹ implement             1 review                  1 release (people)      0 ›
    ───────────────────────── ━━━━━━━━━━━━━━━━━━━━━━━━━ ─────────────────────────
      AOF-ccc !!           2h ▌ AOF-ddd              2h
      \\u{1b}[2J\\u{202e}clear… ▌ Payments
      blocked                 ▌ you decide, back 2x
    ┌ AOF-ddd@1: complete, as human-ann ───────────────────────────────────────────┐
    │ Payments                                                                     │
    │ complete -> release: you say complete                                        │
    │ summary; without one, Approved:                                              │
    │ >                                                                            │
    │ version (a text; what is released):                                          │
    │ >                                                                            │
    └──────────────────────────────────────────────────────────────────────────────┘
    enter next, at the end send  ctrl-s send  alt-enter new line  esc cancel
    (9 empty)
    ");
    press(&mut state, "<enter>1.2");
    let sent = press(&mut state, "<enter><enter>");
    let BoardAct { ticket, given, .. } = act(&sent);
    assert_eq!(ticket.as_ref().unwrap().to_string(), "AOF-ddd@1");
    assert_eq!(given.text("outcome").unwrap(), Outcome::Complete.as_str());
    assert_eq!(given.text("summary").unwrap(), "Approved");
    assert_eq!(given.object("outputs")["version"], "1.2");
    let done = WorkAnswer::Act(Ok("AOF-ddd: review -> release (complete)".to_owned()));
    assert_eq!(state.update(TuiEvent::Answer(0, done)), []);
    let shown = screen(&mut state);
    assert!(shown.contains("\nAOF-ddd: review -> release (complete)\n"), "{shown}");
    assert!(state.form.is_none());
}

#[test]
fn a_refusal_is_shown_whole_and_nothing_typed_is_lost() {
    let mut state = state((80, 24));
    press(&mut state, "llr");
    answer_page(&mut state, "AOF-ddd");
    let sent = press(&mut state, "no test<enter>日本 wide<enter><enter><enter>");
    let given = &act(&sent).given;
    assert_eq!(given.texts("blockers").unwrap(), ["no test", "日本 wide"]);
    assert_eq!(given.text("outcome").unwrap(), Outcome::NeedsReview.as_str());
    assert_eq!(given.text("summary").unwrap(), "no test");
    let denial = Denial {
        code: "not_your_gate".to_owned(),
        problem: "you cannot reject that".to_owned(),
        fix: Some((1..40).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n")),
    };
    state.update(TuiEvent::Answer(0, WorkAnswer::Act(Err(denial))));
    assert_snapshot!(screen(&mut state), @"
     shop  feature fix                                      1 for you  as human-ann
    ┌ refused ─────────────────────────────────────────────────────────────────────┐
    │ you cannot reject that                                                       │
    │                                                                              │
    │ line 1                                                                       │
    │ line 2                                                                       │
    │ line 3                                                                       │
    │ line 4                                                                       │
    │ line 5                                                                       │
    │ line 6                                                                       │
    │ line 7                                                                       │
    │ line 8                                                                       │
    │ line 9                                                                       │
    │ line 10                                                                      │
    │ line 11                                                                      │
    │ line 12                                                                      │
    │ line 13                                                                      │
    │ line 14                                                                      │
    │ line 15                                                                      │
    │ line 16                                                                      │
    │ line 17                                                           22 more ↓  │
    └──────────────────────────────────────────────────────────────────────────────┘
    enter open  esc back
    (1 empty)
    ");
    press(&mut state, "G");
    assert!(screen(&mut state).contains("line 39"));
    press(&mut state, "<esc>");
    assert_snapshot!(screen(&mut state), @"
     shop  feature fix                                      1 for you  as human-ann
    ‹ implement             1 review                  1 release (people)      0 ›
    ───────────────────────── ━━━━━━━━━━━━━━━━━━━━━━━━━ ─────────────────────────
      AOF-ccc !!           2h ▌ AOF-ddd              2h
      \\u{1b}[2J\\u{202e}clear… ▌ Payments
    ┌ AOF-ddd@1: needs_review, as human-ann ───────────────────────────────────────┐
    │ Payments                                                                     │
    │ needs_review -> implement: you say needs_review                              │
    │ to fix:                                                                      │
    │ > no test                                                                    │
    │ to fix:                                                                      │
    │ > 日本 wide                                                                  │
    │ to fix:                                                                      │
    │ >                                                                            │
    │ summary; without one, the first point:                                       │
    │ >                                                                            │
    └──────────────────────────────────────────────────────────────────────────────┘
    enter next, at the end send  ctrl-s send  alt-enter new line  esc cancel
    (6 empty)
    ");
    // The same form again: the same completion.
    let given = act(&press(&mut state, "<enter>")).given.clone();
    assert_eq!(given.text("id").unwrap(), "01J00000000000000000000000");
}

#[test]
fn a_judge_of_several_branches_chooses_one() {
    let mut state = state((80, 24));
    press(&mut state, "lla");
    let mut forked = page("AOF-ddd");
    let mut other = forked.page.openings[0].clone();
    forked.page.openings[0].ticket = "AOF-ddd@1/style".parse().unwrap();
    other.ticket = "AOF-ddd@1/security".parse().unwrap();
    forked.page.openings.push(other);
    let answer = WorkAnswer::Page("AOF-ddd".parse().unwrap(), Box::new(Ok(forked)));
    state.update(TuiEvent::Answer(0, answer));
    let menu = screen(&mut state);
    assert!(menu.contains("▌ style: complete -> release"), "{menu}");
    press(&mut state, "j<enter>");
    let sent = press(&mut state, "<enter>2<enter>");
    let ticket = act(&sent).ticket.as_ref();
    assert_eq!(ticket.unwrap().to_string(), "AOF-ddd@1/security");
}

#[test]
fn typed_text_comes_back_after_esc() {
    let mut state = state((80, 24));
    press(&mut state, "llr");
    answer_page(&mut state, "AOF-ddd");
    press(&mut state, "no test<esc>rj");
    answer_page(&mut state, "AOF-ddd");
    assert!(state.form.is_none(), "another key takes the act back");
    press(&mut state, "r");
    answer_page(&mut state, "AOF-ddd");
    assert!(screen(&mut state).contains("> no test"));
}

#[test]
fn a_missing_passphrase_is_asked_for_at_the_terminal() {
    let mut state = state((80, 24));
    press(&mut state, "llb");
    answer_page(&mut state, "AOF-ddd");
    press(&mut state, "no access<enter><enter><enter>");
    let (code, problem) = ("cannot_sign".to_owned(), "no key".to_owned());
    let denial = WorkAnswer::Act(Err(Denial { code, problem, fix: None }));
    let effects = state.update(TuiEvent::Answer(0, denial));
    let [TuiEffect::Run(0, words)] = &effects[..] else { panic!("{effects:?}") };
    let words = words.join(" ");
    assert_eq!(
        words,
        "complete AOF-ddd@1 --outcome=blocked --summary=no access \
         --id=01J00000000000000000000000 --blocker=no access"
    );
}

#[test]
fn a_forbidden_act_is_refused_with_the_reason() {
    let note = |state: &mut TuiState| state.message.take().unwrap().0;
    let mut board = state((80, 24));
    board.projects[0].you = Err("nobody knows you".to_owned());
    press(&mut board, "c");
    assert_eq!(note(&mut board), "the board is read-only: nobody knows you");
    board.projects[0].you = Ok("agent-7".parse().unwrap());
    press(&mut board, "llc");
    answer_page(&mut board, "AOF-ddd");
    assert_eq!(note(&mut board), "AOF-ddd is at review now, where agent-7 has no say: human-ann");
    board.projects[0].you = Ok("human-ann".parse().unwrap());
    press(&mut board, "c");
    let mut moved = page("AOF-ddd");
    moved.page.openings[0].ticket = "AOF-ddd@2".parse().unwrap();
    let answer = WorkAnswer::Page("AOF-ddd".parse().unwrap(), Box::new(Ok(moved)));
    board.update(TuiEvent::Answer(0, answer));
    assert_eq!(note(&mut board), "AOF-ddd moved meanwhile: look again");
}

#[test]
fn the_mouse_selects_opens_and_scrolls() {
    let mut state = state((80, 24));
    screen(&mut state);
    let mut click = |column: u16, row: u16, kind: MouseEventKind| {
        let modifiers = KeyModifiers::NONE;
        state.update(TuiEvent::Mouse(MouseEvent { kind, column, row, modifiers }))
    };
    let down = MouseEventKind::Down(MouseButton::Left);
    assert_eq!(click(2, 6, down), []);
    let page = WorkRequest::Page("AOF-bbb".parse().unwrap());
    assert_eq!(click(2, 6, down), [TuiEffect::Ask(0, page)]);
    assert_eq!(click(2, 23, down), []);
    press(&mut state, "<esc>");
    screen(&mut state);
    let up = MouseEvent {
        kind: MouseEventKind::ScrollUp,
        column: 2,
        row: 3,
        modifiers: KeyModifiers::NONE,
    };
    state.update(TuiEvent::Mouse(up));
    assert_eq!(state.project().card().unwrap().id.as_str(), "AOF-aaa");
}

#[test]
fn no_colour_means_none_and_a_tiny_terminal_says_so() {
    let mut board = state((80, 24));
    press(&mut board, "ll<enter>");
    answer_page(&mut board, "AOF-ddd");
    let plain = terminal(&mut board);
    let cells = plain.backend().buffer().content();
    assert!(cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    board.theme = Theme { colour: true };
    let coloured = terminal(&mut board);
    assert!(coloured.backend().buffer().content().iter().any(|cell| cell.fg != Color::Reset));
    board.update(TuiEvent::Resize(30, 8));
    assert_snapshot!(screen(&mut board), @"
    The board needs 40 columns
    and 12 lines; here are 30 and
    8. q quits.
    (5 empty)
    ");
}

#[test]
fn each_size_can_be_drawn() {
    for width in (1..130).step_by(3) {
        for height in [1, 2, 5, 11, 12, 13, 24, 50] {
            let mut board = state((width, height));
            for keys in ["", "?", "<esc>w", "<esc>ll<enter>", "tdv", "<esc>a"] {
                press(&mut board, keys);
                if keys.ends_with(['>', 'a']) && board.project().card().is_some() {
                    answer_page(&mut board, "AOF-ddd");
                }
                terminal(&mut board);
            }
        }
    }
}
