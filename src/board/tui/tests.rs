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
use crate::board::model::decisions::{DecisionCard, DecisionChoice};
use crate::board::model::feed::BoardNews;
use crate::board::model::keys::{KEYS, KeyAct, KeyDoor};
use crate::board::model::page::{
    OpenPoint, OpeningPage, OutcomeChoice, OutputField, TaskDetails, TaskSheet, TimelineEntry,
};
use crate::domain::{Map, Outcome, Priority, Status, Timestamp};
use crate::files::task_file::BodyComment;
use crate::rules::outputs::FieldInput;
use crate::storage::FileStat;
use crate::tasks::headers::mentions::Mention;
use crate::tasks::view::phrases::{self, Turn, TurnKind};
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

/// Returns a card with its words.
fn worded(card: Card, kind: TurnKind, phrase: &str, due: &str) -> Card {
    let turn = Turn { phrase: phrase.to_owned(), kind };
    Card { words: CardWords { turn, due: due.to_owned(), ..CardWords::default() }, ..card }
}

fn column(gate: &str, cards: Vec<Card>) -> BoardColumn {
    let place = Place::Gate(gate.parse().unwrap());
    let (roles, branches) = (vec!["backend".parse().unwrap()], Vec::new());
    BoardColumn { place, roles, branches, human: gate == "release", capacity: None, cards }
}

/// Four gates, with titles that are hard to show.
fn board() -> BoardView {
    let login = Card { tags: vec!["web".to_owned()], mine: true, ..card("AOF-aaa", "Add login") };
    let login = worded(login, TurnKind::Open, "backend", "Dec 15");
    let wide = Card {
        agents: vec!["agent-7".parse().unwrap()],
        checklist: Some(DoneCount { done: 2, total: 5 }),
        priority: Priority::Low,
        ..card("AOF-bbb", "日本語のタイトル 👩‍💻 全角文字がとても長い")
    };
    let wide = worded(wide, TurnKind::Taken, "@agent-7", "");
    let hostile = Card {
        priority: Priority::Critical,
        state: "blocked",
        overdue: true,
        blockers: vec!["wait for legal".to_owned()],
        ..card("AOF-ccc", "\u{1b}[2J\u{202e}clear\r\nthe screen")
    };
    let hostile = worded(hostile, TurnKind::Stopped, "blocked", "2d late");
    let waiting = Card {
        waits_for_you: true,
        rejections: 2,
        priority: Priority::High,
        tags: vec!["ui".to_owned(), "forms".to_owned()],
        ..card("AOF-ddd", "Payments")
    };
    let mut waiting = worded(waiting, TurnKind::You, "you", "today");
    waiting.waiting_for = vec!["AOF-aaa".parse().unwrap()];
    let done = Card { gate: None, ..worded(card("AOF-eee", "Old"), TurnKind::Ended, "done", "") };
    let done =
        BoardColumn { place: Place::Finished, roles: Vec::new(), ..column("review", vec![done]) };
    let columns = vec![
        BoardColumn { capacity: Some(3), ..column("plan", vec![login, wide]) },
        column("implement", vec![hostile]),
        column("review", vec![waiting]),
        column("release", Vec::new()),
        done,
    ];
    let fix = card("AOF-fff", "Broken link");
    let fix =
        worded(Card { workflow: "fix".parse().unwrap(), ..fix }, TurnKind::Open, "backend", "");
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
        mentions: Vec::new(),
        decisions: vec![decision()],
        full_names: Vec::new(),
        zone: None,
    }
}

fn decision() -> DecisionCard {
    let approval = DecisionChoice {
        outcome: "complete".to_owned(),
        label: "Approve".to_owned(),
        leads: "release".to_owned(),
        approves: true,
        rejects: false,
    };
    let (ticket, gate) = ("AOF-ddd@1".parse().unwrap(), "review".to_owned());
    DecisionCard { ticket, gate, choices: vec![approval], asks: false }
}

