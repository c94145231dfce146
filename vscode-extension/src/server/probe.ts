// What is installed in a Python.

import { execFile } from 'node:child_process';

/** What a Python says of itself. */
export interface Installed {
  readonly version: string;
  readonly fxls: string | null;
  /** The folder that starts the runtime of fxls where it is on PYTHONPATH. */
  readonly startup: string | null;
  /** The version of torch; empty where torch is there and has none. */
  readonly torch: string | null;
  readonly debugpy: boolean;
  readonly pip: boolean;
  /** Whether the system forbids to install anything there. */
  readonly managed: boolean;
}

/** What the interpreter says, or in words why it says nothing. */
export function probe(python: string): Promise<Installed | string> {
  return new Promise((resolve) => {
    const options = { timeout: 60_000, windowsHide: true };
    execFile(python, ['-c', PROGRAM], options, (error, stdout, stderr) => {
      const answer = error === null ? parsed(stdout) : undefined;
      const last = stderr.trim().split('\n').at(-1) ?? '';
      resolve(answer ?? (last === '' ? (error?.message ?? 'it says nothing') : last));
    });
  });
}

/**
 * Imports nothing of what it looks for: torch would take seconds. The folder in which it
 * runs is no place to import from.
 */
const PROGRAM = `
import sys
sys.path = [place for place in sys.path if place]
import json, os
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
def has(name): return find_spec(name) is not None
def of(name):
    try: return version(name)
    except PackageNotFoundError: return None
package = find_spec("fxls")
startup = package and package.origin and os.path.join(os.path.dirname(package.origin), "startup")
managed = os.path.join(os.path.dirname(os.__file__), "EXTERNALLY-MANAGED")
print(json.dumps({"version": "%d.%d" % sys.version_info[:2], "fxls": of("fxls"), "startup": startup,
    "torch": (of("torch") or "") if has("torch") else None,
    "debugpy": has("debugpy"), "pip": has("pip"),
    "managed": sys.prefix == sys.base_prefix and os.path.exists(managed)}))
`;

function parsed(text: string): Installed | undefined {
  const line = text.trim().split('\n').at(-1) ?? '';
  try {
    const value: unknown = JSON.parse(line);
    return isInstalled(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isInstalled(value: unknown): value is Installed {
  return (
    typeof value === 'object' && value !== null && 'version' in value && 'fxls' in value
  );
}
