//! From the first word to being let in.

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};

use super::{Authentication, Error, Message, ask};

/// How a log-in stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The server has more to say.
    More,
    /// Requests may be sent.
    Ready,
}

/// A log-in, by trust, password, MD5 or SCRAM-SHA-256 as the server wants it.
#[derive(Default)]
pub struct Login {
    scram: Option<ScramSha256>,
    /// Whether the server still owes the proof that it knows the password.
    owes_proof: bool,
    let_in: bool,
}

impl Login {
    /// Takes a message and appends what is to be said to it. An error of the server's is not for
    /// here: [`Message::Error`] is out of place.
    pub fn take(
        &mut self,
        message: &Message<'_>,
        user: &[u8],
        password: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Error> {
        match message {
            Message::Authentication(question) => self.answer(*question, user, password, out)?,
            Message::Ready(_) if self.let_in => return Ok(Progress::Ready),
            Message::Aside => {}
            _ => return Err(Error::OutOfPlace),
        }
        Ok(Progress::More)
    }

    fn answer(
        &mut self,
        question: Authentication<'_>,
        user: &[u8],
        password: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let known = || password.ok_or(Error::NoPassword);
        match question {
            Authentication::Ok if self.owes_proof => Err(Error::Impostor),
            Authentication::Ok => {
                self.let_in = true;
                Ok(())
            }
            Authentication::Password => ask::password(known()?, out),
            Authentication::Md5(salt) => {
                ask::password(md5_hash(user, known()?, salt).as_bytes(), out)
            }
            Authentication::Sasl(mechanisms) => {
                let mut offered = mechanisms.split(|&byte| byte == 0);
                if !offered.any(|name| name == SCRAM_SHA_256.as_bytes()) {
                    return Err(Error::Authentication(10));
                }
                let scram = ScramSha256::new(known()?, ChannelBinding::unsupported());
                self.owes_proof = true;
                ask::sasl_initial(SCRAM_SHA_256, scram.message(), out)?;
                self.scram = Some(scram);
                Ok(())
            }
            Authentication::SaslContinue(data) => {
                let scram = self.scram.as_mut().ok_or(Error::Unexpected(b'R'))?;
                scram.update(data).map_err(|_| Error::Impostor)?;
                ask::sasl_response(scram.message(), out);
                Ok(())
            }
            Authentication::SaslFinal(data) => {
                let mut scram = self.scram.take().ok_or(Error::Unexpected(b'R'))?;
                scram.finish(data).map_err(|_| Error::Impostor)?;
                self.owes_proof = false;
                Ok(())
            }
            Authentication::Other(code) => Err(Error::Authentication(code)),
        }
    }
}
