//! Sends a message to a program. The program is started without a shell, gets the message on stdin, and has half a minute.
//!
//! After the timeout, it is killed with all processes that it started. Its output is read to the end, and the beginning is kept to
//! explain a failure. Processes that it leaves behind keep running, and nothing waits for them.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::observability::notices::message::{Failure, Message, in_one_line};
use crate::system::process::{
    Attendant, How, Orphans, Printed, ProcessLimits, Program, Room, Secrets, Stream, Transcript,
};

/// The time limit of a program.
const TIME: Duration = Duration::from_secs(30);
/// The amount of the output that is kept.
const ROOM: Room = Room { beginning: 0, end: 0, each: 64 * 1024 };
/// The part of the kept output that is shown, in characters.
const SHOWN: usize = 300;

/// Runs the program; an exit status of 0 means that it accepted the message.
pub(crate) fn run(
    words: &[String],
    message: Message<'_>,
    root: &Path,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    run_within(words, message, root, stop, TIME)
}

fn run_within(
    words: &[String],
    message: Message<'_>,
    root: &Path,
    stop: &AtomicBool,
    time: Duration,
) -> Result<(), Failure> {
    let unreachable = |why: String| Failure::Unreachable { why, again_in: None };
    let Some(program) = Program::new(words, root) else {
        return Err(unreachable("no program is named".to_owned()));
    };
    let field = |name: &str| message.value[name].as_str().unwrap_or_default();
    let mut program = program
        .with("AOF_NOTICE_ID", message.id)
        .with("AOF_EVENT", field("event"))
        .with("AOF_TASK", field("taskId"));
    program.input = format!("{}\n", message.value).into_bytes();
    let name = program.name();
    let limits =
        ProcessLimits { time, idle: None, grace: Duration::ZERO, orphans: Orphans::Spared };
    let mut sender =
        Sender { stop, printed: Transcript::new(io::sink(), &Secrets::default(), ROOM) };
    let running = program.start().map_err(|fault| unreachable(fault.to_string()))?;
    let ended =
        running.wait(&limits, &mut sender).map_err(|fault| unreachable(fault.to_string()))?;
    let ending = match ended.how {
        How::Exited(0) => return Ok(()),
        How::Exited(status) => format!("exit status {status}"),
        How::Signalled(signal) => ExitStatus::from_raw(signal).to_string(),
        How::Stopped(()) => return Err(Failure::Stopped),
        How::TimedOut | How::Idle => {
            return Err(unreachable(format!(
                "`{name}` did not end within {} s, and was stopped",
                time.as_secs()
            )));
        }
    };
    Err(Failure::Refused(format!(
        "`{name}` ended with {ending}{}",
        output_suffix(sender.printed.finish())
    )))
}

/// Keeps the program's output, and ends the program when the delivery must stop.
struct Sender<'a> {
    stop: &'a AtomicBool,
    printed: Transcript<io::Sink>,
}

impl Attendant for Sender<'_> {
    type Reason = ();

    fn printed(&mut self, stream: Stream, bytes: &[u8]) {
        self.printed.take(stream, bytes);
    }

    fn wants_end(&mut self) -> Option<()> {
        self.stop.load(Ordering::Relaxed).then_some(())
    }
}

/// Returns the program's output as the end of a sentence: from stderr, otherwise from stdout.
fn output_suffix(printed: Printed) -> String {
    let texts = [printed.stderr, printed.stdout].map(|kept| last_output(&kept.bytes));
    texts
        .into_iter()
        .find(|text| !text.is_empty())
        .map(|text| format!(": {text}"))
        .unwrap_or_default()
}

