//! A watcher that runs beside a test, and files that are dropped for it.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::support::environment::TestEnvironment;

/// A watcher that is ended when the test is.
pub(crate) struct Watcher(pub Child);

impl Watcher {
    pub(crate) fn start(env: &TestEnvironment) -> Self {
        Self::start_with(env, &[])
    }

    /// Starts one with further variables.
    pub(crate) fn start_with(env: &TestEnvironment, variables: &[(&str, &str)]) -> Self {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(env.home().join("watch.log"))
            .unwrap();
        let mut command = env.aof_command(&["watch"]);
        // Files have the times of the real clock, so the watcher has it too.
        command
            .env_remove("AOF_NOW")
            .envs(variables.iter().copied())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.0.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    pub(crate) fn stop(mut self, name: &str) {
        self.signal(name);
        let status = self.0.wait().unwrap();
        assert!(status.success(), "{name}: {status}");
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn log(env: &TestEnvironment) -> String {
    fs::read_to_string(env.home().join("watch.log")).unwrap_or_default()
}

/// Drops a file that has been left alone for long.
pub(crate) fn drop_file(env: &TestEnvironment, name: &str, content: impl AsRef<[u8]>) {
    let path = format!(".aof/inbox/{name}");
    env.write(&path, content);
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365 * 50);
    File::options().write(true).open(env.path(&path)).unwrap().set_modified(long_ago).unwrap();
}
