use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::json;

use super::ssh_made::{MADE, TEXT};
use crate::signing::is_valid_signature;
use crate::tests::world::*;
use crate::*;
use aof_domain::*;

/// Returns the strings in the wire format.
fn wire(parts: &[&[u8]]) -> Vec<u8> {
    parts
        .iter()
        .flat_map(|part| [&u32::try_from(part.len()).unwrap().to_be_bytes()[..], part].concat())
        .collect()
}

fn sha512(text: &str) -> Vec<u8> {
    ring::digest::digest(&ring::digest::SHA512, text.as_bytes()).as_ref().to_vec()
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    ring::digest::digest(&ring::digest::SHA256, bytes).as_ref().to_vec()
}

fn to_be_signed(namespace: &str, text: &str) -> Vec<u8> {
    [b"SSHSIG".to_vec(), wire(&[namespace.as_bytes(), b"", b"sha512", &sha512(text)])].concat()
}

fn signature(key: &[u8], namespace: &str, inner: &[u8]) -> SshSignature {
    let parts = wire(&[key, namespace.as_bytes(), b"", b"sha512", inner]);
    BASE64_STANDARD
        .encode([b"SSHSIG".to_vec(), 1_u32.to_be_bytes().to_vec(), parts].concat())
        .parse()
        .unwrap()
}

/// An Ed25519 key that signs.
struct Signer(Ed25519KeyPair);

impl Signer {
    fn new(seed: u8) -> Self {
        Self(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap())
    }

    fn blob(&self) -> Vec<u8> {
        wire(&[b"ssh-ed25519", self.0.public_key().as_ref()])
    }

    fn key(&self) -> PublicKey {
        format!("ssh-ed25519 {}", BASE64_STANDARD.encode(self.blob())).parse().unwrap()
    }

    fn sign_for(&self, namespace: &str, text: &str) -> SshSignature {
        let bytes = self.0.sign(&to_be_signed(namespace, text));
        signature(&self.blob(), namespace, &wire(&[b"ssh-ed25519", bytes.as_ref()]))
    }

    fn sign(&self, text: &str) -> SshSignature {
        self.sign_for(NAMESPACE, text)
    }
}

#[test]
fn signatures_of_openssh_verify() {
    for (key, made) in MADE {
        let (key, signature): (PublicKey, SshSignature) = (id(key), id(made));
        assert_eq!(*signature.key(), key);
        assert!(is_valid_signature(&signature, TEXT.as_bytes()), "{}", key.kind());
        assert!(
            !is_valid_signature(&signature, TEXT.replace("done", "Done").as_bytes()),
            "{}",
            key.kind()
        );
        assert!(!is_valid_signature(&signature, b""), "{}", key.kind());
        // After any change, it is not a signature, or not one of this text.
        let blob = BASE64_STANDARD.decode(made).unwrap();
        for at in 0..blob.len() {
            let mut other = blob.clone();
            other[at] ^= 1;
            let other = BASE64_STANDARD.encode(other).parse::<SshSignature>();
            assert!(
                other.is_ok_and(|other| is_valid_signature(&other, TEXT.as_bytes())).eq(&false),
                "{} at {at}",
                key.kind()
            );
        }
    }
}

#[test]
fn signatures_of_a_hardware_token_verify() {
    let application = b"ssh:";
    let by_token = |flags: u8, counter: u32, text: &str| {
        [
            &sha256(application)[..],
            &[flags],
            &counter.to_be_bytes(),
            &sha256(&to_be_signed("aof", text)),
        ]
        .concat()
    };
    let inner = |kind: &[u8], bytes: &[u8], flags: u8, counter: u32| {
        [wire(&[kind, bytes]), vec![flags], counter.to_be_bytes().to_vec()].concat()
    };
    let one = Signer::new(1);
    let kind = b"sk-ssh-ed25519@openssh.com";
    let key = wire(&[kind, one.0.public_key().as_ref(), application]);
    let bytes = one.0.sign(&by_token(1, 7, TEXT));
    assert!(is_valid_signature(
        &signature(&key, "aof", &inner(kind, bytes.as_ref(), 1, 7)),
        TEXT.as_bytes()
    ));
    for (flags, counter) in [(0, 7), (1, 8)] {
        assert!(!is_valid_signature(
            &signature(&key, "aof", &inner(kind, bytes.as_ref(), flags, counter)),
            TEXT.as_bytes()
        ));
    }

    let random = SystemRandom::new();
    let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, made.as_ref(), &random).unwrap();
    let kind = b"sk-ecdsa-sha2-nistp256@openssh.com";
    let key = wire(&[kind, b"nistp256", pair.public_key().as_ref(), application]);
    let number = |bytes: &[u8]| {
        let from = bytes.iter().position(|byte| *byte != 0).unwrap();
        [if bytes[from] >= 0x80 { &[0_u8][..] } else { &[] }, &bytes[from..]].concat()
    };
    let bytes = pair.sign(&random, &by_token(5, 9, TEXT)).unwrap();
    let both = wire(&[&number(&bytes.as_ref()[..32]), &number(&bytes.as_ref()[32..])]);
    assert!(is_valid_signature(
        &signature(&key, "aof", &inner(kind, &both, 5, 9)),
        TEXT.as_bytes()
    ));
    assert!(!is_valid_signature(
        &signature(&key, "aof", &inner(kind, &both, 1, 9)),
        TEXT.as_bytes()
    ));
}

