//! A request for a page of a project, and the kinds of answers: a page, a fault, or a redirect to another page.

use std::collections::HashMap;
use std::io::ErrorKind::{QuotaExceeded, StorageFull};
use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::header::{CONTENT_TYPE, COOKIE, HOST, LOCATION, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::access::Visitor;
use super::site::{BoardSite, SiteProject, SiteReader};
use crate::board::pages::layout::{ProjectHealth, page_bytes, query_string};
use crate::domain::Ticket;
use crate::git::GitError;
use crate::project::error::{ProjectError, reason_of};
use crate::storage::StoreError;

/// The answer to a request for a page.
pub(super) type PageAnswer = Result<Response, WebFault>;

/// The reason why there is no page, and how to fix that.
#[derive(Debug)]
pub(super) struct WebFault {
    pub status: StatusCode,
    pub problem: String,
    pub fix: Option<String>,
}

impl WebFault {
    pub(super) fn not_found(problem: &str) -> Self {
        Self { status: StatusCode::NOT_FOUND, problem: problem.to_owned(), fix: None }
    }

    pub(super) fn conflict(problem: &str) -> Self {
        Self { status: StatusCode::CONFLICT, problem: problem.to_owned(), fix: None }
    }

    pub(super) fn no_such_method() -> Self {
        let (problem, fix) = ("this address has no such method", "read with GET, act with POST");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, problem, fix)
    }

    pub(super) fn new(status: StatusCode, problem: &str, fix: &str) -> Self {
        Self { status, problem: problem.to_owned(), fix: Some(fix.to_owned()) }
    }
}

impl IntoResponse for WebFault {
    fn into_response(self) -> Response {
        let title = self.status.canonical_reason().unwrap_or("Not possible");
        let page = small_page(
            title,
            &html! {
                p { (self.problem) }
                @if let Some(fix) = &self.fix { p.fix { (fix) } }
                p { a.button href="/" { "To the board" } }
            },
        );
        (self.status, page_answer(&page)).into_response()
    }
}

/// Returns true if a disk is full, or a quota used up.
fn is_disk_full(error: &ProjectError) -> bool {
    let cause = match error {
        ProjectError::Store(
            StoreError::Io { cause, .. } | StoreError::NotDurable { cause, .. },
        ) => cause,
        ProjectError::Git(GitError::Io { source, .. }) => source,
        ProjectError::RestoreFailed { failure, fault, .. } => {
            return is_disk_full(fault) || failure.as_deref().is_some_and(is_disk_full);
        }
        _ => return false,
    };
    matches!(cause.kind(), StorageFull | QuotaExceeded)
}

impl From<ProjectError> for WebFault {
    fn from(error: ProjectError) -> Self {
        let status = match &error {
            error if is_disk_full(error) => StatusCode::INSUFFICIENT_STORAGE,
            ProjectError::Unknown { .. }
            | ProjectError::NoTask { .. }
            | ProjectError::Store(StoreError::TaskNotFound { .. } | StoreError::NoProject { .. }) => {
                StatusCode::NOT_FOUND
            }
            ProjectError::InvalidRules(_) | ProjectError::Unfit { .. } => StatusCode::CONFLICT,
            // The same request may succeed later.
            error if error.is_general() && error.passes() => StatusCode::SERVICE_UNAVAILABLE,
            error
                if error.is_general()
                    || matches!(error, ProjectError::Store(StoreError::Io { .. })) =>
            {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            _ => StatusCode::CONFLICT,
        };
        Self { status, problem: error.problem(), fix: error.fix() }
    }
}

/// Runs work on files on a thread for blocking work.
pub(super) async fn blocking(answer: impl FnOnce() -> PageAnswer + Send + 'static) -> PageAnswer {
    let done = tokio::task::spawn_blocking(answer).await;
    let (problem, fix) = ("the page cannot be made", "report it as a bug of aof");
    done.unwrap_or_else(|_| Err(WebFault::new(StatusCode::INTERNAL_SERVER_ERROR, problem, fix)))
}

/// The reason why there is no answer, in the form of `--json` errors.
pub(super) struct ApiFault(StatusCode, Value);

impl From<ProjectError> for ApiFault {
    fn from(error: ProjectError) -> Self {
        let value = reason_of(&error);
        Self(WebFault::from(error).status, value)
    }
}

impl From<WebFault> for ApiFault {
    fn from(fault: WebFault) -> Self {
        let fix = fault.fix.map(|fix| format!("\n\n{fix}")).unwrap_or_default();
        let code = fault.status.canonical_reason().unwrap_or("refused");
        let code = code.to_ascii_lowercase().replace(' ', "_");
        let value = json!({"error": code, "message": format!("{}{fix}", fault.problem)});
        Self(fault.status, value)
    }
}

impl IntoResponse for ApiFault {
    fn into_response(self) -> Response {
        (self.0, Json(self.1)).into_response()
    }
}

/// Returns the page where people log in by name; a login leads on to the page `to`.
pub(super) fn login_page(to: &str, refusal: Option<&str>) -> Markup {
    small_page(
        "Log in",
        &html! {
            @if let Some(refusal) = refusal { p.notice.refusal role="alert" { (refusal) } }
            form.fill method="post" action="/login" {
                input type="hidden" name="to" value=(to);
                label for="login" { "Login" }
                input #login name="login" type="text" required autofocus autocomplete="username";
                label for="password" { "Password" }
                input #password name="password" type="password" required autocomplete="current-password";
                button.button.primary type="submit" { "Log in" }
            }
        },
    )
}

/// Returns a page that belongs to no project.
fn small_page(title: &str, content: &Markup) -> Markup {
    html! {
        (maud::DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                link rel="icon" type="image/svg+xml" href="/assets/icon.svg";
                link rel="stylesheet" href="/assets/board.css";
            }
            body { main.alone { h1 { (title) } (content) } }
        }
    }
}

