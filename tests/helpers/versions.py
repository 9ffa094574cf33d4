"""Oracles of older versions that have fewer digits; with present ones no test is laxer."""

from __future__ import annotations

import numpy as np
import scipy

OLD_NUMPY = np.lib.NumpyVersion(np.__version__) < "2.0.0"
OLD_SCIPY = np.lib.NumpyVersion(scipy.__version__) < "1.16.0"
