//! The server: what `rmcp` asks is answered here. Calls run in threads of their own, so that others, pings and cancellations go
//! on meanwhile.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult,
    ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{RoleServer, ServerHandler, serve_server};
use serde_json::json;

use super::serve::McpError;
use super::session::Desk;
use super::stdio::Lines;
use super::tools::tool;
use super::{prompts, resources};
use crate::domain::nearest;
use crate::system::signals;

/// What every model is told of the server, whatever its client shows of the tools.
const INSTRUCTIONS: &str = "\
This project hands out work as tasks. A task stands at one gate at a time; you do what the brief of that gate asks, and say how it went.
1. aof_task_next gives you your task with its brief: what is expected, and which outcomes are possible.
2. Do the work.
3. aof_task_complete says the outcome, with a summary. Where the task goes then is not your concern.
You are the agent that this server was started for; no argument changes that.
A refusal changes nothing. It says what is wrong, and `nextCall` is a call that works, with what is yours to fill in between < and >.
Work that takes long is kept yours by aof_task_renew; what you cannot do is given back by aof_task_release.
To have something done by a named process, as in \"use the feature workflow to add X\": aof_workflow_start.
Never edit the engine's fields of files under tasks/ by hand (status, gate, gateHistory, routing): such a task waits for a person.";

const LOOKING: &str = "\
This server only shows the tasks of a project: aof_status, aof_task_list, aof_task_get, aof_workflow_list. It changes nothing.";

struct Server {
    desk: Arc<Desk>,
}

/// Serves until the client is gone or the process is asked to stop. What is under way then is finished first.
pub(crate) fn run(desk: Desk) -> Result<(), McpError> {
    let (lines, stop) = Lines::start()?;
    signals::on_stop(stop)?;
    let desk = Arc::new(desk);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(async {
        loop {
            let server = Server { desk: Arc::clone(&desk) };
            match serve_server(server, lines.clone()).await {
                Ok(conversation) => {
                    // However it ended, nothing is left to be told to anybody.
                    let _ = conversation.waiting().await;
                    return;
                }
                // What came first was no beginning, or one that was refused: another may still come.
                Err(
                    ServerInitializeError::ExpectedInitializeRequest(_)
                    | ServerInitializeError::InitializeFailed(_),
                ) => {}
                Err(_) => return,
            }
        }
    });
    // Calls that were called off have no answer, and still are finished: dropping the executor waits for them.
    drop(runtime);
    Ok(())
}

impl Server {
    /// Does something with the project in a thread of its own.
    async fn with_desk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Desk) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let desk = Arc::clone(&self.desk);
        let done = tokio::task::spawn_blocking(move || work(&desk)).await;
        done.unwrap_or_else(|_| {
            Err(ErrorData::internal_error("the call broke off; nothing is half done", None))
        })
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        let name =
            Implementation::new("aof", env!("CARGO_PKG_VERSION")).with_title("Tasks and gates");
        let told = if self.desk.only_looks() { LOOKING } else { INSTRUCTIONS };
        ServerConfig::new(capabilities).with_server_info(name).with_instructions(told)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            tool::listed(&self.desk).map(tool::Tool::shown).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tool::listed(&self.desk).find(|tool| tool.name == request.name) else {
            return Err(unknown_tool(&self.desk, &request.name));
        };
        let arguments = request.arguments.unwrap_or_default();
        let answer = self.with_desk(move |desk| Ok(tool::call(desk, tool, &arguments))).await?;
        Ok(match answer {
            Ok(value) => CallToolResult::structured(value).into(),
            Err(value) => CallToolResult::structured_error(value).into(),
        })
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.with_desk(|desk| Ok(ListResourcesResult::with_all_items(resources::listed(desk))))
            .await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![resources::template()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.with_desk(move |desk| resources::read(desk, &request.uri).map(Into::into)).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::listed(&self.desk)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        self.with_desk(move |desk| prompts::get(desk, &request.name, &arguments).map(Into::into))
            .await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("there is no method `{}`", request.method),
            None,
        ))
    }
}

fn unknown_tool(desk: &Desk, given: &str) -> ErrorData {
    let names: Vec<&str> = tool::listed(desk).map(|tool| tool.name).collect();
    let problem = if tool::ALL.iter().any(|tool| tool.name == given) {
        format!("`{given}` changes things, and this server was started with --read-only")
    } else {
        let meant =
            nearest(given, names.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
        format!("there is no tool `{given}`{}", meant.unwrap_or_default())
    };
    ErrorData::invalid_params(problem, Some(json!({"tools": names})))
}
