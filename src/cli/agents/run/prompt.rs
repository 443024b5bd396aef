//! A line from whoever sits at the terminal. A wait for one ends when somebody wants to stop.

use std::io::{self, BufRead, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::cli::output::{Output, YELLOW, styled};

/// How often is looked whether somebody wants to stop, rather than to answer.
const TICK: Duration = Duration::from_millis(50);

/// Returns what was typed, without blanks around it; nothing when the input has ended, or somebody wants to stop.
pub(crate) fn prompt(output: Output, text: &str, stop: &AtomicBool) -> Option<String> {
    loop {
        let mut stderr = anstream::stderr();
        let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
        match line(stop)? {
            Ok(line) => return Some(line.trim().to_owned()),
            Err(cause) if cause.kind() == ErrorKind::InvalidData => {
                output.say(format!(
                    "{} that line is not UTF-8; type it again",
                    styled(YELLOW, "note:")
                ));
            }
            Err(cause) => {
                output.say(format!(
                    "{} nothing can be read here: {cause}",
                    styled(YELLOW, "warning:")
                ));
                return None;
            }
        }
    }
}

fn line(stop: &AtomicBool) -> Option<io::Result<String>> {
    let (tell, heard) = mpsc::channel();
    // No signal ends the wait for a line. Whoever stops leaves this one waiting, and the program ends soon.
    thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        drop(tell.send(read.map(|count| (count > 0).then_some(line))));
    });
    loop {
        match heard.recv_timeout(TICK) {
            Ok(read) => return read.transpose(),
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
            Err(_) => return None,
        }
    }
}
