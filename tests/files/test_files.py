"""Files are hostile: what is damaged, swollen or edited is refused by name, before memory is taken."""

import io
import json
import os
import resource
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indistinct.data import Numbers
from indistinct.errors import ArgumentError, FileError
from indistinct.files import (
    read_json,
    read_npz,
    read_rows,
    read_saved,
    read_toml,
    whole,
    write_npz,
    write_rows,
    write_safetensors,
)
from indistinct.functions import GaussianKernel, GaussianProcess, PrivateFunction, RandomFeatures
from indistinct.mechanisms.release import check_noise

HEAD = {"scale": 2.5, "private": True, "nested": [1, {"a": [None, "é"]}], "far": float("inf")}
ARRAYS = {
    "a": np.arange(12.0).reshape(3, 4),
    "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "one": np.array(3.0),
    "none": np.zeros((0, 3)),
    "truths": np.array([True, False]),
    "single": np.float32([1.5, 2.5]),
}
WRITERS = pytest.mark.parametrize("write", [write_npz, write_safetensors])


@WRITERS
def test_what_was_saved_reads_back_equal(write: Any, tmp_path: Path) -> None:
    write(tmp_path / "f", HEAD, ARRAYS)
    head, arrays = read_saved(tmp_path / "f")
    assert head == HEAD and list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype and arrays[name].shape == array.shape
        assert (arrays[name] == array).all()


