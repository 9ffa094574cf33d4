"""Simulated genotypes whose neighbours are correlated, and VCF files of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import stats

HEAD = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t"


def linked(people: int, variants: int, seed: int, stay: float = 0.9) -> np.ndarray:
    """Return allele counts: a Gaussian chain along each chromosome, cut at a level."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((2 * people, variants))
    chain = np.empty_like(noise)
    chain[:, 0] = noise[:, 0]
    for j in range(1, variants):
        chain[:, j] = stay * chain[:, j - 1] + np.sqrt(1 - stay**2) * noise[:, j]
    alleles = chain > stats.norm.isf(rng.uniform(0.1, 0.5, variants))
    return (alleles[:people].astype(np.int8) + alleles[people:]).astype(np.int8)


def write(path: Path, counts: np.ndarray, first: int, phased: bool) -> Path:
    """Write a VCF file of people who are called by their numbers."""
    calls = np.array(["0|0", "0|1", "1|1"] if phased else ["0/0", "0/1", "1/1"])[counts]
    names = [f"P{first + i}" for i in range(len(counts))]
    lines = [
        "\t".join(["20", str(100 + j), ".", "A", "T", ".", ".", ".", "GT", *site])
        for j, site in enumerate(calls.T)
    ]
    path.write_text(HEAD + "\t".join(names) + "\n" + "\n".join(lines) + "\n")
    return path
