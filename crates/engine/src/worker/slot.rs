//! A connection and what is done on it.

use base::{Instant, Nanos};
use tally::{Series, Times};

use crate::schedule::Quota;
use crate::workload::{Client, OperationIndex};

/// How the connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// There is none; another may be tried at this time.
    Down { retry: Instant },
    /// It is being made since then.
    Connecting { since: Instant },
    /// It is there.
    Up,
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
    /// The operation's answer is awaited.
    Asking(OperationIndex),
    /// The transaction pauses.
    Pausing { until: Instant },
    /// The client has done its share.
    Finished,
}

/// A connection and what is done on it.
pub(super) struct Slot<C> {
    pub conn: C,
    pub target: usize,
    pub client: crate::workload::Client,
    pub quota: Quota,
    pub line: Line,
    pub task: Task,
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
    /// The intended time that the present attempt to connect is counted under.
    pub connect_for: Instant,
    /// Connections lost or not made since the last transaction that ended ok.
    pub failures: u32,
    /// Whether it stands among the free ones.
    pub listed: bool,
}

/// Bytes moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bytes {
    pub out: u64,
    pub back: u64,
}

impl<C> Slot<C> {
    pub fn new(conn: C, target: usize, client: Client, quota: Quota) -> Slot<C> {
        Slot {
            conn,
            target,
            client,
            quota,
            line: Line::Down { retry: Instant(i64::MIN) },
            task: Task::Free,
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
            connect_for: Instant(0),
            failures: 0,
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
