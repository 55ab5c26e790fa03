"""Means with honest intervals."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """A mean, and the interval that holds the true one with `CONFIDENCE`; no interval where the mean is exact."""

    mean: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t distribution, to two parts in a thousand at 0.975.

    Exact for one and two degrees of freedom, else the Cornish-Fisher expansion (Abramowitz and Stegun, 26.7.5).

    Raises:
        ValueError: there is no degree of freedom.
    """
    if degrees < 1:
        raise ValueError(f"an interval needs at least two values, not {degrees + 1}")
    if degrees == 1:
        return math.tan(math.pi * (probability - 0.5))
    if degrees == 2:
        return (2 * probability - 1) * math.sqrt(2 / (4 * probability * (1 - probability)))
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / degrees**power for power, term in enumerate(terms, 1))


def estimate(values: NDArray[np.float64], least: float, most: float) -> Estimate:
    """The mean of independent values within `[least, most]`, with a t-interval.

    A sample can lack what is rare: no unit in which something happened among n says that it happens in fewer than 3/n of all,
    with this confidence. The interval is never narrower than that, so it has a width even where all values are the same.

    Args:
        values: `[n]`, n > 1.
        least: no value can be below.
        most: no value can be above.

    Returns:
        mean and interval, the interval within `[least, most]`.
    """
    n = values.size
    mean = float(values.mean())
    half = t_quantile((1 + CONFIDENCE) / 2, n - 1) * float(values.std(ddof=1)) / math.sqrt(n)
    rare = min(1.0, -math.log(1 - CONFIDENCE) / n)
    low = mean - max(half, rare * (mean - least))
    high = mean + max(half, rare * (most - mean))
    return Estimate(mean, max(low, least), min(high, most))
