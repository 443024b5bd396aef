//! A public key: the line of a `.pub` file.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use sha2::{Digest, Sha256};

use super::SshFault;
use super::wire::Wire;

/// The longest key that is read, in characters of its line.
const LIMIT: usize = 16 * 1024;

/// The bits that the modulus of an RSA key may have.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

const LINE: &str = "write the line of its `.pub` file, as in `ssh-ed25519 AAAA.. ann@laptop`";
/// What a key signs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyAlgorithm {
    Ed25519,
    P256,
    P384,
    Rsa,
}

/// The types of keys that are checked: what each is called, and whether the key is on a hardware token.
const TYPES: [(&str, KeyAlgorithm, bool); 6] = [
    ("ssh-ed25519", KeyAlgorithm::Ed25519, false),
    ("sk-ssh-ed25519@openssh.com", KeyAlgorithm::Ed25519, true),
    ("ecdsa-sha2-nistp256", KeyAlgorithm::P256, false),
    ("ecdsa-sha2-nistp384", KeyAlgorithm::P384, false),
    ("sk-ecdsa-sha2-nistp256@openssh.com", KeyAlgorithm::P256, true),
    ("ssh-rsa", KeyAlgorithm::Rsa, false),
];

impl KeyAlgorithm {
    /// Returns how many bytes a coordinate of its curve has.
    pub(crate) const fn width(self) -> usize {
        if matches!(self, Self::P384) { 48 } else { 32 }
    }
}

/// A public key. Two that differ in their comment alone are the same.
#[derive(Clone)]
pub struct PublicKey {
    blob: Vec<u8>,
    kind: &'static str,
    pub(crate) algorithm: KeyAlgorithm,
    /// The point; of RSA the modulus, without leading zeros.
    pub(crate) point: Vec<u8>,
    /// Of RSA the exponent.
    pub(crate) exponent: Vec<u8>,
    /// What a hardware token signs for, where the key is on one.
    pub(crate) application: Option<Vec<u8>>,
    comment: String,
}

impl PublicKey {
    /// Returns its type, as in `ssh-ed25519`.
    pub const fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns what its owner calls it.
    pub fn comment(&self) -> &str {
        &self.comment
    }

    /// Returns what `ssh-keygen -l` shows of it, as in `SHA256:..`.
    pub fn fingerprint(&self) -> String {
        format!("SHA256:{}", BASE64_STANDARD_NO_PAD.encode(Sha256::digest(&self.blob)))
    }

    /// Reads the wire form.
    pub(crate) fn of_blob(blob: &[u8]) -> Result<Self, SshFault> {
        let mut wire = Wire::of(blob);
        let name = wire.text().ok_or_else(broken)?;
        let known = TYPES.into_iter().find(|(kind, ..)| *kind == name);
        let Some((kind, algorithm, is_token)) = known else {
            let help = "use an Ed25519, ECDSA (P-256, P-384) or RSA key, or one of a hardware token (`ed25519-sk`, `ecdsa-sk`)";
            return Err(SshFault::new(
                format!("keys of type `{}` are not checked", short(name)),
                help,
            ));
        };
        let read = |mut wire: Wire<'_>| {
            let (point, exponent) = numbers(&mut wire, algorithm)?;
            let application = if is_token { Some(wire.bytes()?.to_vec()) } else { None };
            wire.end(Self {
                blob: blob.to_vec(),
                kind,
                algorithm,
                point: point.to_vec(),
                exponent: exponent.to_vec(),
                application,
                comment: String::new(),
            })
        };
        let key = read(wire).ok_or_else(broken)?;
        let zeros = key.point.first().map_or(0, |first| first.leading_zeros() as usize);
        let bits = key.point.len() * 8 - zeros;
        if algorithm == KeyAlgorithm::Rsa && !RSA_BITS.contains(&bits) {
            let problem = format!(
                "an RSA key of {bits} bits is none that is safe to check, which are those of 2048 to 8192"
            );
            return Err(SshFault::new(
                problem,
                "make another one, as with `ssh-keygen -t ed25519`",
            ));
        }
        Ok(key)
    }
}

