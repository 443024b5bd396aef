//! The loop of the board: events change the state, the state is drawn, and effects are carried out.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ratatui::crossterm::event;
use ratatui::layout::Rect;
use serde_json::Value;

use super::draw::draw;
use super::project_view::ProjectView;
use super::screen::{self, InputGate, Screen};
use super::state::{TuiEffect, TuiEvent, TuiState};
use super::theme::Theme;
use super::worker::{self, GraphText, WorkRequest};
use crate::domain::AgentId;
use crate::project::workspace::WorkspaceOpener;
use crate::system::terminal::{self, ScreenSignal};

/// The time that an act under way may still take when the board ends.
const LAST_ACT: Duration = Duration::from_secs(5);

/// A project to show.
pub(crate) struct TuiProject {
    pub name: String,
    pub root: PathBuf,
    pub opener: WorkspaceOpener,
    /// The agent who acts, or the reason why no one can.
    pub you: Result<AgentId, String>,
}

/// The options of the board.
pub(crate) struct TuiOptions {
    pub theme: Theme,
    /// The agent who acts, if one was named.
    pub named: Option<AgentId>,
    pub graph: GraphText,
}

/// The directory in which commands run, and the agent in whose name.
struct CommandPlace {
    root: PathBuf,
    named: Option<AgentId>,
}

/// A worker, and the channel of its requests.
struct WorkerHandle {
    requests: Sender<WorkRequest>,
    thread: JoinHandle<()>,
}

