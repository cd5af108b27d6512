//! Makes an IPC file of a finished or broken-off stream.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::ArrowError;

use crate::TallyError;
use crate::format;
use crate::frames::{Frames, damaged};

/// What became of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Batches kept.
    pub batches: usize,
    /// What was wrong with the stream's tail, if anything; it was left out.
    pub torn: Option<String>,
}

/// Writes the stream at `stream` (or the file, sealed or not) as an IPC file at `file`, with the
/// same metadata and every whole batch.
///
/// The file appears at once and whole, under a name of its own until then, so that `file` may be
/// `stream` itself and a crash leaves the one or the other.
pub fn seal(stream: &Path, file: &Path) -> Result<Sealed, TallyError> {
    let bytes = read(stream)?;
    let frames = Frames::find(&bytes)?;
    let reader = frames.reader()?;
    let schema = reader.schema();
    format::provenance(&schema)?;
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let fail = |source| TallyError::Io { what: format!("cannot write {}", file.display()), source };
    let out = BufWriter::new(File::create(&unfinished).map_err(fail)?);
    let options = IpcWriteOptions::try_new(8, false, MetadataVersion::V5).map_err(damaged)?;
    let written = |error| {
        fail(match error {
            ArrowError::IoError(_, source) => source,
            other => std::io::Error::other(other),
        })
    };
    let mut writer = FileWriter::try_new_with_options(out, &schema, options).map_err(written)?;
    let mut batches = 0;
    for batch in reader {
        writer.write(&batch.map_err(damaged)?).map_err(written)?;
        batches += 1;
    }
    writer.finish().map_err(written)?;
    let out = writer.into_inner().map_err(written)?;
    let out = out.into_inner().map_err(|error| fail(error.into_error()))?;
    out.sync_all().map_err(fail)?;
    fs::rename(&unfinished, file).map_err(fail)?;
    Ok(Sealed { batches, torn: frames.torn })
}

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, TallyError> {
    fs::read(path).map_err(|source| TallyError::Io {
        what: format!("cannot read {}", path.display()),
        source,
    })
}
