//! Sends a message to a web server: posts it once, signed according to Standard Webhooks, within ten seconds.
//!
//! The name is resolved here, and every address is checked before one of them is connected to, so a name cannot resolve to another
//! address after the check. No redirect is followed and no proxy is used: their addresses would not be checked.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, Mac};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use sha2::Sha256;
use ureq::config::Config;
use ureq::http::{Response, Uri};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Body, Error};

use crate::domain::{NetworkReach, Webhook};
use crate::observability::notices::message::{Failure, Message, in_one_line};

/// The timeout of a whole request.
const TIME: Duration = Duration::from_secs(10);
/// The number of bytes of an answer that are shown.
const SHOWN: usize = 200;

/// Posts the message; a status from 200 to 299 means that it was accepted.
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
        Ok(mut answer) => check_answer(&mut answer, message.now),
        Err(error) => Err(unreachable(why(&error))),
    }
}

fn unreachable(why: String) -> Failure {
    Failure::Unreachable { why, again_in: None }
}

fn secrets(webhook: &Webhook) -> Result<Option<WebhookSecrets>, Failure> {
    let Some(name) = &webhook.secret_env else { return Ok(None) };
    let Ok(text) = std::env::var(name) else {
        return Err(unreachable(format!(
            "the environment has no `{name}` to sign with, where messages are delivered"
        )));
    };
    match WebhookSecrets::parse(&text) {
        Some(secrets) => Ok(Some(secrets)),
        None => Err(unreachable(format!(
            "`{name}` is no secret to sign with: it is `whsec_` and base64"
        ))),
    }
}

fn agent(reach: NetworkReach) -> Agent {
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
        CheckedResolver { reach, names: DefaultResolver::default() },
    )
}

/// Resolves names to addresses that may be connected to.
#[derive(Debug)]
struct CheckedResolver {
    reach: NetworkReach,
    names: DefaultResolver,
}

impl Resolver for CheckedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let addresses = self.names.resolve(uri, config, timeout)?;
        match addresses.iter().find(|address| !is_public(address.ip())) {
            Some(private) if self.reach == NetworkReach::Public => {
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

fn check_answer(answer: &mut Response<Body>, now: Timestamp) -> Result<(), Failure> {
    let status = answer.status().as_u16();
    let again_in =
        answer.headers().get("retry-after").and_then(|value| pause(value.to_str().ok()?, now));
    let answer_suffix = answer_suffix(answer);
    let answered = format!("it answered {status}{answer_suffix}");
    Err(match status {
        200..=299 => return Ok(()),
        300..=399 => {
            Failure::Refused(format!("it answered {status}, and redirects are not followed"))
        }
        410 => Failure::Unwanted("it answered 410: it wants no messages any more".to_owned()),
        429 | 502..=504 => Failure::Unreachable { why: answered, again_in },
        _ if again_in.is_some() => Failure::Unreachable { why: answered, again_in },
        _ => Failure::Refused(answered),
    })
}

/// Returns the beginning of the answer as the end of a sentence.
fn answer_suffix(answer: &mut Response<Body>) -> String {
    let mut bytes = Vec::new();
    // A partial answer is useful, too.
    let _ = answer.body_mut().as_reader().take(SHOWN as u64).read_to_end(&mut bytes);
    let text = in_one_line(&bytes);
    if text.is_empty() { text } else { format!(": {text}") }
}

/// Parses a `Retry-After` header: seconds, or a time.
fn pause(text: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()?;
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

const PREFIX: &str = "whsec_";

/// The secrets that sign messages: during a rotation, the old and the new one.
pub(crate) struct WebhookSecrets(Vec<Vec<u8>>);

impl WebhookSecrets {
    /// Parses secrets separated by blanks; returns `None` if one is invalid.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let decode = |word: &str| {
            let secret = BASE64_STANDARD.decode(word.strip_prefix(PREFIX).unwrap_or(word)).ok()?;
            Some(secret).filter(|secret| !secret.is_empty())
        };
        let secrets: Option<Vec<Vec<u8>>> = text.split_whitespace().map(decode).collect();
        secrets.filter(|secrets| !secrets.is_empty()).map(Self)
    }

    /// Returns the header that signs a message, with a signature for each secret.
    pub(crate) fn sign(&self, id: &str, seconds: i64, body: &str) -> String {
        let signed = format!("{id}.{seconds}.{body}");
        let signatures = self.0.iter().map(|secret| {
            let mut mac =
                Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length will do");
            mac.update(signed.as_bytes());
            format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
        });
        signatures.collect::<Vec<_>>().join(" ")
    }
}

/// Returns true if the address is on the internet: not private, link-local, of this machine or reserved. An IPv6 address that stands
/// for an IPv4 one is checked as that.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_reserved = match (a, b) {
        (0 | 10 | 127 | 224..=255, _)
        | (100, 64..=127)
        | (169, 254)
        | (172, 16..=31)
        | (192, 168)
        | (198, 18 | 19) => true,
        (192, 0) => matches!(c, 0 | 2),
        (192, 88) => c == 99,
        (198, 51) => c == 100,
        (203, 0) => c == 113,
        _ => false,
    };
    !is_reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Mapped, translated by the network, and 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => v4(high, low),
        // Documentation, and the reserved addresses below 2001:200.
        [0x2001, 0x0db8 | 0..=0x01ff, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        // Only 2000::/3 is allocated for the internet.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn failure(url: &str) -> String {
        let webhook =
            Webhook { url: url.to_owned(), secret_env: None, reach: NetworkReach::Public };
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
            reach: NetworkReach::Private,
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

#[cfg(test)]
mod signature_tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard_is_signed_as_it_says() {
        let secrets = WebhookSecrets::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed =
            secrets.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, "{\"test\": 2432232314}");
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn two_secrets_give_two_signatures_and_nonsense_none() {
        let one = WebhookSecrets::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
            .unwrap()
            .sign("a", 1, "b");
        let other = WebhookSecrets::parse("c2VjcmV0").unwrap().sign("a", 1, "b");
        let both =
            WebhookSecrets::parse(" whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\nwhsec_c2VjcmV0 ")
                .unwrap();
        assert_eq!(both.sign("a", 1, "b"), format!("{one} {other}"));
        for text in ["", " ", "whsec_", "whsec_?", "secret!", "whsec_c2VjcmV0 whsec_"] {
            assert!(WebhookSecrets::parse(text).is_none(), "{text:?}");
        }
    }
}

#[cfg(test)]
mod public_address_tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for private in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.1.2.3",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:0a00:0001::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "5f00::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "126.255.255.255",
            "169.253.1.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.167.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "2001:4860:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:0808:0808::1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }
}
