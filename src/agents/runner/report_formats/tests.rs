use proptest::prelude::*;

use super::*;
use crate::agents::runner::report::{Exit, RunOutput, TroubleKind};
use crate::storage::runs::TokenCounts;

fn printed<'p>(stdout: &'p str, stderr: &'p str, exit: Exit) -> RunOutput<'p> {
    RunOutput { stdout: stdout.as_bytes(), stderr: stderr.as_bytes(), exit }
}

fn good(stdout: &str) -> RunOutput<'_> {
    printed(stdout, "", Exit::SUCCESS)
}

fn kind(report: &Report) -> Option<TroubleKind> {
    report.trouble.as_ref().map(|trouble| trouble.kind)
}

#[test]
fn claude_says_all_in_one_object() {
    let stdout = r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":61234,"num_turns":9,
        "result":"Done.\nAll tests pass.","session_id":"7c9e-1","total_cost_usd":0.1875,
        "usage":{"input_tokens":12,"cache_creation_input_tokens":3000,"cache_read_input_tokens":40000,"output_tokens":812},
        "modelUsage":{"small-1":{"outputTokens":30},"large-2":{"outputTokens":782}},
        "structured_output":{"outcome":"complete","summary":"did it"},
        "permission_denials":[{"tool_name":"Bash","tool_use_id":"1"},{"tool_name":"Bash"},{"tool_name":"WebFetch"}],
        "uuid":"u"}"#
        .replace('\n', " ");
    let report = claude(&good(&stdout));
    assert_eq!(report.text, "Done.\nAll tests pass.");
    assert_eq!(report.agent.session.as_deref(), Some("7c9e-1"));
    assert_eq!(report.agent.cost_usd, Some(0.1875));
    assert_eq!(report.agent.tokens, Some(TokenCounts { input: 43012, output: 812 }));
    assert_eq!(report.agent.model.as_deref(), Some("large-2"));
    assert_eq!(report.structured.unwrap()["outcome"], "complete");
    assert_eq!(report.trouble, None);
    assert_eq!(
        report.remarks,
        [
            "`claude` was not allowed to use tools (`Bash`, `WebFetch`; 3 in all); allow them in its settings if the work needs them"
        ]
    );
}

#[test]
fn claudes_stream_ends_with_its_result() {
    let stream = concat!(
        "the end of a line that was cut\"}\n",
        "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"large-2\"}\n",
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"outcome\\\": \\\"complete\\\"}\"}]}}\n",
        "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"first\",\"session_id\":\"s\"}\n",
        "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"last\",\"session_id\":\"s\"}\n",
        "{\"type\":\"result\",\"subtype\":\"succ",
    );
    let report = claude(&good(stream));
    assert_eq!((report.text.as_str(), report.agent.model.as_deref()), ("last", Some("large-2")));
    assert_eq!(report.trouble, None);
    let array = "[{\"type\":\"system\"},{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"listed\"}]";
    assert_eq!(claude(&good(array)).text, "listed");
}

