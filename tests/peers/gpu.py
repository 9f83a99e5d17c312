"""A training step of SimCLR on a GPU, in Simile and in PyTorch, in turn: milliseconds of a step and images a second.

    python tests/peers/gpu.py target/release/simile --device cuda

Simile trains the recipe beside this file, which augments nothing, and writes what its `--profile` measures: the mean of steps without a
wait between them. PyTorch takes the same step with the network of torchvision on views that lie on the GPU already, and waits for
each: its time is the median. Both compute NT-Xent of all projections in f32.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RECIPE = Path(__file__).with_name("scaling.toml")
TEMPERATURE = 0.5
WARM_UP = 5

# Network, pixels of a side, images of a batch.
CASES = [("resnet18", 32, 256), ("resnet18", 32, 1024), ("resnet50", 224, 64), ("resnet50", 224, 128)]
SIMILE = ["f32", "bf16"]
# f32 alone is without the tensor cores' TF32.
PYTORCH = ["f32", "tf32", "bf16"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, nargs="?", help="simile, built for a GPU")
    parser.add_argument("--device", default="cuda", help="where simile computes")
    parser.add_argument("--steps", type=int, default=20, help="how many are measured")
    parser.add_argument("--case", action="append", type=case, metavar="NETWORK,SIDE,BATCH", help="in place of those of this file")
    parser.add_argument("--step", nargs=4, metavar=("NETWORK", "SIDE", "BATCH", "PRECISION"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        network, side, batch, precision = given.step
        return print(json.dumps(pytorch_step(network, int(side), int(batch), precision, given.steps)))
    print("| network | pixels | b | what | ms of a step | images/s |")
    print("|---|--:|--:|---|--:|--:|", flush=True)
    for each in given.case or CASES:
        for precision in SIMILE if given.program else []:
            row(each, f"Simile, {given.device}, {precision}", simile(given, each, precision))
        for precision in PYTORCH:
            row(each, f"PyTorch, {precision}", pytorch(given, each, precision))


def case(text):
    network, side, batch = text.split(",")
    return network, int(side), int(batch)


def row(case, name, answer):
    figures = f"{answer['step_ms']:.1f} | {answer['images_per_second']:.0f}" if "step_ms" in answer else f"{answer['error']} |"
    print(f"| {case[0]} | {case[1]} | {case[2]} | {name} | {figures} |", flush=True)


def simile(given, case, precision):
    network, side, batch = case
    stem = "cifar" if side < 64 else "imagenet"
    settings = [
        'method={ name = "single" }',
        f'encoder={{ name = "{network}", stem = "{stem}", input_size = {side} }}',
        f"train.batch={batch}",
        f'train.precision="{precision}"',
    ]
    with tempfile.TemporaryDirectory() as place:
        command = [given.program.resolve(), "train", RECIPE, "--device", given.device, "--out", f"{place}/run"]
        command += ["--profile", str(given.steps), "--json"]
        command += [argument for setting in settings for argument in ("--set", setting)]
        answer = run(command, cwd=place)
    return answer["arms"][0] if "arms" in answer else answer


def pytorch(given, case, precision):
    return run([sys.executable, __file__, "--steps", str(given.steps), "--step", *map(str, case), precision])


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["it said nothing"])[-1]}
    return json.loads(done.stdout)


def pytorch_step(name, side, batch, precision, steps):
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torchvision import models

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "f32"
    torch.backends.cudnn.benchmark = True
    # The layout that is quicker with tensor cores, and the one without them.
    layout = torch.contiguous_format if precision == "f32" else torch.channels_last
    model = getattr(models, name)()
    if side < 64:
        model.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
        model.maxpool = nn.Identity()
    model.fc = nn.Sequential(
        nn.Linear(model.fc.in_features, 512, bias=False), nn.BatchNorm1d(512), nn.ReLU(),
        nn.Linear(512, 128, bias=False), nn.BatchNorm1d(128, affine=False),
    )
    model = model.cuda().to(memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    views = (torch.rand(2 * batch, 3, side, side, device="cuda") - 0.5).to(memory_format=layout)
    partners = torch.arange(2 * batch, device="cuda").roll(batch)

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
            projections = model(views)
        z = F.normalize(projections.float())
        F.cross_entropy((z @ z.T / TEMPERATURE).fill_diagonal_(-torch.inf), partners).backward()
        optimizer.step()
        torch.cuda.synchronize()

    times = []
    for _ in range(WARM_UP + steps):
        started = time.perf_counter()
        step()
        times.append(time.perf_counter() - started)
    seconds = statistics.median(times[WARM_UP:])
    return {"step_ms": 1e3 * seconds, "images_per_second": batch / seconds}


if __name__ == "__main__":
    main()
