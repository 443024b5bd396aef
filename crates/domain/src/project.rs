//! A project: its settings, and the workflows that its tasks follow.

pub mod recurring;

use std::collections::BTreeMap;
use std::fmt;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::json;

use super::words::{distinct, mentioned, words};
use super::{
    AgentId, BranchName, ChannelKey, EventKind, IdPrefix, Launch, Outcome, Period, PublicKey,
    RemoteName, RoleId, RunBudgets, RunLimits, Timestamp, Workflow, WorkflowName,
    WorkspaceSettings,
};

/// The content of project.yaml and `workflows/`.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// The name of the project.
    pub name: Option<String>,
    pub owner: Option<String>,
    /// The beginning of its task ids.
    pub id_prefix: IdPrefix,
    /// The time zone of due dates.
    pub timezone: TimeZone,
    /// The layout of new task files.
    pub layout: TaskLayout,
    /// The way tasks reach agents, unless a role sets another.
    pub hand_out: HandOut,
    /// True if the watcher commits people's edits of task files.
    pub commit_edits: bool,
    /// The settings for syncing with other clones.
    pub git: Git,
    /// The judgement of squashes by `aof verify`.
    pub squashes: SquashPolicy,
    /// The limits of runs that no workflow sets.
    pub run: RunLimits,
    /// The settings for the worktrees of tasks.
    pub workspaces: WorkspaceSettings,
    /// The subscriptions to events.
    pub notify: Vec<Subscription>,
    /// The budgets of agents' programs.
    pub budgets: RunBudgets,
    /// The tasks that come again and again.
    pub recurring: Vec<recurring::Recurring>,
    /// The promises about workflows.
    pub promises: Vec<Promise>,
    pub workflows: Vec<Workflow>,
    /// The workflow of a task that names none.
    pub default_workflow: WorkflowName,
    /// True if the one workflow is the stand-in for a project without any (spec 1, 10.2): then every agent may complete.
    pub implicit_workflow: bool,
}

impl Project {
    /// Returns the day of that time in the project's time zone.
    pub fn day(&self, at: Timestamp) -> Date {
        at.to_zoned(self.timezone.clone()).date()
    }

    /// Returns the way tasks of the role reach its agents.
    pub fn hand_out_policy(&self, role: &Role) -> HandOut {
        role.hand_out.unwrap_or(self.hand_out)
    }

    /// Returns the name of the workflow that the promise is about.
    pub fn promised<'a>(&'a self, promise: &'a Promise) -> &'a WorkflowName {
        promise.workflow.as_ref().unwrap_or(&self.default_workflow)
    }

    /// Returns the workflow of that name.
    pub fn workflow(&self, name: &WorkflowName) -> Option<&Workflow> {
        self.workflows.iter().find(|workflow| workflow.name == *name)
    }
}

/// A promise about a workflow: what holds for each of its tasks, at any time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Promise {
    pub name: String,
    /// The condition that always holds.
    pub always: String,
    /// The workflow; the project's default if none is named.
    pub workflow: Option<WorkflowName>,
}

words!(
    /// The layout of new task files.
    TaskLayout, "a layout", {
        /// `tasks/AOF-abcde.md`
        Flat = "flat",
        /// `tasks/ab/AOF-abcde.md`: for many thousand active tasks.
        Sharded = "sharded",
    }
);

words!(
    /// The judgement of commits that bring several entries of a task at once.
    SquashPolicy, "a judgement of squashes", {
        /// They are notes if the rules allow each entry.
        Accept = "accept",
        /// They are faults.
        Refuse = "refuse",
    }
);

/// The default interval of syncs.
const EVERY: Period = Period::of_seconds(60);

/// The settings for git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    /// True if the remote confirms claims, and the watcher syncs.
    pub sync: bool,
    /// The remote that the project syncs with; `None` means the remote that the branch follows.
    pub remote: Option<RemoteName>,
    /// The branch of the project, if it is not the one that is checked out.
    pub branch: Option<BranchName>,
    /// The interval at which the watcher checks the remote.
    pub every: Period,
}

