"""The runs of a comparison or a table: several at once, each made once, and a failed one leaves the others alone."""

from salience.jobs.running import QUIET, Display, FailureLog, Job, run_jobs
from salience.jobs.workers import Failure, pool_of, watcher

__all__ = ["QUIET", "Display", "Failure", "FailureLog", "Job", "pool_of", "run_jobs", "watcher"]
