//! The agent: a Plan on standard input, a Measurement on standard output.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use clap::Parser;
use engine::error::{EngineError, HostError};
use engine::{Control, Finished, plan, process, run};
use serde_json::json;

/// Runs the trial of the Plan on standard input and writes its Measurement to standard output.
#[derive(Parser)]
#[command(version, about)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
struct Command {
    /// Write a line of JSON to standard error each second
    #[arg(long)]
    progress: bool,
    /// Check the Plan and end
    #[arg(long)]
    check: bool,
    /// Print the Plan's JSON Schema and end
    #[arg(long)]
    schema: bool,
    /// Measure although this is a debug build
    #[arg(long)]
    allow_debug: bool,
}

/// The exit code of a trial that was broken off by a signal.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let command = Command::parse();
    std::panic::set_hook(Box::new(|panic| {
        let told = EngineError::Bug(panic.to_string().replace('\n', " "));
        eprintln!("{}", told.to_json());
    }));
    match std::panic::catch_unwind(|| serve(&command)) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            eprintln!("{}", error.to_json());
            ExitCode::from(error.exit_code())
        }
        Err(_told_by_the_hook) => ExitCode::from(70),
    }
}

fn serve(command: &Command) -> Result<ExitCode, EngineError> {
    if command.schema {
        write!(io::stdout(), "{}", plan::schema()).map_err(|error| unwritten(&error))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map_err(|error| {
        let what = format!("cannot read the Plan from standard input: {error}");
        HostError::new(what, "use `agent < plan.json`")
    })?;
    if command.check {
        engine::check(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    process::note_signals();
    let progress = command.progress.then(|| -> Box<dyn FnMut(tally::Progress) + Send> {
        Box::new(|progress| {
            let line = json!({
                "second": progress.second,
                "completed": progress.completed,
                "errors": progress.errors,
                "p99_ns": progress.service_p99_ns,
                "response_p99_ns": progress.response_p99_ns,
            });
            eprintln!("{line}");
        })
    });
    let control =
        Control { stop: process::interrupted(), progress, allow_debug: command.allow_debug };
    match run(&text, Box::new(io::stdout()), control)? {
        Finished::Complete => Ok(ExitCode::SUCCESS),
        Finished::Interrupted => Ok(ExitCode::from(INTERRUPTED)),
    }
}

fn unwritten(error: &io::Error) -> EngineError {
    HostError::new(format!("cannot write to standard output: {error}"), "look at where it goes")
        .into()
}
