//! Whether an SSH signature holds for a text: the arithmetic, and nothing else. The one home of ring.

use ring::digest;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA512, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

use crate::domain::Signature;
use crate::domain::ssh::{Curve, HashName, KeyMaterial, Scheme};

/// Returns whether the key that the signature names has signed the text.
pub(crate) fn holds(signature: &Signature, text: &[u8]) -> bool {
    let hash = match signature.hash() {
        HashName::Sha256 => &digest::SHA256,
        HashName::Sha512 => &digest::SHA512,
    };
    let signed = signature.signed(digest::digest(hash, text).as_ref());
    match (signature.key().material(), signature.scheme()) {
        (KeyMaterial::Ed25519 { point, application: None }, Scheme::Plain(bytes)) => {
            plain(&ED25519, point, &signed, bytes)
        }
        (KeyMaterial::Ecdsa { curve, point, application: None }, Scheme::Plain(bytes)) => {
            plain(of_curve(*curve), point, &signed, bytes)
        }
        (KeyMaterial::Rsa { exponent, modulus }, Scheme::Rsa(hash, bytes)) => {
            let parameters = match hash {
                HashName::Sha256 => &RSA_PKCS1_2048_8192_SHA256,
                HashName::Sha512 => &RSA_PKCS1_2048_8192_SHA512,
            };
            RsaPublicKeyComponents { n: modulus, e: exponent }
                .verify(parameters, &signed, bytes)
                .is_ok()
        }
        (
            KeyMaterial::Ed25519 { point, application: Some(application) },
            Scheme::Token { bytes, flags, counter },
        ) => plain(&ED25519, point, &by_token(application, *flags, *counter, &signed), bytes),
        (
            KeyMaterial::Ecdsa { curve, point, application: Some(application) },
            Scheme::Token { bytes, flags, counter },
        ) => {
            plain(of_curve(*curve), point, &by_token(application, *flags, *counter, &signed), bytes)
        }
        // A signature of another kind than its key cannot be read; whoever builds one all the same has signed nothing.
        _ => false,
    }
}

fn plain(
    algorithm: &'static dyn VerificationAlgorithm,
    point: &[u8],
    signed: &[u8],
    bytes: &[u8],
) -> bool {
    UnparsedPublicKey::new(algorithm, point).verify(signed, bytes).is_ok()
}

fn of_curve(curve: Curve) -> &'static dyn VerificationAlgorithm {
    match curve {
        Curve::P256 => &ECDSA_P256_SHA256_FIXED,
        Curve::P384 => &ECDSA_P384_SHA384_FIXED,
    }
}

/// Returns what a hardware token signs in place of the bytes it is given.
fn by_token(application: &str, flags: u8, counter: u32, signed: &[u8]) -> Vec<u8> {
    let mut whole = digest::digest(&digest::SHA256, application.as_bytes()).as_ref().to_vec();
    whole.push(flags);
    whole.extend(counter.to_be_bytes());
    whole.extend(digest::digest(&digest::SHA256, signed).as_ref());
    whole
}
