"""Losses and gradients of arrays beside the reference vectors."""

import numpy as np
import pytest
from vectors import arguments, cases, check_gradient, check_loss, gradients

import simile

CASES = list(cases())


def test_there_are_vectors_of_most_objectives():
    assert len(CASES) > 90
    assert len({case["objective"] for _, case in CASES}) > 30


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[name for name, _ in CASES])
def test_a_loss_and_its_gradients_are_those_of_the_reference(case, dtype):
    single = dtype == np.float32
    given = arguments(case, dtype)
    loss, grads = simile.loss_and_gradients(case["objective"], **given)
    check_loss(case, loss, single)
    assert simile.loss(case["objective"], **given) == loss
    for name in gradients(case):
        assert grads[name].dtype == dtype
        check_gradient(case, name, np.atleast_2d(grads[name]), single)
