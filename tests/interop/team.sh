# The walk of a team, over three aliases of one server: group, broadcast, barrier, gather, reduce, time travel.
# Sourced by run.sh, whose `m`, `step`, `ends` and `says` it uses.

team() {
  board=board-$server-${binding%+json} talk=talk-$server-${binding%+json}
  step team_group team_group
  step team_bcast team_bcast
  step team_barrier team_barrier
  step team_deadline ends 82 m barrier "$board" --context "$talk-slow" --timeout 300ms
  step team_gather team_gather
  step team_files team_files
  step team_reduce team_reduce
  step team_proof team_proof
  step team_at team_at
  step team_route team_route
}
team_group() {
  local member
  m group create "$board" || return 1
  for member in 1 2 3; do
    m agent add "$board-$member" "http://127.0.0.1:$port" -q --binding-preference "$binding" || return 1
    m group add "$board" "$board-$member" --rank "rank-$member" --tag reads || return 1
  done
  m group show "$board" --json | jq -e '.data.members | length == 3'
}
team_bcast() { # a Message, then tasks
  m bcast "$board" "echo hello" --context "$talk" --json |
    jq -e '.data | .status == "succeeded" and ([.members[].text] | unique == ["hello"])' || return 1
  m bcast "$board" "slow 20" --context "$talk-slow" --return-immediately --json |
    jq -e '.data | .status == "succeeded" and ([.members[].status] | unique == ["accepted"])'
}
team_barrier() {
  m bcast "$board" "slow 2" --context "$talk-work" --return-immediately --json |
    m barrier "$board" --from-bcast - --timeout 30s --json |
    jq -e '.data | .status == "succeeded" and ([.members[].state] | unique == ["completed"])'
}
team_gather() {
  m bcast "$board" "task a report" --context "$talk" -q || return 1
  m gather "$board" --context "$talk" --json |
    jq -e '.data | .status == "succeeded" and ([.members[].text] | unique == ["a report"])'
}
team_files() {
  rm -rf "$home/files"
  m gather "$board" --context "$talk" --output-dir "$home/files" && (($(find "$home/files" -name 'rank-*' | wc -l) >= 6))
}
team_reduce() {
  m reduce "$board" --context "$talk" --strategy vote --json >"$home/reduced" || return 1
  jq -e '.data | .reduced_text == "a report" and .tallies[0].votes == 3' "$home/reduced" || return 1
  says 3 m reduce "$board" --context "$talk" --strategy custom --template 'echo {{input_count}}' --reducer-agent "$board-1"
}
team_proof() { # the first one has made a reduction since, so it has said something else
  m reduce show "$(jq -r .data.reduce_id "$home/reduced")" --json |
    jq -e '.data.provenance | ([.[].sources[].now] | unique == ["present"]) and ([.[].changed_since] == [true, false, false])'
}
team_at() { # the same bytes again, although more was said since
  local place
  m gather "$board" --context "$talk" --json >"$home/before" || return 1
  place=$(jq .data.position "$home/before")
  m send "$board-2" "echo later" --context "$talk" -q || return 1
  m gather "$board" --context "$talk" --at "$place" --json | cmp - "$home/before"
}
team_route() {
  m route explain --group "$board" --policy tag-match --tag reads --json | jq -e '.data.selected | length == 3' || return 1
  m send --group "$board" --policy round-robin "echo turn" && m send --group "$board" --policy round-robin "echo turn"
}