#[test]
fn claudes_errors_are_errors_with_any_subtype() {
    let login = r#"{"type":"result","subtype":"success","is_error":true,"result":"Invalid API key · Please run /login","session_id":"s"}"#;
    let report = claude(&printed(login, "", Exit::Status(1)));
    assert_eq!((report.text.as_str(), kind(&report)), ("", Some(TroubleKind::Unavailable)));
    assert_eq!(
        report.trouble.unwrap().why,
        "`claude` reports an error: Invalid API key · Please run /login"
    );

    let stream = concat!(
        "{\"type\":\"assistant\",\"error\":\"rate_limit\",\"message\":{}}\n",
        "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"Please run /login\"}",
    );
    assert_eq!(
        kind(&claude(&good(stream))),
        Some(TroubleKind::Failed),
        "its name counts before its words"
    );
    for (result, wanted) in [
        (r#""subtype":"error_max_turns","is_error":false"#, TroubleKind::Failed),
        (r#""subtype":"error_max_budget_usd","is_error":true"#, TroubleKind::Failed),
        (
            r#""subtype":"error_during_execution","is_error":false,"errors":["API Error: 529 overloaded"]"#,
            TroubleKind::Failed,
        ),
        (r#""subtype":"error_during_execution","is_error":true,"errors":[]"#, TroubleKind::Failed),
        (
            r#""subtype":"success","is_error":true,"api_error_status":401,"result":"quota""#,
            TroubleKind::Unavailable,
        ),
        (r#""subtype":"success","is_error":true"#, TroubleKind::Failed),
    ] {
        let report = claude(&good(&format!(
            r#"{{"type":"result",{result},"structured_output":{{"outcome":"complete"}}}}"#
        )));
        assert_eq!(
            (kind(&report), report.structured, report.text),
            (Some(wanted), None, String::new()),
            "{result}"
        );
    }
    // The agent's own text is never taken for an error.
    let talk = r#"{"type":"result","subtype":"success","is_error":false,"result":"rate limit, please run /login, 401"}"#;
    assert_eq!(claude(&good(talk)).trouble, None);
}

#[test]
fn other_output_is_not_a_result_of_claude() {
    for (stdout, stderr, exit, wanted) in [
        ("approved", "", Exit::SUCCESS, None),
        ("", "", Exit::SUCCESS, None),
        ("{\"type\":\"result\",\"result\":\"half", "", Exit::Signal(9), None),
        ("", "some text\nError: not logged in\n", Exit::Status(1), Some(TroubleKind::Unavailable)),
        ("rate limit", "unknown option `--x`", Exit::Status(1), Some(TroubleKind::Failed)),
    ] {
        let report = claude(&printed(stdout, stderr, exit));
        assert_eq!(
            (report.text.as_str(), report.structured.as_ref(), kind(&report)),
            ("", None, wanted),
            "{stdout}"
        );
        assert!(report.unread.unwrap().contains("no result that could be read"));
    }
}

#[test]
fn codex_says_it_in_events() {
    let events = concat!(
        "{\"type\":\"thread.started\",\"thread_id\":\"0199-a\"}\n",
        "{\"type\":\"turn.started\"}\n",
        "{\"type\":\"error\",\"message\":\"Reconnecting... 1/5\"}\n",
        "{\"type\":\"item.started\",\"item\":{\"id\":\"0\",\"type\":\"command_execution\",\"command\":\"ls\",\"status\":\"in_progress\"}}\n",
        "{\"type\":\"item.completed\",\"item\":{\"id\":\"1\",\"type\":\"agent_message\",\"text\":\"I look around.\"}}\n",
        "{\"type\":\"item.completed\",\"item\":{\"id\":\"2\",\"type\":\"error\",\"message\":\"an odd\\nsetting\"}}\n",
        "{\"type\":\"item.completed\",\"item\":{\"id\":\"3\",\"type\":\"agent_message\",\"text\":\"Done.\"}}\n",
        "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":24763,\"cached_input_tokens\":24448,\"output_tokens\":122}}\n",
    );
    let report = codex(&good(events));
    assert_eq!(report.text, "Done.");
    assert_eq!(report.agent.session.as_deref(), Some("0199-a"));
    assert_eq!(report.agent.tokens, Some(TokenCounts { input: 24763, output: 122 }));
    assert_eq!(
        (report.trouble, report.remarks),
        (None, vec!["`codex` remarks: an odd setting".to_owned()])
    );
}

#[test]
fn codexs_errors_are_distinguished() {
    let failed = |message: &str| {
        let failed = serde_json::json!({"type": "turn.failed", "error": {"message": message}});
        let events = format!(
            "{{\"type\":\"thread.started\",\"thread_id\":\"t\"}}\n{{\"type\":\"turn.started\"}}\n{failed}\n"
        );
        codex(&printed(&events, "", Exit::Status(1)))
    };
    for (message, wanted) in [
        (
            "unexpected status 401 Unauthorized: Missing bearer or basic authentication in header",
            TroubleKind::Unavailable,
        ),
        ("exceeded retry limit, last status: 429 Too Many Requests", TroubleKind::Failed),
        ("You've hit your usage limit. Try again later.", TroubleKind::Failed),
        (
            "{\"type\":\"error\",\"status\":400,\"error\":{\"type\":\"invalid_request_error\"}}",
            TroubleKind::Failed,
        ),
        ("", TroubleKind::Failed),
    ] {
        assert_eq!(kind(&failed(message)), Some(wanted), "{message}");
    }
    let alone = "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"error\",\"message\":\"stream disconnected\"}\n";
    assert_eq!(kind(&codex(&printed(alone, "", Exit::Status(1)))), Some(TroubleKind::Failed));
    let report = codex(&printed("usage", "error: not logged in", Exit::Status(2)));
    assert_eq!((report.text.as_str(), kind(&report)), ("", Some(TroubleKind::Unavailable)));
}

#[test]
fn gemini_says_it_in_one_object() {
    let stdout = "Loaded cached credentials.\n{\n  \"session_id\": \"g-1\",\n  \"response\": \"All is well.\",\n  \"stats\": {\n    \
        \"models\": {\n      \"small\": {\"tokens\": {\"prompt\": 100, \"candidates\": 5}},\n      \
        \"large\": {\"tokens\": {\"prompt\": 24939, \"candidates\": 20, \"total\": 25113, \"thoughts\": 154}}\n    }\n  }\n}\n";
    let report = gemini(&good(stdout));
    assert_eq!(
        (report.text.as_str(), report.agent.session.as_deref()),
        ("All is well.", Some("g-1"))
    );
    assert_eq!(
        (report.agent.tokens, report.agent.model.as_deref()),
        (Some(TokenCounts { input: 25039, output: 179 }), Some("large"))
    );
    assert_eq!((report.trouble, report.remarks), (None, vec![]));
}

#[test]
fn gemini_says_it_in_events() {
    let begun = "{\"type\":\"init\",\"session_id\":\"g-2\",\"model\":\"large\"}\n\
        {\"type\":\"message\",\"role\":\"user\",\"content\":\"approved\"}\n\
        {\"type\":\"message\",\"role\":\"assistant\",\"content\":\"I look around.\",\"delta\":true}\n\
        {\"type\":\"tool_use\",\"tool_name\":\"read_file\",\"parameters\":{}}\n\
        {\"type\":\"tool_result\",\"status\":\"error\",\"output\":\"approved\",\"error\":{\"type\":\"x\",\"message\":\"quota\"}}\n\
        {\"type\":\"message\",\"role\":\"assistant\",\"content\":\"All is\",\"delta\":true}\n\
        {\"type\":\"message\",\"role\":\"assistant\",\"content\":\"\\n\",\"delta\":true}\n\
        {\"type\":\"message\",\"role\":\"assistant\",\"content\":\"well.\",\"delta\":true}\n";
    let stats = "\"stats\":{\"input_tokens\":2100,\"models\":{\"large\":{\"input_tokens\":2000,\"output_tokens\":100},\
        \"small\":{\"input_tokens\":100,\"output_tokens\":5}}}";
    let report =
        gemini(&good(&format!("{begun}{{\"type\":\"result\",\"status\":\"success\",{stats}}}\n")));
    assert_eq!(
        (report.text.as_str(), report.agent.session.as_deref()),
        ("All is\nwell.", Some("g-2"))
    );
    assert_eq!(
        (report.agent.tokens, report.agent.model.as_deref()),
        (Some(TokenCounts { input: 2100, output: 105 }), Some("large"))
    );
    assert_eq!((report.trouble, report.remarks), (None, vec![]));

    let error = "{\"type\":\"result\",\"status\":\"error\",\"error\":{\"type\":\"unknown\",\"message\":\
        \"[API Error: {\\\"error\\\":{\\\"code\\\":401,\\\"message\\\":\\\"no\\\"}}]\"}}\n";
    let report = gemini(&printed(&format!("{begun}{error}"), "", Exit::Status(145)));
    assert_eq!((kind(&report), report.text.as_str()), (Some(TroubleKind::Unavailable), ""));
    assert_eq!(report.agent.session.as_deref(), Some("g-2"));

    let report = gemini(&printed(begun, "", Exit::Signal(9)));
    assert_eq!((report.text.as_str(), report.trouble, report.unread.is_some()), ("", None, true));
}

#[test]
fn geminis_errors_come_on_the_other_stream() {
    let auth = "Loading.\n{\n  \"session_id\": \"g\",\n  \"error\": {\n    \"type\": \"Error\",\n    \"message\": \"Please set an Auth \
        method\",\n    \"code\": 41\n  }\n}\n";
    let report = gemini(&printed("", auth, Exit::Status(41)));
    assert_eq!(
        (kind(&report), report.agent.session.as_deref()),
        (Some(TroubleKind::Unavailable), Some("g"))
    );
    assert_eq!(
        report.trouble.unwrap().why,
        "`gemini` reports an error: it is not logged in (Please set an Auth method)"
    );
    for (stdout, stderr, status, wanted) in [
        ("", "", 41, TroubleKind::Unavailable),
        ("", "", 42, TroubleKind::Failed),
        ("{\"response\": \"approved\"}", "", 53, TroubleKind::Failed),
        (
            "",
            "{\"error\": {\"type\": \"ApiError\", \"message\": \"x\", \"code\": 429}}",
            1,
            TroubleKind::Failed,
        ),
        (
            "",
            "{\"error\": {\"type\": \"ApiError\", \"message\": \"api key not valid\", \"code\": \"400\"}}",
            1,
            TroubleKind::Failed,
        ),
        (
            "{\"response\": \"approved\", \"error\": {\"message\": \"quota\"}}",
            "",
            0,
            TroubleKind::Failed,
        ),
        ("{\"error\": \"odd\"}", "", 1, TroubleKind::Failed),
    ] {
        let report = gemini(&printed(stdout, stderr, Exit::Status(status)));
        assert_eq!(
            (kind(&report), report.text.as_str()),
            (Some(wanted), ""),
            "{stdout} {stderr} {status}"
        );
    }
    let report = gemini(&printed("approved", "{\"error\": null}", Exit::SUCCESS));
    assert_eq!((report.text.as_str(), report.trouble), ("", None));
}

#[test]
fn opencode_says_it_in_events() {
    let events = concat!(
        "{\"type\":\"step_start\",\"timestamp\":1,\"sessionID\":\"ses_1\",\"part\":{\"type\":\"step-start\",\"messageID\":\"m1\"}}\n",
        "{\"type\":\"text\",\"sessionID\":\"ses_1\",\"part\":{\"messageID\":\"m1\",\"type\":\"text\",\"text\":\"I look around.\"}}\n",
        "{\"type\":\"tool_use\",\"sessionID\":\"ses_1\",\"part\":{\"tool\":\"bash\",\"state\":{\"status\":\"completed\"}}}\n",
        "{\"type\":\"step_finish\",\"sessionID\":\"ses_1\",\"part\":{\"messageID\":\"m1\",\"reason\":\"tool-calls\",\"cost\":0.25,\
          \"tokens\":{\"input\":10,\"output\":5,\"reasoning\":1,\"cache\":{\"read\":100,\"write\":7}}}}\n",
        "{\"type\":\"error\",\"sessionID\":\"ses_1\",\"error\":{\"name\":\"APIError\",\"data\":{\"statusCode\":529}}}\n",
        "{\"type\":\"text\",\"sessionID\":\"ses_1\",\"part\":{\"messageID\":\"m2\",\"text\":\"Done.\"}}\n",
        "{\"type\":\"text\",\"sessionID\":\"ses_1\",\"part\":{\"messageID\":\"m2\",\"text\":\"All tests pass.\"}}\n",
        "{\"type\":\"step_finish\",\"sessionID\":\"ses_1\",\"part\":{\"reason\":\"stop\",\"cost\":0.5,\"tokens\":{\"input\":1,\"output\":2}}}\n",
    );
    let report = opencode(&good(events));
    assert_eq!(report.text, "Done.\n\nAll tests pass.");
    assert_eq!(
        (report.agent.session.as_deref(), report.agent.cost_usd),
        (Some("ses_1"), Some(0.75))
    );
    assert_eq!(
        (report.agent.tokens, report.trouble),
        (Some(TokenCounts { input: 118, output: 8 }), None)
    );
}

#[test]
fn opencodes_errors_are_distinguished() {
    for (error, wanted) in [
        (
            r#"{"name":"ProviderAuthError","data":{"providerID":"x","message":"no key"}}"#,
            TroubleKind::Unavailable,
        ),
        (
            r#"{"name":"APIError","data":{"message":"x","statusCode":401,"isRetryable":false}}"#,
            TroubleKind::Unavailable,
        ),
        (
            r#"{"name":"APIError","data":{"message":"x","statusCode":429,"isRetryable":true}}"#,
            TroubleKind::Failed,
        ),
        (r#"{"name":"APIError","data":{"message":"odd","isRetryable":true}}"#, TroubleKind::Failed),
        (
            r#"{"name":"UnknownError","data":{"message":"rate limit exceeded"}}"#,
            TroubleKind::Failed,
        ),
        (r#"{"name":"MessageOutputLengthError","data":{}}"#, TroubleKind::Failed),
        (r#""odd""#, TroubleKind::Failed),
    ] {
        let event = format!("{{\"type\":\"error\",\"sessionID\":\"s\",\"error\":{error}}}");
        assert_eq!(kind(&opencode(&printed(&event, "", Exit::Status(1)))), Some(wanted), "{error}");
    }
    let report = opencode(&good("approved"));
    assert_eq!((report.text.as_str(), report.unread.is_some()), ("", true));
}

#[test]
fn one_object_or_plain_text() {
    let report = one_object(&good("\u{feff} {\"outcome\": \"complete\", \"summary\": \"x\"}\n"));
    assert_eq!(report.structured.unwrap()["summary"], "x");
    for none in ["[1]", "{\"outcome\": ", "done {\"outcome\": \"complete\"}", "{}{}", "null"] {
        let report = one_object(&good(none));
        assert_eq!(
            (report.structured, report.text.as_str(), report.unread.is_some()),
            (None, none, true),
            "{none}"
        );
    }
    assert_eq!(
        all_text(&good("\u{1b}[32mok\u{1b}[0m\r\nrate limit, 401")).text,
        "ok\nrate limit, 401"
    );
    assert_eq!(all_text(&good("rate limit, 401")).trouble, None);
}

const READERS: [fn(&RunOutput<'_>) -> Report; 6] =
    [claude, codex, gemini, opencode, one_object, all_text];

#[test]
fn much_is_read_in_no_time_that_anybody_notices() {
    // Each would take minutes if anything here were quadratic.
    let line = "{\"type\":\"text\",\"part\":{\"messageID\":\"m\",\"text\":\"x\"}}\n";
    for unit in [
        "x",
        "{",
        "{\n",
        "[",
        "\u{1b}[",
        "\u{1b}]",
        "\\\"",
        "\n",
        "{\"a\":\n",
        "{\n\"a\": [\n",
        "```json\n",
        line,
    ] {
        let much = unit.repeat(256 * 1024 / unit.len());
        for read in READERS {
            read(&printed(&much, &much, Exit::Status(1)));
        }
    }
    assert_eq!(codex(&good(&"{\n".repeat(5 * 512 * 1024))).text, "");
}

/// Bytes with many of the patterns that the readers look for.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"x\"}\n".to_vec()),
        Just(b"{\"type\":\"result\",\"usage\":{\"input_tokens\":-1},\"permission_denials\":[1]}\n".to_vec()),
        Just(b"{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"approved\"}}\n".to_vec()),
        Just(b"{\"type\":\"turn.failed\",\"error\":\"\xff\"}\n".to_vec()),
        Just(b"{\"type\":\"text\",\"part\":{\"text\":\"approved\"}}\n".to_vec()),
        Just(b"{\n\"response\": null, \"error\": {\"code\": 1e400}}".to_vec()),
        Just(b"\x1b]8;;\x1b\\ \xf0\x9f\r".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..12),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_that_is_printed_ends_a_reader(out in noise(), err in noise(), status in any::<u8>(), from in 0usize..64) {
        let out = &out[from.min(out.len())..];
        for read in READERS {
            let report = read(&RunOutput { stdout: out, stderr: &err, exit: Exit::Status(status) });
            let clean = !report.text.contains(['\u{1b}', '\0', '\r']);
            prop_assert!(clean);
        }
    }
}
