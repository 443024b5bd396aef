//! The addresses of the server, and the checks before all of them: the name of the server, the visitor, and limits.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Form, Router};
use tokio::time::timeout;

use super::access::Visitor;
use super::access::bearer;
use super::agent_door::agent_message;
use super::answers;
use super::api::{api_router, is_api};
use super::assets::asset;
use super::events::change_stream;
use super::metrics_page::metrics_answer;
use super::request::{
    ApiFault, Asked, PageAnswer, WebFault, blocking, is_here, login_page, page_answer, see,
    with_cookie,
};
use super::server::{ClientAddress, StopSignal};
use super::site::{BoardSite, SiteProject};
use crate::board::pages::forms::Posted;
use crate::board::pages::layout::{NavPage, query_string};
use crate::project::error::ProjectError;
use crate::system::text::age;

/// The most bytes of a request's body.
const BODY_LIMIT: usize = 1024 * 1024;
/// The most bytes of a body from an unknown visitor: a login is short, and bodies are in memory before they are looked at.
const STRANGER_LIMIT: usize = 16 * 1024;
/// The time limit for the body of a request. The work on it then has no limit: every change gets its answer.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);

/// The policy of what a page may load and do: only files of this server, no script or style within the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Returns all routes of the server.
pub(crate) fn router(site: Arc<BoardSite>, stop: StopSignal) -> Router {
    let mut project = Router::new();
    for page in NavPage::ALL {
        let path = format!("/{{project}}/{}", page.path());
        project = project.route(&path, shown(move |asked| answers::page(asked, page)));
    }
    let project = project
        .route("/{project}", get(board_of))
        .route("/{project}/new", shown(answers::new).merge(sent(answers::create)))
        .route("/{project}/preview", sent(answers::preview))
        .route("/{project}/bulk", sent(answers::bulk))
        .route("/{project}/tasks/{task}", shown(answers::task).merge(sent(answers::act)))
        .route("/{project}/tasks/{task}/edit", shown(answers::edit).merge(sent(answers::save)))
        .route("/{project}/tasks/{task}/diff", shown(answers::diff))
        .route("/{project}/tasks/{task}/log", shown(answers::log))
        .route("/{project}/tasks/{task}/to-sign", sent(answers::to_sign))
        .route("/{project}/passkey", shown(answers::passkey))
        .route("/{project}/workflows/{workflow}", shown(answers::workflow));
    let pages = Router::new()
        .route("/", get(first))
        .route("/events", get(events))
        .merge(project)
        .method_not_allowed_fallback(async || WebFault::no_such_method())
        .layer(from_fn_with_state(Arc::clone(&site), ask_who));
    Router::new()
        .route("/login", get(login).post(login_by_name))
        .route("/mcp", post(agent_message))
        .route("/metrics", get(metrics))
        .route("/healthz", get("ok\n"))
        .route("/logout", post(logout))
        .route("/assets/{name}", get(file))
        .merge(pages)
        .merge(api_router(&site))
        .fallback(async || WebFault::not_found("there is no such page"))
        .method_not_allowed_fallback(async || WebFault::no_such_method())
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(Arc::clone(&site), guard))
        .layer(Extension(stop))
        .with_state(site)
}

