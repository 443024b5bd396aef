//! Webhooks: a real server on this machine, with good and bad manners.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};

use serde_json::Value;

use crate::support::environment::{PROJECT, TestEnvironment};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// What the server received.
struct Request {
    headers: BTreeMap<String, String>,
    body: String,
}

impl Request {
    fn message(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A server that gives these answers, one after the other, and the last one for ever. An empty one is none: it hangs.
struct Server {
    port: u16,
    requests: Receiver<Request>,
}

impl Server {
    fn start(answers: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, requests) = mpsc::channel();
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for (at, stream) in listener.incoming().enumerate() {
                let stream = stream.unwrap();
                let answer = answers.get(at).or(answers.last()).unwrap();
                let Some(request) = receive(&stream) else { continue };
                let _ = sender.send(request);
                if answer.is_empty() {
                    open.push(stream);
                } else {
                    let _ =
                        (&stream).write_all(answer.replace("PORT", &port.to_string()).as_bytes());
                }
            }
        });
        Self { port, requests }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    fn received(&self) -> Vec<Request> {
        self.requests.try_iter().collect()
    }
}

fn receive(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { headers, body: String::from_utf8(body).ok()? })
}

const TAKEN: &str = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
const BROKEN: &str =
    "HTTP/1.1 500 Oh\r\nContent-Length: 9\r\nConnection: close\r\n\r\nno\x1b [31m\n";
const BUSY: &str =
    "HTTP/1.1 503 Busy\r\nRetry-After: 7200\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const GONE: &str = "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const ELSEWHERE: &str = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:PORT/secrets\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const STILL_ELSEWHERE: &str = "HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:PORT/secrets\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

fn project_with(notify: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.write("project.yaml", format!("{PROJECT}notify: [{notify}]\n"));
    env.commit_all("notify");
    let _ = env.aof(&["notices", "--deliver"]).success();
    env
}

fn hook(server: &Server, more: &str) -> String {
    format!("{{on: [gate_transition], webhook: \"{}\"{more}}}", server.url())
}

fn deliver(env: &TestEnvironment) -> crate::support::environment::Output {
    let mut command = env.aof_command(&["notices", "--deliver"]);
    command
        .env("HOOK", SECRET)
        .env("http_proxy", "http://127.0.0.1:1")
        .env("ALL_PROXY", "http://127.0.0.1:1");
    env.run(command)
}

#[test]
fn a_message_is_posted_signed_and_once() {
    let server = Server::start(&[TAKEN]);
    let env = project_with(&hook(&server, ", allowPrivate: true, secretEnv: HOOK"));
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let _ = deliver(&env).success();
    let _ = deliver(&env).success();
    let [request] = &server.received()[..] else { panic!("not one request") };
    let message = request.message();
    assert_eq!(request.headers["webhook-id"], message["id"].as_str().unwrap());
    assert_eq!(request.headers["content-type"], "application/json");
    assert!(request.headers["webhook-timestamp"].parse::<i64>().is_ok());
    assert!(request.headers["webhook-signature"].starts_with("v1,"), "{:?}", request.headers);
    assert_eq!(
        (&message["event"], &message["taskId"]),
        (&"gate_transition".into(), &id.as_str().into())
    );
}

#[test]
fn a_refused_webhook_is_sent_again_under_the_same_id() {
    let server = Server::start(&[BROKEN, BUSY, TAKEN]);
    let env = project_with(&hook(&server, ", allowPrivate: true"));
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let broken = deliver(&env).code(1);
    assert!(broken.stdout.contains("it answered 500: no? [31m"), "{broken}");
    let busy = deliver(&env).code(1);
    assert!(
        busy.stdout.contains("it answered 503") && busy.stdout.contains("tried 2 times"),
        "{busy}"
    );
    assert!(busy.stdout.contains("waits until Feb 16, 12:0"), "two hours, as it said: {busy}");
    let _ = deliver(&env).success();
    let ids: Vec<String> =
        server.received().iter().map(|request| request.headers["webhook-id"].clone()).collect();
    assert_eq!(ids, vec![ids[0].clone(); 3]);
    assert!(server.received().is_empty());
}

#[test]
fn after_a_rest_another_message_is_tried_first() {
    let server = Server::start(&[BUSY, TAKEN]);
    let env = project_with(&hook(&server, ", allowPrivate: true"));
    for _ in 0..3 {
        let id = env.new_task(&["Add login"]);
        let _ = env.complete(&id, "agent-7");
    }
    let _ = deliver(&env).code(1);
    let _ = deliver(&env).success();
    let ids: Vec<String> =
        server.received().iter().map(|request| request.headers["webhook-id"].clone()).collect();
    assert_eq!((ids.len(), &ids[0]), (4, &ids[3]), "the one that met nobody is last");
}

#[test]
fn no_redirect_is_followed() {
    for answer in [&[ELSEWHERE] as &'static [&'static str], &[STILL_ELSEWHERE]] {
        let server = Server::start(answer);
        let env = project_with(&hook(&server, ", allowPrivate: true"));
        let id = env.new_task(&["Add login"]);
        let _ = env.complete(&id, "agent-7");
        let output = deliver(&env).code(1);
        assert!(output.stdout.contains("redirects are not followed"), "{output}");
        assert_eq!(server.received().len(), 1);
    }
}

#[test]
fn a_private_address_is_not_reached_unless_that_is_allowed() {
    let server = Server::start(&[TAKEN]);
    let notify =
        format!("{{on: [gate_transition], webhook: \"https://localhost:{}/hook\"}}", server.port);
    let env = project_with(&notify);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let output = deliver(&env).code(1);
    assert!(output.stdout.contains("which is no address of the internet"), "{output}");
    assert!(server.received().is_empty());
    let status = env.aof(&["status"]).success();
    assert!(status.stdout.contains("1 notice could not be delivered yet"), "{status}");
}

#[test]
fn a_receiver_that_wants_no_more_gets_no_more_of_it() {
    let server = Server::start(&[GONE]);
    let env = project_with(&hook(&server, ", allowPrivate: true"));
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let output = deliver(&env).code(1);
    assert!(
        output.stdout.contains("given up") && output.stdout.contains("it answered 410"),
        "{output}"
    );
    let _ = deliver(&env).success();
    assert_eq!(server.received().len(), 1);
}

#[test]
fn one_that_hangs_delays_no_other() {
    let (hangs, takes) = (Server::start(&[""]), Server::start(&[TAKEN]));
    let private = ", allowPrivate: true";
    let env = project_with(&format!("{}, {}", hook(&hangs, private), hook(&takes, private)));
    for _ in 0..3 {
        let id = env.new_task(&["Add login"]);
        let _ = env.complete(&id, "agent-7");
    }
    let child = env.start(&["notices", "--deliver"]);
    let wait = std::time::Duration::from_secs(30);
    let stuck = hangs.requests.recv_timeout(wait).unwrap();
    for _ in 0..3 {
        takes.requests.recv_timeout(wait).unwrap();
    }
    let output = env.finish("aof notices --deliver", child).code(1);
    assert!(output.stdout.contains("no answer within 10 s"), "{output}");
    let waiting = env.aof(&["notices", "--json"]).success().json();
    assert_eq!(waiting["notices"].as_array().unwrap().len(), 3, "nothing is lost: {waiting}");
    assert!(hangs.received().is_empty(), "the others are not tried while nobody answers");
    assert_eq!(stuck.message()["event"], "gate_transition");
}
