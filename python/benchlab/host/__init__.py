"""A machine: processes, files, CPU sets, probes, fingerprint. Knows no database."""
