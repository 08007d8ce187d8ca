"""`chancela gates`: what the gates and the detectors behind them do, measured on files and on what was decided."""

import typer

from deploy.gates_score import score

app = typer.Typer(no_args_is_help=True, help="The gates and their detectors: measured on labelled lines.")
app.command("score")(score)
