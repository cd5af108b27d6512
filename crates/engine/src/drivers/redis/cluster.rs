//! Which target has a key's slot, as far as the nodes have told.

use std::net::{IpAddr, ToSocketAddrs};

use wire::redis::Reply;
use wire::redis::cluster::{Node, Redirect, SLOTS, ranges, slot};

use crate::drivers::target::{Place, Target};
use crate::drivers::{Reason, Told};
use crate::error::PlanError;

/// As many as there are bits to name them by.
const MOST_TARGETS: usize = 64;

/// What a worker knows of a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    nodes: Vec<Known>,
    /// The target that has each slot.
    holders: Vec<usize>,
}

/// A target, by all that nodes may call it.
#[derive(Clone, Debug)]
struct Known {
    name: String,
    port: u16,
    addresses: Vec<IpAddr>,
}

impl Cluster {
    /// A cluster whose nodes are these targets. Until they have told, each is thought to have as
    /// many slots as any other.
    pub fn new(targets: &[Target]) -> Result<Cluster, PlanError> {
        if targets.len() > MOST_TARGETS {
            return Err(PlanError::new("driver.targets", "", "at most 64 nodes"));
        }
        let known = |(index, target): (usize, &Target)| match &target.place {
            Place::Host { name, port } => {
                // A name that cannot be resolved is told of when the trial connects to it.
                let found = (name.as_str(), *port).to_socket_addrs().into_iter().flatten();
                let addresses = found.map(|address| address.ip()).collect();
                Ok(Known { name: name.clone(), port: *port, addresses })
            }
            Place::Unix(_) => {
                let why = "nodes of a cluster call each other by host and port";
                let field = format!("driver.targets[{index}]");
                Err(PlanError::new(field, target.to_string(), why))
            }
        };
        let nodes: Vec<Known> = targets.iter().enumerate().map(known).collect::<Result<_, _>>()?;
        let slots = usize::from(SLOTS);
        let holders = (0..slots).map(|slot| slot * nodes.len() / slots).collect();
        Ok(Cluster { nodes, holders })
    }

    /// The target that has a key.
    #[inline]
    pub fn holder(&self, key: &[u8]) -> usize {
        self.holders[usize::from(slot(key))]
    }

    /// Learns from the reply of a target to `CLUSTER SLOTS`.
    pub fn learn(&mut self, reply: Reply<'_>, teller: usize) {
        for range in ranges(reply) {
            // Of slots that no target has, their holder may tell when it is asked.
            if let Some(target) = self.target(range.node, teller) {
                self.holders[usize::from(range.first)..=usize::from(range.last)].fill(target);
            }
        }
    }

    /// The target that a target's error says is to be asked, and whether `ASKING` goes before;
    /// none if the error says something else.
    pub fn redirected(
        &mut self,
        error: &[u8],
        teller: usize,
    ) -> Option<Result<(usize, bool), Reason>> {
        let Redirect { asking, slot, node } = Redirect::read(error)?;
        let Some(target) = self.target(node, teller) else {
            let place = error.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
            return Some(Err(Reason::NoTarget(Told::new(place))));
        };
        if !asking {
            self.holders[usize::from(slot)] = target;
        }
        Some(Ok((target, asking)))
    }

    /// Takes a target's slots for another's, who will say whose they are if he can be asked.
    pub fn unreachable(&mut self, target: usize) {
        let another = (target + 1) % self.nodes.len();
        for holder in self.holders.iter_mut().filter(|holder| **holder == target) {
            *holder = another;
        }
    }

    fn target(&self, node: Node<'_>, teller: usize) -> Option<usize> {
        let text = std::str::from_utf8(node.host).ok()?;
        let host = if text.is_empty() { &self.nodes[teller].name } else { text };
        let address: Option<IpAddr> = host.parse().ok();
        let is = |known: &Known| {
            let called =
                known.name == host || address.is_some_and(|a| known.addresses.contains(&a));
            known.port == node.port && called
        };
        self.nodes.iter().position(is)
    }
}
