//! A message to a web server: posted once, signed as Standard Webhooks wants it, within ten seconds.
//!
//! The name is resolved here, and every address that it stands for is looked at before one of them is connected to, so a name cannot
//! mean one thing when it is checked and another when it is used. No redirect is followed and no proxy asked: either would go where
//! nothing was checked.

use std::io::Read;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use ureq::config::Config;
use ureq::http::{Response, Uri};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Body, Error};

use super::message::{Failure, Message, in_one_line};
use super::public_address::is_public;
use super::signature::Secrets;
use crate::domain::{Reach, Webhook};

/// How long all of it may take.
const TIME: Duration = Duration::from_secs(10);
/// How much of an answer is told.
const TOLD: usize = 200;

/// Posts the message; an answer of 200 to 299 means that it was taken.
pub(crate) fn post(webhook: &Webhook, message: Message<'_>) -> Result<(), Failure> {
    let secrets = secrets(webhook)?;
    let body = message.value.to_string();
    let seconds = message.now.as_second();
    let mut request = agent(webhook.reach)
        .post(&webhook.url)
        .header("content-type", "application/json")
        .header("webhook-id", message.id)
        .header("webhook-timestamp", seconds.to_string());
    if let Some(secrets) = secrets {
        request = request.header("webhook-signature", secrets.sign(message.id, seconds, &body));
    }
    match request.send(&body) {
        Ok(mut answer) => judge(&mut answer, message.now),
        Err(error) => Err(unreachable(why(&error))),
    }
}

fn unreachable(why: String) -> Failure {
    Failure::Unreachable { why, again_in: None }
}

fn secrets(webhook: &Webhook) -> Result<Option<Secrets>, Failure> {
    let Some(name) = &webhook.secret_env else { return Ok(None) };
    let Ok(text) = std::env::var(name) else {
        return Err(unreachable(format!(
            "the environment has no `{name}` to sign with, where messages are delivered"
        )));
    };
    match Secrets::parse(&text) {
        Some(secrets) => Ok(Some(secrets)),
        None => Err(unreachable(format!(
            "`{name}` is no secret to sign with: it is `whsec_` and base64"
        ))),
    }
}

fn agent(reach: Reach) -> Agent {
    let config = Agent::config_builder()
        .timeout_global(Some(TIME))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .proxy(None)
        .user_agent(concat!("aof/", env!("CARGO_PKG_VERSION")))
        .build();
    Agent::with_parts(
        config,
        DefaultConnector::default(),
        Checked { reach, names: DefaultResolver::default() },
    )
}

/// Resolves names to addresses that may be connected to.
#[derive(Debug)]
struct Checked {
    reach: Reach,
    names: DefaultResolver,
}

impl Resolver for Checked {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let addresses = self.names.resolve(uri, config, timeout)?;
        match addresses.iter().find(|address| !is_public(address.ip())) {
            Some(private) if self.reach == Reach::Public => {
                let host = uri.host().unwrap_or_default();
                Err(Error::Other(
                    format!(
                        "`{host}` stands for {}, which is no address of the internet; `allowPrivate: true` would allow it",
                        private.ip()
                    )
                    .into(),
                ))
            }
            _ => Ok(addresses),
        }
    }
}

fn why(error: &Error) -> String {
    match error {
        Error::Timeout(_) => format!("no answer within {} s", TIME.as_secs()),
        Error::HostNotFound => "its name is not known".to_owned(),
        Error::Other(cause) => cause.to_string(),
        error => error.to_string(),
    }
}

fn judge(answer: &mut Response<Body>, now: Timestamp) -> Result<(), Failure> {
    let status = answer.status().as_u16();
    let again_in =
        answer.headers().get("retry-after").and_then(|value| pause(value.to_str().ok()?, now));
    let said = said(answer);
    match status {
        200..=299 => Ok(()),
        300..=399 => Err(Failure::Refused {
            why: format!("it answered {status}, and redirects are not followed"),
        }),
        410 => Err(Failure::Unwanted {
            why: "it answered 410: it wants no messages any more".to_owned(),
        }),
        429 | 502..=504 => {
            Err(Failure::Unreachable { why: format!("it answered {status}{said}"), again_in })
        }
        _ if again_in.is_some() => {
            Err(Failure::Unreachable { why: format!("it answered {status}{said}"), again_in })
        }
        _ => Err(Failure::Refused { why: format!("it answered {status}{said}") }),
    }
}

/// Returns the beginning of what was answered, as a part of a line.
fn said(answer: &mut Response<Body>) -> String {
    let mut bytes = Vec::new();
    // Half an answer says something, too.
    let _ = answer.body_mut().as_reader().take(TOLD as u64).read_to_end(&mut bytes);
    let text = in_one_line(&bytes);
    if text.is_empty() { text } else { format!(": {text}") }
}

/// Returns how long a receiver wants to be left alone: seconds, or a time.
fn pause(text: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()?;
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn failure(url: &str) -> String {
        let webhook = Webhook { url: url.to_owned(), secret_env: None, reach: Reach::Public };
        let message = Message { id: "aof_1", value: &json!({}), now: Timestamp::UNIX_EPOCH };
        match post(&webhook, message) {
            Err(Failure::Unreachable { why, .. }) => why,
            other => panic!("{url}: {other:?}"),
        }
    }

    #[test]
    fn nothing_on_this_machine_or_its_networks_is_reached() {
        for host in [
            "127.0.0.1",
            "localhost",
            "[::1]",
            "10.1.2.3",
            "169.254.169.254",
            "[::ffff:127.0.0.1]",
            "0.0.0.0",
            "2130706433",
            "0x7f.1",
        ] {
            for scheme in ["http", "https"] {
                let why = failure(&format!("{scheme}://{host}:1/latest"));
                assert!(why.contains("no address of the internet"), "{scheme} {host}: {why}");
            }
        }
    }

    #[test]
    fn a_secret_that_is_not_there_sends_nothing() {
        let webhook = Webhook {
            url: "http://127.0.0.1:1/".to_owned(),
            secret_env: Some("AOF_TEST_NO_SUCH_SECRET".to_owned()),
            reach: Reach::Private,
        };
        let message = Message { id: "aof_1", value: &json!({}), now: Timestamp::UNIX_EPOCH };
        let Err(Failure::Unreachable { why, .. }) = post(&webhook, message) else { panic!() };
        assert_eq!(
            why,
            "the environment has no `AOF_TEST_NO_SUCH_SECRET` to sign with, where messages are delivered"
        );
    }

    #[test]
    fn a_receiver_says_when_to_come_again() {
        let now: Timestamp = "2015-10-21T07:27:30Z".parse().unwrap();
        assert_eq!(pause("120", now), Some(Duration::from_mins(2)));
        assert_eq!(pause("Wed, 21 Oct 2015 07:28:00 GMT", now), Some(Duration::from_secs(30)));
        assert_eq!(pause("Wed, 21 Oct 2015 07:00:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(pause("soon", now), None);
    }
}
