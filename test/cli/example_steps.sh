#!/bin/bash
# client/examples/http-step and notebook-step: programs for steps of workflows, which `scylla work` runs.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=test/lib/tap.sh
source "$here/../lib/tap.sh"
examples=$here/../../client/examples
begin_test example_steps
sql 'create extension scylla'

# Answers "GET /answer" and "POST /echo"; "/busy" is busy once; everything else is not found.
cat >"$scratch/server.py" <<'END'
from http.server import BaseHTTPRequestHandler, HTTPServer
import sys

calls = []


class Handler(BaseHTTPRequestHandler):
    def answer(self, body):
        calls.append(self.path)
        busy = self.path == "/busy" and calls.count("/busy") == 1
        known = (self.command, self.path) in {("GET", "/answer"), ("POST", "/echo"), ("GET", "/busy")}
        self.send_response(503 if busy else 200 if known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(self.headers.get("X-Name", "nobody").encode())

    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers["Content-Length"])).upper())

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1], "w") as port:
    port.write(str(server.server_port) + "\n")
server.serve_forever()
END
/usr/bin/python3 "$scratch/server.py" "$scratch/port" &
server=$!
trap 'kill "$server"' EXIT
wait_until test -s "$scratch/port"
url=http://127.0.0.1:$(<"$scratch/port")

# Waits for the end of all runs. The engine runs only where the library is preloaded.
all_ended() {
  sql 'call scylla.advance()'
  holds 'select count(*) = 0 from scylla.workflow_run where ended is null'
}
steps() { sql "select string_agg(concat_ws(' ', step, status, error ->> 'code', error ->> 'message', params ->> 'status_code', params ->> 'body'), E'\n' order by step) from scylla.workflow_step where workflow = '$1'"; } # WORKFLOW

# ---- requests --------------------------------------------------------------------------------------------------------------

step() { # ID HTTP [MORE]
  printf '{"step": {"id": "%s", "type": "Http", "retry_policy": {"error_retry_limit": 1, "backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": 1}},
    "params": {"http": {"type": "MAP", "value": {%s}}%s}}}' "$1" "$2" "${3-}"
}
text() { printf '"%s": {"type": "STRING", "value": "%s"}' "$1" "$2"; } # NAME VALUE
answer='"status_code": {"type": "LONG", "value": 0}, "body": {"type": "STRING", "value": ""}'
scylla workflow push - <<END >/dev/null
{"properties": {"owner": "ann"}, "workflow": {"id": "requests", "params": {"who": {"type": "STRING", "value": "ann"}}, "steps": [
  $(step get "$(text url "$url/answer"), \"headers\": {\"type\": \"STRING_MAP\", \"value\": {\"X-Name\": \"\$who\"}}" ", $answer"),
  $(step post "$(text url "$url/echo"), $(text method POST), $(text body 'a text')" ", $answer"),
  $(step busy "$(text url "$url/busy")"),
  $(step missing "$(text url "$url/nothing")"),
  $(step gone "$(text url http://127.0.0.1:1/)"),
  $(step none "$(text method GET)")]}}
END
scylla workflow start requests >/dev/null
scylla work http --exec "$examples/http-step" --quiet 2>"$scratch/log" &
worker=$!
wait_until all_ended
ok $? 'Http: the run ends'
kill -TERM "$worker"
wait "$worker"
is "$(steps requests | sed 's/ \(no answer\|no request\): .*/ \1/')" "busy SUCCEEDED
get SUCCEEDED 200 ann
gone FATALLY_FAILED temporary-failure no answer
missing FATALLY_FAILED exit-65 status 404
none FATALLY_FAILED exit-65 no request
post SUCCEEDED 200 A TEXT" 'each step as its answer says'
is "$(sql "select string_agg(step || ' ' || attempt, ', ' order by step) from scylla.workflow_step where workflow = 'requests'")" \
  'busy 2, get 1, gone 2, missing 1, none 1, post 1' 'what may be better later is tried again'

# ---- the cookbook -----------------------------------------------------------------------------------------------------------

recipe=$(sed -n '/^cat > prices.yaml/,/^END$/p' "$here/../../docs/cookbook.md" | sed '1d;$d')
run scylla workflow validate - <<<"$recipe"
is "$status$output$errors" 0 'the definition in the cookbook is valid'
like "$recipe" 'type: Http' 'and is that of such steps'

# ---- notebooks -------------------------------------------------------------------------------------------------------------

mkdir "$scratch/bin"
cat >"$scratch/bin/papermill" <<'END'
#!/bin/bash
echo "$*" >>"$CALLS"
[[ $1 != broken.ipynb ]] || { echo 'cell 3 failed' >&2; exit 1; }
END
chmod +x "$scratch/bin/papermill"
book() { # ID PATH [MORE]
  printf '{"step": {"id": "%s", "type": "Notebook", "retry_policy": {"error_retry_limit": 0}, "params": {"notebook": {"type": "MAP", "value": {%s}}%s}}}' "$1" "$(text input_path "$2")" "${3-}"
}
scylla workflow push - <<END >/dev/null
{"properties": {"owner": "ann"}, "workflow": {"id": "books", "steps": [
  $(book good good.ipynb ', "day": {"type": "STRING", "value": "2026-03-01"}, "sizes": {"type": "LONG_ARRAY", "value": [1, 2]}'),
  $(book broken broken.ipynb)]}}
END
scylla workflow start books >/dev/null
CALLS=$scratch/calls PATH=$scratch/bin:$PATH scylla work notebook --exec "$examples/notebook-step" --quiet 2>"$scratch/log" &
worker=$!
wait_until all_ended
ok $? 'Notebook: the run ends'
kill -TERM "$worker"
wait "$worker"
is "$(steps books)" "broken FATALLY_FAILED exit-1 cell 3 failed
good SUCCEEDED" 'each step as papermill says'
like "$(<"$scratch/calls")" 'good.ipynb books-1-good-1.ipynb .*-p day 2026-03-01' 'with a name for what it writes, and the parameters'
like "$(<"$scratch/calls")" '-p sizes \[1, 2\]' 'of all types'
done_testing
