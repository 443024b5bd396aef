//! Completion files, which agents drop as YAML, JSON, or Markdown with frontmatter.

use serde_json::{Value, json};

use super::config::decode::{Faults, FieldReader, one_or_many};
use super::frontmatter::{Edit, splice};
use super::task_file::misread::hashed;
use super::yaml::{Fault, MappingEntry, Node, NodeLayout, ParseLimits};
use super::{frontmatter, json as json_file, yaml};
use aof_domain::{
    AgentId, Completion, CompletionContent, CompletionId, GateId, Map, Outcome, ReplyFields,
    SUSPEND, SshSignature, Ticket, nearest,
};

/// The syntax of a completion file, by its suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// `.yaml`, `.yml`
    Yaml,
    /// `.json`
    Json,
    /// `.md`, `.markdown`: the body is text for the task.
    Markdown,
}

impl Syntax {
    /// Returns the syntax for a file name's suffix.
    pub fn of(name: &str) -> Option<Self> {
        // Some systems write suffixes in upper case.
        match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            "md" | "markdown" => Some(Self::Markdown),
            _ => None,
        }
    }
}

/// Parses a completion; fails with all faults. `id` is used if the file has none.
pub fn parse(bytes: &[u8], syntax: Syntax, id: &CompletionId) -> Result<Completion, Vec<Fault>> {
    let faults = Faults::default();
    let answer = match syntax {
        Syntax::Markdown => {
            let front = frontmatter::parse(bytes)?;
            report_cut_texts(front.root(), front.text(), &faults);
            fields(front.root(), Some(front.body()), &faults, true)
        }
        Syntax::Json => fields(&json_tree(utf8(bytes)?)?, None, &faults, true),
        Syntax::Yaml => {
            let text = utf8(bytes)?;
            let root = yaml::parse(text, &ParseLimits::default())?;
            report_cut_texts(&root, text, &faults);
            fields(&root, None, &faults, true)
        }
    };
    let completion = answer.and_then(|answer| {
        Some(Completion {
            ticket: answer.ticket?,
            gate: answer.gate,
            agent: answer.agent?,
            content: answer.content,
            id: answer.id.unwrap_or_else(|| id.clone()),
            signature: answer.signature,
            facts: Box::default(),
        })
    });
    faults.or_value(completion)
}

fn report_cut_texts(root: &Node<'_>, text: &str, faults: &Faults) {
    let texts =
        ["summary", "blockers", "rejectionNotes"].into_iter().filter_map(|key| root.get(key));
    for node in texts.flat_map(one_or_many).filter(|node| node.layout == NodeLayout::Plain) {
        if let Some(cut) = hashed(text, node) {
            let message = format!("`{cut}` is a comment and is not read");
            let fault = Fault::new("misread_form", node.span.clone(), message);
            faults.push(fault.help("put the text in quotes"));
        }
    }
}

/// A completion whose task and agent are known already: the answer of a program that was started for one visit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// The task, if it names one.
    pub ticket: Option<Ticket>,
    /// The gate that must be open, if it names one.
    pub gate: Option<GateId>,
    /// The agent, if it names one.
    pub agent: Option<AgentId>,
    /// Its completion id, if it has one.
    pub id: Option<CompletionId>,
    /// The content; its outputs include `$status`.
    pub content: CompletionContent,
    /// A signature of the entry that the completion becomes.
    pub signature: Option<SshSignature>,
}

impl Answer {
    /// Returns the outcome's word, given as such or as `$status`; `None` if both are given.
    pub fn word(&self) -> Option<&str> {
        let status = self.content.outputs.get(STATUS).and_then(Value::as_str);
        let suspends = |word: &&str| word.eq_ignore_ascii_case(SUSPEND);
        let status =
            status.map(|word| if suspends(&word) { Outcome::Blocked.as_str() } else { word });
        match (self.content.outcome.as_deref(), status) {
            (Some(outcome), Some(status)) if !outcome.eq_ignore_ascii_case(status) => None,
            (outcome, status) => outcome.or(status),
        }
    }
}

/// Parses an answer; fails with all faults. JSON, Markdown and YAML are distinguished by their beginning.
pub fn answer(bytes: &[u8]) -> Result<Answer, Vec<Fault>> {
    let text = utf8(bytes)?;
    let start = text.trim_start();
    if start.starts_with(['{', '[']) {
        return json_answer(text);
    }
    // YAML may begin with the same line, but only frontmatter has an end.
    if frontmatter::split(text.as_bytes()).is_ok() {
        let front = frontmatter::parse(text.as_bytes())?;
        return answer_in(front.root(), Some(front.body()));
    }
    answer_in(&yaml::parse(text, &ParseLimits::default())?, None)
}

