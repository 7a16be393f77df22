"""Released columns as a pandas frame, with declared types."""

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt


def pandas_frame(
    columns: Mapping[str, npt.NDArray[Any]],
    types: Mapping[str, str],
    categories: Mapping[str, list[Any]],
) -> Any:
    """Columns as a pandas frame; categorical ones list the declared categories."""
    import pandas as pd  # type: ignore[import-untyped,unused-ignore]

    frame = pd.DataFrame(dict(columns))
    for name, kind in types.items():
        if name not in columns or str(frame[name].dtype) == kind:
            continue
        listed = kind == "category" and name in categories
        frame[name] = frame[name].astype(pd.CategoricalDtype(categories[name]) if listed else kind)
    return frame
