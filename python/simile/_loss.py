"""Objectives by name."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from simile import _native
from simile._request import Arguments, Result


def objectives() -> list[str]:
    """The names that `loss` and `describe` take."""
    return _native.names()


def describe(objective: str) -> dict[str, Any]:
    """What an objective is and what it takes.

    The fields are those of `simile objectives NAME --json`: `title`, `summary`, `work` (paper and equation), `formula`,
    `inputs` (name, kind of numbers, shape, meaning, whether it is needed), `variants`, `parameters` (name, default,
    range, meaning), and `pytorch`.

    `pytorch` is the source of the same loss in PyTorch, which runs on any device. Some objectives have one; it is `None` for
    the others, such as `fair-cclk-trainable`. Its last function has the name of the objective (`fair_cclk`). It takes the
    required inputs in their order, a condition as `[b, e]`, and then the parameters by name, except `approximation`.
    `hardneg_cclk` takes `z_a` and `z_b` in place of `z`. Under autocast it needs embeddings in `float32`, inside
    `torch.autocast(device, enabled=False)`.

    Raises:
        ValueError: there is no objective of that name; the message lists the nearest names.
    """
    return json.loads(_native.describe(objective))


def loss(
    objective: str,
    *,
    variant: str | None = None,
    unit_rows: bool = False,
    **arguments: Any,
) -> Any:
    """The loss of a batch.

    With tensors of PyTorch the result is a scalar tensor on the device of the embeddings (or scores), in `float64` if they
    are and in `float32` else, so that a loss of half precision can be scaled. `backward()` passes the gradient that the
    objective derives on to them, in the type of each. Otherwise the result is a `float`.

    The computation runs on the CPU, in `float64` if the embeddings have that type and in `float32` else. A tensor of a
    GPU is copied there and its gradient back, and the GPU waits meanwhile; `describe(objective)["pytorch"]` runs on it.
    `torch.compile` leaves the computation out of its graphs, so `fullgraph=True` is impossible.

    Args:
        objective: one of `objectives()`.
        variant: one of the formulas that the objective has (`paper`, `released`, ...); its default if absent.
        unit_rows: embeddings have length one already; gradients are then partial derivatives with respect to them.
        **arguments: the inputs and parameters of the objective by name, as `describe(objective)` lists them. Inputs are
            tensors, arrays or lists: `view_a`, `view_b` are `[b, d]`, `labels` and `bias` integers `[b]`, a condition `z`
            `[b]` or `[b, e]`; an optional one may be `None`. A parameter whose name is a keyword of Python takes an
            underscore: `lambda_=0.01`.

    An input that the objective takes as a constant (a condition, the keys of a queue, the targets of a moving average)
    receives no gradient. A parameter, such as `temperature`, is a number: a tensor that requires a gradient is refused.

    Raises:
        ValueError: an input or parameter is unknown, missing, not finite, out of its range or of the wrong shape, or the
            loss is not defined on this batch.
        RuntimeError: this process was forked from one that has computed a loss or vectors; start it by `spawn`.

    Warns:
        UserWarning: the loss is a number, but the condition has no effect on it, because it has one value, or no two samples
            are alike under the kernel, or its numbers have one sign under `cosine`; or the variant does not read a parameter.
            The warning names the line of the call, for which Python shows it once; `warnings.simplefilter("error")` makes it
            an exception.
    """
    # A tensor can only be given where PyTorch is loaded.
    if "torch" in sys.modules:
        from simile import _torch

        return _torch.untraced(_torch.loss, objective, variant, unit_rows, arguments)
    return _result(objective, variant, unit_rows, arguments).loss


def loss_and_gradients(
    objective: str,
    *,
    variant: str | None = None,
    unit_rows: bool = False,
    **arguments: Any,
) -> tuple[float, Mapping[str, np.ndarray]]:
    """The loss of a batch of arrays, and its gradients as arrays by the name of the input.

    For loops without PyTorch; the arguments are those of `loss`, and tensors are taken as arrays.

    Raises:
        ValueError: as `loss`.

    Warns:
        UserWarning: as `loss`.
    """
    if "torch" in sys.modules:
        from simile import _torch

        result = _torch.untraced(_result, objective, variant, unit_rows, arguments)
    else:
        result = _result(objective, variant, unit_rows, arguments)
    return result.loss, result.gradients


def _result(objective: str, variant: str | None, unit_rows: bool, arguments: Mapping[str, Any]) -> Result:
    return Arguments.of(objective, variant, unit_rows, arguments).request().differentiate()
