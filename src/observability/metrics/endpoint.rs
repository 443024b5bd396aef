//! A web server with one page, `GET /metrics`, for Prometheus. It answers from memory.
//!
//! Each client has a thread of its own, for a few seconds at most, and their number is limited: one more client ends the connection of
//! the oldest. So a client that is slow, sends too much or sends nothing delays nobody. Each connection is for one request.
//!
//! A page that only this machine may read is not for web sites, which a browser lets in under a name of their own that stands for this
//! machine: `Host` must be an address or `localhost`.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::observability::metrics::exposition::ExpositionFormat;

/// The most clients that are served at once.
const MAX_CLIENTS: usize = 32;
/// How long a client may take to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a client may take to read the answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long further input is read and ignored after the answer, so that a reset does not lose the answer.
const LINGER: Duration = Duration::from_millis(500);
/// The pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// The longest request, in bytes.
const MAX_REQUEST: usize = 8 * 1024;

/// Returns the page in that format; nothing if there is none yet.
pub(crate) type Page = dyn Fn(ExpositionFormat) -> Option<String> + Send + Sync;

/// A listening socket.
#[derive(Debug)]
pub(crate) struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
}

/// Why there is no endpoint at an address, and what to do about it.
#[derive(Debug)]
pub(crate) struct EndpointFault {
    pub problem: String,
    pub fix: &'static str,
}

/// Returns the address if it is a host and a port, as `127.0.0.1:9464`. Port 0 stands for any that is free.
pub(crate) fn address(given: &str) -> Result<String, String> {
    let is_host = |host: &str| !host.is_empty() && (!host.contains(':') || host.starts_with('['));
    match given.rsplit_once(':') {
        Some((host, port)) if is_host(host) && port.parse::<u16>().is_ok() => Ok(given.to_owned()),
        _ => Err("write it as `HOST:PORT`: `127.0.0.1:9464`, `[::1]:9464`".to_owned()),
    }
}

impl Endpoint {
    /// Starts to listen; nobody is answered yet.
    pub(crate) fn bind(given: &str) -> Result<Self, EndpointFault> {
        let addresses = given.to_socket_addrs().map_err(|cause| EndpointFault {
            problem: format!("`{given}` cannot be found: {cause}"),
            fix: "name this machine, or give a number: `127.0.0.1:9464`",
        })?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        let bound = TcpListener::bind(&addresses[..]);
        let bound = bound.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound.map_err(|cause| EndpointFault {
            problem: format!("cannot listen at `{given}`: {}", cause.kind()),
            fix: match cause.kind() {
                ErrorKind::AddrInUse => {
                    "another program listens there, a second watcher perhaps: choose another port, or stop that one"
                }
                ErrorKind::PermissionDenied => {
                    "ports below 1024 are the system's: choose one above, such as 9464"
                }
                ErrorKind::AddrNotAvailable => {
                    "this machine has no such address: `127.0.0.1:9464` is only for this machine, `0.0.0.0:9464` for all"
                }
                _ => "choose another address, such as `127.0.0.1:9464`",
            },
        })?;
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
        let is_exposed = self.is_exposed();
        let accept = move || {
            let mut clients: VecDeque<(TcpStream, Weak<()>)> = VecDeque::new();
            loop {
                let Ok((stream, _)) = self.listener.accept() else {
                    thread::sleep(ACCEPT_PAUSE);
                    continue;
                };
                clients.retain(|(_, served)| served.strong_count() > 0);
                if clients.len() >= MAX_CLIENTS
                    && let Some((oldest, _)) = clients.pop_front()
                {
                    let _ = oldest.shutdown(Shutdown::Both);
                }
                let (served, page) = (Arc::new(()), Arc::clone(&page));
                if let Ok(own) = stream.try_clone() {
                    clients.push_back((own, Arc::downgrade(&served)));
                }
                // If no thread can be started, the client is turned away.
                let _ = thread::Builder::new().name("scrape".to_owned()).spawn(move || {
                    // A client that goes away, or is too slow, gets no answer.
                    let _ = serve_client(stream, is_exposed, &*page);
                    drop(served);
                });
            }
        };
        thread::Builder::new().name("metrics-endpoint".to_owned()).spawn(accept)?;
        Ok(())
    }
}

/// Reads the request of one client, and answers it.
fn serve_client(mut stream: TcpStream, is_exposed: bool, page: &Page) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    let answer = match read(&mut stream)? {
        Some(head) => answer(&head, is_exposed, page),
        None => plain("431 Request Header Fields Too Large", "", "the request is too long\n"),
    };
    stream.write_all(answer.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(LINGER))?;
    let until = Instant::now() + LINGER;
    while Instant::now() < until && stream.read(&mut [0; 4096])? > 0 {}
    Ok(())
}

/// Reads a request, up to the empty line after its headers; returns nothing if it is too long.
fn read(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let until = Instant::now() + REQUEST_TIMEOUT;
    let (mut request, mut part) = (Vec::new(), [0; 1024]);
    while let Some(left) =
        until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    {
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            length => request.extend_from_slice(&part[..length]),
        }
        let text = String::from_utf8_lossy(&request).replace("\r\n", "\n");
        if let Some((head, _)) = text.split_once("\n\n") {
            return Ok(Some(head.to_owned()));
        }
        if request.len() >= MAX_REQUEST {
            return Ok(None);
        }
    }
    Err(ErrorKind::TimedOut.into())
}