impl Default for Git {
    fn default() -> Self {
        Self { sync: false, remote: None, branch: None, every: EVERY }
    }
}

/// A subscription: the events that a subscriber wants, and the channel for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Subscription {
    pub on: On,
    pub channel: Channel,
}

/// The events that a subscriber wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum On {
    /// Events that concern the subscriber.
    Concerning,
    /// Everything.
    All,
    /// These events.
    Only(Vec<EventKind>),
}

/// A notification channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Channel {
    /// A program with its arguments; it gets the message on stdin. Never empty.
    Command(Vec<String>),
    /// An HTTP server.
    Webhook(Webhook),
}

/// A receiver of webhooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Webhook {
    pub url: String,
    /// The environment variable with the secret that signs messages.
    pub secret_env: Option<String>,
    /// The addresses that its host name may resolve to.
    pub reach: NetworkReach,
}

/// The addresses that connections may go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum NetworkReach {
    /// Addresses on the internet.
    Public,
    /// Addresses of this machine and its networks, too.
    Private,
}

impl Channel {
    /// Returns the channel's name in the outbox.
    pub fn key(&self) -> ChannelKey {
        let description = match self {
            Self::Command(words) => json!({"command": words}),
            Self::Webhook(webhook) => {
                json!({"webhook": webhook.url, "secretEnv": webhook.secret_env})
            }
        };
        ChannelKey::of(&description.to_string())
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(words) => f.write_str(&words.join(" ")),
            Self::Webhook(webhook) => f.write_str(&webhook.url),
        }
    }
}

/// The number of ids that a message names.
pub const FEW: usize = 5;

/// Joins the first few ids, with `...` if there are more.
pub fn some(ids: &[&str]) -> String {
    let mut names = ids[..ids.len().min(FEW)].to_vec();
    if ids.len() > FEW {
        names.push("...");
    }
    names.join(", ")
}

/// A place in project.yaml, `workflows/` or org.yaml. Fields are the keys as people write them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigPlace {
    /// A setting of the project.
    Project {
        /// The key, or keys joined by a dot.
        field: &'static str,
    },
    /// A field of a promise, by its place in the list, from 0.
    Promise { index: usize, field: &'static str },
    /// A field of a workflow.
    Workflow { workflow: WorkflowName, field: &'static str },
    /// A field of a gate.
    Gate {
        workflow: WorkflowName,
        /// The gate's place in the list, from 0.
        gate: usize,
        field: &'static str,
    },
    /// A route of a gate.
    Route {
        workflow: WorkflowName,
        /// The gate's place in the list, from 0.
        gate: usize,
        /// The outcome, as it is written; `failed` is the gate's `onFailure`.
        outcome: Outcome,
        field: &'static str,
    },
    /// A field of a branch of a fork.
    Branch {
        workflow: WorkflowName,
        /// The fork's place in the list, from 0.
        gate: usize,
        /// The branch's place in the fork, from 0.
        branch: usize,
        /// The outcome, as it is written, if the place is in a route.
        outcome: Option<Outcome>,
        field: &'static str,
    },
    /// A field of a role.
    Role { role: RoleId, field: &'static str },
    /// One agent in a role's list.
    Member {
        role: RoleId,
        /// The agent's place in the list, from 0.
        index: usize,
    },
    /// An agent in the register.
    Agent { agent: AgentId, field: &'static str },
}

/// The org chart (spec 1, 6.3).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Org {
    /// Roles, in the order of the file.
    pub roles: Vec<(RoleId, Role)>,
    /// The register of agents; absent means that every agent named by a role is known.
    pub agents: Option<BTreeMap<AgentId, Agent>>,
    /// The pages for which passkeys may sign, as browsers name them: `http://localhost:7420`.
    pub passkey_origins: Vec<String>,
}

/// The agents that do the work of a gate.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Role {
    pub description: Option<String>,
    /// Its agents; empty means that tasks stall.
    pub agents: Vec<AgentId>,
    /// True if only people may complete its gates.
    pub require_human: bool,
    /// The way its tasks reach its agents, if it differs from the project's.
    pub hand_out: Option<HandOut>,
    /// The limits of its agents' runs that they do not set themselves.
    pub run: RunLimits,
    /// The subscriptions to events that concern the role.
    pub notify: Vec<Subscription>,
}

/// An agent's entry in the register.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    pub name: Option<String>,
    pub description: Option<String>,
    /// The author's address in commits; git's user is recognised as this agent by it.
    pub email: Option<String>,
    /// Permissions besides completing its own tasks.
    pub may: Vec<Permission>,
    /// The number of tasks that it may hold at once. By default, hand-out gives an agent one at a time and a person none; work that
    /// an agent asks for itself is not limited.
    pub max_tasks: Option<u32>,
    /// The subscriptions to events that concern the agent.
    pub notify: Vec<Subscription>,
    /// The way to start it, if aof may start it.
    pub run: Option<Launch>,
    /// The keys that it signs completions with, any of them. Empty means that it need not sign.
    pub signing_keys: Vec<PublicKey>,
}

