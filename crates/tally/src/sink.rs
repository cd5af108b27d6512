//! The other side of the recorders: merges what they hand over and writes it, a batch a second.
//!
//! With a thread of its own, so that no worker waits for a disk; or at once, for the simulator, so
//! that a trial without threads stays exact. A destination that fails (a full disk) does not stop
//! the workers: what they count is then dropped, [`Sink::failed`] tells, and [`Sink::close`] says
//! why.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, SchemaRef};
use base::{Instant, Nanos};
use hdrhistogram::serialization::{Serializer, V2Serializer};
use serde_json::{Value, json};

use crate::counts::Counts;
use crate::format::{self, EVENT, Row, Rows};
use crate::layout::{Counter, Counters, Field, Kind, Layout, Outcome, Series};
use crate::lengths::Histogram;
use crate::recorder::{Port, Recorder, pool_size};
use crate::second::{MESSAGES, Second, histogram};
use crate::{SLOT_NS, SLOTS_PER_SECOND, TallyError};

/// How long the writer waits for a worker that is late at a second's edge.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// What a sink is to write, and for whom.
pub struct Options {
    /// What is counted.
    pub layout: Layout,
    /// The Plan as it was given, JSON.
    pub plan: String,
    /// Version, profile and target of the engine, JSON.
    pub build: String,
    /// How many recorders there are.
    pub workers: usize,
    /// How long an operation may take: how late an answer may be counted.
    pub timeout: Nanos,
    /// Reads the calling thread's CPU time; none is counted without it.
    pub cpu_clock: Option<fn() -> Nanos>,
    /// Called after each batch, on the writer's thread.
    pub progress: Option<Box<dyn FnMut(Progress) + Send>>,
}

/// What was handed over since the last batch, all transactions together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The second that ended, from the trial's origin.
    pub second: i64,
    /// Transactions that ended ok.
    pub completed: u64,
    /// Transactions that ended otherwise.
    pub errors: u64,
    /// 99th percentile of the service time; zero when nothing completed.
    pub service_p99_ns: u64,
    /// 99th percentile of the response time; zero when nothing completed.
    pub response_p99_ns: u64,
}

/// Bytes that a sink writes and its owner reads back.
#[derive(Clone, Default)]
pub struct SharedBytes(Arc<Mutex<Vec<u8>>>);

impl SharedBytes {
    /// A copy of what was written so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Write for SharedBytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A worker reached this second; `i64::MAX` when it has finished.
#[derive(Clone, Copy)]
pub(crate) struct Edge(pub i64);

pub(crate) enum Message {
    Counted { worker: usize, second: Second, edge: Option<Edge> },
    Event(OwnedEvent),
    Close,
}

pub(crate) struct OwnedEvent {
    interval: i64,
    name: String,
    note: String,
}

enum Way {
    Thread { messages: SyncSender<Message>, writer: JoinHandle<Result<(), TallyError>> },
    Direct(Arc<Mutex<Writer>>),
}

/// Writes a Measurement while the trial runs.
pub struct Sink {
    way: Way,
    failed: Arc<AtomicBool>,
}

impl Sink {
    /// A sink with a thread that writes, and its recorders. The schema is written before it
    /// returns.
    pub fn threaded(
        options: Options,
        out: Box<dyn Write + Send>,
    ) -> Result<(Sink, Vec<Recorder>), TallyError> {
        let (workers, clock) = (options.workers, options.cpu_clock);
        let buffers = pool_size(options.timeout);
        let writer = Writer::new(options, out)?;
        let (layout, failed) = (writer.layout.clone(), writer.failed.clone());
        // Room for every buffer there is, so that no worker waits; the rest is for events.
        let (full, messages) = sync_channel(workers * buffers + 4);
        let mut returns = Vec::with_capacity(workers);
        let recorders = (0..workers)
            .map(|worker| {
                let (back, clean) = sync_channel(buffers);
                returns.push(back);
                let full = full.clone();
                let port = Port::Thread { full, clean };
                Recorder::new(worker, layout.clone(), buffers, port, clock)
            })
            .collect();
        let thread = std::thread::Builder::new().name("tally".to_owned());
        let writer = thread
            .spawn(move || write_until_closed(writer, &messages, &returns))
            .map_err(|source| TallyError::Io {
                what: "cannot start the thread that writes the Measurement".to_owned(),
                source,
            })?;
        let messages = full;
        let way = Way::Thread { messages, writer };
        Ok((Sink { way, failed }, recorders))
    }

