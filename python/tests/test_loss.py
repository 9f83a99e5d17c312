"""Arguments of a loss: what is taken, and what is refused with which words."""

import json
import os
import subprocess
import sys
import typing
import warnings
from pathlib import Path

import numpy as np
import pytest

import simile

RANDOM = np.random.default_rng(3)
A, B = RANDOM.normal(size=(2, 6, 4))


def test_objectives_are_named_and_described():
    names = simile.objectives()
    assert len(names) == len(set(names)) > 40
    for name in names:
        description = simile.describe(name)
        assert description["name"] == name
        assert description["inputs"] and description["formula"]
        source = description["pytorch"]
        assert source is None or f"def {name.replace('-', '_')}(" in source
    assert simile.describe("fair-cclk")["pytorch"] and not simile.describe("cross-entropy")["pytorch"]
    with pytest.raises(ValueError, match="unknown objective `fair-cclkk`; known: fair-cclk"):
        simile.describe("fair-cclkk")


def test_arrays_of_any_layout_and_type_are_one_input():
    loss = simile.loss("nt-xent", view_a=A, view_b=B, temperature=0.5)
    lists = simile.loss("nt-xent", view_a=A.tolist(), view_b=B.tolist(), temperature=0.5)
    turned = simile.loss("nt-xent", view_a=np.asfortranarray(A), view_b=B[::-1][::-1], temperature=0.5)
    assert loss == lists == turned
    single, gradients = simile.loss_and_gradients(
        "nt-xent", view_a=A.astype(np.float32), view_b=B.astype(np.float16), temperature=np.float64(0.5)
    )
    assert single == pytest.approx(loss, abs=1e-2)
    assert gradients["view_a"].dtype == np.float32
    gradients["view_a"] += 1.0


def test_arrays_of_another_byte_order_keep_their_digits():
    loss, gradients = simile.loss_and_gradients("nt-xent", view_a=A, view_b=B)
    for kind in (">f8", "<f8", np.longdouble):
        swapped = [view.astype(kind) for view in (A, B)]
        for view in swapped:
            view.flags.writeable = False
        same, others = simile.loss_and_gradients("nt-xent", view_a=swapped[0], view_b=swapped[1])
        assert same == loss and others["view_a"].dtype == np.float64
        np.testing.assert_array_equal(others["view_a"], gradients["view_a"])
    single = [simile.loss("nt-xent", view_a=A.astype(kind), view_b=B.astype(kind)) for kind in (">f4", "<f4")]
    assert single[0] == single[1]


def test_a_parameter_may_be_a_number_of_any_type_of_numpy():
    loss = simile.loss("nt-xent", view_a=A, view_b=B, temperature=0.5)
    for kind in (np.float16, np.float64, np.longdouble):
        for temperature in (kind(0.5), np.array(0.5, kind)):
            assert simile.loss("nt-xent", view_a=A, view_b=B, temperature=temperature) == loss
    with pytest.raises(ValueError, match="`temperature` is of type clongdouble, expected a number"):
        simile.loss("nt-xent", view_a=A, view_b=B, temperature=np.clongdouble(0.5))


def test_a_condition_in_double_precision_leaves_the_loss_in_single():
    single = {"view_a": A.astype(np.float32), "view_b": B.astype(np.float32)}
    kernel = {"name": "rbf", "sigma": 0.7}
    age = np.linspace(0, 1, 6)
    loss, gradients = simile.loss_and_gradients("fair-cclk", **single, z=age, kernel=kernel, lambda_=0.01)
    assert gradients["view_a"].dtype == np.float32 and "z" not in gradients
    column, _ = simile.loss_and_gradients("fair-cclk", **single, z=age[:, None], kernel=kernel, lambda_=0.01)
    double = simile.loss("fair-cclk", view_a=A, view_b=B, z=age, kernel=kernel, **{"lambda": 0.01})
    assert loss == column
    assert loss == pytest.approx(double, rel=1e-4)


