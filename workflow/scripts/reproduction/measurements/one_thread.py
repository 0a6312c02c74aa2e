"""One thread, so that what is measured is compared on equal terms; to be imported before NumPy."""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
