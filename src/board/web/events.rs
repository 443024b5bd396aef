//! The stream of changes: one line whenever a project's board shows something else.

use std::convert::Infallible;
use std::sync::Arc;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream, StreamExt};
use serde_json::json;

use super::access::Visitor;
use super::server::StopSignal;
use super::site::{BoardSite, LiveState};

/// Returns the stream of all projects. It begins with the state of each, so that a page that was cut off sees what it missed.
pub(super) fn change_stream(
    site: &Arc<BoardSite>,
    visitor: &Visitor,
    mut stop: StopSignal,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<>> {
    let streams = site.projects.iter().filter_map(|project| {
        let mut states = site.reader(project, visitor)?.follow();
        states.mark_changed();
        let slug: Arc<str> = project.slug.as_str().into();
        let next = stream::unfold((slug, states), |(slug, mut states)| async move {
            states.changed().await.ok()?;
            let event = change_event(&slug, &states.borrow_and_update());
            Some((Ok(event), (slug, states)))
        });
        Some(next.boxed())
    });
    let stopped = async move {
        // The server is gone where nobody can stop it any more.
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let all = stream::select_all(streams.collect::<Vec<_>>()).take_until(stopped);
    Sse::new(all).keep_alive(KeepAlive::default())
}

fn change_event(slug: &str, state: &LiveState) -> Event {
    let waiting = state.board.as_ref().map_or(0, |board| board.waiting_for_you.len());
    let data = json!({"project": slug, "version": state.version, "waiting": waiting});
    Event::default().event("change").id(&state.version).data(data.to_string())
}
