//! Whether an SSH signature holds for a text: the arithmetic, and nothing else. The one home of ring.

use ring::digest;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA512, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

use crate::domain::Signature;
use crate::domain::ssh::{HashName, KeyAlgorithm};

/// Returns whether the key that the signature names has signed the text.
pub(crate) fn holds(signature: &Signature, text: &[u8]) -> bool {
    let hash = match signature.hash() {
        HashName::Sha256 => &digest::SHA256,
        HashName::Sha512 => &digest::SHA512,
    };
    let mut signed = signature.signed(digest::digest(hash, text).as_ref());
    let (key, scheme) = (signature.key(), signature.scheme());
    if let (Some(application), Some((flags, counter))) = (&key.application, scheme.token) {
        signed = by_token(application, flags, counter, &signed);
    }
    let algorithm: &dyn VerificationAlgorithm = match key.algorithm {
        KeyAlgorithm::Ed25519 => &ED25519,
        KeyAlgorithm::P256 => &ECDSA_P256_SHA256_FIXED,
        KeyAlgorithm::P384 => &ECDSA_P384_SHA384_FIXED,
        KeyAlgorithm::Rsa => {
            let parameters = match scheme.rsa_hash {
                HashName::Sha256 => &RSA_PKCS1_2048_8192_SHA256,
                HashName::Sha512 => &RSA_PKCS1_2048_8192_SHA512,
            };
            let components = RsaPublicKeyComponents { n: &key.point, e: &key.exponent };
            return components.verify(parameters, &signed, &scheme.bytes).is_ok();
        }
    };
    UnparsedPublicKey::new(algorithm, &key.point).verify(&signed, &scheme.bytes).is_ok()
}

/// Returns what a hardware token signs in place of the bytes it is given.
fn by_token(application: &[u8], flags: u8, counter: u32, signed: &[u8]) -> Vec<u8> {
    let mut whole = digest::digest(&digest::SHA256, application).as_ref().to_vec();
    whole.push(flags);
    whole.extend(counter.to_be_bytes());
    whole.extend(digest::digest(&digest::SHA256, signed).as_ref());
    whole
}
