//! The play: the rules of its project, and what each agent says when.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use serde_json::Value;

use crate::domain::TaskId;

pub(crate) const PROJECT: &str = "\
project:
  name: demo
workflow:
  gates:
    - id: implement
      role: developer
    - id: docs
      role: writer
      when: tags.includes('docs')
    - id: code-review
      role: reviewer
      canReject: true
    - id: approve
      role: approver
      requireHuman: true
";

pub(crate) const ORG: &str = "\
roles:
  developer: {agents: [agent-7]}
  writer: {agents: [agent-5]}
  reviewer: {agents: [agent-3]}
  approver: {agents: [human-alice]}
agents:
  human-alice: {email: alice@example.org}
  agent-3: {}
  agent-5: {}
  agent-7: {}
";

/// The tasks of the play.
pub(crate) struct Cast {
    pub login: TaskId,
    pub guide: TaskId,
}

/// Something to be told.
pub(crate) enum Note {
    /// An agent dropped a file.
    Dropped { agent: &'static str, file: &'static str, says: &'static str },
    /// The watcher told of an event.
    Watcher(Value),
    /// An agent waited in vain.
    Stuck(String),
}

/// What an agent waits for, and drops then.
struct Act {
    task: TaskId,
    /// How many visits the task has behind it then.
    visit: usize,
    file: &'static str,
    says: &'static str,
    text: String,
    /// A file of its own that has to be refused before.
    after: Option<&'static str>,
}

/// What the audience was told so far; agents act when it is their turn, and one after the other is easier to follow.
pub(crate) struct Scene {
    inbox: PathBuf,
    told: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Default)]
struct Progress {
    /// How many visits each task has behind it.
    visits: HashMap<TaskId, usize>,
    /// Files that were refused.
    refused: HashSet<String>,
}

impl Scene {
    pub(crate) fn new(inbox: PathBuf) -> Self {
        Self { inbox, told: Mutex::default(), changed: Condvar::new() }
    }

    /// Notes an event that was told.
    pub(crate) fn note(&self, event: &Value) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        match event["event"].as_str() {
            Some("completed") => {
                if let Ok(task) = event["task"].as_str().unwrap_or_default().parse() {
                    *told.visits.entry(task).or_default() += 1;
                }
            }
            Some("refused") => {
                told.refused.extend(event["file"].as_str().map(str::to_owned));
            }
            _ => {}
        }
        self.changed.notify_all();
    }

    fn wait(&self, deadline: Instant, turn: impl Fn(&Progress) -> bool) -> bool {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self.changed.wait_timeout_while(told, left, |told| !turn(told));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// Lets every agent play its part, in a thread of its own.
pub(crate) fn start_agents(
    cast: &Cast,
    scene: &Arc<Scene>,
    deadline: Instant,
    notes: &Sender<Note>,
) {
    for (agent, acts) in parts(cast) {
        let (scene, notes) = (Arc::clone(scene), notes.clone());
        thread::spawn(move || {
            for act in acts {
                if let Err(what) = perform(agent, &act, &scene, deadline, &notes) {
                    let _ = notes.send(Note::Stuck(format!("{agent} with `{}`: {what}", act.file)));
                    return;
                }
            }
        });
    }
}

fn parts(cast: &Cast) -> Vec<(&'static str, Vec<Act>)> {
    let act = |task: &TaskId, visit, file, says, text: String| Act {
        task: task.clone(),
        visit,
        file,
        says,
        text,
        after: None,
    };
    let (login, guide) = (&cast.login, &cast.guide);
    let developer = vec![
        act(
            login,
            0,
            "login.yaml",
            "`complete`, as YAML",
            format!(
                "task: {login}\nagent: agent-7\noutcome: complete\nsummary: Form, session cookie, six tests\n"
            ),
        ),
        act(
            guide,
            0,
            "guide.yaml",
            "`complete`, as YAML",
            format!(
                "task: {guide}\nagent: agent-7\noutcome: complete\nsummary: The login can be explained now\n"
            ),
        ),
        act(
            login,
            2,
            "login-again.md",
            "`complete`, as Markdown with the work below",
            format!(
                "---\ntask: {login}\nagent: agent-7\noutcome: complete\nsummary: Five attempts, then a pause; the test is there\n---\n\
             A sixth attempt within a minute is answered with a pause of a minute.\n"
            ),
        ),
    ];
    let writer = vec![act(
        guide,
        1,
        "guide-text.yaml",
        "`complete`, as YAML",
        format!(
            "task: {guide}\nagent: agent-5\noutcome: complete\nsummary: A page with two pictures\n"
        ),
    )];
    let wrong = act(
        login,
        3,
        "verdict.json",
        "`approved`, which this gate does not know",
        format!(
            "{{\"task\": \"{login}\", \"agent\": \"agent-3\", \"outcome\": \"approved\", \"summary\": \"Good now\"}}\n"
        ),
    );
    let mut right = act(
        login,
        3,
        "verdict-again.json",
        "`complete`, having read the reason",
        format!(
            "{{\"task\": \"{login}\", \"agent\": \"agent-3\", \"outcome\": \"complete\", \"summary\": \"Good now\"}}\n"
        ),
    );
    right.after = Some("verdict.json");
    let reviewer = vec![
        act(
            login,
            1,
            "review.json",
            "`needs_review` with what is to be mended, as JSON",
            format!(
                "{{\"task\": \"{login}\", \"agent\": \"agent-3\", \"outcome\": \"needs_review\", \
             \"summary\": \"Passwords can be guessed without end\", \
             \"blockers\": [\"Limit the attempts in login.rs to five a minute\", \"Add a test of the sixth attempt\"]}}\n"
            ),
        ),
        act(
            guide,
            2,
            "guide-review.yaml",
            "`complete`, as YAML",
            format!("task: {guide}\nagent: agent-3\noutcome: complete\nsummary: Reads well\n"),
        ),
        wrong,
        right,
    ];
    vec![("agent-7", developer), ("agent-5", writer), ("agent-3", reviewer)]
}

/// Waits for the act's turn and drops its file.
fn perform(
    agent: &'static str,
    act: &Act,
    stage: &Scene,
    deadline: Instant,
    notes: &Sender<Note>,
) -> Result<(), String> {
    if !stage.wait(deadline, |told| {
        told.visits.get(&act.task).copied().unwrap_or(0) == act.visit
            && act.after.is_none_or(|file| told.refused.contains(file))
    }) {
        return Err("it was never its turn".to_owned());
    }
    let _ = notes.send(Note::Dropped { agent, file: act.file, says: act.says });
    drop_file(&stage.inbox, act.file, &act.text).map_err(|fault| fault.to_string())
}

/// Does what every agent is told to: write under a name with a dot, then rename, so that nobody sees half a file.
fn drop_file(inbox: &Path, name: &str, text: &str) -> std::io::Result<()> {
    let hidden = inbox.join(format!(".{name}"));
    fs::write(&hidden, text)?;
    fs::rename(hidden, inbox.join(name))
}
