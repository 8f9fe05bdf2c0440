"""Makes the report of a run: python3 report.py WORK-FOLDER [--smoke]

Reads the files figures (measure, contender, round, value), notes, machine of the folder, prints Markdown.
"""
import collections
import pathlib
import statistics
import sys

TITLES = {
    "single": "Lease 1 and complete 1, two transactions, 8 clients, 100,000 ready: tasks per second",
    "batch": "Lease 50 and complete 50, two transactions, 2 clients: tasks per second",
    "submit": "Submit 1 per transaction, 8 clients: tasks per second",
    "bulk": "Submit 1,000 per transaction, 2 clients: tasks per second",
    "heartbeat": "Heartbeat, 8 clients: per second",
    "size": "Lease 1 and complete 1, 8 clients, by the number of ready tasks over 128 priorities: tasks per second",
    "cases": "Lease 1 and complete 1, 8 clients, by what else is in the tables: tasks per second",
    "purge": "Lease 1 and complete 1, 8 clients, while finished tasks are purged: tasks per second",
    "cancel": "Lease 1 and complete 1, 8 clients, while waiting tasks of the queue are cancelled: tasks per second",
    "handler": "Tasks of a handler that does nothing, by one process: tasks per second",
    "runners": "End to end by the peers' own workers, tasks that do nothing: tasks per second",
}
STEADY = {"cycle": "Submit 1, lease 1, complete 1, 4 clients", "troubled": "The same, 1 % of the tasks fail once, 1 % are delayed by a second",
          "heartbeat": "Heartbeats of 5,000 leases, 8 clients"}


class Run:
    def __init__(self, folder):
        self.folder = folder
        self.values = collections.defaultdict(dict)  # (measure, contender) -> {round: value}
        for line in self.lines("figures"):
            measure, contender, round_, value = line.split("\t")
            self.values[measure, contender][int(round_)] = float(value)

    def lines(self, name):
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def contenders(self, measure):
        return [c for m, c in self.values if m == measure]

    def median(self, measure, contender):
        values = self.values.get((measure, contender))
        return statistics.median(values.values()) if values else None

    def ratio(self, over, under, factor=1.0):
        """The median over the rounds of the ratio within a round: what slows a whole round cancels out."""
        a, b = self.values.get(over, {}), self.values.get(under, {})
        ratios = [a[r] / (b[r] * factor) for r in a if b.get(r)]
        return statistics.median(ratios) if ratios else None


def table(head, rows):
    widths = [max(len(str(row[i])) for row in [head] + rows) for i in range(len(head))]
    def line(row):
        return "| " + " | ".join(str(cell).ljust(width) for cell, width in zip(row, widths)) + " |"
    return "\n".join([line(head), "| " + " | ".join("-" * width for width in widths) + " |"] + [line(row) for row in rows]) + "\n"


def number(value):
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def rates(run, measure, base):
    rows = []
    for contender in run.contenders(measure):
        values = run.values[measure, contender].values()
        ratio = run.ratio((measure, contender), (measure, base))
        cpu = run.median(f"{measure}, cpu", contender)
        row = [contender, number(statistics.median(values)), f"{number(min(values))} .. {number(max(values))}"]
        if base:
            row += ["-" if ratio is None else f"{ratio:.2f}", "-" if cpu is None else f"{cpu:.1f}"]
        rows.append(row)
    head = ["contender", "median", "rounds"] + ([f"to {base}", "server CPU µs a task"] if base else [])
    return f"### {TITLES[measure]}\n\n" + table(head, rows)


def steady(run):
    rows = []
    for measure, title in STEADY.items():
        for contender in run.contenders(f"{measure} held"):
            held = (f"{measure} held", contender)
            rows.append([title, contender, number(run.median(f"{measure} free", contender)), number(run.median(*held)),
                         number(run.median(f"{measure} held, first", contender)), number(run.median(f"{measure} held, last", contender))])
    head = ["per second", "contender", "free", "snapshot held", "its first sixth", "its last sixth"]
    return "### While another session holds a snapshot\n\n" + table(head, rows) if rows else ""


def latency(run):
    rows = [[c, f"{run.median('latency p50', c):.2f}", f"{run.median('latency p99', c):.2f}"] for c in run.contenders("latency p50")]
    return "### Latency and lateness, milliseconds\n\n" + table(["what", "p50", "p99"], rows) if rows else ""


GATES = {
    "fan-out": "Complete a task that so many wait for: seconds",
    "fan-in single": "Lease and complete providers of one join, 8 clients, one by one: per second",
    "fan-in batch": "The same in batches of 50: per second",
    "building": "Submit 10,000 tasks by submit_many: seconds",
    "loading": "Load a plan: seconds",
    "running": "Run it, batches of 50, a chain by one worker and a graph by eight: tasks per second",
}


