//! `aof serve`: the board in the browser, with the watchers of its projects.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::feed::Feed;
use crate::board::web::{
    Access, BoardSite, BoundServer, ServeFile, SiteProject, StopSender, fresh_link, router, serve,
};
use crate::cli::watch::show_report;
use crate::cli::{ActingAgent, CliError, CliResult, Session, now};
use crate::domain::AgentId;
use crate::project::workspace::Workspace;
use crate::storage::{Durability, StoreError};
use crate::system::terminal;
use crate::watch::report::WatchReport;
use crate::watch::watcher::watch;

/// The usual port.
const PORT: u16 = 7420;
/// Where in `.aof/` a server says how it is reached: in a folder that only this account may enter.
const FOLDER: &str = "serve";
const FILE: &str = "server.json";
/// How long a server that runs may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof serve                  the project here; open the link that is printed
  aof serve ~/web ~/docs     two projects
  aof serve --link           a fresh link to the server that runs here

A link logs one browser in, once, within ten minutes. Started at a terminal, the board acts as
git's user; else name somebody with `--agent`, or it only shows. The server watches the projects,
as `aof watch` does. It listens on this machine alone.")]
pub(crate) struct ServeArgs {
    /// The folders of projects; without one, the project here
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// The port; 0 is any that is free
    #[arg(long, default_value_t = PORT)]
    port: u16,
    /// Only show: nobody can do anything in the browser
    #[arg(long, conflicts_with = "agent")]
    read_only: bool,
    /// Print a fresh link to the server that runs here, and stop
    #[arg(long, conflicts_with_all = ["port", "read_only", "agent", "directories"])]
    link: bool,
    #[command(flatten)]
    who: ActingAgent,
}

