//! The board in a browser: pages made on the server, over the same view model as the terminal's.
//!
//! A page works without script; the script adds live updates, keys and dragging. Every act of a page is an
//! operation of [`crate::operations::table`], as a command is.

mod access;
mod agent_door;
mod answers;
mod api;
mod assets;
mod endpoint;
mod events;
mod export;
mod health;
mod metrics_page;
mod request;
mod routes;
mod server;
mod site;

pub(crate) use access::{Access, LinkKind, ServeFile, fresh_link};
pub(crate) use endpoint::{BoundServer, EndpointFault, address};
pub(crate) use export::export_site;
pub(crate) use health::HealthReader;
pub(crate) use metrics_page::metrics_router;
pub(crate) use routes::router;
pub(crate) use server::{StopSender, serve};
pub(crate) use site::{AgentDoor, BoardSite, LoginHeader, SiteProject, SiteReader, SiteUsers};
