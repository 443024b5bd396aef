//! Completions that a browser signs with a passkey: checked by aof, and by the real `ssh-keygen`.

use std::fs;

use serde_json::json;

use super::signatures::{approve, project, stand_in, to_sign};
use crate::support::environment::TestEnvironment;
use crate::support::signer::{PasskeySigner, has_ssh_keygen};

/// A project in which Ada signs with a passkey at these pages, and a task that waits for her.
fn scene(passkey: &PasskeySigner, origins: &str) -> (TestEnvironment, String) {
    let org = format!(
        "passkeyOrigins: {origins}\nroles:\n  backend: {{agents: [agent-7]}}\n  architect: {{agents: [human-ada]}}\nagents:\n  \
         agent-7:\n  human-ada: {{email: ada@example.org, signingKey: \"{}\"}}\n",
        passkey.public()
    );
    let env = TestEnvironment::with_rules(&project(), &org);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    stand_in(&env);
    (env, id)
}

/// Has Ada approve with what the passkey says.
fn answer(env: &TestEnvironment, signature: &str) {
    fs::write(env.home().join("answer"), signature).unwrap();
}

const PAGE: &str = "http://localhost:7420";

#[test]
fn a_passkey_approves_and_ssh_keygen_agrees() {
    let passkey = PasskeySigner::new();
    let (env, id) = scene(&passkey, &format!("[\"{PAGE}\"]"));
    answer(&env, &passkey.sign(&to_sign(&env, &id, "c1")));
    let _ = env.aof(&approve(&id, &["--id", "c1"])).success();
    let verified = env.aof(&["verify"]).success();
    assert!(verified.stdout.contains("all is as the rules allow"), "{verified}");
    if !has_ssh_keygen() {
        return;
    }
    let _ = env.aof(&["history", &format!("{id}@1"), "--export", "evidence"]).success();
    let keygen = |text: &str| {
        let script = "cd evidence && printf '%s' \"$1\" | ssh-keygen -Y verify -f allowed_signers -I human-ada -n aof -s completion.sig";
        let mut shell = env.command("sh");
        shell.args(["-c", script, "sh", text]);
        env.run(shell)
    };
    let text = fs::read_to_string(env.path("evidence/completion")).unwrap();
    let good = keygen(&text).success();
    assert!(good.stdout.contains("Good \"aof\" signature for human-ada"), "{good}");
    let _ = keygen(&text.replace("Looks good", "Looks bad")).code(255);
}

#[test]
fn a_passkey_that_checked_nobody_or_another_page_or_text_is_refused() {
    let passkey = PasskeySigner::new();
    let (env, id) = scene(&passkey, &format!("[\"https://aof.example.org\", \"{PAGE}\"]"));
    let text = to_sign(&env, &id, "c1");
    let unverified = PasskeySigner { flags: 1, ..passkey };
    let forged = [
        (1, PAGE, "without checking who was there"),
        (5, "http://localhost:9", "does not list it"),
    ];
    let mut signer = unverified;
    let before = env.task_text(&id);
    for (flags, origin, why) in forged {
        signer = PasskeySigner { flags, origin, ..signer };
        answer(&env, &signer.sign(&text));
        let refused = env.aof(&approve(&id, &["--id", "c1"])).code(4);
        assert!(refused.stderr.contains(why), "{refused}");
        let json = env.aof(&[approve(&id, &["--id", "c1"]), vec!["--json"]].concat()).code(4);
        assert_eq!(json.json()["error"], "bad_signature");
    }
    signer = PasskeySigner { flags: 5, origin: PAGE, ..signer };
    answer(&env, &signer.sign(&text.replace("Looks good", "Looks bad")));
    let other = env.aof(&approve(&id, &["--id", "c1"])).code(4);
    assert!(other.stderr.contains("something else than this completion"), "{other}");
    assert_eq!(env.task_text(&id), before, "nothing was changed");
}

#[test]
fn origins_are_written_as_browsers_do() {
    let env = TestEnvironment::new();
    for origin in [
        "http://example.org",
        "https://a.example/",
        "localhost:80",
        "https://Ex.org",
        "http://localhost:0",
    ] {
        env.write("org.yaml", json!({"passkeyOrigins": [origin], "roles": {}}).to_string());
        let refused = env.aof(&["org", "validate"]).code(6);
        assert!(refused.stdout.contains("is not the origin of a page"), "{origin}: {refused}");
    }
}