def test_labels_are_integers_of_any_width_or_booleans():
    labels = [0, 1, 0, 1, 1, 0]
    losses = [
        simile.loss("supcon", view_a=A, view_b=B, labels=np.array(labels, kind))
        for kind in (np.int64, np.int32, np.uint8, bool)
    ]
    assert losses == [losses[0]] * 4
    assert simile.loss("supcon", view_a=A, view_b=B, labels=[-1, 7, -1, 7, 7, -1]) == losses[0]
    with pytest.raises(ValueError, match="`labels` has -1 in row 2, expected integers from 0"):
        simile.loss("cross-entropy", logits=A, labels=[0, 1, -1, 1, 1, 0])
    with pytest.raises(ValueError, match="`labels` has rows of numbers, expected a list of integers"):
        simile.loss("supcon", view_a=A, view_b=B, labels=np.array(labels, float))
    assert simile.loss("supcon", view_a=A, view_b=B, labels=np.array(labels)[:, None]) == losses[0]
    with pytest.raises(ValueError, match=r"`labels` has shape \[2, 3\], expected an integer for each sample"):
        simile.loss("supcon", view_a=A, view_b=B, labels=np.array(labels).reshape(2, 3))


def test_integers_that_would_be_others_and_masked_values_are_refused():
    large = np.array([0, 2**63 + 1, 0, 1, 1, 0], np.uint64)
    with pytest.raises(ValueError, match="`labels` has 9223372036854775809, expected .*; give the groups codes from 0"):
        simile.loss("supcon", view_a=A, view_b=B, labels=large)
    assert np.isfinite(simile.loss("contex", view_a=A, view_b=B, labels=[0, 2**63 - 1, 0, 1, 1, -(2**63)]))
    exact = {"kernel": {"name": "exact-match"}}
    for far in (2**53, -(2**53)):
        z = np.array([far, far, 0, 0, 1, 1])
        assert np.isfinite(simile.loss("fair-cclk", view_a=A, view_b=B, z=z, **exact))
        # The two values of a group would become one number of `float64`.
        z[0] += np.sign(far)
        with pytest.raises(ValueError, match=f"`z` has {z[0]}, expected integers from -9007199254740992"):
            simile.loss("fair-cclk", view_a=A, view_b=B, z=z, **exact)
    ages = np.ma.masked_equal([1, 1, 2, 2, 99, 3], 99)
    with pytest.raises(ValueError, match="`z` has masked values; leave these samples out"):
        simile.loss("fair-cclk", view_a=A, view_b=B, z=ages, **exact)
    for columns in ([ages, ages], (ages, ages), [[ages], [ages]]):
        with pytest.raises(ValueError, match="`z` has masked values; leave these samples out"):
            simile.loss("fair-cclk", view_a=A, view_b=B, z=columns, **exact)
    assert np.isfinite(simile.loss("fair-cclk", view_a=A, view_b=B, z=np.ma.array(ages.data), **exact))


def test_integers_that_the_float_type_of_the_computation_would_round_are_refused():
    whole = np.arange(1, 25).reshape(6, 4)
    whole[0, 0] = 2**24
    assert np.isfinite(simile.loss("nt-xent", view_a=whole, view_b=whole))
    whole[0, 0] += 1
    expected = "`view_a` has 16777217, expected integers from -16777216 to 16777216; give them as floats"
    for view in (whole, B.astype(np.float32)):
        with pytest.raises(ValueError, match=expected):
            simile.loss("nt-xent", view_a=whole, view_b=view)
    double = simile.loss("nt-xent", view_a=whole, view_b=B)
    assert double == simile.loss("nt-xent", view_a=whole.astype(float), view_b=B)
    whole[0, 0] = 2**53 + 1
    with pytest.raises(ValueError, match="`view_a` has 9007199254740993, .*; give them as floats"):
        simile.loss("nt-xent", view_a=whole, view_b=B)


def test_the_queue_of_one_view_is_one_matrix():
    with pytest.raises(ValueError, match=r"`queue` has several matrices, expected one matrix, \[K, d\]"):
        simile.loss("moco", view_a=A, view_b=B, queue=np.stack([A, B]))


def test_a_type_checker_lets_the_loss_of_tensors_be_differentiated():
    assert typing.get_type_hints(simile.loss)["return"] is typing.Any