def gates(run):
    rows = [[title, c, number(run.median(measure, c))] for measure, title in GATES.items() for c in run.contenders(measure)]
    return "### Tasks that wait for tasks\n\n" + table(["what", "of which", "median"], rows) if rows else ""


CONDITIONS = {
    "signal opens one": "A signal that opens one of so many tasks that wait for that name: seconds",
    "signal opens all": "One that opens all of them: seconds",
    "100 answers, server ms": "100 checks for so many tasks answer \"not yet\": CPU of the server, ms",
    "idle, percent of a CPU": "So many tasks wait for signals, and nothing happens: the server's percent of a CPU",
    "idle databases, percent of a CPU": "So many databases in which nothing is to be done: the server's percent of a CPU",
    "idle, bytes of WAL": "Meanwhile: bytes of WAL",
}


def conditions(run):
    rows = [[title, c, f"{run.median(measure, c):.4g}"] for measure, title in CONDITIONS.items() for c in run.contenders(measure)]
    return "### Tasks that wait for conditions\n\n" + table(["what", "tasks", "median"], rows) if rows else ""


POOLS = {
    "pool rate": "Complete and lease, batches of 12, 8 clients: tasks per second",
    "pass over all, ms": "A pass over so many waiting tasks of 50 pools with 3 resources, the shortest of five: ms",
    "pass after one end, ms": "A pass there after one end, the shortest of five: ms",
    "idle in line, percent of a CPU": "Nothing happens while so many tasks wait there: the server's percent of a CPU",
}


def pools(run):
    rows = [[title, c, number(run.median(measure, c))] for measure, title in POOLS.items() for c in run.contenders(measure)]
    return "### Tasks that need something of a pool\n\n" + table(["what", "of which", "median"], rows) if rows else ""


WORKFLOWS = {
    "chains": "Workflows of 3 steps in a chain, from the start of the first to the end of the last: per second",
    "loop, seconds": "A foreach of so many iterations and the step after it, 2 workers in batches of 50: seconds",
    "loop, WAL per iteration": "Meanwhile: bytes of WAL per iteration",
    "loop, longest transaction of the engine, ms": "Meanwhile: the longest transaction of the engine, ms",
    "loop, memory of the engine, MB": "Meanwhile: the engine's own memory, MB",
    "expression, µs": "The expression `a + b > 10 ? 'x' : params['y']`: µs",
    "next step p50": "From the return of a step's function to the call of the next one's, p50 ms",
    "next step p99": "The same, p99 ms",
}
FLOW_PEERS = ["dbos", "absurd"]  # on PostgreSQL, as we are


def workflows(run):
    rows = [[title, c, f"{run.median(measure, c):.4g}"] for measure, title in WORKFLOWS.items() for c in run.contenders(measure)]
    return "### Workflows\n\n" + table(["what", "of which", "median"], rows) if rows else ""


WAL_VERBS = ["submit", "lease", "lease and complete", "heartbeat", "vacuum"]


def whole_life(run, contender):
    parts = [run.median("wal submit", contender), run.median("wal lease and complete", contender)]
    return None if None in parts else sum(parts)


def wal(run):
    def cell(contender, verb):
        return number(run.median(f"wal {verb}", contender))
    rows = [[verb, cell("scylla", verb), cell("plain", verb)] for verb in WAL_VERBS]
    rows.append(["whole life (submit, lease, complete)", number(whole_life(run, "scylla")), number(whole_life(run, "plain"))])
    return ("### WAL, bytes per task, without page images\n\n" + table(["verb", "scylla", "plain"], rows)) if whole_life(run, "scylla") else ""


