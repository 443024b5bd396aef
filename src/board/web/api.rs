//! The JSON interface: programs read here what the pages show, and do what the forms do. One table has the addresses; the routes and the
//! `OpenAPI` document are made from it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::WWW_AUTHENTICATE;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::access::{Visitor, bearer};
use super::answers::fresh_id;
use super::events::event_stream;
use super::pages::forms::Posted;
use super::request::{ApiFault, Asked, WebFault, blocking};
use super::site::BoardSite;
use crate::board::model::act::{BoardAct, perform};
use crate::board::model::figures::project_figures;
use crate::board::model::live::LiveBoard;
use crate::board::model::page::task_page;
use crate::domain::{AgentId, GateId, Map, Priority, RoleId, Status, TaskId, WorkflowName, listed};
use crate::health::context::{CheckContext, View};
use crate::health::overview::{overview, overview_value, status_lists};
use crate::project::access::agent_tokens::agent_of_token;
use crate::project::issue::left_out_warning;
use crate::storage::lock::is_watched;
use crate::tasks::headers::filter::{FilterKey, FilterState, TaskFilter};
use crate::tasks::headers::list::{ListRequest, Sort, check_filter_names, list};
use crate::tasks::headers::listing::unreadable_value;
use crate::tasks::headers::summary::{NEW, SummaryDocument, WAITING};
use crate::tasks::view::brief::{brief_value, task_brief};
use crate::tasks::view::task_view::{show, warnings_value};

/// The common prefix of the paths. Within a version, fields are added, never removed.
const ROOT: &str = "/api/v1";

/// One address.
struct Endpoint {
    path: &'static str,
    about: &'static str,
    /// The fields that the body's object must have.
    needs: &'static [&'static str],
    /// Further names that the query, or the body's object, may have.
    takes: &'static [&'static str],
    /// The function that reads the answer. `None` if a POST carries out an act.
    read: Option<ApiRead>,
}

type ApiRead = fn(&Asked) -> Result<Value, ApiFault>;

const TICKET: &str = "ticket";

const ENDPOINTS: &[Endpoint] = &[
    reads(
        "/{project}/board",
        "The board: lanes of columns of cards, and what waits for you",
        &[],
        board,
    ),
    reads(
        "/{project}/tasks",
        "Tasks, the most urgent first, as `aof list --json`",
        &[
            "status",
            "gate",
            "role",
            "workflow",
            "agent",
            "tag",
            "milestone",
            "filter",
            "search",
            "ready",
            "overdue",
            "all",
        ],
        tasks,
    ),
    reads("/{project}/tasks/{task}", "A task, as `aof show --json`", &[], task),
    reads("/{project}/tasks/{task}/brief", "Its brief, as `aof brief --json`", &[], brief),
    reads("/{project}/status", "The project at a glance, as `aof status --json`", &[], status),
    reads("/{project}/statistics", "The figures of the statistics page", &[], statistics),
    acts(
        "/{project}/tasks",
        "Create a task",
        &["title"],
        &["description", "body", "tags", "workflow", "priority", "milestone", "due"],
    ),
    acts(
        "/{project}/tasks/{task}/complete",
        "End a visit. `id` makes it count once, however often it is sent",
        &[TICKET, "outcome"],
        &["summary", "blockers", "outputs", "id", "signature"],
    ),
    acts("/{project}/tasks/{task}/claim", "Take a task", &[TICKET], &[]),
    acts("/{project}/tasks/{task}/release", "Give a task back", &[TICKET], &[]),
    acts("/{project}/tasks/{task}/assign", "Give a task to an agent", &[TICKET, "agent"], &[]),
    acts("/{project}/tasks/{task}/hold", "Have a task wait", &[TICKET, "reason"], &[]),
    acts("/{project}/tasks/{task}/unblock", "Have a task go on", &[TICKET], &["reason"]),
    acts("/{project}/tasks/{task}/comment", "Comment a task", &[TICKET, "reason"], &[]),
    acts("/{project}/tasks/{task}/cancel", "Cancel a task", &[TICKET, "reason"], &[]),
    acts("/{project}/tasks/{task}/reopen", "Reopen a task", &[TICKET, "to", "reason"], &[]),
    acts("/{project}/tasks/{task}/override", "Move a task", &[TICKET, "to", "reason"], &[]),
];

