//! Seeded, counter-based random numbers and the distributions workloads and schedules draw from.