def test_unit_rows_are_taken_as_they_are():
    rows = [view / np.linalg.norm(view, axis=1, keepdims=True) for view in (A, B)]
    loss, raw = simile.loss_and_gradients("nt-xent", view_a=A, view_b=B)
    unit, partial = simile.loss_and_gradients("nt-xent", view_a=rows[0], view_b=rows[1], unit_rows=True)
    assert unit == pytest.approx(loss, rel=1e-12)
    tangent = partial["view_a"] - (partial["view_a"] * rows[0]).sum(1, keepdims=True) * rows[0]
    np.testing.assert_allclose(tangent / np.linalg.norm(A, axis=1, keepdims=True), raw["view_a"], atol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"view_a": A}, "`nt-xent` needs the input `view_b`"),
        ({"view_a": A, "view_b": B[:5]}, "view_b"),
        ({"view_a": A, "view_b": np.full_like(B, np.nan)}, "`view_b` has a value that is not finite in row 0"),
        ({"view_a": A, "view_b": B, "temperature": 0.0}, "`temperature` is 0"),
        ({"view_a": A, "view_b": B, "temperature": np.nan}, "`temperature` is nan, expected a finite number"),
        ({"view_a": A, "view_b": B, "temperature": 10**400}, "`temperature` is an integer beyond the range of a float"),
        ({"view_a": A, "view_b": B, "temperature": np.ma.masked}, "`temperature` is masked, expected a number"),
        ({"view_a": A, "view_b": B, "temperature": A}, "`temperature` is of type ndarray, expected a number, a name"),
        ({"view_a": A, "view_b": B, "tempature": 0.5}, "unknown argument `tempature`; known: temperature, "),
        ({"view_a": A, "view_b": B, "labels": np.zeros(6)}, "unknown argument `labels`; known: "),
        ({"view_a": A, "view_b": B[None]}, r"`view_b` has shape \[1, 6, 4\], expected rows of numbers"),
        ({"view_a": A, "view_b": "rows"}, "`view_b` is an array of <U4, expected numbers"),
        ({"view_a": A, "view_b": [[1.0], [1.0, 2.0]]}, "`view_b` is not an array"),
        ({"view_a": A, "view_b": B, "variant": "printed"}, "printed"),
        ({"view_a": A, "view_b": B, "variant": 3}, "`variant` is of type int, expected a name; simile.describe"),
        ({"view_a": A, "view_b": B, "temperature": 0.5, "temperature_": 0.05}, "`temperature` is given twice"),
    ],
)
def test_a_fault_is_a_value_error_in_the_words_of_the_program(arguments, words):
    with pytest.raises(ValueError, match=words):
        simile.loss("nt-xent", **arguments)


def test_a_misspelt_input_is_told_the_input_that_was_meant():
    for label in ([0, 1, 0, 1, 1, 0], np.zeros(6), None):
        with pytest.raises(ValueError, match="unknown argument `label`; known: labels, "):
            simile.loss("supcon", view_a=A, view_b=B, label=label)


@pytest.mark.parametrize(
    ("sigma", "words"),
    [
        (np.float32("inf"), "`kernel.sigma` is inf, expected a finite"),
        (np.ma.array(0.5, mask=True), "`kernel.sigma` is masked"),
    ],
)
def test_a_fault_within_a_parameter_names_its_place(sigma, words):
    with pytest.raises(ValueError, match=words):
        simile.loss("fair-cclk", view_a=A, view_b=B, z=np.arange(6), kernel={"name": "rbf", "sigma": sigma})


RBF = {"name": "rbf", "sigma": 1.0}
FAR = 100.0 * np.arange(6)
"""Conditions that `RBF` tells apart."""


@pytest.mark.parametrize("compute", [simile.loss, simile.loss_and_gradients])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"z": FAR, "kernel": RBF}, "^`z`: every kernel value .* raise kernel.sigma, which is 1, towards .* distance$"),
        ({"z": FAR, "kernel": {"name": "exact-match"}}, '`z`: .* take the kernel { "name": "rbf", "sigma": "median" }'),
        ({"z_a": FAR, "z_b": np.arange(6), "kernel": RBF}, "^`z_a`: every kernel value"),
        ({"z": np.arange(1, 7)}, "^`z`: under the kernel `cosine` numbers of one sign are all alike"),
        ({"z": np.ones(6), "kernel": RBF}, "^`z`: all samples have one value of it"),
        ({"z": np.arange(6), "kernel": RBF, "clip_threshold": 0.5}, "^`clip_threshold` has no effect: the form"),
    ],
)
def test_what_has_no_effect_is_a_warning_at_the_line_of_the_caller(compute, arguments, words):
    with pytest.warns(UserWarning, match=words) as said:
        compute("fair-cclk", view_a=A, view_b=B, **arguments)
    assert [warning.filename for warning in said] == [__file__]


