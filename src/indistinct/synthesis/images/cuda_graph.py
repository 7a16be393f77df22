"""Steps of training that a GPU records once and repeats, and the arithmetic it does them with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, final

_BEFORE_RECORDING = 20
"""Steps that are taken one operation at a time before one is recorded."""


@final
class RecordedStep:
    """A step that a GPU records once and then repeats, without asking for each of its operations. On a CPU it
    is just taken. `clear` forgets the gradients of the step before."""

    def __init__(self, step: Callable[[], Any], clear: Callable[[], None], on_gpu: bool) -> None:
        self._step, self._clear, self._on_gpu = step, clear, on_gpu
        self._taken = 0
        self._recorded: Any = None
        self._result: Any = None

    def __call__(self) -> Any:
        import torch

        self._taken += 1
        if self._recorded is None:
            self._clear()
            if not self._on_gpu:
                return self._step()
            if self._taken <= _BEFORE_RECORDING:
                side = torch.cuda.Stream()
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    result = self._step()
                torch.cuda.current_stream().wait_stream(side)
                return result
            torch.cuda.synchronize()
            self._recorded = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._recorded):
                self._result = self._step()
        self._recorded.replay()
        return self._result


@contextmanager
def quick_and_repeatable(on_gpu: bool) -> Iterator[None]:
    """Products with ten bits of each factor, and convolutions that give the same numbers every time: on an
    H200 that takes no longer, and without it a seed does not repeat a training. Nothing that is accounted is
    computed in here. Both settings belong to the process, so they are put back."""
    import torch

    if not on_gpu:
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=True):
            yield
    finally:
        torch.set_float32_matmul_precision(before)
