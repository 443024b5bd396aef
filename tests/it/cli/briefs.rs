//! What a brief says of a task that its reader had before, or that did not come the usual way: as text, by MCP and by HTTP.

use serde_json::{Value, json};

use super::web::Board;
use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::McpClient;
use crate::support::terminal::Seat;

const ORG: &str = "\
roles:
  dev: {agents: [agent-7, agent-8]}
  qa: {agents: [agent-3]}
  lead: {agents: [agent-9]}
agents:
  agent-7: {}
  agent-8: {}
  agent-3: {}
  agent-9: {}
  human-ann: {email: ann@example.org}
";

/// A thing that happens to a task.
enum Happens {
    /// An agent says an outcome, with a summary and more words.
    Said(&'static str, &'static str, &'static str, &'static [&'static str]),
    /// A command is given for the task; `ID` stands for it.
    Given(&'static [&'static str]),
    /// So many minutes pass, and the time limits are looked at.
    Minutes(u32),
}

use Happens::{Given, Minutes, Said};

struct Case {
    name: &'static str,
    gates: &'static str,
    happens: &'static [Happens],
    /// The branch that is asked about.
    branch: &'static str,
    /// Lines of the text.
    told: &'static [&'static str],
    /// Words that the text must not have.
    untold: &'static [&'static str],
}

const WORK_AND_REVIEW: &str =
    "gates: [{id: work, role: dev}, {id: review, role: qa, canReject: true}]";

