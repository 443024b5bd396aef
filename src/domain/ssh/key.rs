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
const OTHER_KEY: &str = "use an Ed25519, ECDSA (P-256, P-384) or RSA key, or one of a hardware token (`ed25519-sk`, `ecdsa-sk`)";

/// A public key. Two that differ in their comment alone are the same.
#[derive(Clone)]
pub struct PublicKey {
    blob: Vec<u8>,
    kind: &'static str,
    material: KeyMaterial,
    comment: String,
}

/// What a signature is checked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyMaterial {
    /// Ed25519: its 32 bytes.
    Ed25519 {
        point: Vec<u8>,
        /// What a hardware token signs for, where the key is on one.
        application: Option<String>,
    },
    /// ECDSA.
    Ecdsa {
        curve: Curve,
        point: Vec<u8>,
        /// What a hardware token signs for, where the key is on one.
        application: Option<String>,
    },
    /// RSA.
    Rsa {
        exponent: Vec<u8>,
        /// The modulus, without leading zeros.
        modulus: Vec<u8>,
    },
}

/// A curve of NIST's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curve {
    /// P-256
    P256,
    /// P-384
    P384,
}

impl Curve {
    /// Returns how many bytes a coordinate has.
    pub const fn width(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::P256 => "nistp256",
            Self::P384 => "nistp384",
        }
    }
}

impl PublicKey {
    /// Returns the key in its wire form.
    pub fn blob(&self) -> &[u8] {
        &self.blob
    }

    /// Returns its type, as in `ssh-ed25519`.
    pub const fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns what a signature is checked with.
    pub const fn material(&self) -> &KeyMaterial {
        &self.material
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
        let kind = wire.text().ok_or_else(broken)?;
        let (kind, material) = match kind {
            "ssh-ed25519" => ("ssh-ed25519", ed25519(&mut wire, false)),
            "sk-ssh-ed25519@openssh.com" => {
                ("sk-ssh-ed25519@openssh.com", ed25519(&mut wire, true))
            }
            "ecdsa-sha2-nistp256" => ("ecdsa-sha2-nistp256", ecdsa(&mut wire, Curve::P256, false)),
            "ecdsa-sha2-nistp384" => ("ecdsa-sha2-nistp384", ecdsa(&mut wire, Curve::P384, false)),
            "sk-ecdsa-sha2-nistp256@openssh.com" => {
                ("sk-ecdsa-sha2-nistp256@openssh.com", ecdsa(&mut wire, Curve::P256, true))
            }
            "ssh-rsa" => ("ssh-rsa", rsa(&mut wire)?),
            other => return Err(unsupported(other)),
        };
        let material = material.and_then(|material| wire.end(material)).ok_or_else(broken)?;
        Ok(Self { blob: blob.to_vec(), kind, material, comment: String::new() })
    }
}

fn ed25519(wire: &mut Wire<'_>, is_token: bool) -> Option<KeyMaterial> {
    let point = wire.bytes().filter(|point| point.len() == 32)?.to_vec();
    Some(KeyMaterial::Ed25519 { point, application: application(wire, is_token)? })
}

fn ecdsa(wire: &mut Wire<'_>, curve: Curve, is_token: bool) -> Option<KeyMaterial> {
    wire.text().filter(|name| *name == curve.name())?;
    let point = wire
        .bytes()
        .filter(|point| point.len() == 1 + 2 * curve.width() && point[0] == 4)?
        .to_vec();
    Some(KeyMaterial::Ecdsa { curve, point, application: application(wire, is_token)? })
}

#[expect(clippy::option_option, reason = "whether it can be read, and whether there is one")]
fn application(wire: &mut Wire<'_>, is_token: bool) -> Option<Option<String>> {
    if is_token { Some(Some(wire.text()?.to_owned())) } else { Some(None) }
}

fn rsa(wire: &mut Wire<'_>) -> Result<Option<KeyMaterial>, SshFault> {
    let (Some(exponent), Some(modulus)) = (wire.large(), wire.large()) else { return Ok(None) };
    let zeros = modulus.first().map_or(0, |first| first.leading_zeros() as usize);
    let bits = modulus.len() * 8 - zeros;
    if !RSA_BITS.contains(&bits) {
        let problem = format!(
            "an RSA key of {bits} bits is none that is safe to check, which are those of 2048 to 8192"
        );
        return Err(SshFault::new(problem, "make another one, as with `ssh-keygen -t ed25519`"));
    }
    Ok(Some(KeyMaterial::Rsa { exponent: exponent.to_vec(), modulus: modulus.to_vec() }))
}

fn broken() -> SshFault {
    SshFault::new("this is no OpenSSH public key, or not the whole of one", LINE)
}

fn unsupported(kind: &str) -> SshFault {
    let shown: String = kind.chars().flat_map(char::escape_debug).take(80).collect();
    SshFault::new(format!("keys of type `{shown}` are not checked"), OTHER_KEY)
}

impl FromStr for PublicKey {
    type Err = SshFault;

    fn from_str(text: &str) -> Result<Self, SshFault> {
        let text = text.trim();
        if text.contains("PRIVATE KEY") {
            return Err(SshFault::new(
                "this is a private key, which belongs into no repository",
                LINE,
            ));
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
            let problem = format!(
                "the line says `{}`, and the key behind it is of type `{}`",
                short(kind),
                key.kind
            );
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
