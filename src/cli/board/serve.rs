//! `aof serve`: the board in the browser, with the watchers of its projects.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, stdin};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::feed::Feed;
use crate::agents::mcp::http::{HttpCalls, PostHeaders, answer_post, setup_of_token};
use crate::board::web::{
    Access, AgentDoor, BoardSite, BoundServer, HealthReader, LinkKind, LoginHeader, ServeFile,
    SiteProject, SiteReader, SiteUsers, StopSender, address, fresh_link, router, serve,
};
use crate::cli::watch::show_report;
use crate::cli::{ActingAgent, CliError, CliResult, Session, json_line, now};
use crate::domain::AgentId;
use crate::project::access::agent_tokens::agent_of_token;
use crate::project::access::web_users::{WebUsers, password_hash};
use crate::project::rule_lookup::check_agent;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::{Durability, StoreError};
use crate::system::{serving, terminal};
use crate::watch::metrics::Metrics;
use crate::watch::report::WatchReport;
use crate::watch::watcher::watch;

/// The default port.
const PORT: u16 = 7420;
/// The place in `.aof/` of a server's address: in a folder that only this account may enter.
const FOLDER: &str = "serve";
const FILE: &str = "server.json";
/// The time that a running server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof serve                  the project here; open the link that is printed
  aof serve ~/web ~/docs     two projects
  aof serve --link           a fresh link to the server that runs here

A link logs one browser in, once, within ten minutes. Started at a terminal, the board acts as
git's user; else name somebody with `--agent`, or it only shows. A link of `--link` acts where it was
asked for at a terminal, else it only shows. The server watches the projects, as `aof watch` does. Without `--listen`, only this machine can ask. docs/guides/web.md has the rest.")]
pub(crate) struct ServeArgs {
    /// The folders of projects; without one, the project here
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// The port; 0 is any that is free
    #[arg(long, default_value_t = PORT)]
    port: u16,
    /// Listen at this address, as in `0.0.0.0:7420`, for other machines too
    #[arg(long, value_name = "ADDRESS", value_parser = address, requires = "users", conflicts_with = "port")]
    listen: Option<String>,
    /// People with passwords, as `LOGIN: {agent: human-ann, password: "HASH"}`; each acts as their agent
    #[arg(long, value_name = "FILE", conflicts_with = "read_only")]
    users: Option<PathBuf>,
    /// Read a password, and print its hash for the file of users
    #[arg(long, exclusive = true)]
    hash_password: bool,
    /// The URL that browsers use where a proxy stands before the server: `https://board.example`
    #[arg(long, value_name = "URL", value_parser = origin)]
    origin: Option<String>,
    /// The header in which the proxy names the login; only where nobody gets past the proxy
    #[arg(long, value_name = "HEADER", requires = "users")]
    trust_header: Option<LoginHeader>,
    /// Only show: nobody can do anything in the browser; agents with tokens act all the same
    #[arg(long)]
    read_only: bool,
    /// Print a fresh link to the server that runs here, and stop; without a terminal, it only shows
    #[arg(long, conflicts_with_all = ["port", "read_only", "directories"])]
    link: bool,
    #[command(flatten)]
    who: ActingAgent,
}