/// Returns a page as an answer.
pub(super) fn page_answer(page: &Markup) -> Response {
    ([(CONTENT_TYPE, "text/html; charset=utf-8")], page_bytes(page)).into_response()
}

/// A request for a page of a project, by a visitor who is logged in.
pub(super) struct Asked {
    pub site: Arc<BoardSite>,
    at: usize,
    pub visitor: Visitor,
    pub path: HashMap<String, String>,
    pub query: HashMap<String, String>,
    /// The name of the server in the URL, as passkeys know it.
    host: String,
    /// The path and the query of the page.
    pub here: String,
    /// True if a page only follows changes, or looks for the forms of a task.
    pub is_live: bool,
    /// The result of the last request, for the page after it, and the operation that takes it back.
    pub notice: Option<(String, Option<(String, Ticket)>)>,
}

impl Asked {
    /// Returns what is known of the project, without waiting.
    pub(super) fn health(&self, version: &str) -> Option<ProjectHealth> {
        let (site, at) = (Arc::clone(&self.site), self.at);
        let tell = move || site.projects[at].readers.iter().for_each(|one| one.touch(site.clock));
        self.project().health.answer(&self.project().opener, version, tell)
    }

    pub(super) fn project(&self) -> &SiteProject {
        &self.site.projects[self.at]
    }

    /// Returns the reader who sent the request.
    pub(super) fn reader(&self) -> Result<&SiteReader, WebFault> {
        let reader = self.site.reader(self.project(), &self.visitor);
        reader.ok_or_else(|| WebFault::not_found("there is no such page"))
    }

    /// Returns the name of the server in the URL, without the port.
    pub(super) fn host(&self) -> String {
        self.host.clone()
    }

    /// Parses a part of the path.
    pub(super) fn named<T: std::str::FromStr>(&self, name: &str) -> Result<T, WebFault> {
        let text = self.path.get(name).map(String::as_str).unwrap_or_default();
        text.parse().map_err(|_| WebFault::not_found("there is no such page"))
    }
}

impl FromRequestParts<Arc<BoardSite>> for Asked {
    type Rejection = WebFault;

    async fn from_request_parts(
        parts: &mut Parts,
        site: &Arc<BoardSite>,
    ) -> Result<Self, WebFault> {
        let unknown = || WebFault::not_found("there is no such page");
        let path = Path::from_request_parts(parts, site).await.map_err(|_| unknown())?;
        let Path(path): Path<HashMap<String, String>> = path;
        let query = Query::from_request_parts(parts, site).await.map_err(|_| unknown())?;
        let Query(query): Query<HashMap<String, String>> = query;
        let visitor = parts.extensions.get::<Visitor>().cloned().ok_or_else(unknown)?;
        let slug = path.get("project").map(String::as_str).unwrap_or_default();
        let at = site.projects.iter().position(|project| project.slug == slug);
        // A page that only follows changes leaves the message to the next page.
        let is_live = parts.headers.contains_key("x-live");
        let notice = notice(&parts.headers).filter(|_| !is_live);
        let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let host = host.rsplit_once(':').map_or(host, |(name, _)| name).to_owned();
        let at = at.ok_or_else(unknown)?;
        let here = parts.uri.path_and_query().map_or("", |here| here.as_str()).to_owned();
        let site = Arc::clone(site);
        Ok(Self { site, at, visitor, path, query, host, here, is_live, notice })
    }
}

