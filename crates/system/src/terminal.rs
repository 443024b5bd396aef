//! The terminal: words quoted for its shell, and the signals that ask this process to stop.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::borrow::Cow;
use std::io;
use std::io::stdin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;

/// Returns the word quoted, so that a shell reads it as one.
pub fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,@%:=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    // Characters that break a line, or end a command in a message, are escaped as bash, zsh and ksh
    // read them.
    if word.chars().any(|c| c.is_control() || c == '`') {
        return Cow::Owned(format!("$'{}'", word.chars().map(escaped).collect::<String>()));
    }
    Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
}

fn escaped(c: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '`' => "\\x60".to_owned(),
        '\'' | '\\' => format!("\\{c}"),
        c if c.is_control() => c
            .to_string()
            .bytes()
            .fold(String::new(), |written, byte| written + &format!("\\x{byte:02x}")),
        c => c.to_string(),
    }
}

/// Returns several words, each quoted.
pub fn all_quoted<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Reads a line that the terminal does not show.
pub fn hidden_line() -> io::Result<String> {
    let before = tcgetattr(stdin())?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(stdin(), OptionalActions::Flush, &hidden)?;
    let mut line = String::new();
    let read = stdin().read_line(&mut line);
    tcsetattr(stdin(), OptionalActions::Now, &before)?;
    read.map(|_| line)
}

/// Returns whether nobody can read what this process prints: the other end of the pipe, or the terminal, is gone.
pub fn is_output_gone() -> bool {
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().intersects(gone)
}

/// The byte of the key Escape.
pub const ESCAPE: u8 = 0x1b;

/// A terminal with another way to read keys; as before when dropped.
pub struct KeyMode {
    before: Termios,
    /// `Flush` forgets the keys that were not read.
    end: OptionalActions,
}

impl KeyMode {
    /// Ends a line at Escape, too, which is then its last character. What follows it is forgotten: an arrow begins with Escape.
    pub fn begin_line() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut keys = before.clone();
        keys.special_codes[SpecialCodeIndex::VEOL] = ESCAPE;
        tcsetattr(stdin(), OptionalActions::Now, &keys)?;
        Ok(Self { before, end: OptionalActions::Now })
    }

    /// Forgets the keys that were not read.
    pub fn forget(mut self) {
        self.end = OptionalActions::Flush;
    }

    /// Gives each key at once, and shows none. Ctrl-c is a key as well, so that the terminal is always set back.
    pub fn begin() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut keys = before.clone();
        keys.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Now, &keys)?;
        Ok(Self { before, end: OptionalActions::Now })
    }
}

impl Drop for KeyMode {
    fn drop(&mut self) {
        // A terminal that has gone needs nothing.
        let _ = tcsetattr(stdin(), self.end, &self.before);
    }
}

/// The exit status that shells report for a process that was interrupted.
pub const INTERRUPTED: u8 = 130;

/// True if the process was asked to end; set only if it listens for that.
static STOPPED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Returns whether the process was asked to end. Always `false` unless the process listens for
/// that.
pub fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// Calls `stop` at the first SIGINT or SIGTERM; a second one ends the process at once.
pub fn on_stop(stop: impl Fn() + Send + 'static) -> io::Result<()> {
    let is_interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the flag is not set yet when the first signal arrives.
        flag::register_conditional_shutdown(
            signal,
            INTERRUPTED.into(),
            Arc::clone(&is_interrupted),
        )?;
        flag::register(signal, Arc::clone(&is_interrupted))?;
        flag::register(signal, Arc::clone(&STOPPED))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            stop();
        }
    })?;
    Ok(())
}

/// Sets the flag at each SIGINT, SIGTERM, SIGHUP (the terminal is gone) and SIGQUIT.
pub fn set_on_stop(stop: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        flag::register(signal, Arc::clone(stop))?;
        flag::register(signal, Arc::clone(&STOPPED))?;
    }
    Ok(())
}

/// The meaning of a signal for a program that has the whole screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenSignal {
    /// The program must end.
    End,
    /// Ctrl-C or Ctrl-\ was pressed, for the reader of keys.
    Interrupt,
    /// The program continues after it was stopped.
    GoesOn,
}

/// Calls `tell` for each signal that concerns a program with the whole screen.
pub fn on_screen_signals(tell: impl Fn(ScreenSignal) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCONT])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            tell(match signal {
                SIGINT | SIGQUIT => ScreenSignal::Interrupt,
                SIGCONT => ScreenSignal::GoesOn,
                _ => ScreenSignal::End,
            });
        }
    })?;
    Ok(())
}

/// Asks the process to end, as a signal would.
pub fn ask_to_stop() {
    STOPPED.store(true, Ordering::Relaxed);
}

/// Stops the process as Ctrl-Z does at a shell. Returns when the process continues.
pub fn suspend() -> io::Result<()> {
    emulate_default_handler(SIGTSTP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one() {
        assert_eq!(
            all_quoted(["tasks/AOF-abc.md", "my folder/x", "it's", ""]),
            r"tasks/AOF-abc.md 'my folder/x' 'it'\''s' ''"
        );
        assert_eq!(quoted("$(x)"), "'$(x)'");
        assert_eq!(quoted("see `x`"), r"$'see \x60x\x60'");
        assert_eq!(quoted("a\nb\t'\\\u{1b}é"), r"$'a\nb\t\'\\\x1bé'");
    }
}
