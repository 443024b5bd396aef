//! What it costs to decide who gets which work: a thousand tasks that wait, fifty agents.

use std::hint::black_box;

use aof::domain::{AgentId, Priority, RoleId, Ticket, Timestamp, Urgency};
use aof::files::config::configuration::{Source, load};
use aof::rules::{AgentLoads, Rules, UnclaimedWork, dispatch};
use criterion::{Criterion, criterion_group, criterion_main};

const TASKS: usize = 1_000;
const AGENTS: usize = 50;
const ROLES: usize = 5;

/// Returns rules in which every agent is in two roles and has room for what comes.
fn rules(way: &str) -> Rules {
    let mut project = format!("handOut: {way}\nworkflow:\n  gates:\n");
    project
        .extend((0..ROLES).map(|role| format!("    - {{id: gate-{role}, role: role-{role}}}\n")));
    let mut org = "roles:\n".to_owned();
    for role in 0..ROLES {
        let members =
            (0..AGENTS).filter(|agent| agent % ROLES == role || (agent + 1) % ROLES == role);
        let members: Vec<String> = members.map(|agent| format!("agent-{agent}")).collect();
        org.push_str(&format!("  role-{role}: {{agents: [{}]}}\n", members.join(", ")));
    }
    org.push_str("agents:\n");
    org.extend((0..AGENTS).map(|agent| format!("  agent-{agent}: {{maxTasks: 25}}\n")));
    let source = |name: &str, text: &str| Source { name: name.to_owned(), bytes: text.into() };
    let configuration = load(&[source("project.yaml", &project), source("org.yaml", &org)])
        .expect("its shape is sound");
    Rules::new(configuration.project, configuration.org).expect("it is valid").0
}

fn agent(number: usize) -> AgentId {
    format!("agent-{}", number % AGENTS).parse().expect("it is an id")
}

/// Returns places of every urgency; each third has been worked at before, each fourth keeps apart from three agents.
fn waiting() -> Vec<UnclaimedWork> {
    let place = |number: usize| {
        let role: RoleId = format!("role-{}", number % ROLES).parse().expect("it is a name");
        let seconds = i64::try_from(number * 7919 % TASKS).expect("it is small");
        UnclaimedWork {
            ticket: Ticket {
                task: format!("AOF-t{number:04}").parse().expect("it is an id"),
                visit: None,
                branch: None,
            },
            role,
            people_only: false,
            urgency: Urgency {
                is_in_time: true,
                priority: Priority::ALL[number % Priority::ALL.len()],
                due: Timestamp::MAX,
                entered: Timestamp::from_second(1_771_236_000 + seconds).expect("it is a time"),
                created: Timestamp::UNIX_EPOCH,
            },
            planned_for: Vec::new(),
            previous_agent: (number.is_multiple_of(3)).then(|| agent(number)),
            excluded: if number.is_multiple_of(4) {
                (0..3).map(|more| agent(number + more)).collect()
            } else {
                Vec::new()
            },
            lapsed_agent: None,
            is_looked_at: false,
        }
    };
    (0..TASKS).map(place).collect()
}

fn hand_out(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a thousand tasks to fifty agents");
    let waiting = waiting();
    for way in ["least-loaded", "round-robin"] {
        let rules = rules(way);
        assert_eq!(
            dispatch(&rules, &waiting, &AgentLoads::default()).len(),
            TASKS,
            "everything finds somebody"
        );
        group.bench_function(way, |bencher| {
            bencher.iter(|| {
                dispatch(black_box(&rules), black_box(&waiting), &AgentLoads::default()).len()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, hand_out);
criterion_main!(benches);
