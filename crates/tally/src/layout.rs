//! The words of the tally: what is counted, of what, and how it ended.

use std::ops::{Index, IndexMut, Range};

use base::Instant;

/// What a series of figures belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// What a user would call one action.
    Transaction,
    /// One request and its answer.
    Operation,
    /// A thread of the agent, by its number.
    Worker,
}

impl Kind {
    /// Every kind, in the order in which rows are written.
    pub const ALL: [Kind; 3] = [Kind::Transaction, Kind::Operation, Kind::Worker];

    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Transaction => "transaction",
            Kind::Operation => "operation",
            Kind::Worker => "worker",
        }
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The histograms kept for it.
    pub(crate) fn fields(self) -> &'static [Field] {
        match self {
            Kind::Transaction => &Field::ALL,
            Kind::Operation => &[Field::Service],
            Kind::Worker => &[],
        }
    }
}

/// A length of time that has a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// From when it was intended until it was done.
    Response,
    /// From when it was sent until it was done.
    Service,
    /// From when a worker took it up until it was sent.
    Wait,
    /// From when it was intended until a worker took it up.
    Lag,
}

impl Field {
    /// Every field, in the file's order.
    pub const ALL: [Field; 4] = [Field::Response, Field::Service, Field::Wait, Field::Lag];

    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Field::Response => "response",
            Field::Service => "service",
            Field::Wait => "wait",
            Field::Lag => "lag",
        }
    }

    /// The field of this name.
    pub fn from_name(name: &str) -> Option<Field> {
        Field::ALL.into_iter().find(|field| field.name() == name)
    }
}

/// How a transaction or operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Answered as expected.
    Ok,
    /// The system said no, or answered wrongly.
    Failed,
    /// No answer within the time-out, counted from sending.
    TimedOut,
    /// The connection was lost after sending.
    Unknown,
}

impl Outcome {
    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::TimedOut => "timed_out",
            Outcome::Unknown => "unknown",
        }
    }

    pub(crate) fn counter(self) -> Counter {
        match self {
            Outcome::Ok => Counter::Ok,
            Outcome::Failed => Counter::Failed,
            Outcome::TimedOut => Counter::TimedOut,
            Outcome::Unknown => Counter::Unknown,
        }
    }
}

/// The four instants of a transaction; those of an operation have its transaction's `intended`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// When the schedule wanted it started.
    pub intended: Instant,
    /// When a worker took it up.
    pub ready: Instant,
    /// When its first byte was handed to the system.
    pub sent: Instant,
    /// When its last answer was there.
    pub done: Instant,
}

/// A figure kept in each slot; the file's column of the same name says what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "docs/FORMATS.md gives the meaning of each column")]
pub enum Counter {
    Due,
    Completed,
    Ok,
    Failed,
    TimedOut,
    Unknown,
    BytesOut,
    BytesIn,
    MaxResponse,
    MaxService,
    MaxLag,
    InFlight,
    Busy,
    Cpu,
}

impl Counter {
    /// Every counter, in the file's order.
    pub const ALL: [Counter; 14] = [
        Counter::Due,
        Counter::Completed,
        Counter::Ok,
        Counter::Failed,
        Counter::TimedOut,
        Counter::Unknown,
        Counter::BytesOut,
        Counter::BytesIn,
        Counter::MaxResponse,
        Counter::MaxService,
        Counter::MaxLag,
        Counter::InFlight,
        Counter::Busy,
        Counter::Cpu,
    ];

    /// The name of its column.
    pub fn name(self) -> &'static str {
        match self {
            Counter::Due => "due",
            Counter::Completed => "completed",
            Counter::Ok => "ok",
            Counter::Failed => "failed",
            Counter::TimedOut => "timed_out",
            Counter::Unknown => "unknown",
            Counter::BytesOut => "bytes_out",
            Counter::BytesIn => "bytes_in",
            Counter::MaxResponse => "max_response_ns",
            Counter::MaxService => "max_service_ns",
            Counter::MaxLag => "max_lag_ns",
            Counter::InFlight => "in_flight_ns",
            Counter::Busy => "busy_ns",
            Counter::Cpu => "cpu_ns",
        }
    }

    /// Whether merging takes the greater of two figures instead of their sum.
    pub fn is_maximum(self) -> bool {
        matches!(self, Counter::MaxResponse | Counter::MaxService | Counter::MaxLag)
    }
}

/// One figure for each [`Counter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters([u64; Counter::ALL.len()]);

impl Counters {
    /// Merges `other` in: sums are added (and stop at the type's end), maxima maximised.
    pub fn absorb(&mut self, other: &Counters) {
        for counter in Counter::ALL {
            self.raise(counter, other[counter]);
        }
    }

    /// Merges one figure in.
    pub fn raise(&mut self, counter: Counter, figure: u64) {
        let mine = &mut self[counter];
        *mine =
            if counter.is_maximum() { (*mine).max(figure) } else { mine.saturating_add(figure) };
    }

    /// Transactions that ended otherwise than ok.
    pub fn errors(&self) -> u64 {
        self[Counter::Failed] + self[Counter::TimedOut] + self[Counter::Unknown]
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.0.iter().all(|&figure| figure == 0)
    }
}

impl Index<Counter> for Counters {
    type Output = u64;
    fn index(&self, counter: Counter) -> &u64 {
        &self.0[counter as usize]
    }
}

impl IndexMut<Counter> for Counters {
    fn index_mut(&mut self, counter: Counter) -> &mut u64 {
        &mut self.0[counter as usize]
    }
}

/// Index of a transaction or operation name in the [`Layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series(pub u16);

/// The names that are counted, settled before the trial starts.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    series: Vec<Named>,
}

#[derive(Clone, Debug)]
struct Named {
    kind: Kind,
    name: String,
    histograms: Range<usize>,
}

impl Layout {
    /// Nothing is counted yet.
    pub fn new() -> Layout {
        Layout::default()
    }

    /// Adds a name, or finds the series it already has.
    ///
    /// # Panics
    /// When `kind` is `Worker` (workers are added by the sink) or there are more than 65,535 names.
    pub fn add(&mut self, kind: Kind, name: &str) -> Series {
        assert!(kind != Kind::Worker, "workers are added by the sink");
        let known = self.series.iter().position(|s| s.kind == kind && s.name == name);
        let index = known.unwrap_or_else(|| {
            let histograms = self.histograms()..self.histograms() + kind.fields().len();
            self.series.push(Named { kind, name: name.to_owned(), histograms });
            self.series.len() - 1
        });
        Series(u16::try_from(index).expect("at most 65,535 names"))
    }

    /// How many series there are.
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// Whether nothing is counted.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// The name of a series.
    pub fn name(&self, series: Series) -> &str {
        &self.series[usize::from(series.0)].name
    }

    /// The kind of a series.
    pub fn kind(&self, series: Series) -> Kind {
        self.series[usize::from(series.0)].kind
    }

    /// How many histograms all series have.
    pub(crate) fn histograms(&self) -> usize {
        self.series.last().map_or(0, |last| last.histograms.end)
    }

    #[inline]
    pub(crate) fn histograms_of(&self, series: Series) -> Range<usize> {
        self.series[usize::from(series.0)].histograms.clone()
    }

    pub(crate) fn series(&self) -> impl Iterator<Item = Series> + use<> {
        (0..self.series.len() as u16).map(Series)
    }
}
