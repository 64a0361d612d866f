# What the jobs share: an empty folder to work in, and commands that are shown before they run. A job sources it.
#
#     DATA=DIR   folder of the data sets, that of `--data-dir` of the other scripts
set -euo pipefail

jobs=$(realpath "$(dirname "$0")")
DATA=$(realpath "${DATA:?set it to the folder of the data sets}")
folder=$jobs/../../runs/jobs/$(basename "$0" .sh)
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

show() {
    local word
    printf "\n\$"
    for word; do [[ $word =~ ^[[:alnum:]_./=,:-]+$ ]] && printf " %s" "$word" || printf " %s" "${word@Q}"; done
    printf "\n"
}

shown() { show "$@"; "$@"; }

salience() { show salience "$@"; command salience "$@"; }

# A command that must not succeed, and its exit code.
refused() {
    local code=0
    "$@" || code=$?
    echo "(exit code $code)"
    [ "$code" != 0 ]
}

# The files of a job, and what a person does with them: see prepare.py.
prepare() { python "$jobs/prepare.py" "$DATA" "$@"; }