    /// A sink that writes whenever a recorder hands over, on the recorder's thread, and its
    /// recorders.
    pub fn synchronous(
        options: Options,
        out: Box<dyn Write + Send>,
    ) -> Result<(Sink, Vec<Recorder>), TallyError> {
        let (workers, clock) = (options.workers, options.cpu_clock);
        let buffers = pool_size(options.timeout);
        let writer = Writer::new(options, out)?;
        let (layout, failed) = (writer.layout.clone(), writer.failed.clone());
        let writer = Arc::new(Mutex::new(writer));
        let recorder = |worker| {
            let port = Port::Direct(writer.clone());
            Recorder::new(worker, layout.clone(), buffers, port, clock)
        };
        let recorders = (0..workers).map(recorder).collect();
        let way = Way::Direct(writer);
        Ok((Sink { way, failed }, recorders))
    }

    /// Adds an event; it is written with the next batch.
    pub fn event(&self, at: Instant, name: &str, note: &Value) {
        let event = OwnedEvent {
            interval: at.0.div_euclid(SLOT_NS),
            name: name.to_owned(),
            note: note.to_string(),
        };
        match &self.way {
            // The writer's thread ends before `close` only by a panic, which `close` reports.
            Way::Thread { messages, .. } => drop(messages.send(Message::Event(event))),
            Way::Direct(writer) => lock(writer).events.push(event),
        }
    }

    /// Whether the destination has failed, so that going on is in vain.
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Writes the `end` event and what is left, and says whether everything was written. The
    /// recorders are to be finished before.
    pub fn close(self, at: Instant, note: &Value) -> Result<(), TallyError> {
        self.event(at, "end", note);
        match self.way {
            Way::Thread { messages, writer } => {
                drop(messages.send(Message::Close));
                drop(messages);
                let ended = writer.join();
                ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            Way::Direct(writer) => lock(&writer).close(),
        }
    }
}

fn lock(writer: &Mutex<Writer>) -> std::sync::MutexGuard<'_, Writer> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The writer's thread.
fn write_until_closed(
    mut writer: Writer,
    messages: &Receiver<Message>,
    returns: &[SyncSender<Second>],
) -> Result<(), TallyError> {
    let mut written = std::time::Instant::now();
    loop {
        let left = PATIENCE.saturating_sub(written.elapsed());
        match messages.recv_timeout(left.max(Duration::from_millis(10))) {
            Ok(Message::Counted { worker, mut second, edge }) => {
                if writer.take(worker, &second, edge) {
                    written = std::time::Instant::now();
                }
                second.clear();
                // A recorder that has finished wants nothing back.
                let _ = returns[worker].try_send(second);
            }
            Ok(Message::Event(event)) => writer.events.push(event),
            Ok(Message::Close) => return writer.close(),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                writer.flush();
                return Ok(());
            }
        }
        if written.elapsed() >= PATIENCE {
            writer.flush();
            written = std::time::Instant::now();
        }
    }
}

/// Merges and writes; used by one thread at a time.
pub(crate) struct Writer {
    layout: Arc<Layout>,
    workers: Vec<String>,
    schema: SchemaRef,
    stream: StreamWriter<Vec<u8>>,
    out: Box<dyn Write + Send>,
    failure: Option<std::io::Error>,
    failed: Arc<AtomicBool>,
    seconds: BTreeMap<i64, Second>,
    spare: Vec<Second>,
    edges: Vec<i64>,
    reached: i64,
    pub(crate) events: Vec<OwnedEvent>,
    messages: Vec<(Series, Outcome, String)>,
    progress: Option<Box<dyn FnMut(Progress) + Send>>,
}

impl Writer {
    fn new(options: Options, out: Box<dyn Write + Send>) -> Result<Writer, TallyError> {
        let schema = format::schema(&options.plan, &options.build);
        let layout = IpcWriteOptions::try_new(8, false, MetadataVersion::V5);
        let stream = layout
            .and_then(|layout| StreamWriter::try_new_with_options(Vec::new(), &schema, layout))
            .map_err(in_memory)?;
        let mut writer = Writer {
            layout: Arc::new(options.layout),
            workers: (0..options.workers).map(|w| w.to_string()).collect(),
            schema,
            stream,
            out,
            failure: None,
            failed: Arc::new(AtomicBool::new(false)),
            seconds: BTreeMap::new(),
            spare: Vec::new(),
            edges: vec![i64::MIN; options.workers],
            reached: i64::MIN,
            events: Vec::new(),
            messages: Vec::new(),
            progress: options.progress,
        };
        writer.hand_out();
        match writer.failure.take() {
            None => Ok(writer),
            Some(source) => Err(unwritable(source)),
        }
    }

