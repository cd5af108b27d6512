//! `MySQL`'s protocol: against a real `MariaDB`, and against servers that misbehave.

mod mariadb;
mod misdeeds;
