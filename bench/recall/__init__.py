"""Does recall find the right record, and does fusing lists help: turns and functions."""

import os

# As the owner does: several threads wait for each other longer than one takes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
