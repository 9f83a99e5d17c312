"""PyTorch's side of `cargo bench --bench peer`: one loss with its gradient, one training step or one pass
through an encoder, timed on request.

Reads one JSON request a line, {"case": name, "b": samples, "d": width, "inputs": names and sizes, "grads": names,
"repeats": n}, and answers with {"milliseconds": [...]}. `inputs` is described in cases.rs.
"""

import json
import sys
import time

import torch

import encoders
from objectives import CASES
from training import NAME, trainer

torch.set_num_threads(2)


def made(name, request):
    """One input: its name and its values."""
    b, d = request["b"], request["d"]
    if "#" in name:
        name, kinds = name.split("#")
        return name, torch.arange(b) % int(kinds)
    if "@" in name:
        name, shape = name.split("@")
        size = [int(n) for n in shape.split("x")]
        return name, torch.rand([b, *size] if len(size) == 1 else size) * (1 if name == "prior" else 255)
    name, _, shape = name.partition("=")
    size = [int(n) for n in shape.split("x")] if shape else [d]
    value = torch.randn([b, *size] if len(size) == 1 else size)
    return name, value.requires_grad_(name in request["grads"])


def evaluation(request):
    torch.manual_seed(0)
    batch = dict(made(name, request) for name in request["inputs"].split(" "))
    loss = CASES[request["case"]]
    leaves = [batch[name] for name in request["grads"]]

    def evaluate():
        for leaf in leaves:
            leaf.grad = None
        loss(batch).backward()

    return evaluate


def work_of(request):
    case, b = request["case"], request["b"]
    if case == NAME:
        return trainer(b)
    if case in encoders.CASES:
        return encoders.encoder(case, b)
    return evaluation(request)


def answer(request):
    work = work_of(request)
    times = []
    for _ in range(request["repeats"]):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e3)
    return {"milliseconds": times}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