const fn reads(
    path: &'static str,
    about: &'static str,
    takes: &'static [&'static str],
    read: ApiRead,
) -> Endpoint {
    Endpoint { path, about, needs: &[], takes, read: Some(read) }
}

const fn acts(
    path: &'static str,
    about: &'static str,
    needs: &'static [&'static str],
    takes: &'static [&'static str],
) -> Endpoint {
    Endpoint { path, about, needs, takes, read: None }
}

impl Endpoint {
    /// Returns the act of the board's forms that a POST carries out. A path that is not under a task creates one.
    fn act(&self) -> &'static str {
        let of_task = self.path.split_once("{task}/").map(|(_, act)| act);
        of_task.unwrap_or("create")
    }

    /// Returns the name of the operation in a generated client.
    fn operation(&self) -> String {
        let last = self.path.rsplit('/').next().unwrap_or_default();
        match self.read {
            Some(_) => format!("get_{}", last.trim_matches(['{', '}'])),
            None => format!("{}_task", self.act()),
        }
    }

    fn names(&self) -> Vec<&'static str> {
        [self.needs, self.takes].concat()
    }

    /// Fails if there is an unknown name.
    fn check_names<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> Result<(), ApiFault> {
        let known = self.names();
        let is_known = |name: &&String| known.contains(&name.as_str());
        let Some(unknown) = names.into_iter().find(|name| !is_known(name)) else { return Ok(()) };
        let fix = if known.is_empty() {
            "send none".to_owned()
        } else {
            format!("there are {}", listed(known))
        };
        Err(bad(&format!("nothing reads `{unknown}`"), &fix))
    }

    /// Fails if a field is missing, unknown or of another kind.
    fn check_body(&self, sent: &Map) -> Result<(), ApiFault> {
        self.check_names(sent.keys())?;
        let is_given = |name: &&&str| sent.get(**name).is_some_and(|value| !value.is_null());
        if let Some(missing) = self.needs.iter().find(|name| !is_given(name)) {
            return Err(bad(
                &format!("`{missing}` is missing"),
                &format!("there are {}", listed(self.names())),
            ));
        }
        for (name, value) in sent.iter().filter(|(_, value)| !value.is_null()) {
            let (is_right, kind) = match field_kind(name) {
                BodyField::Text => (value.is_string(), "a text"),
                BodyField::Texts => {
                    let items = value.as_array();
                    (items.is_some_and(|own| own.iter().all(Value::is_string)), "a list of texts")
                }
                BodyField::Object => (value.is_object(), "an object"),
            };
            if !is_right {
                return Err(bad(&format!("`{name}` has to be {kind}"), "mend the body"));
            }
        }
        Ok(())
    }
}

type ApiAnswer = Result<(StatusCode, Value), ApiFault>;

/// Returns the addresses of the interface.
pub(super) fn api_router(site: &Arc<BoardSite>) -> Router<Arc<BoardSite>> {
    let mut router = Router::new();
    for endpoint in ENDPOINTS {
        let answering = match endpoint.read {
            Some(answer) => get(async move |asked: Result<Asked, WebFault>| {
                run_blocking(move || {
                    let asked = asked?;
                    endpoint.check_names(asked.query.keys())?;
                    Ok((StatusCode::OK, answer(&asked)?))
                })
                .await
            }),
            None => post(async move |asked: Result<Asked, WebFault>, body: Bytes| {
                run_blocking(move || carry_out(&asked?, endpoint, &body)).await
            }),
        };
        router = router.route(endpoint.path, answering);
    }
    let router = router
        .route("/{project}/events", get(event_stream))
        .layer(from_fn_with_state(Arc::clone(site), ask_for_token))
        .route("/", get(no_such_address))
        .route("/openapi.json", get(async || Json(openapi())))
        .method_not_allowed_fallback(async || ApiFault::from(WebFault::no_such_method()))
        .fallback(no_such_address);
    Router::new().nest(ROOT, router)
}