/// Returns the rules of a project in which the architect signs, with one of two keys.
fn signing(name: &str, workflow: Workflow) -> Rules {
    let mut org = org();
    let known = org.all_agents().into_iter().cloned().map(|id| (id, Agent::default())).collect();
    org.agents = Some(known);
    let keys = vec![Signer::new(1).key(), Signer::new(2).key()];
    org.agents.as_mut().unwrap().get_mut(&id::<AgentId>("agent-3")).unwrap().signing_keys = keys;
    Rules::new(Project { name: Some(name.to_owned()), ..project(workflow) }, org).unwrap().0
}

fn in_review(rules: &Rules) -> Task {
    say(rules, &opened(rules, &[]), "agent-7", "complete").unwrap().task
}

fn review() -> Completion {
    let mut review = completion("agent-3", "needs_review");
    review.content.summary = Some("Two things:\n\"both\" are small".to_owned());
    review.content.rejection_notes = Some("the rest is fine 👍".to_owned());
    review.content.outputs = json!({"score": 0.5, "files": ["b", "a"], "by": {"z": 1, "a": null}})
        .as_object()
        .unwrap()
        .clone();
    review.content.metadata = json!({"session": "s-1"}).as_object().unwrap().clone();
    review.content.body = Some("A long text.".to_owned());
    review.id = id("r1");
    review
}

fn wanted(refusal: Refusal) -> ToSign {
    match refusal {
        Refusal::Signature(wanted) => *wanted,
        other => panic!("{other:?}"),
    }
}

fn complete(rules: &Rules, task: &Task, completion: &Completion) -> Result<WorkflowStep, Refusal> {
    step(rules, task, &Act::Complete(completion.clone()), 60)
}

