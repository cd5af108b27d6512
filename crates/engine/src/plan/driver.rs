//! The driver of a Plan: the client side of a protocol, and where its servers are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cookies, Redirects};

/// The client side of a protocol.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Driver {
    /// HTTP/1.1 over TCP.
    Http {
        /// Where to connect: `http://host:port`, or `https://host:port` with TLS. Connections are
        /// spread over them in turn.
        targets: Vec<String>,
        /// What becomes of cookies that a server sets.
        #[serde(default)]
        cookies: Cookies,
        /// What becomes of an answer that leads elsewhere.
        #[serde(default)]
        redirects: Redirects,
    },
    /// LDAP, version 3.
    Ldap {
        /// Where to connect: `ldap://host:port`, `ldaps://host:port` (TLS), or
        /// `ldap:///path/of/a/socket`. Connections are spread over them in turn.
        targets: Vec<String>,
        /// The distinguished name to bind as; as nobody when absent.
        #[serde(default)]
        user: Option<String>,
        /// `${env:NAME}`: the agent takes it from its environment.
        #[serde(default)]
        password: Option<String>,
        /// Whether connections to `ldap` targets are encrypted by the server's leave, before they
        /// bind.
        #[serde(default)]
        start_tls: bool,
    },
    /// memcached, by its text protocol.
    Memcached {
        /// Where to connect: `memcached://host:port`, `memcacheds://host:port` (TLS), or
        /// `memcached:///path/of/a/socket`. Each client connects to each of them.
        targets: Vec<String>,
        /// Which of several servers has a key.
        #[serde(default)]
        sharding: Option<Sharding>,
        /// Who asks, where the server has a file of users.
        #[serde(default)]
        user: Option<String>,
        /// `${env:NAME}`: the agent takes it from its environment.
        #[serde(default)]
        password: Option<String>,
    },
    /// A file or block device of this machine.
    File {
        /// Where it is; made when it is written and absent.
        path: String,
        /// How much of it is used, from its beginning; all there is when absent.
        #[serde(default)]
        size_bytes: Option<u64>,
        /// Whether reads and writes go past the system's cache.
        #[serde(default)]
        direct: bool,
    },
    /// `MySQL`, `MariaDB` and whoever speaks their protocol.
    Mysql {
        /// Where to connect: `mysql://host:port`, or `mysqls://host:port` with TLS. Connections are
        /// spread over them in turn.
        targets: Vec<String>,
        /// Who logs in.
        user: String,
        /// The password: `${env:NAME}`, an environment variable of the agent's; none when absent.
        #[serde(default)]
        password: Option<String>,
        /// The database to use.
        #[serde(default)]
        database: Option<String>,
        /// How statements and their values are sent.
        #[serde(default)]
        protocol: MysqlProtocol,
    },
    /// `PostgreSQL`, or what speaks its protocol.
    Postgresql {
        /// Where to connect: `postgresql://host:port`, or `postgresqls://host:port` with TLS.
        /// Connections are spread over them in turn.
        targets: Vec<String>,
        /// Who asks.
        user: String,
        /// The password: `${env:NAME}`, read from the agent's environment.
        #[serde(default)]
        password: Option<String>,
        /// The database; the user's name when absent.
        #[serde(default)]
        database: Option<String>,
        /// How statements are sent.
        #[serde(default)]
        protocol: SqlProtocol,
    },
    /// Redis, by RESP.
    Redis {
        /// Where to connect: `redis://host:port`, `rediss://host:port` (TLS), or
        /// `redis:///path/of/a/socket`. Connections are spread over them in turn.
        targets: Vec<String>,
        /// Whom the password is for, if not the default user.
        #[serde(default)]
        user: Option<String>,
        /// `${env:NAME}`: the agent takes it from its environment.
        #[serde(default)]
        password: Option<String>,
        /// The number of the database.
        #[serde(default)]
        database: u32,
        /// The version of the protocol, 2 or 3.
        #[serde(default = "Driver::default_resp")]
        resp: u8,
        /// Whether the targets are nodes of a Redis Cluster, all its masters among them: each
        /// command goes to the node that has its first key. Then a client, or where `pipeline`
        /// or an open schedule says so a group of them, has a connection to each.
        #[serde(default)]
        cluster: bool,
    },
    /// `SQLite`, in the agent's process, a thread a client.
    Sqlite {
        /// The database file; made when absent.
        path: String,
        /// Pragmas set on each connection, in order of name.
        #[serde(default)]
        pragmas: BTreeMap<String, String>,
    },
}

/// Which of several servers has a key, as libmemcached places it.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Sharding {
    /// The one whose point follows the key's on a circle (`MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED`, all
    /// weights being the same).
    Ketama,
    /// The remainder of the key's hash, Jenkins's of one byte at a time; libmemcached's default.
    Modulo,
}

/// How statements are sent to a server.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum SqlProtocol {
    /// Prepared once a connection, values bound.
    #[default]
    Extended,
    /// As text, values written into it.
    Simple,
}

impl Driver {
    fn default_resp() -> u8 {
        2
    }
}

/// How statements are sent to `MySQL`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum MysqlProtocol {
    /// Prepared once a connection, values bound.
    #[default]
    Prepared,
    /// As text, values written into it.
    Text,
}
