//! Signed completions: made, refused, kept, and checked again, also by the real `ssh-keygen`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::checker::{check, faults};
use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::McpClient;
use crate::support::signer::{Signer, has_ssh_keygen, ssh_key};

pub(crate) fn project() -> String {
    format!("project: {{name: Shop}}\n{}", crate::support::environment::PROJECT)
}

fn org(keys: &str) -> String {
    format!(
        "roles:\n  backend: {{agents: [agent-7, agent-8]}}\n  architect: {{agents: [human-ada]}}\nagents:\n  agent-7:\n  \
         agent-8:\n  human-ada: {{email: ada@example.org, signingKey: {keys}}}\n"
    )
}

/// A project in which Ada signs with these keys, and a task that waits for her.
fn scene(keys: &str) -> (TestEnvironment, String) {
    let env = TestEnvironment::with_rules(&project(), &org(keys));
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    (env, id)
}

/// Has the program that makes signatures be one that writes down what it is asked, and answers what `answer` in the home holds.
pub(crate) fn stand_in(env: &TestEnvironment) {
    let path = env.home().join("stand-in");
    let script = "#!/bin/sh\nfor last; do :; done\nprintf '%s\\n' \"$*\" | sed \"s|$last|TEXT|\" > \"$HOME/asked\"\n\
                  cp \"$last\" \"$HOME/text\"\n[ -f \"$HOME/answer\" ] || { echo 'no key here' >&2; exit 3; }\n\
                  cp \"$HOME/answer\" \"$last.sig\"\n";
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    env.git(&["config", "gpg.ssh.program", path.to_str().unwrap()]);
}

