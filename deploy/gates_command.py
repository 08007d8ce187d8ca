"""`chancela gates`: what the before-send chain did, why, and what another one would have done."""

import typer

from deploy import gates_runs

app = typer.Typer(no_args_is_help=True, help="The before-send chain: judge again, explain.")
app.command("replay")(gates_runs.replay)
app.command("explain")(gates_runs.explain)
app.command("erase")(gates_runs.erase)
