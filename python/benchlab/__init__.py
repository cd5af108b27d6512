"""Benchlab: find out how fast a backend system is, why, and how sure one may be.

The package is a house of rooms; `docs/ARCHITECTURE.md` says what each is for and who may import
whom.
"""

__version__ = "0.1.0"