/// Returns the end of an output in one line.
fn last_output(printed: &[u8]) -> String {
    let text = in_one_line(printed);
    match text.char_indices().rev().nth(SHOWN) {
        Some((at, _)) => format!("...{}", &text[at..]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;
    use std::time::Instant;

    use super::*;
    use serde_json::json;
    use tempfile::TempDir;

    fn run_here(script: &str, time: Duration) -> (Result<(), Failure>, TempDir) {
        let home = TempDir::new().unwrap();
        let words = ["sh", "-c", script].map(str::to_owned);
        let value = json!({"event": "task_complete", "taskId": "AOF-abc", "text": "it's \"done\"\n$(rm x)"});
        let message = Message { id: "aof_1", value: &value, now: jiff::Timestamp::UNIX_EPOCH };
        (run_within(&words, message, home.path(), &AtomicBool::new(false), time), home)
    }

    #[test]
    fn a_program_gets_the_message_and_the_place() {
        let (result, home) =
            run_here("cat >got; echo $AOF_EVENT $AOF_TASK $AOF_NOTICE_ID >>got; exit 0", TIME);
        assert_eq!(result, Ok(()));
        let got = std::fs::read_to_string(home.path().join("got")).unwrap();
        assert_eq!(
            got,
            "{\"event\":\"task_complete\",\"taskId\":\"AOF-abc\",\"text\":\"it's \\\"done\\\"\\n$(rm x)\"}\ntask_complete AOF-abc aof_1\n"
        );
    }

    #[test]
    fn a_failure_says_why() {
        let refused = |script: &str| match run_here(script, TIME).0 {
            Err(Failure::Refused(why)) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            refused("echo fine; echo 'no such\tchannel' >&2; exit 3"),
            "`sh` ended with exit status 3: no such channel"
        );
        assert_eq!(refused("exit 1"), "`sh` ended with exit status 1");
        assert_eq!(refused("kill -9 $$"), "`sh` ended with signal: 9 (SIGKILL)");
        let long = refused("yes aof | head -c 3000000; exit 1");
        assert!(
            long.starts_with("`sh` ended with exit status 1: ...") && long.len() < 400,
            "{long}"
        );
        let words = ["/no/such/program".to_owned()];
        let message = Message { id: "aof_1", value: &json!({}), now: jiff::Timestamp::UNIX_EPOCH };
        let Err(Failure::Unreachable { why, .. }) =
            run(&words, message, Path::new("/"), &AtomicBool::new(false))
        else {
            panic!()
        };
        assert_eq!(
            why,
            "`/no/such/program` cannot be started: No such file or directory (os error 2)"
        );
    }

    #[test]
    fn a_hanging_command_is_stopped_at_its_time_limit() {
        let (result, _home) = run_here("sleep 600", Duration::ZERO);
        let Err(Failure::Unreachable { why, .. }) = result else { panic!("{result:?}") };
        assert!(why.contains("did not end within"), "{why}");
    }

    #[test]
    fn a_stopped_command_ends_with_its_children() {
        let home = TempDir::new().unwrap();
        let file = home.path().join("child");
        let words = ["sh", "-c", "sleep 600 & echo $! >child; wait"].map(str::to_owned);
        let value = json!({});
        let message = Message { id: "aof_1", value: &value, now: jiff::Timestamp::UNIX_EPOCH };
        let stop = AtomicBool::new(false);
        let deadline = Instant::now() + TIME;
        let child = thread::scope(|scope| {
            let running = scope.spawn(|| run_within(&words, message, home.path(), &stop, TIME * 2));
            let child = loop {
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                if let Some(child) = text.strip_suffix('\n') {
                    break child.parse().unwrap();
                }
                if Instant::now() >= deadline {
                    break 0;
                }
                thread::sleep(Duration::from_millis(2));
            };
            stop.store(true, Ordering::Relaxed);
            assert_eq!(running.join().unwrap(), Err(Failure::Stopped));
            child
        });
        let child =
            rustix::process::Pid::from_raw(child).expect("the program starts its child in time");
        while is_alive(child) {
            assert!(Instant::now() < deadline, "the child lives");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Returns true if the process runs. An orphan may remain as a zombie that no process has waited for: that does not count.
    fn is_alive(child: rustix::process::Pid) -> bool {
        if rustix::process::test_kill_process(child).is_err() {
            return false;
        }
        let id = child.as_raw_nonzero().to_string();
        let state = if Path::new("/proc/self/stat").exists() {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").map(|(_, state)| state.to_owned()).unwrap_or_default()
        } else {
            let listed = Command::new("ps").args(["-o", "stat=", "-p", &id]).output().unwrap();
            String::from_utf8_lossy(&listed.stdout).trim().to_owned()
        };
        !state.is_empty() && !state.starts_with('Z')
    }

    #[test]
    fn a_program_that_leaves_others_behind_is_done_when_it_ends() {
        let (result, home) = run_here("sleep 600 & echo $! >child; exit 0", TIME);
        assert_eq!(result, Ok(()));
        let child = std::fs::read_to_string(home.path().join("child")).unwrap();
        let child = rustix::process::Pid::from_raw(child.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn a_running_command_ends_on_a_stop() {
        let value = json!({});
        let words = ["sleep", "600"].map(str::to_owned);
        let result = run(
            &words,
            Message { id: "a", value: &value, now: jiff::Timestamp::UNIX_EPOCH },
            Path::new("/"),
            &AtomicBool::new(true),
        );
        assert_eq!(result, Err(Failure::Stopped));
    }
}