/// Shows the board until the person quits. `follow` starts the feeds, which run until its result is dropped. It is called after
/// the first frame, because the first look at a big project takes longer than that.
pub(crate) fn run<F>(
    projects: Vec<TuiProject>,
    options: &TuiOptions,
    follow: impl FnOnce(&Sender<TuiEvent>) -> io::Result<F>,
) -> io::Result<()> {
    let (sender, events) = channel();
    let gate = InputGate::new();
    listen_to_signals(&sender, &gate.is_aside)?;
    let (mut views, mut work, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (at, project) in projects.into_iter().enumerate() {
        let tell = sender.clone();
        let (requests, thread) = worker::start(
            project.opener,
            project.you.clone().ok(),
            options.graph,
            move |answer| tell.send(TuiEvent::Answer(at, answer)).is_ok(),
        )?;
        work.push(WorkerHandle { requests, thread });
        views.push(ProjectView::new(project.name, project.you));
        places.push(CommandPlace { root: project.root, named: options.named.clone() });
    }
    screen::leave_on_panic();
    screen::enter()?;
    let state = |size| TuiState::new(views, options.theme, size);
    let shown = show(state, (&work, &places), &gate, (&sender, &events), follow);
    screen::leave();
    end(work);
    shown
}

/// Ends the workers: an act under way may go on for a moment, and checks of gates are asked to stop.
fn end(work: Vec<WorkerHandle>) {
    terminal::ask_to_stop();
    let threads: Vec<JoinHandle<()>> = work.into_iter().map(|worker| worker.thread).collect();
    let limit = Instant::now() + LAST_ACT;
    while threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < limit {
        thread::sleep(Duration::from_millis(5));
    }
}

fn show<F>(
    state: impl FnOnce((u16, u16)) -> TuiState,
    (work, places): (&[WorkerHandle], &[CommandPlace]),
    gate: &InputGate,
    (sender, events): (&Sender<TuiEvent>, &Receiver<TuiEvent>),
    follow: impl FnOnce(&Sender<TuiEvent>) -> io::Result<F>,
) -> io::Result<()> {
    let mut screen = screen::screen()?;
    let size = screen.size()?;
    let mut state = state((size.width, size.height));
    redraw(&mut screen, &mut state)?;
    read_input(gate, sender)?;
    let _feeds = follow(sender)?;
    while let Ok(first) = events.recv() {
        // All events that have arrived are drawn at once.
        for event in std::iter::once(first).chain(events.try_iter()) {
            for effect in state.update(event) {
                match effect {
                    TuiEffect::Quit => return Ok(()),
                    TuiEffect::Ask(project, request) => drop(work[project].requests.send(request)),
                    TuiEffect::Redraw => {
                        screen::enter()?;
                        clear(&mut screen)?;
                    }
                    TuiEffect::Suspend => {
                        aside(gate, &mut screen, terminal::suspend)??;
                    }
                    TuiEffect::Run(project, words) => {
                        let ended =
                            aside(gate, &mut screen, || run_command(&places[project], &words))?;
                        let _ = sender.send(TuiEvent::Returned(ended));
                    }
                }
            }
        }
        redraw(&mut screen, &mut state)?;
    }
    Ok(())
}

fn redraw(screen: &mut Screen, state: &mut TuiState) -> io::Result<()> {
    let mut map = None;
    screen.draw(|frame| map = Some(draw(state, frame)))?;
    state.map = map.unwrap_or_default();
    Ok(())
}

/// Gives the terminal to something else for a while.
fn aside<T>(gate: &InputGate, screen: &mut Screen, other: impl FnOnce() -> T) -> io::Result<T> {
    gate.pause();
    screen::leave();
    let done = other();
    screen::enter()?;
    gate.resume();
    clear(screen)?;
    Ok(done)
}

/// Redraws everything. `Terminal::clear` would ask the terminal for the position of its cursor, and wait for the answer.
fn clear(screen: &mut Screen) -> io::Result<()> {
    let size = screen.size()?;
    screen.resize(Rect::new(0, 0, size.width, size.height))
}

/// Sends signals as events. Ctrl-C while another program has the terminal is for that program.
fn listen_to_signals(sender: &Sender<TuiEvent>, is_aside: &Arc<AtomicBool>) -> io::Result<()> {
    let (sender, is_aside) = (sender.clone(), Arc::clone(is_aside));
    terminal::on_screen_signals(move |signal| {
        let _ = match signal {
            ScreenSignal::Interrupt if is_aside.load(Ordering::Relaxed) => Ok(()),
            ScreenSignal::GoesOn => sender.send(TuiEvent::Resumed),
            ScreenSignal::Interrupt | ScreenSignal::End => sender.send(TuiEvent::Stop),
        };
    })
}

/// Starts the reader of keys. The board ends if the terminal is gone.
fn read_input(gate: &InputGate, sender: &Sender<TuiEvent>) -> io::Result<()> {
    let (gate, sender) = (gate.clone(), sender.clone());
    let read = move || {
        let ended = gate.read(|event| match event {
            event::Event::Key(key) => sender.send(TuiEvent::Key(key)).is_ok(),
            event::Event::Mouse(mouse) => sender.send(TuiEvent::Mouse(mouse)).is_ok(),
            event::Event::Paste(text) => sender.send(TuiEvent::Paste(text)).is_ok(),
            event::Event::Resize(width, height) => {
                sender.send(TuiEvent::Resize(width, height)).is_ok()
            }
            event::Event::FocusGained | event::Event::FocusLost => true,
        });
        if ended.is_err() {
            let _ = sender.send(TuiEvent::Stop);
        }
    };
    thread::Builder::new().name("board keys".to_owned()).spawn(read).map(drop)
}

/// Runs this program in the terminal. Returns a sentence about the result, or the reason why it failed.
fn run_command(place: &CommandPlace, words: &[String]) -> Result<Option<String>, String> {
    if words.first().is_some_and(|word| word == "new") {
        let id = create(place, words)?;
        // The task exists, with or without a text.
        return Ok(Some(match run_here(place, &["edit".to_owned(), id.clone()]) {
            Ok(()) => format!("{id}: created"),
            Err(why) => format!("{id}: created, without a text: {why}"),
        }));
    }
    run_here(place, words)?;
    let is_completion = words.first().is_some_and(|word| word == "complete");
    Ok(words.get(1).filter(|_| is_completion).map(|ticket| format!("{ticket}: signed, completed")))
}

fn program(place: &CommandPlace) -> Result<Command, String> {
    let program = std::env::current_exe().map_err(|cause| format!("no program to run: {cause}"))?;
    let mut command = Command::new(program);
    command.arg("-C").arg(&place.root);
    if let Some(agent) = &place.named {
        command.env(AGENT, agent.as_str());
    }
    Ok(command)
}

/// The variable that names the agent who acts.
const AGENT: &str = "AOF_AGENT";

/// Creates a task. Returns its id.
fn create(place: &CommandPlace, words: &[String]) -> Result<String, String> {
    let mut command = program(place)?;
    command.arg("--json").args(words).stderr(Stdio::null());
    let output = command.output().map_err(|cause| format!("cannot create it: {cause}"))?;
    let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match value["id"].as_str() {
        Some(id) if output.status.success() => Ok(id.to_owned()),
        _ => Err(value["message"].as_str().unwrap_or("it could not be created").to_owned()),
    }
}

fn run_here(place: &CommandPlace, words: &[String]) -> Result<(), String> {
    let status = program(place)?.args(words).status();
    let status = status.map_err(|cause| format!("cannot run `aof {}`: {cause}", words[0]))?;
    if status.success() {
        return Ok(());
    }
    // The command's output stays on the terminal until the person has read it.
    let _ = write!(io::stderr(), "\nEnter returns to the board.");
    let _ = io::stdin().lock().read_line(&mut String::new());
    Err(format!("`aof {}` failed: {status}", words[0]))
}
