//! Histograms, counters and the Measurement file.
