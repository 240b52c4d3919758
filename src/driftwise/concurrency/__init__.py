"""Threads and interrupts: `guard` is a lock that no exception leaves held, `threads` limits BLAS to one thread.

`pauses` says how long to wait before something is tried again.
"""
