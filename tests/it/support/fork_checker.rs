//! What must hold of forks in a task's frontmatter, told from the file alone: it shares no code with `aof`.

use std::collections::BTreeMap;

use serde_json::Value;

/// Returns what does not hold.
pub(crate) fn fork_faults(id: &str, front: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |text: String| faults.push(format!("{id}: {text}"));
    let none = Vec::new();
    let history = front["gateHistory"].as_array().unwrap_or(&none);
    // The branches that have spoken in the fork that is open at this point of the history, and where it began.
    let mut open: Option<(String, usize)> = None;
    let mut spoken: BTreeMap<String, String> = BTreeMap::new();
    for (index, entry) in history.iter().enumerate() {
        let gate = entry["gate"].as_str().unwrap_or_default();
        let (fork, branch) =
            gate.split_once('/').map_or((gate, None), |(fork, branch)| (fork, Some(branch)));
        let joins = entry["join"].as_str();
        let Some(branch) = branch else {
            let moved = matches!(
                entry["outcome"].as_str(),
                Some("override" | "cancelled" | "moved" | "timeout")
            );
            // Where nobody is left who could speak, the fork is judged by itself.
            let of_it = open.as_ref().is_some_and(|(of, _)| of == fork) && entry["agent"].is_null();
            let answers = |wanted: &str| spoken.values().any(|verdict| verdict == wanted);
            let judged = match (joins, entry["outcome"].as_str()) {
                (Some("passed"), Some("complete")) => answers("pass"),
                (Some("failed"), Some("needs_review")) => answers("reject"),
                _ => false,
            };
            let judged = judged && of_it && entry["to"].is_string();
            if open.is_some() && !moved && !judged {
                fault(format!("entry {index} of `{gate}` stands inside an open fork"));
            }
            if (joins.is_some() && !judged) || entry["verdict"].is_string() {
                fault(format!("entry {index} of `{gate}` is no branch's and speaks like one"));
            }
            (open, spoken) = (None, BTreeMap::new());
            continue;
        };
        match &open {
            None => open = Some((fork.to_owned(), index)),
            Some((of, _)) if of != fork => {
                fault(format!("entry {index} is of `{fork}`, and `{of}` is open"));
            }
            Some(_) => {}
        }
        if entry["outcome"] == "timeout" {
            // Nobody spoke: the branch belongs to somebody else from here on.
            if entry["verdict"].is_string()
                || entry["to"].is_string()
                || !entry["escalatedTo"].is_string()
            {
                fault(format!("entry {index} of `{gate}` is a timeout and speaks"));
            }
            continue;
        }
        let verdict = entry["verdict"].as_str().unwrap_or_default().to_owned();
        if let Some(before) = spoken.insert(branch.to_owned(), verdict)
            && before != "hold"
        {
            fault(format!("branch `{gate}` speaks again in entry {index} after `{before}`"));
        }
        if joins.is_some() != entry["to"].is_string() {
            fault(format!("entry {index} of `{gate}` has one of `join` and `to`, not both"));
        }
        let count = |wanted: &str| spoken.values().filter(|verdict| *verdict == wanted).count();
        match joins {
            Some("passed") if count("pass") == 0 && count("skip") < spoken.len() => {
                fault(format!("entry {index} passes `{fork}`, and no branch did"));
            }
            Some("failed") if count("reject") == 0 => {
                fault(format!("entry {index} fails `{fork}`, and no branch did"));
            }
            _ => {}
        }
        if joins.is_some() {
            (open, spoken) = (None, BTreeMap::new());
        }
    }
    faults.extend(open_faults(id, front, open, &spoken));
    faults.extend(context_faults(id, front, history));
    faults
}

