"""The measured parts of audits.md and sorted-bits.md: ``python -m bench.audits``."""
