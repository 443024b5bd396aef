//! A completion file that was signed: the same file, with the visit that it is for, its id and the signature in it. What else stands
//! there stays as it is, but for the layout of JSON.

use serde_json::Value;

use super::completion_file::{Syntax, parse, write};
use super::frontmatter;
use super::frontmatter::{Edit, splice};
use super::yaml;
use super::yaml::Limits;
use crate::domain::{Completion, Map};

/// Returns the file with what the completion has more than it: ticket, id and signature. Nothing where they cannot be written into it.
pub(crate) fn signed_file(
    bytes: &[u8],
    syntax: Syntax,
    completion: &Completion,
) -> Option<Vec<u8>> {
    let signature = format!("{}\n", completion.signature.as_ref()?);
    let facts = [
        ("task", completion.ticket.to_string()),
        ("id", completion.id.to_string()),
        ("signature", signature),
    ];
    let file = match syntax {
        Syntax::Json => object(bytes, completion)?,
        Syntax::Yaml => yaml(bytes, facts)?,
        Syntax::Markdown => front(bytes, facts)?,
    };
    (parse(&file, syntax, &completion.id).as_ref() == Ok(completion)).then_some(file)
}

/// Of a text that looks like a number the parser has nothing but the number: what is signed is what the completion says.
fn object(bytes: &[u8], completion: &Completion) -> Option<Vec<u8>> {
    let mut object: Map = crate::files::json::read(std::str::from_utf8(bytes).ok()?).ok()?;
    let Value::Object(said) = write(completion) else { return None };
    object.extend(said);
    let mut text = serde_json::to_string_pretty(&object).ok()?;
    text.push('\n');
    Some(text.into_bytes())
}

/// What stands in a YAML file is changed as if it were the head of a Markdown file.
fn yaml(bytes: &[u8], facts: [(&str, String); 3]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    yaml::parse(text, &Limits::default()).ok()?;
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let headed = front(format!("---\n{text}{end}---\n").as_bytes(), facts)?;
    let inner = headed.strip_prefix(b"---\n")?.strip_suffix(b"---\n")?;
    Some(inner.to_vec())
}

fn front(bytes: &[u8], facts: [(&str, String); 3]) -> Option<Vec<u8>> {
    let front = frontmatter::parse(bytes).ok()?;
    let said = |key: &str| front.root().get(key).and_then(|node| node.as_str());
    let edits: Vec<Edit> = facts
        .into_iter()
        .filter(|(key, value)| said(key) != Some(value))
        .map(|(key, value)| Edit::set(key, value))
        .collect();
    Some(splice(&front, &edits, front.rest()).ok()?.text().as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_file_gets_its_signature_and_stays_what_it_was() {
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
