"""Vectors of pictures beside those of `simile embed`."""

import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest

import simile

MADE = "SIMILE_EMBEDDINGS"
if MADE not in os.environ:
    reason = "no checkpoints: `cargo test --workspace --test packages` makes them and runs these tests"
    pytest.skip(reason, allow_module_level=True)

FOLDER = Path(os.environ[MADE])


def png(path, pixels):
    """Writes an array as a PNG."""
    height, width, channels = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    colour = {1: 0, 3: 2, 4: 6}[channels]
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines)),
        (b"IEND", b""),
    ]
    chunks = (struct.pack(">I", len(of)) + name + of + struct.pack(">I", zlib.crc32(name + of)) for name, of in parts)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


@pytest.mark.parametrize("name", ["colour", "grey"])
def test_files_have_the_vectors_of_the_program(name):
    expected = json.loads((FOLDER / f"{name}.json").read_text())
    paths = [FOLDER / image for image in expected["images"]]
    vectors = simile.embed(FOLDER / f"{name}.safetensors", paths)
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, np.array(expected["vectors"], np.float32))


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_arrays_have_the_vectors_of_their_files(channels, tmp_path):
    random = np.random.default_rng(channels)
    # More than one pass, of several sizes.
    pictures = [random.integers(0, 256, (20 + at % 7, 50, channels), np.uint8) for at in range(70)]
    paths = [tmp_path / f"{at}.png" for at in range(70)]
    for path, pixels in zip(paths, pictures, strict=True):
        png(path, pixels)
    model = FOLDER / "colour.safetensors"
    of_files = simile.embed(model, [str(path) for path in paths])
    assert np.abs(of_files[0] - of_files[1]).max() > 0
    np.testing.assert_array_equal(simile.embed(model, pictures), of_files)
    if channels == 1:
        np.testing.assert_array_equal(simile.embed(model, [picture[:, :, 0] for picture in pictures]), of_files)
    same = np.stack(pictures[::7])
    np.testing.assert_array_equal(simile.embed(model, same), of_files[::7])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_an_interrupt_ends_the_pictures_before_the_next_pass(tmp_path):
    picture = tmp_path / "picture.png"
    png(picture, np.zeros((8, 8, 3), np.uint8))
    pipes = [tmp_path / "first.png", tmp_path / "second.png"]
    for pipe in pipes:
        os.mkfifo(pipe)
    read = []

    def feed():
        for pipe in pipes:
            # Opens once the other end is read.
            with pipe.open("wb") as to:
                if not read:
                    os.kill(os.getpid(), signal.SIGINT)
                read.append(pipe)
                to.write(picture.read_bytes())

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=feed, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            simile.embed(FOLDER / "colour.safetensors", [pipes[0], *[picture] * 63, pipes[1]])
    finally:
        signal.signal(signal.SIGINT, before)
    assert read == pipes[:1]


def test_a_folder_of_a_run_stands_for_its_model(tmp_path):
    model = (FOLDER / "colour.safetensors").read_bytes()
    picture = np.zeros((1, 8, 8, 3), np.uint8)
    with pytest.raises(ValueError, match="holds no model.safetensors"):
        simile.embed(tmp_path, picture)
    (tmp_path / "model-plain.safetensors").write_bytes(model)
    (tmp_path / "model-plain-last.safetensors").write_bytes(model)
    (tmp_path / "model-fair.safetensors").write_bytes(model)
    with pytest.raises(ValueError, match="one: model-fair.safetensors, model-plain.safetensors$"):
        simile.embed(tmp_path, picture)
    (tmp_path / "model.safetensors").write_bytes(model)
    assert simile.embed(tmp_path, picture).shape[0] == 1


def test_one_path_is_no_list_of_paths():
    model = FOLDER / "colour.safetensors"
    for one in ["cat.png", Path("cat.png")]:
        with pytest.raises(TypeError, match="images is one path, expected a list of pictures: .*cat.png"):
            simile.embed(model, one)
    with pytest.raises(TypeError, match="images is of type bytes, expected a list of paths or arrays"):
        simile.embed(model, b"cat.png")


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 3)])
def test_one_array_is_no_list_of_arrays(shape):
    with pytest.raises(ValueError, match=r"images is one picture of shape .*, expected a list of pictures: \[images\]"):
        simile.embed(FOLDER / "colour.safetensors", np.zeros(shape, np.uint8))


def test_a_tensor_is_no_array():
    class Tensor:
        def numpy(self):
            return np.zeros((8, 8, 3), np.uint8)

    with pytest.raises(TypeError, match=r"of type Tensor, expected a path or an array; give `.numpy\(\)`"):
        simile.embed(FOLDER / "colour.safetensors", [Tensor()])
    with pytest.raises(TypeError, match="of type bytes, expected a path or an array$"):
        simile.embed(FOLDER / "colour.safetensors", [b"cat.png"])


def test_nothing_gives_nothing():
    vectors = simile.embed(FOLDER / "colour.safetensors", [])
    assert vectors.shape[0] == 0 and vectors.shape[1] > 1


