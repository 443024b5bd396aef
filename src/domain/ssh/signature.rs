//! A signature as `ssh-keygen -Y sign` makes it: what it says of itself. It holds nothing of what was signed.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::wire::Wire;
use super::{KeyAlgorithm, PublicKey, SshFault};
use crate::domain::words::words;

/// The longest signature that is read, in characters.
const LIMIT: usize = 32 * 1024;
/// What every signature begins with, and what is signed.
const MAGIC: &[u8] = b"SSHSIG";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
/// How long OpenSSH's lines are.
const WIDTH: usize = 70;
const FIX: &str = "give the whole of what `ssh-keygen -Y sign -n aof` writes, from its `BEGIN` line to its `END` line";

/// A signature. Two are the same if their bytes are.
#[derive(Clone)]
pub struct Signature(Box<Parts>);

/// What it says of itself; larger than all that a completion says besides.
#[derive(Clone)]
struct Parts {
    blob: Vec<u8>,
    key: PublicKey,
    namespace: String,
    hash: HashName,
    scheme: Scheme,
}

words!(
    /// The hash of what is signed.
    HashName, "a hash of signatures", {
        /// SHA-256
        Sha256 = "sha256",
        /// SHA-512
        Sha512 = "sha512",
    }
);

/// The signature as such.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheme {
    /// What the key signed: Ed25519, RSA by PKCS#1, or ECDSA as its two numbers, one behind the other.
    pub bytes: Vec<u8>,
    /// The hash that RSA signs.
    pub rsa_hash: HashName,
    /// What a hardware token says of its owner, whether it was touched, and how often it has signed.
    pub token: Option<(u8, u32)>,
}

impl Signature {
    /// Returns the key that it says it was made with.
    pub fn key(&self) -> &PublicKey {
        &self.0.key
    }

    /// Returns what it was made for.
    pub fn namespace(&self) -> &str {
        &self.0.namespace
    }

    /// Returns the hash of what is signed.
    pub fn hash(&self) -> HashName {
        self.0.hash
    }

    /// Returns the signature as such.
    pub fn scheme(&self) -> &Scheme {
        &self.0.scheme
    }

    /// Returns the bytes that the key signed, where this is the digest of the text.
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
    let rsa_hash = if name == "rsa-sha2-256" { HashName::Sha256 } else { HashName::Sha512 };
    if name != if is_rsa { rsa_hash_name(rsa_hash) } else { key.kind() } {
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
    wire.end(Scheme { bytes, rsa_hash, token })
}

const fn rsa_hash_name(hash: HashName) -> &'static str {
    match hash {
        HashName::Sha256 => "rsa-sha2-256",
        HashName::Sha512 => "rsa-sha2-512",
    }
}

/// Returns the number with zeros before it; nothing if it is longer than that.
fn padded(number: &[u8], width: usize) -> Option<Vec<u8>> {
    let zeros = width.checked_sub(number.len())?;
    Some([vec![0; zeros], number.to_vec()].concat())
}

/// Armored, or its base64 alone.
impl FromStr for Signature {
    type Err = SshFault;

    fn from_str(text: &str) -> Result<Self, SshFault> {
        let text = text.trim();
        let inner = match (text.strip_prefix(BEGIN), text.strip_suffix(END)) {
            (Some(_), Some(_)) => text.get(BEGIN.len()..text.len() - END.len()).unwrap_or_default(),
            _ => text,
        };
        let encoded: String = inner.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        if text.len() > LIMIT || encoded.is_empty() {
            return Err(SshFault::new("this is no SSH signature", FIX));
        }
        let blob = BASE64_STANDARD.decode(encoded);
        Self::of_blob(&blob.map_err(|_| SshFault::new("this is no SSH signature", FIX))?)
    }
}

/// Armored, as `ssh-keygen` writes it; without the line break at its end.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = BASE64_STANDARD.encode(&self.0.blob);
        writeln!(f, "{BEGIN}")?;
        for line in encoded.as_bytes().chunks(WIDTH) {
            writeln!(f, "{}", String::from_utf8_lossy(line))?;
        }
        f.write_str(END)
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature(by {}, for {:?})", self.key().fingerprint(), self.namespace())
    }
}

impl PartialEq for Signature {
    fn eq(&self, other: &Self) -> bool {
        self.0.blob == other.0.blob
    }
}

impl Eq for Signature {}

#[cfg(test)]
mod tests {
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
        let signature: Signature = ARMORED.parse().unwrap();
        assert_eq!((signature.namespace(), signature.hash()), ("aof", HashName::Sha512));
        assert_eq!(signature.to_string(), ARMORED);
        let line: String = ARMORED.lines().filter(|line| !line.starts_with('-')).collect();
        assert_eq!(line.parse(), Ok(signature.clone()), "its base64 is enough");
        assert_eq!(format!("\n{}\r\n", ARMORED.replace('\n', "\r\n")).parse(), Ok(signature));
    }

    #[test]
    fn what_is_no_signature_is_refused() {
        let line: String = ARMORED.lines().filter(|line| !line.starts_with('-')).collect();
        let blob = BASE64_STANDARD.decode(line).unwrap();
        for end in 0..blob.len() {
            assert!(Signature::of_blob(&blob[..end]).is_err(), "{end} bytes of it");
        }
        assert!(Signature::of_blob(&[&blob[..], b"\0"].concat()).is_err(), "more than there is");
        for text in [
            "",
            BEGIN,
            END,
            "-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----",
            "AAAA",
            "no",
        ] {
            assert!(text.parse::<Signature>().is_err(), "{text}");
        }
        let other =
            BASE64_STANDARD.encode(&blob[..]).replacen("U1NIU0lHAAAAAQ", "U1NIU0lHAAAAAg", 1);
        assert!(other.parse::<Signature>().unwrap_err().problem.contains("version"));
    }
}