/// Returns what Ada would have to sign to complete with that id.
pub(crate) fn to_sign(env: &TestEnvironment, id: &str, completion: &str) -> String {
    let file = json!({"task": id, "agent": "human-ada", "outcome": "complete", "summary": "Looks good", "id": completion});
    env.write("to-sign.json", file.to_string());
    let output = env.aof_command(&["task", "sign", "to-sign.json", "--print"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::remove_file(env.path("to-sign.json")).unwrap();
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn approve<'a>(id: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args =
        vec!["task", "complete", id, "--agent", "human-ada", "-o", "complete", "-s", "Looks good"];
    args.extend(more);
    args
}

/// Has Ada approve, with her first key.
fn approved(env: &TestEnvironment, id: &str) {
    stand_in(env);
    fs::write(env.home().join("answer"), Signer::new(1).sign(&to_sign(env, id, "c1"))).unwrap();
    let _ = env.aof(&approve(id, &["--id", "c1"])).success();
}

fn front(env: &TestEnvironment, id: &str) -> Value {
    env.aof(&["task", "show", id, "--json"]).success().json()
}

fn found(env: &TestEnvironment, more: &[&str]) -> Vec<String> {
    let output = env.aof(&[&["verify", "--json"], more].concat());
    let value = output.json();
    let rules = value["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap().to_owned());
    let rules: Vec<String> = rules.filter(|rule| rule != "named_unseen").collect();
    assert_eq!(output.code, Some(i32::from(!rules.is_empty())), "{output}");
    rules
}

#[test]
fn an_agent_with_a_key_must_sign() {
    let (env, id) = scene(&Signer::new(1).public());
    stand_in(&env);
    let head = env.head();
    assert_snapshot!(env.aof(&approve(&id, &[])).code(1), @"
    exit 1
    --- stderr
    error: `human-ada` signs completions, and this one could not be signed: `$ROOT/home/stand-in`: no key here

    hint: load the key SHA256:fe85JkIjo8VPe+XqXJGH5Mau1EMFdK1OdKvJUFicyA8 into the ssh agent with `ssh-add`, or name its file: `--sign-with ~/.ssh/id_ed25519`
    ");
    assert_eq!(
        fs::read_to_string(env.home().join("asked")).unwrap().split(" -f ").next(),
        Some("-Y sign -n aof")
    );
    // What nobody can sign is refused before anybody is asked to sign it, and what is only shown needs no signature.
    fs::remove_file(env.home().join("asked")).unwrap();
    let _ = env
        .aof(&["task", "complete", &id, "--agent", "human-ada", "-o", "done", "-s", "x"])
        .code(4);
    let _ = env.aof(&approve(&id, &["--dry-run"])).success();
    assert!(!env.home().join("asked").exists());
    // Another's word, and one of something else.
    for (answer, code) in [
        (Signer::new(2).sign(&to_sign(&env, &id, "c1")), "bad_signature"),
        (Signer::new(1).sign("something else"), "bad_signature"),
        ("nonsense".to_owned(), "cannot_sign"),
    ] {
        fs::write(env.home().join("answer"), answer).unwrap();
        let refused = env.aof(&approve(&id, &["--id", "c1", "--json"]));
        assert_eq!(refused.json()["error"], code, "{refused}");
    }
    assert_eq!(env.head(), head, "nothing was changed");
    // Whoever forges a file is told as much, and what would be right.
    let file = json!({"task": id, "agent": "human-ada", "outcome": "complete", "summary": "x", "signature": Signer::new(1).sign("x")});
    env.write(".aof/inbox/forged.json", file.to_string());
    let _ = env.aof(&["watch", "--once"]);
    let reason: Value =
        serde_json::from_str(&env.read(".aof/refused/forged.json.reason.json")).unwrap();
    assert_snapshot!(env.plain(reason["message"].as_str().unwrap()), @"
    the signature is of something else than this completion of `AOF-xxxxx@1`: of another visit, another project, other rules, or other words

    `aof complete` signs by itself, through the ssh agent or with the key file that `--sign-with FILE` names; `aof sign FILE` signs a completion file; or sign `toSign` with `ssh-keygen -Y sign -n aof`, and send the same completion again with its `id` and the `signature`. Its keys are
      SHA256:fe85JkIjo8VPe+XqXJGH5Mau1EMFdK1OdKvJUFicyA8 ada@laptop
    ");
}

#[test]
fn a_signature_stands_in_the_entry() {
    let (env, id) = scene(&Signer::new(1).public());
    approved(&env, &id);
    let text = fs::read_to_string(env.home().join("text")).unwrap();
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.contains("sha256") && !line.contains("rules")).collect();
    assert_snapshot!(env.plain(&lines.join("\n")), @r#"
    aof-completion: 1
    project: "Shop"
    task: "AOF-xxxxx@1"
    gate: "review"
    agent: "human-ada"
    outcome: "complete"
    summary: "Looks good"
    blockers: []
    rejectionNotes: null
    outputs: {}
    metadata: {}
    completion: "c1"
    "#);
    let entry = &front(&env, &id)["gateHistory"][1];
    assert_eq!(entry["signature"], Signer::new(1).sign(&text));
    assert!(
        env.task_text(&id)
            .contains("    signature: |\n      -----BEGIN SSH SIGNATURE-----\n      U1NIU0lH")
    );
    assert_eq!(found(&env, &[]), [""; 0]);
    assert!(env.aof(&["task", "history", &id]).success().stdout.contains("signed with SHA256:"));
    // Sent again, it has counted.
    let again = env.aof(&approve(&id, &["--id", "c1", "--json"])).success();
    assert_eq!(again.json()["status"], "complete");
}

#[test]
fn the_key_is_the_one_that_is_named_else_gits_else_the_agents() {
    let (one, two) = (Signer::new(1), Signer::new(2));
    let (env, id) = scene(&format!("[{}, {}]", one.public(), two.public()));
    stand_in(&env);
    let asked = |more: &[&str]| {
        let _ = env.aof(&approve(&id, more)).code(1);
        let asked = fs::read_to_string(env.home().join("asked")).unwrap();
        asked.replace(env.home().to_str().unwrap(), "~").trim().to_owned()
    };
    assert_eq!(asked(&["--sign-with", "key"]), "-Y sign -n aof -f key TEXT");
    let by_agent = asked(&[]);
    assert!(by_agent.ends_with("/key -U TEXT"), "{by_agent}");
    // Git's key counts if it is one of hers.
    fs::write(env.home().join("id.pub"), format!("{}\n", two.public())).unwrap();
    env.git(&["config", "user.signingKey", "~/id"]);
    assert_eq!(asked(&[]), "-Y sign -n aof -f ~/id TEXT");
    fs::write(env.home().join("id.pub"), format!("{}\n", Signer::new(3).public())).unwrap();
    assert!(asked(&[]).ends_with("/key -U TEXT"));
    env.git(&["config", "user.signingKey", &format!("key::{}", one.public())]);
    assert!(asked(&[]).ends_with("/key -U TEXT"));
}

#[test]
fn a_signed_file_goes_through_the_inbox() {
    let (env, id) = scene(&Signer::new(1).public());
    let file = format!(
        "# Ada's\ntask: {id}\nagent: human-ada\noutcome: complete\nsummary: Looks good\nid: c1\n"
    );
    env.write(".aof/inbox/done.yaml", &file);
    let _ = env.aof(&["watch", "--once"]);
    let reason: Value =
        serde_json::from_str(&env.read(".aof/refused/done.yaml.reason.json")).unwrap();
    assert_eq!(
        (&reason["error"], &reason["completionId"]),
        (&json!("signature_required"), &json!("c1"))
    );
    let text = reason["toSign"].as_str().unwrap();
    assert_eq!(text, to_sign(&env, &id, "c1"), "what the refusal says is what is signed");

    stand_in(&env);
    fs::write(env.home().join("answer"), Signer::new(1).sign(text)).unwrap();
    env.write("done.yaml", &file);
    assert_snapshot!(env.aof(&["task", "sign", "done.yaml"]), @"
    exit 0
    --- stdout
    done.yaml: signed for AOF-xxxxx@1 with SHA256:fe85JkIjo8VPe+XqXJGH5Mau1EMFdK1OdKvJUFicyA8
    ");
    let signed = env.read("done.yaml");
    assert!(
        signed.starts_with(&file.replace(&format!("task: {id}\n"), &format!("task: {id}@1\n"))),
        "{signed}"
    );
    // Another word, and it is none.
    env.write(".aof/inbox/forged.yaml", signed.replace("Looks good", "Looks fine"));
    let _ = env.aof(&["watch", "--once"]);
    let reason: Value =
        serde_json::from_str(&env.read(".aof/refused/forged.yaml.reason.json")).unwrap();
    assert_eq!(reason["error"], "bad_signature");
    env.write(".aof/inbox/signed.yaml", &signed);
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(front(&env, &id)["status"], "complete");
    assert_eq!(found(&env, &[]), [""; 0]);
    fs::remove_file(env.path("done.yaml")).unwrap();
    check(&env);
}

#[test]
fn branches_and_values_are_signed_as_the_documentation_says() {
    let rules = "project: {name: Shop}\nworkflow:\n  gates:\n    - {id: implement, role: backend}\n    - id: check\n      type: fork\n      \
                 branches:\n        - {id: one, role: architect}\n        - {id: two, role: architect}\n";
    let env = TestEnvironment::with_rules(rules, &org(&Signer::new(1).public()));
    stand_in(&env);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    for (branch, outputs) in
        [("one", json!({"z": [1, 0.5, "é\"\n\u{7f}"], "a": {"b": null}})), ("two", json!({}))]
    {
        let file = json!({
            "task": format!("{id}@1/{branch}"), "agent": "human-ada", "outcome": "complete", "summary": "Two\nlines: \"x\"",
            "outputs": outputs, "metadata": {"n": 0.25, "i": 18_014_398_509_481_985_i64}, "id": branch,
        });
        env.write("branch.json", file.to_string());
        let output = env.aof_command(&["task", "sign", "branch.json", "--print"]).output().unwrap();
        fs::write(
            env.home().join("answer"),
            Signer::new(1).sign(&String::from_utf8(output.stdout).unwrap()),
        )
        .unwrap();
        let _ = env.aof(&["task", "sign", "branch.json"]).success();
        fs::rename(env.path("branch.json"), env.path(&format!(".aof/inbox/{branch}.json")))
            .unwrap();
        let _ = env.aof(&["watch", "--once"]).success();
    }
    assert_eq!(front(&env, &id)["status"], "complete");
    assert_eq!(found(&env, &[]), [""; 0]);
    check(&env);
}

#[test]
fn an_agent_signs_the_text_of_a_refused_call() {
    let keys = org(&Signer::new(2).public()).replace(
        "  agent-7:\n",
        &format!("  agent-7: {{signingKey: {}}}\n", Signer::new(1).public()),
    );
    let env = TestEnvironment::with_rules(&project(), &keys);
    let id = env.new_task(&["Add login"]);
    let mut worker = McpClient::of(&env, "agent-7");
    let answer = json!({"task": id, "outcome": "complete", "summary": "Done"});
    let refused = worker.refused("aof_task_complete", answer.clone());
    assert_eq!(refused["error"], "signature_required", "{refused:#}");
    let mut signed = answer;
    signed["id"] = refused["completionId"].clone();
    signed["signature"] = json!(Signer::new(2).sign(refused["toSign"].as_str().unwrap()));
    assert_eq!(worker.refused("aof_task_complete", signed.clone())["error"], "bad_signature");
    signed["signature"] = json!(Signer::new(1).sign(refused["toSign"].as_str().unwrap()));
    let done = worker.call("aof_task_complete", signed);
    assert_eq!(done["gate"], "implement", "{done:#}");
    let unreadable = json!({"task": id, "summary": "x", "signature": "none"});
    assert_eq!(worker.refused("aof_task_complete", unreadable)["error"], "invalid_argument");
    assert_eq!(found(&env, &[]), [""; 0]);
    check(&env);
}

#[test]
fn an_unsignable_completion_is_reported() {
    let (env, id) = scene(&Signer::new(1).public());
    env.write(
        "no-id.yaml",
        format!("task: {id}\nagent: human-ada\noutcome: complete\nsummary: x\n"),
    );
    env.write(
        "no-key.yaml",
        format!("task: {id}\nagent: agent-8\noutcome: complete\nsummary: x\n"),
    );
    env.write(
        "late.yaml",
        format!("task: {id}@0\nagent: human-ada\noutcome: complete\nsummary: x\n"),
    );
    env.write("broken.yaml", format!("task: {id}\nagent: human-ada\noutcom: complete\n"));
    let code = |args: &[&str]| {
        let output = env.aof(&[args, &["--json"]].concat());
        (output.code, output.json()["error"].as_str().unwrap().to_owned())
    };
    assert_eq!(
        code(&["task", "sign", "no-id.yaml", "--print"]),
        (Some(4), "missing_id".to_owned())
    );
    assert_eq!(code(&["task", "sign", "no-key.yaml"]), (Some(4), "wrong_role".to_owned()));
    assert_eq!(code(&["task", "sign", "late.yaml"]), (Some(5), "visit_ended".to_owned()));
    assert_eq!(
        code(&["task", "sign", "broken.yaml"]),
        (Some(4), "unreadable_completion".to_owned())
    );
    assert_eq!(code(&["task", "sign", "none.yaml"]), (Some(1), "unreadable_input".to_owned()));
    assert_eq!(
        code(&["task", "history", &format!("{id}@0"), "--export", "out"]),
        (Some(4), "not_signed".to_owned())
    );
    assert!(!env.exists("out"));
    // Agent 7 has no key, so nobody could check what it signs.
    let other = env.new_task(&["Another"]);
    let signature = Signer::new(1).sign("x");
    let file = json!({"task": other, "agent": "agent-7", "outcome": "complete", "summary": "x", "signature": signature});
    env.write(".aof/inbox/signed.json", file.to_string());
    let _ = env.aof(&["watch", "--once"]);
    let reason: Value =
        serde_json::from_str(&env.read(".aof/refused/signed.json.reason.json")).unwrap();
    assert_eq!(reason["error"], "no_signing_key");
}

#[test]
fn verify_finds_missing_and_wrong_signatures() {
    let change = |from: &dyn Fn(&str) -> String| {
        let (env, id) = scene(&Signer::new(1).public());
        approved(&env, &id);
        let path = env.task_path(&id);
        env.write(&path, from(&env.read(&path)));
        env.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
        (found(&env, &[]), env)
    };
    let without = |text: &str| {
        let start = text.rfind("    signature: |\n").unwrap();
        let end =
            text.rfind("END SSH SIGNATURE-----\n").unwrap() + "END SSH SIGNATURE-----\n".len();
        format!("{}{}", &text[..start], &text[end..])
    };
    let (rules, env) = change(&|text| without(text));
    assert_eq!(rules, ["unsigned"]);
    assert!(
        faults(&env).iter().any(|fault| fault.starts_with("I12: ")),
        "the checker sees it, too"
    );
    let output = env.aof(&["verify"]).code(1).stdout;
    assert!(output.contains("an entry is not signed [unsigned]"), "{output}");
    let (rules, env) = change(&|text| text.replace("Looks good", "Looks fine"));
    assert!(rules.contains(&"bad_signature".to_owned()), "{rules:?}");
    assert!(!has_ssh_keygen() || faults(&env).iter().any(|fault| fault.starts_with("I12: ")));
    let other = Signer::new(2).sign("x").replace('\n', "\n      ");
    let other = format!("    signature: |\n      {}\n", other.trim_end());
    let (rules, _) = change(&|text| {
        let bare = without(text);
        let at = bare.rfind("---\n").unwrap();
        let at =
            text.rfind("    signature: |\n").filter(|at| bare.is_char_boundary(*at)).unwrap_or(at);
        format!("{}{other}{}", &bare[..at], &bare[at..])
    });
    assert_eq!(rules, ["untrusted_key"]);
}

#[test]
fn a_signature_under_other_rules_does_not_count_under_these() {
    let (env, id) = scene(&Signer::new(1).public());
    env.git(&["checkout", "-q", "-b", "side"]);
    approved(&env, &id);
    assert_eq!(found(&env, &[]), [""; 0]);
    env.git(&["checkout", "-q", "main"]);
    let rules = project().replacen("canReject: true", "canReject: true\n      timeout: 3d", 1);
    assert_ne!(rules, project());
    env.write("project.yaml", rules);
    env.commit_all("other rules");
    env.git(&["cherry-pick", "side"]);
    let rules = found(&env, &[]);
    assert!(rules.contains(&"bad_signature".to_owned()), "{rules:?}");
}

#[test]
fn keys_count_as_the_commit_before_has_them() {
    let (one, two) = (Signer::new(1), Signer::new(2));
    let (env, id) = scene(&one.public());
    approved(&env, &id);
    let trusted = env.home().join("trusted");
    let trusted = trusted.to_str().unwrap();
    let trust = |lines: &str| fs::write(trusted, lines).unwrap();
    trust(&format!("human-ada,ada@example.org {}\n", one.public()));
    // Another key in her place: what the old one signed stays good.
    env.write("org.yaml", org(&two.public()));
    env.commit_all("ada has a new key");
    assert_eq!(found(&env, &[]), [""; 0]);
    assert_eq!(found(&env, &["--trusted-keys", trusted]), [""; 0]);
    // Somebody gives her a key of his own, and signs with that: only who trusts other keys sees it.
    let other = env.new_task(&["Pay me"]);
    let _ = env.complete(&other, "agent-7").success();
    fs::write(env.home().join("answer"), two.sign(&to_sign(&env, &other, "c2"))).unwrap();
    let _ = env.aof(&approve(&other, &["--id", "c2"])).success();
    assert_eq!(found(&env, &[]), [""; 0]);
    assert_eq!(found(&env, &["--trusted-keys", trusted]), ["untrusted_key"]);
    trust(&format!(
        "human-ada valid-before=\"202602161000\" {0}\nhuman-ada valid-after=\"20260216\" {0}\n* {1}\n",
        one.public(),
        two.public()
    ));
    assert_eq!(found(&env, &["--trusted-keys", trusted]), [""; 0]);
    // Or he takes her key away, and needs none.
    env.write(
        "org.yaml",
        org(&two.public()).replace(", signingKey", ", description").replace(&two.public(), "x"),
    );
    env.commit_all("ada needs no key");
    let third = env.new_task(&["Pay me more"]);
    let _ = env.complete(&third, "agent-7").success();
    let _ = env.aof(&approve(&third, &[])).success();
    assert_eq!(found(&env, &[]), [""; 0]);
    assert_eq!(found(&env, &["--trusted-keys", trusted]), ["unsigned"]);
    check(&env);
    trust("human-ada\nbob fly ssh-ed25519 AAAA\n");
    assert_snapshot!(env.aof(&["verify", "--trusted-keys", trusted]).code(4), @r#"
    exit 4
    --- stderr
    error: $ROOT/home/trusted:1: a line has a name, and a key behind it
    $ROOT/home/trusted:2: `fly` is not an option of such files

    hint: write one key a line, as in `human-ann namespaces="aof" ssh-ed25519 AAAA..`; see `man ssh-keygen`, ALLOWED SIGNERS
    "#);
}

#[test]
fn a_crashed_step_is_committed_only_if_it_is_signed() {
    let (env, id) = scene(&Signer::new(1).public());
    approved(&env, &id);
    // The file of a command that was killed before its commit.
    env.git(&["update-ref", "HEAD", "HEAD~1"]);
    let ended = env.path(&env.task_path(&id));
    let text = fs::read_to_string(&ended).unwrap();
    let start = text.rfind("    signature: |\n").unwrap();
    let end = text.rfind("END SSH SIGNATURE-----\n").unwrap() + "END SSH SIGNATURE-----\n".len();
    fs::write(&ended, format!("{}{}", &text[..start], &text[end..])).unwrap();
    let frozen = env.aof(&["task", "comment", &id, "-m", "x", "--json"]).code(5);
    assert_eq!(frozen.json()["error"], "task_frozen");
    fs::write(&ended, text).unwrap();
    let _ = env.aof(&["task", "comment", &id, "-m", "x"]).success();
    assert_eq!(found(&env, &[]), [""; 0]);
}

#[test]
fn plain_ssh_keygen_makes_and_checks_them() {
    if !has_ssh_keygen() {
        return;
    }
    let env = TestEnvironment::without_rules();
    let (key, public) = ssh_key(&env, "ada", &["-t", "ed25519"]);
    let (locked, locked_public) =
        ssh_key(&env, "locked", &["-t", "ecdsa", "-b", "256", "-N", "secret"]);
    let (_, rsa) = ssh_key(&env, "rsa", &["-t", "rsa", "-b", "2048"]);
    env.write("project.yaml", project());
    env.write("org.yaml", org(&format!("[{public}, {locked_public}, {rsa}]")));
    env.commit_all("rules");
    let mut tickets = Vec::new();
    let mut next = || {
        let id = env.new_task(&["Add login"]);
        let _ = env.complete(&id, "agent-7").success();
        tickets.push(format!("{id}@1"));
        id
    };
    // A key file; git's own key; a public file beside its private one; a passphrase that nobody is there to give.
    let _ = env.aof(&approve(&next(), &["--sign-with", key.to_str().unwrap()])).success();
    env.git(&["config", "user.signingKey", "~/ada.pub"]);
    let _ = env.aof(&approve(&next(), &[])).success();
    let _ = env.aof(&approve(&next(), &["--sign-with", "../home/rsa.pub"]));
    let last = next();
    let _ = env.aof(&approve(&last, &["--sign-with", locked.to_str().unwrap()])).code(1);
    let file = format!(
        "---\ntask: {last}\nagent: human-ada\noutcome: complete\nsummary: Yes\n---\n\nA long word.\n"
    );
    env.write("done.md", file);
    let _ = env.aof(&["task", "sign", "done.md"]).success();
    fs::copy(env.path("done.md"), env.path(".aof/inbox/done.md")).unwrap();
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(found(&env, &[]), [""; 0]);

    let done = tickets.iter().filter(|ticket| front(&env, ticket)["status"] == "complete");
    let done: Vec<&String> = done.collect();
    assert!(done.len() >= 3, "{done:?}");
    for ticket in done {
        let folder = env.home().join(ticket.replace('@', "-"));
        let exported = env
            .aof(&["task", "history", ticket, "--export", folder.to_str().unwrap(), "--json"])
            .success()
            .json();
        let check = |script: &str| {
            let mut command = env.command("sh");
            command.args(["-c", script]).current_dir(&folder);
            env.run(command)
        };
        // What stands there may be the list that ssh goes by.
        let again =
            env.aof(&["task", "history", ticket, "--export", folder.to_str().unwrap()]).code(4);
        assert!(again.stderr.contains("exists already, and is not overwritten"), "{again}");
        let good = check(exported["check"].as_str().unwrap()).success();
        assert!(good.stdout.contains("Good \"aof\" signature for human-ada"), "{good}");
        let forged = exported["check"].as_str().unwrap().replace("< completion", "< other");
        let other =
            fs::read_to_string(folder.join("completion")).unwrap().replace("complete", "skip");
        fs::write(folder.join("other"), other).unwrap();
        assert_ne!(check(&forged).code, Some(0));
    }
}

#[test]
fn keys_of_a_side_count_for_entries_of_that_side() {
    let (env, id) = scene(&Signer::new(1).public());
    env.git(&["checkout", "-q", "-b", "side"]);
    env.write("org.yaml", org(&Signer::new(2).public()));
    env.commit_all("ada has a new key");
    stand_in(&env);
    fs::write(env.home().join("answer"), Signer::new(2).sign(&to_sign(&env, &id, "c1"))).unwrap();
    let _ = env.aof(&approve(&id, &["--id", "c1"])).success();
    env.git(&["checkout", "-q", "main"]);
    env.write("elsewhere.txt", "x");
    env.commit_all("something else");
    env.git(&["merge", "-q", "--no-edit", "side"]);
    assert_eq!(found(&env, &[]), [""; 0]);
    // A key that was revoked in the meantime is none.
    env.git(&["reset", "-q", "--hard", "HEAD~1"]);
    env.git(&["checkout", "-q", "-b", "late", "HEAD~1"]);
    approved(&env, &id);
    env.git(&["checkout", "-q", "main"]);
    env.write("org.yaml", org(&Signer::new(3).public()));
    env.commit_all("ada lost her key");
    env.git(&["merge", "-q", "--no-edit", "late"]);
    assert_eq!(found(&env, &[]), ["untrusted_key"]);
}