/// Parses an answer in JSON; fails with all faults.
pub fn json_answer(text: &str) -> Result<Answer, Vec<Fault>> {
    answer_in(&json_tree(text)?, None)
}

/// Converts an object to an answer; fails with all faults.
pub fn answer_of(object: Map) -> Result<Answer, Vec<Fault>> {
    answer_in(&json_file::placeless(Value::Object(object)), None)
}

fn answer_in(node: &Node<'_>, body: Option<&str>) -> Result<Answer, Vec<Fault>> {
    let faults = Faults::default();
    let answer = fields(node, body, &faults, false);
    faults.or_value(answer)
}

fn json_tree(text: &str) -> Result<Node<'_>, Vec<Fault>> {
    json_file::parse(text).map_err(|fault| vec![fault])
}

fn utf8(bytes: &[u8]) -> Result<&str, Vec<Fault>> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        vec![
            Fault::new("not_utf8", at..at, "this is not UTF-8 text").help("save the file as UTF-8"),
        ]
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Returns the frontmatter of a text, if it begins with some: the fields, or the reason why they cannot be read.
pub fn front_of(text: &str) -> Option<ReplyFields> {
    let blank = text.len() - text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).len();
    let start = text[..blank].rfind('\n').map_or(0, |at| at + 1);
    let rest = &text[start..];
    let split = frontmatter::split(rest.as_bytes()).ok()?;
    let length = start + split.body.start;
    let read = frontmatter::parse(rest.as_bytes());
    Some(match read.as_ref().map(|front| front.root().to_value()) {
        Ok(Value::Object(fields)) => ReplyFields { fields, fault: None, length },
        // Text between two rules is text.
        Ok(_) => return None,
        Err(faults) => {
            let fault = faults.first().map(|fault| {
                let (line, _) = yaml::line_column(text, start + fault.span.start);
                let help = fault.help.as_ref().map(|help| format!(" ({help})"));
                format!("line {line}: {}{}", fault.message, help.unwrap_or_default())
            });
            ReplyFields { fields: Map::new(), fault, length }
        }
    })
}

/// The key of the outcome among outputs.
pub const STATUS: &str = "$status";

/// Reads the fields; task and agent are required for a file. The other keys of a document and of an agent's reply are kept for the
/// gate to judge; other files have none.
fn fields(node: &Node<'_>, body: Option<&str>, faults: &Faults, is_file: bool) -> Option<Answer> {
    let fields = FieldReader::of(node, "a completion", faults)?;
    let mut answer = Answer {
        ticket: fields.parsed("task"),
        // In an agent's text, `gate` is an output of that name.
        gate: if is_file { fields.parsed("gate") } else { None },
        agent: fields.parsed("agent"),
        id: fields.parsed("id"),
        content: CompletionContent {
            outcome: fields.text("outcome"),
            summary: fields.text("summary"),
            blockers: fields.list("blockers"),
            rejection_notes: fields.text("rejectionNotes"),
            outputs: fields.object("outputs").unwrap_or_default(),
            metadata: fields.object("metadata").unwrap_or_default(),
            body: body.filter(|body| !body.trim().is_empty()).map(str::to_owned),
            fields: None,
        },
        signature: fields.parsed("signature"),
    };
    if is_file {
        answer.ticket = fields.require("task", answer.ticket);
        answer.agent = fields.require("agent", answer.agent);
    }
    let content = &mut answer.content;
    // The first line of a reply is its summary.
    if !is_file && content.summary.is_none() {
        let line =
            content.body.iter().flat_map(|body| body.lines()).find(|line| !line.trim().is_empty());
        content.summary = line.map(|line| line.trim().to_owned());
    }
    if body.is_some() || !is_file {
        let is_typo =
            |entry: &&MappingEntry<'_>| nearest(entry.key.text.as_ref(), ["outcome"]).is_some();
        let needs_word = !is_file && content.outcome.is_none() && !fields.has(STATUS);
        if let Some(entry) = fields.unknown().find(is_typo).filter(|_| needs_word) {
            let message = format!("a completion has no field `{}`", entry.key.text);
            faults.add("unknown_field", &entry.key.span, message, "did you mean `outcome`?");
        }
        let listed =
            fields.unknown().map(|entry| (entry.key.text.to_string(), entry.value.to_value()));
        let mut rest: Map = listed.collect();
        content.outputs.extend(rest.shift_remove_entry(STATUS));
        let rest = Some(rest).filter(|rest| !rest.is_empty());
        content.fields =
            rest.map(|fields| Box::new(ReplyFields { fields, ..ReplyFields::default() }));
    } else {
        fields.refuse_unknown();
    }
    Some(answer)
}

