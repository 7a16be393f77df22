"""Files are hostile: everything that is read from one is checked before memory is taken, and every failure is
a `FileError` that names the file and the reason. Nothing that is read could run."""

from indistinct.files.arrays import read_npz, read_saved, write_npz, write_safetensors
from indistinct.files.opening import identity, meaning, read_bytes, whole
from indistinct.files.rows import plain_cell, read_rows, write_rows
from indistinct.files.text import json_text, read_json, read_toml

__all__ = [
    "identity",
    "json_text",
    "meaning",
    "plain_cell",
    "read_bytes",
    "read_json",
    "read_npz",
    "read_rows",
    "read_saved",
    "read_toml",
    "whole",
    "write_npz",
    "write_rows",
    "write_safetensors",
]
