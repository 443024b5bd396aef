//! A web server of one page, `GET /metrics`, for Prometheus. It takes what is asked from memory and waits for nobody for long.
//!
//! Each client has a thread of its own, for a few seconds at most, and there are few of them: a client that is slow, says too
//! much or never speaks costs its own thread, and nobody else anything. Each connection is for one question.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::request;
use super::request::{Malformed, Request, left};
use crate::observability::exposition::Format;

/// So many clients are served at once.
const CLIENTS: usize = 32;
/// How long the next one waits for a seat.
const SEATING: Duration = Duration::from_secs(2);
/// How long a client may take to say what it wants.
const ASKING: Duration = Duration::from_secs(5);
/// How long it may take to read the answer.
const READING: Duration = Duration::from_secs(10);
/// How long what it says besides is listened to, so that the answer is not lost with it.
const LINGERING: Duration = Duration::from_millis(500);
/// How long there are no new clients while there is no room for any.
const BREATH: Duration = Duration::from_millis(20);

/// Returns the page in that format; nothing where there is none yet.
pub(crate) type Page = dyn Fn(Format) -> Option<String> + Send + Sync;

/// A place where clients may ask.
#[derive(Debug)]
pub(crate) struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
}

/// Where somebody may be asked: a host and a port, as `127.0.0.1:9464`. Port 0 stands for any that is free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address(String);

/// A text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write it as `HOST:PORT`: `127.0.0.1:9464`, `[::1]:9464`")]
pub(crate) struct NotAnAddress;

impl FromStr for Address {
    type Err = NotAnAddress;

    fn from_str(given: &str) -> Result<Self, NotAnAddress> {
        let (host, port) = given.rsplit_once(':').ok_or(NotAnAddress)?;
        if host.is_empty()
            || port.parse::<u16>().is_err()
            || (host.contains(':') && !host.starts_with('['))
        {
            return Err(NotAnAddress);
        }
        Ok(Self(given.to_owned()))
    }
}

/// Why there is no endpoint at an address.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EndpointFault {
    /// No machine has that name.
    #[error("`{given}` cannot be found: {cause}")]
    Unresolved {
        /// What was given.
        given: String,
        /// Why not.
        cause: io::Error,
    },
    /// The system does not let us.
    #[error("cannot listen at `{given}`: {}", .cause.kind())]
    Unbound {
        /// What was given.
        given: String,
        /// Why not.
        cause: io::Error,
    },
}

impl EndpointFault {
    /// Returns what to do about it.
    pub(crate) fn fix(&self) -> String {
        match self {
            Self::Unresolved { .. } => "name this machine, or give a number: `127.0.0.1:9464`".to_owned(),
            Self::Unbound { cause, .. } => match cause.kind() {
                ErrorKind::AddrInUse => {
                    "another program listens there, a second watcher perhaps: choose another port, or stop that one".to_owned()
                }
                ErrorKind::PermissionDenied => "ports below 1024 are the system's: choose one above, such as 9464".to_owned(),
                ErrorKind::AddrNotAvailable => {
                    "this machine has no such address: `127.0.0.1:9464` is only for this machine, `0.0.0.0:9464` for all".to_owned()
                }
                _ => "choose another address, such as `127.0.0.1:9464`".to_owned(),
            },
        }
    }
}

impl Endpoint {
    /// Begins to listen; nobody is answered yet.
    pub(crate) fn bind(address: &Address) -> Result<Self, EndpointFault> {
        let given = &address.0;
        let unresolved = |cause| EndpointFault::Unresolved { given: given.to_owned(), cause };
        let addresses: Vec<SocketAddr> = given.to_socket_addrs().map_err(unresolved)?.collect();
        let unbound = |cause| EndpointFault::Unbound { given: given.to_owned(), cause };
        let listener = TcpListener::bind(&addresses[..]).map_err(unbound)?;
        let address = listener.local_addr().map_err(unbound)?;
        Ok(Self { listener, address })
    }

    /// Returns where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns whether other machines may reach it.
    pub(crate) fn is_exposed(&self) -> bool {
        !self.address.ip().is_loopback()
    }

    /// Answers from now on, until the process ends.
    pub(crate) fn serve(self, page: Arc<Page>) -> io::Result<()> {
        // Each thread holds one; how many there are says how many are at work.
        let seats = Arc::new(());
        let accept = move || {
            loop {
                let Ok((stream, _)) = self.listener.accept() else {
                    thread::sleep(BREATH);
                    continue;
                };
                // The others wait in the system's queue meanwhile.
                let until = Instant::now() + SEATING;
                let is_full = || Arc::strong_count(&seats) > CLIENTS;
                while is_full() && Instant::now() < until {
                    thread::sleep(BREATH);
                }
                if is_full() {
                    continue;
                }
                let (seat, page) = (Arc::clone(&seats), Arc::clone(&page));
                // Where the system has no thread for it, this client is turned away like one too many.
                let _ = thread::Builder::new().name("scrape".to_owned()).spawn(move || {
                    // A client that goes away, or is too slow, has no answer.
                    let _ = attend(stream, &*page);
                    drop(seat);
                });
            }
        };
        thread::Builder::new().name("metrics-endpoint".to_owned()).spawn(accept)?;
        Ok(())
    }
}

/// Hears one client and answers it.
fn attend(mut stream: TcpStream, page: &Page) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let answer = match request::read(&mut stream, Instant::now() + ASKING)? {
        Ok(request) => answer(&request, page),
        Err(Malformed::TooLong) => {
            plain("431 Request Header Fields Too Large", "", "that is too long a question\n")
        }
        Err(Malformed::NoHttp) => plain("400 Bad Request", "", "that is no HTTP\n"),
    };
    write(&mut stream, &answer, Instant::now() + READING)?;
    stream.shutdown(Shutdown::Write)?;
    linger(&mut stream, Instant::now() + LINGERING)
}

fn answer(request: &Request, page: &Page) -> Vec<u8> {
    let reads = matches!(request.method.as_str(), "GET" | "HEAD");
    let mut answer = match request.path.as_str() {
        "/metrics" if !reads => {
            plain("405 Method Not Allowed", "Allow: GET, HEAD\r\n", "metrics are only read\n")
        }
        "/metrics" => {
            let format = Format::wanted(&request.accept);
            match page(format) {
                Some(text) => whole("200 OK", "", format.content_type(), &text),
                None => plain(
                    "503 Service Unavailable",
                    "Retry-After: 5\r\n",
                    "nothing is counted yet; try again\n",
                ),
            }
        }
        _ => plain("404 Not Found", "", "the metrics are at /metrics\n"),
    };
    if request.method == "HEAD" {
        let end = answer
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .map_or(answer.len(), |at| at + 4);
        answer.truncate(end);
    }
    answer
}

fn plain(status: &str, more: &str, text: &str) -> Vec<u8> {
    whole(status, more, "text/plain; charset=utf-8", text)
}

fn whole(status: &str, more: &str, kind: &str, text: &str) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{more}X-Content-Type-Options: nosniff\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n",
        text.len()
    );
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

fn write(stream: &mut TcpStream, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(())
}

/// Hears what else the client has to say, until it has read the answer and goes.
fn linger(stream: &mut TcpStream, until: Instant) -> io::Result<()> {
    let mut ignored = [0; 4096];
    loop {
        stream.set_read_timeout(Some(left(until)?))?;
        if stream.read(&mut ignored)? == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;
