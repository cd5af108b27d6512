//! HTTP's part of the Plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of cookies that a server sets.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Cookies {
    /// They are passed over.
    #[default]
    Ignore,
    /// Each client keeps its own for the whole trial and sends them back. In an open schedule each
    /// connection does.
    Keep,
}

/// What becomes of an answer that leads elsewhere.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Redirects {
    /// It is the answer.
    #[default]
    Leave,
    /// It is followed on the same connection, unless its status is an expected one; the operation
    /// lasts until the answer that leads nowhere else, and that one is checked.
    Follow,
}

/// An HTTP request; path, header values and body are templates.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct HttpRequest {
    /// `GET`, `POST`, …
    pub method: String,
    /// The request target, e.g. `/item/${id}?full=1`.
    pub path: String,
    /// Headers beside `Host` and `Content-Length`.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body, if any.
    #[serde(default)]
    pub body: Option<String>,
    /// A file whose bytes are the body, as they are.
    #[serde(default)]
    pub body_file: Option<String>,
    /// The body is sent in chunks of so many bytes instead of with its length.
    #[serde(default)]
    pub chunk_bytes: Option<u32>,
}
