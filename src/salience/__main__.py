"""`python -m salience`, which is also what torchrun and accelerate launch."""

from salience.cli.main import run

run()
