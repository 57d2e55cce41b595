#!/usr/bin/env bash
# missive against servers that nobody here wrote: the A2A SDKs for Python and Rust, over both bindings.
#
#   tests/interop/run.sh [py] [rs]       default: both
#
# MISSIVE          the program; without it `cargo build --release` makes one
# MISSIVE_INTEROP  the folder with the servers and their setup.sh; without it ../shared/interop
#
# A line a step, `PASS|FAIL|SKIP server binding step`; ends with the number of FAILs. Servers that cannot be
# had are skipped with a message.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
root=$PWD
rig=$root/target/interop
source=${MISSIVE_INTEROP:-$root/../shared/interop}
fails=0

if [[ -z ${MISSIVE:-} ]]; then
  cargo build --release --locked -p missive || exit 2
  MISSIVE=$root/target/release/missive
fi
if [[ ! -d $rig ]]; then
  if [[ ! -x $source/setup.sh ]]; then
    echo "SKIP: no servers: $source has no setup.sh (MISSIVE_INTEROP names another folder)"
    exit 0
  fi
  mkdir -p "$rig" && cp -r "$source/." "$rig" && chmod -R u+w "$rig"
fi

home=$(mktemp -d)
export MISSIVE_HOME=$home/home
trap '"$rig/rig.sh" stop >/dev/null 2>&1; rm -rf "$home"' EXIT
m() { "$MISSIVE" "$@"; }
step() { # step NAME COMMAND...: what it printed is shown where it fails
  local name=$1 before=$SECONDS
  shift
  if "$@" >"$home/out" 2>"$home/err"; then
    printf 'PASS %s %s %s (%d s)\n' "$server" "$binding" "$name" $((SECONDS - before))
  else
    printf 'FAIL %s %s %s (exit %d)\n' "$server" "$binding" "$name" $?
    sed 's/^/     out: /' "$home/out" | tail -5
    sed 's/^/     err: /' "$home/err" | tail -5
    fails=$((fails + 1))
  fi
}
ends() { # ends CODE COMMAND...: whether it ends with that code; what it printed passes through
  local wanted=$1 code=0
  shift
  "$@" || code=$?
  ((code == wanted)) || { echo "exit $code instead of $wanted" >&2; return 1; }
}
says() { # says TEXT COMMAND...: whether it prints exactly that
  local wanted=$1 got
  shift
  got=$("$@") || return 1
  [[ $got == "$wanted" ]] || { echo "printed: $got" >&2; return 1; }
}
started() { m send "$agent" "$1" --return-immediately --json --binding "$binding" | jq -er .data.task_id; }

