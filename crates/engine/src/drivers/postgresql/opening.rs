//! From a new connection to one whose statements are prepared.

use wire::postgresql::{Error, Login, Message, Progress, Status, ask};

use super::statement::{Prepared, Statement};
use super::{Conn, Postgresql};
use crate::drivers::{Opening, Reason, Told};
use crate::error::PlanError;
use crate::plan::SqlProtocol;
use crate::workload::OperationIndex;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Whether the server will encrypt.
    Encryption,
    /// To be let in.
    LogIn,
    /// To hear that the statement of this operation is prepared.
    Preparing(OperationIndex),
}

/// What a client says first.
pub(super) fn startup(user: &str, database: Option<&str>) -> Result<Vec<u8>, PlanError> {
    let mut out = Vec::new();
    let settings = [
        ("user", Some(user)),
        ("database", database),
        ("application_name", Some("benchlab")),
        ("client_encoding", Some("UTF8")),
    ];
    let given = settings.into_iter().filter_map(|(name, value)| Some((name, value?.as_bytes())));
    ask::startup(given, &mut out)
        .map_err(|error| PlanError::new("driver.user", user, error.to_string()))?;
    Ok(out)
}

impl Postgresql {
    pub(super) fn begin(&mut self, conn: &mut Conn, out: &mut Vec<u8>) -> Opening {
        conn.messages.reset();
        (conn.login, conn.status) = (Login::default(), Status::Idle);
        conn.prepared.clear();
        if self.shared.targets[conn.target].tls {
            conn.stage = Stage::Encryption;
            ask::ssl_request(out);
            return Opening::More;
        }
        self.log_in(conn, out)
    }

    pub(super) fn log_in(&mut self, conn: &mut Conn, out: &mut Vec<u8>) -> Opening {
        conn.stage = Stage::LogIn;
        out.extend_from_slice(&self.shared.startup);
        Opening::More
    }

    pub(super) fn go_on(
        &mut self,
        conn: &mut Conn,
        input: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Opening, Reason> {
        if conn.stage == Stage::Encryption {
            return match std::mem::take(input) {
                [] => Ok(Opening::More),
                b"S" => Ok(Opening::Secure),
                b"N" => Err(Reason::Tls(Told::new(b"the server has no TLS"))),
                // Whatever stands behind the answer was not encrypted, and may be anybody's.
                _ => Err(Reason::Surplus),
            };
        }
        loop {
            let Conn { messages, login, .. } = conn;
            let Some(message) = messages.next(input).map_err(Reason::Postgresql)? else {
                return Ok(Opening::More);
            };
            match (conn.stage, message) {
                (Stage::LogIn, Message::Error(complaint)) => return Err(self.told(complaint)),
                (Stage::LogIn, message) => {
                    let (user, password) = (&self.shared.user, self.shared.password.as_deref());
                    let progress =
                        login.take(&message, user, password, out).map_err(Reason::Postgresql)?;
                    if progress == Progress::Ready {
                        return self.prepare(conn, out);
                    }
                }
                (Stage::Preparing(index), Message::Ready(status)) => {
                    conn.status = status;
                    match self.next_to_prepare(index + 1) {
                        Some(next) => conn.stage = Stage::Preparing(next),
                        None => return Ok(Opening::Ready),
                    }
                }
                (Stage::Preparing(index), message) => {
                    let statement = &self.shared.operations[index].statement;
                    conn.prepared[index].learn(&message, statement);
                    match message {
                        Message::Error(complaint) if complaint.fatal => {
                            return Err(self.told(complaint));
                        }
                        // What cannot be prepared now is tried again when it is asked, and what
                        // the server says then is the operation's failure.
                        Message::Error(_)
                        | Message::ParseComplete
                        | Message::Parameters(_)
                        | Message::Columns(_)
                        | Message::NoData
                        | Message::Aside => {}
                        _ => return Err(Reason::Postgresql(Error::OutOfPlace)),
                    }
                }
                (Stage::Encryption, _) => return Err(Reason::Surplus),
            }
        }
    }

    /// Asks for all statements at once, each by itself, so that one may fail.
    fn prepare(&mut self, conn: &mut Conn, out: &mut Vec<u8>) -> Result<Opening, Reason> {
        conn.prepared.resize_with(self.shared.operations.len(), Prepared::default);
        let Some(first) = self.next_to_prepare(0) else { return Ok(Opening::Ready) };
        conn.stage = Stage::Preparing(first);
        let mut next = Some(first);
        while let Some(index) = next {
            if let Statement::Sql { sql, most } = &self.shared.operations[index].statement {
                self.name.clone_from(&self.shared.prefix);
                Prepared::default().name(index, most, most, &mut self.name);
                ask::parse(&self.name, sql.text(most).as_bytes(), out)
                    .and_then(|()| ask::describe(&self.name, out))
                    .map_err(Reason::Postgresql)?;
                ask::sync(out);
            }
            next = self.next_to_prepare(index + 1);
        }
        Ok(Opening::More)
    }

    fn next_to_prepare(&self, from: OperationIndex) -> Option<OperationIndex> {
        if self.shared.protocol == SqlProtocol::Simple {
            return None;
        }
        let operations = &self.shared.operations;
        (from..operations.len())
            .find(|&index| matches!(operations[index].statement, Statement::Sql { .. }))
    }
}
