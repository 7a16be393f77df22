"""Files are hostile: everything that is read from one is checked before memory is taken, and every failure is
a `FileError` that names the file and the reason. Nothing that is read could run."""

from indistinct.files.arrays import read_npz as read_npz
from indistinct.files.arrays import read_saved as read_saved
from indistinct.files.arrays import write_npz as write_npz
from indistinct.files.arrays import write_safetensors as write_safetensors
from indistinct.files.opening import identity as identity
from indistinct.files.opening import meaning as meaning
from indistinct.files.opening import read_bytes as read_bytes
from indistinct.files.opening import whole as whole
from indistinct.files.rows import plain_cell as plain_cell
from indistinct.files.rows import read_rows as read_rows
from indistinct.files.rows import write_rows as write_rows
from indistinct.files.text import json_text as json_text
from indistinct.files.text import read_json as read_json
from indistinct.files.text import read_toml as read_toml
from indistinct.files.text import shown_json as shown_json
