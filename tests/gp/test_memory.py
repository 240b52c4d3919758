"""Memory of matrices that is freed stays with the process, for the next ones."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy as np
import driftwise.gp.linalg

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    matrices = [np.ones((200, 200)) for _ in range(8)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(sum(faults() for _ in range(20)))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have rules of their own")
def test_a_window_of_matrices_is_not_given_back_to_the_system_and_fetched_again():
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    pages = 20 * 8 * 200 * 200 * 8 // 4096
    assert int(done.stdout) < pages / 10
