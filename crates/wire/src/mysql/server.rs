//! The server's side of one connection: it greets, takes any log-in, and answers as it is told.

use super::bytes::{Bytes, put_length, put_text};
use super::commands::code;
use super::fields::Column;
use super::{Error, Greeting, Packets, Plugin, Reply, capability, packet, status};

/// Something that a client says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question<'a> {
    /// It would go on over TLS, which this server has not.
    Tls,
    /// It logs in; answered by an OK.
    Login(Reply<'a>),
    /// A statement as text.
    Query(&'a [u8]),
    /// A statement to be prepared.
    Prepare(&'a [u8]),
    /// The execution of the prepared statement of this number.
    Execute(u32),
    /// Anything else that an OK answers.
    Other(u8),
    /// A command that is not answered.
    Silent(u8),
    /// A farewell, which is not answered either.
    Quit,
}

/// What this server can do unless told otherwise.
const ABLE: u64 = capability::FOUND_ROWS
    | capability::LONG_FLAG
    | capability::WITH_DATABASE
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE
    | capability::MULTI_RESULTS
    | capability::PS_MULTI_RESULTS
    | capability::PLUGINS
    | capability::DEPRECATE_EOF
    | capability::CACHE_COLUMNS;

/// The server's side of one connection.
#[derive(Debug)]
pub struct Server {
    packets: Packets,
    capabilities: u64,
    ready: bool,
    in_transaction: bool,
    statements: u32,
}

impl Default for Server {
    fn default() -> Self {
        Server::new(ABLE)
    }
}

/// The rows that a server has, whatever the statement.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(String, Column)>,
    text: Vec<Vec<u8>>,
    binary: Vec<Vec<u8>>,
}

impl Table {
    /// Rows of whole numbers and texts, below these names.
    pub fn new(names: &[&str], rows: &[(i64, &str)]) -> Table {
        let kinds = [Column::INTEGER, Column::TEXT];
        let columns = names.iter().zip(kinds).map(|(name, kind)| ((*name).to_owned(), kind));
        let (columns, mut text, mut binary) = (columns.collect::<Vec<_>>(), vec![], vec![]);
        for (number, words) in rows {
            let (mut as_text, mut as_binary) = (Vec::new(), vec![0, 0]);
            put_text(number.to_string().as_bytes(), &mut as_text);
            as_binary.extend_from_slice(&number.to_le_bytes());
            if columns.len() > 1 {
                put_text(words.as_bytes(), &mut as_text);
                put_text(words.as_bytes(), &mut as_binary);
            }
            text.push(as_text);
            binary.push(as_binary);
        }
        Table { columns, text, binary }
    }
}

impl Server {
    /// A server that can do this.
    pub fn new(capabilities: u64) -> Server {
        Server {
            packets: Packets::default(),
            capabilities,
            ready: false,
            in_transaction: false,
            statements: 0,
        }
    }

    /// A server that can do all of it over TLS too.
    pub fn encrypting() -> Server {
        Server::new(ABLE | capability::TLS)
    }

    /// Appends the greeting.
    pub fn greet(&mut self, out: &mut Vec<u8>) {
        let greeting = Greeting {
            version: b"8.0.0-benchlab",
            connection: 1,
            capabilities: self.capabilities,
            status: status::AUTOCOMMIT,
            nonce: (b"12345678", b"901234567890"),
            plugin: Plugin::Native.name().as_bytes(),
        };
        let next = packet(0, out, |out| greeting.write(out));
        self.packets.restart(next);
    }

    /// Takes the next question off the front of `input`, and says how to answer it; `None` when
    /// more must arrive.
    pub fn next<'p, 'i: 'p>(
        &'p mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<(Question<'p>, Voice)>, Error> {
        if self.ready && !self.packets.within() {
            self.packets.expect(0);
        }
        let sequence = self.packets.sequence();
        let Some(payload) = self.packets.next(input)? else { return Ok(None) };
        let mut voice = Voice {
            capabilities: self.capabilities,
            status: status::AUTOCOMMIT,
            // One of several packets is rare enough here to count only the last.
            sequence: sequence.wrapping_add(1 + (payload.len() / 0xff_ffff) as u8),
        };
        if !self.ready {
            let Some(reply) = Reply::read(payload)? else {
                return Ok(Some((Question::Tls, voice)));
            };
            self.capabilities &= reply.capabilities;
            self.ready = true;
            voice.capabilities = self.capabilities;
            return Ok(Some((Question::Login(reply), voice)));
        }
        let mut bytes = Bytes(payload);
        let question = match bytes.u8()? {
            code::QUIT => Question::Quit,
            code::QUERY => Question::Query(bytes.0),
            code::PREPARE => Question::Prepare(bytes.0),
            code::EXECUTE => Question::Execute(bytes.u32()?),
            code @ (code::CLOSE | code::SEND_LONG_DATA) => Question::Silent(code),
            code => Question::Other(code),
        };
        if let Question::Query(sql) = question {
            match first_word(sql).as_slice() {
                b"BEGIN" | b"START" => self.in_transaction = true,
                b"COMMIT" | b"ROLLBACK" => self.in_transaction = false,
                _ => {}
            }
        }
        if self.in_transaction {
            voice.status |= status::IN_TRANSACTION;
        }
        Ok(Some((question, voice)))
    }

    /// Answers the next question in `input`: a statement that asks for rows by the table's, one
    /// that changes them by having changed one.
    pub fn serve(
        &mut self,
        table: &Table,
        input: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Served, Error> {
        let number = self.statements;
        let Some((question, voice)) = self.next(input)? else { return Ok(Served::More) };
        let mut served = Served::Aside;
        let mut prepared = 0;
        match question {
            Question::Tls if voice.has(capability::TLS) => return Ok(Served::Secure),
            Question::Tls => return Err(Error::NoTls),
            Question::Quit => return Ok(Served::Farewell),
            Question::Silent(_) => {}
            Question::Login(_) | Question::Other(_) => voice.ok(0, out),
            Question::Query(sql) => {
                voice.answer(Answer::to(sql), table, false, out);
                served = Served::Request;
            }
            Question::Execute(statement) => {
                voice.answer(Answer::of(statement), table, true, out);
                served = Served::Request;
            }
            Question::Prepare(sql) => {
                let answer = Answer::to(sql);
                // The number tells how to answer, so that nothing need be remembered.
                let statement = (number << 2) | answer as u32;
                let columns = if answer == Answer::Rows { &*table.columns } else { &[] };
                voice.prepared(statement, parameters(sql), columns, out);
                prepared = 1;
            }
        }
        self.statements = number.wrapping_add(prepared);
        Ok(served)
    }
}

impl Server {
    /// Appends a refusal of the question that came last.
    pub fn deny(&self, out: &mut Vec<u8>) {
        const UNKNOWN: u16 = 1105;
        let voice =
            Voice { capabilities: self.capabilities, status: status::AUTOCOMMIT, sequence: 1 };
        voice.refuse(UNKNOWN, *b"HY000", "denied", out);
    }
}

/// What a server made of the bytes that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// All were taken, and the question is not whole yet.
    More,
    /// A log-in, a preparation or the like was answered.
    Aside,
    /// TLS was asked for, and begins.
    Secure,
    /// A statement was carried out.
    Request,
    /// The client goes.
    Farewell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Done = 0,
    Changed = 1,
    Rows = 2,
}

