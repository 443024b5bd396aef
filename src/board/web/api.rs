//! The JSON interface: programs read here what the pages show, and carry out the table of operations. The routes and the `OpenAPI`
//! document are made from it, and from the table of addresses to read from.

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
use super::events::event_stream;
use super::request::{ApiFault, Asked, WebFault, blocking};
use super::site::BoardSite;
use crate::board::model::act::{BoardAct, perform};
use crate::board::model::figures::project_figures;
use crate::board::model::live::LiveBoard;
use crate::board::model::page::task_page;
use crate::board::pages::forms::{ensure_visit, seen_ticket};
use crate::domain::{GateId, Map, RoleId, Status, TaskId, WorkflowName, listed};
use crate::health::context::{CheckContext, View};
use crate::health::overview::{overview, overview_value, status_lists};
use crate::operations::arguments::{Arguments, describe};
use crate::operations::fields::{Doors, InputField};
use crate::operations::table::{COMPLETE, CREATE, OPERATIONS};
use crate::operations::{CallFault, Operation};
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

/// An address to read from.
struct Endpoint {
    path: &'static str,
    about: &'static str,
    /// The names that the query may have.
    takes: &'static [&'static str],
    read: ApiRead,
}

type ApiRead = fn(&Asked) -> Result<Value, ApiFault>;

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
            "assignee",
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
];

const fn reads(
    path: &'static str,
    about: &'static str,
    takes: &'static [&'static str],
    read: ApiRead,
) -> Endpoint {
    Endpoint { path, about, takes, read }
}

/// Returns the operations that have an address.
fn operations() -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter().copied().filter(|one| one.doors.has(Doors::API))
}

/// Returns the address of an operation.
fn path_of(operation: &Operation) -> String {
    match operation.name {
        "create" => "/{project}/tasks".to_owned(),
        name if operation.is_on_task() => format!("/{{project}}/tasks/{{task}}/{name}"),
        name => format!("/{{project}}/{name}"),
    }
}

/// Returns the fields of a body, the needed ones first.
fn body_fields(operation: &Operation) -> Vec<&'static InputField> {
    let fields = || operation.fields_at(Doors::API);
    let needed = fields().filter(|field| field.needed.has(Doors::API));
    needed.chain(fields().filter(|field| !field.needed.has(Doors::API))).collect()
}

/// Fails if there is an unknown name.
fn check_names<'n>(
    known: &[&str],
    names: impl IntoIterator<Item = &'n String>,
) -> Result<(), ApiFault> {
    let is_known = |name: &&String| known.contains(&name.as_str());
    let Some(unknown) = names.into_iter().find(|name| !is_known(name)) else { return Ok(()) };
    let fix = if known.is_empty() {
        "send none".to_owned()
    } else {
        format!("there are {}", listed(known))
    };
    Err(bad(&format!("nothing reads `{unknown}`"), &fix))
}

/// Decodes a body. Fails if a field is missing, unknown or of another kind.
fn decoded(operation: &Operation, body: &[u8]) -> Result<Arguments, ApiFault> {
    let fields = body_fields(operation);
    let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
    let mut sent: Map = serde_json::from_slice(body).map_err(|fault| {
        let fix = format!("it may have {}", listed(&names));
        bad(&format!("the body is no JSON object: {fault}"), &fix)
    })?;
    sent.retain(|_, value| !value.is_null());
    check_names(&names, sent.keys())?;
    let is_lacking =
        |field: &&&InputField| field.needed.has(Doors::API) && !sent.contains_key(field.name);
    if let Some(missing) = fields.iter().find(is_lacking) {
        let fix = format!("there are {}", listed(&names));
        return Err(bad(&format!("`{}` is missing", missing.name), &fix));
    }
    for field in fields {
        let Some(value) = sent.get_mut(field.name) else { continue };
        let text = value.as_str().map(|text| text.trim().to_owned());
        if text.as_ref().is_some_and(String::is_empty) && !field.needed.has(Doors::API) {
            sent.shift_remove(field.name);
        } else if !field.kind.holds(value) {
            let (kind, found) = (field.kind.noun(), describe(value));
            let problem = format!("`{}` has to be {kind}, not {found}", field.name);
            return Err(bad(&problem, "fix the body"));
        } else if let Some(text) = text.filter(|_| field.name != "body") {
            *value = json!(text);
        }
    }
    Ok(Arguments::from(sent))
}

type ApiAnswer = Result<(StatusCode, Value), ApiFault>;

