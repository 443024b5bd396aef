//! `notify` of project.yaml, of a role and of an agent: subscriptions to events, and their channels.

use super::decode::{Faults, FieldReader, one_or_many, parse_text_list};
use crate::yaml::{Fault, Node, NodeKind};
use aof_domain::{Channel, EventKind, NetworkReach, On, Subscription, Webhook, listed, nearest};

/// Reads the subscriptions; a single one counts as a list of one. A project must list its events; a role or an agent defaults to
/// events that concern it.
pub(crate) fn read(fields: &FieldReader<'_, '_>, is_project: bool) -> Vec<Subscription> {
    let Some(node) = fields.take("notify") else { return Vec::new() };
    if !matches!(node.kind, NodeKind::Sequence(_) | NodeKind::Mapping(_)) {
        let wanted = "`notify` is a list of mappings, each with a `command` or a `webhook`";
        let help = "write `notify: [{command: [notify-send, aof]}]`";
        fields.faults.wrong_kind(node, wanted, help);
        return Vec::new();
    }
    let one = |item| read_one(item, is_project, fields.faults);
    one_or_many(node).iter().filter_map(one).collect()
}

fn read_one(node: &Node<'_>, is_project: bool, faults: &Faults) -> Option<Subscription> {
    let fields = FieldReader::of(node, "an item of `notify`", faults)?;
    let on = match fields.with("on", read_on) {
        Some(on) => on,
        None if is_project => fields.require("on", None),
        None => Some(On::Concerning),
    };
    let command = fields.with("command", read_command);
    let webhook = fields.take("webhook");
    let secret = fields.take("secretEnv");
    let private = fields.flag("allowPrivate");
    if command.is_some() {
        for key in ["secretEnv", "allowPrivate"].into_iter().filter(|key| fields.has(key)) {
            fields.fault(key, "ignored_field", format!("`{key}` is for a `webhook`"), "");
        }
    }
    let name = secret.map(|node| node.as_str().unwrap_or_default());
    if let Some(node) = secret.filter(|_| name.is_some_and(|name| !is_variable(name))) {
        let message = "`secretEnv` is the name of an environment variable";
        let help = "write the secret itself into that variable, and never into this file: `secretEnv: AOF_HOOK_SECRET`";
        faults.invalid(node, message, help);
    }
    let reach = if private == Some(true) { NetworkReach::Private } else { NetworkReach::Public };
    let channel = match (command, webhook) {
        (Some(words), None) => words.map(Channel::Command),
        (None, Some(node)) => read_url(node, reach, faults).map(|url| {
            Channel::Webhook(Webhook { url, secret_env: name.map(str::to_owned), reach })
        }),
        (Some(_), Some(_)) => {
            let message = "`command` and `webhook` exclude each other";
            faults.push(
                Fault::new("conflicting_fields", fields.key_span("webhook"), message)
                    .label(fields.key_span("command"), "the other is here")
                    .help("make two items of it"),
            );
            None
        }
        (None, None) => {
            // A fault of an unreadable channel is reported already.
            if !fields.has("command") && !fields.has("webhook") {
                let help = "write `command: [program, argument]` or `webhook: https://...`";
                let message = "an item of `notify` needs `command` or `webhook`";
                fields.fault("command", "missing_field", message, help);
            }
            None
        }
    };
    fields.refuse_unknown();
    Some(Subscription { on: on?, channel: channel? })
}

fn read_on(node: &Node<'_>, faults: &Faults) -> Option<On> {
    if node.as_str() == Some("all") {
        return Some(On::All);
    }
    let before = faults.len();
    let names: Vec<String> = parse_text_list(node, "`on`", faults);
    if names.is_empty() && faults.len() == before {
        let help = "name events, as in `on: [gate_rejection]`, or write `on: all`";
        faults.invalid(node, "`on` names nothing", help);
    }
    let mut kinds = Vec::new();
    for (name, node) in names.iter().zip(one_or_many(node)) {
        if let Ok(kind) = name.parse::<EventKind>() {
            kinds.push(kind);
            continue;
        }
        let known = EventKind::ALL.iter().map(|kind| kind.as_str());
        let help = match nearest(name, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}; or write `on: all`", listed(known)),
        };
        faults.add("unknown_event", &node.span, format!("there is no event `{name}`"), help);
    }
    (faults.len() == before).then_some(On::Only(kinds))
}

