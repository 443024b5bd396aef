//! Public keys and signatures as OpenSSH writes them (RFC 4253, RFC 5656, RFC 8332, and its `PROTOCOL.sshsig` and `PROTOCOL.u2f`).
//! Parsing is strict, so that each has one form. The engine decides whether a signature is valid.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::words::words;

pub mod trusted_keys;

/// The reason why a text is not a key or not a signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {fix}")]
pub struct SshFault {
    pub problem: String,
    pub fix: &'static str,
}

impl SshFault {
    fn new(problem: impl Into<String>, fix: &'static str) -> Self {
        Self { problem: problem.into(), fix }
    }
}

/// The bytes that are left to read.
pub(crate) struct Wire<'b>(&'b [u8]);

impl<'b> Wire<'b> {
    pub(crate) fn of(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    /// Takes that many bytes.
    pub(crate) fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes a number of four bytes.
    pub(crate) fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Takes a string of bytes.
    pub(crate) fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    /// Takes a string of text.
    pub(crate) fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// Takes a number of any length greater than 0, in its only valid form; without the zero byte that marks it as positive.
    pub(crate) fn large(&mut self) -> Option<&'b [u8]> {
        let bytes = self.bytes()?;
        match bytes {
            [0, next, ..] if *next >= 0x80 => Some(&bytes[1..]),
            [first, ..] if (1..0x80).contains(first) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the value if nothing is left.
    pub(crate) fn end<T>(&self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }
}

/// The longest key that is read, in characters of its line.
const KEY_LIMIT: usize = 16 * 1024;

/// The bits that the modulus of an RSA key may have.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

const LINE: &str = "write the line of its `.pub` file, as in `ssh-ed25519 AAAA.. ann@laptop`";
/// The algorithm that a key signs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAlgorithm {
    Ed25519,
    P256,
    P384,
    Rsa,
}

/// The type of a key that is on a hardware token or kept by a browser.
const PASSKEY: &str = "sk-ecdsa-sha2-nistp256@openssh.com";
/// The type of a signature that a browser made with such a key.
const PASSKEY_SCHEME: &str = "webauthn-sk-ecdsa-sha2-nistp256@openssh.com";

/// The types of keys that are checked: the name of each, and whether the key is on a hardware token.
const TYPES: [(&str, KeyAlgorithm, bool); 6] = [
    ("ssh-ed25519", KeyAlgorithm::Ed25519, false),
    ("sk-ssh-ed25519@openssh.com", KeyAlgorithm::Ed25519, true),
    ("ecdsa-sha2-nistp256", KeyAlgorithm::P256, false),
    ("ecdsa-sha2-nistp384", KeyAlgorithm::P384, false),
    (PASSKEY, KeyAlgorithm::P256, true),
    ("ssh-rsa", KeyAlgorithm::Rsa, false),
];

impl KeyAlgorithm {
    /// Returns the number of bytes of a coordinate on its curve.
    pub(crate) const fn width(self) -> usize {
        if matches!(self, Self::P384) { 48 } else { 32 }
    }
}

/// A public key. Two that differ in their comment alone are the same.
#[derive(Clone)]
pub struct PublicKey {
    blob: Vec<u8>,
    kind: &'static str,
    pub algorithm: KeyAlgorithm,
    /// The point; for RSA the modulus, without leading zeros.
    pub point: Vec<u8>,
    /// For RSA the exponent.
    pub exponent: Vec<u8>,
    /// The application that a hardware token signs for, if the key is on one.
    pub application: Option<Vec<u8>>,
    comment: String,
}

impl PublicKey {
    /// Returns the key's type, as in `ssh-ed25519`.
    pub const fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns the owner's name for the key.
    pub fn comment(&self) -> &str {
        &self.comment
    }

    /// Returns the id by which a browser finds the key, if it is a passkey for pages of that host: its comment is then
    /// `passkey:ID`.
    pub fn passkey_of(&self, host: &str) -> Option<&str> {
        self.comment.strip_prefix("passkey:").filter(|_| {
            self.kind == PASSKEY && self.application.as_deref() == Some(host.as_bytes())
        })
    }

