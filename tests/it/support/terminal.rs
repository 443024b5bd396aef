//! A program at a terminal of its own.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::environment::{TestEnvironment, eventually};

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
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(master.as_fd()).unwrap();
        unlockpt(master.as_fd()).unwrap();
        // A program that held its own terminal open would outlive a test that fails.
        fcntl_setfd(&master, FdFlags::CLOEXEC).unwrap();
        let name = ptsname(master.as_fd(), Vec::new()).unwrap().into_string().unwrap();
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
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
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