words!(
    /// The way tasks reach the agents of a role.
    HandOut, "a way to hand out", {
        /// Agents ask for them.
        Ask = "ask",
        /// Each goes to the agent that has the fewest.
        LeastLoaded = "least-loaded",
        /// Agents take turns.
        RoundRobin = "round-robin",
    }
);

words!(
    /// An operation that an agent may carry out although it is otherwise for people.
    Permission, "a permission", {
        /// Create tasks.
        New = "new",
        /// Edit what people write in tasks.
        Edit = "edit",
        /// Cancel tasks.
        Cancel = "cancel",
        /// Unblock tasks.
        Unblock = "unblock",
        /// Reopen finished tasks.
        Reopen = "reopen",
        /// Move tasks against the workflow.
        Override = "override",
        /// Hold tasks that others work on.
        Hold = "hold",
        /// Assign tasks to agents.
        Assign = "assign",
    }
);

/// The address of an agent without an email ends with this.
const NO_EMAIL: &str = "@aof.invalid";

impl Org {
    /// Returns the role of that name.
    pub fn role(&self, id: &RoleId) -> Option<&Role> {
        self.roles.iter().find(|(name, _)| name == id).map(|(_, role)| role)
    }

    /// Returns the roles that the agent is in, in the order of the file.
    pub fn roles_of<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a RoleId> {
        self.roles.iter().filter(move |(_, role)| role.agents.contains(agent)).map(|(id, _)| id)
    }

    /// Returns the agent's entry in the register.
    pub fn agent(&self, id: &AgentId) -> Option<&Agent> {
        self.agents.as_ref()?.get(id)
    }

    /// Returns the keys that the agent signs completions with; none if it need not sign.
    pub fn signing_keys(&self, id: &AgentId) -> &[PublicKey] {
        self.agent(id).map(|agent| agent.signing_keys.as_slice()).unwrap_or_default()
    }

    /// Returns whether the agent may be handed work: it is in the register, or there is none.
    pub fn is_registered(&self, id: &AgentId) -> bool {
        self.agents.as_ref().is_none_or(|agents| agents.contains_key(id))
    }