    /// Returns the key's fingerprint as `ssh-keygen -l` shows it: `SHA256:..`.
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
        KeyAlgorithm::Ed25519 => {
            return Some((wire.bytes().filter(|point| point.len() == 32)?, &[]));
        }
        KeyAlgorithm::Rsa => {
            let exponent = wire.large()?;
            return Some((wire.large()?, exponent));
        }
        KeyAlgorithm::P256 => ("nistp256", algorithm.width()),
        KeyAlgorithm::P384 => ("nistp384", algorithm.width()),
    };
    wire.text().filter(|name| *name == curve)?;
    Some((wire.bytes().filter(|point| point.len() == 1 + 2 * width && point[0] == 4)?, &[]))
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
        if text.len() > KEY_LIMIT || text.chars().any(char::is_control) {
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
            let (written, kind) = (short(kind), key.kind);
            let problem =
                format!("the line says `{written}`, and the key behind it is of type `{kind}`");
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

/// The longest signature that is read, in characters.
const SIGNATURE_LIMIT: usize = 32 * 1024;
/// The beginning of every signature, and of the bytes that are signed.
const MAGIC: &[u8] = b"SSHSIG";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
/// The length of OpenSSH's lines.
const WIDTH: usize = 70;
const FIX: &str = "give the whole of what `ssh-keygen -Y sign -n aof` writes, from its `BEGIN` line to its `END` line";

/// A signature. Two are the same if their bytes are.
#[derive(Clone)]
pub struct SshSignature(Box<Parts>);

/// The parts of a signature; larger than the rest of a completion, hence boxed.
#[derive(Clone)]
struct Parts {
    blob: Vec<u8>,
    key: PublicKey,
    namespace: String,
    hash: HashName,
    scheme: Scheme,
}

words!(
    /// The hash algorithm for the signed text.
    HashName, "a hash of signatures", {
        /// SHA-256
        Sha256 = "sha256",
        /// SHA-512
        Sha512 = "sha512",
    }
);

/// The signature proper, with the data of a hardware token or a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheme {
    /// The signature's bytes: Ed25519, RSA by PKCS#1, or for ECDSA its two numbers, one after the other.
    pub bytes: Vec<u8>,
    /// The hash that RSA signs.
    pub rsa_hash: HashName,
    /// The flags and the counter of a hardware token: whether its owner was verified, whether it was touched, and how often it has
    /// signed.
    pub token: Option<(u8, u32)>,
    /// The data that a browser signed, if the key is a passkey.
    pub passkey: Option<Passkey>,
}

/// The data that a browser had a passkey sign (W3C Web Authentication, section 5.8.1; OpenSSH's `PROTOCOL.u2f`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    /// The page that asked, as in `http://localhost:7420`.
    pub origin: String,
    /// The JSON that was signed: it names the page, and has the signed bytes as its challenge.
    pub client_data: String,
}

impl Passkey {
    /// Returns whether the browser was asked to sign these bytes, by the page that it names. The JSON begins as the standard
    /// prescribes (section 5.8.1.1), which is what OpenSSH compares.
    pub fn is_about(&self, bytes: &[u8]) -> bool {
        let Self { origin, client_data } = self;
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let begin =
            format!(r#"{{"type":"webauthn.get","challenge":"{challenge}","origin":"{origin}""#);
        let Ok(Value::Object(data)) = serde_json::from_str(client_data) else { return false };
        client_data.starts_with(&begin)
            && data.get("origin").and_then(Value::as_str) == Some(origin)
            && data.get("crossOrigin") != Some(&Value::Bool(true))
    }
}

impl SshSignature {
    /// Returns the key that the signature names as its own.
    pub fn key(&self) -> &PublicKey {
        &self.0.key
    }

    /// Returns the purpose that the signature was made for.
    pub fn namespace(&self) -> &str {
        &self.0.namespace
    }