answers() { # every text of the vocabulary that ends by itself
  step echo says hi m send "$agent" "echo hi" --binding "$binding"
  step task says report m send "$agent" "task report" --binding "$binding"
  step done says ok m send "$agent" "done ok" --binding "$binding"
  step fail ends 80 m send "$agent" fail --binding "$binding"
  step reject ends 85 m send "$agent" reject --binding "$binding"
  step auth ends 84 m send "$agent" auth --binding "$binding"
  step ask follow_up
  step fileurl manifest
  step data data
  step file file
  step big big
}
follow_up() {
  local answer task context
  answer=$(ends 83 m send "$agent" ask --json --binding "$binding") || return 1
  task=$(jq -er .data.task_id <<<"$answer") && context=$(jq -er .data.context_id <<<"$answer") || return 1
  says "you said: Ada" m send "$agent" Ada --task "$task" --context "$context" --binding "$binding"
}
exported() { # exported TEXT: sends it and writes its artifacts into a new folder
  local task
  task=$(m send "$agent" "$1" --json --binding "$binding" | jq -er .data.task_id) || return 1
  rm -rf "$home/files"
  m task artifact export "$task" --output-dir "$home/files" >&2 && ls -A "$home/files"
}
file() { exported file && find "$home/files" -type f -size +0c | grep -q .; }
manifest() { exported fileurl && grep -q '"url"' "$home"/files/*.url.json; }
data() { exported data && jq -e . "$home"/files/*.json >/dev/null; }
big() { exported "big 1024" && [[ -n $(find "$home/files" -type f -size +1023k) ]]; }

streams() {
  step stream_echo says hi m stream "$agent" "echo hi" --binding "$binding"
  step stream_slow stream_slow
  step stream_ask ends 83 m stream "$agent" ask --binding "$binding"
  step stream_fail ends 80 m stream "$agent" fail --binding "$binding"
  step subscribe subscribe
  step wait wait_for
  step cancel cancel
}
stream_slow() {
  local lines
  lines=$(m stream "$agent" "slow 2" --ndjson --binding "$binding") || return 1
  jq -es 'map(.kind) | (index("stream_event") != null) and (last == "stream_result")' <<<"$lines" || return 1
  jq -es '[.[] | select(.data.type == "artifact_update")] | length >= 5' <<<"$lines"
}
subscribe() { local task; task=$(started "slow 3") && m task subscribe "$task" && m task get "$task" | grep -q completed; }
wait_for() { local task; task=$(started "slow 2") && ends 0 m task wait "$task"; }
cancel() {
  local task
  task=$(started "slow 20") || return 1
  says canceled eval "m task cancel '$task' --json | jq -er .data.task.state"
}
lists() { step list_pages pages; }
pages() {
  m task list --remote --agent "$agent" --page-size 2 --all --json |
    jq -e '[.data.tasks[].task_id] | (length > 4) and (length == (unique | length))'
}
pushes() { step push push; }
push() {
  local task port=7347 pid
  export PUSH_TOKEN=a-token-of-this-run
  m webhook run --port $port --auth-token-env PUSH_TOKEN --auth-header X-A2A-Notification-Token --auth-scheme none \
    --max-events 2 --timeout 20s --ndjson >"$home/pushed" &
  pid=$!
  for _ in $(seq 50); do curl -sf "http://127.0.0.1:$port/readyz" >/dev/null && break; sleep 0.1; done
  task=$(started "slow 3") || return 1
  m push create "$agent" "$task" "http://127.0.0.1:$port/a2a/push" --token-env PUSH_TOKEN >&2 || return 1
  wait $pid || return 1
  grep -q webhook_event "$home/pushed" || return 1
  ! grep -rq "$PUSH_TOKEN" "$MISSIVE_HOME"
}
# shellcheck source=tests/interop/team.sh
source "$root/tests/interop/team.sh"
record() { # after all of it
  binding=both
  step verify m events verify
  step views m projection verify
  step export eval 'm events export >"$home/log.jsonl" && m events verify --json | jq -e .ok'
  step logs m logs --limit 5
}
token() {
  server=py-token agent=py-token binding=json-rpc
  "$rig/rig.sh" start py-token --token s3cret-of-the-rig --port 7141 --grpc-port 7151 >/dev/null || return
  m agent add py-token http://127.0.0.1:7141 -q
  export RIG_TOKEN=s3cret-of-the-rig
  step without ends 77 m send py-token "echo hi"
  step with says hi m send py-token "echo hi" --bearer-token-env RIG_TOKEN
  step nowhere eval '! grep -rq s3cret-of-the-rig "$MISSIVE_HOME"'
}

(($#)) || set -- py rs
for server in "$@"; do
  case $server in
    py) port=7101 built=$rig/venv/bin/python ;;
    rs) port=7103 built=$rig/target/debug/rs-server ;;
    *) echo "no server is called $server" >&2; exit 2 ;;
  esac
  if [[ ! -x $built ]] && ! (cd "$rig" && ./setup.sh "$server"); then
    echo "SKIP $server: it could not be set up here"
    continue
  fi
  if ! "$rig/rig.sh" start "$server" >"$home/out" 2>&1; then
    echo "SKIP $server: it did not start:"
    cat "$home/out"
    continue
  fi
  agent=$server
  m agent add "$agent" "http://127.0.0.1:$port" -q
  for binding in http+json json-rpc; do
    answers
    streams
    lists
    pushes
    team
  done
  [[ $server == py ]] && token
done
server=all
record
printf '%d failed\n' "$fails"
exit $((fails > 250 ? 250 : fails))
