//! The server: takes connections, gives each a time limit, and ends when asked.

use std::io;
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::endpoint::BoundServer;

/// The time that a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The time that requests under way may take to end when the server ends.
const LAST_REQUESTS: Duration = Duration::from_secs(10);
/// The largest number of connections at once; more wait in the system's queue.
const MAX_CONNECTIONS: usize = 1024;
/// The number of requests that may read or write a project at once.
const WORKERS: usize = 16;
/// The pause after a failed accept, as when there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// The address that a request is from.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientAddress(pub IpAddr);

/// Becomes true when the server, and the streams of its pages, must end.
pub(crate) type StopSignal = watch::Receiver<bool>;

/// Ends the server.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopSender(watch::Sender<bool>);

impl StopSender {
    pub(crate) fn stop(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn follow(&self) -> StopSignal {
        self.0.subscribe()
    }
}

/// Answers until asked to stop; then finishes the requests under way.
pub(crate) fn serve(server: BoundServer, router: Router, stop: &StopSender) -> io::Result<()> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(WORKERS)
        .enable_all()
        .build()?;
    runtime.block_on(accept(server.listener, router, stop.follow()))
}

async fn accept(listener: TcpListener, router: Router, mut stop: StopSignal) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (graceful, room) = (GracefulShutdown::new(), Arc::new(Semaphore::new(MAX_CONNECTIONS)));
    loop {
        let permit = Arc::clone(&room).acquire_owned().await.map_err(io::Error::other)?;
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let Ok((stream, client)) = accepted else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // Small answers are sent at once. A connection that is already gone fails by itself.
        let _ = stream.set_nodelay(true);
        let service =
            TowerToHyperService::new(router.clone().layer(Extension(ClientAddress(client.ip()))));
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A client that is gone or too slow gets no answer.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    // Requests that do not end in time are cut off: each change is written as a whole or not at all.
    let _ = timeout(LAST_REQUESTS, graceful.shutdown()).await;
    Ok(())
}
