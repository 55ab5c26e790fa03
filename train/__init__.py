"""Training recipes: `getbit train --help`, and in a checkout `python -m train.selfplay --help`."""

import os
import sys

# Before NumPy and torch are imported: small networks run slower on two threads, and much slower beside another busy process.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from getbit_env.commands.training import need_for  # noqa: E402 - it imports NumPy

_called = sys.argv[0] == "-m"  # Python is looking for the module of `python -m train.selfplay`
try:
    need_for(next((word.partition("train.")[2] for word in sys.orig_argv if "train." in word), None) if _called else None)
except ValueError as error:
    if _called:
        sys.exit(f"python -m train: error: {error}")
    raise ImportError(str(error)) from error