pub(crate) fn run_serve(session: &Session, args: &ServeArgs) -> CliResult {
    if args.link {
        return print_link(session);
    }
    if args.hash_password {
        return print_hash(session);
    }
    serving::give_back_memory();
    let users = args.users.as_deref().map(WebUsers::read).transpose()?;
    let here = [PathBuf::new()];
    let folders = if args.directories.is_empty() { &here[..] } else { &args.directories };
    let mut opened = Vec::new();
    for folder in folders {
        let workspace = session.workspace_below(folder, "serve")?;
        // People arrive by a login, or by a link from the terminal; otherwise the person was only named.
        let is_seen = users.is_some() || Session::sees_person(&workspace);
        let workspace = workspace.with_person_seen(is_seen);
        let is_known = |known: &Workspace| known.paths.root() == workspace.paths.root();
        if !opened.iter().any(is_known) {
            // The owner of the board depends on the rules.
            let in_force = workspace.rules()?;
            if let Some(users) = &users {
                warn_of_strangers(session, users, &workspace, &in_force.rules);
            }
            opened.push(workspace);
        }
    }
    let address = args.listen.clone().unwrap_or_else(|| format!("127.0.0.1:{}", args.port));
    let server = BoundServer::bind(&address).map_err(|fault| CliError::endpoint(&fault))?;
    let url = match (&args.origin, &args.listen) {
        (Some(origin), _) => origin.clone(),
        (None, Some(_)) => format!("http://{}", server.address),
        (None, None) => format!("http://localhost:{}", server.address.port()),
    };
    let file = write_serve_files(&opened, url, server.address, users.is_some())?;
    let (mut projects, mut counts): (Vec<SiteProject>, Vec<Metrics>) = Default::default();
    for workspace in &opened {
        let taken: BTreeSet<&str> = projects.iter().map(|project| project.slug.as_str()).collect();
        let readers = readers(session, workspace, args, users.as_ref());
        let (slug, opener) = (slug(workspace, &taken), workspace.opener(session.wait));
        let counted = Metrics::start(workspace, session.wait);
        let counted = counted.map_err(|cause| CliError::input("metrics", &cause))?;
        // Everyone who can connect can read the metrics: behind a proxy, that is everyone.
        let is_private = !server.is_exposed() && args.origin.is_none();
        let metrics = is_private.then(|| counted.page());
        let health = HealthReader::default();
        projects.push(SiteProject { slug, opener, readers, metrics, health });
        counts.push(counted);
    }
    let access = Access::new(&file, server.address, args.origin.clone());
    let users = users.map(|users| {
        let header = args.trust_header.clone();
        SiteUsers { users, limiter: Mutex::default(), header }
    });
    let agents = agent_door(&opened, session.wait);
    let site = Arc::new(BoardSite { projects, access, users, clock: now, agents });
    let _feeds = follow(session, &site, &opened)?;
    let stop = StopSender::default();
    let signal = stop.clone();
    terminal::on_stop(move || signal.stop()).map_err(|cause| CliError::input("signals", &cause))?;
    tell_start(session, &site, &file)?;
    let (sender, reports) = channel();
    for ((workspace, project), counted) in opened.iter().zip(&site.projects).zip(counts) {
        start_watcher(session, (workspace, &project.slug), counted, &sender)?;
    }
    let router = router(Arc::clone(&site), stop.follow());
    // The watchers report until the server ends.
    let serving = thread::Builder::new().name("server".to_owned()).spawn(move || {
        let ended = serve(server, router, &stop);
        // Without the server, the watchers have no reason to continue.
        terminal::ask_to_stop();
        drop(sender);
        ended
    });
    let serving = serving.map_err(|cause| CliError::input("the server", &cause))?;
    for (project, report) in reports {
        let project = (opened.len() > 1).then_some(&*project);
        show_report(session, project, &report, true);
    }
    let ended = serving.join().unwrap_or(Ok(()));
    ended.map_err(|cause| CliError::input("the server", &cause))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the readers of a project: each agent of the users, or the person with the link.
fn readers(
    session: &Session,
    workspace: &Workspace,
    args: &ServeArgs,
    users: Option<&WebUsers>,
) -> Vec<SiteReader> {
    match users {
        Some(users) => {
            users.agents().into_iter().map(|agent| SiteReader::new(Ok(agent.clone()))).collect()
        }
        None => vec![SiteReader::new(acting(session, workspace, args))],
    }
}

/// Returns the agent who acts in the browser, or the reason why none does.
fn acting(session: &Session, workspace: &Workspace, args: &ServeArgs) -> Result<AgentId, String> {
    if args.read_only {
        return Err("the server was started with --read-only".to_owned());
    }
    let in_force = workspace.rules().map_err(|error| error.problem())?;
    let you = session.agent(workspace, &in_force, args.who.agent.as_ref());
    let known = you.and_then(|you| check_agent(&in_force.rules, &you, None).map(|()| you));
    known.map_err(|error| format!("{}; `aof serve --agent ID` names somebody", error.problem()))
}

/// Warns of users who are not in org.yaml, or whom commits could not name.
fn warn_of_strangers(session: &Session, users: &WebUsers, workspace: &Workspace, rules: &Rules) {
    let project = workspace.paths.folder_name().unwrap_or_default();
    for agent in users.agents() {
        let what = match rules.org.agent(agent) {
            _ if check_agent(rules, agent, None).is_err() => {
                "is not in org.yaml, and can only look"
            }
            Some(known) if known.email.is_some() => continue,
            _ => "has no `email` in org.yaml: git's user is the author of most of what it does",
        };
        session.warn(&format!("{project}: `{agent}` {what}"));
    }
}

/// Returns the function that answers agents: the first project that knows the token is used.
fn agent_door(opened: &[Workspace], wait: Duration) -> Box<AgentDoor> {
    let openers: Vec<_> = opened
        .iter()
        .map(|workspace| (workspace.paths.root().to_owned(), workspace.opener(wait)))
        .collect();
    let calls = HttpCalls::default();
    Box::new(move |message| {
        let known = openers.iter().find_map(|(root, opener)| {
            let workspace = opener.open().ok()?;
            Some((root, agent_of_token(&workspace, &message.token).ok()??))
        });
        let (root, agent) = known?;
        let headers = PostHeaders {
            version: message.version.as_deref(),
            method: message.method.as_deref(),
            name: message.name.as_deref(),
        };
        let (setup, call) = (setup_of_token(root, &agent, wait, now), (&calls, &message.call));
        let answer = answer_post(&setup, &headers, &message.body, call);
        Some((answer.status, answer.body))
    })
}

/// Parses a URL of a server: a scheme and a host, with nothing after them.
fn origin(text: &str) -> Result<String, String> {
    let text = text.strip_suffix('/').unwrap_or(text);
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match host {
        Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', ' ', '@']) => {
            Ok(text.to_owned())
        }
        _ => Err("write a scheme and a host, as in `https://board.example`".to_owned()),
    }
}