/// Returns the completion as a value, for files and JSON.
pub fn write(completion: &Completion) -> Value {
    let Completion { ticket, gate, agent, content, id, signature, facts: _ } = completion;
    // A text and other fields are the body of a Markdown file and its keys, which stay as they are.
    let CompletionContent {
        outcome,
        summary,
        blockers,
        rejection_notes,
        outputs,
        metadata,
        body: _,
        fields: _,
    } = content;
    let given = |map: &Map| Some(map.clone()).filter(|map| !map.is_empty());
    let Value::Object(mut map) = json!({
        "task": ticket.to_string(),
        "gate": gate,
        "agent": agent,
        "outcome": outcome,
        "summary": summary,
        "rejectionNotes": rejection_notes,
        "blockers": blockers,
        "outputs": given(outputs),
        "metadata": given(metadata),
        "id": id.as_str(),
        "signature": signature.as_ref().map(|signature| format!("{signature}\n")),
    }) else {
        unreachable!("an object was written")
    };
    map.retain(|_, value| !value.is_null());
    Value::Object(map)
}

/// Returns the file with the completion's ticket, id and signature added; `None` if they cannot be written into it.
pub fn signed_file(bytes: &[u8], syntax: Syntax, completion: &Completion) -> Option<Vec<u8>> {
    let signature = format!("{}\n", completion.signature.as_ref()?);
    let facts = [
        ("task", completion.ticket.to_string()),
        ("id", completion.id.to_string()),
        ("signature", signature),
    ];
    let file = match syntax {
        Syntax::Json => signed_json(bytes, completion)?,
        Syntax::Yaml => signed_yaml(bytes, facts)?,
        Syntax::Markdown => signed_markdown(bytes, facts)?,
    };
    (parse(&file, syntax, &completion.id).as_ref() == Ok(completion)).then_some(file)
}

/// Parsing JSON numbers loses their notation. The signature is of the parsed completion, so that is written.
fn signed_json(bytes: &[u8], completion: &Completion) -> Option<Vec<u8>> {
    let mut object: Map = json_file::read(std::str::from_utf8(bytes).ok()?).ok()?;
    let Value::Object(completed) = write(completion) else { return None };
    object.extend(completed);
    let mut text = serde_json::to_string_pretty(&object).ok()?;
    text.push('\n');
    Some(text.into_bytes())
}

/// A YAML file is edited like the frontmatter of a Markdown file.
fn signed_yaml(bytes: &[u8], facts: [(&str, String); 3]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    yaml::parse(text, &ParseLimits::default()).ok()?;
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let headed = signed_markdown(format!("---\n{text}{end}---\n").as_bytes(), facts)?;
    let inner = headed.strip_prefix(b"---\n")?.strip_suffix(b"---\n")?;
    Some(inner.to_vec())
}

