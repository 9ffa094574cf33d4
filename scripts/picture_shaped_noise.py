"""Draw docs/how-to/shaped-noise.svg: records, and what is within the limit with noise or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from leakscore import Reference
from leakscore.leakage import noise_for

PATH = Path(__file__).parents[1] / "docs" / "how-to" / "shaped-noise.svg"
N, LIMIT = 60, 0.2
WIDTH, HEIGHT, UNIT = 720, 430, 44.0

Array = np.ndarray[Any, Any]


def records() -> Array:
    """Return a correlated cloud with three records far out."""
    cloud = np.random.default_rng(3).normal(size=(200, 2)) @ [[1.3, 0.9], [0.0, 0.6]]
    return np.vstack([cloud, [[-3.2, 2.6], [-2.9, 2.9], [3.0, -2.2]]])


def ellipse(matrix: Array, style: str) -> str:
    """Return the ellipse x' matrix^-1 x = 1 around the middle."""
    values, vectors = np.linalg.eigh(matrix)
    angle = -np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    rx, ry = UNIT * np.sqrt(values[1]), UNIT * np.sqrt(values[0])
    place = f"translate({WIDTH / 2} {HEIGHT / 2}) rotate({angle:.1f})"
    return f'<ellipse rx="{rx:.1f}" ry="{ry:.1f}" transform="{place}" fill="none" {style}/>'


def picture() -> str:
    """Return the file."""
    X = records()
    reference = Reference.fit(X)
    best = noise_for(X, reference, N, max_advantage=LIMIT, shape="optimal")
    same = noise_for(X, reference, N, max_advantage=LIMIT)
    reach = N * best.max_leakage
    covariances = (
        (reference.cov, 'stroke="#777" stroke-width="2"'),
        (reference.cov + N * np.diag(same.noise_std**2), 'stroke="#b60" stroke-dasharray="6 4"'),
        (reference.cov + N * best.covariance, 'stroke="#06c" stroke-width="2.5"'),
    )
    shown = [ellipse(reach * cov, style) for cov, style in covariances]
    for i, (x, y) in enumerate(X - reference.mean):
        colour = "#c22" if i in best.active else "#333"
        x, y = WIDTH / 2 + UNIT * x, HEIGHT / 2 - UNIT * y
        shown.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>')
    words = (
        ("#777", "within the limit without noise"),
        ("#06c", "with the noise that costs least"),
        ("#b60", "with the same noise, in standard errors, in every column"),
        ("#c22", "the records that it is for"),
    )
    for line, (colour, text) in enumerate(words):
        place = f'x="12" y="{20 + 17 * line}"'
        shown.append(f'<text {place} fill="{colour}" font-size="13">{text}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
    body = "\n".join(shown)
    return f'{head} font-family="sans-serif">\n{body}\n</svg>\n'


if __name__ == "__main__":
    PATH.write_text(picture(), "utf-8")