#[test]
fn an_agent_with_a_key_must_sign() {
    let rules = signing("Shop", sdlc());
    let task = in_review(&rules);
    let wanted = wanted(complete(&rules, &task, &review()).unwrap_err());
    assert_eq!(
        (wanted.flaw.clone(), wanted.ticket.to_string().as_str()),
        (Flaw::Missing, "AOF-abc@1")
    );
    insta::assert_snapshot!(wanted.text, @r#"
    aof-completion: 1
    project: "Shop"
    task: "AOF-abc@1"
    gate: "review"
    rules: "2595e4ff70bbb1bb"
    agent: "agent-3"
    outcome: "needs_review"
    summary: "Two things:\n\"both\" are small"
    blockers: ["coverage is 65%, need 80%"]
    rejectionNotes: "the rest is fine 👍"
    outputs: {"by":{"a":null,"z":1},"files":["b","a"],"score":0.5}
    metadata: {"session":"s-1"}
    completion: "r1"
    sha256: "cf44674e9ed0ed699766f007e0215a3f7dfde48251c82005973ac0c2c8bea3e2"
    "#);
    for seed in [1, 2] {
        let signature = Some(Signer::new(seed).sign(&wanted.text));
        let step =
            complete(&rules, &task, &Completion { signature: signature.clone(), ..review() })
                .unwrap();
        let entry = step.task.history.last().unwrap();
        assert_eq!(entry.signature, signature);
        assert_eq!(
            to_sign(&rules, &step.task, 1),
            Some(wanted.text.clone()),
            "the entry alone says what was signed"
        );
        assert_eq!(flaw(&rules, &step.task, 1), None);
        assert!(matches!(explain(&rules, Some(&task), &step.task), StateChange::Act(_)));
    }
    // No other agent needs a signature.
    assert_eq!(flaw(&rules, &task, 0), None);
}

#[test]
fn a_signature_is_good_for_one_completion_alone() {
    let rules = signing("Shop", sdlc());
    let task = in_review(&rules);
    let text = wanted(complete(&rules, &task, &review()).unwrap_err()).text;
    let signature = Some(Signer::new(1).sign(&text));
    let with = |change: &dyn Fn(&mut Completion)| {
        let mut other = Completion { signature: signature.clone(), ..review() };
        change(&mut other);
        other
    };
    let code = |rules: &Rules, task: &Task, completion: &Completion| {
        complete(rules, task, completion).err().map(|refusal| refusal.code())
    };
    assert_eq!(code(&rules, &task, &with(&|_| {})), None);
    let words: &[&dyn Fn(&mut Completion)] = &[
        &|other| other.content.outcome = Some("complete".to_owned()),
        &|other| other.content.summary = Some("Two things".to_owned()),
        &|other| other.content.blockers = Some(vec!["another one".to_owned()]),
        &|other| other.content.rejection_notes = None,
        &|other| drop(other.content.outputs.insert("score".to_owned(), json!(1))),
        &|other| drop(other.content.metadata.remove("session")),
        &|other| other.content.body = Some("A longer text.".to_owned()),
        &|other| other.id = id("r2"),
    ];
    for change in words {
        assert_eq!(code(&rules, &task, &with(*change)), Some("bad_signature"));
    }
    // Another task, a later visit, another project, other rules.
    let other = Task { id: id("AOF-abd"), ..task.clone() };
    let at_other = with(&|other| other.ticket.task = id("AOF-abd"));
    assert_eq!(code(&rules, &other, &at_other), Some("bad_signature"));
    let later = say(&rules, &task, "agent-3", "blocked").unwrap_err();
    let blocked = Completion { id: id("b1"), ..completion("agent-3", "blocked") };
    assert_eq!(wanted(later).flaw, Flaw::Missing);
    let signed =
        Some(Signer::new(2).sign(&wanted(complete(&rules, &task, &blocked).unwrap_err()).text));
    let later = complete(&rules, &task, &Completion { signature: signed, ..blocked }).unwrap().task;
    assert_eq!((later.gate.as_ref().unwrap().current.as_str(), later.history.len()), ("review", 2));
    assert_eq!(code(&rules, &later, &with(&|_| {})), Some("bad_signature"));
    assert_eq!(code(&signing("Store", sdlc()), &task, &with(&|_| {})), Some("bad_signature"));
    let mut stricter = sdlc();
    stricter.gates[1] = with_timeout(stricter.gates[1].clone());
    assert_eq!(code(&signing("Shop", stricter), &task, &with(&|_| {})), Some("bad_signature"));

    let flaws = [
        (Signer::new(3).sign(&text), "bad_signature"),
        (Signer::new(1).sign_for("git", &text), "bad_signature"),
        (Signer::new(1).sign_for("file", &text), "bad_signature"),
        (Signer::new(1).sign(text.trim_end()), "bad_signature"),
    ];
    for (signature, expected) in flaws {
        let refusal =
            complete(&rules, &task, &Completion { signature: Some(signature), ..review() })
                .unwrap_err();
        assert_eq!((refusal.code(), refusal.kind()), (expected, RefusalKind::Refused));
    }
}

fn with_timeout(gate: Gate) -> Gate {
    with(gate, |duty| duty.can_skip = true)
}

#[test]
fn an_uncheckable_signature_is_refused() {
    let rules = signing("Shop", sdlc());
    let task = opened(&rules, &[]);
    let done = Completion { id: id("d1"), ..completion("agent-7", "complete") };
    let text = to_sign(&rules, &complete(&rules, &task, &done).unwrap().task, 0).unwrap();
    let signed = Completion { signature: Some(Signer::new(1).sign(&text)), ..done };
    let refusal = complete(&rules, &task, &signed).unwrap_err();
    assert_eq!(refusal.code(), "no_signing_key");
    assert!(
        refusal.fix().to_string().contains("agents: {agent-7: {signingKey: \"ssh-ed25519 "),
        "{}",
        refusal.fix()
    );
}

#[test]
fn a_branch_is_signed_for_its_own_ticket() {
    let rules = signing("Shop", sdlc());
    let mut task = in_review(&rules);
    let entry = |branch: Option<&str>, to: Option<&str>| Visit {
        branch: branch.map(id),
        to: to.map(|to| Destination::Gate(id(to))),
        ..task.history[0].clone()
    };
    task.history = vec![
        entry(None, Some("audit")),
        entry(Some("one"), None),
        entry(Some("two"), None),
        entry(Some("three"), Some("test")),
        entry(None, Some("approve")),
    ];
    let tickets: Vec<String> = (0..5)
        .map(|place| to_sign(&rules, &task, place).unwrap().lines().nth(2).unwrap().to_owned())
        .collect();
    assert_eq!(
        tickets,
        ["AOF-abc@0", "AOF-abc@1/one", "AOF-abc@1/two", "AOF-abc@1/three", "AOF-abc@4"]
            .map(|ticket| format!("task: \"{ticket}\""))
    );
    let timeout = Visit {
        outcome: Ending::Timeout,
        agent: None,
        completion: None,
        ..task.history[4].clone()
    };
    task.history.push(timeout);
    assert_eq!(
        (to_sign(&rules, &task, 5), flaw(&rules, &task, 5)),
        (None, None),
        "time signs nothing"
    );
}