/// A review that may approve or reject.
fn page(id: &str) -> LoadedPage {
    let choice = |outcome: &str, to: Option<&str>| OutcomeChoice {
        outcome: outcome.to_owned(),
        meaning: format!("you say {outcome}"),
        to: to.map(str::to_owned),
        label: phrases::act(outcome, outcome == "complete", outcome == "needs_review"),
        leads: to.unwrap_or_default().to_owned(),
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
        sheet: TaskSheet {
            text: "# Why\n\nBecause shops take money, and a sentence that is longer than the pane has to be wrapped at a blank somewhere.\n- [ ] one\n- [x] two\n".to_owned(),
            comments: vec![BodyComment {
                by: "human-ben".to_owned(),
                at: time("2026-02-15T14:02:00Z"),
                text: "Look at Safari\u{1b}, too".to_owned(),
            }],
            points: vec![OpenPoint {
                text: "Add a test".to_owned(),
                by: Some("agent-7".parse().unwrap()),
                at: time("2026-02-16T09:27:00Z"),
                is_settled: false,
            }],
            created: time("2026-02-14T06:00:00Z"),
            created_by: Some("human-ann".parse().unwrap()),
            depends_on: vec!["AOF-aaa".parse().unwrap()],
            ..TaskSheet::default()
        },
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
fn the_board_fits_its_terminal() {
    assert_snapshot!(screen(&mut state((60, 16))), @"
    shop  feature  fix                   1 waits for you  as ann
    plan 2  implement 1  review 1  release 0  done 1
    plan (backend)                                         2/3 >
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    ▌   Add login
    ▌   aaa 2h Dec 15 #web                               backend
      · 日本語のタイトル 👩‍💻 全角文字がとても長い
        bbb 2h 2/5                                      @agent-7
    enter open  a approve  r send back  c done  ? keys  q quit
    (7 empty)
    ");
    assert_snapshot!(screen(&mut state((110, 24))), @r#"
    shop  feature  fix                                                                     1 waits for you  as ann
    plan 2  implement 1  review 1  release 0  done 1
    plan (backend)                  2/3  implement (backend)               1  review (backend)                1 >
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  ───────────────────────────────────  ───────────────────────────────────
    ▌   Add login                         !! \u{1b}[2J\u{202e}clear the scr…    ! Payments
    ▌   aaa 2h Dec 15 #web      backend      ccc 2h 2d late          blocked      ddd 2h today back 2 #ui     you
      · 日本語のタイトル 👩‍💻 全角文字が…
        bbb 2h 2/5             @agent-7
    enter open  a approve  r send back  c done  p take  / filter  w waiting  ? keys  q quit
    (15 empty)
    "#);
    assert_snapshot!(screen(&mut state((140, 24))), @r#"
    shop  feature  fix                                                                                                   1 waits for you  as ann
    plan 2  implement 1  review 1  release 0  done 1
    plan (backend)                            2/3  implement (backend)                         1  review (backend)                          1 >
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  ─────────────────────────────────────────────  ─────────────────────────────────────────────
    ▌   Add login                                   !! \u{1b}[2J\u{202e}clear the screen            ! Payments
    ▌   aaa 2h Dec 15 #web                backend      ccc 2h 2d late                    blocked      ddd 2h today back 2 #ui #forms        you
      · 日本語のタイトル 👩‍💻 全角文字がとても長い
        bbb 2h 2/5                       @agent-7
    enter open  a approve  r send back  c done  p take  / filter  w waiting  ? keys  q quit
    (15 empty)
    "#);
    let mut state = state((80, 24));
    assert_snapshot!(screen(&mut state), @r#"
    shop  feature  fix                                       1 waits for you  as ann
    plan 2  implement 1  review 1  release 0  done 1
    plan (backend)                      2/3  implement (backend)                 1 >
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  ───────────────────────────────────────
    ▌   Add login                             !! \u{1b}[2J\u{202e}clear the screen
    ▌   aaa 2h Dec 15 #web          backend      ccc 2h 2d late              blocked
      · 日本語のタイトル 👩‍💻 全角文字がとて…
        bbb 2h 2/5                 @agent-7
    enter open  a approve  r send back  c done  p take  / filter  ? keys  q quit
    (15 empty)
    "#);
    press(&mut state, "llll");
    assert_snapshot!(screen(&mut state), @"
    shop  feature  fix                                       1 waits for you  as ann
    plan 2  implement 1  review 1  release 0  done 1
    < review (backend)                    1  done                                  1
    ───────────────────────────────────────  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
      ! Payments                             ▌   Old
        ddd 2h today back 2 #ui #forms  you  ▌   eee 2h                         done
    enter open  a approve  r send back  c done  p take  / filter  ? keys  q quit
    (17 empty)
    ");
    press(&mut state, "?");
    assert_snapshot!(screen(&mut state), @"
    shop  feature  fix                                       1 waits for you  as ann
    ┌ keys ────────────────────────────────────────────────────────────────────────┐
    │ j down      down                      v           workflow                   │
    │ k up        up                        /           filter                     │
    │ h left      left, over empty gates    ctrl-k      jump to a task or an act   │
    │ l right     right, over empty gates   w           waiting                    │
    │ enter       open                      x           select                     │
    │ esc         back                      J           select, and down           │
    │ tab         other side                K           select, and up             │
    │ a           approve                   . >         next workflow              │
    │ r           send back                 , <         previous workflow          │
    │ c           done                      ]           next project, 1 to 9       │
    │ b           blocked                   [           previous project           │
    │ u           unblock                   g home      first                      │
    │ p           take                      G end       last                       │
    │ i           plan for                  pgdn space  a page down                │
    │ m           comment                   pgup ctrl-u a page up                  │
    │ e           edit                      ctrl-l      draw again                 │
    │ n           new                       ctrl-z      to the shell, `fg` returns │
    │ z           undo my last act          ?           keys                       │
    │ d           diff                      q ctrl-c    quit                       │
    │ t           history                                                          │
    └──────────────────────────────────────────────────────────────────────────────┘
    enter open  esc back
    (0 empty)
    ");
}

#[test]
fn a_wide_terminal_shows_the_task_beside_the_board() {
    let mut state = state((120, 36));
    assert_snapshot!(screen(&mut state), @r#"
    shop  feature  fix                                                                               1 waits for you  as ann
    plan 2  implement 1  review 1  release 0  done 1
    plan (backend)                     2/3  implement (backend)                  1  review (backend)                   1 >
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  ──────────────────────────────────────  ──────────────────────────────────────
    ▌   Add login                            !! \u{1b}[2J\u{202e}clear the screen     ! Payments
    ▌   aaa 2h Dec 15 #web         backend      ccc 2h 2d late             blocked      ddd 2h today back 2 #ui #forms you
      · 日本語のタイトル 👩‍💻 全角文字がと…
        bbb 2h 2/5                @agent-7
    enter open  a approve  r send back  c done  p take  / filter  w waiting  ? keys  q quit
    (27 empty)
    "#);
    let asked = press(&mut state, "ll<enter>");
    assert_eq!(asked, [TuiEffect::Ask(0, WorkRequest::Page("AOF-ddd".parse().unwrap()))]);
    answer_page(&mut state, "AOF-ddd");
    assert_snapshot!(screen(&mut state), @r#"
    shop  feature  fix                                                                               1 waits for you  as ann
    plan 2  implement 1  review 1  release 0  done 1
    review (backend)                       1  Payments
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  AOF-ddd  review, waits for you 2 h  ! high  due today  #ui #forms
    ▌ ! Payments                              [task]  history  diff  workflow
    ▌   ddd 2h today back 2 #ui #forms   you
                                              Open points
                                                [ ] Add a test   agent-7, 33 min ago
                                              # Why
                                              Because shops take money, and a sentence that is longer than the pane has to
                                              be wrapped at a blank somewhere.
                                              - [ ] one
                                              - [x] two
                                              Comments
                                                ben, yesterday 14:02
                                                  Look at Safari\u{1b}, too
                                              After    aaa  Add login                              review   backend
                                              File     tasks/AOF-ddd.md
                                              a approve → release    r send back → implement    b blocked
    esc back  tab other side  a approve  r send back  c done  b blocked  m comment  / filter  w waiting  ? keys  q quit
    (16 empty)
    "#);
}

#[test]
fn a_mention_waits_in_the_list_until_its_task_was_open() {
    let mut state = state((80, 24));
    let mention = Mention {
        task: "AOF-aaa".parse().unwrap(),
        by: "human-ben".to_owned(),
        at: time("2026-02-16T09:00:00Z"),
    };
    let board = BoardView { mentions: vec![mention], ..board() };
    state.update(TuiEvent::News(0, BoardNews::Board(Arc::new(board))));
    press(&mut state, "w");
    let shown = screen(&mut state);
    assert!(shown.contains("Waiting for you 2") && shown.contains("ben mentioned you: Add login"));
    press(&mut state, "j<enter>");
    let seen = WorkRequest::Seen("AOF-aaa".parse().unwrap(), time("2026-02-16T09:00:00Z"));
    let answer = WorkAnswer::Page("AOF-aaa".parse().unwrap(), Box::new(Ok(page("AOF-aaa"))));
    assert_eq!(state.update(TuiEvent::Answer(0, answer)), [TuiEffect::Ask(0, seen)]);
    press(&mut state, "<esc>");
    assert!(screen(&mut state).contains("Waiting for you 1"));
}

#[test]
fn points_that_the_reader_wanted_are_settled_once_the_work_was_done() {
    let mut state = state((80, 24));
    press(&mut state, "ll<enter>");
    let mut loaded = page("AOF-ddd");
    let settled = OpenPoint {
        text: "Limit the tries".to_owned(),
        by: Some("human-ann".parse().unwrap()),
        at: time("2026-02-15T09:00:00Z"),
        is_settled: true,
    };
    let mut shown = |points: Vec<OpenPoint>| {
        loaded.page.sheet.points = points;
        let answer = WorkAnswer::Page("AOF-ddd".parse().unwrap(), Box::new(Ok(loaded.clone())));
        state.update(TuiEvent::Answer(0, answer));
        screen(&mut state)
    };
    let text = shown(vec![settled.clone()]);
    assert!(text.contains("Open points: none. Settled since you sent it back:"), "{text}");
    assert!(text.contains("[x] Limit the tries"), "{text}");
    let other = OpenPoint { by: Some("agent-7".parse().unwrap()), ..settled.clone() };
    let text = shown(vec![settled, other]);
    assert!(text.contains("[ ] Limit the tries   agent-7"), "{text}");
    assert!(text.contains("Settled since you sent it back:") && !text.contains("none"), "{text}");
}

#[test]
fn a_task_has_its_text_its_timeline_its_diff_and_its_workflow() {
    let mut state = state((80, 24));
    press(&mut state, "ll<enter>");
    assert!(screen(&mut state).contains("reading ..."));
    answer_page(&mut state, "AOF-ddd");
    assert_snapshot!(screen(&mut state), @r#"
    shop  feature  fix                                       1 waits for you  as ann
    plan 2  implement 1  review 1  release 0  done 1
    Payments
    AOF-ddd  review, waits for you 2 h  ! high  due today  #ui #forms
    [task]  history  diff  workflow
    Open points
      [ ] Add a test   agent-7, 33 min ago
    # Why
    Because shops take money, and a sentence that is longer than the pane has to be
    wrapped at a blank somewhere.
    - [ ] one
    - [x] two
    Comments
      ben, yesterday 14:02
        Look at Safari\u{1b}, too
    After    aaa  Add login                              review   backend
    File     tasks/AOF-ddd.md
    a approve → release    r send back → implement    b blocked
    esc back  a approve  r send back  c done  b blocked  m comment  ? keys  q quit
    (5 empty)
    "#);
    state.update(TuiEvent::Resize(200, 60));
    press(&mut state, "<tab>");
    assert!(!state.in_detail);
    state.update(TuiEvent::Resize(80, 24));
    assert!(state.in_detail, "the keys go to what is shown");
    press(&mut state, "t");
    let timeline = screen(&mut state);
    assert_snapshot!(timeline, @r#"
    shop  feature  fix                                       1 waits for you  as ann
    plan 2  implement 1  review 1  release 0  done 1
    Payments
    AOF-ddd  review, waits for you 2 h  ! high  due today  #ui #forms
    task  [history]  diff  workflow
    Today
      08:00  agent-7  implement → review   1 h
                      Cards work\u{1b}[31m
    Yesterday
      14:02  ben      comment
                      Look at Safari\u{1b}, too
    Saturday
      06:00  ann      created it
    a approve → release    r send back → implement    b blocked
    esc back  a approve  r send back  c done  b blocked  m comment  ? keys  q quit
    (9 empty)
    "#);
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
    shop  feature  fix                                       1 waits for you  as ann
    plan 2  implement 1  review 1  release 0  done 1
    Payments
    AOF-ddd  review, waits for you 2 h  ! high  due today  #ui #forms
    task  history  [diff]  workflow
    changes since 1a2b3c4, the commit before the task was made
    diff --git a/x b/x
    -old
    +new    end
    New files that git does not know yet
      src/\u{1b}new.rs
    a approve → release    r send back → implement    b blocked
    esc back  a approve  r send back  c done  b blocked  m comment  ? keys  q quit
    (11 empty)
    "#);
    let name = "feature".parse().unwrap();
    assert_eq!(press(&mut state, "v"), [TuiEffect::Ask(0, WorkRequest::Graph(name))]);
    let graph = "○  plan  backend\n│\n○  review  architect\n".to_owned();
    let answer = WorkAnswer::Graph("feature".parse().unwrap(), Ok(graph));
    state.update(TuiEvent::Answer(0, answer));
    assert_snapshot!(screen(&mut state), @"
    shop  feature  fix                                       1 waits for you  as ann
    plan 2  implement 1  review 1  release 0  done 1
    Payments
    AOF-ddd  review, waits for you 2 h  ! high  due today  #ui #forms
    task  history  diff  [workflow]
    ○  plan  backend
    ○  review  architect  <- here
    a approve → release    r send back → implement    b blocked
    esc back  a approve  r send back  c done  b blocked  m comment  ? keys  q quit
    (15 empty)
    ");
}

#[test]
fn waiting_tasks_take_the_place_of_the_board() {
    let mut state = state((80, 24));
    press(&mut state, ".");
    assert!(screen(&mut state).contains("repair"));
    press(&mut state, "w");
    assert_snapshot!(screen(&mut state), @"
    shop  feature  fix                                                        as ann
    Waiting for you 1
    ▌  ddd  ! Payments                                           review  today    2h
    enter open  esc back  a approve  r send back  / filter  x select  ? keys  q quit
    (20 empty)
    ");
    // It is in another workflow: the board switches to that.
    press(&mut state, "<enter>");
    answer_page(&mut state, "AOF-ddd");
    press(&mut state, "<esc>w");
    assert_eq!(state.project().card().unwrap().id.as_str(), "AOF-ddd");
    // The keys of the board act there, too.
    press(&mut state, "w/zq");
    assert!(screen(&mut state).contains("no task matches \"zq\"   esc clears"));
    press(&mut state, "<esc>wr");
    answer_page(&mut state, "AOF-ddd");
    assert!(screen(&mut state).contains("ddd  Send back → implement"));
    press(&mut state, "<esc><esc>");
    assert!(!state.project().in_list);
    // Several are approved at once, after one question.
    press(&mut state, "wxa");
    assert_snapshot!(screen(&mut state), @"
    shop  feature  fix                                                        as ann
    Waiting for you 1
    ▌x ddd  ! Payments                                           review  today    2h
    ┌ Approve 1 ───────────────────────────────────────────────────────────────────┐
    │ ddd  Payments                                                                │
    │ summary; without one, Approved:                                              │
    │ >                                                                            │
    └──────────────────────────────────────────────────────────────────────────────┘
    enter next, at the end send  ctrl-s send  alt-enter new line  esc cancel
    (15 empty)
    ");
    let sent = press(&mut state, "<enter>");
    assert_eq!(act(&sent).given.text("outcome").unwrap(), "complete");
    state.update(TuiEvent::Resize(120, 24));
    press(&mut state, "<esc>");
    press(&mut state, "<enter>");
    assert_snapshot!(screen(&mut state), @"
    shop  feature  fix                                                                                                as ann
    Waiting for you 1
    ▌ ! Payments                              Payments
    ▌   ddd 2h today back 2 #ui #forms   you  AOF-ddd  review, waits for you 2 h  ! high  due today  #ui #forms
                                              [task]  history  diff  workflow
                                              reading ...
    working ...
    esc back  tab other side  a approve  r send back  c done  b blocked  m comment  / filter  w waiting  ? keys  q quit
    (16 empty)
    ");
}

#[test]
fn an_act_is_taken_back_by_one_key() {
    let mut state = state((80, 24));
    press(&mut state, "z");
    assert!(screen(&mut state).contains("there is no act of yours here to take back"));
    let sent = press(&mut state, "p");
    assert_eq!(act(&sent).operation.name, "claim");
    let done = || TuiEvent::Answer(0, WorkAnswer::Act(Ok("claimed".to_owned())));
    state.update(done());
    assert!(screen(&mut state).contains("aaa: taken, z takes it back"));
    assert_eq!(act(&press(&mut state, "z")).operation.name, "release");
    state.update(done());
    press(&mut state, "llb");
    answer_page(&mut state, "AOF-ddd");
    press(&mut state, "no access<enter><enter><enter>");
    state.update(done());
    assert_eq!(act(&press(&mut state, "z")).operation.name, "undo");
}

#[test]
fn a_jump_finds_tasks_and_acts() {
    let mut state = state((80, 24));
    let jump = TuiEvent::Key(KeyEvent::new(KeyCode::Char('k'), KeyModifiers::CONTROL));
    state.update(jump.clone());
    press(&mut state, "broken");
    assert_snapshot!(screen(&mut state), @r#"
    shop  feature  fix                                       1 waits for you  as ann
    plan 2  implement 1  review 1  release 0  done 1
    plan (backend)                      2/3  implement (backend)                 1 >
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  ───────────────────────────────────────
    ▌   Add login                             !! \u{1b}[2J\u{202e}clear the screen
    ▌   aaa 2h Dec 15 #web          backend      ccc 2h 2d late              blocked
      · 日本語のタイトル 👩‍💻 全角文字がとて…
        bbb 2h 2/5                 @agent-7
    ┌ jump to: broken ─────────────────────────────────────────────────────────────┐
    │▌ fff  Broken link                                                      review│
    └──────────────────────────────────────────────────────────────────────────────┘
    enter go  esc back
    (12 empty)
    "#);
    let asked = press(&mut state, "<enter>");
    assert_eq!(asked, [TuiEffect::Ask(0, WorkRequest::Page("AOF-fff".parse().unwrap()))]);
    press(&mut state, "<esc>");
    state.update(jump);
    press(&mut state, "plan for<enter>ben");
    let sent = press(&mut state, "<enter>");
    assert_eq!(act(&sent).given.texts("assignee").unwrap(), ["ben"]);
    assert_eq!(act(&sent).operation.name, "edit");
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
    shop  feature  fix                                       1 waits for you  as ann
    plan 0  implement 0  review 1  release 0  done 0
    review (backend)                                           1
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    ▌ ! Payments
    ▌   ddd 2h today back 2 #ui #forms                       you
    /is:waiting   esc clears
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
    assert_snapshot!(screen(&mut state), @r#"
    shop  feature  fix                                       1 waits for you  as ann
    plan 2  implement 1  review 1  release 0  done 1
    < implement (backend)                 1  review (backend)                    1 >
    ───────────────────────────────────────  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
     !! \u{1b}[2J\u{202e}clear the screen    ▌ ! Payments
        ccc 2h 2d late              blocked  ▌   ddd 2h today back 2 #ui #forms  you
    ┌ ddd  Approve → release ──────────────────────────────────────────────────────┐
    │ Payments                                                                     │
    │ summary; without one, Approved:                                              │
    │ >                                                                            │
    │ version (a text; what is released):                                          │
    │ >                                                                            │
    └──────────────────────────────────────────────────────────────────────────────┘
    enter next, at the end send  ctrl-s send  alt-enter new line  esc cancel
    (10 empty)
    "#);
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
    assert!(shown.contains("\nddd: approved → release, z takes it back\n"), "{shown}");
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
    shop  feature  fix                                       1 waits for you  as ann
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
    │ line 17                                                                      │
    │ line 18                                                           21 more ↓  │
    └──────────────────────────────────────────────────────────────────────────────┘
    enter open  esc back
    (0 empty)
    ");
    press(&mut state, "G");
    assert!(screen(&mut state).contains("line 39"));
    press(&mut state, "<esc>");
    assert_snapshot!(screen(&mut state), @r#"
    shop  feature  fix                                       1 waits for you  as ann
    plan 2  implement 1  review 1  release 0  done 1
    < implement (backend)                 1  review (backend)                    1 >
    ───────────────────────────────────────  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
     !! \u{1b}[2J\u{202e}clear the screen    ▌ ! Payments
        ccc 2h 2d late              blocked  ▌   ddd 2h today back 2 #ui #forms  you
    ┌ ddd  Send back → implement ──────────────────────────────────────────────────┐
    │ Payments                                                                     │
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
    "#);
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
    assert!(menu.contains("▌ style: Approve → release"), "{menu}");
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
    assert_eq!(note(&mut board), "ddd is at review, open to ann, not to agent-7");
    board.projects[0].you = Ok("human-ann".parse().unwrap());
    press(&mut board, "c");
    let mut moved = page("AOF-ddd");
    moved.page.openings[0].ticket = "AOF-ddd@2".parse().unwrap();
    let answer = WorkAnswer::Page("AOF-ddd".parse().unwrap(), Box::new(Ok(moved)));
    board.update(TuiEvent::Answer(0, answer));
    assert_eq!(note(&mut board), "ddd has moved meanwhile: look again");
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

/// Returns the key of that name in the table.
fn key(name: &str) -> KeyEvent {
    let code = match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "pgup" => KeyCode::PageUp,
        "pgdn" => KeyCode::PageDown,
        "space" => KeyCode::Char(' '),
        name => KeyCode::Char(name.chars().next_back().unwrap()),
    };
    let is_control = name.starts_with("ctrl-");
    KeyEvent::new(code, if is_control { KeyModifiers::CONTROL } else { KeyModifiers::NONE })
}

#[test]
fn each_key_of_the_table_does_something() {
    for row in KEYS.iter().filter(|row| row.is_at(KeyDoor::Terminal)) {
        for name in row.keys.iter().filter(|name| !name.contains(' ')) {
            let mut board = state((120, 12));
            let mut other = ProjectView::new("other".to_owned(), Err("no".to_owned()));
            other.receive(BoardNews::Board(Arc::new(self::board())));
            board.projects.push(other);
            // Each act has something to do from there.
            press(
                &mut board,
                match row.act {
                    KeyAct::Up | KeyAct::First | KeyAct::PageUp => "j",
                    KeyAct::Left => "l",
                    KeyAct::Back | KeyAct::OtherSide => "<enter>",
                    KeyAct::Select | KeyAct::SelectDown | KeyAct::SelectUp => "w",
                    _ => "",
                },
            );
            let before = (screen(&mut board), board.in_detail);
            let effects = board.update(TuiEvent::Key(key(name)));
            let has_changed = before != (screen(&mut board), board.in_detail);
            assert!(has_changed || !effects.is_empty(), "`{name}`: {:?}", row.act);
        }
    }
}
