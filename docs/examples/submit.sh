#!/bin/sh
# Submits keywords and prints what became of each: sh submit.sh acme "cold brew" "moka pot". Needs curl and jq.
set -eu
brand=$1
shift
api() { curl -sS --fail-with-body -H "Authorization: Bearer $BRAND_ENGINE_KEY" "$@"; }

# The same Idempotency-Key again begins nothing: so the request can be repeated.
body=$(jq -cn '{keywords: $ARGS.positional}' --args "$@")
cycle=$(api -H 'Content-Type: application/json' -H "Idempotency-Key: $(date +%s)-$$" -d "$body" \
    "$BRAND_ENGINE_URL/v1/brands/$brand/research" | jq -r .cycle_id)
while
    state=$(api "$BRAND_ENGINE_URL/v1/cycles/$cycle" | jq -r .state)
    [ "$state" = running ] || [ "$state" = paused ]
do
    sleep "${POLL_SECONDS:-5}"
done
api "$BRAND_ENGINE_URL/v1/cycles/$cycle/keywords?limit=200" |
    jq -r '.items[] | [.keyword, .state, .published_url // .reason // ""] | @tsv'