    /// Returns the hash algorithm for the signed text.
    pub fn hash(&self) -> HashName {
        self.0.hash
    }

    /// Returns the signature proper.
    pub fn scheme(&self) -> &Scheme {
        &self.0.scheme
    }

    /// Returns the bytes that the key signed, given the digest of the text.
    pub fn signed(&self, digest: &[u8]) -> Vec<u8> {
        let mut signed = MAGIC.to_vec();
        for part in [self.0.namespace.as_bytes(), b"", self.0.hash.as_str().as_bytes(), digest] {
            signed.extend(u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
            signed.extend(part);
        }
        signed
    }

    fn of_blob(blob: &[u8]) -> Result<Self, SshFault> {
        let broken = || SshFault::new("this is no SSH signature, or not the whole of one", FIX);
        let mut wire = Wire::of(blob);
        wire.take(MAGIC.len()).filter(|magic| *magic == MAGIC).ok_or_else(broken)?;
        if wire.number().ok_or_else(broken)? != 1 {
            return Err(SshFault::new("this SSH signature is of a version that is not known", FIX));
        }
        let key = PublicKey::of_blob(wire.bytes().ok_or_else(broken)?)?;
        let rest = (|| {
            let namespace = wire.text()?.to_owned();
            wire.bytes().filter(|reserved| reserved.is_empty())?;
            let hash = wire.text()?.parse().ok()?;
            let scheme = scheme(&key, wire.bytes()?)?;
            wire.end((namespace, hash, scheme))
        })();
        let (namespace, hash, scheme) = rest.ok_or_else(broken)?;
        Ok(Self(Box::new(Parts { blob: blob.to_vec(), key, namespace, hash, scheme })))
    }
}

fn scheme(key: &PublicKey, bytes: &[u8]) -> Option<Scheme> {
    let mut wire = Wire::of(bytes);
    let name = wire.text()?;
    let inner = wire.bytes()?;
    let is_rsa = key.algorithm == KeyAlgorithm::Rsa;
    let is_passkey = name == PASSKEY_SCHEME && key.kind() == PASSKEY;
    let rsa_hash = if name == "rsa-sha2-256" { HashName::Sha256 } else { HashName::Sha512 };
    if !is_passkey && name != if is_rsa { rsa_hash_name(rsa_hash) } else { key.kind() } {
        return None;
    }
    let bytes = match key.algorithm {
        KeyAlgorithm::Rsa => padded(inner, key.point.len())?,
        KeyAlgorithm::Ed25519 => inner.to_vec(),
        KeyAlgorithm::P256 | KeyAlgorithm::P384 => {
            let mut numbers = Wire::of(inner);
            let (one, two) = (numbers.large()?, numbers.large()?);
            let width = key.algorithm.width();
            numbers.end([padded(one, width)?, padded(two, width)?].concat())?
        }
    };
    let token = match &key.application {
        Some(_) => Some((*wire.take(1)?.first()?, wire.number()?)),
        None => None,
    };
    let passkey = if is_passkey {
        let (origin, client_data) = (wire.text()?.to_owned(), wire.text()?.to_owned());
        // aof asks for no extensions.
        wire.bytes().filter(|extensions| extensions.is_empty())?;
        Some(Passkey { origin, client_data })
    } else {
        None
    };
    wire.end(Scheme { bytes, rsa_hash, token, passkey })
}

const fn rsa_hash_name(hash: HashName) -> &'static str {
    match hash {
        HashName::Sha256 => "rsa-sha2-256",
        HashName::Sha512 => "rsa-sha2-512",
    }
}

/// Returns the number with leading zeros; `None` if it is longer than the width.
fn padded(number: &[u8], width: usize) -> Option<Vec<u8>> {
    let zeros = width.checked_sub(number.len())?;
    Some([vec![0; zeros], number.to_vec()].concat())
}

/// Parses an armored signature, or its base64 alone.
impl FromStr for SshSignature {
    type Err = SshFault;

