//! A file: operations become positioned reads, writes and syncs, answers become verdicts.
//!
//! **Capabilities.** Reads and writes of blocks of any multiple of 512 bytes, in any order that a
//! value can draw, `fdatasync` and `fsync`; through the system's cache or past it. What is written
//! says where it belongs and which version it is, sector by sector; `expect.intact` checks that of
//! what is read. A file is laid out by a Plan of writes in sequence.
//!
//! **Outcomes.** What the system refuses (`EIO`, `ENOSPC`), what moves fewer bytes than it should
//! and what is not intact has failed, with the reason: so has a read through the cache of what is
//! being written at the time, where the file system shows it the half of a sector. An order that
//! takes longer than the time-out has timed out; the disk cannot be made to give it up, so its
//! client waits for it before it orders again.
//!
//! Absent: opening ([`crate::file`]) and waiting ([`crate::net::file`], or a thread of its own for
//! each client where there is no `io_uring`), appending, and many files.

use std::os::unix::fs::FileExt;
use std::{fs, io};

use tally::Outcome;

use super::target::{Place, Target};
use super::{Answer, InProcess, Opening, Protocol, Reason, Received};
use crate::error::{EngineError, HostError, PlanError};
use crate::file::{ANSWER_BYTES, Content, Flaw, Needs, Opened, Order, Verb, answer, result_of};
use crate::net::file::ALIGNMENT;
use crate::net::pages::Pages;
use crate::plan::{self, Driver, FileRequest, Plan, Request};
use crate::responder::{self, Service};
use crate::template::Values;
use crate::values::{Drawn, ValueId};
use crate::workload::{Client, OperationIndex, OperationInfo, Program};

/// The driver of one worker; clone it for another.
#[derive(Clone, Debug)]
pub struct File {
    operations: Vec<Operation>,
    content: Content,
    needs: Needs,
    /// How much of the file is used; known once it is open.
    size_bytes: u64,
    targets: [Target; 1],
}

#[derive(Clone, Copy, Debug)]
struct Operation {
    verb: Verb,
    at: At,
    bytes: u32,
    intact: bool,
}

/// The number of a block.
#[derive(Clone, Copy, Debug)]
enum At {
    /// The client's turn among those of all.
    Next,
    Constant(i64),
    Value(ValueId),
}

/// An order that awaits its answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    operation: OperationIndex,
    offset: u64,
    /// Whether something arrived that was not yet whole, which only a simulated file does.
    torn: bool,
}

impl File {
    /// Compiles the Plan's operations; the Plan's driver must be `file`.
    pub fn compile(plan: &Plan, program: &Program) -> Result<File, EngineError> {
        let Driver::File { path, size_bytes, direct } = &plan.driver else {
            return Err(EngineError::Bug("a Plan for another driver than file".into()));
        };
        let operations = program
            .operations()
            .iter()
            .map(|operation| Operation::compile(operation, program))
            .collect::<Result<Vec<_>, _>>()?;
        let uses = |verbs: &[Verb]| operations.iter().any(|op| verbs.contains(&op.verb));
        let needs = Needs {
            path: path.clone(),
            size_bytes: *size_bytes,
            direct: *direct,
            reads: uses(&[Verb::Read]),
            writes: uses(&[Verb::Write]),
            blocks: operations.iter().map(|op| op.bytes).filter(|&bytes| bytes > 0).collect(),
        };
        let target =
            Target { place: Place::Unix(path.into()), tls: false, authority: path.clone() };
        Ok(File {
            operations,
            content: Content::new(plan.seeds.values),
            needs,
            size_bytes: size_bytes.unwrap_or(0),
            targets: [target],
        })
    }

    /// Opens the file, upon which the driver knows its size.
    pub fn open_file(&mut self) -> Result<fs::File, HostError> {
        let Opened { file, size_bytes } = self.needs.open()?;
        self.size_bytes = size_bytes;
        Ok(file)
    }

    /// The size of the largest block.
    pub fn largest(&self) -> u32 {
        self.needs.blocks.iter().copied().max().unwrap_or(0)
    }