    /// Merges in a buffer; whether it made a batch complete, which then is written.
    pub fn take(&mut self, worker: usize, counted: &Second, edge: Option<Edge>) -> bool {
        let (layout, workers) = (&self.layout, self.workers.len());
        let spare = &mut self.spare;
        let mine = self.seconds.entry(counted.number).or_insert_with(|| {
            let mut mine = spare.pop().unwrap_or_else(|| Second::new(layout, workers));
            mine.number = counted.number;
            mine
        });
        mine.absorb(counted, worker);
        let Some(Edge(reached)) = edge else {
            return false;
        };
        self.edges[worker] = reached;
        let all = self.edges.iter().copied().min().unwrap_or(i64::MAX);
        let complete = all > self.reached;
        if complete {
            self.reached = all;
            self.flush();
        }
        complete
    }

    /// Writes what was merged so far as one batch.
    fn flush(&mut self) {
        let mut rows = Rows::new();
        for event in self.events.drain(..) {
            rows.push(&Row {
                interval: event.interval,
                kind: EVENT,
                name: &event.name,
                note: Some(&event.note),
                ..Row::default()
            });
        }
        self.report();
        let mut encoder = Encoder::default();
        let seconds = std::mem::take(&mut self.seconds);
        for (_, mut second) in seconds {
            self.push_series(&second, &mut rows, &mut encoder);
            self.push_workers(&second, &mut rows);
            self.push_errors(&second, &mut rows);
            second.clear();
            self.spare.push(second);
        }
        if !rows.is_empty() {
            let batch = rows.batch(&self.schema);
            let written = self.stream.write(&batch);
            written.expect("an Arrow batch of the stream's own schema is written to memory");
            self.hand_out();
        }
    }

    fn push_series(&self, second: &Second, rows: &mut Rows, encoder: &mut Encoder) {
        let first = second.number.saturating_mul(SLOTS_PER_SECOND);
        for series in self.layout.series() {
            let kind = self.layout.kind(series);
            encoder.clear();
            for (field, index) in kind.fields().iter().zip(self.layout.histograms_of(series)) {
                encoder.encode(*field, second.lengths(index));
            }
            for (slot, counters) in second.series_slots(series).iter().enumerate() {
                let histograms = if slot == 0 { encoder.encoded() } else { [None; 4] };
                if counters.is_zero() && histograms.iter().all(Option::is_none) {
                    continue;
                }
                rows.push(&Row {
                    interval: first.saturating_add(slot as i64),
                    kind: kind.name(),
                    name: self.layout.name(series),
                    counters: *counters,
                    histograms,
                    note: None,
                });
            }
        }
    }

    fn push_workers(&self, second: &Second, rows: &mut Rows) {
        let first = second.number.saturating_mul(SLOTS_PER_SECOND);
        for (worker, name) in self.workers.iter().enumerate() {
            for (slot, counters) in second.worker_slots(worker).iter().enumerate() {
                if !counters.is_zero() {
                    rows.push(&Row {
                        interval: first.saturating_add(slot as i64),
                        kind: Kind::Worker.name(),
                        name,
                        counters: *counters,
                        ..Row::default()
                    });
                }
            }
        }
    }

