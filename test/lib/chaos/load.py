"""The clients and the observer of the chaos without its faults: for tests with their own faults (test/t/failover.pl).

    load.py work FOLDER PREFIX CONNECTION SEED     clients at work, until standard input ends
    load.py finish FOLDER PREFIX CONNECTION        brings what they left to its end
    load.py judge FOLDER PREFIX CONNECTION         compares
    load.py lossy FOLDER PREFIX CONNECTION         counts what a failover has lost, and what it must not have done
"""
import select
import sys
import time

from chaos import LIMIT, PATIENCE
from record import OK, Record
from rules import Observer, lost_suffix
from state import connect, look
from team import ROLES, Team, create_queues, finish, rules_of


def work(folder, prefix, dsn, seed):
    connection = connect(dsn)
    create_queues(connection, prefix, LIMIT)
    connection.close()
    team = Team(folder, prefix, dsn, seed)
    try:
        for role in ROLES:
            team.hire(role)
        while not select.select([sys.stdin], [], [], 0.1)[0]:
            if problem := team.replace_dead():
                return [problem]
        return team.dismiss()
    finally:
        team.kill()


def end_all(folder, prefix, dsn):
    team = Team(folder, prefix, dsn, "finish")
    try:
        took = finish(team, PATIENCE)
        return team.dismiss() + ([] if took is not None else [f"stuck: nothing has ended for {PATIENCE} s"])
    finally:
        team.kill()


def judge(folder, prefix, dsn, final):
    state, ops, problems = compare(folder, prefix, dsn, final)
    print(f"{sum(op.outcome == OK for op in ops)} acknowledged")
    return Observer(ops, state, **rules_of(prefix, LIMIT)).judge() + problems


def lossy(folder, prefix, dsn):
    state, ops, problems = compare(folder, prefix, dsn, False)
    found = list(lost_suffix(ops, state))
    print(f"{sum(op.outcome == OK for op in ops)} acknowledged, {sum(kind == 'lost' for kind, _ in found)} lost")
    return [f"{kind}: {op} {op.parts}" for kind, op in found if kind != "lost"] + problems


def compare(folder, prefix, dsn, final):
    connection = connect(dsn)
    state, problems = look(connection, prefix, final)
    connection.close()
    cut = time.monotonic()
    record = Record(folder)
    record.read()
    return state, record.until(cut), problems


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "judge":
        found = judge(*arguments, True)
    else:
        found = {"work": work, "finish": end_all, "lossy": lossy}[command](*arguments)
    print("\n".join(found[:50] + [f"violations = {len(found)}"]), flush=True)
    sys.exit(1 if found else 0)