/// The nine ways by which a task comes to somebody in another way than the usual one; loops have several.
const CASES: &[Case] = &[
    Case {
        name: "rejected",
        gates: WORK_AND_REVIEW,
        happens: &[
            Said("agent-7", "complete", "Wrote it", &[]),
            Said(
                "agent-3",
                "needs_review",
                "Read all of it",
                &["--blocker", "It leaks", "--notes", "See the log"],
            ),
        ],
        branch: "",
        told: &[
            "Sent back by agent-3",
            "- It leaks",
            "See the log",
            "- sent back by agent-3: Read all of it",
        ],
        untold: &["Wrote it"],
    },
    Case {
        name: "rejected by one branch of a fork",
        gates: "gates: [{id: work, role: dev}, {id: reviews, type: fork, joinStrategy: all, branches: [{id: style, role: qa, \
                canReject: true}, {id: safety, role: lead, canReject: true}]}]",
        happens: &[
            Said("agent-7", "complete", "Wrote it", &[]),
            Said("agent-3", "needs_review", "Read the style", &["--blocker", "Too long"]),
            Said("agent-9", "complete", "Safe enough", &[]),
        ],
        branch: "",
        told: &[
            "- style: Too long",
            "- sent back by agent-3: Read the style",
            "- handed on by agent-9: Safe enough",
        ],
        untold: &[],
    },
    Case {
        name: "a branch that rejected has it again",
        gates: "gates: [{id: work, role: dev}, {id: reviews, type: fork, joinStrategy: all, branches: [{id: style, role: qa, \
                canReject: true}, {id: safety, role: lead, canReject: true}]}]",
        happens: &[
            Said("agent-7", "complete", "Wrote it", &[]),
            Said("agent-3", "needs_review", "Read the style", &["--blocker", "Too long"]),
            Said("agent-9", "complete", "Safe enough", &[]),
            Said("agent-7", "complete", "Made it shorter", &[]),
            Said("agent-9", "complete", "Still safe", &[]),
        ],
        branch: "/style",
        told: &["- Too long", "- came back by agent-7: Made it shorter"],
        untold: &["Still safe"],
    },
    Case {
        name: "sent back by a decision",
        gates: "gates: [{id: work, role: dev}, {id: judge, role: qa, routes: {fine: $next, again: work}}]",
        happens: &[
            Said("agent-7", "complete", "Wrote it", &[]),
            Said("agent-3", "again", "It leaks a handle", &[]),
        ],
        branch: "",
        told: &["You do the work of this task.", "- sent back by agent-3: It leaks a handle"],
        untold: &["Wrote it"],
    },
    Case {
        name: "sent back by a decision to a gate that never had it",
        gates: "gates: [{id: work, role: dev}, {id: judge, role: qa, routes: {fine: $next, broken: repair}}, {id: repair, role: lead, \
                detour: true}]",
        happens: &[
            Said("agent-7", "complete", "Wrote it", &[]),
            Said("agent-3", "broken", "It leaks a handle", &[]),
        ],
        branch: "",
        told: &["by agent-3: It leaks a handle"],
        untold: &["Wrote it"],
    },
    Case {
        name: "tried again after a failure",
        gates: "gates: [{id: work, role: dev, onFailure: {to: work}, brief: {instructions: Build it., reentry: {instructions: Repair \
                it.}}}, {id: review, role: qa}]",
        happens: &[Said("agent-7", "failed", "The disk was full", &[])],
        branch: "",
        told: &[
            "You do the work of this task.",
            "Build it.",
            "- failed by agent-7: The disk was full",
        ],
        untold: &["review", "Repair it."],
    },
    Case {
        name: "a review tried again after a failure still has its requests",
        gates: "gates: [{id: work, role: dev}, {id: review, role: qa, canReject: true, onFailure: {to: review}}]",
        happens: &[
            Said("agent-7", "complete", "Wrote it", &[]),
            Said("agent-3", "needs_review", "Read it", &["--blocker", "It leaks"]),
            Said("agent-7", "complete", "Closed it", &[]),
            Said("agent-3", "failed", "No browser here", &[]),
        ],
        branch: "",
        told: &[
            "You review this task again",
            "- It leaks",
            "- came back by agent-7: Closed it",
            "- failed by agent-3: No browser here",
        ],
        untold: &[],
    },
    Case {
        name: "sent elsewhere by a failure",
        gates: "gates: [{id: work, role: dev}, {id: review, role: qa, onFailure: {to: work}}]",
        happens: &[
            Said("agent-7", "complete", "Wrote it", &[]),
            Said("agent-3", "failed", "It does not start", &[]),
        ],
        branch: "",
        told: &["You do the work of this task.", "- failed by agent-3: It does not start"],
        untold: &["Sent back"],
    },
    Case {
        name: "timed out",
        gates: "gates: [{id: work, role: dev, timeout: 1h}]",
        happens: &[Given(&["claim", "ID", "--agent", "agent-7"]), Minutes(90)],
        branch: "",
        told: &["- timed out: it took longer than its time limit"],
        untold: &[],
    },
    Case {
        name: "a claim that nobody renewed",
        gates: "gates: [{id: work, role: dev, lease: 1h}]",
        happens: &[Given(&["claim", "ID", "--agent", "agent-7"]), Minutes(90)],
        branch: "",
        told: &["- timed out with agent-7: the claim was not renewed in time"],
        untold: &[],
    },
    Case {
        name: "escalated by time",
        gates: "gates: [{id: work, role: dev, timeout: 1h, escalateTo: lead}]",
        happens: &[Given(&["claim", "ID", "--agent", "agent-7"]), Minutes(90)],
        branch: "",
        told: &["escalated to role `lead`", "- timed out with agent-7: Timed out after 1h"],
        untold: &[],
    },
    Case {
        name: "escalated after too many rejections",
        gates: "gates: [{id: work, role: dev}, {id: review, role: qa, canReject: true, maxRetries: 1, onExhausted: {escalateTo: lead}}]",
        happens: &[
            Said("agent-7", "complete", "Wrote it", &[]),
            Said("agent-3", "needs_review", "Read it", &["--blocker", "It leaks"]),
            Said("agent-7", "complete", "Closed it", &[]),
            Said("agent-3", "needs_review", "Read it again", &["--blocker", "It leaks elsewhere"]),
        ],
        branch: "",
        told: &[
            "escalated to role `lead`",
            "too often",
            "- It leaks elsewhere",
            "- sent back by agent-3: Read it again",
        ],
        untold: &[],
    },
    Case {
        name: "unblocked with an answer",
        gates: WORK_AND_REVIEW,
        happens: &[
            Said("agent-7", "blocked", "I cannot choose", &["--blocker", "Which database?"]),
            Given(&["unblock", "ID", "--agent", "human-ann", "--reason", "Take Postgres"]),
        ],
        branch: "",
        told: &[
            "- blocked by agent-7: I cannot choose",
            "- Which database?",
            "- unblocked by human-ann: Take Postgres",
        ],
        untold: &[],
    },
    Case {
        name: "a branch unblocked with an answer",
        gates: "gates: [{id: reviews, type: fork, joinStrategy: all, branches: [{id: style, role: qa}, {id: safety, role: lead}]}]",
        happens: &[
            Said("agent-3", "blocked", "I cannot choose", &["--blocker", "Which guide?"]),
            Said("agent-9", "complete", "Safe enough", &[]),
            Given(&["unblock", "ID@0/style", "--agent", "human-ann", "--reason", "The old one"]),
        ],
        branch: "/style",
        told: &[
            "- blocked by agent-3: I cannot choose",
            "- Which guide?",
            "- unblocked by human-ann: The old one",
        ],
        untold: &["Safe enough"],
    },
    Case {
        name: "a held task that was let go",
        gates: WORK_AND_REVIEW,
        happens: &[
            Given(&["hold", "ID", "--agent", "human-ann", "--reason", "Wait for the law"]),
            Given(&["unblock", "ID", "--agent", "human-ann", "--reason", "The law is there"]),
        ],
        branch: "",
        told: &["- unblocked by human-ann: The law is there"],
        untold: &[],
    },
    Case {
        name: "moved by a person",
        gates: WORK_AND_REVIEW,
        happens: &[
            Said("agent-7", "complete", "Wrote it", &[]),
            Given(&[
                "override",
                "ID",
                "--agent",
                "human-ann",
                "--to",
                "work",
                "--reason",
                "The API first",
            ]),
        ],
        branch: "",
        told: &["- moved by human-ann: The API first"],
        untold: &["Wrote it"],
    },
    Case {
        name: "reopened",
        gates: WORK_AND_REVIEW,
        happens: &[
            Said("agent-7", "complete", "Wrote it", &[]),
            Given(&["cancel", "ID", "--agent", "human-ann", "--reason", "Nobody wants it"]),
            Given(&[
                "reopen",
                "ID",
                "--agent",
                "human-ann",
                "--to",
                "work",
                "--reason",
                "Somebody does",
            ]),
        ],
        branch: "",
        told: &[
            "- cancelled by human-ann: Nobody wants it",
            "- reopened by human-ann: Somebody does",
        ],
        untold: &[],
    },
    Case {
        name: "back from a detour",
        gates: "gates: [{id: work, role: dev}, {id: judge, role: qa, routes: {fine: $next, broken: repair}}, {id: repair, role: lead, \
                detour: true}]",
        happens: &[
            Said("agent-7", "complete", "Wrote it", &[]),
            Said("agent-3", "broken", "It leaks a handle", &[]),
            Said("agent-9", "complete", "Closed the handle", &[]),
        ],
        branch: "",
        told: &["- came back by agent-9: Closed the handle"],
        untold: &["Wrote it"],
    },
    Case {
        name: "the next round",
        gates: "repeat: {until: \"false\", max: 3}, gates: [{id: work, role: dev}, {id: measure, role: qa}]",
        happens: &[
            Said("agent-7", "complete", "Wrote it", &[]),
            Said("agent-3", "complete", "It takes 5 s", &[]),
        ],
        branch: "",
        told: &["round 2 of at most 3", "- came back by agent-3: It takes 5 s"],
        untold: &[],
    },
    Case {
        name: "the next item",
        gates: "gates: [{id: plan, role: qa}, {id: work, role: dev, forEach: plan.items}]",
        happens: &[
            Said("agent-3", "complete", "Planned it", &["--output", "items=[\"a\", \"b\"]"]),
            Said("agent-7", "complete", "Did a", &[]),
        ],
        branch: "",
        told: &["item 2 of 2", "- came back by agent-7: Did a"],
        untold: &["Planned it"],
    },
    Case {
        name: "back by progress",
        gates: "gates: [{id: work, role: dev}, {id: grow, role: qa, canSkip: true, routes: {complete: work}}]",
        happens: &[
            Said("agent-7", "complete", "Wrote it", &[]),
            Said("agent-3", "complete", "The next part is due", &[]),
        ],
        branch: "",
        told: &["- came back by agent-3: The next part is due"],
        untold: &["mend"],
    },
    Case {
        name: "the usual way",
        gates: WORK_AND_REVIEW,
        happens: &[Said("agent-7", "complete", "Wrote it", &[])],
        branch: "",
        told: &[],
        untold: &["Said"],
    },
];

