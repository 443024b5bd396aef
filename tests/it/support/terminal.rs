//! A program at a terminal of its own.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::environment::{TestEnvironment, eventually};

/// Returns a new terminal, and the path of the end that programs open.
pub(crate) fn terminal() -> (OwnedFd, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(master.as_fd()).unwrap();
    unlockpt(master.as_fd()).unwrap();
    // A program that held its own terminal open would outlive a test that fails.
    fcntl_setfd(&master, FdFlags::CLOEXEC).unwrap();
    let name = ptsname(master.as_fd(), Vec::new()).unwrap().into_string().unwrap();
    (master, name)
}

/// A program at a terminal of its own.
pub(crate) struct Seat {
    keys: File,
    screen: Arc<Mutex<String>>,
    seen: usize,
    reader: JoinHandle<()>,
    pub child: Child,
}

impl Seat {
    pub(crate) fn of(env: &TestEnvironment, args: &[&str]) -> Self {
        Self::with(env, args, |command| {
            command.env("TERM", "xterm");
        })
    }

    /// Starts the command when it is made ready.
    pub(crate) fn with(
        env: &TestEnvironment,
        args: &[&str],
        ready: impl FnOnce(&mut Command),
    ) -> Self {
        let (master, name) = terminal();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let end = || File::options().read(true).write(true).open(&name).unwrap();
        let mut command = env.aof_command(args);
        command.env("GIT_PAGER", "cat").stdin(end()).stdout(end()).stderr(end());
        ready(&mut command);
        let child = command.spawn().unwrap();
        // The command holds its ends: only when these are gone too does the screen end with the program.
        drop(command);
        let keys = File::from(master);
        let mut screen = keys.try_clone().unwrap();
        let shown = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&shown);
        let reader = thread::spawn(move || {
            let (mut bytes, mut read) = ([0; 4096], Vec::new());
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                read.extend_from_slice(&bytes[..count]);
                // A character may come in two parts.
                let whole = match std::str::from_utf8(&read) {
                    Err(fault) if fault.error_len().is_none() => fault.valid_up_to(),
                    _ => read.len(),
                };
                let text: Vec<u8> = read.drain(..whole).collect();
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&text));
            }
        });
        Self { keys, screen: shown, seen: 0, reader, child }
    }

    /// Waits until it shows something new.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) {
        let found = || self.screen.lock().unwrap()[self.seen..].find(text);
        let mut at = None;
        eventually(&format!("`{text}` on the screen"), || {
            at = found();
            at.is_some()
        });
        self.seen += at.unwrap() + text.len();
    }

    /// Presses keys, without a newline.
    pub(crate) fn presses(&self, keys: &str) {
        (&self.keys).write_all(keys.as_bytes()).unwrap();
    }

    /// Gives its terminal a size. It has to be running.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.keys, size).unwrap();
    }

    /// Returns what a terminal of that size would show now.
    pub(crate) fn screen(&self, rows: u16, columns: u16) -> vt100::Parser {
        let at_least_one = |size: u16| NonZero::new(size).unwrap();
        let mut parser = vt100::Parser::new(at_least_one(rows), at_least_one(columns), 0);
        parser.process(self.screen.lock().unwrap().as_bytes());
        parser
    }

    /// Waits until a terminal of the usual size shows a text.
    #[track_caller]
    pub(crate) fn screen_has(&self, text: &str) {
        let shown = || self.screen(24, 80).screen().contents();
        eventually(&format!("`{text}` on the screen"), || shown().contains(text));
    }

    /// Waits until a terminal of the usual size shows a text no more.
    #[track_caller]
    pub(crate) fn screen_lacks(&self, text: &str) {
        let shown = || self.screen(24, 80).screen().contents();
        eventually(&format!("no `{text}` on the screen"), || !shown().contains(text));
    }

    pub(crate) fn types(&mut self, line: &str) {
        self.types_bytes(line.as_bytes());
    }

    pub(crate) fn types_bytes(&mut self, line: &[u8]) {
        self.keys.write_all(&[line, b"\n"].concat()).unwrap();
    }

    pub(crate) fn ends(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        drop(self.keys);
        self.reader.join().unwrap();
        let screen = self.screen.lock().unwrap().clone();
        (status, screen)
    }
}