    fn from_str(text: &str) -> Result<Self, SshFault> {
        let text = text.trim();
        let inner = match (text.strip_prefix(BEGIN), text.strip_suffix(END)) {
            (Some(_), Some(_)) => text.get(BEGIN.len()..text.len() - END.len()).unwrap_or_default(),
            _ => text,
        };
        let encoded: String = inner.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        if text.len() > SIGNATURE_LIMIT || encoded.is_empty() {
            return Err(SshFault::new("this is no SSH signature", FIX));
        }
        let blob = BASE64_STANDARD.decode(encoded);
        Self::of_blob(&blob.map_err(|_| SshFault::new("this is no SSH signature", FIX))?)
    }
}

/// Armored, as `ssh-keygen` writes it; without the line break at its end.
impl fmt::Display for SshSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = BASE64_STANDARD.encode(&self.0.blob);
        writeln!(f, "{BEGIN}")?;
        for line in encoded.as_bytes().chunks(WIDTH) {
            writeln!(f, "{}", String::from_utf8_lossy(line))?;
        }
        f.write_str(END)
    }
}

impl fmt::Debug for SshSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SshSignature(by {}, for {:?})", self.key().fingerprint(), self.namespace())
    }
}

impl PartialEq for SshSignature {
    fn eq(&self, other: &Self) -> bool {
        self.0.blob == other.0.blob
    }
}

impl Eq for SshSignature {}

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
    fn an_invalid_key_is_refused_with_the_reason() {
        let fault = |text: &str| text.parse::<PublicKey>().unwrap_err().to_string();
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
            assert!(fault(text).contains(words), "{text}: {}", fault(text));
        }
        let two = format!("{ANN}\n{ANN}");
        assert!(two.parse::<PublicKey>().is_err(), "one line is one key");
    }
}

#[cfg(test)]
mod signature_tests {
    use super::*;

    const ARMORED: &str = concat!(
        "-----BEGIN SSH SIGNATURE-----\n",
        "U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgOsbBNeU+7oEICz9ZuNKO3AFMv9\n",
        "kXcQA4UvdqWVRM4A4AAAADYW9mAAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5\n",
        "AAAAQJmJVO2c1A7NTGt+m73OUkfmqQsj58Lb71PiDpVMCK6aC7B0D39pBaJAD2xtQiWfqF\n",
        "jyDHgIjnzoSDepcDnp/QI=\n",
        "-----END SSH SIGNATURE-----",
    );

    #[test]
    fn a_signature_reads_back() {
        let signature: SshSignature = ARMORED.parse().unwrap();
        assert_eq!((signature.namespace(), signature.hash()), ("aof", HashName::Sha512));
        assert_eq!(signature.to_string(), ARMORED);
        let line: String = ARMORED.lines().filter(|line| !line.starts_with('-')).collect();
        assert_eq!(line.parse(), Ok(signature.clone()), "its base64 is enough");
        assert_eq!(format!("\n{}\r\n", ARMORED.replace('\n', "\r\n")).parse(), Ok(signature));
    }

    #[test]
    fn an_invalid_signature_is_refused() {
        let line: String = ARMORED.lines().filter(|line| !line.starts_with('-')).collect();
        let blob = BASE64_STANDARD.decode(line).unwrap();
        for end in 0..blob.len() {
            assert!(SshSignature::of_blob(&blob[..end]).is_err(), "{end} bytes of it");
        }
        assert!(SshSignature::of_blob(&[&blob[..], b"\0"].concat()).is_err(), "more than there is");
        for text in [
            "",
            BEGIN,
            END,
            "-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----",
            "AAAA",
            "no",
        ] {
            assert!(text.parse::<SshSignature>().is_err(), "{text}");
        }
        let other =
            BASE64_STANDARD.encode(&blob[..]).replacen("U1NIU0lHAAAAAQ", "U1NIU0lHAAAAAg", 1);
        assert!(other.parse::<SshSignature>().unwrap_err().problem.contains("version"));
    }
}
