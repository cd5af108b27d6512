//! Where a driver connects to: `scheme://host:port`, or `scheme:///path/of/a/socket`.

use std::fmt;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use crate::error::{HostError, PlanError};
use crate::net::Address;

/// A scheme that a driver speaks.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    /// Before `://`.
    pub name: &'static str,
    /// Where there is none in the target.
    pub port: u16,
    /// Whether the connection is encrypted.
    pub tls: bool,
}

/// One of the servers that connections are spread over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where it is.
    pub place: Place,
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// Host and port as they were written, e.g. for `Host`.
    pub authority: String,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a port of a host, by name or address.
    Host {
        /// An IPv6 address without its brackets.
        name: String,
        /// The port.
        port: u16,
    },
    /// On a socket in the file system.
    Unix(PathBuf),
}

impl Target {
    /// Reads a target of one of these schemes, the Plan's `field`.
    pub fn parse(text: &str, schemes: &[Scheme], field: &str) -> Result<Target, PlanError> {
        let names: Vec<&str> = schemes.iter().map(|scheme| scheme.name).collect();
        let shape = names.iter().map(|name| format!("`{name}://host:port`")).collect::<Vec<_>>();
        let shape = shape.join(" or ");
        let wrong = || PlanError::new(field, text, format!("a target is {shape}, and no more"));
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let found = schemes.iter().find(|known| known.name == scheme);
        let scheme = found.ok_or_else(wrong)?;
        if rest.starts_with('/') && rest.len() > 1 && !names.contains(&"http") {
            let place = Place::Unix(PathBuf::from(rest));
            return Ok(Target { place, tls: scheme.tls, authority: "localhost".to_owned() });
        }
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.is_empty() || authority.contains(['/', '?', '#', '@', ' ']) {
            return Err(wrong());
        }
        let (name, port) = match authority.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, port.parse().map_err(|_| wrong())?),
            _ => (authority, scheme.port),
        };
        let name = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
        let place = Place::Host { name: name.to_owned(), port };
        Ok(Target { place, tls: scheme.tls, authority: authority.to_owned() })
    }

    /// Reads all targets of a driver.
    pub fn all(texts: &[String], schemes: &[Scheme]) -> Result<Vec<Target>, PlanError> {
        let read = |(index, text): (usize, &String)| {
            Target::parse(text, schemes, &format!("driver.targets[{index}]"))
        };
        texts.iter().enumerate().map(read).collect()
    }

    /// Its address. Of several the first that accepts a connection is taken, or the first.
    pub fn resolve(&self) -> Result<Address, HostError> {
        let (name, port) = match &self.place {
            Place::Host { name, port } => (name, port),
            Place::Unix(path) => return Ok(Address::Unix(path.clone())),
        };
        let found = (name.as_str(), *port).to_socket_addrs().map_err(|error| {
            HostError::new(format!("cannot resolve `{self}`: {error}"), "check the name and port")
        })?;
        let addresses: Vec<SocketAddr> = found.collect();
        let accepts = |address: &&SocketAddr| {
            TcpStream::connect_timeout(address, Duration::from_millis(500)).is_ok()
        };
        let chosen = match addresses.as_slice() {
            [only] => Some(only),
            several => several.iter().find(accepts).or(several.first()),
        };
        chosen
            .map(|address| Address::Tcp(*address))
            .ok_or_else(|| HostError::new(format!("`{self}` has no address"), "check the name"))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Host { .. } => f.write_str(&self.authority),
            Place::Unix(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEB: &[Scheme] = &[
        Scheme { name: "http", port: 80, tls: false },
        Scheme { name: "https", port: 443, tls: true },
    ];
    const CACHE: &[Scheme] = &[Scheme { name: "redis", port: 6379, tls: false }];

    #[test]
    fn a_target_is_a_scheme_a_host_and_a_port() {
        let place = |text, schemes| Target::parse(text, schemes, "t").map(|t| (t.place, t.tls));
        let host = |name: &str, port| Place::Host { name: name.to_owned(), port };
        assert_eq!(place("http://a.b:8080", WEB).unwrap(), (host("a.b", 8080), false));
        assert_eq!(place("https://a.b/", WEB).unwrap(), (host("a.b", 443), true));
        assert_eq!(place("http://[::1]:8080", WEB).unwrap(), (host("::1", 8080), false));
        assert_eq!(place("redis://[::1]", CACHE).unwrap(), (host("::1", 6379), false));
        let path = Place::Unix(PathBuf::from("/run/redis.sock"));
        assert_eq!(place("redis:///run/redis.sock", CACHE).unwrap(), (path, false));
    }

    #[test]
    fn anything_else_is_an_error_that_says_what_would_do() {
        for text in ["a.b:80", "ftp://a", "http://", "http://a/b", "http://u@a", "http://a:x"] {
            let error = Target::parse(text, WEB, "driver.targets[0]").unwrap_err();
            assert!(error.to_string().contains("http://host:port"), "{text}: {error}");
        }
    }
}
