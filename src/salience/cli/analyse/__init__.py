"""`salience analyse`: what a trained model attends to, over a corpus. There is one file for each analysis."""

from __future__ import annotations

import typer

from salience.cli.analyse.attention import attention
from salience.cli.analyse.channels import channels
from salience.cli.analyse.embeddings import embeddings
from salience.cli.analyse.pos import pos

app = typer.Typer(help="Analyse what a trained model attends to, over a corpus.", no_args_is_help=True)
app.command("attention")(attention)
app.command("pos")(pos)
app.command("channels")(channels)
app.command("embeddings")(embeddings)
