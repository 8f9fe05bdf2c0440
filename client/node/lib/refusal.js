// What an error of the server means for the report that it refuses. The same rule, in the same words, as in the other libraries:
// docs/client.md of Scylla, "When the server refuses a report".
'use strict';

const MAX_REPEATS = 5; // of a report after an error that may be temporary or not
const MAX_DOUBTS = 20; // times that the connection broke while a report was sent alone

const TEMPORARY = /^(08...|40...|57P..|25006|53100|53300|55006|55P03)$/;
const PERMANENT = /^(0A|21|22|23|42|54)...$|^55000$/;

// temporary: another transaction, or the server, is in the way: the same report is sent again. permanent: it would fail again.
// unknown: it is sent again, a few times. No SQLSTATE: an error of this side. Lost connections are none of these errors.
function fateOf(sqlstate) {
  if (sqlstate === null || sqlstate === undefined) return 'permanent';
  if (TEMPORARY.test(sqlstate)) return 'temporary';
  return PERMANENT.test(sqlstate) && sqlstate !== '42501' ? 'permanent' : 'unknown';
}

module.exports = { MAX_DOUBTS, MAX_REPEATS, fateOf };
