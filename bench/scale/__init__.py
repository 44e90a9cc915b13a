"""How everything grows with the number of records."""

import os

# As the owner does: several threads wait for each other longer than one takes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