impl Answer {
    fn to(sql: &[u8]) -> Answer {
        match first_word(sql).as_slice() {
            b"INSERT" | b"UPDATE" | b"DELETE" | b"REPLACE" => Answer::Changed,
            b"SELECT" | b"SHOW" | b"WITH" | b"VALUES" | b"CALL" | b"EXPLAIN" => Answer::Rows,
            _ => Answer::Done,
        }
    }

    fn of(statement: u32) -> Answer {
        [Answer::Done, Answer::Changed, Answer::Rows, Answer::Rows][(statement & 3) as usize]
    }
}

fn first_word(sql: &[u8]) -> Vec<u8> {
    let letters = sql.trim_ascii_start().iter().take_while(|byte| byte.is_ascii_alphabetic());
    letters.take(16).map(u8::to_ascii_uppercase).collect()
}

/// How many values a statement takes: its question marks outside of quotes.
fn parameters(sql: &[u8]) -> u16 {
    let (mut count, mut quote) = (0_u16, None);
    for &byte in sql {
        match (quote, byte) {
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'?') => count = count.saturating_add(1),
            (Some(end), byte) if end == byte => quote = None,
            _ => {}
        }
    }
    count
}

/// How an answer is put: what was agreed on, the server's state, and the packets' numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Voice {
    capabilities: u64,
    status: u16,
    sequence: u8,
}

