"""The assertions of metrics.sh; prints TAP.

metrics.py METRICS STAT_QUEUE EXPORTED DASHBOARD
metrics.py --address PID LOG      waits for the address that an exporter says it listens on
"""
import json
import math
import os
import re
import sys
import time

COLUMNS = """queue waiting ready running terminal oldest_ready submitted leased completed aborted cancelled failed expired
    yielded purged total_wait_time wait_histogram total_run_time run_histogram stats_reset refused shed""".split()
tests = 0


def ok(good, name, why=None):
    global tests
    tests += 1
    print(f"{'' if good else 'not '}ok {tests} - {name}")
    if not good and why is not None:
        print("\n".join(f"#   {line}" for line in str(why).splitlines()))


def equal(got, expected, name):
    ok(got == expected, name, f"got:      {got}\nexpected: {expected}")


def address(pid, log):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and os.path.exists(f"/proc/{pid}"):
        with open(log) as lines:
            found = re.search(r"address=(127\.0\.0\.1:\d+)", lines.read())
        if found:
            print(found[1])
            return
        time.sleep(0.05)
    with open(log) as lines:
        sys.exit("the exporter does not listen:\n" + lines.read())


def series(families):
    """{(name, labels): value} of what a parser gives."""
    return {(sample.name, tuple(sorted((k, float(v) if k == "le" else v) for k, v in sample.labels.items() if k != "server"))): sample.value
            for family in families for sample in family.samples}


def read_stat_queue(path):
    with open(path, newline="\n") as lines:
        text = lines.read()
    # A name may contain the separators.
    rows = {}
    for match in re.finditer(r"(.*?)\t((?:[^\t\n]*\t){20}[^\t\n]*)\n", text, flags=re.S):
        rows[match[1]] = dict(zip(COLUMNS[1:], match[2].split("\t")))
    return rows


def check_values(got, rows):
    def value(name, queue, **labels):
        return got.get((name, tuple(sorted({"queue": queue, **labels}.items()))))

    equal({labels[0][1] for (name, labels) in got if name == "pgscylla_leases_total"}, set(rows), "every queue is there, by its name")
    for queue, row in rows.items():
        pairs = [("pgscylla_tasks", {"state": state}, state) for state in ("waiting", "ready", "running", "terminal")]
        pairs += [("pgscylla_tasks_ended_total", {"status": status}, status) for status in ("completed", "aborted", "cancelled")]
        pairs += [("pgscylla_leases_lost_total", {"reason": reason}, reason) for reason in ("failed", "expired", "yielded")]
        pairs += [("pgscylla_tasks_turned_away_total", {"how": how}, how) for how in ("refused", "shed")]
        pairs += [("pgscylla_tasks_submitted_total", {}, "submitted"), ("pgscylla_tasks_purged_total", {}, "purged"),
                  ("pgscylla_leases_total", {}, "leased")]
        equal({(name, column): value(name, queue, **labels) for name, labels, column in pairs},
              {(name, column): float(row[column]) for name, _, column in pairs}, f"the counters of queue {queue!r}")
        for name, column in (("pgscylla_wait_seconds", "wait"), ("pgscylla_run_seconds", "run")):
            counts = [int(n) for n in row[f"{column}_histogram"].strip("{}").split(",")]
            bounds = [0.001 * 2 ** n for n in range(31)]
            expected = {bound: float(sum(counts[: i + 1])) for i, bound in enumerate(bounds)}
            expected[math.inf] = float(sum(counts))
            equal({round(bound, 3): value(name + "_bucket", queue, le=round(bound, 3)) for bound in expected},
                  {round(bound, 3): count for bound, count in expected.items()}, f"{name} of queue {queue!r}")
            equal((value(name + "_count", queue), round(value(name + "_sum", queue) or 0, 6)),
                  (float(sum(counts)), round(float(row[f"total_{column}_time"]) / 1000, 6)), "... its count and its sum")


