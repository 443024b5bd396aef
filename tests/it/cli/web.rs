//! `aof serve` as a browser and as a stranger meet it, by plain HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::clones::{Clones, synced_project};
use crate::support::environment::{ORG, PROJECT, TestEnvironment, eventually};
use crate::support::mcp_client::{Era, McpClient};
use crate::support::terminal::Seat;

/// A project that has a person with an email in org.yaml.
fn project_of_ann() -> TestEnvironment {
    let env = TestEnvironment::new();
    let agents = "{agent-3: {}, agent-7: {}, agent-8: {}, human-ann: {email: ann@example.org}}";
    env.write("org.yaml", format!("{ORG}agents: {agents}\n"));
    env.commit_all("Ann");
    env
}

/// A server that is ended when the test is, and a browser that is logged in.
pub(crate) struct Board {
    /// Nothing where the server has a terminal of its own.
    child: Option<Child>,
    pub(crate) port: String,
    cookie: String,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut own = lines.filter(|(own, _)| own.eq_ignore_ascii_case(name));
        own.next().map(|(_, value)| value)
    }

    /// Returns the value of the first field of that name.
    fn field(&self, name: &str) -> String {
        let start = format!("name=\"{name}\" value=\"");
        let rest =
            self.body.split_once(&start).unwrap_or_else(|| panic!("{name}: {}", self.body)).1;
        rest.split('"').next().unwrap().to_owned()
    }
}

fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

fn form(fields: &[(&str, &str)]) -> String {
    let pairs = fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    pairs.collect::<Vec<_>>().join("&")
}

impl Board {
    pub(crate) fn start(env: &TestEnvironment, args: &[&str]) -> Self {
        let (mut board, link) = Self::launch(env, args);
        board.follow(&link);
        board
    }

    /// Starts a server, and returns it with the link that it prints.
    fn launch(env: &TestEnvironment, args: &[&str]) -> (Self, String) {
        Self::launch_with(env, args, &[])
    }

    /// Does the same with variables of the environment.
    fn launch_with(
        env: &TestEnvironment,
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> (Self, String) {
        let mut command = env.aof_command(&[&["--json", "serve", "--port", "0"], args].concat());
        // Files have the times of the real clock, so the watcher has it too.
        command.env_remove("AOF_NOW").stdout(Stdio::piped()).stdin(Stdio::null());
        command.envs(variables.iter().copied());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let serving: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        Self::of(Some(child), &serving)
    }

    /// Returns the server that printed this when it started, with the link.
    fn of(child: Option<Child>, serving: &Value) -> (Self, String) {
        let port = serving["url"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
        (Self { child, port, cookie: String::new() }, serving["link"].as_str().unwrap().to_owned())
    }

    /// Starts a server at a terminal of its own, and returns it with the link that it prints.
    fn launch_at_terminal(env: &TestEnvironment, args: &[&str]) -> (Seat, Self, String) {
        let words = [&["--json", "serve", "--port", "0"], args].concat();
        let seat = at_terminal(env, &words);
        let mut serving = Value::Null;
        eventually("the server is at its port", || {
            let shown = seat.screen(24, 400).screen().contents();
            let line = shown.lines().find(|line| line.contains("\"serving\""));
            serving = line.and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
            serving["link"].is_string()
        });
        let (board, link) = Self::of(None, &serving);
        (seat, board, link)
    }

    /// Logs in by a link, as another browser would.
    fn follow(&mut self, link: &str) {
        self.cookie = String::new();
        let answer = self.get(path_of(link));
        assert_eq!(answer.status, 303, "{}", answer.head);
        self.take_cookie(&answer);
        eventually("the board is read", || self.get("/project/").status == 200);
    }

    fn take_cookie(&mut self, answer: &Answer) {
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap();
        cookie.clone_into(&mut self.cookie);
    }

    /// Sends these bytes, and reads what comes back.
    fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", self.port)).unwrap();
        // A server that refuses may answer before it has read everything.
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let (port, cookie) = (&self.port, &self.cookie);
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\nConnection: close\r\n{headers}\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.request("GET", path, "", "")
    }

    /// Sends a form, as a page of the server does.
    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let kind = "Content-Type: application/x-www-form-urlencoded";
        let headers = format!("Origin: http://localhost:{}\r\n{kind}\r\n", self.port);
        self.request("POST", path, &headers, &form(fields))
    }