impl Voice {
    fn has(&self, capability: u64) -> bool {
        self.capabilities & capability != 0
    }

    fn say(&mut self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        self.sequence = packet(self.sequence, out, write);
    }

    fn done(&mut self, header: u8, affected: u64, out: &mut Vec<u8>) {
        let status = self.status;
        self.say(out, |out| {
            out.push(header);
            put_length(affected, out);
            out.push(0);
            out.extend_from_slice(&status.to_le_bytes());
            out.extend_from_slice(&[0, 0]);
        });
    }

    /// An end for clients that know of no OK behind rows.
    fn end(&mut self, out: &mut Vec<u8>) {
        let [low, high] = self.status.to_le_bytes();
        self.say(out, |out| out.extend_from_slice(&[0xfe, 0, 0, low, high]));
    }

    /// Appends that it is done and has changed so many rows.
    pub fn ok(mut self, affected: u64, out: &mut Vec<u8>) {
        self.done(0, affected, out);
    }

    /// Appends a refusal.
    pub fn refuse(mut self, code: u16, state: [u8; 5], message: &str, out: &mut Vec<u8>) {
        self.say(out, |out| {
            out.push(0xff);
            out.extend_from_slice(&code.to_le_bytes());
            out.push(b'#');
            out.extend_from_slice(&state);
            out.extend_from_slice(message.as_bytes());
        });
    }

    fn prepared(
        mut self,
        statement: u32,
        parameters: u16,
        columns: &[(String, Column)],
        out: &mut Vec<u8>,
    ) {
        self.say(out, |out| {
            out.push(0);
            out.extend_from_slice(&statement.to_le_bytes());
            out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
            out.extend_from_slice(&parameters.to_le_bytes());
            out.extend_from_slice(&[0, 0, 0]);
        });
        for _ in 0..parameters {
            self.say(out, |out| Column::TEXT.write("?", out));
        }
        if parameters > 0 && !self.has(capability::DEPRECATE_EOF) {
            self.end(out);
        }
        if !columns.is_empty() {
            self.describe(columns, out);
        }
    }

    fn describe(&mut self, columns: &[(String, Column)], out: &mut Vec<u8>) {
        for (name, column) in columns {
            self.say(out, |out| column.write(name, out));
        }
        if !self.has(capability::DEPRECATE_EOF) {
            self.end(out);
        }
    }

    fn answer(mut self, answer: Answer, table: &Table, binary: bool, out: &mut Vec<u8>) {
        match answer {
            Answer::Done => self.ok(0, out),
            Answer::Changed => self.ok(1, out),
            Answer::Rows => {
                let cached = self.has(capability::CACHE_COLUMNS);
                self.say(out, |out| {
                    put_length(table.columns.len() as u64, out);
                    if cached {
                        out.push(u8::from(!binary));
                    }
                });
                if !(cached && binary) {
                    self.describe(&table.columns, out);
                }
                for row in if binary { &table.binary } else { &table.text } {
                    self.say(out, |out| out.extend_from_slice(row));
                }
                if self.has(capability::DEPRECATE_EOF) {
                    self.done(0xfe, 0, out);
                } else {
                    self.end(out);
                }
            }
        }
    }
}