async fn no_such_address() -> ApiFault {
    WebFault::not_found("there is no such address").into()
}

/// Returns true if a path belongs to the interface.
pub(super) fn is_api(path: &str) -> bool {
    path.starts_with(ROOT)
}

/// Reads and writes files on a thread for blocking work.
async fn run_blocking(answer: impl FnOnce() -> ApiAnswer + Send + 'static) -> Response {
    let answered = blocking(move || {
        Ok(match answer() {
            Ok((status, value)) => (status, Json(value)).into_response(),
            Err(fault) => fault.into_response(),
        })
    });
    answered.await.unwrap_or_else(|fault| ApiFault::from(fault).into_response())
}

/// Lets in the agent whose token the request has, or a visitor who is logged in.
async fn ask_for_token(
    State(site): State<Arc<BoardSite>>,
    Path(path): Path<Vec<(String, String)>>,
    mut request: Request,
    next: Next,
) -> Response {
    let slug = path.iter().find_map(|(name, slug)| (name == "project").then_some(slug));
    let Some(project) = site.projects.iter().find(|own| Some(&own.slug) == slug) else {
        return ApiFault::from(WebFault::not_found("there is no such project")).into_response();
    };
    let visitor = match bearer(request.headers()).map(str::to_owned) {
        None => site.visitor(request.headers()),
        Some(token) => {
            let opener = project.opener.clone();
            let agent = move || agent_of_token(&opener.open().ok()?, &token).ok()?;
            let agent = tokio::task::spawn_blocking(agent).await.ok().flatten();
            agent.map(Visitor::agent)
        }
    };
    let Some(visitor) = visitor else {
        let (problem, fix) = (
            "you are not known here",
            "send `Authorization: Bearer TOKEN`; `aof mcp token AGENT` makes a token",
        );
        let fault = ApiFault::from(WebFault::new(StatusCode::UNAUTHORIZED, problem, fix));
        return ([(WWW_AUTHENTICATE, "Bearer")], fault).into_response();
    };
    request.extensions_mut().insert(visitor);
    next.run(request).await
}

fn bad(problem: &str, fix: &str) -> ApiFault {
    WebFault::new(StatusCode::BAD_REQUEST, problem, fix).into()
}

fn board(asked: &Asked) -> Result<Value, ApiFault> {
    let workspace = asked.workspace()?;
    let warning = left_out_warning(&workspace);
    let mut board = LiveBoard::open(workspace, asked.you().ok())?;
    let mut value = json!(*board.board());
    if let Some(warning) = warning {
        value["warnings"] = warnings_value(&[warning]);
    }
    Ok(value)
}

