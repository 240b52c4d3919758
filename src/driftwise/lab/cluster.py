"""The engine that performs jobs on a Ray cluster, or on a Ray of this machine alone."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from driftwise.errors import DriftwiseError, missing_extra
from driftwise.lab.engine import KILLED, PATIENCE, Failure, Item, Reply, Work, do_elsewhere

AHEAD = 2  # batches handed out for each core, so that none waits for us


@dataclass(frozen=True)
class Ray:
    """On the cluster at `address`; without one, on a Ray of our own with `jobs` workers, which ends with us.

    The cluster's machines need the same driftwise, the same libraries and the same policies of one's own; the bits are
    those of their libraries.
    """

    jobs: int | None = None
    address: str | None = None

    def __call__(self, work: Work) -> Iterator[Reply]:
        ray, ours = connected(self.jobs, self.address)
        try:
            cores = self.jobs or max(int(ray.cluster_resources().get("CPU", 1)), 1)
            yield from _performed(ray, work, cores)
        finally:
            if ours:
                ray.shutdown()


def _performed(ray: Any, work: Work, cores: int) -> Iterator[Reply]:
    # Ray itself does a batch again whose worker was killed; so do we, for those it has given up
    remote = ray.remote(num_cpus=1, max_retries=PATIENCE)(do_elsewhere)
    batches, flying, path = work.batches(), dict[Any, tuple[Item, ...]](), tuple(sys.path)
    while True:
        while len(flying) < AHEAD * cores and (batch := next(batches, None)):
            flying[remote.remote(batch, path)] = batch
        if not flying:
            return
        done, _ = ray.wait(list(flying), num_returns=1)
        batch = flying.pop(done[0])
        try:
            reply = ray.get(done[0])
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError, ray.exceptions.NodeDiedError) as e:
            if len(batch) > 1:  # one of them kills workers; alone, it will be found
                flying |= {remote.remote((item,), path): (item,) for item in batch}
                continue
            reply = Reply((Failure(batch[0][0], f"{KILLED} ({type(e).__name__})"),), 0.0)
        except ray.exceptions.RayError as error:
            said = str(error).strip().splitlines()[-1]
            raise DriftwiseError(
                f"Ray could not run driftwise ({said}); its machines need the same driftwise"
            ) from error
        work.finish(reply)
        yield reply


def connected(jobs: int | None, address: str | None) -> tuple[Any, bool]:
    """Ray, connected, and whether it is ours to end."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # said to be the default soon; else it warns
    try:
        import ray
    except ImportError:
        raise missing_extra("ray", "Ray") from None
    if ray.is_initialized():
        return ray, False
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is not None:
        ray.init(address=address, **quiet)
    else:
        ray.init(address="local", num_cpus=jobs, include_dashboard=False, **quiet)
    return ray, True
