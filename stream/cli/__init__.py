"""The command line, one file per subcommand."""

import os

# Matrices of faces are small: threads that NumPy's library keeps for large ones only wait, and turn
# while they do. On 16 cores a frame of eight faces takes a third longer with them. It is read when
# NumPy is first imported, and no user's choice is overruled.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