fn tasks(asked: &Asked) -> Result<Value, ApiFault> {
    let workspace = asked.workspace()?;
    let in_force = workspace.rules()?;
    let text = |name: &str| asked.query.get(name).map(String::as_str);
    let flag = |name: &str| text(name).is_some_and(|value| value != "false");
    let named = |name: &str| text(name).filter(|value| !value.is_empty());
    let filter = text("filter").unwrap_or_default().parse::<TaskFilter>();
    let filter = filter.map_err(|fault| bad(&fault.to_string(), "as in `login is:overdue`"))?;
    let status = text("status");
    let known = || Status::ALL.iter().map(|status| status.as_str()).chain([NEW, WAITING]);
    if let Some(word) = status.filter(|word| !known().any(|known| known == *word)) {
        let fix = format!("there are {}", listed(known()));
        return Err(bad(&format!("there is no status `{word}`"), &fix));
    }
    let filter = filter
        .with(FilterKey::Workflow, parsed::<WorkflowName>(asked, "workflow")?)
        .with(FilterKey::Gate, parsed::<GateId>(asked, "gate")?)
        .with(FilterKey::Role, parsed::<RoleId>(asked, "role")?)
        .with(FilterKey::Agent, parsed::<AgentId>(asked, "agent")?)
        .with(FilterKey::Status, status)
        .with(FilterKey::Tag, named("tag"))
        .with(FilterKey::Milestone, named("milestone"))
        .with_state(FilterState::Ready, flag("ready"))
        .with_state(FilterState::Overdue, flag("overdue"));
    let (search, all) = (parsed(asked, "search")?.pop(), flag("all"));
    let request =
        ListRequest { filter, you: asked.you().ok(), search, all, ..ListRequest::default() };
    let listing = list(&workspace, &in_force, &request, Sort::Priority);
    check_filter_names(&request.filter, &in_force.rules, &listing)?;
    let rows = listing.tasks.iter();
    let rows = rows.map(|(task, path)| json!(SummaryDocument::of(task, path, workspace.now())));
    let unreadable = listing.unreadable.iter().map(unreadable_value);
    let mut value =
        json!({"tasks": rows.collect::<Value>(), "unreadable": unreadable.collect::<Value>()});
    if let Some(warning) = left_out_warning(&workspace) {
        value["warnings"] = warnings_value(&[warning]);
    }
    Ok(value)
}

/// Returns the values of a name in the query; none if it is absent.
fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    asked: &Asked,
    name: &str,
) -> Result<Vec<T>, ApiFault> {
    let value = asked.query.get(name).map(|text| text.parse().map_err(|fault| (text, fault)));
    let value = value.transpose();
    let value =
        value.map_err(|(text, fault)| bad(&format!("`{name}={text}`: {fault}"), "mend it"))?;
    Ok(value.into_iter().collect())
}

fn task(asked: &Asked) -> Result<Value, ApiFault> {
    document(asked, &asked.named("task")?)
}

fn brief(asked: &Asked) -> Result<Value, ApiFault> {
    let (file, context, _) = task_brief(&asked.workspace()?, &asked.named("task")?)?;
    let mut value = brief_value(&file, &context);
    value["warnings"] = warnings_value(&context.warnings);
    Ok(value)
}

fn document(asked: &Asked, id: &TaskId) -> Result<Value, ApiFault> {
    let (view, in_force) = show(&asked.workspace()?, id)?;
    Ok(view.value(&in_force.rules))
}

fn status(asked: &Asked) -> Result<Value, ApiFault> {
    let workspace = asked.workspace()?;
    let context = CheckContext::of(&workspace, View::Status, is_watched(&workspace.paths))?;
    let mut value = overview_value(&overview(&context)?);
    let lists = json!(status_lists(&context, asked.you().ok().as_ref()));
    if let (Value::Object(value), Value::Object(lists)) = (&mut value, lists) {
        value.extend(lists);
    }
    Ok(value)
}

fn statistics(asked: &Asked) -> Result<Value, ApiFault> {
    Ok(json!(project_figures(&asked.workspace()?)?))
}