def goals(run):
    """(what, measured, floor, aim, whether less is better) in the order of the issue."""
    def worst(measure, base):
        ratios = [run.ratio((measure, c), (measure, base)) for c in run.contenders(measure) if c != base]
        return min((r for r in ratios if r is not None), default=None)

    def spread(measure):
        medians = [run.median(measure, c) for c in run.contenders(measure)]
        return min(medians) / max(medians) if medians else None

    def over(measure, a, b, factor=1.0):
        return run.ratio((measure, a), (measure, b), factor)

    def held(measure):
        return run.ratio((f"{measure} held", "scylla"), (f"{measure} free", "scylla"))

    def over_best(measure, a, peers):
        """To the fastest of the peers that took part; nothing if none did."""
        ratios = [run.ratio((measure, a), (measure, peer)) for peer in peers]
        return min((r for r in ratios if r is not None), default=None)

    def flat(measure):
        return run.ratio((f"{measure} held, last", "scylla"), (f"{measure} held, first", "scylla"))

    ours, theirs = whole_life(run, "scylla"), whole_life(run, "plain")
    ms = run.median
    rows = [
        ("lease 1 + complete 1, to plain", over("single", "scylla", "plain"), 1.3, 1.6, False),
        ("lease 1 + complete 1, to half the UPDATE rate", over("single", "scylla", "limit update", 0.5), 0.85, None, False),
        ("complete_and_lease one by one, to plain's pair", over("single", "scylla one_call", "plain"), 1.9, 2.5, False),
        ("lease 50 + complete 50, to plain", over("batch", "scylla", "plain"), 1.7, 2.5, False),
        ("lease 50 + complete 50, to plain_delete", over("batch", "scylla", "plain_delete"), 1.25, None, False),
        ("submit, to plain", over("submit", "scylla", "plain"), 0.85, 1.0, False),
        ("submit, to pg-boss", over("submit", "scylla", "pg-boss"), 1.4, None, False),
        ("submit_bulk, to plain's multi-row INSERT", over("bulk", "scylla", "plain"), 0.6, 1.0, False),
        ("heartbeat, to the UPDATE rate", over("heartbeat", "scylla", "limit update"), 0.9, 1.0, False),
        ("snapshot held, to free", held("cycle"), 0.9, 1.0, False),
        ("snapshot held, last sixth to first", flat("cycle"), 0.9, 1.0, False),
        ("snapshot held, with fails and delays, to free", held("troubled"), 0.85, None, False),
        ("snapshot held, with fails and delays, last sixth to first", flat("troubled"), 0.9, None, False),
        ("snapshot held, heartbeats, to free", held("heartbeat"), 0.8, None, False),
        ("snapshot held, heartbeats, last sixth to first", flat("heartbeat"), 0.9, None, False),
        ("sizes: the slowest to the fastest", spread("size"), 0.9, None, False),
        ("cases: the slowest to nothing else", worst("cases", "nothing else"), 0.9, None, False),
        ("purge meanwhile, to without", over("purge", "meanwhile", "without"), 0.9, None, False),
        ("cancelling meanwhile, to without", over("cancel", "meanwhile", "without"), 0.8, None, False),
        ("fan-out to 10,000, seconds", ms("fan-out", "10000"), 0.2, None, True),
        ("fan-out to 100,000, seconds", ms("fan-out", "100000"), 2, None, True),
        ("fan-in one by one, joined to free", over("fan-in single", "joined", "free"), 0.7, None, False),
        ("fan-in in batches, joined to free", over("fan-in batch", "joined", "free"), 0.7, None, False),
        ("building a plan of 2 edges a task, to its tasks without edges", over("building", "2 dependencies each", "without edges"), 2, None, True),
        ("building a plan of 10 edges a task, to its tasks without edges", over("building", "10 dependencies each", "without edges"), 2, None, True),
        ("a signal to the worker, p50 ms", ms("latency p50", "from the signal to the worker"), 1.5, 0.7, True),
        ("a signal to the worker, p99 ms", ms("latency p99", "from the signal to the worker"), 8, 4, True),
        ("a signal opens one of 100,000, seconds", ms("signal opens one", "100000"), 0.005, 0.002, True),
        ("a signal opens all 100,000, seconds", ms("signal opens all", "100000"), 3, 1, True),
        ("100,000 tasks wait, percent of a CPU", ms("idle, percent of a CPU", "100000"), 0.5, 0.1, True),
        ("a handler that does nothing, by one server worker, per second", ms("handler", "a server worker"), 3000, 6000, False),
        ("a freed permit to the next worker, p50 ms", ms("latency p50", "from a freed permit to the next worker"), 3, None, True),
        ("through a pool of 100 permits, per second", ms("pool rate", "100 permits"), 5000, None, False),
        ("a pass over 10,000 waiting tasks and 50 pools, ms", ms("pass over all, ms", "10000"), 100, 40, True),
        ("10,000 tasks wait for pools, percent of a CPU", ms("idle in line, percent of a CPU", "10000"), 0.5, 0.1, True),
        ("a pass there after one end, ms", ms("pass after one end, ms", "10000"), 5, 1, True),
        ("the end of a step to the next one, p50 ms", ms("latency p50", "from the end of a step to the worker with the next one"), 2.5, 1.2, True),
        ("the end of a step to the next one, p99 ms", ms("latency p99", "from the end of a step to the worker with the next one"), 10, 4, True),
        ("a signal that starts a workflow, to its first worker, p50 ms", ms("latency p50", "from a signal to the worker with the first step that it starts"), 3, None, True),
        ("chains of 3 steps, one by one, per second", ms("chains", "one by one"), 300, 530, False),
        ("a foreach of 1,000, seconds", ms("loop, seconds", "1000"), 0.5, 0.25, True),
        ("a foreach of 25,000, seconds", ms("loop, seconds", "25000"), 8, 3, True),
        ("a foreach of 25,000, longest transaction of the engine, ms", ms("loop, longest transaction of the engine, ms", "25000"), 100, None, True),
        ("a foreach of 25,000, memory of the engine, MB", ms("loop, memory of the engine, MB", "25000"), 300, 100, True),
        ("the end of a foreach to the step after it, p99 ms", ms("latency p99", "from the end of a loop's last step to the worker with the step after it"), 10, 3, True),
        ("chains one by one, with 110,000 other runs there, to without", over("chains", "one by one, many runs there", "one by one"), 0.9, None, False),
        ("an expression, µs", ms("expression, µs", "parsed before"), 5, 1, True),
        ("WAL per iteration, bytes", ms("loop, WAL per iteration", "25000"), 4000, 2000, True),
        ("pick-up, p50 ms", ms("latency p50", "pick-up"), 1, 0.3, True),
        ("pick-up, p99 ms", ms("latency p99", "pick-up"), 5, 1, True),
        ("lateness of a due task, p99 ms", ms("latency p99", "due task"), 20, 5, True),
        ("lateness of a lease's end, p99 ms", ms("latency p99", "end of lease"), 20, 5, True),
        ("WAL of a whole life, to plain", ours / theirs if ours and theirs else None, 0.95, 0.8, True),
    ]
    # They are not everywhere: what could not be compared is said in the notes.
    compared = [("chains one by one, to the best of DBOS and Absurd", over_best("chains", "one by one", FLOW_PEERS), 1.5, None, False),
                ("chains in batches of 50, to the best of DBOS and Absurd", over_best("chains", "batches of 50", FLOW_PEERS), 2, 4, False)]
    databases = [("a due task beside idle databases, p50, to one database", over("latency p50", "due task, beside idle databases", "due task, one database"), 1.2, None, True),
                 ("the next step beside idle databases, p50, to one database", over("latency p50", "next step, beside idle databases", "next step, one database"), 1.2, None, True),
                 ("a due task of an idle database, p50 ms", ms("latency p50", "due task of an idle database"), 50, None, True),
                 ("a due task of an idle database, p99 ms", ms("latency p99", "due task of an idle database"), 150, None, True),
                 ("a due task of one of five times as many busy databases as monitors, p99 ms", ms("latency p99", "due task of a busy database"), 4000, None, True)]
    return rows + [row for row in compared + databases if row[1] is not None]


