//! `aof run` and `aof workflow run`.

mod attempts;
mod configuration;
mod failing_agents;
mod interruption;
mod looks;
mod obstacles;
mod replies;
mod retries;
mod selection;
mod terminal;
mod usage_limits;
mod verdicts;
mod wait_reasons;
mod whole_workflows;
mod workflow_run;
