"""The arguments of a loss, sorted into parameters and inputs, with the inputs as arrays of the types that the core takes."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simile import _native

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
INTEGERS = (-(2**63), 2**63 - 1)
"""The first and the last integer of 64 bits."""
EXACT = tuple((-(2**bits), 2**bits) for bits in (24, 53))
"""The first and the last of the integers that each of `FLOATS` tells apart."""


@dataclass(frozen=True)
class Result:
    """A loss and its gradients, in the shape of their inputs."""

    loss: float
    gradients: dict[str, np.ndarray]


@dataclass(frozen=True)
class Request:
    """An objective with its parameters and inputs, and the float type that it is computed in.

    The extension module reads these fields by name.
    """

    objective: str
    variant: str | None
    params: str
    inputs: dict[str, np.ndarray]
    unit_rows: bool
    is_double: bool

    def differentiate(self) -> Result:
        """The loss and its gradients. Warnings about them are given for the line that calls this package."""
        loss, gradients, messages = _native.differentiate(self)
        for message in messages:
            warnings.warn(message, UserWarning, stacklevel=_depth())
        return Result(loss, {name: self._gradient(name, *rows) for name, rows in gradients.items()})

    def _gradient(self, name: str, rows: bytearray, shape: tuple[int, int]) -> np.ndarray:
        array = np.frombuffer(rows, FLOATS[self.is_double])
        # An input of one dimension is one row, or one number for each sample.
        return array.reshape(self.inputs[name].shape if name in self.inputs else shape)


@dataclass(frozen=True)
class Arguments:
    """The keyword arguments of a loss."""

    objective: str
    variant: str | None
    unit_rows: bool
    inputs: Mapping[str, Any]
    parameters: Mapping[str, Any]
    embeddings: frozenset[str]
    """The inputs whose float type is that of the computation, such as scores; conditions and labels have their own."""
    integers: frozenset[str]
    """The inputs that are an integer for each sample."""

    @classmethod
    def of(cls, objective: str, variant: str | None, unit_rows: bool, given: Mapping[str, Any]) -> Arguments:
        """Sorts arguments into inputs and parameters. A trailing underscore is left out: `lambda_`."""
        if not isinstance(variant, str | None):
            kind = type(variant).__name__
            raise ValueError(f"`variant` is of type {kind}, expected a name; simile.describe({objective!r}) lists them")
        named: dict[str, Any] = {}
        for name, value in given.items():
            plain = name.removesuffix("_")
            if plain in named:
                raise ValueError(f"`{plain}` is given twice, as `{plain}` and as `{plain}_`; give it once")
            named[plain] = value
        forms = _native.input_forms(objective, list(named))
        # An input that is `None` is absent, as in `bias=batch.get("bias")`.
        inputs = {name: value for name, value in named.items() if name in forms and value is not None}
        return cls(
            objective,
            variant,
            unit_rows,
            inputs,
            parameters={name: value for name, value in named.items() if name not in forms},
            embeddings=frozenset(name for name in inputs if forms[name] == "rows"),
            integers=frozenset(name for name in inputs if forms[name] == "integers"),
        )

    def request(self) -> Request:
        """The request of these arguments."""
        arrays = {name: self._array(name, value) for name, value in self.inputs.items()}
        is_double = any(_is_double(arrays[name]) for name in self.embeddings)
        parameters = {name: _parameter(self.objective, name, value) for name, value in self.parameters.items()}
        return Request(
            self.objective,
            self.variant,
            json.dumps(parameters),
            {name: self._converted(name, array, is_double) for name, array in arrays.items()},
            self.unit_rows,
            is_double,
        )

    def _array(self, name: str, value: Any) -> np.ndarray:
        """An input as an array of numbers, in the type and the layout in which it was given."""
        # NumPy makes an array of the values under the mask too.
        if _is_masked(value):
            raise ValueError(f"`{name}` has masked values; leave these samples out, or fill the values")
        # PyTorch's own error advises to detach them, and the loss would have no gradient.
        if _is_list_with_gradient(value):
            remedy = "`torch.stack` makes one tensor of them"
            raise ValueError(f"`{name}` is a list of tensors that require a gradient; {remedy}")
        # An error of the device is no fault of this input.
        value = _on_host(value)
        try:
            array = np.asarray(value)
        # NumPy refuses ragged lists; PyTorch, types and layouts that NumPy does not have.
        except (TypeError, ValueError) as error:
            raise ValueError(f"`{name}` is not an array: {error}") from error
        if array.dtype.kind not in "biuf":
            raise ValueError(f"`{name}` is an array of {array.dtype}, expected numbers{self._remedy(name, array)}")
        return array

    def _remedy(self, name: str, array: np.ndarray) -> str:
        """The code that makes numbers of the names of groups."""
        is_of_names = array.ndim > 0 and all(isinstance(entry, (str, bytes)) for entry in array.flat)
        if name in self.embeddings or not is_of_names:
            return ""
        # The numbers have an order that the names lack, which other kernels would read.
        kernel = "" if name in self.integers else ", for the kernel `exact-match`"
        return f"; `numpy.unique(values, return_inverse=True)[1]` numbers the groups{kernel}"

    def _converted(self, name: str, array: np.ndarray, is_double: bool) -> np.ndarray:
        """The numbers of an input in a type and a layout that the core takes; refuses integers that would become others."""
        if array.dtype.kind == "f":
            return np.ascontiguousarray(array, FLOATS[_is_double(array)])
        is_embedding = name in self.embeddings
        first, last = INTEGERS if name in self.integers else EXACT[is_double or not is_embedding]
        for value in (int(array.min()), int(array.max())) if array.size > 0 else ():
            if not first <= value <= last:
                remedy = "give them as floats" if is_embedding else "give the groups codes from 0"
                raise ValueError(f"`{name}` has {value}, expected integers from {first} to {last}; {remedy}")
        return np.ascontiguousarray(array, np.int64)


def _depth() -> int:
    """The number of calls from here up that are this package's own, or PyTorch's, which come between in a compiled step."""
    frame, depth = sys._getframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("simile", "torch"):
        frame, depth = frame.f_back, depth + 1
    return depth


def _on_host(value: Any) -> Any:
    """A tensor of PyTorch as one that NumPy takes; any other value as it is."""
    if not hasattr(value, "detach"):
        return value
    value = value.detach().cpu()
    # NumPy has no bfloat16.
    return value.float() if str(value.dtype) == "torch.bfloat16" else value


def _is_list_with_gradient(value: Any) -> bool:
    """True for a list that has a tensor which requires a gradient."""
    if not isinstance(value, (list, tuple)):
        return False
    return any(getattr(entry, "requires_grad", False) or _is_list_with_gradient(entry) for entry in value)


def _is_double(array: np.ndarray) -> bool:
    # By size, because a type of another byte order is equal to neither.
    return array.dtype.kind == "f" and array.dtype.itemsize >= 8


def _is_masked(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_is_masked(entry) for entry in value)
    return isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)


def _parameter(objective: str, name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _parameter(objective, f"{name}.{key}", entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_parameter(objective, name, entry) for entry in value]
    # NumPy makes the number 0 of a masked one.
    if _is_masked(value):
        raise ValueError(f"`{name}` is masked, expected a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"`{name}` is {value}, expected a finite number")
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        raise ValueError(f"`{name}` is an integer beyond the range of a float, expected a finite number")
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if getattr(value, "requires_grad", False):
        reason = f"`{name}` is a parameter of `{objective}`, which gets no gradient"
        raise ValueError(f"{reason}; give its number, as `.item()` does")
    # A number of NumPy or PyTorch.
    if getattr(value, "shape", None) == ():
        number = value.item()
        # Python has no long double: such an item is of the type of NumPy again.
        if isinstance(number, np.floating):
            number = float(number)
        if not hasattr(number, "shape"):
            return _parameter(objective, name, number)
    raise ValueError(
        f"`{name}` is of type {type(value).__name__}, expected a number, a name, a list or a table; "
        f"simile.describe({objective!r}) has its range"
    )