def test_a_warning_is_shown_once_for_the_batches_of_a_loop_and_may_be_an_error():
    def loss(z):
        return simile.loss("fair-cclk", view_a=A, view_b=B, z=z, kernel=RBF)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default")
        for scale in (1.0, 2.0, 3.0):
            loss(scale * FAR)
    assert len(said) == 1, said
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="`z`: every kernel value"):
            loss(FAR)
        assert np.isfinite(loss(np.arange(6)))


def test_a_description_is_plain_json():
    assert json.loads(json.dumps(simile.describe("fair-cclk"))) == simile.describe("fair-cclk")


FORKS = """
import os, signal
import numpy as np
import simile

a, b = np.random.default_rng(0).normal(size=(2, 512, 128))


def code_of_a_child():
    process = os.fork()
    if process != 0:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    # Ends a child that waits for threads that it does not have.
    signal.alarm(60)
    try:
        simile.loss("nt-xent", view_a=a, view_b=b)
    except RuntimeError as error:
        print(error, flush=True)
        os._exit(3)
    os._exit(0)


before = code_of_a_child()
simile.loss("nt-xent", view_a=a, view_b=b)
print(before, code_of_a_child())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_that_was_forked_after_a_loss_is_told_to_be_spawned():
    environment = {**os.environ, "PYTHONPATH": str(Path(simile.__file__).parent.parent)}
    said = subprocess.run([sys.executable, "-c", FORKS], env=environment, capture_output=True, text=True, check=True)
    assert "`spawn`" in said.stdout and said.stdout.endswith("0 3\n"), said.stdout


def test_an_input_that_is_none_is_absent():
    labels = [0, 1, 0, 1, 1, 0]
    absent = simile.loss("contex", view_a=A, view_b=B, labels=labels)
    assert simile.loss("contex", view_a=A, view_b=B, labels=labels, bias=None) == absent
    for given, missing in (({"view_a": A, "view_b": None}, "view_b"), ({"view_a": None, "view_b": B}, "view_a")):
        with pytest.raises(ValueError, match=f"`nt-xent` needs the input `{missing}`"):
            simile.loss("nt-xent", **given)


def test_names_of_groups_are_refused_with_the_code_that_numbers_them():
    names = list("abbaab")
    with pytest.raises(ValueError, match="`labels` is an array of <U1, expected numbers; `numpy.unique.values,"):
        simile.loss("supcon", view_a=A, view_b=B, labels=names)
    numbers = np.unique(names, return_inverse=True)[1]
    assert np.isfinite(simile.loss("supcon", view_a=A, view_b=B, labels=numbers))
    with pytest.raises(ValueError, match="`view_b` is an array of <U1, expected numbers$"):
        simile.loss("nt-xent", view_a=A, view_b=names)
    for z in (names, np.array(names, object)):
        with pytest.raises(ValueError, match="`z` is an array of .* numbers the groups, for the kernel `exact-match`$"):
            simile.loss("fair-cclk", view_a=A, view_b=B, z=z)
    kernel = {"name": "exact-match"}
    assert np.isfinite(simile.loss("fair-cclk", view_a=A, view_b=B, z=numbers, kernel=kernel))
    with pytest.raises(ValueError, match="`labels` is an array of <U1, .* numbers the groups$"):
        simile.loss("supcon", view_a=A, view_b=B, labels=names)


@pytest.mark.parametrize("labels", [[0, 1, None], "abcdef", ["a", None, "b"]])
def test_values_that_are_no_names_of_groups_are_refused_without_that_code(labels):
    with pytest.raises(ValueError, match="`labels` is an array of .*, expected numbers$"):
        simile.loss("supcon", view_a=A, view_b=B, labels=labels)


def test_an_error_of_the_device_is_passed_on():
    class Tensor:
        def detach(self):
            raise RuntimeError("device-side assert")

    with pytest.raises(RuntimeError, match="^device-side assert$"):
        simile.loss("nt-xent", view_a=A, view_b=Tensor())
