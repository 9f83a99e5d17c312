"""Makes augment.json: what torchvision gives for fixed parameters.

Run with torchvision 0.29 and Pillow 13:  python tests/vectors/augment.py > tests/vectors/augment.json
Crops and rotations are made on Pillow images (8 bits), colour and blur on float tensors.
"""

import json

import numpy as np
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F

HEIGHT, WIDTH = 11, 14
y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
noise = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3))
IMAGES = [
    np.stack([x * 255 // (WIDTH - 1), y * 255 // (HEIGHT - 1), (x + y) % 2 * 255], 2).astype(np.uint8),
    noise.astype(np.uint8),
    (noise // 32 + [200, 90, 20]).astype(np.uint8),
]
MODES = {"bilinear": InterpolationMode.BILINEAR, "bicubic": InterpolationMode.BICUBIC}
STEPS = {
    "brightness": F.adjust_brightness,
    "contrast": F.adjust_contrast,
    "saturation": F.adjust_saturation,
    "hue": F.adjust_hue,
}


def case(image, size=None, interpolation="bilinear", window=None, angle=0.0, flip=False, colour=None, grey=False,
         kernel=3, sigma=None):
    parameters = dict(locals())
    picture = Image.fromarray(IMAGES[image])
    if size is not None or window is not None:
        top, left, height, width = window or (0, 0, HEIGHT, WIDTH)
        target = [size, size] if size is not None else [HEIGHT, WIDTH]
        picture = F.resized_crop(picture, top, left, height, width, target, MODES[interpolation])
    if angle:
        picture = F.rotate(picture, angle)
    if flip:
        picture = F.hflip(picture)
    tensor = F.to_tensor(picture)
    for name in (colour or {}).get("order", []):
        tensor = STEPS[name](tensor, colour[name])
    if grey:
        tensor = F.rgb_to_grayscale(tensor, 3)
    if sigma is not None:
        tensor = F.gaussian_blur(tensor, [kernel, kernel], [sigma, sigma])
    return parameters | {"expected": [round(v, 4) for v in tensor.flatten().tolist()]}


def colour(brightness, contrast, saturation, hue, *order):
    return {"brightness": brightness, "contrast": contrast, "saturation": saturation, "hue": hue, "order": order}


B, C, S, H = "brightness", "contrast", "saturation", "hue"
CASES = [
    case(0, size=9),
    case(1, size=16, interpolation="bicubic"),
    case(1, size=5, interpolation="bicubic", window=(0, 0, 11, 14)),
    case(1, size=8, interpolation="bicubic", window=(3, 2, 4, 7), flip=True),
    case(0, size=8, interpolation="bilinear", window=(10, 13, 1, 1)),
    case(1, size=12, interpolation="bilinear", window=(1, 0, 9, 6), flip=True),
    case(1, flip=True),
    case(1, angle=17.0),
    case(1, angle=-33.5, flip=True),
    case(0, size=10, interpolation="bicubic", window=(2, 3, 8, 9), angle=45.0, flip=True),
    case(0, colour=colour(1.4, 0.6, 1.3, 0.1, B, C, S, H)),
    case(1, colour=colour(0.6, 1.4, 0.6, -0.1, H, S, C, B)),
    case(2, colour=colour(1.2, 1.8, 1.8, 0.5, C, H, B, S)),
    case(1, colour=colour(0.2, 0.3, 0.0, -0.5, S, B, H, C)),
    case(2, colour=colour(1.0, 1.0, 1.0, 0.23, B, C, S, H), grey=True),
    case(1, grey=True),
    case(1, sigma=0.7),
    case(1, kernel=7, sigma=2.0),
    case(1, size=10, interpolation="bicubic", window=(1, 1, 9, 12), flip=True,
         colour=colour(1.1, 0.7, 1.6, 0.04, S, H, B, C), kernel=3, sigma=1.1),
]
images = [image.transpose(2, 0, 1).flatten().tolist() for image in IMAGES]
document = {"height": HEIGHT, "width": WIDTH, "images": images}
print(json.dumps(document)[:-1] + ', "cases": [')
print(",\n".join(json.dumps(c) for c in CASES) + "]}")
