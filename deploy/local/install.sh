#!/bin/sh
# Makes .venv from uv.lock. Needs Python >= 3.11; brings uv along in .tools where it is missing.
set -eu

# Asked to run, not only looked up: a version switcher leaves names on PATH that do not start.
recent='import sys; sys.exit(sys.version_info < (3, 11))'
find_python() {
    for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        if "$name" -c "$recent" >/dev/null 2>&1; then
            "$name" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    echo "Python >= 3.11 is needed; python3 on PATH is $(python3 --version 2>&1 || true)." >&2
    echo "Install one (python3.11 to python3.14 are looked for), or name it: make PYTHON=/path/to/python3 ..." >&2
    return 1
}

find_uv() {
    if command -v uv; then
        return
    fi
    if [ ! -x .tools/bin/uv ]; then
        echo "uv is not on PATH: installing it into .tools" >&2
        if ! "$1" -m venv .tools >&2; then
            rm -rf .tools
            echo "$1 cannot make virtual environments: install its venv package (Debian, Ubuntu: python3-venv)." >&2
            return 1
        fi
        .tools/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9' >&2
    fi
    echo .tools/bin/uv
}

python=$(find_python)
uv=$(find_uv "$python")
# .venv here, whatever environment the caller is in
unset VIRTUAL_ENV || true
UV_PROJECT_ENVIRONMENT=.venv "$uv" sync --frozen --all-extras --no-python-downloads --python "$python"