fn signed_markdown(bytes: &[u8], facts: [(&str, String); 3]) -> Option<Vec<u8>> {
    let front = frontmatter::parse(bytes).ok()?;
    let written = |key: &str| front.root().get(key).and_then(|node| node.as_str());
    let edits: Vec<Edit> = facts
        .into_iter()
        .filter(|(key, value)| written(key) != Some(value))
        .map(|(key, value)| Edit::set(key, value))
        .collect();
    Some(splice(&front, &edits, front.rest()).ok()?.text().as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(text: &str, syntax: Syntax) -> Result<Completion, Vec<Fault>> {
        parse(text.as_bytes(), syntax, &"given".parse().unwrap())
    }

    #[test]
    fn one_completion_in_three_syntaxes() {
        let yaml = "task: AOF-abc@2\nagent: agent-7\noutcome: complete\nsummary: |-\n  did it\nblockers: []\n";
        let json = r#"{"task": "AOF-abc@2", "agent": "agent-7", "outcome": "complete", "summary": "did it", "blockers": []}"#;
        let markdown = format!("---\r\n{}---\r\n\r\nLong text.\r\n", yaml.replace('\n', "\r\n"));
        let plain = read_as(yaml, Syntax::Yaml).unwrap();
        assert_eq!(plain.content.blockers, Some(vec![]));
        assert_eq!(plain.id.as_str(), "given");
        assert_eq!(plain, read_as(json, Syntax::Json).unwrap());
        let mut long = read_as(&markdown, Syntax::Markdown).unwrap();
        assert_eq!(long.content.body.take().as_deref(), Some("\r\nLong text.\r\n"));
        assert_eq!(long, plain);
    }

    #[test]
    fn a_documents_frontmatter_says_its_status_and_outputs() {
        let text = "---\ntask: AOF-abc\nagent: a\n$status: approved\nbranch: x\nfiles: [a, b]\n---\nIt is good.\n";
        let read = read_as(text, Syntax::Markdown).unwrap();
        let fields = serde_json::json!({"branch": "x", "files": ["a", "b"]});
        assert_eq!(Value::Object(read.content.outputs), serde_json::json!({"$status": "approved"}));
        assert_eq!(
            (Value::Object(read.content.fields.unwrap().fields), read.content.outcome),
            (fields, None)
        );
        assert!(read_as("task: AOF-abc\nagent: a\n$status: approved\n", Syntax::Yaml).is_err());
    }

    #[test]
    fn a_text_begins_with_its_fields() {
        for text in [
            "---\nn: 1\nfiles: [a, b]\n---\nText.\n",
            "\u{feff}---\nn: 1\nfiles:\n  - a\n  - b\n---\nText.\n",
            "\n \n---\nn: 1\nfiles: [a, b]\n---\nText.\n",
        ] {
            let fields = front_of(text).unwrap();
            assert_eq!(
                Value::Object(fields.fields),
                serde_json::json!({"n": 1, "files": ["a", "b"]})
            );
            assert_eq!((&text[fields.length..], fields.fault), ("Text.\n", None), "{text}");
        }
        let fault = front_of("\n---\na: b: c\n---\n").unwrap().fault.unwrap();
        assert!(fault.starts_with("line 3: "), "{fault}");
        for none in ["Text.", "---\n$status: a\n", "x\n---\nn: 1\n---\n"] {
            assert_eq!(front_of(none), None, "{none}");
        }
    }

    #[test]
    fn an_answer_needs_no_names() {
        for text in [
            "{\"outcome\": \"complete\", \"summary\": \"did it\"}",
            "outcome: complete\nsummary: did it\n",
            "---\noutcome: complete\nsummary: did it\n",
            "\u{feff}---\noutcome: complete\nsummary: did it\n---\n \n",
        ] {
            let read = answer(text.as_bytes()).unwrap();
            assert_eq!(
                (read.word(), read.content.summary.as_deref()),
                (Some("complete"), Some("did it")),
                "{text}"
            );
            assert_eq!((read.ticket, read.content.body), (None, None), "{text}");
        }
        let text = "---\ntask: AOF-abc\nagent: a\n$status: approved\nbranch: x\n---\nIt is good.\n";
        let read = answer(text.as_bytes()).unwrap();
        assert_eq!(
            (read.word(), read.content.body.as_deref()),
            (Some("approved"), Some("It is good.\n"))
        );
        assert_eq!(
            (
                read.ticket.unwrap().to_string().as_str(),
                read.content.fields.unwrap().fields["branch"].as_str()
            ),
            ("AOF-abc", Some("x"))
        );
        let two = serde_json::json!({"outcome": "complete", "$status": "rejected"});
        assert_eq!(answer_of(two.as_object().unwrap().clone()).unwrap().word(), None);
        for (text, code) in [
            ("All is well.", "wrong_kind"),
            ("{\"outcome\": ", "invalid_json"),
            ("[]", "wrong_kind"),
            ("outcom: complete", "unknown_field"),
            ("task: no id\n", "invalid_value"),
            ("outcome: a\noutcome: b\n", "duplicate_key"),
        ] {
            assert_eq!(answer(text.as_bytes()).unwrap_err()[0].code, code, "{text}");
        }
        assert_eq!(answer(b"\xff").unwrap_err()[0].code, "not_utf8");
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let faults =
            read_as("agent: a b\noutcom: complete\nsummary: [x]\n", Syntax::Yaml).unwrap_err();
        let found: Vec<(&str, Option<&str>)> =
            faults.iter().map(|f| (f.code, f.help.as_deref())).collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found.contains(&("unknown_field", Some("did you mean `outcome`?"))), "{found:?}");
        assert!(read_as("{", Syntax::Json).is_err());
        assert_eq!(
            parse(b"\xff", Syntax::Yaml, &"x".parse().unwrap()).unwrap_err()[0].code,
            "not_utf8"
        );
    }

    const LINE: &str = concat!(
        "U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgOsbBNeU+7oEICz9ZuNKO3AFMv9kXcQA4UvdqWVRM4A4AAAADYW9mAAAAAAAA",
        "AAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5AAAAQJmJVO2c1A7NTGt+m73OUkfmqQsj58Lb71PiDpVMCK6aC7B0D39pBaJAD2xtQiWf",
        "qFjyDHgIjnzoSDepcDnp/QI=",
    );

    fn signed(text: &str, syntax: Syntax) -> String {
        let mut completion = parse(text.as_bytes(), syntax, &"given".parse().unwrap()).unwrap();
        completion.ticket.visit = Some(2);
        completion.signature = Some(LINE.parse().unwrap());
        String::from_utf8(signed_file(text.as_bytes(), syntax, &completion).unwrap()).unwrap()
    }

    #[test]
    fn a_file_gets_its_signature_and_stays_the_same() {
        let yaml = "# mine\ntask: AOF-abc\nagent: 'human-ada'   # me\noutcome: complete\nsummary: |-\n  did it";
        insta::assert_snapshot!(signed(yaml, Syntax::Yaml), @"
        # mine
        task: AOF-abc@2
        agent: 'human-ada'   # me
        outcome: complete
        summary: |-
          did it
        id: given
        signature: |
          -----BEGIN SSH SIGNATURE-----
          U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgOsbBNeU+7oEICz9ZuNKO3AFMv9
          kXcQA4UvdqWVRM4A4AAAADYW9mAAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5
          AAAAQJmJVO2c1A7NTGt+m73OUkfmqQsj58Lb71PiDpVMCK6aC7B0D39pBaJAD2xtQiWfqF
          jyDHgIjnzoSDepcDnp/QI=
          -----END SSH SIGNATURE-----
        ");
        let markdown = "---\r\ntask: AOF-abc@2\r\nid: c1\r\nagent: human-ada\r\nsummary: x\r\n---\r\n\r\nA text.\r\n\r\n";
        let made = signed(markdown, Syntax::Markdown);
        assert!(made.starts_with(
            "---\r\ntask: AOF-abc@2\r\nid: c1\r\nagent: human-ada\r\nsummary: x\r\nsignature: |\r\n"
        ));
        assert!(
            made.ends_with("  -----END SSH SIGNATURE-----\r\n---\r\n\r\nA text.\r\n\r\n"),
            "{made}"
        );
        let json = signed(
            "{\"summary\": \"x\", \"task\": \"AOF-abc\", \"agent\": \"human-ada\"}",
            Syntax::Json,
        );
        assert!(json.starts_with(
            "{\n  \"summary\": \"x\",\n  \"task\": \"AOF-abc@2\",\n  \"agent\": \"human-ada\",\n  \"id\": \"given\",\n"
        ));
        let numbers = "\"summary\": 1.10, \"blockers\": [2.50], \"outputs\": {\"v\": 1.10, \"n\": 12345678901234567890123}";
        let json_numbers =
            format!("{{{numbers}, \"task\": \"AOF-abc\", \"agent\": \"human-ada\"}}");
        let made_of_numbers = signed(&json_numbers, Syntax::Json);
        assert!(made_of_numbers.starts_with("{\n  \"summary\": \"1.10\",\n"), "{made_of_numbers}");
        let yaml_numbers = "task: AOF-abc\nagent: human-ada\nsummary: 1.10\nblockers: [2.50]\noutputs: {v: 1.10}\n";
        assert!(
            signed(yaml_numbers, Syntax::Yaml)
                .contains("summary: 1.10\nblockers: [2.50]\noutputs: {v: 1.10}\n")
        );
        for (made, syntax) in [
            (signed(yaml, Syntax::Yaml), Syntax::Yaml),
            (json, Syntax::Json),
            (made, Syntax::Markdown),
        ] {
            assert_eq!(signed(&made, syntax), made, "signed once more, it says the same");
        }
    }
}