    /// A client's use of the file on a thread of its own.
    pub fn session<'a>(&self, file: &'a fs::File) -> Session<'a> {
        Session {
            driver: self.clone(),
            file,
            memory: Pages::new(ALIGNMENT + self.largest() as usize),
            asked: Asked::default(),
            out: Vec::with_capacity(Order::BYTES + self.largest() as usize),
            why: String::new(),
        }
    }
}

impl Operation {
    fn compile(operation: &OperationInfo, program: &Program) -> Result<Operation, PlanError> {
        let Request::File(request) = &operation.plan.request else {
            let field = format!("{}.request", operation.field);
            return Err(PlanError::new(field, "", "the driver `file` takes `file` requests"));
        };
        let verb = match request {
            FileRequest::Read(_) => Verb::Read,
            FileRequest::Write(_) => Verb::Write,
            FileRequest::Sync(plan::Sync::Data) => Verb::SyncData,
            FileRequest::Sync(plan::Sync::All) => Verb::SyncAll,
        };
        let Some(block) = request.block() else {
            return Ok(Operation { verb, at: At::Constant(0), bytes: 0, intact: false });
        };
        let field = format!("{}.request.file.{}.at", operation.field, request.verb());
        let at = match &block.at {
            None => At::Next,
            Some(text) => {
                let template = program.template(text, &field)?;
                let digits = || std::str::from_utf8(template.constant()?).ok()?.parse().ok();
                let constant = || digits().map(At::Constant);
                template.value().map(At::Value).or_else(constant).ok_or_else(|| {
                    let why = "a block has a number: digits, or `${name}` alone";
                    PlanError::new(&field, text, why)
                })?
            }
        };
        Ok(Operation { verb, at, bytes: block.bytes, intact: operation.plan.expect.intact })
    }

    /// Where the block lies that `client` has come to.
    fn offset(self, client: &Client, size_bytes: u64) -> Result<u64, Reason> {
        let number = match self.at {
            At::Next => client.ordinal() as i64,
            At::Constant(number) => number,
            At::Value(id) => match client.drawn(id) {
                Drawn::Integer(number) => number,
                _ => return Err(Reason::File(Flaw::Numberless)),
            },
        };
        let bytes = u64::from(self.bytes.max(1));
        let blocks = (size_bytes / bytes).clamp(1, i64::MAX as u64) as i64;
        Ok(number.rem_euclid(blocks) as u64 * bytes)
    }
}

impl File {
    /// What an answer, whole, says.
    fn verdict(&self, asked: Asked, result: i64, bytes: &[u8]) -> Result<(), Flaw> {
        let Operation { verb, bytes: of, intact, .. } = self.operations[asked.operation];
        let moved = match verb {
            Verb::Read | Verb::Write => of,
            Verb::SyncData | Verb::SyncAll => 0,
        };
        match u64::try_from(result) {
            Err(_) => Err(Flaw::Os(i32::try_from(-result).unwrap_or(libc::EIO))),
            Ok(result) if result < u64::from(moved) => Err(Flaw::Short { moved: result, of }),
            Ok(result) if result > u64::from(moved) => Err(Flaw::Garbled),
            Ok(_) if intact => self.content.check(asked.offset, bytes),
            Ok(_) => Ok(()),
        }
    }
}

impl Protocol for File {
    type Conn = ();
    type Asked = Asked;

    const FRAMING: (u64, u64) = (Order::BYTES as u64, ANSWER_BYTES as u64);

    fn targets(&self) -> &[Target] {
        &self.targets
    }

    fn simulated(&self) -> Box<dyn Service> {
        Box::new(responder::file::File::new(self.content))
    }

    fn conn(&self, _target: usize) {}

    fn asked(&self) -> Asked {
        Asked::default()
    }

    fn open(&mut self, (): &mut (), _out: &mut Vec<u8>) -> Result<Opening, Reason> {
        Ok(Opening::Ready)
    }