/// Returns true if a place that a form names is at this server. Browsers take `\` for `/`, and skip tabs.
pub(super) fn is_here(place: &str) -> bool {
    let is_path = place.starts_with('/') && !place.starts_with("//");
    is_path && place.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

/// Sends the browser to another page.
pub(super) fn see(place: &str) -> Response {
    let place = HeaderValue::from_str(place).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(LOCATION, place)]).into_response()
}

pub(super) fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(SET_COOKIE, value);
    }
    response
}

const SAID: &str = "aof-said";

/// Sends the browser to a page that reports what was done, and with which operation it is taken back.
pub(super) fn see_and_say(place: &str, sentence: &str, undo: Option<(&str, &Ticket)>) -> Response {
    let undo = undo.map(|(act, ticket)| format!("{act} {ticket}")).unwrap_or_default();
    let text = query_string(&[("", sentence), ("undo", &undo)]);
    let cookie = format!("{SAID}{text}; Path=/; HttpOnly; SameSite=Strict; Max-Age=30");
    with_cookie(see(place), &cookie)
}

/// Makes the browser forget the last report.
pub(super) fn no_notice(response: Response) -> Response {
    with_cookie(response, &format!("{SAID}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"))
}

fn notice(headers: &HeaderMap) -> Option<(String, Option<(String, Ticket)>)> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split("; "));
    let text = pairs.find_map(|pair| pair.strip_prefix(SAID)?.strip_prefix('='))?;
    let mut pairs =
        form_urlencoded::parse(text.as_bytes()).map(|(name, value)| (name.into_owned(), value));
    let (text, _) = pairs.next().filter(|(text, _)| !text.is_empty())?;
    let undo = pairs.find(|(name, _)| name == "undo").and_then(|(_, undo)| {
        let (act, ticket) = undo.split_once(' ')?;
        Some((act.to_owned(), ticket.parse().ok()?))
    });
    Some((text, undo))
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};
    use std::path::PathBuf;

    use super::*;
    use crate::git::GitError;

    #[test]
    fn each_kind_of_error_has_its_status() {
        let stored = |kind: ErrorKind| {
            let (path, cause) = (PathBuf::from("x"), Error::from(kind));
            ProjectError::from(StoreError::Io { doing: "write", path, cause })
        };
        let in_git = |kind: ErrorKind| {
            let (path, source) = (PathBuf::from("x"), Error::from(kind));
            ProjectError::from(GitError::Io { action: "write", path, source })
        };
        let full = |kind| ProjectError::RestoreFailed {
            failure: Some(Box::new(in_git(kind))),
            fault: Box::new(stored(ErrorKind::PermissionDenied)),
            noted: true,
        };
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded] {
            for error in [stored(kind), in_git(kind), full(kind)] {
                assert_eq!(WebFault::from(error).status, StatusCode::INSUFFICIENT_STORAGE);
            }
        }
        let waiting =
            GitError::Waiting { reason: "a merge is in progress".to_owned(), is_lasting: false };
        for (error, status) in [
            (stored(ErrorKind::PermissionDenied), 500),
            (in_git(ErrorKind::PermissionDenied), 500),
            (stored(ErrorKind::ReadOnlyFilesystem), 503),
            (waiting.into(), 503),
            (GitError::Locked { path: PathBuf::from("x"), age: None }.into(), 503),
            (StoreError::TaskNotFound { id: "AOF-abc".parse().unwrap() }.into(), 404),
            (ProjectError::Contended { id: "AOF-abc".parse().unwrap() }, 409),
            (ProjectError::InvalidRules(Vec::new()), 409),
            (GitError::Unmerged { path: "x".to_owned() }.into(), 409),
        ] {
            let told = error.to_string();
            assert_eq!(WebFault::from(error).status.as_u16(), status, "{told}");
        }
    }
}