def test_others_read_our_safetensors(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    write_safetensors(tmp_path / "f", HEAD, ARRAYS)
    found = library.load_file(tmp_path / "f")
    assert all((found[name] == array).all() for name, array in ARRAYS.items())


@WRITERS
@given(data=st.data())
def test_no_bit_of_a_saved_file_may_change(write: Any, data: st.DataObject, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("bits") / "f"
    write(path, HEAD, ARRAYS)
    content = bytearray(path.read_bytes())
    how = data.draw(st.sampled_from(["flip", "cut", "grow"]))
    if how == "flip":
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    elif how == "cut":
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        content += data.draw(st.binary(min_size=1, max_size=9))
    path.write_bytes(content)
    try:
        head, arrays = read_saved(path)
    except FileError as error:
        assert str(path) in str(error)
        return
    # dates and other notes of a .zip that nobody reads
    assert head == HEAD and all((arrays[name] == array).all() for name, array in ARRAYS.items())


def npy(shape: Any, dtype: str = "<f8", data: bytes = b"") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue() + data


def archived(path: Path, compression: int = zipfile.ZIP_STORED, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def many(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for place in range(5000):
            archive.writestr(f"{place}.npy", b"")
    return path


def twice(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("images.npy", npy((1,), data=bytes(8)))
        archive.writestr("images.npy", npy((1,), data=bytes(8)))
    return path


HOSTILE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "empty": (lambda p: p.write_bytes(b""), "not a whole"),
    "a folder": (lambda p: p.mkdir(), "a folder"),
    "absent": (lambda p: None, "not there"),
    "a pipe": (os.mkfifo, "not a plain file"),
    "8 TB in a header": (
        lambda p: archived(p, images=npy((10**12,), data=bytes(8))),
        "otherwise",
    ),
    "a bomb": (
        lambda p: archived(p, zipfile.ZIP_DEFLATED, images=npy((2 * 10**8,), "|u1", bytes(2 * 10**8))),
        "too large",
    ),
    "NaN": (lambda p: archived(p, images=npy((1,), data=np.array([np.nan]).tobytes())), "not finite"),
    "pickled": (lambda p: archived(p, images=npy((1,), "|O", bytes(8))), "does not hold numbers"),
    "dates": (lambda p: archived(p, images=npy((1,), "<M8[s]", bytes(8))), "does not hold numbers"),
    "letters that are none": (lambda p: archived(p, images=npy((1,), "<U1", b"\xff" * 4)), "do not exist"),
    "a truth of 7": (lambda p: archived(p, images=npy((1,), "|b1", b"\x07")), "other than 0 and 1"),
    "a negative side": (lambda p: archived(p, images=npy((-1,), data=b"")), "no shape"),
    "5,000 members": (many, "more than"),
    "one name twice": (twice, "two arrays of one name"),
    "another compression": (lambda p: archived(p, zipfile.ZIP_LZMA, images=npy((0,))), "not read"),
    "too large": (lambda p: os.truncate(os.open(p, os.O_CREAT | os.O_RDWR), 2**40), "at most"),
    "no images": (lambda p: archived(p, others=npy((0,))), "no images"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_arrays_are_refused_by_name(name: str, tmp_path: Path) -> None:
    make, reason = HOSTILE[name]
    path = tmp_path / "f.npz"
    make(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(FileError, match=reason) as refused:
        read_npz(path, ("images",))
    assert str(path) in str(refused.value)
    if name != "a bomb":  # which was made here
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def safetensors(header: Any, numbers: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + numbers


def tensor(first: Any, last: Any, shape: Any, dtype: Any = "F64") -> dict[str, Any]:
    own = {"dtype": dtype, "shape": shape, "data_offsets": [first, last]}
    return {"__metadata__": {"head": "{}"}, "a": own}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        (2**60).to_bytes(8, "little") + b"{}",
        safetensors(b"[" * 20_000 + b"]" * 20_000),
        safetensors({}),
        safetensors([1]),
        safetensors({"__metadata__": 3}),
        safetensors(tensor(0, 8, [10**12]), bytes(8)),
        safetensors(tensor(0, 8 * 10**12, [10**12]), bytes(8)),
        safetensors(tensor(8, 16, [1]), bytes(16)),
        safetensors(tensor(0, 8, [True]), bytes(8)),
        safetensors(tensor(0, 8, "1"), bytes(8)),
        safetensors(tensor(0, 8, [1], "O"), bytes(8)),
        safetensors(tensor(0, 8, [1], ["F64"]), bytes(8)),
        safetensors(tensor("0", 8, [1]), bytes(8)),
        safetensors(tensor(0, 8, [1]), np.array([np.inf]).tobytes()),
        safetensors(tensor(0, 8, [1]), bytes(8)),  # without a digest
        safetensors(b'{"a": 1, "a": 2}'),
    ],
)
def test_hostile_safetensors_are_refused_by_name(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "f.safetensors"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"f.safetensors: "):
        read_saved(path)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_toml, "a = " + "[" * 20_000 + "]" * 20_000),
        (read_toml, ".".join("a" * 20_000) + " = 1"),
        (read_toml, "[" + ".".join("a" * 20_000) + "]"),
        (read_toml, "a = " + "1" * 100_000),
        (read_toml, "a = ["),
        (read_json, "[" * 20_000 + "]" * 20_000),
        (read_json, '{"a": 1, "a": 2}'),
        (read_json, "NaN"),
        (read_json, "1" * 100_000),
        (read_json, "{"),
    ],
    ids=lambda value: value[:9] if isinstance(value, str) else value.__name__,
)
def test_hostile_texts_are_refused_by_name(read: Any, text: str, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text(text)
    with pytest.raises(FileError, match="text: it is n"):
        read(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="text"):
        read(path)


TEXTS = st.text(st.characters(), max_size=9) | st.text("\"',=+-@\t\r\n\0 a\uff1d\ud800", max_size=5)


@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(TEXTS, min_size=n, max_size=n), min_size=1)))
def test_every_text_comes_back(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    path = tmp_path_factory.mktemp("rows") / "r.csv"
    write_rows(path, rows)
    assert read_rows(path) == rows


def test_formulas_are_no_formulas_and_numbers_stay_numbers(tmp_path: Path) -> None:
    long = "z" * 200_000
    rows = [["=cmd()", "n"], ["-x", -3], ["'+x", -0.5], ["\t=1", 1e-7], [long, 4]]
    write_rows(tmp_path / "r.csv", rows)
    lines = (tmp_path / "r.csv").read_text().split("\n")
    assert lines[:4] == ["'=cmd(),n", "'-x,-3", "''+x,-0.5", "'\t=1,1e-07"]
    assert read_rows(tmp_path / "r.csv")[4] == [long, "4"]


@pytest.mark.parametrize("text", ["", "a", 'a\n"b', 'a\n"b"c\n', 'a"b\n', "a,b\nc\n", "a\rb\n", 'a\n"\n'])
def test_rows_that_we_did_not_write_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(text, newline="")
    with pytest.raises(FileError, match=r"r.csv: "):
        read_rows(path)


def test_a_file_is_its_owners_until_it_is_whole(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "f", tmp_path / "elsewhere"
    elsewhere.write_text("keep")
    (tmp_path / "f.partial").symlink_to(elsewhere)
    path.symlink_to(elsewhere)
    before = os.umask(0o027)
    try:
        with whole(path) as file:
            file.write(b"new")
            assert stat.S_IMODE((tmp_path / "f.partial").stat().st_mode) == 0o600
        assert stat.S_IMODE(path.lstat().st_mode) == 0o640 and not path.is_symlink()
    finally:
        os.umask(before)
    assert elsewhere.read_text() == "keep" and path.read_text() == "new"
    with pytest.raises(KeyError), whole(path) as file:
        raise KeyError
    assert path.read_text() == "new" and sorted(os.listdir(tmp_path)) == ["elsewhere", "f"]
    path.unlink()
    path.symlink_to(elsewhere)
    with pytest.raises(FileError, match="symbolic link"):
        read_json(path, links=False)


def test_noise_that_was_not_there_is_not_believed() -> None:
    draw = np.random.default_rng(0)
    for scale, unit in ((20.0, 2.0**-32), (0.3, 1.0), (5.0, 1.0)):
        for size in (1, 2, 30, 1000):
            for truth in (0.0, 1e6):
                values = np.rint((truth + draw.normal(0, scale, size)) / unit) * unit
                check_noise(values, scale, unit)
                with pytest.raises(ArgumentError, match="smaller"):
                    check_noise(values, 1e300, unit)
    with pytest.raises(ArgumentError, match="multiples"):
        check_noise([0.5], 1.0, 1.0)
    with pytest.raises(ArgumentError, match="smaller"):
        check_noise(draw.normal(0, 1, 500).round(), 9.0, 1.0)


@pytest.mark.parametrize(
    "change",
    [{"scale": 1e200}, {"added": 0.0, "replaced": 0.0}, {"private": "no"}, {"scale": "4"}, {"unit": 1e-3}],
    ids=str,
)
def test_an_edited_function_states_no_smaller_loss(change: dict[str, Any], tmp_path: Path) -> None:
    space, path = RandomFeatures(GaussianKernel(0.2), pairs=5, dimension=1), tmp_path / "f.npz"
    data = {"x": np.linspace(0, 1, 50)}
    GaussianProcess(space, 4).of_sum(data, {"x": Numbers(0, 1)}).save(path)
    head, arrays = read_saved(path)
    (head if "private" in change else head["mechanism"]).update(change)
    write_npz(path, head, arrays)  # by somebody who knows how, digest and all
    with pytest.raises(FileError, match=r"f.npz: "):
        PrivateFunction.load(path)
