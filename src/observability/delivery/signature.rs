//! Signing messages as Standard Webhooks wants it: HMAC-SHA256 over id, time and body, under secrets that are handed around as
//! `whsec_` and base64.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

const PREFIX: &str = "whsec_";

/// Secrets that messages are signed with: while one takes the place of another, both.
pub(crate) struct Secrets(Vec<Vec<u8>>);

impl Secrets {
    /// Returns the secrets that stand in the text, separated by blanks; nothing if one is none.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard_is_signed_as_it_says() {
        let secrets = Secrets::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed =
            secrets.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, "{\"test\": 2432232314}");
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn two_secrets_give_two_signatures_and_nonsense_none() {
        let one =
            Secrets::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap().sign("a", 1, "b");
        let other = Secrets::parse("c2VjcmV0").unwrap().sign("a", 1, "b");
        let both =
            Secrets::parse(" whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\nwhsec_c2VjcmV0 ").unwrap();
        assert_eq!(both.sign("a", 1, "b"), format!("{one} {other}"));
        for text in ["", " ", "whsec_", "whsec_?", "secret!", "whsec_c2VjcmV0 whsec_"] {
            assert!(Secrets::parse(text).is_none(), "{text:?}");
        }
    }
}
