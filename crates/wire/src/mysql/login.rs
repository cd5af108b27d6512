//! Opening a connection: greeting, perhaps TLS, log-in.

use super::answers::{Done, Refusal};
use super::bytes::Bytes;
use super::{Error, Greeting, Packets, Plugin, Reply, capability, packet};

/// Who logs in.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// The user's name.
    pub user: Vec<u8>,
    /// The password; empty for none.
    pub password: Vec<u8>,
    /// The database to use; empty for none.
    pub database: Vec<u8>,
}

/// A password does not show.
impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account").field("user", &self.user).finish_non_exhaustive()
    }
}

/// What was agreed on when the connection was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// What both sides can do.
    pub capabilities: u64,
    /// The server's state.
    pub status: u16,
    /// The connection's number at the server.
    pub connection: u32,
}

/// How far the opening has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// More must arrive.
    More,
    /// TLS begins behind what was appended; go on with [`Login::secured`].
    Secure,
    /// Commands may be sent.
    Done(Session),
    /// The server does not want this client.
    Refused(Refusal<'a>),
}

/// The client's side of a log-in.
#[derive(Clone, Debug)]
pub struct Login {
    state: State,
    tls: bool,
    private: bool,
    /// The number of the next packet, whoever sends it.
    sequence: u8,
    session: Session,
    plugin: Plugin,
    nonce: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Greeting,
    Proving,
}

/// What this client can do, where the server can.
const WANTED: u64 = capability::MYSQL
    | capability::FOUND_ROWS
    | capability::LONG_FLAG
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE
    | capability::MULTI_RESULTS
    | capability::PS_MULTI_RESULTS
    | capability::PLUGINS
    | capability::DEPRECATE_EOF
    | capability::CACHE_COLUMNS;

impl Login {
    /// A log-in, over TLS when `tls`; `private` when nobody else can read the connection even
    /// without.
    pub fn new(tls: bool, private: bool) -> Login {
        Login {
            state: State::Greeting,
            tls,
            private: private || tls,
            sequence: 0,
            session: Session::default(),
            plugin: Plugin::Native,
            nonce: Vec::new(),
        }
    }

    /// Begins again, on a new connection.
    pub fn restart(&mut self) {
        self.state = State::Greeting;
        self.sequence = 0;
    }

    /// Takes what arrives and appends what is to be said.
    pub fn next<'p, 'i: 'p>(
        &mut self,
        account: &Account,
        packets: &'p mut Packets,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress<'p>, Error> {
        if !packets.within() {
            packets.expect(self.sequence);
        }
        let Some(payload) = packets.next(input)? else { return Ok(Progress::More) };
        self.sequence = self.sequence.wrapping_add(1);
        match (self.state, payload.first()) {
            (_, Some(0xff)) => Refusal::read(payload).map(Progress::Refused),
            (State::Greeting, _) => self.greeted(account, payload, out),
            (State::Proving, Some(0x00)) => {
                self.session.status = Done::read(payload)?.status;
                Ok(Progress::Done(self.session))
            }
            (State::Proving, Some(0x01)) => self.asked_for_more(account, &payload[1..], out),
            (State::Proving, Some(0xfe)) if payload.len() > 1 => {
                let mut bytes = Bytes(&payload[1..]);
                let name = bytes.until_zero();
                self.plugin = Plugin::named(name).ok_or(Error::UnknownPlugin)?;
                self.mix_with(&[bytes.0.strip_suffix(&[0]).unwrap_or(bytes.0)]);
                self.say(out, |login, out| {
                    login.plugin.prove(&account.password, &login.nonce, login.private, out)
                })
            }
            (State::Proving, Some(0xfe)) => Err(Error::UnknownPlugin),
            _ => Err(Error::Malformed("no answer to a log-in")),
        }
    }

    /// TLS is there, after [`Progress::Secure`]: appends who logs in.
    pub fn secured(&mut self, account: &Account, out: &mut Vec<u8>) -> Result<(), Error> {
        self.say(out, |login, out| login.introduce(account, out)).map(drop)
    }

    fn greeted<'p>(
        &mut self,
        account: &Account,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress<'p>, Error> {
        let greeting = Greeting::read(payload)?;
        let wanted = WANTED
            | if account.database.is_empty() { 0 } else { capability::WITH_DATABASE }
            | if self.tls { capability::TLS } else { 0 };
        let both = wanted & greeting.capabilities;
        if both & capability::PROTOCOL_41 == 0 || both & capability::SECURE == 0 {
            return Err(Error::Malformed("a server of before 4.1"));
        }
        if self.tls && both & capability::TLS == 0 {
            return Err(Error::NoTls);
        }
        // Without the one, a row's end and columns left out could be told apart by luck alone.
        let caches = both & capability::DEPRECATE_EOF != 0;
        self.session = Session {
            capabilities: if caches { both } else { both & !capability::CACHE_COLUMNS },
            status: greeting.status,
            connection: greeting.connection,
        };
        self.plugin = match Plugin::named(greeting.plugin) {
            // Whoever reads along would be handed the password, so the server must ask again.
            None | Some(Plugin::Clear) => Plugin::Native,
            Some(plugin) => plugin,
        };
        self.mix_with(&[greeting.nonce.0, greeting.nonce.1]);
        self.state = State::Proving;
        if self.tls {
            let capabilities = self.session.capabilities;
            self.say(out, |_, out| {
                Reply::write_head(capabilities, out);
                Ok(())
            })?;
            return Ok(Progress::Secure);
        }
        self.say(out, |login, out| login.introduce(account, out))
    }

    fn mix_with(&mut self, nonce: &[&[u8]]) {
        self.nonce.clear();
        for part in nonce {
            self.nonce.extend_from_slice(part);
        }
    }

    fn introduce(&self, account: &Account, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut proof = Vec::with_capacity(64);
        self.plugin.prove(&account.password, &self.nonce, self.private, &mut proof)?;
        let reply = Reply {
            capabilities: self.session.capabilities,
            user: &account.user,
            proof: &proof,
            database: &account.database,
            plugin: self.plugin.name().as_bytes(),
        };
        reply.write(out);
        Ok(())
    }

    /// What a way to authenticate wants beyond its proof.
    fn asked_for_more<'p>(
        &mut self,
        account: &Account,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress<'p>, Error> {
        match (self.plugin, data) {
            // The server remembered the password; its OK follows.
            (Plugin::CachingSha2, [3]) => Ok(Progress::More),
            (Plugin::CachingSha2, [4]) => self.say(out, |login, out| {
                Plugin::Clear.prove(&account.password, &[], login.private, out)
            }),
            _ => Err(Error::Malformed("more is asked than was agreed on")),
        }
    }

    fn say<'p>(
        &mut self,
        out: &mut Vec<u8>,
        write: impl FnOnce(&Login, &mut Vec<u8>) -> Result<(), Error>,
    ) -> Result<Progress<'p>, Error> {
        let (start, mut written) = (out.len(), Ok(()));
        self.sequence = packet(self.sequence, out, |out| written = write(self, out));
        if written.is_err() {
            out.truncate(start);
        }
        written.map(|()| Progress::More)
    }
}
