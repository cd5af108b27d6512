//! Passwords, proven without being sent.

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use super::Error;

/// A way to authenticate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// `mysql_native_password`.
    Native,
    /// `caching_sha2_password`, the default of `MySQL` since 8.0.
    CachingSha2,
    /// `client_ed25519` of `MariaDB`.
    Ed25519,
    /// `mysql_clear_password`: the password itself.
    Clear,
}

impl Plugin {
    const ALL: [Plugin; 4] = [Plugin::Native, Plugin::CachingSha2, Plugin::Ed25519, Plugin::Clear];

    /// The name it goes by in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Plugin::Native => "mysql_native_password",
            Plugin::CachingSha2 => "caching_sha2_password",
            Plugin::Ed25519 => "client_ed25519",
            Plugin::Clear => "mysql_clear_password",
        }
    }

    /// The one of that name.
    pub fn named(name: &[u8]) -> Option<Plugin> {
        Plugin::ALL.into_iter().find(|plugin| plugin.name().as_bytes() == name)
    }

    /// Appends the proof that the password is known, given the server's nonce; `private` when
    /// nobody else can read the connection.
    pub fn prove(
        self,
        password: &[u8],
        nonce: &[u8],
        private: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        match self {
            Plugin::Native if !password.is_empty() => {
                out.extend_from_slice(&native(password, nonce));
            }
            Plugin::CachingSha2 if !password.is_empty() => {
                out.extend_from_slice(&caching_sha2(password, nonce));
            }
            Plugin::Native | Plugin::CachingSha2 => {}
            Plugin::Ed25519 => out.extend_from_slice(&ed25519(password, nonce)),
            Plugin::Clear if private => {
                out.extend_from_slice(password);
                out.push(0);
            }
            Plugin::Clear => return Err(Error::NotPrivate),
        }
        Ok(())
    }
}

/// SHA1(password) ⊕ SHA1(nonce, SHA1(SHA1(password))).
fn native(password: &[u8], nonce: &[u8]) -> [u8; 20] {
    let once: [u8; 20] = Sha1::digest(password).into();
    let twice = Sha1::digest(once);
    let mask: [u8; 20] = Sha1::new().chain_update(nonce).chain_update(twice).finalize().into();
    std::array::from_fn(|index| once[index] ^ mask[index])
}

/// SHA256(password) ⊕ SHA256(SHA256(SHA256(password)), nonce).
fn caching_sha2(password: &[u8], nonce: &[u8]) -> [u8; 32] {
    let once: [u8; 32] = Sha256::digest(password).into();
    let twice = Sha256::digest(once);
    let mask: [u8; 32] = Sha256::new().chain_update(twice).chain_update(nonce).finalize().into();
    std::array::from_fn(|index| once[index] ^ mask[index])
}

/// The nonce, signed with the key that the password's SHA512 is.
fn ed25519(password: &[u8], nonce: &[u8]) -> [u8; 64] {
    let expanded: [u8; 64] = Sha512::digest(password).into();
    let secret = ExpandedSecretKey::from_bytes(&expanded);
    let public = VerifyingKey::from(&secret);
    raw_sign::<Sha512>(&secret, nonce, &public).to_bytes()
}
