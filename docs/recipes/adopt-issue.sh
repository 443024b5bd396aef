#!/bin/sh
# Makes a task of an issue, once, however often it runs: adopt-issue.sh NUMBER [WORKFLOW]
#
# The workflow, `change` unless it is given, must begin with a gate for people: the issue is the text of a stranger, and no agent
# should be handed it before a person has read it. Only title and text are taken, the text as a quote. Labels are not.
#
# Exit status: that of `aof new`; 75 if gh did not answer; 64 for wrong use.
set -eu
unset GH_FORCE_TTY CLICOLOR_FORCE
number=${1:-}
workflow=${2:-change}
case $number:$workflow in
:* | *[!0-9]*:* | *:*[!A-Za-z0-9_-]*) echo "usage: adopt-issue.sh NUMBER [WORKFLOW]" >&2 && exit 64 ;;
esac

# JSON all the way, so that no text can say what only a field may say. A quote has no boxes to tick and no marks of aof.
issue=$(gh issue view "$number" --json title,body,url --jq '{ref: .url, title: .title, workflow: "'"$workflow"'",
    body: ("From " + .url + ":\n\n> " + (.body | gsub("\r\n?"; "\n") | gsub("\n"; "\n> ")) + "\n")}' </dev/null) || exit 75
printf '%s\n' "$issue" | aof new --from -
