//! Streams. Pages follow changes: a line whenever a project's board shows something else. Programs follow the events of a project: each
//! is the line of `aof events --json`, with an id to resume from.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use serde_json::json;
use tokio::time::timeout;

use super::access::{Visitor, bearer};
use super::request::{ApiFault, Asked, WebFault};
use super::server::StopSignal;
use super::site::{BoardSite, LiveState};
use crate::files::event::line::EventLine;
use crate::observability::events::catch_up::{EventReader, StreamLine};
use crate::project::access::agent_tokens::agent_of_token;
use crate::project::workspace::WorkspaceOpener;

/// The longest delay of an event that no board shows. Each look costs a thread for each program that follows.
const PAUSE: Duration = Duration::from_secs(5);

/// Returns the stream of all projects. It begins with the state of each, so that a page that was disconnected sees what it missed.
pub(super) fn change_stream(
    site: &Arc<BoardSite>,
    visitor: &Visitor,
    stop: StopSignal,
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
    let all = stream::select_all(streams.collect::<Vec<_>>()).take_until(until_stopped(stop));
    Sse::new(all).keep_alive(KeepAlive::default())
}

fn change_event(slug: &str, state: &LiveState) -> Event {
    let waiting = state.board.as_ref().map_or(0, |board| board.waiting_count());
    let data = json!({"project": slug, "version": state.version, "waiting": waiting});
    Event::default().event("change").id(&state.version).data(data.to_string())
}

async fn until_stopped(mut stop: StopSignal) {
    // If the sender is gone, no one can stop the server any longer: it has ended.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Answers with new events, or with those after `Last-Event-ID`. If that event no longer exists, all are sent again.
pub(super) async fn event_stream(
    asked: Result<Asked, WebFault>,
    headers: HeaderMap,
    Extension(stop): Extension<StopSignal>,
) -> Result<Response, ApiFault> {
    let asked = asked?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let opener = asked.project().opener.clone();
    let states = asked.reader()?.follow();
    let token = bearer(&headers).map(str::to_owned);
    let place = EventPlace { opener, token, reader: None, after: last.map(str::to_owned) };
    let (place, first) = read_on(place).await?;
    let rest = stream::unfold((place, states), async |(place, mut states)| {
        // The wait ends early if a board shows a change.
        let _ = timeout(PAUSE, states.changed()).await;
        let (place, events) = read_on(place).await.ok()?;
        Some((stream::iter(events), (place, states)))
    });
    let all = stream::iter(first).chain(rest.flatten()).map(Ok::<_, Infallible>);
    let all = all.take_until(until_stopped(stop)).boxed();
    Ok(Sse::new(all).keep_alive(KeepAlive::default()).into_response())
}

/// The place in a stream of events.
struct EventPlace {
    opener: WorkspaceOpener,
    /// The client's token; the stream ends once it is revoked.
    token: Option<String>,
    reader: Option<EventReader>,
    /// The last event that the client has; `None` if it wants only new ones.
    after: Option<String>,
}

/// Reads what was written since the last time.
async fn read_on(place: EventPlace) -> Result<(EventPlace, Vec<Event>), ApiFault> {
    let read = tokio::task::spawn_blocking(move || place.read());
    let failed = |_| ApiFault::from(WebFault::conflict("the events cannot be read"));
    read.await.map_err(failed)?
}

impl EventPlace {
    fn read(mut self) -> Result<(Self, Vec<Event>), ApiFault> {
        let workspace = self.opener.open()?;
        if let Some(token) = &self.token
            && agent_of_token(&workspace, token)?.is_none()
        {
            return Err(WebFault::conflict("the token was revoked").into());
        }
        let is_first = self.reader.is_none();
        let mut reader = match self.reader.take() {
            Some(mut reader) => {
                reader.refresh(&workspace)?;
                reader
            }
            None => EventReader::open(&workspace)?,
        };
        let mut events = Vec::new();
        while let Some(line) = reader.next_line()? {
            let StreamLine::Event(event, text) = line else { continue };
            let id = id_of(&event);
            if is_first && self.after.as_ref() == Some(&id) {
                events.clear();
                continue;
            }
            if is_first && self.after.is_none() {
                continue;
            }
            events.push(Event::default().id(id).data(text.trim_end()));
        }
        self.reader = Some(reader);
        Ok((self, events))
    }
}

/// Returns a unique id of an event, which stays the same if the stream is made again.
fn id_of(event: &EventLine) -> String {
    let source = event.text("commit").or_else(|| event.text("id")).unwrap_or_default();
    let [task, gate] = [event.text("taskId"), event.gate()].map(Option::unwrap_or_default);
    format!("{source}.{}.{task}.{gate}", event.name)
}
