"""A loss in the graph of PyTorch."""

import os
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize("compiled", [False, True])
def test_a_warning_names_the_line_of_the_caller(compiled):
    def step(a, b, z):
        return simile.loss("fair-cclk", view_a=a, view_b=b, z=z)

    a, b = views()
    step = torch.compile(step, backend="eager") if compiled else step
    with pytest.warns(UserWarning, match="`z`: all samples have one value of it") as said:
        loss = step(a, b, torch.ones(6))
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


def test_a_compiled_step_leaves_the_loss_out():
    graphs = []

    def keep(graph, _):
        graphs.append(graph)
        return graph.forward

    def step(a, b, z):
        return simile.loss("fair-cclk", view_a=2 * a, view_b=b, z=z, kernel={"name": "rbf", "sigma": 0.5})

    compiled = torch.compile(step, backend=keep)
    for scale in (1.0, 2.0, 3.0):
        a, b = views()
        batch = (scale * b, torch.linspace(0, scale, 6))
        loss = compiled(a, *batch)
        (gradient,) = torch.autograd.grad(loss, a)
        expected = step(a, *batch)
        assert loss.item() == expected.item()
        assert torch.equal(gradient, torch.autograd.grad(expected, a)[0])
    # The product of the step, compiled once for all batches.
    assert len(graphs) == 1, graphs


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_compiled_step_computes_the_gradients_of_arrays(kind):
    def step(a, b):
        return simile.loss_and_gradients("nt-xent", view_a=a, view_b=b)

    rows = [view.detach().numpy().astype(kind) for view in views()]
    loss, gradients = torch.compile(step, backend="eager")(*rows)
    expected, others = step(*rows)
    assert loss == expected
    for name, gradient in others.items():
        np.testing.assert_array_equal(gradients[name], gradient)
        assert gradients[name].dtype == kind


@pytest.mark.parametrize(
    ("objective", "inputs", "parameters"),
    [
        ("nt-xent", (), {"temperature": 0.2}),
        ("fair-cclk", (torch.linspace(0, 1, 6)[:, None],), {"kernel": {"name": "rbf", "sigma": 0.5}, "lambda_": 0.1}),
        ("supcon", (torch.tensor([0, 1, 0, 1, 1, 0]),), {}),
    ],
)
def test_the_source_in_pytorch_is_the_same_loss(objective, inputs, parameters):
    names = {}
    exec(simile.describe(objective)["pytorch"], names)
    a, b = views()
    own = names[objective.replace("-", "_")](a, b, *inputs, **parameters)
    further = [entry["name"] for entry in simile.describe(objective)["inputs"][2:]]
    given = dict(zip(further, inputs, strict=False))
    loss = simile.loss(objective, view_a=a, view_b=b, **given, **parameters)
    assert own.item() == pytest.approx(loss.item(), rel=1e-10)
    for gradient, expected in zip(torch.autograd.grad(own, (a, b)), torch.autograd.grad(loss, (a, b)), strict=True):
        np.testing.assert_allclose(gradient.numpy(), expected.numpy(), atol=1e-10)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_tensors_of_a_gpu_have_the_gradients_of_the_host():
    a, b = views()
    kernel, z = {"name": "rbf", "sigma": 0.5}, torch.linspace(0, 1, 6)
    simile.loss("fair-cclk", view_a=a, view_b=b, z=z, kernel=kernel).backward()
    on_gpu = [view.detach().cuda().requires_grad_() for view in (a, b)]
    loss = simile.loss("fair-cclk", view_a=on_gpu[0], view_b=on_gpu[1], z=z.cuda(), kernel=kernel)
    loss.backward()
    assert loss.device == on_gpu[0].device
    for view, host in zip(on_gpu, (a, b), strict=True):
        np.testing.assert_array_equal(view.grad.cpu().numpy(), host.grad.numpy())


PROCESS = """
import sys
import torch
import torch.distributed as dist
import simile

rank, processes, meeting, answer = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=processes)
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
images, age = torch.randn(2, 12, 5), torch.linspace(20, 80, 12)
network = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(5, 3))
a, b = (network(view.chunk(processes)[rank]) for view in images)
age = age.chunk(processes)[rank]
RECIPE
torch.save([loss.detach(), *(weight.grad for weight in network.parameters())], answer)
dist.destroy_process_group()
"""
README = Path(__file__).parents[1] / "README.md"


@pytest.mark.skipif(not torch.distributed.is_available(), reason="PyTorch is built without processes")
def test_processes_that_gather_their_views_have_the_gradient_of_the_whole_batch(tmp_path):
    (recipe,) = [block for block in README.read_text(encoding="utf-8").split("```python\n") if "def gathered" in block]
    code = PROCESS.replace("RECIPE", recipe.split("```")[0])
    environment = {**os.environ, "PYTHONPATH": str(Path(simile.__file__).parent.parent)}

    def results(processes):
        """The loss and the gradients that each process has."""
        meeting = (tmp_path / f"meeting-{processes}").as_uri()
        answers = [tmp_path / f"{processes}-{rank}.pt" for rank in range(processes)]
        programs = [
            subprocess.Popen([sys.executable, "-c", code, str(rank), str(processes), meeting, answer], env=environment)
            for rank, answer in enumerate(answers)
        ]
        try:
            assert [program.wait(300) for program in programs] == [0] * processes
        finally:
            for program in programs:
                program.kill()
        return [torch.load(answer) for answer in answers]

    (whole,) = results(1)
    for parts in results(2):
        for part, expected in zip(parts, whole, strict=True):
            np.testing.assert_allclose(part.numpy(), expected.numpy(), rtol=1e-10)


def test_a_constant_may_be_of_inference_mode():
    a, b = views()
    with torch.inference_mode():
        teacher, z = 2 * b, torch.linspace(0, 1, 6) * 2
    loss = simile.loss("fair-cclk", view_a=a, view_b=teacher, z=z, kernel={"name": "rbf", "sigma": 0.5})
    loss.backward()
    assert a.grad.any()


def test_gradients_as_arrays_take_tensors_too():
    a, b = views()
    loss, gradients = simile.loss_and_gradients("nt-xent", view_a=a, view_b=b)
    simile.loss("nt-xent", view_a=a, view_b=b).backward()
    np.testing.assert_array_equal(gradients["view_a"], a.grad.numpy())
    half, _ = simile.loss_and_gradients("nt-xent", view_a=a.detach().bfloat16(), view_b=b)
    assert half == pytest.approx(loss, rel=0.02)


def test_a_list_of_tensors_does_not_lose_their_gradient():
    a, b = views()
    with pytest.raises(ValueError, match="`view_a` is a list of tensors that require a gradient; `torch.stack`"):
        simile.loss("nt-xent", view_a=list(a), view_b=b)
