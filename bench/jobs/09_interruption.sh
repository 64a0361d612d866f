#!/usr/bin/env bash
# 9. Ctrl-C in the middle of a training and of a prediction, then --resume: the result is that of an uninterrupted one.
. "$(dirname "$0")/common.sh"
prepare many

# The command gets Ctrl-C once a file is there; then its exit code.
interrupted() {
    local file=$1 code=0
    shift
    show "$@"
    env --default-signal=INT "$@" &  # a shell has what it starts so ignore Ctrl-C
    until [ -e "$file" ]; do sleep 0.2; done
    sleep 5
    local begin=$SECONDS
    kill -INT $!
    wait $! || code=$?
    echo "(exit code $code, $((SECONDS - begin)) s after Ctrl-C)"
}

salience demo-data banking
training=(train banking/banking_train.csv --effort quick --estimate holdout --output)
interrupted runs/.stopped.partial/checkpoints salience "${training[@]}" runs/stopped
refused salience "${training[@]}" runs/stopped
salience "${training[@]}" runs/stopped --resume
salience "${training[@]}" runs/whole
shown cmp runs/stopped/model.safetensors runs/whole/model.safetensors && echo "the weights are equal"

interrupted .stopped.csv.working salience predict runs/whole many.csv --output stopped.csv
refused salience predict runs/whole many.csv --output stopped.csv
refused salience predict runs/whole many.csv --output stopped.csv --resume --max-length 64
salience predict runs/whole many.csv --output stopped.csv --resume
salience predict runs/whole many.csv --output whole.csv
shown cmp stopped.csv whole.csv && echo "the predictions are equal"