fn answer(head: &str, is_exposed: bool, page: &Page) -> String {
    let (line, headers) = head.split_once('\n').unwrap_or((head, ""));
    let [method, target, version] = line.split(' ').collect::<Vec<_>>()[..] else {
        return plain("400 Bad Request", "", "that is no HTTP\n");
    };
    let headers = headers.lines().filter_map(|header| header.split_once(':'));
    let mut hosts = headers.clone().filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    if !is_exposed && !hosts.all(|(_, host)| is_this_machine(host.trim())) {
        let text = "this machine is asked for by its address or as `localhost`\n";
        return plain("421 Misdirected Request", "", text);
    }
    let accept = headers.filter(|(name, _)| name.eq_ignore_ascii_case("accept"));
    let accept: String = accept.map(|(_, value)| value).collect();
    let mut answer = match (target.split('?').next(), method) {
        _ if !version.starts_with("HTTP/1.") => plain("400 Bad Request", "", "that is no HTTP\n"),
        (Some("/metrics"), "GET" | "HEAD") => {
            let format = ExpositionFormat::wanted(&accept);
            match page(format) {
                Some(text) => response("200 OK", "", format.content_type(), &text),
                None => plain(
                    "503 Service Unavailable",
                    "Retry-After: 5\r\n",
                    "nothing is counted yet; try again\n",
                ),
            }
        }
        (Some("/metrics"), _) => {
            plain("405 Method Not Allowed", "Allow: GET, HEAD\r\n", "metrics are only read\n")
        }
        _ => plain("404 Not Found", "", "the metrics are at /metrics\n"),
    };
    if method == "HEAD" {
        answer.truncate(answer.find("\r\n\r\n").map_or(answer.len(), |end| end + 4));
    }
    answer
}

/// Returns whether a `Host`, with or without a port, is an address or `localhost`.
fn is_this_machine(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    let name = name.map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

fn plain(status: &str, more: &str, text: &str) -> String {
    response(status, more, "text/plain; charset=utf-8", text)
}

fn response(status: &str, more: &str, kind: &str, text: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{more}X-Content-Type-Options: nosniff\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: &str = "application/openmetrics-text";

    fn endpoint(
        page: impl Fn(ExpositionFormat) -> Option<String> + Send + Sync + 'static,
    ) -> SocketAddr {
        let endpoint = Endpoint::bind("127.0.0.1:0").unwrap();
        let address = endpoint.address();
        assert!(!endpoint.is_exposed());
        endpoint.serve(Arc::new(page)).unwrap();
        address
    }

    fn ask(address: SocketAddr, question: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(question.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn page(format: ExpositionFormat) -> String {
        format!("{format:?}\n")
    }

    #[test]
    fn one_page_is_served_in_the_format_that_is_wanted() {
        let address = endpoint(|format| Some(page(format)));
        let text = ask(address, "GET /metrics HTTP/1.1\r\nHost: localhost:9464\r\n\r\n");
        assert!(
            text.starts_with(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("Content-Length: 5\r\n") && text.ends_with("\r\n\r\nText\n"),
            "{text}"
        );
        let open = ask(address, &format!("GET /metrics?a HTTP/1.1\r\nAccept: {OPEN}\r\n\r\n"));
        assert!(
            open.contains(&format!("Content-Type: {OPEN}; version=1.0.0;"))
                && open.ends_with("OpenMetrics\n"),
            "{open}"
        );
        let head = ask(address, "HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 OK") && head.ends_with("\r\n\r\n"), "{head}");
        for (question, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
            ("GET /metrics/ HTTP/1.1\r\n\r\n", "404 Not Found"),
            ("POST /metrics HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi", "405 Method Not Allowed"),
            ("hello\r\n\r\n", "400 Bad Request"),
            (&format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(60_000)), "431 "),
        ] {
            let answer = ask(address, question);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        }
        let none = endpoint(|_| None);
        assert!(ask(none, "GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 503 "));
    }

    #[test]
    fn clients_that_say_nothing_hold_up_nobody() {
        let address = endpoint(|format| Some(page(format)));
        let mut silent: Vec<TcpStream> =
            (0..MAX_CLIENTS * 2).map(|_| TcpStream::connect(address).unwrap()).collect();
        silent[MAX_CLIENTS * 2 - 1].write_all(b"GET /metr").unwrap();
        let begun = Instant::now();
        assert!(ask(address, "GET /metrics HTTP/1.1\r\n\r\n").ends_with("Text\n"));
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_name_that_may_be_a_web_sites_is_no_name_of_this_machine() {
        let address = endpoint(|format| Some(page(format)));
        let asked =
            |host: &str| ask(address, &format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        for host in ["localhost", "LOCALHOST:9464", "127.0.0.1:9464", "[::1]:9464", "10.0.0.7"] {
            assert!(asked(host).starts_with("HTTP/1.1 200 "), "{host}");
        }
        for host in ["rebound.example", "rebound.example:9464", "localhost.evil.example", ""] {
            assert!(asked(host).starts_with("HTTP/1.1 421 "), "{host}");
        }
    }

    #[test]
    fn what_is_no_address_is_told_with_the_way_out() {
        let fault = |given: &str| {
            let fault = Endpoint::bind(given).unwrap_err();
            format!("{}: {}", fault.problem, fault.fix)
        };
        for malformed in [
            "",
            "9464",
            ":9464",
            "localhost",
            "localhost:",
            "localhost:x",
            "localhost:70000",
            "::1:9464",
        ] {
            assert!(address(malformed).is_err(), "{malformed}");
        }
        assert!(fault("192.0.2.1:9464").contains("this machine has no such address"));
        let first = Endpoint::bind("127.0.0.1:0").unwrap();
        let taken = fault(&first.address().to_string());
        assert!(taken.contains("another program listens there"), "{taken}");
        assert!(Endpoint::bind("0.0.0.0:0").unwrap().is_exposed());
    }
}