/// Does what the form of that name would do, and answers with the task in its new state.
fn carry_out(asked: &Asked, endpoint: &Endpoint, body: &[u8]) -> ApiAnswer {
    let sent: Map = serde_json::from_slice(body).map_err(|fault| {
        bad(
            &format!("the body is no JSON object: {fault}"),
            &format!("it may have {}", listed(endpoint.names())),
        )
    })?;
    endpoint.check_body(&sent)?;
    let you = asked.you()?;
    let posted = posted(asked, endpoint.act(), &sent)?;
    let page = match asked.path.get("task") {
        Some(_) => Some(task_page(&asked.workspace()?, &asked.named("task")?)?),
        None => None,
    };
    let mut act = posted.act(page.as_ref()).map_err(|fault| bad(&fault, "mend the body"))?;
    // Values that forms send as text, or leave out, are taken from the body unchanged.
    let texts = |name: &str| {
        let items = sent.get(name).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    match &mut act {
        BoardAct::Complete(form) => {
            posted.text("summary").clone_into(&mut form.summary);
            form.outputs =
                sent.get("outputs").and_then(Value::as_object).cloned().unwrap_or_default();
            form.blockers = texts("blockers");
        }
        BoardAct::Create(new) => new.tags = texts("tags"),
        _ => {}
    }
    let done = perform(&asked.workspace()?, &act, &you, None)?;
    let status = if endpoint.act() == "create" { StatusCode::CREATED } else { StatusCode::OK };
    // The act is done, even if the task cannot be read again.
    let task = document(asked, &done.task).ok();
    Ok((status, json!({"said": done.sentence, "task": task})))
}

/// Returns the fields that the form of that name would send.
fn posted(asked: &Asked, act: &str, sent: &Map) -> Result<Posted, ApiFault> {
    let mut fields = vec![("act".to_owned(), act.to_owned())];
    let texts =
        sent.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    fields.extend(texts);
    if act == "complete" && sent.get("id").is_none_or(Value::is_null) {
        fields.push(("id".to_owned(), fresh_id(asked)?.to_string()));
    }
    Ok(Posted(fields))
}

/// Returns the interface as a document of `OpenAPI`.
fn openapi() -> Value {
    let mut paths = Map::new();
    let errors = json!({"description": "Refused; nothing has changed", "content": {"application/json": {"schema": {
        "type": "object",
        "properties": {"error": {"type": "string"}, "message": {"type": "string"}},
        "required": ["error", "message"],
    }}}});
    for endpoint in ENDPOINTS {
        let Endpoint { path, about, needs, takes, read } = endpoint;
        let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let text = json!({"type": "string"});
        let mut parameters: Vec<Value> = names
            .map(|name| json!({"name": name, "in": "path", "required": true, "schema": text}))
            .collect();
        let body = json!({"type": "object"});
        let mut operation = json!({
            "operationId": endpoint.operation(),
            "summary": about,
            "responses": {
                "2XX": {"description": "Done", "content": {"application/json": {"schema": body}}},
                "4XX": errors,
            },
        });
        let method = if read.is_some() {
            let query =
                takes.iter().map(|name| json!({"name": name, "in": "query", "schema": text}));
            parameters.extend(query);
            "get"
        } else {
            let names = endpoint.names().into_iter();
            let kinds = names.map(|name| (name.to_owned(), field_schema(name)));
            let schema = json!({"type": "object", "properties": kinds.collect::<Map>(), "required": needs, "additionalProperties": false});
            operation["requestBody"] =
                json!({"required": true, "content": {"application/json": {"schema": schema}}});
            "post"
        };
        operation["parameters"] = json!(parameters);
        let path = paths.entry(format!("{ROOT}{path}")).or_insert_with(|| json!({}));
        path[method] = operation;
    }
    let stream = json!({"description": "Server-sent events", "content": {"text/event-stream": {}}});
    paths.insert(
        format!("{ROOT}/{{project}}/events"),
        json!({"get": {
            "summary": "What happens from now on, or after `Last-Event-ID`, as `aof events --json`",
            "parameters": [
                {"name": "project", "in": "path", "required": true, "schema": {"type": "string"}},
                {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}},
            ],
            "responses": {"200": stream},
        }}),
    );
    json!({
        "openapi": "3.1.0",
        "info": {"title": "aof", "version": env!("CARGO_PKG_VERSION")},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": paths,
    })
}

/// The kind of a field of a body.
enum BodyField {
    Text,
    Texts,
    Object,
}

fn field_kind(name: &str) -> BodyField {
    match name {
        "blockers" | "tags" => BodyField::Texts,
        "outputs" => BodyField::Object,
        _ => BodyField::Text,
    }
}

fn field_schema(name: &str) -> Value {
    match field_kind(name) {
        BodyField::Texts => json!({"type": "array", "items": {"type": "string"}}),
        BodyField::Object => json!({"type": "object"}),
        BodyField::Text if name == "priority" => json!({"enum": Priority::ALL}),
        BodyField::Text => json!({"type": "string"}),
    }
}
