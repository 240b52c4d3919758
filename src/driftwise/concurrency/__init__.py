"""Several at once: `guard`, a lock that no exception leaves behind, and `threads`, which gives BLAS one thread."""
