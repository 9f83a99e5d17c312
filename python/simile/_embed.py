"""Vectors of pictures by a trained encoder."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from simile import _native

Picture = str | PathLike[str] | np.ndarray

CHANNELS = (1, 3, 4)
"""Numbers of a pixel: grey, RGB, RGBA."""


class Encoder:
    """A trained encoder. It reads its file once, for any number of calls.

        encoder = simile.Encoder("runs/scans")
        vectors = encoder.embed(["a.png", "b.png"])     # [2, encoder.dimensions]

    A pickled encoder is the absolute path of its file, which the process that unpickles it reads again.

    Args:
        checkpoint: a `.safetensors` file of Simile, or the folder of a finished run: of several variants its last one.

    Raises:
        OSError: the file cannot be read; `FileNotFoundError` if there is none.
        ValueError: it is no checkpoint, or the run has not finished.
        RuntimeError: this process was forked from one that has computed a loss or vectors; start it by `spawn`.
    """

    def __init__(self, checkpoint: str | PathLike[str]) -> None:
        # The process that unpickles it may be in another folder.
        self.path = _model(Path(checkpoint)).absolute()
        """The file that was read."""
        self._native = _native.Encoder(self.path)

    def __reduce__(self) -> tuple[type[Encoder], tuple[Path]]:
        return Encoder, (self.path,)

    def __repr__(self) -> str:
        return f"Encoder({str(self.path)!r})"

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._native.dimensions

    def embed(self, images: Sequence[Picture] | np.ndarray) -> np.ndarray:
        """The vectors of pictures, `[n, dimensions]` in `float32`: those that `simile embed` gives.

        Each picture is brought to the encoder's input as in evaluation: transparency over white, the middle in the aspect
        ratio of the input (all of it, squeezed, where the encoder learned from whole pictures), an antialiased bilinear
        filter, and the mean and deviation that the checkpoint holds.

        Args:
            images: paths of PNG, JPEG or WebP files; or arrays of `uint8`, `[height, width]` (grey) or
                `[height, width, channels]` with 1, 3 (RGB) or 4 (RGBA) channels, of any sizes; or one such array
                `[n, height, width, channels]`.

        Raises:
            TypeError: `images` is one path, which a list should hold; or it has tensors or images of Pillow, for which the
                message says what to give instead.
            OSError: a file cannot be read; `FileNotFoundError` if there is none.
            ValueError: a file is no picture, or an array has another form. One picture alone, `[height, width]` or
                `[height, width, channels]`, is refused too: its rows would be taken for pictures.
            RuntimeError: this process was forked from one that has computed a loss or vectors; start it by `spawn`.
        """
        pictures = _pictures(images)
        arrays = [isinstance(picture, np.ndarray) for picture in pictures]
        if all(arrays):
            vectors = self._native.embed_arrays([_pixels(picture) for picture in pictures])
        elif any(arrays):
            raise ValueError("images are paths and arrays mixed; give one or the other")
        else:
            vectors = self._native.embed_files([fspath(picture) for picture in pictures])
        return np.frombuffer(vectors, np.float32).reshape(len(pictures), self.dimensions)


def embed(checkpoint: str | PathLike[str], images: Sequence[Picture] | np.ndarray) -> np.ndarray:
    """`Encoder(checkpoint).embed(images)`: for a single call, because each reads the checkpoint again."""
    return Encoder(checkpoint).embed(images)


def _pictures(images: Sequence[Picture] | np.ndarray) -> list[Picture]:
    """The pictures of a list; refuses one picture alone, and other types."""
    if isinstance(images, str | PathLike):
        raise TypeError(f"images is one path, expected a list of pictures: [{images!r}]")
    # A list of it would be one of numbers.
    if isinstance(images, bytes):
        raise TypeError("images is of type bytes, expected a list of paths or arrays")
    if isinstance(images, np.ndarray) and _is_picture(images):
        raise ValueError(f"images is one picture of shape {images.shape}, expected a list of pictures: [images]")
    pictures = [images] if _is_of_pillow(images) else list(images)
    for picture in pictures:
        if not isinstance(picture, str | PathLike | np.ndarray):
            found = f"a picture is of type {type(picture).__name__}, expected a path or an array"
            raise TypeError(found + _remedy(picture))
    return pictures


def _remedy(picture: Any) -> str:
    """What to give in place of a picture of another library."""
    if _is_of_pillow(picture):
        if str(getattr(picture, "mode", "")).startswith(("I", "F")):
            return "; give the path of its file: Pillow's `convert` cuts off values above 255"
        # Other modes would lose the transparency, which `simile embed` puts over white.
        return '; give `numpy.asarray(image.convert("RGBA"))` of an image of Pillow'
    return "; give `.numpy()` of a tensor, as [height, width, channels]" if hasattr(picture, "numpy") else ""


def _is_of_pillow(picture: Any) -> bool:
    return hasattr(picture, "convert")


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
