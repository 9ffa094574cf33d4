"""Audits of one training with many canaries."""
