"""Arrays in files: .npz and safetensors, read without trusting a number that stands in them.

What a header declares is compared with what is there before anything is allocated. What `write_npz` and
`write_safetensors` keep is a description and arrays, with a digest of both: a file that was damaged, or
edited by hand, is refused. A digest is no signature: who can write a file can state anything in it.
"""

import hashlib
import io
import json
import math
import struct
import sys
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.description import FORMAT, check_format, plain
from indistinct.errors import FileError
from indistinct.files.opening import PathLike, meaning, read_bytes, whole
from indistinct.files.text import MOST_TEXT, json_text

Arrays = dict[str, npt.NDArray[Any]]

_HEAD, _DIGEST, _FORMAT = "head", "digest", "format"
_MOST_MEMBERS = 4096
_MOST_DIMENSIONS = 8
_ROOM = 2**26
_RATIO = 100
"""A compressed file may grow to `_ROOM` bytes and `_RATIO` times its own; a bomb grows a thousandfold."""
_END = struct.Struct("<4sHHHHIIH")
_ZIP64 = b"PK\x06\x07"
_SAFETENSORS = {
    "BOOL": "?",
    "U8": "|u1",
    "I8": "|i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
}
_NAMES = {np.dtype(kind): name for name, kind in _SAFETENSORS.items()}


