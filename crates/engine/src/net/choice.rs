//! Which real provider serves a trial.
//!
//! Absent from it: the simulator, which a Plan has to ask for.

use serde_json::{Value, json};

use crate::error::HostError;
use crate::net::waiting::Waiting;
use crate::net::{file, uring};
use crate::plan::{self, Plan};

/// A real provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// [`super::uring`].
    Uring,
    /// [`super::epoll`], and why it is that, where the Plan did not ask for it.
    Epoll(Option<String>),
}

impl Choice {
    /// The provider for workers with so many connections at most, waiting in this way: `io_uring`
    /// where it can be had, else epoll, unless the Plan says which. No shape is an exception: on
    /// Linux 6.18 `io_uring` cost 2 to 9 % less CPU a request than epoll from 8 to 512 connections
    /// and with a connection a request, 19 % less in an open schedule of 50,000 a second, and the
    /// same within the spread at 3,000 and 10,000 a second and with a single connection, where
    /// waking up is what costs.
    pub fn of(net: plan::Net, waiting: Waiting, links: u32) -> Result<Choice, HostError> {
        if net == plan::Net::Epoll {
            return Ok(Choice::Epoll(None));
        }
        let coalesces = matches!(waiting, Waiting::Coalesce { .. });
        match uring::probe(links, waiting) {
            Ok(()) => Ok(Choice::Uring),
            Err(why) if net == plan::Net::Auto && !coalesces => Ok(Choice::Epoll(Some(why))),
            Err(why) if coalesces => {
                Err(HostError::new(why, "allow it, or let `wait` be another than `coalesce`"))
            }
            Err(why) => Err(HostError::new(why, "allow it, or let `net` be `epoll`")),
        }
    }

    /// What the Measurement says of it.
    pub fn note(&self) -> Value {
        match self {
            Choice::Uring => json!({"net": "uring"}),
            Choice::Epoll(None) => json!({"net": "epoll"}),
            Choice::Epoll(Some(why)) => json!({"net": "epoll", "net_why": why}),
        }
    }
}

/// Who carries out the orders to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// [`super::file`], or the simulator.
    Ring,
    /// A thread a client, and why it is that, where the Plan did not ask for it.
    Threads(Option<String>),
}

impl Way {
    /// `io_uring` where it can be had, else threads, unless the Plan says which.
    pub fn of(plan: &Plan, waiting: Waiting) -> Result<Way, HostError> {
        let of_rings = matches!(waiting, Waiting::Coalesce { .. } | Waiting::Tick(_));
        match plan.net {
            plan::Net::Sim => Ok(Way::Ring),
            plan::Net::Threads => Ok(Way::Threads(None)),
            net => match file::probe(waiting) {
                Ok(()) => Ok(Way::Ring),
                Err(why) if net == plan::Net::Auto && !of_rings => Ok(Way::Threads(Some(why))),
                Err(why) => Err(HostError::new(why, "allow it, or let `net` be `threads`")),
            },
        }
    }

    /// What the Measurement says of it.
    pub fn note(&self) -> Value {
        match self {
            Way::Ring => json!({"net": "uring"}),
            Way::Threads(None) => json!({"net": "threads"}),
            Way::Threads(Some(why)) => json!({"net": "threads", "net_why": why}),
        }
    }
}