fn begun(gates: &str) -> (TestEnvironment, String) {
    let env = TestEnvironment::with_rules(&format!("workflow: {{{gates}}}\n"), ORG);
    let id = env.new_task(&["Add login"]);
    (env, id)
}

/// Returns the text of a brief without the ages of what was said.
fn text_of(env: &TestEnvironment, ticket: &str) -> String {
    let text = env.aof(&["brief", ticket]).success().stdout;
    let without_age = |line: &str| match line.split_once(" ago: ") {
        Some((head, rest)) => {
            format!("{}: {rest}", head.rsplit_once(", ").map_or(head, |(own, _)| own))
        }
        None => line.to_owned(),
    };
    text.lines().map(without_age).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_brief_shows_events_and_statements_with_their_authors() {
    for case in CASES {
        let (env, id) = begun(case.gates);
        for happens in case.happens {
            match happens {
                Said(agent, outcome, summary, more) => {
                    let words = [
                        "complete",
                        &id,
                        "--agent",
                        agent,
                        "--outcome",
                        outcome,
                        "--summary",
                        summary,
                    ];
                    let _ = env.aof(&[&words[..], more].concat()).success();
                }
                Given(words) => {
                    let words: Vec<String> =
                        words.iter().map(|word| word.replace("ID", &id)).collect();
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    let _ = env.aof(&words).success();
                }
                Minutes(minutes) => {
                    env.pass_minutes(*minutes);
                    let _ = env.aof(&["sweep"]).success();
                }
            }
        }
        let name = case.name;
        let shown = env.aof_aside(&["--json", "show", &id]).success().stdout;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let open = shown["ticket"].as_str().unwrap().replace("AOF-xxxxx", &id);
        let ticket = format!("{open}{}", case.branch);
        let text = text_of(&env, &ticket);
        for told in case.told {
            assert!(text.contains(told), "{name}: `{told}`\n{text}");
        }
        let told_before_commands = text.split("Complete it").next().unwrap();
        for untold in case.untold {
            assert!(!told_before_commands.contains(untold), "{name}: not `{untold}`\n{text}");
        }
        // The same by the two other doors, and for a prompt.
        let own: Value =
            serde_json::from_str(&env.aof_aside(&["--json", "brief", &ticket]).success().stdout)
                .unwrap();
        let mut client = McpClient::of(&env, "agent-7");
        let got = client.call("aof_task_get", json!({"task": ticket}));
        let _ = client.end().success();
        let board = Board::start(&env, &["--agent", "agent-7"]);
        let path = format!("/api/v1/project/tasks/{}/brief", ticket.replace('/', "%2F"));
        let answer = board.get(&path);
        let by_http: Value = serde_json::from_str(&answer.body).unwrap();
        for field in ["statements", "reviewContext", "earlierReviews", "escalated", "gate_context"]
        {
            assert_eq!(own[field], by_http[field], "{name}: {field} by HTTP");
            if field != "reviewContext" || !own[field].is_null() {
                assert_eq!(own[field], got[field], "{name}: {field} by MCP");
            }
        }
        let prompt = env.aof_aside(&["brief", &ticket, "--format", "markdown"]).success().stdout;
        let statements = own["statements"].as_array().cloned().unwrap_or_default();
        assert_eq!(
            statements.is_empty(),
            !case.told.iter().any(|told| told.contains("by ") || told.contains("timed out")),
            "{name}"
        );
        for statement in statements {
            for words in [&statement["text"], &statement["agent"]] {
                let words = words.as_str().unwrap_or_default();
                assert!(prompt.contains(words), "{name}: `{words}`\n{prompt}");
            }
        }
    }
}

#[test]
fn a_person_missing_in_org_yaml_is_named_as_in_git() {
    let (env, id) = begun(WORK_AND_REVIEW);
    let _ = env.complete(&id, "agent-7");
    for (words, told) in [
        (
            &["override", &id, "--to", "work", "--reason", "The API first"][..],
            "- moved by Ada: The API first",
        ),
        (&["cancel", &id, "--reason", "Not now"], ""),
        (&["reopen", &id, "--to", "work", "--reason", "Now"], "- reopened by Ada: Now"),
        (&["hold", &id, "--reason", "Wait"], ""),
        (&["unblock", &id, "--reason", "Go on"], "- unblocked by Ada: Go on"),
    ] {
        let mut seat = Seat::of(&env, words);
        assert!(seat.child.wait().unwrap().success(), "{words:?}");
        if !told.is_empty() {
            let text = text_of(&env, &id);
            assert!(text.contains(told), "{told}\n{text}");
        }
    }
}

#[test]
fn the_commands_of_a_brief_name_its_reader_unless_they_act_as_one() {
    let (env, id) = begun(WORK_AND_REVIEW);
    let shown = |agent: Option<&str>, args: &[&str]| {
        let mut command = env.aof_command(args);
        command.envs(agent.map(|agent| ("AOF_AGENT", agent)));
        env.run(command).success().stdout
    };
    let complete = |who: &str| format!("aof complete AOF-xxxxx@0{who} --outcome complete");
    let brief = ["brief", id.as_str()];
    assert!(shown(None, &brief).contains(&complete(" --agent agent-7")));
    assert!(shown(Some("agent-8"), &brief).contains(&complete("")));
    // Somebody else's agent would be refused.
    assert!(shown(Some("agent-3"), &brief).contains(&complete(" --agent agent-7")));
    let claim = ["claim", id.as_str(), "--agent", "agent-8"];
    assert!(shown(Some("agent-7"), &claim).contains(&complete(" --agent agent-8")));
    assert!(shown(Some("agent-7"), &brief).contains(&complete(" --agent agent-8")));
    // Git's user is an agent.
    env.git(&["config", "user.email", "agent-8@example.org"]);
    env.edit("org.yaml", "agent-8: {}", "agent-8: {email: agent-8@example.org}");
    env.commit_all("email");
    assert!(shown(None, &brief).contains(&complete("")));
    assert!(shown(Some("agent-7"), &brief).contains(&complete(" --agent agent-8")));
    // For a prompt as well.
    env.edit("project.yaml", "workflow: {", "workflow: {lease: 1h, ");
    env.commit_all("lease");
    let prompt = shown(Some("agent-7"), &["brief", &id, "--format", "markdown"]);
    assert!(prompt.contains("`aof renew AOF-xxxxx@0 --agent agent-8`"), "{prompt}");
}
