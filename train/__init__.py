"""Training recipes, run from a checkout: `python -m train.selfplay --help`."""

import os

# Before NumPy and torch are imported: small networks run slower on two threads, and much slower beside another busy process.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