    /// Returns what every form of a page has to carry.
    pub(crate) fn token(&self) -> String {
        self.get("/project/new").field("form")
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts a command of the real clock at a terminal of its own.
fn at_terminal(env: &TestEnvironment, words: &[&str]) -> Seat {
    Seat::with(env, words, |command| {
        command.env_remove("AOF_NOW").env("TERM", "xterm");
    })
}

/// Returns the link that `aof serve --link` prints as JSON, at a terminal or elsewhere.
fn fresh_link(env: &TestEnvironment, is_at_terminal: bool) -> Value {
    let words = ["--json", "serve", "--link"];
    if !is_at_terminal {
        let output = env.aof_command(&words).env_remove("AOF_NOW").output().unwrap();
        return serde_json::from_slice(&output.stdout).unwrap();
    }
    let (status, shown) = at_terminal(env, &words).ends();
    assert!(status.success(), "{shown}");
    let json = &shown[shown.find('{').unwrap()..=shown.rfind('}').unwrap()];
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {shown}"))
}

fn path_of(link: &str) -> &str {
    let rest = link.split_once("://").unwrap().1;
    &rest[rest.find('/').unwrap()..]
}

fn entries(env: &TestEnvironment, id: &str) -> usize {
    env.task_text(id).matches("completion:").count()
}

#[test]
fn a_form_completes_a_task_once_however_often_it_is_sent() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let board = Board::start(&env, &["--agent", "agent-7"]);
    assert!(board.get("/project/").body.contains("Add login"));
    let path = format!("/project/tasks/{id}");
    let page = board.get(&path);
    let (ticket, completion, token) = (page.field("ticket"), page.field("id"), page.field("form"));
    let fields = [
        ("form", token.as_str()),
        ("act", "complete"),
        ("ticket", &ticket),
        ("outcome", "complete"),
        ("id", &completion),
        ("summary", "Wrote it\r\nand tested it"),
    ];
    for _ in 0..2 {
        let answer = board.post(&path, &fields);
        assert_eq!(
            (answer.status, answer.header("location")),
            (303, Some(path.as_str())),
            "{}",
            answer.body
        );
    }
    assert_eq!(entries(&env, &id), 1);
    assert!(env.task_text(&id).contains("Wrote it"), "{}", env.task_text(&id));
    // An old tab, with a completion of its own: nothing happens, it says so, and what was typed is still there.
    let fields = [
        ("form", token.as_str()),
        ("act", "complete"),
        ("ticket", &ticket),
        ("outcome", "complete"),
        ("id", "c2"),
        ("summary", "From an old tab"),
    ];
    let late = board.post(&path, &fields);
    assert_eq!(late.status, 409);
    assert!(
        late.body.contains("role=\"alert\"") && late.body.contains("From an old tab"),
        "{}",
        late.body
    );
    assert_eq!(entries(&env, &id), 1);
    let _ = env.aof(&["verify"]).success();
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_refusal_gives_its_reason_and_keeps_the_typed_text() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let board = Board::start(&env, &["--agent", "agent-7"]);
    let path = format!("/project/tasks/{id}");
    let page = board.get(&path);
    let fields = [
        ("form", &*page.field("form")),
        ("act", "complete"),
        ("ticket", &*page.field("ticket")),
        ("outcome", "blocked"),
        ("id", "c1"),
        ("summary", "I cannot & will not"),
    ];
    let answer = board.post(&path, &fields);
    assert_eq!(answer.status, 409);
    assert!(
        answer.body.contains("I cannot &amp; will not") && answer.body.contains("blocker"),
        "{}",
        answer.body
    );
    assert_eq!(entries(&env, &id), 0);
}

#[test]
fn a_task_is_created_edited_and_commented_in_the_browser() {
    let env = project_of_ann();
    let board = Board::start(&env, &["--agent", "human-ann"]);
    let token = board.token();
    let new = [
        ("form", token.as_str()),
        ("act", "create"),
        ("title", "From the browser"),
        ("priority", "high"),
        ("tags", "web, api"),
        ("body", "One\r\n\r\nTwo\r\n\r\nThree\r\n"),
    ];
    let created = board.post("/project/new", &new);
    assert_eq!(created.status, 303, "{}", created.body);
    let path = created.header("location").unwrap().to_owned();
    let id = path.rsplit('/').next().unwrap().to_owned();
    assert!(board.get(&path).body.contains("From the browser"));
    let text = env.task_text(&id);
    assert!(text.contains("priority: high") && text.ends_with("One\n\nTwo\n\nThree\n"), "{text}");
    // Somebody changes another line meanwhile: both changes stay.
    let was = "\r\nOne\r\n\r\nTwo\r\n\r\nThree\r\n";
    let body_was = if text.contains("---\n\nOne") { was } else { was.trim_start() };
    let edit = |body: &str| {
        let body = body_was.replace("One", body);
        let fields = [
            ("form", token.as_str()),
            ("act", "edit"),
            ("title-was", "From the browser"),
            ("title", "From the browser"),
            ("was", body_was),
            ("body", &body),
        ];
        board.post(&format!("{path}/edit"), &fields)
    };
    let _ =
        env.aof(&["edit", &id, "--body", "One\n\nTwo\n\nDrei\n", "--title", "By Bob"]).success();
    let saved = edit("Eins");
    assert_eq!(saved.status, 303, "{}", saved.body);
    let text = env.task_text(&id);
    assert!(text.contains("Eins") && text.contains("Drei") && text.contains("By Bob"), "{text}");
    // The same line: nothing is written, and both texts are shown.
    let refused = edit("Uno");
    assert_eq!(refused.status, 409);
    assert!(refused.body.contains("Uno") && refused.body.contains("Eins"), "{}", refused.body);
    assert!(!env.task_text(&id).contains("Uno"));
    let said =
        [("form", token.as_str()), ("act", "comment"), ("ticket", &id), ("reason", "Looks fine")];
    assert_eq!(board.post(&path, &said).status, 303);
    assert!(env.task_text(&id).contains("Looks fine"));
    // Each commit is there, with its author and what it changed.
    let log = board.get(&format!("{path}/log"));
    for part in ["comment", "+Looks fine", "-title: From the browser", "+title: By Bob"] {
        assert!(log.body.contains(part), "{part}: {}", log.body);
    }
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn a_mention_waits_until_its_task_is_opened() {
    let env = project_of_ann();
    let id = env.new_task(&["Add login"]);
    let told = |text: &str| {
        let _ = env.aof(&["comment", &id, "-m", text, "--agent", "agent-3"]).success();
    };
    told("Ask @ann, and not `@ann` or ann@ann");
    let status = || {
        let output = env.aof_command(&["status", "--agent", "human-ann"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let lines: Vec<String> = status().lines().map(str::to_owned).collect();
    let at = lines.iter().position(|line| line.starts_with("Mentioned: 1")).unwrap();
    assert!(lines[at + 1].contains("Add login") && lines[at + 1].contains("@agent-3"), "{lines:?}");

    let board = Board::start(&env, &["--agent", "human-ann"]);
    let waits = || board.get("/project/waiting").body.contains("</b> mentioned you");
    assert!(waits());
    let path = format!("/project/tasks/{id}");
    // A menu of acts reads the page, and nobody sees it.
    let _ = board.request("GET", &path, "X-Live: 1\r\n", "");
    assert!(waits());
    assert_eq!(board.get(&path).status, 200);
    assert!(!waits());
    assert!(!status().contains("Mentioned"));
    told("@human-ann once more");
    eventually("the newer one waits", waits);
    let _ = env.aof(&["comment", &id, "-m", "Yes", "--agent", "human-ann"]).success();
    eventually("an answer shows that it was read", || !waits());
}

#[test]
fn strangers_and_other_web_sites_get_nothing() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let mut board = Board::start(&env, &["--agent", "agent-7"]);
    let path = format!("/project/tasks/{id}");
    let page = board.get(&path);
    let complete = [
        ("act", "complete"),
        ("ticket", &*page.field("ticket")),
        ("outcome", "complete"),
        ("id", "c1"),
        ("summary", "Done"),
        ("form", &*page.field("form")),
    ];
    let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
    let own = format!("Origin: http://localhost:{}\r\n{kind}", board.port);
    let mut refused = vec![
        (403, board.request("POST", &path, kind, &form(&complete)), "no origin"),
        (
            403,
            board.request(
                "POST",
                &path,
                &format!("Origin: http://evil.example\r\n{kind}"),
                &form(&complete),
            ),
            "another site",
        ),
        (
            403,
            board.request("POST", &path, &format!("Origin: null\r\n{kind}"), &form(&complete)),
            "a sandboxed page",
        ),
        (403, board.request("POST", &path, &own, &form(&complete[..5])), "no form token"),
        (
            413,
            board.request("POST", &path, &own, &format!("summary={}", "x".repeat(1_100_000))),
            "too much",
        ),
        (404, board.get("/project/tasks/..%2f..%2forg.yaml"), "a path out of the tasks"),
        (404, board.get("/assets/..%2f..%2fCargo.toml"), "a path out of the assets"),
        (404, board.get("/other/"), "another project"),
        (404, board.get("/project/tasks/AOF-none"), "a task that is not there"),
    ];
    let rebound = format!(
        "GET /project/ HTTP/1.1\r\nHost: rebound.example:{}\r\nCookie: {}\r\nConnection: close\r\n\r\n",
        board.port, board.cookie
    );
    refused.push((421, board.send(&rebound), "another name"));
    let cookie = std::mem::replace(&mut board.cookie, "aof-1=x".to_owned());
    refused.push((401, board.get("/project/"), "no cookie"));
    refused.push((401, board.get("/events"), "the stream"));
    refused.push((
        401,
        board.request("POST", &path, &own, &form(&complete)),
        "a form without a cookie",
    ));
    refused.push((401, board.get("/login?token=1.2.3"), "a made-up link"));
    for (status, answer, why) in &refused {
        assert_eq!(answer.status, *status, "{why}: {}", answer.head);
    }
    board.cookie = cookie;
    assert_eq!(entries(&env, &id), 0);
    let answer = board.get("/project/");
    let policy = answer.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    for inline in ["<style", "style=\"", "<script>", "onclick", "javascript:"] {
        assert!(!answer.body.contains(inline) && !page.body.contains(inline), "{inline}");
    }
}

#[test]
fn a_link_is_used_once_and_a_fresh_one_is_printed() {
    let env = TestEnvironment::new();
    let none = env.aof(&["serve", "--link"]).code(4);
    assert!(none.stderr.contains("no `aof serve` runs in this project"), "{none}");
    let board = Board::start(&env, &["--agent", "agent-7"]);
    let output = env.aof_command(&["serve", "--link"]).env_remove("AOF_NOW").output().unwrap();
    let link = String::from_utf8(output.stdout).unwrap();
    let path = path_of(link.trim());
    let first = board.get(path);
    assert_eq!(first.status, 303);
    assert!(first.header("set-cookie").unwrap().contains("; HttpOnly; SameSite=Strict;"));
    assert_eq!(board.get(path).status, 401);
}

#[test]
fn without_a_terminal_or_an_agent_the_board_only_shows() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let board = Board::start(&env, &[]);
    let path = format!("/project/tasks/{id}");
    let page = board.get(&path);
    assert!(
        page.body.contains("read-only: ") && !page.body.contains("name=\"outcome\""),
        "{}",
        page.body
    );
    let token = board.token();
    let fields = [("form", token.as_str()), ("act", "hold"), ("ticket", &id), ("reason", "x")];
    let answer = board.post(&path, &fields);
    assert_eq!(answer.status, 409);
    assert!(answer.body.contains("you only look"), "{}", answer.body);
    assert!(!env.task_text(&id).contains("held"));
}

#[test]
fn hostile_texts_are_inert_everywhere() {
    let env = project_of_ann();
    let evil = "<script>alert(1)</script><img src=x onerror=alert(2)>";
    let id = env.new_task(&[
        evil,
        "--body",
        &format!("{evil}\n\n[x](javascript:alert(3))\n"),
        "--tag",
        "a<b",
    ]);
    let _ =
        env.aof(&["complete", &id, "--agent", "agent-7", "-o", "complete", "-s", evil]).success();
    let board = Board::start(&env, &["--agent", "human-ann"]);
    for path in [
        "/project/",
        "/project/waiting",
        "/project/activity",
        "/project/status",
        &format!("/project/tasks/{id}"),
        &format!("/project/tasks/{id}/edit"),
    ] {
        let page = board.get(path);
        assert_eq!(page.status, 200, "{path}");
        for hostile in ["<script>alert", "<img", "href=\"javascript"] {
            assert!(!page.body.contains(hostile), "{path}: {hostile}\n{}", page.body);
        }
    }
    let filtered = board.get("/project/?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E");
    assert!(!filtered.body.contains("<script>alert"), "{}", filtered.body);
}

#[test]
fn changes_of_another_process_come_by_the_stream_and_a_signal_ends_all() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let mut board = Board::start(&env, &["--agent", "agent-7"]);
    let mut stream = TcpStream::connect(format!("127.0.0.1:{}", board.port)).unwrap();
    let (port, cookie) = (&board.port, &board.cookie);
    let ask = format!("GET /events HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\n\r\n");
    stream.write_all(ask.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut version = || {
        let data = lines.find_map(|line| Some(line.ok()?.strip_prefix("data: ")?.to_owned()));
        let data: Value = serde_json::from_str(&data.unwrap()).unwrap();
        assert_eq!(data["project"], "project");
        data["version"].as_str().unwrap().to_owned()
    };
    let first = version();
    // A comment is on no card, but on the task's page.
    let _ = env.aof(&["comment", &id, "-m", "Looks fine", "--agent", "agent-7"]).success();
    let second = version();
    assert_ne!(second, first);
    let _ = env.complete(&id, "agent-7").success();
    assert_ne!(version(), second);
    assert_eq!(board.get("/healthz").status, 200);
    assert!(board.get("/metrics").body.contains("# HELP aof_"), "{}", board.get("/metrics").body);
    eventually("the page shows it", || {
        board.get(&format!("/project/tasks/{id}")).body.contains("Did it")
    });
    let child = board.child.as_mut().unwrap();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(child.wait().unwrap().success());
    let ended: Vec<_> = lines.filter_map(Result::err).collect();
    assert!(ended.is_empty(), "the stream ended in the middle: {ended:?}");
}

#[test]
fn people_log_in_by_name_and_act_as_their_agents() {
    let env = project_of_ann();
    let id = env.new_task(&["Add login"]);
    let hash = env.aof_reading(&["serve", "--hash-password"], b"correct horse battery\n").success();
    let weak = env.aof_reading(&["serve", "--hash-password"], b"horse\n").code(4);
    assert!(weak.stderr.contains("at least 10 characters"), "{weak}");
    let users = format!(
        "ann: {{agent: human-ann, password: {}}}\nseven: {{agent: agent-7, password: {0}}}\n",
        hash.stdout.trim()
    );
    let file = env.home().join("users.yaml");
    std::fs::write(&file, users).unwrap();
    let name = file.to_str().unwrap();
    let exposed = env.aof(&["serve", "--users", name]).code(4);
    assert!(exposed.stderr.contains("chmod 600"), "{exposed}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let (mut board, link) = Board::launch(&env, &["--users", name]);
    assert!(link.ends_with('/'), "{link}");
    let asked = board.get("/project/status?x=1");
    let login = asked.header("location").unwrap();
    let to = board.get(login).field("to");
    assert_eq!(to, "/project/status?x=1");
    assert!(board.get("/login").body.contains("type=\"password\""));
    let log_in = |board: &Board, login: &str, password: &str| {
        board.post("/login", &[("login", login), ("password", password)])
    };
    assert_eq!(log_in(&board, "seven", "wrong horse battery").status, 401);
    let right = log_in(&board, "seven", "correct horse battery");
    assert_eq!(right.status, 303, "{}", right.body);
    board.take_cookie(&right);
    eventually("the board is read", || board.get("/project/").status == 200);
    let page = board.get(&format!("/project/tasks/{id}"));
    assert!(
        page.body.contains("aria-label=\"agent-7\"") && page.body.contains("name=\"outcome\""),
        "{}",
        page.body
    );
    // Elsewhere leads no login. What somebody does is theirs in git, too.
    for (to, place) in [
        (to.as_str(), to.as_str()),
        ("//evil.example", "/"),
        ("/\t/evil.example", "/"),
        ("/\\evil.example", "/"),
    ] {
        let fields = [("login", "ann"), ("password", "correct horse battery"), ("to", to)];
        let right = board.post("/login", &fields);
        assert_eq!(right.header("location"), Some(place));
        board.take_cookie(&right);
    }
    let token = board.token();
    let new = [("form", token.as_str()), ("act", "create"), ("title", "By Ann")];
    assert_eq!(board.post("/project/new", &new).status, 303);
    let author = env.git(&["log", "-1", "--format=%an <%ae>"]);
    assert_eq!(author.trim(), "human-ann <ann@example.org>");
    // Whoever guesses has to wait.
    board.cookie = String::new();
    let guesses: Vec<u16> = (0..8).map(|_| log_in(&board, "ann", "guess").status).collect();
    assert!(guesses.starts_with(&[401]) && guesses.ends_with(&[429]), "{guesses:?}");
}

#[test]
fn an_agent_works_over_http_with_its_token() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let made = env.aof_command(&["--json", "mcp", "token", "agent-7"]).output().unwrap();
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let token = made["token"].as_str().unwrap();
    let (board, _) = Board::launch(&env, &[]);
    let call = |token: &str, more: &str, message: &Value| {
        let headers =
            format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n{more}");
        board.request("POST", "/mcp", &headers, &message.to_string())
    };
    let tool = |name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let next = tool("aof_task_next", json!({}));
    assert_eq!(call("aof_guess", "", &next).status, 401);
    assert_eq!(call(token, "Origin: http://evil.example\r\n", &next).status, 403);
    assert_eq!(board.get("/mcp").status, 405);
    let given = call(token, "", &next);
    assert!(given.status == 200 && given.body.contains(&id), "{}", given.body);
    let done =
        tool("aof_task_complete", json!({"task": id, "outcome": "complete", "summary": "By HTTP"}));
    let done = call(token, "", &done);
    assert!(done.status == 200 && done.body.contains("\"isError\":false"), "{}", done.body);
    assert!(env.task_text(&id).contains("By HTTP"));
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn programs_read_and_act_by_json_and_follow_the_events() {
    let env = project_of_ann();
    let id = env.new_task(&["Add login", "--tag", "api"]);
    let made = env.aof_command(&["--json", "mcp", "token", "agent-7"]).output().unwrap();
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let bearer = format!("Authorization: Bearer {}\r\n", made["token"].as_str().unwrap());
    let mut board = Board::start(&env, &["--agent", "human-ann"]);
    let cookie = std::mem::take(&mut board.cookie);
    let ask = |method: &str, path: &str, body: &str| {
        let path = format!("/api/v1/project{path}");
        let answer = board.request(method, &path, &format!("{bearer}Accept: */*\r\n"), body);
        (answer.status, serde_json::from_str::<Value>(&answer.body).unwrap_or_default())
    };
    let get = |path: &str| ask("GET", path, "");
    let act = |path: &str, body: &Value| ask("POST", path, &body.to_string());

    // The same shapes as on the command line.
    let by_command = |args: &[&str]| {
        let output = env.aof_command(&[&["--json"], args].concat()).output().unwrap();
        let mut value: Value = serde_json::from_slice(&output.stdout).unwrap();
        value.as_object_mut().unwrap().remove("jsonVersion");
        value
    };
    let of_command = by_command(&["show", &id]);
    assert_eq!(get(&format!("/tasks/{id}")), (200, of_command));
    let (status, listed) = get("/tasks?status=ready&tag=api");
    assert_eq!(status, 200, "{listed}");
    let of_command = by_command(&["list", "--tag", "api"]);
    for field in ["id", "title", "gate", "role", "tags"] {
        assert_eq!(listed["tasks"][0][field], of_command["tasks"][0][field], "{field}");
    }
    assert_eq!(get("/tasks?tag=nobody").1["tasks"], json!([]));
    assert_eq!(get("/status").1["counts"], by_command(&["status"])["counts"]);
    assert_eq!(get("/board").1["lanes"][0]["columns"][0]["cards"][0]["id"], json!(id));
    assert_eq!(get("/statistics").0, 200);
    let document = serde_json::from_str::<Value>(&board.get("/api/v1/openapi.json").body).unwrap();
    let create = &document["paths"]["/api/v1/{project}/tasks"]["post"];
    assert_eq!(
        create["requestBody"]["content"]["application/json"]["schema"]["required"],
        json!(["title"])
    );
    let answer = &create["responses"]["2XX"]["content"]["application/json"]["schema"];
    assert_eq!(answer["required"], json!(["said", "task"]), "{document}");

    // What is wrong is said, and changes nothing.
    let before = env.task_text(&id);
    let complete = format!("/tasks/{id}/complete");
    let ticket = format!("{id}@0");
    let other = env.new_task(&["Another"]);
    for (path, body, status, why) in [
        ("/tasks?stauts=ready", None, 400, "nothing reads `stauts`"),
        ("/tasks?status=redy", None, 400, "there is no status `redy`"),
        ("/tasks?gate=nowhere", None, 404, "nowhere"),
        ("/tasks/AOF-none", None, 404, "AOF-none"),
        ("/nothing", None, 404, "there is no such address"),
        (&complete, Some(json!([])), 400, "the body is no JSON object"),
        (&complete, Some(json!({"outcom": "complete"})), 400, "nothing reads `outcom`"),
        (&complete, Some(json!({"outcome": "complete"})), 400, "`ticket`"),
        (
            &complete,
            Some(json!({"ticket": format!("{other}@0"), "outcome": "complete", "summary": "x"})),
            400,
            "the form is not for",
        ),
        (
            &complete,
            Some(json!({"ticket": format!("{id}@9"), "outcome": "complete", "summary": "x"})),
            409,
            "no visit 9",
        ),
        (&complete, Some(json!({"ticket": ticket, "outcome": "complete"})), 409, "summary"),
        (
            &complete,
            Some(json!({"ticket": id, "outcome": "complete", "summary": "x"})),
            400,
            "names no visit",
        ),
        (
            &complete,
            Some(json!({"ticket": ticket, "outcome": "complete", "summary": "x", "outputs": 5})),
            400,
            "`outputs` has to be an object",
        ),
        ("/tasks", Some(json!({"title": 5})), 400, "`title` has to be a text"),
        ("/tasks", Some(json!({"title": "x", "tags": ["a", 5]})), 400, "a list of texts"),
        ("/tasks", Some(json!({"title": "x", "priority": "urgent"})), 400, "urgent"),
        ("/tasks", Some(json!({"tags": []})), 400, "`title` is missing"),
    ] {
        let (found, answer) = body.map_or_else(|| get(path), |body| act(path, &body));
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(found == status && message.contains(why), "{path}: {found} {answer}");
    }
    let stranger = board.request("GET", "/api/v1/project/tasks", "", "");
    assert_eq!(stranger.status, 401, "{}", stranger.body);
    let wrong = "Authorization: Bearer aof_guess\r\n";
    assert_eq!(board.request("GET", "/api/v1/project/tasks", wrong, "").status, 401);
    let evil = format!("{bearer}Origin: http://evil.example\r\n");
    assert_eq!(
        board.request("POST", &format!("/api/v1/project{complete}"), &evil, "{}").status,
        403
    );
    for (method, path, body, status) in [
        ("PUT", "/tasks", String::new(), 405),
        ("POST", "/tasks", "x".repeat(1024 * 1024 + 1), 413),
    ] {
        let (found, answer) = ask(method, path, &body);
        assert!(found == status && answer["message"].is_string(), "{path}: {found} {answer}");
    }
    assert_eq!(env.task_text(&id), before);

    // A completion counts once, and its event comes with an id to go on from.
    let mut follow = Events::open(&board, &bearer, None);
    let wanted =
        json!({"ticket": ticket, "outcome": "complete", "summary": "By JSON", "id": "api-1"});
    let (status, done) = act(&complete, &wanted);
    assert_eq!((status, &done["task"]["id"]), (200, &json!(id)), "{done}");
    assert_eq!(act(&complete, &wanted).0, 200);
    assert_eq!(entries(&env, &id), 1);
    // Whoever judges says why, as on the command line.
    let made = env.aof_command(&["--json", "mcp", "token", "agent-3"]).output().unwrap();
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let judge = format!("Authorization: Bearer {}\r\n", made["token"].as_str().unwrap());
    let silent = json!({"ticket": format!("{id}@1"), "outcome": "complete"}).to_string();
    let silent = board.request("POST", &format!("/api/v1/project{complete}"), &judge, &silent);
    assert!(silent.status == 409 && silent.body.contains("missing_summary"), "{}", silent.body);
    let (first, event) = follow.next();
    assert_eq!((&event["taskId"], &event["agent"]), (&json!(id), &json!("agent-7")), "{event}");
    let (status, refused) = act("/tasks", &json!({"title": "By JSON"}));
    assert_eq!((status, &refused["error"]), (409, &json!("not_permitted")), "{refused}");
    // A page of the board may ask, too; its person may create tasks.
    board.cookie = cookie;
    let own = format!("Origin: http://localhost:{}\r\n", board.port);
    let wanted = json!({"title": "By JSON", "tags": ["a b", "c"]}).to_string();
    let created = board.request("POST", "/api/v1/project/tasks", &own, &wanted);
    assert!(
        created.status == 201 && created.body.contains(r#""tags":["a b","c"]"#),
        "{}",
        created.body
    );
    assert_eq!(board.request("POST", "/api/v1/project/tasks", "", &wanted).status, 403);
    let second = follow.next();
    assert_eq!(Events::open(&board, &bearer, Some(&first)).next(), second);

    // An agent that is no longer there says nothing more, and hears nothing more.
    let org = env.read("org.yaml");
    env.write("org.yaml", org.replace("agent-7", "agent-9"));
    env.commit_all("agent-7 leaves");
    board.cookie = String::new();
    let said = json!({"ticket": other, "reason": "Still here"}).to_string();
    let path = format!("/api/v1/project/tasks/{other}/comment");
    let refused = board.request("POST", &path, &bearer, &said);
    assert!(refused.status == 404 && refused.body.contains("unknown_agent"), "{}", refused.body);
    let _ = env.aof(&["mcp", "token", "--revoke", "agent-7"]).success();
    let _ = env.new_task(&["Nothing for agent-7"]);
    assert!(follow.0.any(|line| line.unwrap() == "0"), "the stream ends");
    let _ = env.aof(&["verify"]).success();
}

/// The stream of a project's events.
struct Events(std::io::Lines<BufReader<TcpStream>>);

impl Events {
    fn open(board: &Board, bearer: &str, after: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", board.port)).unwrap();
        let after = after.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let head = "GET /api/v1/project/events HTTP/1.1\r\nHost: localhost";
        let ask = format!("{head}:{}\r\n{bearer}{after}\r\n", board.port);
        stream.write_all(ask.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "HTTP/1.1 200 OK");
        Self(lines)
    }

    /// Returns the next event with its id.
    fn next(&mut self) -> (String, Value) {
        let (mut id, mut data) = (None, None);
        while id.is_none() || data.is_none() {
            let line = self.0.next().unwrap().unwrap();
            id = line.strip_prefix("id: ").map(str::to_owned).or(id);
            data = line
                .strip_prefix("data: ")
                .map(|text| serde_json::from_str(text).unwrap())
                .or(data);
        }
        (id.unwrap(), data.unwrap())
    }
}

#[test]
fn a_commit_is_exported_as_the_same_files_each_time() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add <login>"]);
    let _ = env.complete(&id, "agent-7");
    // As CI has it.
    let _ = env.git(&["switch", "-q", "--detach"]);
    let export = |folder: &str| env.aof(&["board", "--export", folder]);
    let out = |name: &str| env.home().join(name).to_str().unwrap().to_owned();
    let (one, two) = (out("one"), out("two"));
    let _ = export(&one).success();
    env.pass_minutes(90);
    let _ = export(&two).success();
    let mut diff = env.command("diff");
    diff.args(["-r", &one, &two]);
    assert_eq!(env.run(diff).success().stdout, "");
    let read = |name: &str| std::fs::read_to_string(format!("{one}/{name}")).unwrap();
    let board = read("index.html");
    assert!(
        board.contains("Add &lt;login&gt;")
            && board.contains(&format!("href=\"./tasks/{id}.html\"")),
        "{board}"
    );
    let task = read(&format!("tasks/{id}.html"));
    assert!(task.contains("href=\"../assets/board.css\"") && task.contains("Did it"), "{task}");
    assert!(!task.contains("detached") && !task.contains("<script"), "{task}");
    for page in ["activity", "statistics", "verify", "workflows/default"] {
        let text = read(&format!("{page}.html"));
        for live in ["<form", "href=\"/", "read-only"] {
            assert!(!text.contains(live), "{page}: {live}");
        }
    }
    let full = export(&one).code(4);
    assert!(full.stderr.contains("has files already"), "{full}");
    let path = env.task_path(&id);
    env.write(&path, env.read(&path).replace("Add", "Change"));
    let changed = export(&out("three")).code(4);
    assert!(changed.stderr.contains("is not committed"), "{changed}");
}

const WITH_ADA: &str = "\
roles:
  backend: {agents: [agent-1, agent-2, human-ada]}
  architect: {agents: [agent-9]}
agents:
  agent-1: {}
  agent-2: {}
  agent-9: {}
  human-ada: {email: ada@example.org}
";

/// Sends a form of a task's page, and returns the status with the page.
fn send_form(board: &Board, id: &str, fields: &[(&str, &str)]) -> (u16, String) {
    let token = board.token();
    let all = [&[("form", token.as_str()), ("ticket", id)], fields].concat();
    let answer = board.post(&format!("/project/tasks/{id}"), &all);
    (answer.status, answer.body)
}

/// Sends JSON to the address of an act, as a page of the board may.
fn send_json(board: &Board, id: &str, act: &str, body: &Value) -> (u16, String) {
    let own = format!("Origin: http://localhost:{}\r\n", board.port);
    let path = format!("/api/v1/project/tasks/{id}/{act}");
    let answer = board.request("POST", &path, &own, &body.to_string());
    (answer.status, answer.body)
}

/// Returns the problem without the marks of pages and JSON.
fn plain_text(page: &str) -> String {
    page.replace("<code>", "`").replace("</code>", "`").replace("&#39;", "'")
}

#[test]
fn no_door_gives_a_task_to_anybody_unless_the_remote_confirms_it() {
    let clones = Clones::with_org(&synced_project(), WITH_ADA, &[]);
    let env = &clones.env;
    let id = env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    let board = Board::start(env, &["--agent", "human-ada"]);
    std::fs::rename(env.path("../hub.git"), env.path("../gone.git")).unwrap();
    let before = (env.head(), env.task_text(&id));
    let why = "nothing can be claimed, because `origin/main` cannot be reached";

    for words in [
        &["assign", "--claim", &id, "agent-2"][..],
        &["claim", &id],
        &["next"],
        &["assign", "--claim", &format!("{id}@0"), "agent-2"],
    ] {
        let output = env.aof(&[words, &["--agent", "human-ada"]].concat()).code(1);
        assert!(output.stderr.contains(why), "{output}");
    }
    for fields in [&[("act", "assign"), ("agent", "agent-2")][..], &[("act", "claim")]] {
        let (status, page) = send_form(&board, &id, fields);
        assert!(status == 409 && plain_text(&page).contains(why), "{fields:?}: {status} {page}");
    }
    for (act, body) in [
        ("assign", json!({"ticket": id, "agent": "agent-2"})),
        ("assign", json!({"ticket": format!("{id}@0"), "agent": "human-ada"})),
        ("claim", json!({"ticket": id})),
    ] {
        let (status, answer) = send_json(&board, &id, act, &body);
        assert!(status == 503 && answer.contains("\"error\":\"offline\""), "{act}: {answer}");
        assert!(answer.contains(why), "{act}: {answer}");
    }
    let mut client = McpClient::start(env, Era::New, &["--agent", "agent-1"]);
    let refused = client.refused("aof_task_next", json!({}));
    assert!(refused["message"].as_str().unwrap().contains(why), "{refused:#}");
    let _ = client.end();
    let seat = Seat::of(env, &["board"]);
    seat.screen_has("Add login");
    seat.presses("p");
    seat.screen_has("nothing can be claimed");
    seat.presses("\x1b");
    seat.screen_lacks("nothing can be claimed");
    seat.presses("q");
    let _ = seat.ends();

    assert_eq!((env.head(), env.task_text(&id)), before);
    std::fs::rename(env.path("../gone.git"), env.path("../hub.git")).unwrap();
    let (status, answer) =
        send_json(&board, &id, "assign", &json!({"ticket": id, "agent": "agent-2"}));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(env.git(&["rev-list", "--count", "origin/main..HEAD"]).trim(), "0");
}

#[test]
fn the_board_assigns_nothing_that_another_worktree_has() {
    let env = TestEnvironment::with_rules(PROJECT, WITH_ADA);
    let id = env.new_task(&["Add login"]);
    env.git(&["worktree", "add", "--quiet", "-b", "feature", "../feature"]);
    let mut there = env.aof_command(&["next", "--agent", "agent-1"]);
    there.current_dir(env.path("../feature"));
    let _ = env.run(there).success();
    let board = Board::start(&env, &["--agent", "human-ada"]);
    let before = (env.head(), env.task_text(&id));
    let by_command =
        env.aof(&["assign", "--claim", &id, "agent-2", "--agent", "human-ada"]).code(5);
    assert!(by_command.stderr.contains("in the worktree"), "{by_command}");
    let (status, page) = send_form(&board, &id, &[("act", "assign"), ("agent", "agent-2")]);
    assert!(status == 409 && page.contains("in the worktree"), "{status} {page}");
    let wanted = json!({"ticket": id, "agent": "agent-2"});
    let (status, answer) = send_json(&board, &id, "assign", &wanted);
    assert!(status == 409 && answer.contains("taken_elsewhere"), "{status} {answer}");
    assert_eq!((env.head(), env.task_text(&id)), before);
}

/// What the browser may do: whether each act was carried out, or refused because it only looks.
fn may_act(board: &Board, env: &TestEnvironment, id: &str) -> bool {
    let page = board.get(&format!("/project/tasks/{id}")).body;
    let before = env.head();
    let hold = [("act", "hold"), ("reason", "By form")];
    let resume = [("act", "unblock"), ("reason", "")];
    let create = [("act", "create"), ("title", "By form"), ("form", &board.token())];
    let edit = [("act", "edit"), ("title", "Another"), ("title-was", "Add login"), ("was", "")];
    let comment = json!({"ticket": id, "reason": "By JSON"});
    let answers = [
        send_form(board, id, &hold),
        send_form(board, id, &resume),
        send_json(board, id, "comment", &comment),
        {
            let made = board.post("/project/new", &create);
            (made.status, made.body)
        },
        {
            let token = board.token();
            let fields = [&[("form", token.as_str())][..], &edit].concat();
            let saved = board.post(&format!("/project/tasks/{id}/edit"), &fields);
            (saved.status, saved.body)
        },
    ];
    if answers.iter().all(|(status, _)| [200, 303].contains(status)) {
        assert!(page.contains("you act as"), "{page}");
        assert_eq!(env.git(&["rev-list", "--count", &format!("{before}..HEAD")]).trim(), "5");
        let _ = env.aof(&["edit", id, "--title", "Add login", "--agent", "human-ada"]).success();
        return true;
    }
    for (status, answer) in answers {
        assert!([403, 409].contains(&status) && answer.contains("you only look"), "{answer}");
    }
    assert!(page.contains("read-only: ") && !page.contains("name=\"act\""), "{page}");
    assert_eq!(env.head(), before);
    false
}

#[test]
fn a_link_acts_only_if_requested_at_a_terminal() {
    let env = TestEnvironment::with_rules(PROJECT, WITH_ADA);
    let id = env.new_task(&["Add login"]);
    let (mut seat, mut board, first) = Board::launch_at_terminal(&env, &[]);
    board.follow(&first);
    assert!(may_act(&board, &env, &id), "the link that the terminal shows");
    assert!(!env.git(&["log", "-6", "--skip=1", "--format=%B"]).contains("Aof-Named"));
    let shows = fresh_link(&env, false);
    assert_eq!(shows["acts"], false, "{shows}");
    board.follow(shows["link"].as_str().unwrap());
    assert!(!may_act(&board, &env, &id), "a link for a program without a terminal");
    let page = board.get("/project/").body;
    assert!(page.contains("asked for without a terminal"), "{page}");
    let acts = fresh_link(&env, true);
    assert_eq!(acts["acts"], true, "{acts}");
    board.follow(acts["link"].as_str().unwrap());
    assert!(may_act(&board, &env, &id), "a link for a person at a terminal");
    let text = env.aof_command(&["serve", "--link"]).env_remove("AOF_NOW").output().unwrap();
    let warning = String::from_utf8(text.stderr).unwrap();
    assert!(warning.contains("this link only shows"), "{warning}");
    let _ = seat.child.kill();
    let _ = seat.ends();
}

#[test]
fn a_server_without_a_terminal_acts_only_as_its_starter() {
    for (args, variables, acts) in [
        (&[][..], &[][..], false),
        (&["--agent", "human-ada"], &[], true),
        (&[], &[("AOF_AGENT", "human-ada")], true),
        (&["--agent", "human-ada", "--read-only"], &[], false),
    ] {
        let env = TestEnvironment::with_rules(PROJECT, WITH_ADA);
        let id = env.new_task(&["Add login"]);
        let (mut board, first) = Board::launch_with(&env, args, variables);
        board.follow(&first);
        assert_eq!(may_act(&board, &env, &id), acts, "{args:?} {variables:?}: its first link");
        // Nobody has seen the person at a terminal: the commits say so.
        let log = env.git(&["log", "-3", "--skip=1", "--format=%B"]);
        assert_eq!(log.contains("Aof-Named: human-ada"), acts, "{args:?} {variables:?}: {log}");
        board.follow(fresh_link(&env, false)["link"].as_str().unwrap());
        assert!(!may_act(&board, &env, &id), "{args:?} {variables:?}: a link without a terminal");
        board.follow(fresh_link(&env, true)["link"].as_str().unwrap());
        assert_eq!(
            may_act(&board, &env, &id),
            acts,
            "{args:?} {variables:?}: a link at a terminal"
        );
    }
}

/// Characters that turn the direction of what follows, or of themselves.
const TURNS: [char; 12] = [
    '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}',
    '\u{2069}', '\u{200e}', '\u{200f}', '\u{61c}',
];

#[test]
fn bidirectional_control_characters_are_shown_escaped() {
    let env = TestEnvironment::with_rules(PROJECT, WITH_ADA);
    let evil = |word: &str| format!("{word}{}moc.elpmaxe", TURNS.iter().collect::<String>());
    let body = format!("{}\n\n[x](https://a.example/{})\n\n&#x202e;\n", evil("text"), evil("p"));
    let id = env.new_task(&[&evil("title"), "--body", &body, "--tag", &evil("tag")]);
    let other = env.new_task(&["Plain", "--description", &evil("about")]);
    let said = [&evil("said"), &evil("blocked")];
    let words = ["complete", &id, "--agent", "agent-1", "-o", "complete", "-s", said[0]];
    let _ = env.aof(&words).success();
    let blocked = ["--outcome", "blocked", "--summary", said[0], "--blocker", said[1]];
    let _ =
        env.aof(&[&["complete", &other, "--agent", "agent-1"][..], &blocked].concat()).success();
    let board = Board::start(&env, &["--agent", "human-ada"]);
    let task = format!("/project/tasks/{id}");
    let edit = board.get(&format!("{task}/edit")).body;
    let shown = |page: &str| {
        // Fields of forms keep what was typed, to send it back as it was.
        let mut kept = String::new();
        let mut rest = page;
        while let Some((before, field)) = rest.split_once("<textarea") {
            kept.push_str(before);
            rest = field.split_once("</textarea>").unwrap().1;
        }
        kept.push_str(rest);
        let parts = kept.split(" value=\"").enumerate().map(|(at, part)| match at {
            0 => part,
            _ => part.split_once('"').unwrap().1,
        });
        parts.collect::<String>()
    };
    let mut pages = Vec::new();
    for path in [
        "/project/",
        "/project/waiting",
        "/project/activity",
        "/project/statistics",
        "/project/status",
        "/project/verify",
        &task,
        &format!("{task}/edit"),
        &format!("{task}/diff"),
        &format!("{task}/log"),
        &format!("/project/tasks/{other}"),
        &format!("/project/tasks/{other}/log"),
        &format!("/project/?q={}", encoded(&evil("q"))),
    ] {
        let page = board.get(path);
        assert_eq!(page.status, 200, "{path}");
        pages.push((path.to_owned(), page.body));
    }
    let token = board.token();
    let fields = [("form", token.as_str()), ("body", &body)];
    pages.push(("preview".to_owned(), board.post("/project/preview", &fields).body));
    let (_, refused) = send_form(&board, &id, &[("act", "comment"), ("reason", ""), ("to", "x")]);
    pages.push(("refused".to_owned(), refused));
    let site = env.home().join("site");
    let _ = env.aof(&["board", "--export", site.to_str().unwrap()]).success();
    for name in ["index", "activity", "statistics", "verify", &format!("tasks/{id}")] {
        let text = std::fs::read_to_string(site.join(format!("{name}.html"))).unwrap();
        pages.push((name.to_owned(), text));
    }
    for (name, page) in &pages {
        let found = TURNS.into_iter().find(|turn| shown(page).contains(*turn));
        assert_eq!(found.map(|turn| turn.escape_default().to_string()), None, "{name}: {page}");
    }
    let page_of = |name: &str| &pages.iter().find(|(own, _)| own == name).unwrap().1;
    assert!(page_of(&task).contains("title\\u{202a}\\u{202b}"), "{}", page_of(&task));
    for name in ["/project/", "/project/activity", &task, "index"] {
        assert!(page_of(name).contains("dir=\"auto\""), "{name}: {}", page_of(name));
    }
    // A form that is sent as it came changes nothing.
    let between = |start: &str, end: &str| {
        let rest = edit.split_once(start).unwrap_or_else(|| panic!("{start}: {edit}")).1;
        rest.split(end).next().unwrap().replace("&amp;", "&")
    };
    let title = between("name=\"title\" dir=\"auto\" required value=\"", "\"");
    let title_was = between("name=\"title-was\" value=\"", "\"");
    let was = between("tabindex=\"-1\">\n", "</textarea>");
    let typed = between("name=\"body\" rows=\"16\">\n", "</textarea>");
    assert!(title.contains(TURNS[0]) && typed.contains(TURNS[4]), "{edit}");
    let before = env.task_text(&id);
    let fields = [
        ("form", token.as_str()),
        ("act", "edit"),
        ("title", &title),
        ("title-was", &title_was),
        ("was", &was),
        ("body", &typed),
    ];
    let saved = board.post(&format!("{task}/edit"), &fields);
    assert!([303, 409].contains(&saved.status), "{}", saved.body);
    assert_eq!(env.task_text(&id), before, "{}", saved.body);
}

#[test]
fn unknown_addresses_are_not_found_by_any_method() {
    let env = TestEnvironment::with_rules(PROJECT, WITH_ADA);
    let id = env.new_task(&["Add login"]);
    let board = Board::start(&env, &["--agent", "human-ada"]);
    let token = board.token();
    let before = env.head();
    let task = format!("/project/tasks/{id}");
    let task_nope = format!("{task}/nope");
    let other_task = format!("/nope/tasks/{id}");
    let unknown = [
        "/nope",
        "/nope/",
        "/nope/activity",
        "/nope/new",
        "/api",
        "/api/",
        "/project/nope",
        "/project/Activity",
        "/project/tasks",
        "/project/tasks/",
        "/project/activity/",
        "/project/workflows",
        &task_nope,
        &other_task,
    ];
    let fields = [("form", token.as_str()), ("act", "create"), ("title", "By a stray form")];
    for path in unknown {
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let answer = if method == "POST" {
                board.post(path, &fields)
            } else {
                let own = format!("Origin: http://localhost:{}\r\n", board.port);
                board.request(method, path, &own, "")
            };
            assert_eq!(answer.status, 404, "{method} {path}: {}", answer.body);
        }
    }
    // A page that takes no forms is there all the same.
    for path in ["/project/activity", "/project/", "/project"] {
        assert_eq!(board.post(path, &fields).status, 405, "{path}");
    }
    let body = json!({"title": "By a stray program"});
    let own = format!("Origin: http://localhost:{}\r\n", board.port);
    for path in ["/", "/nope", "/nope/tasks", "/project", "/project/tasks/", "/project/nope"] {
        let path = format!("/api/v1{path}");
        let answer = board.request("POST", &path, &own, &body.to_string());
        assert_eq!(answer.status, 404, "POST {path}: {}", answer.body);
    }
    // Only the page of new tasks creates.
    for path in [&task, &format!("{task}/edit")] {
        let answer = board.post(path, &fields);
        assert_eq!(answer.status, 409, "{path}: {}", answer.body);
        assert!(answer.body.contains("there is no act"), "{}", answer.body);
    }
    assert_eq!(env.head(), before);
    assert_eq!(board.get("/project").status, 303);
}

#[test]
fn no_proxy_holds_a_stream_back() {
    let env = TestEnvironment::with_rules(PROJECT, WITH_ADA);
    let made = env.aof_command(&["--json", "mcp", "token", "agent-1"]).output().unwrap();
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let bearer = format!("Authorization: Bearer {}\r\n", made["token"].as_str().unwrap());
    let board = Board::start(&env, &["--agent", "human-ada"]);
    let cookie = format!("Cookie: {}\r\n", board.cookie);
    for (path, who) in [
        ("/events", &cookie),
        ("/api/v1/project/events", &bearer),
        ("/api/v1/project/events", &cookie),
    ] {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", board.port)).unwrap();
        let ask = format!("GET {path} HTTP/1.1\r\nHost: localhost:{}\r\n{who}\r\n", board.port);
        stream.write_all(ask.as_bytes()).unwrap();
        let lines = BufReader::new(stream).lines().map(|line| line.unwrap().to_lowercase());
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        assert!(head.contains(&"content-type: text/event-stream".to_owned()), "{path}: {head:?}");
        assert!(head.contains(&"x-accel-buffering: no".to_owned()), "{path}: {head:?}");
    }
    assert_eq!(board.get("/project/").header("x-accel-buffering"), None);
}
