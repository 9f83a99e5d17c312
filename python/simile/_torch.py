"""A loss as a function that PyTorch differentiates. Imported only where PyTorch is loaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

import torch
from torch.autograd.function import FunctionCtx

from simile._request import Arguments, Request, Result


Answer = TypeVar("Answer")


# If `torch.compile` traced it, it would compile the sorting of the arguments anew for the numbers of each batch, and make
# tensors of NumPy's arrays, which the extension module does not take.
@torch.compiler.disable
def untraced(compute: Callable[..., Answer], *arguments: Any) -> Answer:
    """The answer of a function that `torch.compile` leaves out of its graphs."""
    return compute(*arguments)


def loss(objective: str, variant: str | None, unit_rows: bool, arguments: dict[str, Any]) -> torch.Tensor | float:
    """A loss as a scalar tensor, through which gradients reach the tensors among the inputs; a number if there are none."""
    given = Arguments.of(objective, variant, unit_rows, arguments)
    request = given.request()
    result = request.differentiate()
    tensors = {name: value for name, value in given.inputs.items() if isinstance(value, torch.Tensor)}
    if not tensors:
        return result.loss
    return _Loss.apply(result, _place(given, request, tensors), tuple(tensors), *tensors.values())


def _place(given: Arguments, request: Request, tensors: dict[str, torch.Tensor]) -> tuple[torch.dtype, torch.device]:
    """The type and the device of a loss: those of the embeddings that are tensors.

    Half precision becomes `float32`, because a scaled loss would not be finite in it, and so do integers, which have no
    fractions (`float64` where the computation is in that).
    """
    embeddings = [tensor for name, tensor in tensors.items() if name in given.embeddings]
    device = embeddings[0].device if embeddings else torch.device("cpu")
    floats = [tensor.dtype for tensor in embeddings if tensor.is_floating_point()]
    if not floats:
        return (torch.float64 if request.is_double else torch.float32), device
    return reduce(torch.promote_types, floats, torch.float32), device


class _Loss(torch.autograd.Function):
    """The value of an objective, with the gradient that it derives by hand."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        result: Result,
        place: tuple[torch.dtype, torch.device],
        names: tuple[str, ...],
        *tensors: torch.Tensor,
    ) -> torch.Tensor:
        # Half precision loses small gradients: they are rounded to it after the factor by which the loss is scaled.
        ctx.gradients = [
            torch.from_numpy(result.gradients[name]).to(tensor.device, torch.promote_types(tensor.dtype, torch.float32))
            if name in result.gradients and needed
            else None
            for name, tensor, needed in zip(names, tensors, ctx.needs_input_grad[3:], strict=True)
        ]
        ctx.dtypes = [tensor.dtype for tensor in tensors]
        # Not the constants: one that was computed in `torch.inference_mode` cannot be saved.
        ctx.save_for_backward(*(tensor for tensor, own in zip(tensors, ctx.gradients, strict=True) if own is not None))
        dtype, device = place
        return torch.tensor(result.loss, dtype=dtype, device=device)

    @staticmethod
    def backward(ctx: FunctionCtx, upstream: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        gradients = [
            None if own is None else (own * upstream.to(own)).to(dtype)
            for own, dtype in zip(ctx.gradients, ctx.dtypes, strict=True)
        ]
        # PyTorch records this pass, to differentiate it again, and sees no step from the inputs to these gradients.
        if torch.is_grad_enabled():
            gradients = [own if own is None else _Gradient.apply(own, *ctx.saved_tensors) for own in gradients]
        return None, None, None, *gradients


class _Gradient(torch.autograd.Function):
    """A gradient as a function of the inputs of the loss, whose own derivative is not known."""

    @staticmethod
    def forward(ctx: FunctionCtx, gradient: torch.Tensor, *inputs: torch.Tensor) -> torch.Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: FunctionCtx, upstream: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        raise RuntimeError(
            "a second derivative of simile.loss is not known; call `detach()` on its gradient to use it as a constant"
        )
