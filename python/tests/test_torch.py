"""A loss in the graph of PyTorch."""

import numpy as np
import pytest
from vectors import arguments, cases, check_gradient, check_loss, gradients

import simile

torch = pytest.importorskip("torch", reason="there is no PyTorch")

CASES = [(name, case) for name, case in cases() if gradients(case)]


def views(dtype=torch.float64, device="cpu"):
    torch.manual_seed(4)
    tensors = (torch.randn(6, 4, dtype=dtype, device=device) for _ in range(2))
    return [view.requires_grad_() for view in tensors]


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[name for name, _ in CASES])
def test_autograd_gives_the_gradients_of_the_reference(case):
    given = arguments(case, np.float64)
    tensors = {name: torch.tensor(given[name], requires_grad=True) for name in gradients(case)}
    loss = simile.loss(case["objective"], **{**given, **tensors})
    check_loss(case, loss.item(), single=False)
    loss.backward()
    for name, tensor in tensors.items():
        check_gradient(case, name, np.atleast_2d(tensor.grad.numpy()), single=False)


@pytest.mark.parametrize(
    ("objective", "more"),
    [
        ("nt-xent", {"temperature": 0.5}),
        ("fair-cclk", {"temperature": 0.5, "z": torch.linspace(0, 1, 6), "kernel": {"name": "rbf", "sigma": 0.5}}),
        ("supcon", {"temperature": 0.5, "labels": torch.tensor([0, 1, 0, 1, 1, 0])}),
        ("decoupled-uniformity", {}),
        ("barlow-twins", {}),
    ],
)
def test_gradcheck(objective, more):
    loss = lambda a, b: simile.loss(objective, view_a=a, view_b=b, **more)
    assert torch.autograd.gradcheck(loss, views())


def test_the_gradient_goes_on_through_what_made_the_views():
    a, b = views()
    weight = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    loss = lambda weight: 3 * simile.loss("nt-xent", view_a=a.detach() @ weight, view_b=b.detach() @ weight) ** 2
    assert torch.autograd.gradcheck(loss, [weight])


def test_a_loss_has_the_place_of_the_embeddings_and_a_type_that_can_be_scaled():
    a, b = views(torch.float32)
    labels = torch.tensor([0, 1, 0, 1, 1, 0])
    loss = simile.loss("supcon", labels=labels, view_a=a, view_b=b)
    assert loss.dtype == torch.float32 and loss.shape == () and loss.requires_grad
    half = [view.detach().bfloat16().requires_grad_() for view in (a, b)]
    rough = simile.loss("supcon", labels=labels, view_a=half[0], view_b=half[1])
    rough.backward()
    assert rough.dtype == torch.float32 and half[0].grad.dtype == torch.bfloat16
    assert rough.item() == pytest.approx(loss.item(), rel=0.02)
    # The first factor of PyTorch's GradScaler is beyond the range of float16.
    half = [view.detach().half().requires_grad_() for view in (a, b)]
    (2.0**16 * simile.loss("supcon", labels=labels, view_a=half[0], view_b=half[1])).backward()
    assert half[0].grad.dtype == torch.float16 and half[0].grad.isfinite().all() and half[0].grad.any()
    mixed = simile.loss("supcon", labels=labels, view_a=half[0], view_b=b.detach().double())
    assert mixed.dtype == torch.float64


def test_integers_and_booleans_leave_the_loss_its_fractions():
    for kind in (torch.int64, torch.uint8, torch.bool):
        x, y = ((view > 0).to(kind) for view in views())
        expected = simile.loss("nt-xent", view_a=x.float(), view_b=y.float())
        loss = simile.loss("nt-xent", view_a=x, view_b=y)
        assert loss.dtype == torch.float32 and loss.item() == expected.item() != int(loss)
        beside = y.float().requires_grad_()
        loss = simile.loss("nt-xent", view_a=x, view_b=beside)
        loss.backward()
        assert loss.item() == expected.item() and beside.grad.any()


def test_a_gradient_in_half_precision_is_rounded_after_the_scale_of_the_loss():
    """The gradients of long rows are so small that half precision has two digits for them."""
    torch.manual_seed(4)
    rows = [(4096 * torch.randn(6, 4)).half() for _ in range(2)]
    scale = 2.0**14
    exact = [view.float().requires_grad_() for view in rows]
    half = [view.requires_grad_() for view in rows]
    for (a, b), factor in ((exact, 1.0), (half, scale)):
        (factor * simile.loss("nt-xent", view_a=a, view_b=b, temperature=5.0)).backward()
    for rounded, expected in zip(half, exact, strict=True):
        difference = rounded.grad.double() / scale - expected.grad.double()
        assert difference.abs().max() < 2e-3 * expected.grad.abs().max()


