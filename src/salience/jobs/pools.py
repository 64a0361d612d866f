"""The choice between this process, several processes, and a cluster."""

from __future__ import annotations

from salience.errors import InputError
from salience.jobs.here import Here
from salience.jobs.job import Pool
from salience.jobs.ray_tasks import RayTasks
from salience.jobs.workers import Workers


def pool_of(jobs: int = 1, ray: str | None = None) -> Pool:
    """The pool for `--jobs` and `--ray`.

    Args:
        jobs: number of processes; 1 does one job after the other in this process.
        ray: address of a Ray cluster; None for this machine.

    Raises:
        InputError: `jobs` is less than 1, or given for a cluster.
    """
    if jobs < 1:
        raise InputError(f"--jobs must be at least 1, not {jobs}")
    if ray is None:
        return Here() if jobs == 1 else Workers(jobs)
    if jobs > 1:
        raise InputError("--jobs is for this machine; --ray runs as many jobs as the cluster has cores or GPUs")
    return RayTasks(ray)