pub(crate) fn run_serve(session: &Session, args: &ServeArgs) -> CliResult {
    if args.link {
        return print_link(session);
    }
    let here = [PathBuf::new()];
    let folders = if args.directories.is_empty() { &here[..] } else { &args.directories };
    let mut opened = Vec::new();
    for folder in folders {
        opened.push(session.workspace_below(folder, "serve")?);
    }
    let server = BoundServer::at(SocketAddr::from((Ipv4Addr::LOCALHOST, args.port)));
    let server = server.map_err(|cause| {
        let problem = format!("cannot listen at port {}: {}", args.port, cause.kind());
        let fix = "`aof serve --link` prints a link to the server that runs here; `--port 0` takes any free port";
        CliError::refused("no_endpoint", problem, fix)
    })?;
    let port = server.address.port();
    let file = write_serve_files(&opened, format!("http://localhost:{port}"))?;
    let mut projects: Vec<SiteProject> = Vec::new();
    for workspace in &opened {
        let taken: BTreeSet<&str> = projects.iter().map(|own| own.slug.as_str()).collect();
        let (slug, you) = (slug(workspace, &taken), acting(session, workspace, args));
        projects.push(SiteProject::new(slug, workspace.opener(session.wait), you));
    }
    let access = Access::new(&file, port, None);
    let site = Arc::new(BoardSite { projects, access, clock: now });
    let _feeds = follow(session, &site, &opened, args.who.agent.as_ref())?;
    let stop = StopSender::default();
    let (own, ends) = (stop.clone(), stop.follow());
    terminal::on_stop(move || own.stop()).map_err(|cause| CliError::input("signals", &cause))?;
    tell_start(session, &site, &file)?;
    let (sender, reports) = channel();
    for workspace in &opened {
        start_watcher(session, workspace, &sender)?;
    }
    let router = router(Arc::clone(&site), ends.clone());
    // The watchers tell of themselves until the server ends.
    let serving = thread::Builder::new().name("server".to_owned()).spawn(move || {
        let ended = serve(server, router, ends);
        drop(sender);
        ended
    });
    let serving = serving.map_err(|cause| CliError::input("the server", &cause))?;
    for report in reports {
        show_report(session, &report, true);
    }
    let ended = serving.join().unwrap_or(Ok(()));
    ended.map_err(|cause| CliError::input("the server", &cause))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns who acts in the browser, or why nobody does.
fn acting(session: &Session, workspace: &Workspace, args: &ServeArgs) -> Result<AgentId, String> {
    if args.read_only {
        return Err("the server was started with --read-only".to_owned());
    }
    let in_force = workspace.rules().map_err(|error| error.problem())?;
    let you = session.agent(workspace, &in_force, args.who.agent.as_ref());
    you.map_err(|error| error.problem())
}

/// Returns the project's part of the URL: the name of its folder, with a number where that is taken.
fn slug(workspace: &Workspace, taken: &BTreeSet<&str>) -> String {
    /// Names that the server has for something else.
    const OWN: [&str; 5] = ["assets", "events", "login", "logout", "api"];
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

/// Says in each project how the server is reached. The key stays, so that browsers stay logged in.
fn write_serve_files(opened: &[Workspace], url: String) -> CliResult<ServeFile> {
    let last = opened.first().and_then(|workspace| read_serve_file(workspace).ok().flatten());
    let file = ServeFile::at(url, last).map_err(CliError::from)?;
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

fn print_link(session: &Session) -> CliResult {
    let workspace = session.workspace_below(Path::new(""), "serve")?;
    let file = read_serve_file(&workspace).map_err(CliError::from)?;
    let address = |file: &ServeFile| {
        let port = file.url.rsplit(':').next()?.parse::<u16>().ok()?;
        Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    };
    let runs = |file: &ServeFile| {
        address(file).is_some_and(|address| TcpStream::connect_timeout(&address, CONNECT).is_ok())
    };
    let Some(file) = file.filter(runs) else {
        let problem = "no `aof serve` runs in this project";
        return Err(CliError::refused("no_server", problem, "start one with `aof serve`"));
    };
    let link = fresh_link(&file, now()).map_err(CliError::from)?;
    if session.output.is_json() {
        session.output.data(json!({"url": file.url, "link": link}));
    } else {
        session.output.line(link);
    }
    Ok(ExitCode::SUCCESS)
}

/// Keeps the boards up to date until the feeds are dropped.
fn follow(
    session: &Session,
    site: &Arc<BoardSite>,
    opened: &[Workspace],
    named: Option<&AgentId>,
) -> CliResult<Vec<Feed>> {
    let feed = |(at, workspace): (usize, &Workspace)| {
        let site = Arc::clone(site);
        Feed::start(workspace, session.wait, named.cloned(), move |news| {
            site.projects[at].take(news, now);
            true
        })
    };
    let feeds = opened.iter().enumerate().map(feed).collect::<Result<Vec<_>, _>>();
    feeds.map_err(|cause| CliError::input("the files of the project", &cause))
}

fn tell_start(session: &Session, site: &BoardSite, file: &ServeFile) -> CliResult<()> {
    let link = fresh_link(file, now()).map_err(CliError::from)?;
    let names: Vec<&str> = site.projects.iter().map(|own| own.slug.as_str()).collect();
    if session.output.is_json() {
        let value = json!({"event": "serving", "url": file.url, "link": link, "projects": names});
        session.output.line(value.to_string());
        return Ok(());
    }
    session.output.line(format!("the board of {} is at\n  {link}", names.join(", ")));
    for project in &site.projects {
        if let Err(why) = &project.you {
            session.warn(&format!("{}: the board only shows: {why}", project.slug));
        }
    }
    Ok(())
}

/// Starts the watcher of a project; where one runs, it stands by.
fn start_watcher(
    session: &Session,
    workspace: &Workspace,
    reports: &Sender<WatchReport>,
) -> CliResult<()> {
    let (opener, wait, reports) = (workspace.opener(session.wait), session.wait, reports.clone());
    let run = move || {
        let mut tell = |report: WatchReport| {
            // The server has ended where nobody reads it.
            let _ = reports.send(report);
        };
        let watched = opener.open().and_then(|workspace| watch(workspace, wait, None, &mut tell));
        if let Err(error) = watched {
            tell(WatchReport::Failed(error));
        }
    };
    let started = thread::Builder::new().name("watcher".to_owned()).spawn(run);
    started.map(drop).map_err(|cause| CliError::input("the watcher", &cause))
}