    /// Returns the registered agents that may do a duty which is the role's: people, if it or the role requires them.
    pub fn able<'a>(
        &'a self,
        role: &RoleId,
        require_human: bool,
    ) -> impl Iterator<Item = &'a AgentId> {
        let role = self.role(role);
        let human = require_human || role.is_some_and(|role| role.require_human);
        let agents = role.into_iter().flat_map(|role| &role.agents);
        agents.filter(move |agent| self.is_registered(agent) && (!human || agent.is_human()))
    }

    /// Returns the number of tasks that hand-out may give the agent, including those it holds; 0 if it is unknown, or a person
    /// without a limit of their own.
    pub fn room(&self, id: &AgentId) -> u32 {
        let usual = u32::from(!id.is_human());
        if self.is_registered(id) {
            self.agent(id).and_then(|agent| agent.max_tasks).unwrap_or(usual)
        } else {
            0
        }
    }

    /// Returns every agent that any role or the register names, each once, in order.
    pub fn all_agents(&self) -> Vec<&AgentId> {
        let mut all: Vec<&AgentId> = self.roles.iter().flat_map(|(_, role)| &role.agents).collect();
        all.extend(self.agents.iter().flat_map(BTreeMap::keys));
        all.sort();
        all.dedup();
        all
    }

    /// Returns the agent that people call so: by its id, or a person's without `human-`.
    pub fn agent_named(&self, name: &str) -> Option<&AgentId> {
        let all = self.all_agents();
        let by = |is: &dyn Fn(&str) -> bool| all.iter().copied().find(|id| is(id.as_str()));
        by(&|id| id == name).or_else(|| by(&|id| id.strip_prefix("human-") == Some(name)))
    }

    /// Returns the people whom a text mentions, with or without `human-`.
    pub fn people_in(&self, text: &str) -> Vec<&AgentId> {
        let known = mentioned(text).into_iter().filter_map(|name| self.agent_named(name));
        distinct(known.filter(|agent| agent.is_human())).collect()
    }

    /// Returns the agent with that email: the one that org.yaml names, otherwise a program by the address that aof makes of its id.
    pub fn agent_by_email(&self, email: &str) -> Option<AgentId> {
        let mut known = self.agents.iter().flatten();
        let known = known.find(|(_, agent)| agent.email.as_deref() == Some(email));
        let made = || email.strip_suffix(NO_EMAIL)?.parse().ok();
        known.map(|(id, _)| id.clone()).or_else(|| made().filter(|id: &AgentId| !id.is_human()))
    }

    /// Returns the email of an agent. Without one, it gets an address that cannot exist.
    pub fn email_of(&self, agent: &AgentId) -> String {
        let known = self.agent(agent).and_then(|known| known.email.clone());
        known.unwrap_or_else(|| format!("{agent}{NO_EMAIL}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_known_by_its_form() {
        let one = Channel::Command(vec!["a".into(), "b c".into()]);
        let other = Channel::Command(vec!["a".into(), "b".into(), "c".into()]);
        assert_ne!(one.key(), other.key());
        assert_eq!(one.key().as_str().parse(), Ok(one.key()));
        for text in ["", "..", "0123456789abcdeF", "0123456789abcdef0"] {
            assert!(text.parse::<ChannelKey>().is_err(), "{text}");
        }
    }
}

#[cfg(test)]
mod org_tests {
    use super::*;

    #[test]
    fn limits_of_handing_out_hold_for_each_agent() {
        let with = |max_tasks| Agent { max_tasks, ..Agent::default() };
        let register =
            [("agent-1", with(None)), ("agent-2", with(Some(3))), ("human-ada", with(None))];
        let more = [("human-bob", with(Some(2))), ("agent-off", with(Some(0)))];
        let agents =
            register.into_iter().chain(more).map(|(id, agent)| (id.parse().unwrap(), agent));
        let mut org = Org { agents: Some(agents.collect()), ..Org::default() };
        let room = |org: &Org, id: &str| org.room(&id.parse().unwrap());
        let ids = ["agent-1", "agent-2", "human-ada", "human-bob", "agent-off", "stranger"];
        assert_eq!(ids.map(|id| room(&org, id)), [1, 3, 0, 2, 0, 0]);
        org.agents = None;
        assert_eq!(
            ["stranger", "human-ada"].map(|id| room(&org, id)),
            [1, 0],
            "without a register all are known"
        );
    }

    #[test]
    fn only_people_of_the_project_are_mentioned() {
        let agents = ["human-ann", "bot-7", "ben", "human-ben"].map(|id| id.parse().unwrap());
        let role = Role { agents: agents.to_vec(), ..Role::default() };
        let org = Org { roles: vec![("lead".parse().unwrap(), role)], ..Org::default() };
        for (text, people) in [
            ("@ann and @human-ann", &["human-ann"][..]),
            ("@bot-7, @ben and @nobody", &[]),
            ("@human-ben", &["human-ben"]),
        ] {
            let found: Vec<&str> = org.people_in(text).into_iter().map(AgentId::as_str).collect();
            assert_eq!(found, people, "{text}");
        }
    }
}