fn read_command(node: &Node<'_>, faults: &Faults) -> Option<Vec<String>> {
    if !matches!(node.kind, NodeKind::Sequence(_)) {
        let wanted = "`command` is a list: the program and its arguments, for there is no shell";
        let help = "write `command: [notify-send, aof]`; for a shell, `command: [sh, -c, \"...\"]`";
        faults.wrong_kind(node, wanted, help);
        return None;
    }
    let before = faults.len();
    let words: Vec<String> = parse_text_list(node, "`command`", faults);
    if faults.len() > before {
        return None;
    }
    if words.first().is_none_or(|program| program.trim().is_empty()) {
        let help = "write `command: [notify-send, aof]`";
        faults.invalid(node, "`command` names no program", help);
    } else if words.iter().any(|word| word.contains('\0')) {
        faults.invalid(node, "no argument can have a NUL character in it", "");
    }
    (faults.len() == before).then_some(words)
}

fn read_url(node: &Node<'_>, reach: NetworkReach, faults: &Faults) -> Option<String> {
    let url = node.as_str().unwrap_or_default();
    let fault = match url.split_once("://") {
        Some(("https", rest)) => fault_of(rest),
        Some(("http", rest)) if reach == NetworkReach::Private => fault_of(rest),
        Some(("http", _)) => Some((
            "anybody on the way can read what goes over plain `http`",
            "use `https`; for a receiver on a network of your own, add `allowPrivate: true`",
        )),
        _ => Some(("this is no URL of a webhook", "write it as `https://host/path`")),
    };
    let Some((message, help)) = fault else { return Some(url.to_owned()) };
    faults.add("invalid_url", &node.span, message, help);
    None
}

/// Returns the fault, and the fix, in the part of a URL after its scheme.
fn fault_of(rest: &str) -> Option<(&'static str, &'static str)> {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return Some((
            "a URL here is committed, so it must not carry a name or a password",
            "sign messages with `secretEnv` instead",
        ));
    }
    if host.is_empty()
        || !rest.is_ascii()
        || rest.chars().any(|c| c.is_whitespace() || c.is_control() || "<>\"`{}|\\^".contains(c))
    {
        return Some((
            "this is no URL of a webhook",
            "write it as `https://host/path`, with `%20` for a space",
        ));
    }
    None
}