/// Returns the addresses of the interface.
pub(super) fn api_router(site: &Arc<BoardSite>) -> Router<Arc<BoardSite>> {
    let mut router = Router::new();
    for endpoint in ENDPOINTS {
        let answering = get(async move |asked: Result<Asked, WebFault>| {
            run_blocking(move || {
                let asked = asked?;
                check_names(endpoint.takes, asked.query.keys())?;
                Ok((StatusCode::OK, (endpoint.read)(&asked)?))
            })
            .await
        });
        router = router.route(endpoint.path, answering);
    }
    for operation in operations() {
        let answering = post(async move |asked: Result<Asked, WebFault>, body: Bytes| {
            run_blocking(move || carry_out(&asked?, operation, &body)).await
        });
        router = router.route(&path_of(operation), answering);
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
    let Some(project) = site.projects.iter().find(|one| Some(&one.slug) == slug) else {
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
        .with(FilterKey::Agent, named("agent"))
        .with(FilterKey::Assignee, named("assignee"))
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
        value.map_err(|(text, fault)| bad(&format!("`{name}={text}`: {fault}"), "fix it"))?;
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
    let workspace = asked.workspace()?;
    let (view, in_force) = show(&workspace, id)?;
    Ok(view.value(&workspace, &in_force.rules))
}

fn status(asked: &Asked) -> Result<Value, ApiFault> {
    let workspace = asked.workspace()?;
    let context = CheckContext::read(&workspace, View::Status, is_watched(&workspace.paths))?;
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

/// Carries out an operation, and answers with the task in its new state.
fn carry_out(asked: &Asked, operation: &'static Operation, body: &[u8]) -> ApiAnswer {
    let given = decoded(operation, body)?;
    let you = asked.you()?;
    let ticket = if operation.is_on_task() {
        let page = task_page(&asked.workspace()?, &asked.named("task")?)?;
        let ticket = seen_ticket(&given.text("ticket").unwrap_or_default(), &page);
        let ticket = ticket.map_err(|fault| bad(&fault, "fix the body"))?;
        if *operation == COMPLETE {
            ensure_visit(&ticket, &page).map_err(|fault| bad(&fault, "fix the body"))?;
        }
        Some(ticket)
    } else {
        None
    };
    let act = BoardAct { operation, ticket, given };
    let done = perform(&asked.workspace()?, &act, &you, None).map_err(|fault| match fault {
        CallFault::Argument(fault) => bad(&fault.problem, "fix the body"),
        CallFault::Refused(error) => ApiFault::from(*error),
    })?;
    let status = if *operation == CREATE { StatusCode::CREATED } else { StatusCode::OK };
    // The act is done, even if the task cannot be read again.
    let task = done.task.and_then(|task| document(asked, &task).ok());
    Ok((status, json!({"said": done.sentence, "task": task})))
}

/// Returns the interface as a document of `OpenAPI`.
fn openapi() -> Value {
    let mut paths = Map::new();
    let errors = json!({"description": "Refused; nothing has changed", "content": {"application/json": {"schema": {
        "type": "object",
        "properties": {"error": {"type": "string"}, "message": {"type": "string"}},
        "required": ["error", "message"],
    }}}});
    let mut add = |path: &str, method: &str, operation: Value| {
        let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let mut operation = operation;
        let mut parameters: Vec<Value> = names
            .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
            .collect();
        parameters.extend(operation["parameters"].as_array().cloned().unwrap_or_default());
        operation["parameters"] = json!(parameters);
        operation["responses"]["4XX"] = errors.clone();
        let path = paths.entry(format!("{ROOT}{path}")).or_insert_with(|| json!({}));
        path[method] = operation;
    };
    let done = |schema: Value| json!({"2XX": {"description": "Done", "content": {"application/json": {"schema": schema}}}});
    for Endpoint { path, about, takes, .. } in ENDPOINTS {
        let last = path.rsplit('/').next().unwrap_or_default();
        let query = takes
            .iter()
            .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string"}}));
        let operation = json!({
            "operationId": format!("get_{}", last.trim_matches(['{', '}'])),
            "summary": about,
            "responses": done(json!({"type": "object"})),
            "parameters": query.collect::<Vec<_>>(),
        });
        add(path, "get", operation);
    }
    let answer = json!({
        "type": "object",
        "properties": {"said": {"type": "string"}, "task": {"anyOf": [{"type": "object"}, {"type": "null"}]}},
        "required": ["said", "task"],
    });
    for operation in operations() {
        let fields = body_fields(operation);
        let kinds = fields.iter().map(|field| (field.name.to_owned(), field.kind.schema()));
        let needs = fields.iter().filter(|field| field.needed.has(Doors::API));
        let needs: Vec<&str> = needs.map(|field| field.name).collect();
        let schema = json!({"type": "object", "properties": kinds.collect::<Map>(), "required": needs, "additionalProperties": false});
        let described = json!({
            "operationId": format!("{}_task", operation.name),
            "summary": operation.help,
            "responses": done(answer.clone()),
            "requestBody": {"required": true, "content": {"application/json": {"schema": schema}}},
        });
        add(&path_of(operation), "post", described);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_has_each_operation_with_its_fields() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/api.md");
        let page = std::fs::read_to_string(page).unwrap();
        let acts = page.split("## To act").nth(1).unwrap();
        for operation in operations() {
            let name = match operation.name {
                "create" => "`/tasks`".to_owned(),
                name => format!("{name}`"),
            };
            let row = acts.lines().find(|line| {
                let place = line.split('|').nth(1).unwrap_or_default();
                place.contains("`/tasks") && place.contains(&name)
            });
            let row = row.unwrap_or_else(|| panic!("no row of `{}`", operation.name));
            for field in body_fields(operation) {
                let shown = format!("`{}`", field.name);
                assert!(row.contains(&shown), "{shown} of `{}`", operation.name);
            }
        }
    }
}
