//! The text that is signed for a completion, and the check of its signature.

use std::collections::BTreeMap;

use ring::digest;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA512, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::{Value, json};

use crate::condition::value::format_number;
use crate::refusal::{Flaw, NAMESPACE, Refusal, ToSign};
use crate::workflow::rules::Rules;
use aof_domain::ssh::{HashName, KeyAlgorithm};
use aof_domain::{Ending, SshSignature, Task, Ticket, Visit};

/// Returns the flaw in the signature of the entry at that index, by the keys in these rules; `None` if it is valid or not required.
pub fn flaw(rules: &Rules, task: &Task, place: usize) -> Option<Flaw> {
    let entry = task.history.get(place)?;
    let keys = entry.agent.as_ref().map(|agent| rules.org.signing_keys(agent)).unwrap_or_default();
    let Some(signature) = &entry.signature else {
        // Only completions are signed.
        let counts = matches!(entry.outcome, Ending::Completed(_)) && entry.completion.is_some();
        return (counts && !keys.is_empty()).then_some(Flaw::Missing);
    };
    if signature.namespace() != NAMESPACE {
        return Some(Flaw::OtherUse { namespace: signature.namespace().to_owned() });
    }
    let key = || signature.key().clone();
    let text = to_sign(rules, task, place);
    match (keys, text) {
        ([], _) | (_, None) => Some(Flaw::NoKey { key: key() }),
        (keys, _) if !keys.contains(signature.key()) => Some(Flaw::OtherKey { key: key() }),
        (_, Some(text)) if !is_valid_signature(signature, text.as_bytes()) => Some(Flaw::OtherText),
        (_, Some(_)) => passkey_flaw(rules, signature),
    }
}

/// The flags of a token for a user who was present and verified (W3C Web Authentication, section 6.1).
const PRESENT_AND_VERIFIED: u8 = 0b101;

/// Returns the flaw in a valid signature of a browser, by checks that `ssh-keygen` does not make.
fn passkey_flaw(rules: &Rules, signature: &SshSignature) -> Option<Flaw> {
    let scheme = signature.scheme();
    let passkey = scheme.passkey.as_ref()?;
    let flags = scheme.token.map_or(0, |(flags, _)| flags);
    if flags & PRESENT_AND_VERIFIED != PRESENT_AND_VERIFIED {
        return Some(Flaw::NotVerified);
    }
    let is_listed = rules.org.passkey_origins.contains(&passkey.origin);
    (!is_listed).then(|| Flaw::OtherOrigin { origin: passkey.origin.clone() })
}

/// Returns the ticket of the visit that the entry at that index ended.
pub fn entry_ticket(task: &Task, place: usize) -> Option<Ticket> {
    task.history.get(place).map(|entry| ticket(task, place, entry))
}

/// Refuses the entry at that index if its signature is missing or invalid.
pub(crate) fn check_signature(rules: &Rules, task: &Task, place: usize) -> Result<(), Refusal> {
    let Some(flaw) = flaw(rules, task, place) else { return Ok(()) };
    let (Some(entry), Some(text)) = (task.history.get(place), to_sign(rules, task, place)) else {
        return Ok(());
    };
    let (Some(agent), Some(stamp)) = (&entry.agent, &entry.completion) else { return Ok(()) };
    Err(Refusal::Signature(Box::new(ToSign {
        flaw,
        ticket: ticket(task, place, entry),
        agent: agent.clone(),
        completion: stamp.id.clone(),
        keys: rules.org.signing_keys(agent).to_vec(),
        text,
    })))
}

/// The first line of the signed text, with the version of its format.
const FORM: &str = "aof-completion: 1\n";

/// Returns the text to sign for the entry at that index; `None` if no completion made it.
pub fn to_sign(rules: &Rules, task: &Task, place: usize) -> Option<String> {
    let entry = task.history.get(place)?;
    // The rules decide the other fields from these ones and the history, so a replay checks them.
    let Visit {
        gate: _,
        branch: _,
        verdict: _,
        join: _,
        unfinished: _,
        item: _,
        role: _,
        agent,
        entered: _,
        exited: _,
        overdue: _,
        outcome,
        summary,
        blockers,
        rejection_notes,
        to: _,
        to_item: _,
        round: _,
        skipped: _,
        cleared: _,
        escalated_to: _,
        retry: _,
        outputs,
        metadata,
        children: _,
        checks: _,
        work,
        landed,
        workflow,
        completion,
        signature: _,
    } = entry;
    let (Ending::Completed(outcome), Some(agent), Some(stamp)) = (outcome, agent, completion)
    else {
        return None;
    };
    let text = |text: &str| Value::String(text.to_owned());
    let facts = [
        ("project", rules.project.name.as_deref().map_or(Value::Null, text)),
        ("task", text(&ticket(task, place, entry).to_string())),
        ("gate", text(&entry.station().to_string())),
        ("rules", workflow.as_deref().map_or(Value::Null, text)),
        ("agent", text(agent.as_str())),
        ("outcome", text(outcome.as_str())),
        ("summary", text(summary)),
        ("blockers", blockers.iter().map(String::as_str).collect()),
        ("rejectionNotes", rejection_notes.as_deref().map_or(Value::Null, text)),
        ("outputs", Value::Object(outputs.clone())),
        ("metadata", Value::Object(metadata.clone())),
        ("completion", text(stamp.id.as_str())),
        ("sha256", text(stamp.sha256.as_str())),
    ];
    // Absent from texts that were signed before there was such a field.
    let work = work.as_ref().map(|work| ("work", json!(work)));
    let landed = landed.as_ref().map(|landed| ("landed", json!(landed)));
    let mut canonical = FORM.to_owned();
    for (name, value) in facts.into_iter().chain(work).chain(landed) {
        canonical.push_str(&format!("{name}: {}\n", canonical_json(&value)));
    }
    Some(canonical)
}

