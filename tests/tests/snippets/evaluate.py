"""Evaluates PyTorch code of objectives: `{dtype, inputs, scripts}` as JSON in, losses and gradients out."""

import json
import sys

import torch


def evaluate(script, inputs):
    """The variable `loss` of a script that has the inputs as variables."""
    variables = {name: torch.tensor(rows) for name, rows in inputs.items()}
    views = {name: variables[name].requires_grad_() for name in ("view_a", "view_b")}
    exec(script, variables)
    variables["loss"].backward()
    return {"loss": variables["loss"].item(), **{name: view.grad.tolist() for name, view in views.items()}}


job = json.load(sys.stdin)
torch.set_default_dtype(getattr(torch, job["dtype"]))
print(json.dumps([evaluate(script, job["inputs"]) for script in job["scripts"]]))