def test_arrays_beside_tensors_of_labels_keep_their_precision():
    a, b = (view.detach().numpy() for view in views())
    labels = torch.tensor([0, 1, 0, 1, 1, 0])
    loss = simile.loss("supcon", labels=labels, view_a=a, view_b=b)
    assert loss.dtype == torch.float64
    assert loss.item() == simile.loss("supcon", labels=labels.numpy(), view_a=a, view_b=b)


def test_a_parameter_that_wants_a_gradient_is_refused():
    a, b = views()
    temperature = torch.tensor(0.5, requires_grad=True)
    with pytest.raises(ValueError, match="`temperature` is a parameter of `nt-xent`, which gets no gradient"):
        simile.loss("nt-xent", view_a=a, view_b=b, temperature=temperature)
    given = simile.loss("nt-xent", view_a=a, view_b=b, temperature=temperature.detach())
    assert given.item() == simile.loss("nt-xent", view_a=a, view_b=b, temperature=0.5).item()


def test_constants_receive_no_gradient_and_need_none():
    a, b = views()
    z = torch.linspace(0, 1, 6, dtype=torch.float64, requires_grad=True)
    kernel = {"name": "rbf", "sigma": 0.5}
    simile.loss("fair-cclk", view_a=a, view_b=b.detach(), z=z, kernel=kernel).backward()
    assert a.grad is not None and z.grad is None
    assert not simile.loss("nt-xent", view_a=a.detach(), view_b=b.detach()).requires_grad
    # One view may be an array.
    a.grad = None
    simile.loss("nt-xent", view_a=a, view_b=b.detach().numpy()).backward()
    assert a.grad.abs().sum() > 0


def test_a_second_derivative_is_refused():
    a, b = views()
    squared = simile.loss("nt-xent", view_a=a, view_b=b) ** 2
    (gradient,) = torch.autograd.grad(squared, a, create_graph=True)
    with pytest.raises(RuntimeError, match="a second derivative of simile.loss is not known"):
        gradient.sum().backward()


def test_a_second_derivative_is_refused_where_the_loss_comes_last():
    """Then the gradient that comes from above is a constant."""
    a, b = views()
    weight = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    loss = simile.loss("info-nce", view_a=a @ weight.T, view_b=b.detach())
    (gradient,) = torch.autograd.grad(loss, a, create_graph=True)
    with pytest.raises(RuntimeError, match="a second derivative of simile.loss is not known"):
        torch.autograd.grad(gradient.pow(2).sum(), weight)
    # A gradient that is used as a constant needs none.
    loss = simile.loss("info-nce", view_a=a @ weight.T, view_b=b.detach())
    (constant,) = torch.autograd.grad(loss, a, create_graph=True)
    (constant.detach().pow(2).sum() + loss).backward()
    assert weight.grad.abs().sum() > 0


def test_a_fault_is_a_value_error():
    a, b = views()
    with pytest.raises(ValueError, match="`fair-cclk` needs the input `z`"):
        simile.loss("fair-cclk", view_a=a, view_b=b)


def test_a_warning_names_the_line_of_the_caller():
    a, b = views()
    with pytest.warns(UserWarning, match="`z`: all samples have one value of it") as said:
        loss = simile.loss("fair-cclk", view_a=a, view_b=b, z=torch.ones(6))
    assert [warning.filename for warning in said] == [__file__]
    loss.backward()
    assert a.grad.isfinite().all()


def test_a_network_learns_by_it_to_hide_what_it_is_conditioned_on():
    """Samples of a class share four numbers, and a tint covers all of them."""
    torch.manual_seed(0)
    classes = torch.arange(96) % 4
    tint = torch.rand(96)
    signal = torch.nn.functional.one_hot(classes, 4).float()

    def view():
        return torch.cat([signal + 0.3 * torch.randn(96, 4), 4 * tint[:, None] + 0.1 * torch.randn(96, 1)], 1)

    def leak(network):
        """R² of the tint by a linear fit on the embedding."""
        with torch.no_grad():
            rows = torch.nn.functional.normalize(network(view()))
        columns = torch.cat([rows, torch.ones(96, 1)], 1)
        fit = columns @ torch.linalg.lstsq(columns, tint[:, None]).solution
        return 1 - ((fit[:, 0] - tint) ** 2).sum() / ((tint - tint.mean()) ** 2).sum()

    def trained(objective, **more):
        torch.manual_seed(1)
        network = torch.nn.Sequential(torch.nn.Linear(5, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))
        optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
        losses = []
        for _ in range(150):
            optimizer.zero_grad()
            loss = simile.loss(objective, view_a=network(view()), view_b=network(view()), temperature=0.5, **more)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return network, losses

    plain, losses = trained("nt-xent")
    assert losses[-1] < losses[0] - 0.5
    conditioned, _ = trained("fair-cclk", z=tint, kernel={"name": "rbf", "sigma": 0.1}, lambda_=0.01)
    assert leak(conditioned) < leak(plain) - 0.1
