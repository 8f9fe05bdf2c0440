"""What an error of the server means for the report that it refuses. The same rule, in the same words, as in the other
libraries: docs/client.md of Scylla, "When the server refuses a report"."""

from __future__ import annotations

import enum
from typing import Optional

MAX_REPEATS = 5  # of a report after an error that may be temporary or not
MAX_DOUBTS = 20  # times that the connection broke while a report was sent alone


class Fate(enum.Enum):
    TEMPORARY = "temporary"
    """Another transaction, or the server, is in the way: the same report is sent again."""
    PERMANENT = "permanent"
    """The same report would fail again."""
    UNKNOWN = "unknown"
    """It is sent again, a few times."""


def fate_of(sqlstate: Optional[str]) -> Fate:
    """None: an error of this side, for example a value that cannot be sent. Lost connections are none of these errors."""
    if sqlstate is None:
        return Fate.PERMANENT
    if sqlstate[:2] in ("08", "40") or sqlstate[:3] == "57P" or sqlstate in ("25006", "53100", "53300", "55006", "55P03"):
        return Fate.TEMPORARY
    if sqlstate[:2] in ("0A", "21", "22", "23", "42", "54") or sqlstate == "55000":
        return Fate.UNKNOWN if sqlstate == "42501" else Fate.PERMANENT
    return Fate.UNKNOWN
