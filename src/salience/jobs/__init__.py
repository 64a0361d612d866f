"""The runs of a comparison or a table: several at once, each made once, and a failed one leaves the others alone."""

from salience.jobs.failures import FailureLog
from salience.jobs.job import QUIET, Display, Failure, Job
from salience.jobs.pools import pool_of
from salience.jobs.running import run_jobs

__all__ = ["QUIET", "Display", "Failure", "FailureLog", "Job", "pool_of", "run_jobs"]
