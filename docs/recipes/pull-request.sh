#!/bin/sh
# Looks at the pull request of a task with gh, for a gate that waits.
#
#   pull-request.sh checks [TASK]    Have its checks passed?
#   pull-request.sh merged [TASK]    Is it merged?
#
# TASK is an id or a ticket; without it, AOF_TASK, which `aof run` sets. The branch has the name of the task, as in AOF-7qk2x. Pull requests
# from forks do not count, since anybody can name a branch. Of several, the newest open one counts, otherwise the newest.
#
# Exit status:
#    0  yes
#    1  no, and the author can change that: a check failed, a review requests changes, or commits are not pushed
#    3  no, and somebody has to decide: it was closed without merging
#   75  not yet, or gh did not answer; the reason is on stderr
#   64  wrong use
#
# Needs gh 2.50 or newer, logged in, in a clone whose remote has the pull requests.
set -eu
unset GH_FORCE_TTY CLICOLOR_FORCE
tab=$(printf '\t')

no() {
    echo "$2"
    exit "$1"
}
later() {
    echo "$1" >&2
    exit 75
}
# Asks gh, for a minute where there is a `timeout`.
ask() {
    if command -v timeout >/dev/null; then timeout 60 gh "$@"; else gh "$@"; fi </dev/null
}

question=${1:-}
task=${2:-${AOF_TASK:-}}
branch=${task%%@*}
case $question:$branch in
checks:?* | merged:?*) ;;
*) echo "usage: pull-request.sh checks|merged [TASK]" >&2 && exit 64 ;;
esac

requests=$(ask pr list --head "$branch" --state all --limit 100 \
    --json state,number,isCrossRepository,headRefOid,url,reviewDecision \
    --jq '.[] | [.state, .number, .isCrossRepository, .headRefOid, .url, .reviewDecision] | @tsv') ||
    later "gh could not list pull requests"
# gh lists the newest first.
request=$(printf '%s\n' "$requests" | awk -F '\t' '
    $3 == "false" && $1 == "OPEN" && !open { open = $0 }
    $3 == "false" && !first { first = $0 }
    END { print (open ? open : first) }')
[ -n "$request" ] || later "no pull request for the branch $branch yet"
IFS=$tab read -r state number fork head url review <<END
$request
END

# Commits of the branch in this clone that the pull request lacks would be forgotten.
if git merge-base --is-ancestor "$head" "refs/heads/$branch" 2>/dev/null; then
    [ "$(git rev-parse "refs/heads/$branch")" = "$head" ] ||
        no 1 "The last commits of the branch $branch are not in $url: push them, and open a pull request if none is open"
fi

case $question:$state in
*:CLOSED) no 3 "$url was closed without merging" ;;
merged:MERGED) exit 0 ;;
merged:*)
    # A request for changes counts until there are newer commits; after that, its author looks again.
    if [ "$review" = CHANGES_REQUESTED ]; then
        reviews=$(ask pr view "$number" --json reviews --jq '.reviews[] | [.state, .commit.oid] | @tsv') ||
            later "gh could not show the reviews of $url"
        case $reviews in *"CHANGES_REQUESTED$tab$head"*) no 1 "A review requests changes: $url" ;; esac
    fi
    later "$url is not merged yet"
    ;;
esac

# Some versions of gh exit with an error where a check fails or runs.
checks=$(ask pr checks "$number" --json bucket,name,link --jq '.[] | [.bucket, .name, .link] | @tsv') ||
    [ -n "$checks" ] || later "gh could not show checks of $url"
[ -n "$checks" ] || later "$url has no checks yet"
failed=$(printf '%s\n' "$checks" | awk -F '\t' '$1 == "fail" { print $2 ($3 ? ": " $3 : "") }')
[ -z "$failed" ] || no 1 "Checks that failed in $url:
$failed"
others=$(printf '%s\n' "$checks" | awk -F '\t' '$1 !~ /^(pass|skipping)$/ { print $2 " (" $1 ")" }')
[ -z "$others" ] || later "not passed yet in $url: $others"
