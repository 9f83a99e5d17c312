"""The arguments of a loss, sorted into parameters and inputs, with the inputs as arrays that the core reads in place."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simile import _native

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(frozen=True)
class Request:
    """An objective with its parameters and inputs, and the float type that it is computed in."""

    objective: str
    variant: str | None
    params: str
    inputs: Mapping[str, np.ndarray]
    unit_rows: bool
    is_double: bool

    def differentiate(self) -> tuple[float, dict[str, np.ndarray]]:
        """The loss, and its gradients in the shape of their inputs."""
        loss, gradients = _native.differentiate(
            self.objective, self.variant, self.params, self.inputs, self.unit_rows, self.is_double
        )
        return loss, {name: self._array(name, *rows) for name, rows in gradients.items()}

    def _array(self, name: str, rows: bytearray, shape: tuple[int, int]) -> np.ndarray:
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
    on_device: frozenset[str]
    """The inputs whose float type is that of the computation; conditions and labels have their own."""

    @classmethod
    def of(cls, objective: str, variant: str | None, unit_rows: bool, given: Mapping[str, Any]) -> Arguments:
        """Sorts arguments into inputs and parameters. A trailing underscore is left out: `lambda_`."""
        named: dict[str, Any] = {}
        for name, value in given.items():
            plain = name.removesuffix("_")
            if plain in named:
                raise ValueError(f"`{plain}` is given twice, as `{plain}` and as `{plain}_`; give it once")
            named[plain] = value
        kinds = _native.kinds(objective, list(named))
        return cls(
            objective,
            variant,
            unit_rows,
            inputs={name: value for name, value in named.items() if name in kinds},
            parameters={name: value for name, value in named.items() if name not in kinds},
            on_device=frozenset(name for name, kind in kinds.items() if kind in ("embeddings", "rows")),
        )

    def request(self, inputs: Mapping[str, Any] | None = None) -> Request:
        """The request of these arguments, or of others in place of the inputs: whatever NumPy makes arrays of."""
        arrays = {name: _array(name, value) for name, value in (inputs or self.inputs).items()}
        parameters = {name: _parameter(self.objective, name, value) for name, value in self.parameters.items()}
        return Request(
            self.objective,
            self.variant,
            json.dumps(parameters),
            arrays,
            self.unit_rows,
            is_double=any(arrays[name].dtype == np.float64 for name in self.on_device),
        )


def _array(name: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"`{name}` is not an array: {error}") from error
    if array.dtype.kind in "biu":
        return np.ascontiguousarray(array, np.int64)
    if array.dtype.kind != "f":
        raise ValueError(f"`{name}` is an array of {array.dtype}, expected numbers")
    # By size, because a type of another byte order is equal to neither.
    return np.ascontiguousarray(array, FLOATS[array.dtype.itemsize >= 8])


def _parameter(objective: str, name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _parameter(objective, f"{name}.{key}", entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_parameter(objective, name, entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"`{name}` is {value}, expected a finite number")
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
        f"`{name}` is no input of `{objective}`, and a parameter is a number, a name, a list or a table; "
        f"simile.describe({objective!r}) lists both"
    )