fn print_hash(session: &Session) -> CliResult {
    let failed = |cause: &io::Error| CliError::input("stdin", cause);
    let line = if stdin().is_terminal() {
        let ask = |what: &str| {
            session.output.say(what);
            terminal::hidden_line().map_err(|cause| failed(&cause))
        };
        let line = ask("type the password, which is not shown, then press enter")?;
        if ask("type it again")? != line {
            let fix = "type both alike";
            return Err(CliError::refused("weak_password", "these were two passwords", fix));
        }
        line
    } else {
        let mut line = String::new();
        stdin().read_line(&mut line).map_err(|cause| failed(&cause))?;
        line
    };
    let hash = password_hash(line.trim_end_matches(['\n', '\r']))?;
    // In quotes: the hash has commas.
    session.output.line(format!("\"{hash}\""));
    Ok(ExitCode::SUCCESS)
}

/// Returns the project's part of the URL: the name of its folder, with a number if that is taken.
fn slug(workspace: &Workspace, taken: &BTreeSet<&str>) -> String {
    /// Names that the server uses for other pages.
    const OWN: &[&str] =
        &["api", "assets", "events", "healthz", "login", "logout", "mcp", "metrics"];
    let folder = workspace.paths.folder_name().unwrap_or_default();
    let kept: String = folder
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' })
        .collect();
    let kept = kept.trim_start_matches('.');
    let base = if kept.is_empty() || OWN.contains(&kept) { "project" } else { kept };
    let numbered = (2..).map(|number| format!("{base}-{number}"));
    let mut names = std::iter::once(base.to_owned()).chain(numbered);
    names.find(|name| !taken.contains(name.as_str())).unwrap_or_default()
}

/// Writes the address of the server into each project. The key is kept, so that browsers stay logged in.
fn write_serve_files(
    opened: &[Workspace],
    url: String,
    address: SocketAddr,
    by_name: bool,
) -> CliResult<ServeFile> {
    let last = opened.first().and_then(|workspace| read_serve_file(workspace).ok().flatten());
    let file = ServeFile::at(url, address, last).map_err(CliError::from)?;
    let file = ServeFile { by_name, ..file };
    for workspace in opened {
        let local = workspace.paths.prepare_local().map_err(CliError::from)?;
        let folder = local.private_child(FOLDER).map_err(CliError::from)?;
        folder.replace_json(FILE, &file, Durability::Volatile).map_err(CliError::from)?;
    }
    Ok(file)
}