/// Returns the ticket of an entry. At a fork, several entries belong to one visit.
fn ticket(task: &Task, place: usize, entry: &Visit) -> Ticket {
    let before = task.history.get(..place).unwrap_or_default();
    let visit =
        before.iter().rposition(|earlier| !earlier.leaves_open()).map_or(0, |last| last + 1);
    Ticket { task: task.id.clone(), visit: Some(visit), branch: entry.branch.clone() }
}

/// Returns a value as canonical JSON: keys sorted by bytes, no blanks, numbers as JavaScript writes them, except that integers of
/// up to 64 bits keep their digits; in texts, only quotes, backslashes and control characters are escaped.
fn canonical_json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            let field = |(key, value): (&String, &Value)| {
                format!("{}:{}", quoted(key), canonical_json(value))
            };
            format!("{{{}}}", sorted.into_iter().map(field).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical_json).collect::<Vec<_>>().join(","))
        }
        Value::String(text) => quoted(text),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(double) => format_number(double),
            None => number.to_string(),
        },
        plain => plain.to_string(),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    for c in Value::from(text).to_string().chars() {
        // Not every terminal or pipe passes these characters on unchanged.
        if c.is_control() {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns whether the signature of the text is valid for the key that it names.
pub(crate) fn is_valid_signature(signature: &SshSignature, text: &[u8]) -> bool {
    let hash = match signature.hash() {
        HashName::Sha256 => &digest::SHA256,
        HashName::Sha512 => &digest::SHA512,
    };
    let mut signed = signature.signed(digest::digest(hash, text).as_ref());
    let (key, scheme) = (signature.key(), signature.scheme());
    if let (Some(application), Some((flags, counter))) = (&key.application, scheme.token) {
        if let Some(passkey) = &scheme.passkey {
            if !passkey.is_about(&signed) || flags & WITH_EXTENSIONS != 0 {
                return false;
            }
            signed = passkey.client_data.clone().into_bytes();
        }
        signed = signed_by_token(application, flags, counter, &signed);
    }
    let algorithm: &dyn VerificationAlgorithm = match key.algorithm {
        KeyAlgorithm::Ed25519 => &ED25519,
        KeyAlgorithm::P256 => &ECDSA_P256_SHA256_FIXED,
        KeyAlgorithm::P384 => &ECDSA_P384_SHA384_FIXED,
        KeyAlgorithm::Rsa => {
            let parameters = match scheme.rsa_hash {
                HashName::Sha256 => &RSA_PKCS1_2048_8192_SHA256,
                HashName::Sha512 => &RSA_PKCS1_2048_8192_SHA512,
            };
            let components = RsaPublicKeyComponents { n: &key.point, e: &key.exponent };
            return components.verify(parameters, &signed, &scheme.bytes).is_ok();
        }
    };
    UnparsedPublicKey::new(algorithm, &key.point).verify(&signed, &scheme.bytes).is_ok()
}

/// The flag of a token for extensions at the end of the signed data.
const WITH_EXTENSIONS: u8 = 0b1000_0000;

/// Returns the bytes that a hardware token signs for a text.
fn signed_by_token(application: &[u8], flags: u8, counter: u32, signed: &[u8]) -> Vec<u8> {
    let mut whole = digest::digest(&digest::SHA256, application).as_ref().to_vec();
    whole.push(flags);
    whole.extend(counter.to_be_bytes());
    whole.extend(digest::digest(&digest::SHA256, signed).as_ref());
    whole
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_value_has_one_form() {
        let value = json!({
            "z": [1, -2, 1.0, 0.1, 1e21, 1e-7, -0.0, 9_007_199_254_740_993_i64, u64::MAX],
            "a": {"é": null, "b": true, "a": "\"\\\u{8}\t\n\u{c}\r\u{0}\u{1f}\u{7f}\u{9b}é\u{2028}👍/"},
            "\u{ffff}": 1, "👍": 2,
        });
        assert_eq!(
            crate::signing::canonical_json(&value),
            "{\"a\":{\"a\":\"\\\"\\\\\\b\\t\\n\\f\\r\\u0000\\u001f\\u007f\\u009bé\u{2028}👍/\",\"b\":true,\"é\":null},\
             \"z\":[1,-2,1,0.1,1e+21,1e-7,0,9007199254740993,18446744073709551615],\"\u{ffff}\":1,\"👍\":2}"
        );
    }
}
