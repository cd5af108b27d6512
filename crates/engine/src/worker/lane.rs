//! What is done on a connection, one transaction at a time; and the connection.

use std::collections::VecDeque;

use base::{Instant, Nanos};
use tally::{Series, Times};

use crate::net::Link;
use crate::schedule::Quota;
use crate::tls;
use crate::workload::{Client, OperationIndex};

/// How a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// There is none; another may be tried at this time.
    Down { retry: Instant },
    /// It is being made since then, log-in included; it is at this stage.
    Connecting { since: Instant, stage: Stage },
    /// It is there.
    Up,
}

/// How far the making of a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The network has not said yet that it is there.
    Reaching,
    /// It is being encrypted.
    Securing,
    /// The driver opens it.
    Opening,
}

/// A connection and who is served by it.
pub(super) struct Line<C> {
    pub conn: C,
    pub target: usize,
    pub state: State,
    /// What encrypts it.
    pub tls: Option<Box<tls::Session>>,
    /// The lanes whose answers are still to come, in the order of asking.
    pub asking: VecDeque<u32>,
    /// The intended time that the present attempt to connect is counted under.
    pub connect_for: Instant,
    /// Connections lost or not made since the last transaction that ended ok.
    pub failures: u32,
}

impl<C> Line<C> {
    pub fn new(conn: C, target: usize, depth: usize) -> Line<C> {
        Line {
            conn,
            target,
            state: State::Down { retry: Instant(i64::MIN) },
            tls: None,
            asking: VecDeque::with_capacity(depth),
            connect_for: Instant(0),
            failures: 0,
        }
    }

    /// How long to wait before the next try: not at all after a first failure, so that a server
    /// that closes now and then costs nothing, then from one to a hundred milliseconds, so that
    /// one that is gone does not keep the worker busy.
    pub fn back_off(&self) -> Nanos {
        const LONGEST: Nanos = Nanos(100_000_000);
        match self.failures {
            0 => Nanos(0),
            failures => LONGEST.min(Nanos(Nanos::MILLISECOND.0 << (failures - 1).min(20))),
        }
    }
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Nothing, until a transaction of an open schedule is given to it.
    Free,
    /// A client's next transaction is due at this time.
    Resting { until: Instant },
    /// The operation waits for the connection.
    Waiting(OperationIndex),
    /// The operation was asked of a server that said to ask another, and waits for the connection.
    Redirected(OperationIndex),
    /// The operation's answer is awaited.
    Asking(OperationIndex),
    /// The transaction pauses.
    Pausing { until: Instant },
    /// The client has done its share.
    Finished,
}

/// One transaction at a time, on one connection, or on one to each target.
pub(super) struct Lane<A> {
    /// The line it is on.
    pub link: Link,
    pub asked_for: A,
    pub client: Client,
    pub quota: Quota,
    pub task: Task,
    /// Which of the client's connections the present operation goes to, as bits.
    pub places: u64,
    /// Ordinal of the client's next transaction.
    pub n: u64,
    /// Transactions started since the origin.
    pub started: u64,
    /// The present transaction.
    pub series: Series,
    pub intended: Instant,
    pub ready: Instant,
    pub sent: Option<Instant>,
    pub bytes: Bytes,
    /// The present operation.
    pub operation: Series,
    pub asked: Instant,
    pub operation_bytes: Bytes,
    /// Whether it stands among the free ones.
    pub listed: bool,
}

/// Bytes moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bytes {
    pub out: u64,
    pub back: u64,
}

impl<A> Lane<A> {
    pub fn new(link: Link, asked_for: A, client: Client, quota: Quota) -> Lane<A> {
        Lane {
            link,
            asked_for,
            client,
            quota,
            task: Task::Free,
            places: 1,
            n: 0,
            started: 0,
            series: Series(0),
            intended: Instant(0),
            ready: Instant(0),
            sent: None,
            bytes: Bytes::default(),
            operation: Series(0),
            asked: Instant(0),
            operation_bytes: Bytes::default(),
            listed: false,
        }
    }

    /// The present transaction's times, if it is done now.
    pub fn times(&self, done: Instant) -> Times {
        let sent = self.sent.unwrap_or(done);
        Times { intended: self.intended, ready: self.ready, sent, done }
    }

    /// The present operation's times, if it is done now.
    pub fn operation_times(&self, done: Instant) -> Times {
        Times { intended: self.intended, ready: self.ready, sent: self.asked, done }
    }
}
