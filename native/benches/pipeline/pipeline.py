"""PyTorch's side of `cargo bench --bench pipeline`: a DataLoader with two workers and torchvision's transforms v2.

Reads one JSON request a line and answers with another: {"task": "make", "folder": place, "pictures": n, "classes": c}
writes JPEG files; {"task": "decode", "how": "pillow", "side": n} decodes and resizes all pictures on one thread;
{"task": "epochs", "how": "tensor", "views": "du", "size": n, "batch": n, "pictures": n} makes two views of each picture in
two epochs of a new loader.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.io import ImageReadMode, decode_image, read_file
from torchvision.transforms import InterpolationMode, v2

torch.set_num_threads(1)
HEIGHT, WIDTH, QUALITY = 375, 500, 90
WORKERS = 2


def made(rng):
    """A picture with the spectrum of a photograph, about `1 / f` in brightness and smoother in colour."""
    down, along = np.fft.fftfreq(HEIGHT)[:, None], np.fft.rfftfreq(WIDTH)[None]
    frequency = np.hypot(down, along)
    frequency[0, 0] = np.inf

    def field(power):
        noise = np.fft.rfft2(rng.standard_normal((HEIGHT, WIDTH)))
        values = np.fft.irfft2(noise / frequency**power, (HEIGHT, WIDTH))
        return values / values.std()

    brightness = rng.uniform(90, 160) + rng.uniform(35, 65) * field(1.1)
    warm, green = field(1.4), field(1.4)
    colours = [brightness + 18 * warm, brightness - 5 * warm - 8 * green, brightness + 20 * green]
    return np.clip(np.stack(colours, -1), 0, 255).astype(np.uint8)


def decoded(path, how):
    if how == "pillow":
        return Image.open(path).convert("RGB")
    return decode_image(read_file(str(path)), mode=ImageReadMode.RGB)


def transform(views, size):
    """The presets `du` and `simclr-imagenet` of simile, with ImageNet's normalisation."""
    blurred = views == "simclr-imagenet"
    filter = InterpolationMode.BICUBIC if blurred else InterpolationMode.BILINEAR
    steps = [
        v2.RandomResizedCrop(size, scale=(0.08, 1), interpolation=filter, antialias=True),
        v2.RandomHorizontalFlip(),
        v2.RandomApply([v2.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8),
        v2.RandomGrayscale(0.2),
    ]
    if blurred:
        steps.append(v2.RandomApply([v2.GaussianBlur(23, (0.1, 2))], p=0.5))
    mean, deviation = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    return v2.Compose([*steps, v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, deviation)])


class Pictures(Dataset):
    def __init__(self, paths, how, transform):
        self.paths, self.how, self.transform = paths, how, transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, at):
        picture = decoded(self.paths[at], self.how)
        return self.transform(picture), self.transform(picture)


class Peer:
    def make(self, request):
        rng, total = np.random.default_rng(0), 0
        folder = Path(request["folder"])
        for part, pictures in [("train", request["pictures"]), ("val", 2 * request["classes"])]:
            for at in range(pictures):
                path = folder / part / str(at % request["classes"]) / f"{at}.jpg"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(made(rng)).save(path, quality=QUALITY)
                total += path.stat().st_size if part == "train" else 0
        self.paths = sorted(folder.glob("train/*/*.jpg"))
        return {"bytes": total / request["pictures"], "height": HEIGHT, "width": WIDTH, "quality": QUALITY}

    def decode(self, request):
        side, how = request["side"], request["how"]
        resize = v2.Resize((side, side), antialias=True)
        start = time.perf_counter()
        for path in self.paths:
            picture = decoded(path, how)
            picture.resize((side, side), Image.Resampling.BILINEAR) if how == "pillow" else resize(picture)
        return {"seconds": time.perf_counter() - start}

    def epochs(self, request):
        pictures = Pictures(self.paths[: request["pictures"]], request["how"], transform(request["views"], request["size"]))
        start = time.perf_counter()
        loader = DataLoader(
            pictures, request["batch"], shuffle=True, drop_last=True, num_workers=WORKERS, persistent_workers=True
        )
        epochs = []
        for _ in range(2):
            images = sum(len(a) for a, b in loader)
            epochs.append({"images": images, "seconds": time.perf_counter() - start})
            start = time.perf_counter()
        return {"epochs": epochs}


peer = Peer()
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(getattr(peer, request["task"])(request)), flush=True)
