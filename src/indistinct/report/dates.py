"""Dates and times along an axis: where years, months, days or hours begin."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

_EPOCH = datetime(1970, 1, 1)
_MINUTE, _DAY = 60_000_000, 86_400_000_000
_MONTHS = [(months, "%Y-%m") for months in (1, 2, 3, 6)]
_YEARS = [(12 * years * 10**power, "%Y") for power in range(4) for years in (1, 2, 5)]
_SHORT = [
    *((timedelta(minutes=m), "%Y-%m-%d %H:%M") for m in (1, 5, 15, 30, 60, 180, 360, 720)),
    *((timedelta(days=d), "%Y-%m-%d") for d in (1, 2, 5, 10)),
]


@dataclass(frozen=True)
class TimeScale:
    """Numbers that stand for times: so many microseconds each, since the beginning of 1970."""

    microseconds: int

    def written(self, number: float) -> str:
        """A number as clocks show it, no finer than it is and without midnight; itself, where there is no
        such day.

        >>> TimeScale(3_600_000_000).written(12.0), TimeScale(86_400_000_000).written(1.5)
        ('1970-01-01 12:00', '1970-01-02')
        """
        try:
            time = self._time(number)
        except OverflowError:
            return f"{number:.6g}"
        if self.microseconds == _DAY:
            return time.date().isoformat()
        text = time.isoformat(" ", "seconds" if self.microseconds < _MINUTE else "minutes")
        return text.removesuffix(" 00:00:00").removesuffix(" 00:00")

    def ticks(self, low: float, high: float, most: int) -> list[tuple[float, str]]:
        """At most so many places between two ends, as evenly as calendars allow.

        >>> TimeScale(86_400_000_000).ticks(10957, 14610, 4)
        [(10957.0, '2000'), (12784.0, '2005'), (14610.0, '2010')]
        """
        try:
            start, end = self._time(low), self._time(high)
        except OverflowError:
            return [(low, self.written(low)), (high, self.written(high))]
        for step, form in [*_SHORT, *_MONTHS, *_YEARS]:
            length = step if isinstance(step, timedelta) else timedelta(days=30 * step)
            if (end - start) / length > most + 1:  # do not list what is too much
                continue
            found = list(_begun(step, start, end))
            if len(found) <= most:
                return [
                    ((one - _EPOCH) / timedelta(microseconds=self.microseconds), one.strftime(form))
                    for one in found
                ]
        return []

    def _time(self, number: float) -> datetime:
        return _EPOCH + timedelta(microseconds=round(number * self.microseconds))


def _begun(step: timedelta | int, start: datetime, end: datetime) -> Iterator[datetime]:
    """Where steps begin, in months or of one length, between two times."""
    if isinstance(step, timedelta):
        number = -((_EPOCH - start) // step)
        while (one := _EPOCH + number * step) <= end:
            yield one
            number += 1
        return
    months = 12 * start.year + start.month - 1
    months += start > datetime(start.year, start.month, 1)
    for number in range(-(-months // step) * step, 12 * end.year + end.month, step):
        yield datetime(number // 12, number % 12 + 1, 1)
