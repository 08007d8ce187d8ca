"""`chancela gates`: what the before-send chain did and why, what another one would have done, how detectors score."""

import typer

from deploy import gates_runs
from deploy.gates_score import score

app = typer.Typer(no_args_is_help=True, help="The before-send chain: judge again, explain, score its detectors.")
app.command("replay")(gates_runs.replay)
app.command("explain")(gates_runs.explain)
app.command("erase")(gates_runs.erase)
app.command("score")(score)
