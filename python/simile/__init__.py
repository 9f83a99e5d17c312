"""Conditional contrastive objectives for PyTorch and NumPy, and embeddings of Simile's encoders.

    import simile

    kernel = {"name": "rbf", "sigma": 5.0}
    loss = simile.loss("fair-cclk", view_a=a, view_b=b, z=age, temperature=0.5, kernel=kernel)
    loss.backward()

`objectives` names all objectives, `describe` says what one takes, `loss` computes it, `loss_and_gradients` gives the
gradients too, without PyTorch, and `embed` gives the vectors of pictures; an `Encoder` does so many times.
"""

from simile._embed import Encoder, embed
from simile._loss import describe, loss, loss_and_gradients, objectives
from simile._native import VERSION as __version__

__all__ = ["Encoder", "__version__", "describe", "embed", "loss", "loss_and_gradients", "objectives"]