/// The open visit agrees with what has been said in it.
fn open_faults(
    id: &str,
    front: &Value,
    open: Option<(String, usize)>,
    spoken: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut faults = Vec::new();
    let gate = &front["gate"];
    let branches = gate["branches"].as_array().cloned().unwrap_or_default();
    if let Some((fork, began)) = open {
        if gate["current"] != fork.as_str() || gate["visit"] != began {
            faults.push(format!(
                "{id}: `{fork}` is open since entry {began}, and the task says {gate}"
            ));
        }
        if branches.is_empty() {
            faults.push(format!("{id}: `{fork}` is open, and no branch is"));
        }
    }
    if !branches.is_empty()
        && (front["routing"]["role"].is_string() || front["routing"]["agent"].is_string())
    {
        faults.push(format!("{id}: at a fork the role and the agent are the branches'"));
    }
    let mut states = Vec::new();
    for branch in &branches {
        let (name, status) = (
            branch["id"].as_str().unwrap_or_default(),
            branch["status"].as_str().unwrap_or_default(),
        );
        states.push(status);
        let fits = match spoken.get(name).map(String::as_str) {
            Some("pass") => status == "complete",
            Some("reject") => status == "rejected",
            Some("skip") => status == "skipped",
            // It may have been set going again.
            Some(_) => matches!(status, "blocked" | "ready" | "in_progress"),
            None => matches!(status, "blocked" | "ready" | "in_progress" | "skipped"),
        };
        if !fits {
            faults.push(format!(
                "{id}: branch `{name}` is {status}, and has said {:?}",
                spoken.get(name)
            ));
        }
        if branch["agent"].is_string() != (status == "in_progress") {
            faults.push(format!(
                "{id}: branch `{name}` is {status}, and its agent is {}",
                branch["agent"]
            ));
        }
    }
    if states.contains(&"ready") && !matches!(front["status"].as_str(), Some("ready" | "blocked")) {
        faults.push(format!("{id}: a branch waits, and the task is {}", front["status"]));
    }
    faults
}

/// What branches handed on last stands side by side under the fork's name.
fn context_faults(id: &str, front: &Value, history: &[Value]) -> Vec<String> {
    let mut latest: BTreeMap<(&str, &str), &Value> = BTreeMap::new();
    for entry in history {
        for cleared in entry["cleared"].as_array().into_iter().flatten() {
            latest.retain(|(fork, _), _| cleared != fork);
        }
        let gate = entry["gate"].as_str().unwrap_or_default();
        if let Some(place) = gate.split_once('/').filter(|_| entry["outputs"].is_object()) {
            latest.insert(place, &entry["outputs"]);
        }
    }
    let wrong = latest
        .into_iter()
        .filter(|((fork, branch), outputs)| front["context"][fork][branch] != **outputs);
    wrong
        .map(|((fork, branch), _)| {
            format!("{id}: the context does not have what {fork}/{branch} handed on")
        })
        .collect()
}

#[test]
fn the_checker_finds_faults_of_a_fork() {
    let sound = serde_json::json!({
        "status": "ready",
        "routing": {"workflow": "default"},
        "gate": {"current": "review", "visit": 1, "branches": [
            {"id": "a", "role": "r", "status": "complete"},
            {"id": "b", "role": "r", "status": "ready"},
        ]},
        "gateHistory": [
            {"gate": "work", "outcome": "complete", "to": "review"},
            {"gate": "review/a", "outcome": "complete", "verdict": "pass"},
        ],
    });
    assert_eq!(fork_faults("AOF-abc", &sound), [""; 0]);
    let by_itself = |change: &dyn Fn(&mut Value)| {
        let mut entry = serde_json::json!({"gate": "review", "outcome": "complete", "join": "passed", "to": "done"});
        change(&mut entry);
        let mut front = sound.clone();
        front["gate"] = serde_json::json!({"current": "done", "visit": 3});
        front["gateHistory"].as_array_mut().unwrap().push(entry);
        fork_faults("AOF-abc", &front)
    };
    assert_eq!(by_itself(&|_| {}), [""; 0]);
    for (key, value) in [
        ("agent", "x"),
        ("gate", "other"),
        ("join", "failed"),
        ("outcome", "skip"),
        ("verdict", "pass"),
    ] {
        assert!(!by_itself(&|entry| entry[key] = value.into()).is_empty(), "{key}");
    }
    let broken: [(&str, Value); 6] = [
        ("/gate/visit", 2.into()),
        ("/gate/branches/0/status", "ready".into()),
        ("/gate/branches/1/status", "in_progress".into()),
        ("/routing", serde_json::json!({"role": "r"})),
        (
            "/gateHistory/1",
            serde_json::json!({"gate": "review/a", "outcome": "complete", "verdict": "pass", "to": "x"}),
        ),
        (
            "/gateHistory/1",
            serde_json::json!({"gate": "other", "outcome": "complete", "verdict": "pass", "to": "x"}),
        ),
    ];
    for (place, value) in broken {
        let mut front = sound.clone();
        *front.pointer_mut(place).unwrap() = value;
        assert!(!fork_faults("AOF-abc", &front).is_empty(), "{place}");
    }
}
