#!/usr/bin/env bash
# 5. Does mixing help with 50 or 100 questions? Two sizes, three seeds.
. "$(dirname "$0")/common.sh"
prepare questions

salience compare questions.csv --test test.csv --methods plain,senmixup --sizes 50,100 --seeds 0,1,2 \
    --set effort=quick --output runs/compared
