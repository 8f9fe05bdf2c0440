"""A connection of one thread of a worker, which makes it again when it breaks. Another thread may cut it."""

from __future__ import annotations

import os
import random
import re
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Optional, TypeVar

import psycopg

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]


class Quitting(Exception):
    """Ends a thread of a worker when its time is over."""


class Lost(Exception):
    """The connection is gone, and it is not known what the call did."""


class NoDatabase(psycopg.OperationalError):
    """There is no such database: trying again would not help."""

    sqlstate = "3D000"


def backoff(failures: int, first: float, last: float) -> float:
    """The pause after a number of failures in a row: first, doubled each time, up to last."""
    return float(min(first * 2 ** min(failures - 1, 40), last))


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection broke, could not be made, or leads to a server that accepts no writes."""
    state = error.sqlstate
    if state is None:
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return state[:2] == "08" or state[:3] == "57P" or state == "25006"


class Link:
    def __init__(
        self,
        conninfo: dict[str, Any],
        setup: list[str],
        pauses: tuple[float, float],
        sleep: Callable[[float], bool],
        connected: Callable[[], None],
        failed: Callable[[psycopg.Error, bool], None],
        noticed: Callable[[str], None],
    ) -> None:
        self._conninfo = conninfo
        self._setup = setup
        self._pauses = pauses
        self._sleep = sleep  # False: the worker quits
        self._connected = connected
        self._failed = failed
        self._noticed = noticed
        self._failures = 0
        self._was_connected = False
        self._connection: Optional[Connection] = None
        self._lock = threading.Lock()  # guards the following against other threads
        self._socket: Optional[socket.socket] = None
        self._started: Optional[float] = None  # when the call that is running began
        self._closed = False

    def call(self, function: Callable[[Connection], T]) -> T:
        """Runs a function on the connection, which is made first if there is none.

        Raises Lost if the connection is gone, Quitting if the worker has no more time, psycopg.Error otherwise.
        """
        connection = self._ensure()
        try:
            result = self._busy(lambda: function(connection))
        except psycopg.Error as error:
            if not is_lost(error) and not connection.closed:
                raise
            self._drop(error, True)
            raise Lost from error
        self._failures = 0
        return result

    def cut_if_older(self, moment: float) -> None:
        """Breaks the connection if a call on it has been running since before that time."""
        with self._lock:
            if self._socket is not None and self._started is not None and self._started < moment:
                self._shut()

    def close(self) -> None:
        """Breaks the connection, so that a running call fails, and refuses all further calls."""
        with self._lock:
            self._closed = True
            if self._started is not None:
                self._shut()

    def end(self) -> None:
        """Called by the thread that uses it: tells the server that the connection ends."""
        if self._connection is not None:
            self._connection.close()
        self._release()

    def _shut(self) -> None:
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:  # it is broken already
                pass

    def _busy(self, function: Callable[[], T]) -> T:
        with self._lock:
            if self._closed:
                raise Quitting
            self._started = time.monotonic()
        try:
            return function()
        finally:
            with self._lock:
                self._started = None

    def _ensure(self) -> Connection:
        while self._connection is None or self._connection.closed:
            self._release()
            # The first attempt after a loss is made at once. A connection counts as good only after a successful call.
            if self._failures > 1:
                pause = backoff(self._failures - 1, *self._pauses)
                if not self._sleep(pause * (1 - random.random() / 2)):
                    raise Quitting
            elif self._closed or not self._sleep(0):
                raise Quitting
            try:
                self._connect()
            except psycopg.Error as error:
                self._drop(error, False)
                # libpq has no SQLSTATE of a connection that was refused; a server may say this in another language.
                if not self._was_connected and re.search('database ".*" does not exist', str(error)):
                    raise NoDatabase(f"{error}\nHINT:  Create the database, or name another one in the conninfo.") from error
                continue
            self._was_connected = True
            self._connected()
        return self._connection

    def _connect(self) -> None:
        made = psycopg.connect("", autocommit=True, prepare_threshold=0, **self._conninfo)
        made.add_notice_handler(self._on_notice)
        try:
            with self._lock:
                self._socket = socket.socket(fileno=os.dup(made.fileno()))
            for command in self._setup:
                self._busy(lambda: made.execute(command))
        except BaseException:
            made.close()
            raise
        self._connection = made

    def _on_notice(self, said: psycopg.errors.Diagnostic) -> None:
        if said.severity_nonlocalized in ("NOTICE", "WARNING"):  # what ends a connection may come this way, too
            self._noticed(said.message_primary or "")

    def _drop(self, error: psycopg.Error, was_connected: bool) -> None:
        if self._connection is not None:
            self._connection.close()
        self._release()
        self._failures += 1
        self._failed(error, was_connected)

    def _release(self) -> None:
        self._connection = None
        with self._lock:
            if self._socket is not None:
                self._socket.close()
                self._socket = None
