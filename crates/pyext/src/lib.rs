//! benchlab._core.