def main(metrics_path, stat_path, exported_path, dashboard_path):
    from prometheus_client.openmetrics import parser as openmetrics
    from prometheus_client import parser as text_format

    with open(metrics_path, newline="\n") as file:
        text = file.read().removesuffix("\n")  # psql's own
    try:
        families = list(openmetrics.text_string_to_metric_families(text))
    except ValueError as error:
        ok(False, "metrics() is OpenMetrics", error)
        print(f"1..{tests}")
        return
    else:
        ok(len(families) == 44, "metrics() is OpenMetrics, with 44 families", len(families))
    ok(text.endswith("# EOF\n"), "it ends as it has to")
    got = series(families)
    rows = read_stat_queue(stat_path)
    equal(len(rows), 16, "there are queues to look at")
    mail = rows["mail"]
    equal([int(mail[c]) for c in ("waiting", "completed", "failed", "yielded", "aborted", "cancelled")], [1, 5, 1, 1, 4, 1],
          "something has happened in them")
    ok(int(mail["expired"]) > 0 and int(mail["submitted"]) == 21, "and more", mail)
    equal([(int(rows[queue]["refused"]), int(rows[queue]["shed"])) for queue in ("refuses", "sheds")], [(2, 0), (0, 3)],
          "and full queues have turned tasks away")
    check_values(got, rows)

    waits = {(name.removeprefix("pgscylla_"), *(v for _, v in labels)): v for (name, labels), v in got.items()
             if name in ("pgscylla_tasks_waiting_for", "pgscylla_queue_deferred", "pgscylla_queue_checks") and v > 0}
    equal(waits, {("tasks_waiting_for", "waits", "signal"): 3.0, ("tasks_waiting_for", "waits", "callback"): 2.0,
                  ("tasks_waiting_for", "waits", "check"): 3.0, ("tasks_waiting_for", "placed", "pool"): 1.0,
                  ("queue_deferred", "waits"): 1.0, ("queue_checks", "asked"): 1.0},
          "what tasks wait for, with what is not 0")
    triggers = {(name.removeprefix("pgscylla_trigger_"), *(v for _, v in labels)): v for (name, labels), v in got.items()
                if name.startswith("pgscylla_trigger_")}
    equal({key: v for key, v in triggers.items() if v > 0},
          {("fired_total", "pair"): 1.0, ("signals_waiting", "pair"): 1.0, ("sets_failing", "pair"): 1.0, ("skipped_total", "never"): 2.0,
           ("signals_waiting", 'held "back"'): 1.0, ("is_paused", 'held "back"'): 1.0}, "triggers, with what is not 0")
    equal(len(triggers), 18, "... and every number of each")

    pools = {(name, *(v for _, v in labels)): v for (name, labels), v in got.items() if name.startswith("pgscylla_pool_")}
    equal(pools, {("pgscylla_pool_capacity", "cluster", "cores"): 10.5, ("pgscylla_pool_reserved", "cluster", "cores"): 4.0,
                  ("pgscylla_pool_free", "cluster", "cores"): 3.5, ("pgscylla_pool_capacity", "cluster", 'a "b"'): 1.0,
                  ("pgscylla_pool_reserved", "cluster", 'a "b"'): 0.0, ("pgscylla_pool_free", "cluster", 'a "b"'): 1.0,
                  ("pgscylla_pool_tasks_waiting", "cluster"): 1.0, ("pgscylla_pool_tasks_placed", "cluster"): 1.0, ("pgscylla_pool_is_open", "cluster"): 1.0},
          "pools, by resource")

    workflows = {(name.removeprefix("pgscylla_workflow_"), *(v for _, v in labels)): v for (name, labels), v in got.items()
                 if name.startswith("pgscylla_workflow_") and "_oldest_" not in name and v > 0}
    equal(workflows, {("instances_total", "line"): 2.0, ("runs_live", "queued", "line"): 1.0, ("runs_live", "running", "line"): 1.0,
                      ("steps_live", "running", "line"): 1.0, ("instances_total", "lost"): 1.0, ("runs_failed", "lost"): 1.0},
          "workflows, with what is not 0")
    oldest = {(name, *(v for _, v in labels)) for (name, labels), v in got.items() if "_workflow_oldest_" in name and v > 0}
    equal(oldest, {(f"pgscylla_workflow_oldest_{what}_seconds", "line") for what in ("queued", "running")}, "... and what is oldest in them")

    with open(exported_path) as file:
        exported = {key: v for key, v in series(text_format.text_string_to_metric_families(file.read())).items()
                    if key[0].startswith("pgscylla_")}
    moving = ("pgscylla_oldest_ready_seconds", "pgscylla_monitor_", "pgscylla_workflow_oldest_")
    equal(sorted(map(str, set(exported) ^ set(got))), [], "postgres_exporter has the same series")
    # The exporter has been through a double on its way: 0.003841 can come as 0.0038410000000000002.
    equal({str(k): (v, got.get(k)) for k, v in exported.items()
           if not k[0].startswith(moving) and not (k in got and math.isclose(v, got[k], rel_tol=1e-12))}, {},
          "with the same values")

    with open(dashboard_path) as file:
        dashboard = json.load(file)
    asked = {name for panel in dashboard["panels"] for target in panel.get("targets", [])
             for name in re.findall(r"pgscylla_\w+", target["expr"])}
    asked |= {name for variable in dashboard["templating"]["list"] for name in re.findall(r"pgscylla_\w+", variable.get("query", ""))}
    there = {name for name, _ in got}
    ok(bool(asked) and asked <= there, "the dashboard asks for metrics that there are", sorted(asked - there))
    equal(sorted({re.sub(r"_(total|bucket|sum|count)$", "", name) for name in there}
                 - {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in asked}), [], "... and for all of them")
    print(f"1..{tests}")


if sys.argv[1] == "--address":
    address(*sys.argv[2:])
else:
    main(*sys.argv[1:])
