"""Steps of training that a GPU records once and repeats."""

from collections.abc import Callable
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
