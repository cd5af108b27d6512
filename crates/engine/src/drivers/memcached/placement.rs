//! Which of several servers has a key: as libmemcached places them, so that what another client has
//! stored is found. Absent: weights, and servers that leave while others stay.

use md5::{Digest as _, Md5};

use crate::drivers::target::{Place, Target};
use crate::plan::Sharding;

/// The port that libmemcached leaves out of a server's name.
const DEFAULT_PORT: u16 = 11211;
/// How many digests of its name a server has, four points each.
const DIGESTS: u32 = 40;

/// Where keys are placed.
#[derive(Clone, Debug)]
pub enum Placement {
    /// By the remainder of a key's hash; so many servers.
    Modulo(u32),
    /// On a circle of points, each of a server: a key belongs to the first at or behind its own.
    Ketama(Vec<(u32, u8)>),
}

impl Placement {
    /// A placement on these servers.
    pub fn new(sharding: Sharding, targets: &[Target]) -> Placement {
        if sharding == Sharding::Modulo {
            return Placement::Modulo(targets.len() as u32);
        }
        let mut points = Vec::new();
        for (number, target) in targets.iter().enumerate() {
            let name = match &target.place {
                Place::Host { name, port: DEFAULT_PORT } => name.clone(),
                Place::Host { name, port } => format!("{name}:{port}"),
                Place::Unix(path) => path.display().to_string(),
            };
            for turn in 0..DIGESTS {
                let digest = Md5::digest(format!("{name}-{turn}"));
                let (chunks, _) = digest.as_chunks();
                points.extend(chunks.iter().map(|&four| (u32::from_le_bytes(four), number as u8)));
            }
        }
        points.sort_unstable();
        Placement::Ketama(points)
    }

    /// The number of the server that has the key.
    pub fn place(&self, key: &[u8]) -> u8 {
        match self {
            Placement::Modulo(servers) => (one_at_a_time(key) % servers) as u8,
            Placement::Ketama(points) => {
                let digest = Md5::digest(key);
                let hash = u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]);
                let next = points.partition_point(|&(point, _)| point < hash);
                points[next % points.len()].1
            }
        }
    }
}

/// Bob Jenkins's hash of one byte at a time, libmemcached's default.
fn one_at_a_time(key: &[u8]) -> u32 {
    let mut hash = key.iter().fold(0_u32, |hash, &byte| {
        let hash = hash.wrapping_add(u32::from(byte));
        let hash = hash.wrapping_add(hash << 10);
        hash ^ (hash >> 6)
    });
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

#[cfg(test)]
mod tests {
    use super::super::SCHEMES;
    use super::*;

    /// What libmemcached 1.1.4 answers for these servers (`memcached_generate_hash`), by default
    /// and with `MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED`.
    #[test]
    fn keys_lie_where_libmemcached_puts_them() {
        let servers =
            ["10.0.1.1:11211", "10.0.1.2", "10.0.1.3:11212", "cache.example", "10.0.1.5:11300"];
        let urls = servers.map(|server| format!("memcached://{server}"));
        let targets = Target::all(&urls, SCHEMES).unwrap();
        let numbered = (0..60).map(|number| format!("k:{number}"));
        let others = ["user:alice", "x", "a-much-longer-key/with_other.characters"];
        let keys: Vec<String> = numbered.chain(others.map(str::to_owned)).collect();
        for (sharding, expected) in [
            (Sharding::Modulo, "000331122344431334211021021201210013213141404230402021124132342"),
            (Sharding::Ketama, "442023132003011323414133023343342342122233211134344144303440021"),
        ] {
            let placement = Placement::new(sharding, &targets);
            let found: String =
                keys.iter().map(|key| placement.place(key.as_bytes()).to_string()).collect();
            assert_eq!(found, expected, "{sharding:?}");
        }
    }
}
