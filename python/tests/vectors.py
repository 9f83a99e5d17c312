"""The reference vectors of the project, and how close a result must come: the table of their README."""

import json
import os
from pathlib import Path

import numpy as np

import simile

FOLDER = Path(os.environ.get("SIMILE_VECTORS", Path(__file__).parents[2] / "tests" / "vectors"))


def cases():
    """Every file that is about an objective and states a loss, by its name."""
    known = set(simile.objectives())
    for path in sorted(FOLDER.glob("*__*.json")):
        case = json.loads(path.read_text())
        if case["objective"] in known and isinstance(case["loss"], float | int):
            yield path.stem, case


def arguments(case, dtype):
    """The arguments of `simile.loss` for a file; embeddings and scores as arrays of a float type."""
    inputs = dict(case["inputs"])
    description = simile.describe(case["objective"])
    kinds = {entry["name"]: entry["kind"] for entry in description["inputs"]}
    parameters = {entry["name"] for entry in description["parameters"]}
    unit = inputs.pop("inputs_normalised", False)
    is_input = {name: kinds.get(name, "embeddings" if name.startswith("view_") else None) for name in inputs}
    # A file may state more than the objective reads.
    given = {
        name: np.array(value, dtype) if is_input[name] in ("embeddings", "rows") else np.array(value)
        for name, value in inputs.items()
        if is_input[name]
    }
    params = {name: value for name, value in case["params"].items() if name in parameters}
    if isinstance(kernel := params.get("kernel"), dict):
        params["kernel"] = {name: value for name, value in kernel.items() if name != "formula"}
    return {"variant": case.get("variant"), "unit_rows": unit, **params, **given}


def gradients(case):
    """The derivatives that a file states, by input."""
    named = {"view_a": case.get("grad_a"), "view_b": case.get("grad_b"), **(case.get("grads") or {})}
    return {name: np.atleast_2d(rows) for name, rows in named.items() if rows is not None}


def solves(case):
    """Whether the objective weighs samples by a kernel, for which it solves a system of equations."""
    return any(entry["kind"] == "kernel" for entry in simile.describe(case["objective"])["parameters"])


def check_loss(case, loss, single):
    solve = solves(case)
    if single:
        relative, absolute = 1e-4, 1e-4 if solve else 1e-5
    else:
        relative, absolute = 1e-8 if solve else 1e-9, 1e-10
    assert abs(loss - case["loss"]) <= absolute + relative * abs(case["loss"])


def check_gradient(case, name, gradient, single):
    expected = gradients(case)[name]
    tolerance = 1e-8
    if single:
        sharp = solves(case) or case["params"].get("temperature", 1) <= 0.07
        tolerance = 1e-3 if sharp else 1e-4
    assert gradient.shape == expected.shape
    error = np.abs(gradient - expected).max() / max(1e-6, np.abs(expected).max())
    assert error <= tolerance, f"the gradient of {name} is off by {error:.1e}"