/// Returns the point, or modulus and exponent.
fn numbers<'b>(wire: &mut Wire<'b>, algorithm: KeyAlgorithm) -> Option<(&'b [u8], &'b [u8])> {
    let (curve, width) = match algorithm {
        KeyAlgorithm::Ed25519 => return Some((wire.bytes().filter(|own| own.len() == 32)?, &[])),
        KeyAlgorithm::Rsa => {
            let exponent = wire.large()?;
            return Some((wire.large()?, exponent));
        }
        KeyAlgorithm::P256 => ("nistp256", algorithm.width()),
        KeyAlgorithm::P384 => ("nistp384", algorithm.width()),
    };
    wire.text().filter(|name| *name == curve)?;
    Some((wire.bytes().filter(|own| own.len() == 1 + 2 * width && own[0] == 4)?, &[]))
}

fn broken() -> SshFault {
    SshFault::new("this is no OpenSSH public key, or not the whole of one", LINE)
}

impl FromStr for PublicKey {
    type Err = SshFault;

    fn from_str(text: &str) -> Result<Self, SshFault> {
        let text = text.trim();
        if text.contains("PRIVATE KEY") {
            let problem = "this is a private key, which belongs into no repository";
            return Err(SshFault::new(problem, LINE));
        }
        if text.len() > LIMIT || text.chars().any(char::is_control) {
            return Err(broken());
        }
        let mut words = text.splitn(3, ' ');
        let (Some(kind), Some(encoded)) = (words.next(), words.next()) else {
            return Err(broken());
        };
        let comment = words.next().unwrap_or_default().trim().to_owned();
        let blob = BASE64_STANDARD.decode(encoded).map_err(|_| broken())?;
        let key = Self::of_blob(&blob)?;
        if key.kind != kind {
            let (said, kind) = (short(kind), key.kind);
            let problem =
                format!("the line says `{said}`, and the key behind it is of type `{kind}`");
            return Err(SshFault::new(problem, LINE));
        }
        Ok(Self { comment, ..key })
    }
}

fn short(text: &str) -> String {
    text.chars().flat_map(char::escape_debug).take(40).collect()
}

/// The type and the key, without the comment.
impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, BASE64_STANDARD.encode(&self.blob))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.blob == other.blob
    }
}

impl Eq for PublicKey {}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDrGwTXlPu6BCAs/WbjSjtwBTL/ZF3EAOFL3allUTOAO ann@example.org";

    #[test]
    fn a_key_reads_back() {
        let key: PublicKey = ANN.parse().unwrap();
        assert_eq!((key.kind(), key.comment()), ("ssh-ed25519", "ann@example.org"));
        assert_eq!(format!("{key} ann@example.org"), ANN);
        assert_eq!(key.to_string().parse(), Ok(key.clone()));
        assert_eq!(key.fingerprint().len(), "SHA256:".len() + 43);
    }

    #[test]
    fn what_is_no_key_says_why() {
        let said = |text: &str| text.parse::<PublicKey>().unwrap_err().to_string();
        for (text, words) in [
            ("", "no OpenSSH public key"),
            ("ssh-ed25519", "no OpenSSH public key"),
            ("ssh-ed25519 AAAA", "no OpenSSH public key"),
            ("ssh-ed25519 ????", "no OpenSSH public key"),
            (&ANN.replace("OAO ", " "), "no OpenSSH public key"),
            (&ANN.replace("ssh-ed25519 ", "ssh-rsa "), "of type `ssh-ed25519`"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----", "private key"),
            ("ssh-dss AAAAB3NzaC1kc3M=", "`ssh-dss` are not checked"),
            (
                "ecdsa-sha2-nistp521 AAAAE2VjZHNhLXNoYTItbmlzdHA1MjE=",
                "`ecdsa-sha2-nistp521` are not checked",
            ),
            ("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAgCB", "RSA key of 8 bits"),
        ] {
            assert!(said(text).contains(words), "{text}: {}", said(text));
        }
        let two = format!("{ANN}\n{ANN}");
        assert!(two.parse::<PublicKey>().is_err(), "one line is one key");
    }
}
