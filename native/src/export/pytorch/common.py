
class Encoder(Network):
    """The network with the weights of a file of Simile's."""

    @classmethod
    def load(cls, path=Path(__file__).with_name("weights.safetensors")):
        """The encoder of a `.safetensors` file, ready to evaluate.

        Fails if the file is that of another network or of another preprocessing, lacks a tensor, or has one more.
        """
        from safetensors import safe_open

        with safe_open(str(path), framework="pt") as file:
            says = json.loads((file.metadata() or {}).get("simile", "{}"))
            if says.get("encoder") != ENCODER:
                raise ValueError(f"{path} holds the encoder {says.get('encoder')}, and this is {ENCODER}")
            data = (says.get("recipe") or {}).get("data") or {}
            is_whole = data.get("fit") in ("whole", "crops")
            stored = data.get("side") or says.get("resize") or says.get("input_size")
            for name, theirs, ours in [
                ("mean", says.get("mean"), MEAN),
                ("std", says.get("std"), STD),
                ("resize", says.get("resize"), RESIZE),
                ("side", stored, STORED),
                ("fit", "whole" if is_whole else "middle", "whole" if WHOLE else "middle"),
            ]:
                if theirs != ours:
                    raise ValueError(f"{path} has `{name}` {theirs}, and this module {ours}; export its model too")
            # The projection head of the training is no part of the encoder.
            names = [name for name in file.keys() if not name.startswith("head.")]
            tensors = {name: file.get_tensor(name) for name in names}
        encoder = cls()
        incompatible = encoder.load_state_dict(tensors, strict=False)
        # PyTorch counts the batches of each batch norm, and Simile does not.
        missing = [name for name in incompatible.missing_keys if not name.endswith("num_batches_tracked")]
        if missing or incompatible.unexpected_keys:
            raise ValueError(f"{path} lacks {missing} and has {incompatible.unexpected_keys} besides")
        return encoder.eval()

    @torch.no_grad()
    def embed(self, pictures, batch=64):
        """The features of a list of pictures (paths or images of Pillow), `[n, FEATURES]`, as `simile embed` gives them.

        It takes `batch` pictures at a time, and leaves the module in the mode in which it was: training or evaluation.
        One picture that is not in a list is a TypeError, and a `batch` below 1 a ValueError.
        """
        if isinstance(pictures, (str, PathLike)) or hasattr(pictures, "convert"):
            raise TypeError(f"pictures is one picture, expected a list: [{pictures!r}]")
        if isinstance(pictures, bytes):
            raise TypeError("pictures is of type bytes, expected a list of paths or images of Pillow")
        if batch < 1:
            raise ValueError(f"`batch` is {batch}, expected at least 1")
        pictures, weight = list(pictures), next(self.parameters())
        training = [module for module in self.modules() if module.training]
        self.eval()
        try:
            rows = [weight.new_empty(0, FEATURES)]
            for start in range(0, len(pictures), batch):
                images = [preprocess(picture) for picture in pictures[start : start + batch]]
                rows.append(self(torch.stack(images).to(weight)))
        finally:
            for module in training:
                module.training = True
        return torch.cat(rows)


def preprocess(picture):
    """A picture (a path or an image of Pillow) as the encoder takes it, `[channels, SIDE, SIDE]`.

    Pillow 13 resizes some high pictures in another order than Simile, so values of a pixel may differ by one. It
    decodes a JPEG a little otherwise: features of a ResNet-18 as large as 17 differed by up to 2.7e-2 (cosine
    0.9999988).
    """
    import numpy as np
    from PIL import Image

    if not isinstance(picture, Image.Image):
        picture = Image.open(picture)
    if picture.mode.startswith(("I", "F")):
        raise ValueError("a picture of more than eight bits a channel; convert it first")
    # A grey or an RGB PNG may name one value that is transparent.
    if picture.mode not in ("L", "RGB") or "transparency" in picture.info:
        # Transparent pixels become white.
        pixels = np.asarray(picture.convert("RGBA")).astype(np.uint32)
        colour, alpha = pixels[..., :3], pixels[..., 3:]
        picture = Image.fromarray(((colour * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8))
    if not WHOLE:
        width, height = picture.size
        side = min(width, height)
        left, top = (width - side) // 2, (height - side) // 2
        picture = picture.crop((left, top, left + side, top + side))
    larger = RESIZE or SIDE
    for size in (STORED, larger):
        if picture.size != (size, size):
            picture = picture.resize((size, size), Image.BILINEAR)
        picture = picture.convert({1: "L", 3: "RGB"}[ENCODER["channels"]])
    start = round((larger - SIDE) / 2)
    picture = picture.crop((start, start, start + SIDE, start + SIDE))
    pixels = torch.from_numpy(np.array(picture)).reshape(SIDE, SIDE, -1).permute(2, 0, 1) / 255
    mean, std = torch.tensor(MEAN)[:, None, None], torch.tensor(STD)[:, None, None]
    return (pixels - mean) / std