    /// Errors as events; the table of a second is bounded, that of the trial by the same number.
    fn push_errors(&mut self, second: &Second, rows: &mut Rows) {
        let mut other = second.errors.other;
        let mut push = |note: Value| {
            rows.push(&Row {
                interval: second.number.saturating_mul(SLOTS_PER_SECOND),
                kind: EVENT,
                name: "error",
                note: Some(&note.to_string()),
                ..Row::default()
            });
        };
        for error in &second.errors.known {
            let key = (error.operation, error.outcome, error.message());
            let known = |(o, w, m): &(Series, Outcome, String)| (*o, *w, m.as_str()) == key;
            if !self.messages.iter().any(known) {
                if self.messages.len() == MESSAGES {
                    other += error.count;
                    continue;
                }
                self.messages.push((key.0, key.1, key.2.to_owned()));
            }
            push(json!({
                "operation": self.layout.name(error.operation),
                "outcome": error.outcome.name(),
                "message": error.message(),
                "count": error.count,
            }));
        }
        if other > 0 {
            push(json!({
                "operation": null, "outcome": null, "message": "other", "count": other
            }));
        }
    }

    /// Tells the progress, if anyone listens, from what is about to be written.
    fn report(&mut self) {
        let Some(progress) = &mut self.progress else {
            return;
        };
        let layout = &self.layout;
        let transaction = |series: &Series| layout.kind(*series) == Kind::Transaction;
        let mut total = Counters::default();
        let mut merged = [histogram(), histogram()];
        for second in self.seconds.values() {
            for series in layout.series().filter(transaction) {
                for counters in second.series_slots(series) {
                    total.absorb(counters);
                }
                let first = layout.histograms_of(series).start;
                for (merged, field) in merged.iter_mut().zip([Field::Service, Field::Response]) {
                    second.lengths(first + field as usize).fill(merged);
                }
            }
        }
        let latest = self.seconds.keys().next_back().copied().unwrap_or(0);
        let [service, response] = merged;
        progress(Progress {
            // Nothing is reached when a worker is late, and all of time when the last has finished.
            second: match self.reached {
                i64::MIN | i64::MAX => latest,
                reached => reached - 1,
            },
            completed: total[Counter::Completed],
            errors: total.errors(),
            service_p99_ns: service.value_at_quantile(0.99),
            response_p99_ns: response.value_at_quantile(0.99),
        });
    }

    fn close(&mut self) -> Result<(), TallyError> {
        self.flush();
        self.stream.finish().map_err(in_memory)?;
        self.hand_out();
        self.failure.take().map_or(Ok(()), |e| Err(unwritable(e)))
    }

    /// Gives the encoded bytes to the destination in one piece, and forgets them.
    fn hand_out(&mut self) {
        let encoded = self.stream.get_mut();
        if self.failure.is_none() {
            let written = self.out.write_all(encoded).and_then(|()| self.out.flush());
            if let Err(error) = written {
                self.failure = Some(error);
                self.failed.store(true, Ordering::Relaxed);
            }
        }
        encoded.clear();
    }
}

fn unwritable(source: std::io::Error) -> TallyError {
    let what = "cannot write the Measurement".to_owned();
    TallyError::Io { what, source }
}

fn in_memory(error: ArrowError) -> TallyError {
    unwritable(std::io::Error::other(error))
}

/// Encodes the histograms of a series, in buffers that are used again.
struct Encoder {
    serializer: V2Serializer,
    histogram: Histogram,
    buffers: [Vec<u8>; 4],
}

impl Default for Encoder {
    fn default() -> Self {
        Encoder {
            serializer: V2Serializer::new(),
            histogram: histogram(),
            buffers: Default::default(),
        }
    }
}

impl Encoder {
    fn clear(&mut self) {
        self.buffers.iter_mut().for_each(Vec::clear);
    }

    fn encode(&mut self, field: Field, lengths: &Counts) {
        if !lengths.is_empty() {
            self.histogram.reset();
            lengths.fill(&mut self.histogram);
            let buffer = &mut self.buffers[field as usize];
            let encoded = self.serializer.serialize(&self.histogram, buffer);
            encoded.expect("a histogram of these bounds is encoded to memory");
        }
    }

    fn encoded(&self) -> [Option<&[u8]>; 4] {
        let filled = |buffer: &'_ Vec<u8>| !buffer.is_empty();
        [0, 1, 2, 3].map(|at| filled(&self.buffers[at]).then_some(self.buffers[at].as_slice()))
    }
}
