//! What a client asks: the line and the headers that matter here, within bounds of size and time.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The longest question that is heard, in bytes.
const LONGEST: usize = 8 * 1024;

/// A question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub method: String,
    /// The path, without what stands behind a `?`.
    pub path: String,
    /// All that `Accept` headers say.
    pub accept: String,
}

/// Why something is no question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// It does not end.
    TooLong,
    /// It is something else.
    NoHttp,
}

/// Reads a question. An error means that the client has gone, or that its time is over.
pub(crate) fn read(
    stream: &mut TcpStream,
    until: Instant,
) -> io::Result<Result<Request, Malformed>> {
    let mut said = Vec::with_capacity(1024);
    let mut part = [0; 1024];
    loop {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut part) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => said.extend_from_slice(&part[..length]),
            Err(cause) if cause.kind() == ErrorKind::Interrupted => continue,
            Err(cause) => return Err(cause),
        }
        if let Some(end) = end_of_head(&said) {
            return Ok(parse(&said[..end]).ok_or(Malformed::NoHttp));
        }
        if said.len() >= LONGEST {
            return Ok(Err(Malformed::TooLong));
        }
    }
}

fn end_of_head(said: &[u8]) -> Option<usize> {
    let crlf = said.windows(4).position(|four| four == b"\r\n\r\n");
    let lf = said.windows(2).position(|two| two == b"\n\n");
    [crlf, lf].into_iter().flatten().min()
}

fn parse(head: &[u8]) -> Option<Request> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") || method.is_empty() {
        return None;
    }
    let headers = lines.filter_map(|line| line.split_once(':'));
    let accept: Vec<&str> = headers
        .filter(|(name, _)| name.eq_ignore_ascii_case("accept"))
        .map(|(_, value)| value.trim())
        .collect();
    let path = target.split(['?', '#']).next().unwrap_or_default();
    Some(Request { method: method.to_owned(), path: path.to_owned(), accept: accept.join(",") })
}

/// Returns what is left of the time, which is never nothing.
pub(crate) fn left(until: Instant) -> io::Result<Duration> {
    match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_its_line_and_what_is_accepted() {
        let read = |text: &str| parse(text.as_bytes());
        let request = |method: &str, path: &str, accept: &str| {
            Some(Request {
                method: method.to_owned(),
                path: path.to_owned(),
                accept: accept.to_owned(),
            })
        };
        assert_eq!(read("GET /metrics HTTP/1.1\r\nHost: x"), request("GET", "/metrics", ""));
        assert_eq!(read("GET /metrics?x=1 HTTP/1.0"), request("GET", "/metrics", ""));
        assert_eq!(
            read("POST / HTTP/1.1\r\nACCEPT: a;q=1\r\nfolded\r\naccept:b"),
            request("POST", "/", "a;q=1,b")
        );
        for malformed in [
            "",
            "GET",
            "GET /metrics",
            "GET /metrics HTTP/2",
            "GET /a b HTTP/1.1",
            " / HTTP/1.1",
            "\u{16}\u{3}",
        ] {
            assert_eq!(read(malformed), None, "{malformed:?}");
        }
        assert_eq!(parse(b"GET /\xff HTTP/1.1"), None);
    }

    #[test]
    fn a_head_ends_at_an_empty_line() {
        assert_eq!(end_of_head(b"GET / HTTP/1.1\r\n\r\nbody"), Some(14));
        assert_eq!(end_of_head(b"GET / HTTP/1.1\n\n"), Some(14));
        assert_eq!(end_of_head(b"GET / HTTP/1.1\r\nHost: x\r\n"), None);
    }
}