def write_npz(path: PathLike, head: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """A description, with described values among its own, and arrays in one .npz file."""
    text = _described(head, arrays)
    with whole(path) as file:
        np.savez(file, **{_HEAD: np.array(text)}, **arrays)  # type: ignore[arg-type]


def write_safetensors(
    path: PathLike, head: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """The same in a safetensors file, the format of models' weights."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    listed: dict[str, Any] = {"__metadata__": {_HEAD: _described(head, arrays)}}
    start = 0
    for name, array in arrays.items():
        own = {
            "dtype": _NAMES[array.dtype],
            "shape": array.shape,
            "data_offsets": [start, start + array.nbytes],
        }
        listed[name], start = own, start + array.nbytes
    text = json.dumps(listed).encode()
    text += b" " * (-len(text) % 8)  # numbers begin at multiples of 8
    with whole(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(array.tobytes())


def read_saved(path: PathLike) -> tuple[dict[str, Any], Arrays]:
    """What `write_npz` or `write_safetensors` wrote."""
    content = read_bytes(path)
    if content[:2] == b"PK":
        arrays = _npz(path, content, texts=(_HEAD,))
        text = str(arrays.pop(_HEAD, ""))  # of one text, if it is ours
    else:
        text, arrays = _safetensors(path, content)
    head = json_text(path, text)
    if not isinstance(head, dict):
        raise FileError(path, "it has no description")
    if head.pop(_DIGEST, None) != _digest(head, arrays):
        raise FileError(path, "it is not as it was saved: it was damaged, or changed by hand")
    with meaning(path, f"in format {FORMAT}, that of this version of indistinct"):
        check_format(head.pop(_FORMAT, FORMAT))
    return head, arrays


def read_npz(path: PathLike, names: tuple[str, ...]) -> list[npt.NDArray[Any]]:
    """Arrays of an .npz file: numbers, truth values or texts."""
    arrays = _npz(path, read_bytes(path), texts=names)
    if missing := [name for name in names if name not in arrays]:
        raise FileError(
            path, f"it must be an .npz file with the arrays {' and '.join(names)}; there is no {missing[0]}"
        )
    return [arrays[name] for name in names]


def _described(head: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    plain_head = json.loads(json.dumps({**plain(head), _FORMAT: FORMAT}))
    return json.dumps({_DIGEST: _digest(plain_head, arrays), **plain_head})


def _digest(head: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    found = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        found.update(repr((name, array.dtype.str, array.shape)).encode())
        found.update(np.asarray(array, order="C").data if array.size else b"")
    return found.hexdigest()


def _npz(path: PathLike, content: bytes, texts: tuple[str, ...]) -> Arrays:
    _check_directory(path, content)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            _check_members(path, members, len(content))
            return {
                member.filename.removesuffix(".npy"): _array(
                    path, archive.read(member), texts, member.filename
                )
                for member in members
            }
    except FileError:
        raise
    except Exception:  # zlib, zipfile and struct have errors of their own for each thing that can be wrong
        raise FileError(path, "it is a damaged .npz file") from None


def _check_directory(path: PathLike, content: bytes) -> None:
    """The list of members is read as a whole: is it short? Files as large as we read need no second kind of
    list (ZIP64), which could tell otherwise."""
    if len(content) < _END.size or content[-_END.size :][:4] != b"PK\x05\x06":
        raise FileError(path, "it is not a whole .npz file")
    _, _, _, _, count, length, _, _ = _END.unpack(content[-_END.size :])
    if count > _MOST_MEMBERS or length > 2**20 or content[-_END.size - 20 :].startswith(_ZIP64):
        raise FileError(path, f"it is an archive of more than {_MOST_MEMBERS} arrays")


def _check_members(path: PathLike, members: list[zipfile.ZipInfo], size: int) -> None:
    if len({member.filename for member in members}) < len(members):
        raise FileError(path, "it holds two arrays of one name")
    if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
        raise FileError(path, "it is compressed in a way that is not read")
    if sum(member.file_size for member in members) > _ROOM + _RATIO * size:
        raise FileError(path, "it would grow too large in memory")


def _array(path: PathLike, data: bytes, texts: tuple[str, ...], name: str) -> npt.NDArray[Any]:
    """One member, in NumPy's own format, whose header is literals: nothing is unpickled."""
    stream = io.BytesIO(data)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, by_columns, dtype = read[np.lib.format.read_magic(stream)](stream)
    kinds = "biufU" if name.removesuffix(".npy") in texts else "biuf"
    return _filled(path, data[stream.tell() :], dtype, shape, name, kinds, "F" if by_columns else "C")


def _filled(
    path: PathLike,
    data: bytes | memoryview,
    dtype: Any,
    shape: Any,
    name: str,
    kinds: str = "biuf",
    order: Any = "C",
) -> npt.NDArray[Any]:
    """An array of so many bytes, neither more nor less, of numbers that are numbers."""
    if dtype.kind not in kinds:
        raise FileError(path, f"{name} does not hold numbers")
    plain = isinstance(shape, tuple | list) and all(type(side) is int and side >= 0 for side in shape)
    if not plain or len(shape) > _MOST_DIMENSIONS:
        raise FileError(path, f"{name} has no shape")
    if math.prod(shape) * dtype.itemsize != len(data) or (not dtype.itemsize and math.prod(shape) > 1):
        raise FileError(path, f"{name} has {len(data)} bytes, and its header says otherwise")
    array = np.frombuffer(data, dtype, math.prod(shape)) if len(data) else np.zeros(shape, dtype)
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise FileError(path, f"{name} holds numbers that are not finite")
    if dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise FileError(path, f"{name} holds truth values other than 0 and 1")
    if dtype.kind == "U" and (array.view(f"{dtype.byteorder}u4") > sys.maxunicode).any():
        raise FileError(path, f"{name} holds text with code points that do not exist")
    return array.reshape(shape, order=order)


def _safetensors(path: PathLike, content: bytes) -> tuple[str, Arrays]:
    """Eight bytes say how long the header is, which says where each array lies, one after the other."""
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(len(content) - 8, MOST_TEXT):
        raise FileError(path, "it is not a whole .npz or safetensors file")
    header = json_text(path, content[8 : 8 + length])
    numbers = memoryview(content)[8 + length :]
    try:
        text = header.pop("__metadata__")[_HEAD]
        listed = sorted(header.items(), key=lambda item: item[1]["data_offsets"])
        arrays, start = {}, 0
        for name, own in listed:
            first, last = own["data_offsets"]
            if type(first) is not int or type(last) is not int or not start == first <= last <= len(numbers):
                raise FileError(path, f"{name} does not lie where it should")
            arrays[name] = _filled(
                path, numbers[first:last], np.dtype(_SAFETENSORS[own["dtype"]]), own["shape"], name
            )
            start = last
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(path, "it is not a safetensors file that we wrote") from None
    if start != len(numbers) or not isinstance(text, str) or len(listed) > _MOST_MEMBERS:
        raise FileError(path, "it is not a safetensors file that we wrote")
    return text, arrays
