//! What a client says.

use super::{Error, Format};

/// Version 3.0 of the protocol.
pub(super) const VERSION: u32 = 0x0003_0000;
/// A request for TLS instead of a version.
pub(super) const SSL_REQUEST: u32 = 80_877_103;

/// Asks for TLS. The server answers with the one byte `S` or `N`.
pub fn ssl_request(out: &mut Vec<u8>) {
    out.extend_from_slice(&8u32.to_be_bytes());
    out.extend_from_slice(&SSL_REQUEST.to_be_bytes());
}

/// Opens the connection with settings such as `user` and `database`.
pub fn startup<'a>(
    settings: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    measured(out, |out| {
        out.extend_from_slice(&VERSION.to_be_bytes());
        for (name, value) in settings {
            text(name.as_bytes(), out)?;
            text(value, out)?;
        }
        out.push(0);
        Ok(())
    })
}

/// Gives the password, or what was made of it.
pub fn password(password: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    message(b'p', out, |out| text(password, out))
}

/// Chooses a mechanism of SASL and begins it.
pub fn sasl_initial(mechanism: &str, data: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    message(b'p', out, |out| {
        text(mechanism.as_bytes(), out)?;
        value(out, |out| out.extend_from_slice(data));
        Ok(())
    })
}

/// Goes on with the mechanism.
pub fn sasl_response(data: &[u8], out: &mut Vec<u8>) {
    plain(b'p', data, out);
}

/// Asks in one message, answered in text. A text cannot have a zero byte.
pub fn query(out: &mut Vec<u8>, sql: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
    message(b'Q', out, |out| {
        let start = out.len();
        sql(out);
        if out[start..].contains(&0) {
            return Err(Error::Zero);
        }
        out.push(0);
        Ok(())
    })
}

/// Prepares a statement under a name, the types of its parameters left to the server.
pub fn parse(name: &str, sql: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    message(b'P', out, |out| {
        text(name.as_bytes(), out)?;
        text(sql, out)?;
        out.extend_from_slice(&[0, 0]);
        Ok(())
    })
}

/// Asks what parameters a statement takes and what columns its rows have.
pub fn describe(name: &str, out: &mut Vec<u8>) -> Result<(), Error> {
    message(b'D', out, |out| {
        out.push(b'S');
        text(name.as_bytes(), out)
    })
}

/// Binds parameters to a statement: begin, a call for each parameter, finish.
pub struct Bind<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
}

impl<'o> Bind<'o> {
    /// Begins, with the formats of all parameters.
    pub fn new(
        statement: &str,
        formats: impl Iterator<Item = Format>,
        out: &'o mut Vec<u8>,
    ) -> Result<Bind<'o>, Error> {
        let start = out.len();
        out.extend_from_slice(&[b'B', 0, 0, 0, 0, 0]);
        text(statement.as_bytes(), out)?;
        let place = out.len();
        out.extend_from_slice(&[0, 0]);
        let mut count = 0usize;
        for format in formats {
            out.extend_from_slice(&format.code());
            count += 1;
        }
        let count = u16::try_from(count).map_err(|_| Error::Parameters)?.to_be_bytes();
        out[place..place + 2].copy_from_slice(&count);
        out.extend_from_slice(&count);
        Ok(Bind { out, start })
    }

    /// The next parameter, which `write` appends in the format that was promised.
    #[inline]
    pub fn parameter(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        value(self.out, write);
    }

    /// Ends, with the formats wanted of the columns; none for all as text.
    pub fn finish(self, results: &[Format]) {
        self.out.extend_from_slice(&(results.len() as u16).to_be_bytes());
        for format in results {
            self.out.extend_from_slice(&format.code());
        }
        close(self.start + 1, self.out);
    }
}

/// Runs what was bound, to its last row.
pub fn execute(out: &mut Vec<u8>) {
    plain(b'E', &[0; 5], out);
}

/// Ends a request of several messages: what follows an error up to here is skipped.
pub fn sync(out: &mut Vec<u8>) {
    plain(b'S', &[], out);
}

/// Rows of a COPY, as many as `write` appends.
pub fn copy_data(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'd');
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    close(start, out);
}

/// The COPY has all its rows.
pub fn copy_done(out: &mut Vec<u8>) {
    plain(b'c', &[], out);
}

/// Takes leave.
pub fn terminate(out: &mut Vec<u8>) {
    plain(b'X', &[], out);
}

fn plain(kind: u8, inside: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&(inside.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(inside);
}

fn message(
    kind: u8,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    out.push(kind);
    measured(out, write)
}

fn measured(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out)?;
    close(start, out);
    Ok(())
}

/// Sets the length that stands at `start` and counts itself.
#[inline]
fn close(start: usize, out: &mut [u8]) {
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// A length that does not count itself, and what it counts.
#[inline]
fn value(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn text(text: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    if text.contains(&0) {
        return Err(Error::Zero);
    }
    out.extend_from_slice(text);
    out.push(0);
    Ok(())
}
