"""The runs of a comparison or a table: several at once, each made once, and a failed one leaves the others alone."""

from salience.jobs.job import QUIET, Display, Failure, FailureLog, Job
from salience.jobs.running import run_jobs
from salience.jobs.workers import pool_of

__all__ = ["QUIET", "Display", "Failure", "FailureLog", "Job", "pool_of", "run_jobs"]