fn read_serve_file(workspace: &Workspace) -> Result<Option<ServeFile>, StoreError> {
    let folder = workspace.paths.prepare_local()?.private_child(FOLDER)?;
    folder.read_json(FILE)
}

/// Returns the link at which a browser begins.
fn link_of(file: &ServeFile, kind: LinkKind) -> CliResult<String> {
    if file.by_name {
        return Ok(format!("{}/", file.url));
    }
    fresh_link(file, kind, now()).map_err(CliError::from)
}

fn print_link(session: &Session) -> CliResult {
    let workspace = session.workspace_below(Path::new(""), "serve")?;
    let file = read_serve_file(&workspace).map_err(CliError::from)?;
    let runs = |file: &ServeFile| TcpStream::connect_timeout(&file.address, CONNECT).is_ok();
    let Some(file) = file.filter(runs) else {
        let problem = "no `aof serve` runs in this project";
        return Err(CliError::refused("no_server", problem, "start one with `aof serve`"));
    };
    // A program without a terminal must not act as the person who started the server.
    let acts = file.by_name || Session::sees_person(&workspace);
    let link = link_of(&file, if acts { LinkKind::Acts } else { LinkKind::Looks })?;
    if session.output.is_json() {
        session.output.data(json!({"url": file.url, "link": link, "acts": acts}));
    } else {
        session.output.line(link);
    }
    if !acts {
        session.warn(
            "this link only shows the board; `aof serve --link` at a terminal prints one that acts",
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Keeps the boards up to date until the feeds are dropped.
fn follow(session: &Session, site: &Arc<BoardSite>, opened: &[Workspace]) -> CliResult<Vec<Feed>> {
    let mut feeds = Vec::new();
    for (at, (workspace, project)) in opened.iter().zip(&site.projects).enumerate() {
        for (place, reader) in project.readers.iter().enumerate() {
            let (site, named) = (Arc::clone(site), reader.you.as_ref().ok().cloned());
            let feed = Feed::start(workspace, session.wait, named, move |news| {
                site.projects[at].readers[place].take(news, now);
                true
            });
            feeds.push(feed.map_err(|cause| CliError::input("the files of the project", &cause))?);
        }
    }
    Ok(feeds)
}

fn tell_start(session: &Session, site: &BoardSite, file: &ServeFile) -> CliResult<()> {
    let link = link_of(file, LinkKind::Acts)?;
    let names: Vec<&str> = site.projects.iter().map(|project| project.slug.as_str()).collect();
    if session.output.is_json() {
        let value = json!({"event": "serving", "url": file.url, "link": link, "projects": names});
        session.output.line(json_line(value).to_string());
    } else {
        session.output.line(format!("the board of {} is at\n  {link}", names.join(", ")));
    }
    let is_open = !site.access.is_local() && !file.url.starts_with("https:");
    if is_open {
        session.warn("passwords are sent as plain text: put a proxy with TLS before the server, and name it with --origin");
    }
    for project in &site.projects {
        for reader in project.readers.iter().filter(|_| site.users.is_none()) {
            match &reader.you {
                Ok(you) if !session.output.is_json() => {
                    session.output.line(format!("{}: you act as {you}", project.slug));
                }
                Ok(_) => {}
                Err(why) => session.warn(&format!("{}: the board only shows: {why}", project.slug)),
            }
        }
    }
    Ok(())
}

/// Starts the watcher of a project. If another one runs, it waits as a standby.
fn start_watcher(
    session: &Session,
    (workspace, slug): (&Workspace, &str),
    metrics: Metrics,
    reports: &Sender<(String, WatchReport)>,
) -> CliResult<()> {
    let slug = slug.to_owned();
    let (opener, wait, reports) = (workspace.opener(session.wait), session.wait, reports.clone());
    let run = move || {
        serving::work_in_background();
        let mut tell = |report: WatchReport| {
            // The server has ended if no one receives the report.
            let _ = reports.send((slug.clone(), report));
        };
        let watched = opener
            .open()
            .and_then(|workspace| watch(workspace, wait, Some(metrics), None, &mut tell));
        if let Err(error) = watched {
            tell(WatchReport::Failed(error));
        }
    };
    let started = thread::Builder::new().name("watcher".to_owned()).spawn(run);
    started.map(drop).map_err(|cause| CliError::input("the watcher", &cause))
}
