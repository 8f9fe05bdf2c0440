"""Holds the named statements that statements.pl --describe has written to a file against a database; then the generator
against files with mistakes. Prints TAP."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
from psycopg import pq

tests = 0


def none(name, findings):
    """A test that has passed if there are no findings."""
    global tests
    tests += 1
    print(f"{'not ' if findings else ''}ok {tests} - {name}")
    for finding in findings:
        print("#   " + finding.replace("\n", "\n#   "))


class Database:
    def __init__(self):
        self.connection = psycopg.connect("", autocommit=True)
        # As where the statements run.
        self.connection.execute("set search_path = pg_catalog, pg_temp")
        self.types = {}

    def type_oid(self, name):
        if name not in self.types:
            self.types[name] = self.connection.execute("select %s::regtype::oid", [name]).fetchone()[0]
        return self.types[name]

    def type_name(self, oid):
        return self.connection.execute("select format_type(%s, null)", [oid]).fetchone()[0]

    def may_be_null(self, table, column):
        query = "select attnotnull or relkind = 'v' from pg_attribute join pg_class c on c.oid = attrelid where attrelid = %s and attnum = %s"
        return not self.connection.execute(query, [table, column]).fetchone()[0]

    def describe(self, statement):
        """What the server says of a statement: an error, or (name, type, table, column in the table) of what it returns."""
        server = self.connection.pgconn
        types = [self.type_oid(name) for name in statement["parameters"]]
        prepared = server.prepare(b"", statement["sql"].encode(), types)
        if prepared.status != pq.ExecStatus.COMMAND_OK:
            return prepared.error_message.decode().strip(), []
        found = server.describe_prepared(b"")
        columns = range(found.nfields)
        return None, [(found.fname(i).decode(), found.ftype(i), found.ftable(i), found.ftablecol(i)) for i in columns]


def problem_of(database, statement):
    error, found = database.describe(statement)
    if error:
        return error
    if not statement["returns"]:
        return None
    said = [(column["name"], database.type_oid(column["type"])) for column in statement["columns"]]
    if said != [column[:2] for column in found]:

        def show(columns):
            return ", ".join(f"{name} {database.type_name(oid)}" for name, oid, *_ in columns)

        return f"its head says: {show(said)}\nit returns:    {show(found)}"
    for column, (name, _, table, number) in zip(statement["columns"], found):
        if column["null"] == "" and table and database.may_be_null(table, number):
            return f"{name} may be null in its table: the head needs ?, ?0, or ! if it is not null in these rows"
        if column["null"] == "!" and table and not database.may_be_null(table, number):
            return f"{name} is not null in any row: ! says nothing"
    return None


def problems(database, statements):
    found = [(statement["name"], problem_of(database, statement)) for statement in statements]
    return [f"{name}: {problem}" for name, problem in found if problem]


def unused(statements):
    sources = "\n".join(path.read_text() for path in Path("src").rglob("*.cpp"))
    return [f"{name['name']}" for name in statements if not re.search(r"\b" + name["name"].replace(".", "::") + r"\b", sources)]


# ---- mistakes ------------------------------------------------------------------------------------------------------

HEAD = "-- find(name text) -> opt (id int8)\n"
SQL = "select id from scylla.job_definition where name = :name;\n"
# What is wrong, and what the generator says of it, after the name of the file.
REFUSED = [
    ("a type that there is not", HEAD.replace("int8", "bigint") + SQL, '1: there is no type "bigint"'),
    ("a parameter that is not used", HEAD.replace("(name text)", "(name text, owner name)") + SQL, '1: find: the parameter "owner" is not used'),
    ("a parameter that there is not", "\n" + HEAD + SQL.replace(":name", ":job"), '2: find: there is no parameter "job"'),
    ("a parameter that is there twice", HEAD.replace("(name text)", "(name text, name text)") + SQL, '1: "name" is there twice'),
    ("two statements of one name", HEAD + SQL + "\n" + HEAD + SQL, '4: there are two statements "find"'),
    ("two statements under one head", HEAD + SQL + SQL, "1: find: more than one statement"),
    ("a statement without a head", SQL, "1: SQL without a head"),
    ("a head without a statement", HEAD, "1: find: no SQL"),
    ("a number of rows that there is not", HEAD.replace("opt", "some") + SQL, '1: what is "-> some'),
    ("a flag that there is not", HEAD.replace("\n", " !fast\n") + SQL, '1: what is "!fast"'),
    ("a text for which 0 stands for null", HEAD.replace("text)", "text?0)") + SQL, '1: "text?0": 0 stands for null in numbers and times only'),
    ("a part that there is not", HEAD + "select @columns() from scylla.job_definition where name = :name;\n", '1: there is no part "columns"'),
    ("a struct that there is not", HEAD.replace("(id int8)", "Job") + SQL, '1: there is no struct "Job"'),
    ("a member that a struct has not", "-- struct Job (id int8)\n\n-- find(job Job) -> opt (id int8)\nselect :job.name;\n", '3: find: there is no ":job.name"'),
    ("an operator of the caller's path in a hot statement", HEAD.replace("\n", " !hot\n") + SQL, '1: find: an operator would be looked up by the search_path of the caller: "="'),
    ("a function of the caller's path in a hot statement", HEAD.replace("\n", " !hot\n") + "select max(:name) from scylla.job_definition;\n", '1: find: "max" is not qualified'),
    ("nullif in a hot statement", HEAD.replace("\n", " !hot\n") + "select nullif(id, :name) from scylla.job_definition;\n", '1: find: "nullif" would be looked up by the search_path of the caller'),
    ("a number for a parameter", HEAD + SQL.replace(":name", "$1"), "1: find: parameters have names, not numbers"),
]


def refused(folder, text):
    path = Path(folder) / "store" / "subject" / "statements.sql"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    done = subprocess.run(["perl", "src/store/statements.pl", "--source", path], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.replace(f"{path}:", "")


SIGNATURE = "create or replace function scylla.f(a integer, b text = null) returns int language c as 'MODULE_PATHNAME', 'scylla_f';\n"
# What is wrong in signatures, and what the generator of arguments says of it.
REFUSED_SIGNATURES = [
    ("a type that it does not know", SIGNATURE.replace("integer", "money"), 'scylla_f: arguments.pl knows no type "money"'),
    ("functions of one symbol that disagree", SIGNATURE + SIGNATURE.replace("scylla.f(a integer", "scylla.g(c integer"), "scylla_f: argument 0 of g is c integer, that of f a integer"),
]


def said_of_signatures(folder, text):
    path = Path(folder) / "signatures.sql"
    path.write_text(text)
    return subprocess.run(["perl", "src/api/arguments.pl", path], capture_output=True, text=True, check=False)


def main():
    statements = json.load(open(sys.argv[1]))
    database = Database()
    none("there are statements", [] if len(statements) > 20 else [f"{len(statements)}"])
    none("every statement can be prepared, and returns the columns that its head names, of their types, in their order, null where it says so", problems(database, statements))
    none("every statement is used", unused(statements))

    # The test sees what it looks for.
    find = {"name": "find", "sql": "select id, owner from scylla.job_definition where name = $1", "parameters": ["text"], "returns": True}

    def column(name, type_name, null=""):
        return {"name": name, "type": type_name, "null": null}

    def is_seen(columns, what):
        problem = problem_of(database, {**find, "columns": columns})
        return [] if problem and what in problem else [str(problem)]

    right = [column("id", "int8"), column("owner", "name")]
    none("a right head is right", [problem for problem in [problem_of(database, {**find, "columns": right})] if problem])
    none("columns in another order are seen", is_seen(right[::-1], "it returns:    id bigint, owner name"))
    none("a column of another type is seen", is_seen([column("id", "int4"), right[1]], "its head says: id integer, owner name"))
    none("a column that may be null is seen", [] if "may be null" in (problem_of(database, {**find, "sql": "select runners from scylla.job_definition where name = $1", "columns": [column("runners", "text[]")]}) or "") else ["not seen"])
    with tempfile.TemporaryDirectory() as folder:
        for name, text, message in REFUSED:
            said = refused(folder, text)
            none(f"the generator refuses {name}", [] if said.startswith(message) else [f"it says: {said or 'nothing'}"])
        for name, text, message in REFUSED_SIGNATURES:
            said = said_of_signatures(folder, text).stderr
            none(f"the generator of arguments refuses {name}", [] if said.startswith(message) else [f"it says: {said or 'nothing'}"])
        made = said_of_signatures(folder, SIGNATURE).stdout
        expected = "Named<text *> b() const { return {\"b\", get_text(fcinfo, 1)}; }"
        none("the generator of arguments numbers them as SQL does", [] if expected in made else [made])
    print(f"1..{tests}")


main()
