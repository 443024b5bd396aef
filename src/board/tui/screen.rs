//! The terminal: taken over for the board, and restored however the board ends.

use std::io::{self, BufWriter, Stdout, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

/// The interval at which the reader of keys checks whether it must pause.
const LOOK: Duration = Duration::from_millis(100);

/// The exit code of a program that panicked.
const PANICKED: i32 = 101;

pub(super) type Screen = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// Takes the terminal over.
pub(super) fn enter() -> io::Result<()> {
    // A shell may have changed the mode while the board was stopped: crossterm's record of it is then wrong.
    let _ = disable_raw_mode();
    enable_raw_mode()?;
    let taken = execute!(stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste);
    taken.inspect_err(|_| leave())
}

/// Gives the terminal back. A terminal that is gone takes nothing: that is not an error.
pub(super) fn leave() {
    let _ =
        execute!(stdout(), DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Gives the terminal back before the message of a panic, on any thread: otherwise no one could read it.
pub(super) fn leave_on_panic() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        leave();
        usual(panic);
        // The other threads would go on drawing.
        std::process::exit(PANICKED);
    }));
}

/// Returns the screen, to be drawn on.
pub(super) fn screen() -> io::Result<Screen> {
    Terminal::new(CrosstermBackend::new(BufWriter::new(stdout())))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputState {
    Read,
    AskedToPause,
    Paused,
}

/// Keeps the reader of keys away while another program has the terminal.
#[derive(Clone)]
pub(super) struct InputGate {
    /// True if another program has the terminal.
    pub is_aside: Arc<AtomicBool>,
    state: Arc<(Mutex<InputState>, Condvar)>,
}

impl InputGate {
    pub(super) fn new() -> Self {
        let is_aside = Arc::default();
        Self { is_aside, state: Arc::new((Mutex::new(InputState::Read), Condvar::new())) }
    }

    /// Waits until the reader of keys has paused.
    pub(super) fn pause(&self) {
        self.is_aside.store(true, Ordering::Relaxed);
        self.set(InputState::AskedToPause);
        let (state, changed) = &*self.state;
        let input = state.lock().unwrap_or_else(PoisonError::into_inner);
        // A reader that has ended no longer answers.
        let is_asked = |input: &mut InputState| *input == InputState::AskedToPause;
        drop(changed.wait_timeout_while(input, LOOK * 5, is_asked));
    }

    /// Allows keys to be read again.
    pub(super) fn resume(&self) {
        self.is_aside.store(false, Ordering::Relaxed);
        self.set(InputState::Read);
    }

    fn set(&self, next: InputState) {
        *self.state.0.lock().unwrap_or_else(PoisonError::into_inner) = next;
        self.state.1.notify_all();
    }

    /// Reads events until `tell` returns false because no one listens.
    pub(super) fn read(&self, tell: impl Fn(event::Event) -> bool) -> io::Result<()> {
        loop {
            self.wait();
            if event::poll(LOOK)? && !tell(event::read()?) {
                return Ok(());
            }
        }
    }

    /// Waits while another program has the terminal.
    fn wait(&self) {
        let (state, changed) = &*self.state;
        let mut input = state.lock().unwrap_or_else(PoisonError::into_inner);
        if *input == InputState::AskedToPause {
            *input = InputState::Paused;
            changed.notify_all();
        }
        let is_held = |input: &mut InputState| *input != InputState::Read;
        drop(changed.wait_while(input, is_held));
    }
}