/// Refuses requests that are not for this server or are from another web site. Adds to each answer what a page may do.
async fn guard(State(site): State<Arc<BoardSite>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let is_for_agents = request.uri().path() == "/mcp" || bearer(headers).is_some();
    let refused = if !site.access.is_for_us(headers) {
        let (problem, fix) = ("this server does not have that name", "ask for it as `localhost`");
        Some(WebFault::new(StatusCode::MISDIRECTED_REQUEST, problem, fix))
    } else if !site.access.is_own_page(request.method(), headers, is_for_agents) {
        let (problem, fix) =
            ("the request comes from another web site", "use the board's own pages");
        Some(WebFault::new(StatusCode::FORBIDDEN, problem, fix))
    } else {
        None
    };
    let is_api = is_api(request.uri().path());
    let is_known = || bearer(headers).is_some() || site.visitor(headers).is_some();
    let received = match refused {
        Some(fault) => Err(fault),
        None if request.method() == Method::GET || is_known() => {
            received(request, BODY_LIMIT).await
        }
        None => received(request, STRANGER_LIMIT).await,
    };
    let mut response = match received {
        Ok(request) => next.run(request).await,
        Err(fault) if is_api => ApiFault::from(fault).into_response(),
        Err(fault) => fault.into_response(),
    };
    let headers: [(HeaderName, &'static str); 5] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        // With less, browsers would send forms with the origin `null`.
        (REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream") {
        // Otherwise nginx and similar proxies hold a stream back until a buffer is full.
        response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    }
    response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Waits for the whole body, up to the time limit.
async fn received(request: Request, limit: usize) -> Result<Request, WebFault> {
    let (parts, body) = request.into_parts();
    let read = timeout(BODY_TIMEOUT, to_bytes(body, limit)).await.map_err(|_| {
        let (problem, fix) = ("the body of the request took more than a minute", "try again");
        WebFault::new(StatusCode::REQUEST_TIMEOUT, problem, fix)
    })?;
    let body = read.map_err(|_| {
        let problem =
            format!("the body of the request is not whole, or has more than {limit} bytes");
        WebFault::new(StatusCode::PAYLOAD_TOO_LARGE, &problem, "make it shorter, or log in before")
    })?;
    Ok(Request::from_parts(parts, Body::from(body)))
}

/// Lets in visitors who are logged in.
async fn ask_who(State(site): State<Arc<BoardSite>>, mut request: Request, next: Next) -> Response {
    match site.visitor(request.headers()) {
        Some(visitor) => {
            let mut parts = request.uri().path().split('/').skip(1);
            let slug = parts.next().unwrap_or_default();
            let is_known = ["", "events"].contains(&slug) && parts.next().is_none()
                || site.projects.iter().any(|project| project.slug == slug);
            if !is_known {
                return WebFault::not_found("there is no such project").into_response();
            }
            request.extensions_mut().insert(visitor);
            next.run(request).await
        }
        None if site.users.is_some() && request.uri().path() != "/events" => {
            let asked = request.uri().path_and_query().map_or("", |path| path.as_str());
            let asked = if request.method() == Method::GET { asked } else { "" };
            see(&format!("/login?{}", query_string(&[("to", asked)])))
        }
        None => WebFault::new(
            StatusCode::UNAUTHORIZED,
            "you are not logged in here",
            "open the link that `aof serve` printed; `aof serve --link` prints a fresh one",
        )
        .into_response(),
    }
}

/// Answers with a page.
fn shown(
    answer: impl Fn(&Asked) -> PageAnswer + Copy + Send + Sync + 'static,
) -> MethodRouter<Arc<BoardSite>> {
    get(async move |asked: Asked| blocking(move || answer(&asked)).await)
}

/// Answers a form, which must be from a page of this server.
fn sent(answer: fn(&Asked, &Posted) -> PageAnswer) -> MethodRouter<Arc<BoardSite>> {
    post(async move |asked: Asked, Form(fields): Form<Vec<(String, String)>>| {
        let posted = Posted(fields);
        if posted.text("form") != asked.visitor.form_token {
            let (problem, fix) =
                ("the form is not one of your pages", "load the page again, and send it once more");
            return Err(WebFault::new(StatusCode::FORBIDDEN, problem, fix));
        }
        blocking(move || answer(&asked, &posted)).await
    })
}

async fn board_of(Path(project): Path<String>) -> Response {
    see(&format!("/{project}/"))
}

async fn first(State(site): State<Arc<BoardSite>>) -> PageAnswer {
    let first = site.projects.first().map(|project| format!("/{}/", project.slug));
    Ok(see(&first.ok_or_else(|| WebFault::not_found("there is no project"))?))
}

async fn events(
    State(site): State<Arc<BoardSite>>,
    Extension(visitor): Extension<Visitor>,
    Extension(stop): Extension<StopSignal>,
) -> Response {
    change_stream(&site, &visitor, stop).into_response()
}

async fn login(
    State(site): State<Arc<BoardSite>>,
    Query(query): Query<HashMap<String, String>>,
) -> PageAnswer {
    if site.users.is_some() {
        let to = query.get("to").map(String::as_str).unwrap_or_default();
        return Ok(page_answer(&login_page(to, None)));
    }
    let token = query.get("token").map(String::as_str).unwrap_or_default();
    let Some(cookie) = site.access.use_link(token, (site.clock)()) else {
        let problem = "this link was used before, or is too old";
        let fix = "`aof serve --link` prints a fresh one";
        return Err(WebFault::new(StatusCode::UNAUTHORIZED, problem, fix));
    };
    Ok(with_cookie(see("/"), &cookie))
}

/// Lets in people who know a password. Attempts are limited before the password is checked.
async fn login_by_name(
    State(site): State<Arc<BoardSite>>,
    Extension(ClientAddress(address)): Extension<ClientAddress>,
    Form(fields): Form<Vec<(String, String)>>,
) -> PageAnswer {
    blocking(move || {
        let posted = Posted(fields);
        let users =
            site.users.as_ref().ok_or_else(|| WebFault::not_found("there are no logins here"))?;
        let (login, to) = (posted.text("login"), posted.text("to"));
        let limiter = || users.limiter.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(wait) = limiter().admit(login, address, Instant::now()) {
            let text = format!("too many attempts: wait {}", age(wait));
            let page = page_answer(&login_page(to, Some(&text)));
            return Ok((StatusCode::TOO_MANY_REQUESTS, page).into_response());
        }
        let is_right = users.users.check(login, posted.text("password")).is_some();
        let Some(subject) = users.subject(login).filter(|_| is_right) else {
            let page = page_answer(&login_page(to, Some("the login or the password is wrong")));
            return Ok((StatusCode::UNAUTHORIZED, page).into_response());
        };
        limiter().succeed(login, address, Instant::now());
        let cookie = site.access.cookie(&subject, (site.clock)()).map_err(ProjectError::from)?;
        Ok(with_cookie(see(if is_here(to) { to } else { "/" }), &cookie))
    })
    .await
}

/// Answers Prometheus. With several projects, `project` names one.
async fn metrics(
    State(site): State<Arc<BoardSite>>,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
) -> PageAnswer {
    let named = query.get("project");
    let is_meant =
        |one: &&SiteProject| named.map_or(site.projects.len() == 1, |slug| one.slug == *slug);
    let page = site.projects.iter().find(is_meant).and_then(|project| project.metrics.clone());
    match page {
        Some(page) => Ok(metrics_answer(page, &headers).await),
        None => Err(WebFault::new(
            StatusCode::NOT_FOUND,
            "there are no metrics here",
            "name one of several projects: `/metrics?project=NAME`; for other machines, use `aof watch --metrics`",
        )),
    }
}

async fn logout(State(site): State<Arc<BoardSite>>) -> Response {
    with_cookie(see("/"), &site.access.no_cookie())
}

async fn file(Path(name): Path<String>) -> PageAnswer {
    let file = asset(&name).ok_or_else(|| WebFault::not_found("there is no such file"))?;
    // A newer aof has other files under these names.
    Ok(([(CONTENT_TYPE, file.kind), (CACHE_CONTROL, "no-cache")], file.bytes).into_response())
}
