//! Public keys and signatures as OpenSSH writes them (RFC 4253, RFC 5656, RFC 8332, and its `PROTOCOL.sshsig` and `PROTOCOL.u2f`):
//! read strictly, so that there is one way to write each. Whether a signature holds is the engine's to say.

pub(crate) mod trusted_keys;

pub(crate) mod key;
pub(crate) mod signature;
pub(crate) mod wire;

pub(crate) use key::KeyAlgorithm;
pub use key::PublicKey;
pub(crate) use signature::HashName;
pub use signature::Signature;

/// Why a text is no key or no signature.
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
