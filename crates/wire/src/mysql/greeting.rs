//! The first words of both sides: what they can do, and who the client is.

use super::bytes::{Bytes, put_zeroed};
use super::{Error, capability};

/// What a server says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting<'a> {
    /// The server's version, for people.
    pub version: &'a [u8],
    /// The connection's number.
    pub connection: u32,
    /// What the server can do.
    pub capabilities: u64,
    /// The server's state.
    pub status: u16,
    /// What a password is mixed with: 8 bytes, and more behind them.
    pub nonce: (&'a [u8], &'a [u8]),
    /// The way to authenticate that the server prefers; may be empty.
    pub plugin: &'a [u8],
}

/// The version of the protocol.
const VERSION: u8 = 10;

impl<'a> Greeting<'a> {
    /// Reads a greeting.
    pub fn read(payload: &'a [u8]) -> Result<Greeting<'a>, Error> {
        let mut bytes = Bytes(payload);
        let protocol = bytes.u8()?;
        if protocol != VERSION {
            return Err(Error::Version(protocol));
        }
        let version = bytes.until_zero();
        let connection = bytes.u32()?;
        let first = bytes.take(8)?;
        let _filler = bytes.u8()?;
        let mut capabilities = u64::from(bytes.u16()?);
        let mut greeting = Greeting {
            version,
            connection,
            capabilities,
            status: 0,
            nonce: (first, &[]),
            plugin: &[],
        };
        if bytes.0.is_empty() {
            return Ok(greeting);
        }
        let _charset = bytes.u8()?;
        greeting.status = bytes.u16()?;
        capabilities |= u64::from(bytes.u16()?) << 16;
        let nonce_bytes = bytes.u8()?;
        let _filler = bytes.take(6)?;
        let further = bytes.u32()?;
        if capabilities & capability::MYSQL == 0 {
            capabilities |= u64::from(further) << 32;
        }
        if capabilities & capability::SECURE != 0 {
            let rest = bytes.take(usize::from(nonce_bytes.saturating_sub(8)).max(13))?;
            greeting.nonce.1 = rest.strip_suffix(&[0]).unwrap_or(rest);
        }
        if capabilities & capability::PLUGINS != 0 {
            greeting.plugin = bytes.until_zero();
        }
        Ok(Greeting { capabilities, ..greeting })
    }

    /// Appends the greeting's payload.
    pub fn write(&self, out: &mut Vec<u8>) {
        let capabilities = self.capabilities.to_le_bytes();
        out.push(VERSION);
        put_zeroed(self.version, out);
        out.extend_from_slice(&self.connection.to_le_bytes());
        put_zeroed(self.nonce.0, out);
        out.extend_from_slice(&capabilities[..2]);
        out.push(UTF8MB4);
        out.extend_from_slice(&self.status.to_le_bytes());
        out.extend_from_slice(&capabilities[2..4]);
        out.push((self.nonce.0.len() + self.nonce.1.len() + 1) as u8);
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&capabilities[4..]);
        put_zeroed(self.nonce.1, out);
        put_zeroed(self.plugin, out);
    }
}

/// The character set `utf8mb4`, with its general collation, which every server has.
const UTF8MB4: u8 = 45;

/// What a client says to a greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// What is spoken from now on: what both can do and the client wants.
    pub capabilities: u64,
    /// Who logs in.
    pub user: &'a [u8],
    /// The proof that the password is known.
    pub proof: &'a [u8],
    /// The database to use; empty for none.
    pub database: &'a [u8],
    /// The way of the proof.
    pub plugin: &'a [u8],
}

/// The longest packet that the client takes; servers send what they have all the same.
const MOST_PACKET_BYTES: u32 = 1 << 24;

impl<'a> Reply<'a> {
    /// Appends the beginning, which alone asks for TLS.
    pub fn write_head(capabilities: u64, out: &mut Vec<u8>) {
        let capabilities = capabilities.to_le_bytes();
        out.extend_from_slice(&capabilities[..4]);
        out.extend_from_slice(&MOST_PACKET_BYTES.to_le_bytes());
        out.push(UTF8MB4);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&capabilities[4..]);
    }

    /// Appends the reply's payload; the proof has at most 250 bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        Reply::write_head(self.capabilities, out);
        put_zeroed(self.user, out);
        out.push(self.proof.len() as u8);
        out.extend_from_slice(self.proof);
        if self.capabilities & capability::WITH_DATABASE != 0 {
            put_zeroed(self.database, out);
        }
        if self.capabilities & capability::PLUGINS != 0 {
            put_zeroed(self.plugin, out);
        }
    }

    /// Reads a reply; `None` when it only asks for TLS.
    pub fn read(payload: &'a [u8]) -> Result<Option<Reply<'a>>, Error> {
        let mut bytes = Bytes(payload);
        let mut capabilities = u64::from(bytes.u32()?);
        if capabilities & capability::PROTOCOL_41 == 0 {
            return Err(Error::Malformed("a client of before 4.1"));
        }
        let _most_and_charset = bytes.take(4 + 1 + 19)?;
        let further = bytes.u32()?;
        if capabilities & capability::MYSQL == 0 {
            capabilities |= u64::from(further) << 32;
        }
        if capabilities & capability::TLS != 0 && bytes.0.is_empty() {
            return Ok(None);
        }
        let user = bytes.until_zero();
        let proof_bytes = bytes.u8()?;
        let proof = bytes.take(usize::from(proof_bytes))?;
        let has = |wanted: u64| capabilities & wanted != 0;
        let database =
            if has(capability::WITH_DATABASE) { bytes.until_zero() } else { Default::default() };
        let plugin = if has(capability::PLUGINS) { bytes.until_zero() } else { Default::default() };
        Ok(Some(Reply { capabilities, user, proof, database, plugin }))
    }
}