    #[inline]
    fn encode(
        &mut self,
        (): &mut (),
        asked: &mut Asked,
        operation: OperationIndex,
        client: &Client,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        let Operation { verb, bytes, .. } = self.operations[operation];
        let offset = self.operations[operation].offset(client, self.size_bytes)?;
        *asked = Asked { operation, offset, torn: false };
        out.extend_from_slice(&Order { verb, length: bytes, offset }.bytes());
        if verb == Verb::Write {
            // No other transaction of the trial writes this version.
            let version = client.ordinal();
            self.content.append(offset, version, bytes as usize, out);
        }
        Ok(())
    }

    #[inline]
    fn receive(&mut self, (): &mut (), asked: &mut Asked, input: &mut &[u8]) -> Received {
        let bytes = std::mem::take(input);
        if asked.torn {
            return Received::Broken(Reason::File(Flaw::Garbled));
        }
        let Operation { verb, bytes: of, .. } = self.operations[asked.operation];
        let most = if verb == Verb::Read { of as usize } else { 0 };
        match result_of(bytes) {
            Some((result, read)) if read.len() > most || result > i64::from(of) => {
                Received::Broken(Reason::File(Flaw::Garbled))
            }
            Some((result, read)) if verb != Verb::Read || read.len() as i64 >= result => {
                let verdict = self.verdict(*asked, result, read).map_err(Reason::File);
                Received::Reply { verdict, keep: true }
            }
            _ => {
                asked.torn = true;
                Received::More
            }
        }
    }

    fn ended(&mut self, (): &mut (), asked: &mut Asked) -> Received {
        Received::Broken(if asked.torn { Reason::CutShort } else { Reason::Unanswered })
    }
}

/// One client's use of the file, whose calls block.
pub struct Session<'a> {
    driver: File,
    file: &'a fs::File,
    /// The bytes of a block from [`ALIGNMENT`] on, and before them the beginning of an answer.
    memory: Pages,
    asked: Asked,
    out: Vec<u8>,
    why: String,
}

impl Session<'_> {
    /// Carries out the order that was written; tells how many bytes were moved.
    fn carry_out(&mut self) -> io::Result<usize> {
        let (order, payload) = Order::read(&self.out).expect("the driver writes whole orders");
        let block = &mut self.memory.bytes()[ALIGNMENT..ALIGNMENT + order.length as usize];
        if order.verb == Verb::Write {
            block.copy_from_slice(payload);
        }
        loop {
            let done = match order.verb {
                Verb::Read => self.file.read_at(block, order.offset),
                Verb::Write => self.file.write_at(block, order.offset),
                Verb::SyncData => self.file.sync_data().map(|()| 0),
                Verb::SyncAll => self.file.sync_all().map(|()| 0),
            };
            match done {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    /// Orders the operation and has the driver judge what came of it.
    fn ask(&mut self, operation: OperationIndex, client: &Client) -> Result<(u64, u64), Reason> {
        self.out.clear();
        self.driver.encode(&mut (), &mut self.asked, operation, client, &mut self.out)?;
        let done = self.carry_out();
        let result = match &done {
            Ok(count) => *count as i64,
            Err(error) => -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
        };
        let reads = self.driver.operations[operation].verb == Verb::Read;
        let read = if reads { done.unwrap_or(0) } else { 0 };
        let bytes = &mut self.memory.bytes()[ALIGNMENT - ANSWER_BYTES..ALIGNMENT + read];
        bytes[..ANSWER_BYTES].copy_from_slice(&answer(result));
        match self.driver.receive(&mut (), &mut self.asked, &mut &*bytes) {
            Received::Reply { verdict, .. } => verdict?,
            Received::Broken(reason) => return Err(reason),
            _ => return Err(Reason::Unanswered),
        }
        Ok(((self.out.len() - Order::BYTES) as u64, read as u64))
    }
}

impl InProcess for Session<'_> {
    fn answer(
        &mut self,
        operation: OperationIndex,
        _program: &Program,
        client: &Client,
    ) -> Answer<'_> {
        self.why.clear();
        match self.ask(operation, client) {
            Ok(moved) => Answer { outcome: Outcome::Ok, why: "", moved },
            Err(reason) => {
                self.why = reason.to_string();
                Answer { outcome: Outcome::Failed, why: &self.why, moved: (0, 0) }
            }
        }
    }
}
