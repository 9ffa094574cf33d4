"""The measured parts of docs/audits.md and docs/sorted-bits.md: ``python -m bench.audits``."""
