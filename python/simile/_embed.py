"""Vectors of pictures by a trained encoder."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from simile import _native

Picture = str | PathLike[str] | np.ndarray

CHANNELS = (1, 3, 4)
"""Numbers of a pixel: grey, RGB, RGBA."""


def embed(checkpoint: str | PathLike[str], images: Sequence[Picture] | np.ndarray) -> np.ndarray:
    """The vectors of pictures, `[n, dimensions]` in `float32`: those that `simile embed` gives.

    Each picture is brought to the encoder's input as in evaluation: transparency over white, the middle in the aspect
    ratio of the input (all of it, squeezed, where the encoder learned from whole pictures), an antialiased bilinear
    filter, and the mean and deviation that the checkpoint holds.

    Args:
        checkpoint: a `.safetensors` file of Simile, or the folder of a finished run: of several variants its last one.
        images: paths of PNG, JPEG or WebP files; or arrays of `uint8`, `[height, width]` (grey) or
            `[height, width, channels]` with 1, 3 (RGB) or 4 (RGBA) channels, of any sizes; or one such array
            `[n, height, width, channels]`.

    Raises:
        TypeError: `images` is one path, which a list should hold, or has tensors, of which `.numpy()` gives the arrays.
        OSError: a file cannot be read.
        ValueError: a file is no checkpoint or no picture, a run has not finished, or an array has another form. One
            picture alone, `[height, width]` or `[height, width, channels]`, is refused too: its rows would be taken for
            pictures.
        RuntimeError: this process was forked from one that has computed a loss or vectors; start it by `spawn`.
    """
    if isinstance(images, str | PathLike):
        raise TypeError(f"images is one path, expected a list of pictures: [{images!r}]")
    if isinstance(images, np.ndarray) and _is_picture(images):
        raise ValueError(f"images is one picture of shape {images.shape}, expected a list of pictures: [images]")
    images = list(images)
    for image in images:
        if not isinstance(image, str | PathLike | np.ndarray):
            hint = "; give `.numpy()` of a tensor" if hasattr(image, "numpy") else ""
            raise TypeError(f"a picture is of type {type(image).__name__}, expected a path or an array{hint}")
    encoder = _native.Encoder(_model(Path(checkpoint)))
    arrays = [isinstance(image, np.ndarray) for image in images]
    if all(arrays):
        vectors = encoder.embed_arrays([_pixels(image) for image in images])
    elif any(arrays):
        raise ValueError("images are paths and arrays mixed; give one or the other")
    else:
        vectors = encoder.embed_files([fspath(image) for image in images])
    return np.frombuffer(vectors, np.float32).reshape(len(images), encoder.dimensions)


def _is_picture(images: np.ndarray) -> bool:
    return images.ndim == 2 or (images.ndim == 3 and images.shape[2] in CHANNELS)


def _pixels(image: np.ndarray) -> np.ndarray:
    if image.dtype != np.uint8:
        raise ValueError(f"a picture is an array of {image.dtype}, expected uint8 from 0 to 255")
    return np.ascontiguousarray(image[:, :, None] if image.ndim == 2 else image)


def _model(path: Path) -> Path:
    if not path.is_dir():
        return path
    # That of the last variant, written once it is done.
    single = path / "model.safetensors"
    if single.is_file():
        return single
    # The models of the variants that are done; `-last` is that of the last step beside the selected one.
    models = [of.name for of in sorted(path.glob("model-*.safetensors")) if not of.stem.endswith("-last")]
    if not models:
        raise ValueError(f"{path} holds no model.safetensors; name the folder of a finished run, or a checkpoint")
    raise ValueError(f"the run in {path} has not finished; of the variants that are done name one: {', '.join(models)}")
