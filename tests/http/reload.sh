#!/bin/bash
# The tasks are read again at SIGHUP, under the feet of what runs.
#
#     KGRADED=build/release/bin/kgraded KGRADE_SOURCE=. tests/http/reload.sh
. "$(dirname "$0")/lib.sh"

candidates
task=$folder/tasks/vector_add
start --builds-ahead 0 --tasks "$folder/tasks"

reloads=0
reload() {
    reloads=$((reloads + 1))
    kill -HUP "$server_pid"
    await "reload $reloads" reloaded
}
reloaded() { [ "$(grep -c 'reload: done' "$folder/log")" = "$reloads" ]; }
asked() {
    ask "$url/tasks/$1"
    field "$2"
}

before=$(asked vector_add .hash)
echo 'Be quick about it.' >>"$task/statement.md"
same "not read by itself" "$before" "$(asked vector_add .hash)"
reload
after=$(asked vector_add .hash)
same "a new statement" "true true" "$([ "$before" != "$after" ] && echo true) $(jq '.statement | endswith("Be quick about it.\n")' "$folder/body")"

cp -r "$task" "$folder/tasks/other"
jq '.name = "other" | .title = "Another"' "$task/task.json" >"$folder/tasks/other/task.json"
reload
same "a new task" Another "$(asked other .title)"
same "is in the list" '["other","vector_add"]' "$(ask "$url/tasks" && field '.tasks | map(.name) | tostring')"

echo '{' >"$folder/tasks/other/task.json"
rm -r "$task"
reload
same "a mistake changes nothing" "Another $after" "$(asked other .title) $(asked vector_add .hash)"
same "and is told" 1 "$(grep -c 'reload: the tasks stay: .*other/task.json' "$folder/log")"

# One runs and one waits when their task goes.
nap one
submit "$folder/one.c"
running=$id
await "it begins" is "$running" running
submit "$nothing"
waiting=$id
rm -r "$folder/tasks/other"
reload
same "a task that is gone" "404 unknown_task" "$(asked vector_add .code >/dev/null; echo "$status $(field .code)")"
submit "$nothing"
same "cannot be asked for" "404 unknown_task" "$status $(field .code)"
wake one
ask "$url/grades/$running?wait=600"
same "what ran goes on with its task" "done $after" "$(field '"\(.state) \(.result.task.hash)"')"
ask "$url/grades/$waiting?wait=600"
same "what waited has none" "cancelled unknown_task" "$(field '"\(.state) \(.reason.code)"')"

stop
over "the server"
report