def test_a_fault_names_the_file_or_the_form(tmp_path):
    model = FOLDER / "colour.safetensors"
    text = tmp_path / "notes.png"
    text.write_text("not a picture")
    with pytest.raises(ValueError, match="cannot read the picture .*notes.png"):
        simile.embed(model, [FOLDER / "grey.png", text])
    with pytest.raises(FileNotFoundError, match="cannot read the picture .*absent.png"):
        simile.embed(model, [tmp_path / "absent.png"])
    with pytest.raises(FileNotFoundError, match="cannot read the model .*absent.safetensors"):
        simile.embed(tmp_path / "absent.safetensors", [])
    with pytest.raises(ValueError, match="notes.png cannot be used"):
        simile.embed(text, [])
    with pytest.raises(ValueError, match="array of float64, expected uint8"):
        simile.embed(model, [np.zeros((8, 8, 3))])
    with pytest.raises(ValueError, match="expected .height, width, channels."):
        simile.embed(model, [np.zeros((2, 8, 8, 3), np.uint8)])
    with pytest.raises(ValueError, match="channels of the picture"):
        simile.embed(model, [np.zeros((8, 8, 2), np.uint8)])
    with pytest.raises(ValueError, match=r"one picture of shape \(8, 6, 3\), expected a list of pictures"):
        simile.embed(model, np.zeros((8, 6, 3), np.uint8))
    with pytest.raises(ValueError, match="mixed"):
        simile.embed(model, [np.zeros((8, 8, 3), np.uint8), text])


def test_an_encoder_is_read_once_and_another_process_reads_it_again(tmp_path):
    model = tmp_path / "model.safetensors"
    model.write_bytes((FOLDER / "colour.safetensors").read_bytes())
    pictures = np.random.default_rng(1).integers(0, 256, (3, 20, 20, 3), np.uint8)
    encoder = simile.Encoder(tmp_path)
    expected = simile.embed(model, pictures)
    assert expected.shape == (3, encoder.dimensions)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(encoder)).embed(pictures), expected)
    model.unlink()
    np.testing.assert_array_equal(encoder.embed(pictures), expected)


def test_an_encoder_of_a_relative_path_is_read_again_from_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(FOLDER)
    encoder = simile.Encoder("colour.safetensors")
    pickled = pickle.dumps(encoder)
    monkeypatch.chdir(tmp_path)
    pictures = np.random.default_rng(1).integers(0, 256, (3, 20, 20, 3), np.uint8)
    np.testing.assert_array_equal(pickle.loads(pickled).embed(pictures), encoder.embed(pictures))


FORKED = """
import os, signal, sys
import numpy as np
import simile

encoder = simile.Encoder(sys.argv[1])
process = os.fork()
if process != 0:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
# Ends a child that waits for threads that it does not have.
signal.alarm(60)
try:
    encoder.embed(np.zeros((1, 8, 8, 3), np.uint8) if sys.argv[2] == "array" else [sys.argv[2]])
except RuntimeError as error:
    print(error, flush=True)
    os._exit(3)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("picture", ["array", "grey.png"])
def test_an_encoder_in_a_process_that_was_forked_is_told_to_be_spawned(picture):
    environment = {**os.environ, "PYTHONPATH": str(Path(simile.__file__).parent.parent)}
    code = [sys.executable, "-c", FORKED, "colour.safetensors", picture]
    said = subprocess.run(code, cwd=FOLDER, env=environment, capture_output=True, text=True)
    assert said.returncode == 3 and "`spawn`" in said.stdout, said


def test_an_image_of_pillow_is_refused_with_the_code_that_makes_an_array():
    class Image:
        def convert(self, mode):
            return self

    for images in (Image(), [Image()]):
        with pytest.raises(TypeError, match=r"; give `numpy.asarray\(image.convert\(.RGBA.\)\)` of an image of Pillow"):
            simile.embed(FOLDER / "colour.safetensors", images)


@pytest.mark.parametrize("mode", ["I;16", "I", "F"])
def test_an_image_of_pillow_with_more_than_eight_bits_is_told_to_be_given_by_its_path(mode):
    class Image:
        def convert(self, mode):
            return self

    image = Image()
    image.mode = mode
    for images in (image, [image]):
        with pytest.raises(TypeError, match="; give the path of its file: Pillow's `convert` cuts off values above 255$"):
            simile.embed(FOLDER / "colour.safetensors", images)


@pytest.mark.parametrize("channels", [1, 3])
def test_an_opaque_picture_has_the_vector_of_its_rgba(channels):
    """So the code for an image of Pillow may convert images of eight bits a channel to RGBA."""
    pixels = np.random.default_rng(2).integers(0, 256, (40, 50, channels), np.uint8)
    colours = np.broadcast_to(pixels, (40, 50, 3))
    rgba = np.concatenate([colours, np.full((40, 50, 1), 255, np.uint8)], 2)
    for name in ("colour", "grey"):
        plain, converted = simile.embed(FOLDER / f"{name}.safetensors", [pixels, rgba])
        np.testing.assert_array_equal(plain, converted)