def verdict(value, floor, aim, less):
    def met(goal):
        return goal is not None and (value <= goal if less else value >= goal)
    if value is None:
        return "not measured"
    return "aim" if met(aim) else "pass" if met(floor) else "below"


def main():
    run = Run(pathlib.Path(sys.argv[1]))
    smoke = "--smoke" in sys.argv[2:]
    print("# Benchmark results\n")
    print("Made by `bench/run`; how to read it: [README.md](README.md).\n")
    if smoke:
        print("**A smoke run: it shows that everything runs; its figures mean nothing.**\n")
    print("\n".join(f"* {line}" for line in run.lines("machine")) + "\n")

    print("## Floors and aims\n")
    def goal(value, less):
        return "-" if value is None else ("≤ " if less else "≥ ") + f"{value:g}"
    rows = [[what, "-" if value is None else f"{value:.2f}", goal(floor, less), goal(aim, less), verdict(value, floor, aim, less)]
            for what, value, floor, aim, less in goals(run)]
    print(table(["measure", "here", "floor", "aim", "result"], rows))

    print("## Figures\n")
    bases = {"handler": "CALL scylla.work()", "size": next(iter(run.contenders("size")), ""), "cases": "nothing else", "purge": "without", "cancel": "without", "runners": None}
    for measure in TITLES:
        contenders = run.contenders(measure)
        if contenders:
            print(rates(run, measure, bases.get(measure, "plain" if "plain" in contenders else contenders[-1])))
    for part in (steady, gates, conditions, pools, workflows, latency, wal):
        text = part(run)
        if text:
            print(text)
    if run.lines("notes"):
        print("### Notes\n")
        print("\n".join(f"* {line}" for line in run.lines("notes")))


main()
