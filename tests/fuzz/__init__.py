"""Seeded random calls; `python -m tests.fuzz bindings` runs them for as long as one likes."""