/// Returns whether the text is a name of an environment variable.
pub(crate) fn is_variable(name: &str) -> bool {
    let mut characters = name.chars();
    let first = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    // A name that begins with `whsec_` is the secret itself.
    first
        && !name.starts_with("whsec_")
        && name.len() <= 128
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use crate::config::configuration::{Source, load};
    use aof_domain::*;

    fn faults(text: &str) -> Vec<String> {
        let found =
            load(&[Source { name: "project.yaml".to_owned(), bytes: text.as_bytes().to_vec() }]);
        let described = |one: crate::diagnostic::Diagnostic| {
            format!(
                "{}:{} {}: {} ({})",
                one.line,
                one.column,
                one.code,
                one.message,
                one.help.unwrap_or_default()
            )
        };
        found.map_or_else(|found| found.into_iter().map(described).collect(), |_| Vec::new())
    }

    #[test]
    fn subscriptions_are_read() {
        let items = [
            "{on: all, command: [tee, -a, log]}",
            "{on: [gate_rejection, task_complete], webhook: \"https://example.org/hook?a=1\", secretEnv: HOOK}",
            "{on: task_failed, webhook: \"http://localhost:80/\", allowPrivate: true}",
        ];
        let text = format!("notify: [{}]", items.join(", "));
        let sources = [
            Source { name: "project.yaml".to_owned(), bytes: text.as_bytes().to_vec() },
            Source {
                name: "org.yaml".to_owned(),
                bytes: b"roles: {a: {agents: [b], notify: {command: [x]}}}\nagents: {b: {notify: [{on: gate_timeout, command: [y]}]}}".to_vec(),
            },
        ];
        let configuration = load(&sources).unwrap();
        let [one, two, three] = &configuration.project.notify[..] else { panic!() };
        assert_eq!(
            *one,
            Subscription {
                on: On::All,
                channel: Channel::Command(vec!["tee".into(), "-a".into(), "log".into()])
            }
        );
        assert_eq!(two.on, On::Only(vec![EventKind::GateRejection, EventKind::TaskComplete]));
        let Channel::Webhook(webhook) = &two.channel else { panic!() };
        assert_eq!(
            (webhook.secret_env.as_deref(), webhook.reach),
            (Some("HOOK"), NetworkReach::Public)
        );
        assert!(
            matches!(&three.channel, Channel::Webhook(webhook) if webhook.reach == NetworkReach::Private)
        );
        assert_eq!(configuration.org.roles[0].1.notify[0].on, On::Concerning);
        let agent = configuration.org.agent(&"b".parse().unwrap()).unwrap();
        assert_eq!(agent.notify[0].on, On::Only(vec![EventKind::GateTimeout]));
    }

    #[test]
    fn a_notice_without_a_recipient_is_refused_with_its_place() {
        for (text, fault) in [
            (
                "notify: [{on: [gate_rejected], command: [a]}]",
                "1:16 unknown_event: there is no event `gate_rejected` (did you mean `gate_rejection`?)",
            ),
            (
                "notify: [{on: [], command: [a]}]",
                "1:15 invalid_value: `on` names nothing (name events, as in `on: [gate_rejection]`, or write `on: all`)",
            ),
            ("notify: [{command: [a]}]", "1:11 missing_field: an item of `notify` needs `on` ()"),
            (
                "notify: [{on: all}]",
                "1:11 missing_field: an item of `notify` needs `command` or `webhook` (write `command: [program, argument]` or `webhook: https://...`)",
            ),
            (
                "notify: [{on: all, command: []}]",
                "1:29 invalid_value: `command` names no program (write `command: [notify-send, aof]`)",
            ),
            (
                "notify: [{on: all, command: rm -rf /}]",
                "1:29 wrong_kind: `command` is a list: the program and its arguments, for there is no shell, and this is a string (write `command: [notify-send, aof]`; for a shell, `command: [sh, -c, \"...\"]`)",
            ),
            (
                "notify: [{on: all, command: [a], webhook: \"https://a.b/\"}]",
                "1:34 conflicting_fields: `command` and `webhook` exclude each other (make two items of it)",
            ),
            (
                "notify: [{on: all, command: [a], secretEnv: A}]",
                "1:34 ignored_field: `secretEnv` is for a `webhook` ()",
            ),
            (
                "notify: [{on: all, webhook: \"ftp://a.b\"}]",
                "1:29 invalid_url: this is no URL of a webhook (write it as `https://host/path`)",
            ),
            (
                "notify: [{on: all, webhook: \"http://a.b\"}]",
                "1:29 invalid_url: anybody on the way can read what goes over plain `http` (use `https`; for a receiver on a network of your own, add `allowPrivate: true`)",
            ),
            (
                "notify: [{on: all, webhook: \"https://me:secret@a.b/\"}]",
                "1:29 invalid_url: a URL here is committed, so it must not carry a name or a password (sign messages with `secretEnv` instead)",
            ),
            (
                "notify: [{on: all, webhook: \"https:///a\"}]",
                "1:29 invalid_url: this is no URL of a webhook (write it as `https://host/path`, with `%20` for a space)",
            ),
            (
                "notify: [{on: all, webhook: \"https://a.b/\", secretEnv: whsec_abc=}]",
                "1:56 invalid_value: `secretEnv` is the name of an environment variable (write the secret itself into that variable, and never into this file: `secretEnv: AOF_HOOK_SECRET`)",
            ),
            (
                "notify: all",
                "1:9 wrong_kind: `notify` is a list of mappings, each with a `command` or a `webhook`, and this is a string (write `notify: [{command: [notify-send, aof]}]`)",
            ),
        ] {
            assert_eq!(faults(text), [fault], "{text}");
        }
    }
}
