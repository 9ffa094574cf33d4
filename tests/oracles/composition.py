"""One step of a sub-sampled mechanism in high precision, and two or three by plain quadrature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

Tails = Callable[[Any, Any], Any]  # mass of the noise above x where the mean is m


def gaussian(x: Any, m: Any) -> Any:
    return mp.ncdf(m - x)


def folded_gaussian(x: Any, m: Any) -> Any:
    return mp.ncdf(m - x) + mp.ncdf(-m - x)


def laplace(x: Any, m: Any) -> Any:
    y = mp.mpf(x) - m
    return mp.exp(-y) / 2 if y > 0 else 1 - mp.exp(y) / 2


def folded_laplace(x: Any, m: Any) -> Any:
    return laplace(x, m) + laplace(x, -m)


def one_step(tail: Tails, x: float, mu: float, rate: float) -> tuple[Any, Any]:
    """Errors of the test that accuses above x: alpha, and beta."""
    with mp.workdps(40):
        alpha = tail(x, mp.mpf(0))
        power = (1 - mp.mpf(rate)) * alpha + mp.mpf(rate) * tail(x, mp.mpf(mu))
        return alpha, 1 - power


def loss(x: Any, mu: float, rate: float) -> Any:
    """The Gaussian step's log-likelihood ratio, of the informed attacker."""
    return np.log1p(rate * np.expm1(mu * x - 0.5 * mu * mu))


def profile(epsilon: Any, mu: float, rate: float) -> Any:
    """Delta of one Gaussian step at any real epsilon, forward."""
    inner = np.expm1(epsilon) / rate + 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(inner > 0.0, np.log(np.maximum(inner, 1e-300)) / mu + 0.5 * mu, -np.inf)
    power = (1.0 - rate) * ndtr(-x) + rate * ndtr(mu - x)
    return power - np.exp(epsilon) * ndtr(-x)


def density(x: Any, mu: float, rate: float) -> Any:
    """Density of one Gaussian step's output for members."""
    return np.exp(loss(x, mu, rate) - 0.5 * x * x) / np.sqrt(2.0 * np.pi)


def two_steps(epsilon: float, first: tuple[float, float], second: tuple[float, float]) -> float:
    """Delta of two Gaussian steps (mu, rate): the second's profile, averaged over the first."""
    return quad(
        lambda x: density(x, *first) * profile(epsilon - loss(x, *first), *second),
        -12.0,
        12.0 + first[0],
        epsabs=1e-15,
        epsrel=1e-12,
        limit=500,
        points=[0.0, first[0]],
    )[0]


def three_steps(epsilon: float, mu: float, rate: float) -> float:
    """Delta of three equal Gaussian steps, by the trapezoidal rule in two of them."""
    x = np.linspace(-11.0, 11.0 + mu, 1201)
    mass = density(x, mu, rate) * (x[1] - x[0])
    losses = loss(x, mu, rate)
    both = profile(epsilon - losses[:, np.newaxis] - losses, mu, rate)
    return float(mass @ both @ mass)
