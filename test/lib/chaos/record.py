"""The record: what clients did and what they were told, in a file per client, outside the server.

A client writes each operation before it sends it, and the outcome when the server has reported it. So a client that is
killed leaves at worst an operation without an outcome, which may have happened or not. An operation is a transaction: it
has parts, of which all have happened or none. Times are those of the machine's monotonic clock, the same for all
processes.
"""
import glob
import json
import os
import time

OK, NO, UNKNOWN = "ok", "no", "unknown"


class Recorder:
    def __init__(self, folder, client):
        self.file = os.open(f"{folder}/{client}.record", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.numbers = 0

    def _put(self, **entry):
        entry["t"] = time.monotonic()
        os.write(self.file, (json.dumps(entry, separators=(",", ":")) + "\n").encode())

    def begin(self, parts, gid=None, resolve=None):
        """An operation that will be sent. gid names a transaction that will be prepared; resolve is the end of one:
        {"gid": ..., "commit": ...}."""
        self.numbers += 1
        self._put(n=self.numbers, begin=parts, **({"gid": gid} if gid else {}), **({"resolve": resolve} if resolve else {}))
        return self.numbers

    def parts(self, number, parts):
        """The contents of a transaction; written before its commit is sent."""
        self._put(n=number, parts=parts)

    def prepared(self, number):
        self._put(n=number, prepared=True)

    def ok(self, number, parts=None):
        """It is committed. parts: now with the server's answers."""
        self._put(n=number, ok=parts)

    def no(self, number, why):
        """It is certain that nothing of it has happened."""
        self._put(n=number, no=why)


class Op:
    """An operation as the observer sees it: between `begin` and `end` it took place, if outcome is OK; at any time since
    `begin`, or never, if it is UNKNOWN; never if it is NO."""

    __slots__ = ("client", "number", "begin", "end", "outcome", "parts", "gid", "resolve", "prepared")

    def __init__(self, client, number, begin, parts, gid=None, resolve=None):
        self.client, self.number, self.begin, self.parts = client, number, begin, parts
        self.gid, self.resolve, self.prepared = gid, resolve, False
        self.end, self.outcome = None, UNKNOWN

    def unanswered(self):
        op = Op(self.client, self.number, self.begin, self.parts, self.gid, self.resolve)
        op.prepared = self.prepared
        return op

    def __repr__(self):
        end = "" if self.end is None else f"..{self.end:.3f}"
        return f"{self.client}#{self.number} at {self.begin:.3f}{end}"


class Record:
    """All files of a folder; `read` continues where it ended the last time."""

    def __init__(self, folder):
        self.folder = folder
        self.places = {}
        self.ops = {}

    def read(self):
        for path in sorted(glob.glob(f"{self.folder}/*.record")):
            client = os.path.basename(path).removesuffix(".record")
            with open(path, "rb") as file:
                file.seek(self.places.get(path, 0))
                for line in file:
                    if not line.endswith(b"\n"):
                        break  # just being written
                    self.places[path] = self.places.get(path, 0) + len(line)
                    self._take(client, json.loads(line))
        self._resolve()

    def until(self, cut):
        """What was known at a moment: operations that began later are left out, and those that ended later have no outcome yet.
        The files are read one after the other, so without this the answers in one may refer to entries missing in another."""
        return [op if op.end is None or op.end <= cut else op.unanswered() for op in self.ops.values() if op.begin <= cut]

    def _take(self, client, entry):
        key = client, entry["n"]
        if "begin" in entry:
            self.ops[key] = Op(client, entry["n"], entry["t"], entry["begin"], entry.get("gid"), entry.get("resolve"))
            return
        op = self.ops[key]
        if "parts" in entry:
            op.parts = entry["parts"]
        elif "prepared" in entry:
            op.prepared = True
        elif "ok" in entry:
            op.outcome, op.end, op.parts = OK, entry["t"], op.parts if entry["ok"] is None else entry["ok"]
        else:
            op.outcome, op.end = NO, entry["t"]

    def _resolve(self):
        """A prepared transaction ends with the COMMIT PREPARED, or the ROLLBACK, of any client."""
        transactions = {op.gid: op for op in self.ops.values() if op.gid}
        for op in self.ops.values():
            if op.resolve and op.outcome == OK:
                transaction = transactions[op.resolve["gid"]]
                transaction.outcome, transaction.end = (OK if op.resolve["commit"] else NO), op.end
