//! The page for Prometheus, `GET /metrics`, alone or beside the board. It is answered from memory.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HOST, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::observability::metrics::exposition::ExpositionFormat;

/// Returns the page in that format; `None` if there is none yet.
pub(crate) type MetricsPage = dyn Fn(ExpositionFormat) -> Option<String> + Send + Sync;

/// Returns the routes of a server that has only this page. If only this machine may read it, `Host` must be an address or `localhost`:
/// otherwise a web site whose name resolves to this machine could read it through a browser.
pub(crate) fn metrics_router(page: Arc<MetricsPage>, is_exposed: bool) -> Router {
    let answer = async |State(page): State<Arc<MetricsPage>>, headers: HeaderMap| {
        metrics_answer(page, &headers).await
    };
    let router = Router::new()
        .route("/metrics", get(answer))
        .route("/healthz", get("ok\n"))
        .fallback(async || (StatusCode::NOT_FOUND, "the metrics are at /metrics\n"))
        .with_state(page);
    if is_exposed { router } else { router.layer(from_fn(only_this_machine)) }
}

async fn only_this_machine(request: Request, next: Next) -> Response {
    let mut hosts = request.headers().get_all(HOST).iter();
    if hosts.all(|host| host.to_str().is_ok_and(is_this_machine)) {
        return next.run(request).await;
    }
    let text = "this machine is asked for by its address or as `localhost`\n";
    (StatusCode::MISDIRECTED_REQUEST, text).into_response()
}

/// Answers with the page. The first answer waits until everything is counted.
pub(super) async fn metrics_answer(page: Arc<MetricsPage>, headers: &HeaderMap) -> Response {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let format = ExpositionFormat::wanted(&accepted.collect::<String>());
    let text = tokio::task::spawn_blocking(move || page(format)).await;
    let mut answer = if let Some(text) = text.ok().flatten() {
        ([(CONTENT_TYPE, format.content_type())], text).into_response()
    } else {
        let text = "nothing is counted yet; try again\n";
        (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "5")], text).into_response()
    };
    let headers = answer.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// Returns true if a `Host`, with or without a port, is an address or `localhost`.
fn is_this_machine(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    let name = name.map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}
