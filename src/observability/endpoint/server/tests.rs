//! Real sockets, on a port that the system picks.

use super::*;

const OPEN: &str = "application/openmetrics-text";

fn endpoint(page: impl Fn(Format) -> Option<String> + Send + Sync + 'static) -> SocketAddr {
    let endpoint = Endpoint::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
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

fn page(format: Format) -> String {
    format!("{format:?}\n")
}

#[test]
fn one_page_is_served_in_the_format_that_is_wanted() {
    let address = endpoint(|format| Some(page(format)));
    let text = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(
        text.starts_with(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
        ),
        "{text}"
    );
    assert!(text.contains("Content-Length: 5\r\n") && text.ends_with("\r\n\r\nText\n"), "{text}");
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
        (0..CLIENTS - 1).map(|_| TcpStream::connect(address).unwrap()).collect();
    silent[0].write_all(b"GET /metr").unwrap();
    assert!(ask(address, "GET /metrics HTTP/1.1\r\n\r\n").ends_with("Text\n"));
    // One too many is turned away, and the first that goes leaves its seat to the next.
    silent.extend((0..8).map(|_| TcpStream::connect(address).unwrap()));
    drop(silent);
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut answer = String::new();
        // Being turned away may show as a reset.
        let _ = stream
            .write_all(b"GET /metrics HTTP/1.1\r\n\r\n")
            .and_then(|()| stream.read_to_string(&mut answer));
        if answer.ends_with("Text\n") {
            break;
        }
        assert!(Instant::now() < deadline, "nobody is served any more");
        thread::yield_now();
    }
}

#[test]
fn what_is_no_address_is_told_with_the_way_out() {
    let fault = |given: &str| {
        let fault = Endpoint::bind(&given.parse().unwrap()).unwrap_err();
        format!("{fault}: {}", fault.fix())
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
        assert_eq!(malformed.parse::<Address>(), Err(NotAnAddress), "{malformed}");
    }
    assert!(fault("192.0.2.1:9464").contains("this machine has no such address"));
    let first = Endpoint::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
    let taken = fault(&first.address().to_string());
    assert!(taken.contains("another program listens there"), "{taken}");
    assert!(Endpoint::bind(&"0.0.0.0:0".parse().unwrap()).unwrap().is_exposed());
}
