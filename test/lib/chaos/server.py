"""A private cluster for faults."""
import os
import re
import resource
import signal
import subprocess
import time

import psycopg2

SETTINGS = """
listen_addresses = ''
shared_preload_libraries = 'scylla'
log_line_prefix = '%m [%p] %e %b %q%a '
log_statement = none
fsync = off                             # processes die here, not the machine
max_connections = 60
max_prepared_transactions = 20
max_worker_processes = 16
scylla.monitor_idle = '1 s'             # so that databases do without a monitor, and get one again
shared_buffers = 64MB
autovacuum_naptime = 1s
"""
# What a server must not log, whatever the faults. A REINDEX CONCURRENTLY that was interrupted leaves an invalid index, which
# the next one reports as XX002.
BAD = re.compile(r"PANIC|TRAP|XX\d{3}(?!.*cannot reindex invalid index)|leak|still referenced|not closed|not owned|stuck spinlock"
                 r"|could not (?:read|write|access) (?:block|status)|invalid (?:page|memory)|corrupt", re.IGNORECASE)
SIGNALLED = re.compile(r"was terminated by signal (\d+)")


def allow_cores():
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


class Server:
    def __init__(self, folder, socket_dir):
        self.data, self.log, self.socket_dir = f"{folder}/data", f"{folder}/log", socket_dir
        self.dsn = f"host={socket_dir} port=5432 user=postgres dbname=postgres"
        self.process = None
        self.stopped = set()  # pids that were sent SIGSTOP

    def _run(self, *command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout}\n" + self.log_tail())
        return done.stdout

    def log_tail(self, lines=30):
        if not os.path.exists(self.log):
            return ""
        with open(self.log, errors="replace") as file:
            return "".join(file.readlines()[-lines:])

    def create(self):
        self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
        with open(f"{self.data}/postgresql.conf", "a") as file:
            file.write(SETTINGS + f"unix_socket_directories = '{self.socket_dir}'\nport = 5432\n")
        self.start()

    def start(self):
        """Started by us, not by pg_ctl, so that we notice at once when the postmaster has ended, for any reason."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(["postgres", "-D", self.data], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=allow_cores, start_new_session=True)
        self.wait_until_it_answers()

    def stop(self, mode):
        self.process.send_signal({"fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode])
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"the server does not stop ({mode}):\n" + self.log_tail()) from error

    def children(self, kind=None):
        """Pids of the server's processes whose title contains `kind`, from the system, which always answers."""
        try:
            parent = self.process.pid
            with open(f"/proc/{parent}/task/{parent}/children") as file:
                pids = [int(pid) for pid in file.read().split()]
        except OSError:
            return []
        return [pid for pid in pids if kind is None or kind in self.title(pid)]

    @staticmethod
    def title(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            return ""

    def kill_postmaster(self):
        """SIGKILL, and a start as soon as its children have noticed."""
        children = self.children()
        self.process.kill()
        self.process.wait()
        deadline = time.monotonic() + 60
        while any(self.title(pid) for pid in children):
            self.wake_all()
            if time.monotonic() > deadline:
                raise RuntimeError("children outlive their postmaster: " + ", ".join(filter(None, map(self.title, children))))
            time.sleep(0.02)
        self.start()

    def freeze(self, pid):
        self.send(pid, signal.SIGSTOP)
        self.stopped.add(pid)

    def wake(self, pid):
        self.stopped.discard(pid)
        self.send(pid, signal.SIGCONT)

    def wake_all(self):
        for pid in list(self.stopped):
            self.wake(pid)

    @staticmethod
    def send(pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def wait_until_it_answers(self, patience=120):
        deadline = time.monotonic() + patience
        while True:
            try:
                psycopg2.connect(self.dsn + " connect_timeout=10").close()
                return
            except psycopg2.OperationalError as error:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise RuntimeError(f"the server does not answer: {error}\n" + self.log_tail()) from error
                time.sleep(0.05)

    def complaints(self):
        """Traces in the log and the data folder of things that must not happen."""
        found = []
        with open(self.log, errors="replace") as file:
            for line in file:
                line = line.replace(self.socket_dir, "")  # a random name, which may have any of these words in it
                died = SIGNALLED.search(line)
                if BAD.search(line) or died and int(died[1]) not in (signal.SIGKILL, signal.SIGQUIT, signal.SIGTERM):
                    found.append("server log: " + line.strip()[:300])
        found += [f"core file: {name}" for name in os.listdir(self.data) if name.startswith("core")]
        return found
