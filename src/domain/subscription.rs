//! Who wants to be told of what, and how: what `notify` says in project.yaml and org.yaml.

use std::fmt;

use serde_json::json;

use super::{ChannelKey, EventKind};

/// What somebody wants to be told, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    pub on: On,
    pub channel: Channel,
}

/// What somebody wants to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum On {
    /// What concerns whoever it is.
    Concerning,
    /// Everything.
    All,
    /// These events.
    Only(Vec<EventKind>),
}

/// A way to tell something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Channel {
    /// A program with its arguments; it gets the message on stdin. Never empty.
    Command(Vec<String>),
    /// An HTTP server.
    Webhook(Webhook),
}

/// A receiver of webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub url: String,
    /// The variable of the environment that has the secret which messages are signed with.
    pub secret_env: Option<String>,
    /// What addresses its name may stand for.
    pub reach: Reach,
}

/// What addresses may be connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Those of the internet.
    Public,
    /// Those of this machine and of its networks, too.
    Private,
}

impl Channel {
    /// Returns its name in the outbox.
    pub fn key(&self) -> ChannelKey {
        let said = match self {
            Self::Command(words) => json!({"command": words}),
            Self::Webhook(webhook) => {
                json!({"webhook": webhook.url, "secretEnv": webhook.secret_env})
            }
        };
        ChannelKey::of(&said.to_string())
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(words) => f.write_str(&words.join(" ")),
            Self::Webhook(webhook) => f.write_str(&webhook.url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_known_by_what_it_is() {
        let one = Channel::Command(vec!["a".into(), "b c".into()]);
        let other = Channel::Command(vec!["a".into(), "b".into(), "c".into()]);
        assert_ne!(one.key(), other.key());
        assert_eq!(one.key().as_str().parse(), Ok(one.key()));
        for text in ["", "..", "0123456789abcdeF", "0123456789abcdef0"] {
            assert!(text.parse::<ChannelKey>().is_err(), "{text}");
        }
    }
}
