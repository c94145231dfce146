// Which Python is used, and whether it has what is needed.

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';

/** An interpreter, and in words where it was found. */
export interface Interpreter {
  readonly path: string;
  readonly found: string;
}

/** What was found out about the Python of a folder. */
export type Python =
  | { readonly kind: 'ready'; readonly interpreter: Interpreter; readonly fxls: string }
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'broken';
      readonly interpreter: Interpreter;
      readonly message: string;
    }
  | {
      readonly kind: 'incomplete';
      readonly interpreter: Interpreter;
      readonly missing: 'fxls' | 'torch';
      /** Whether the system forbids to install anything there. */
      readonly isManaged: boolean;
    }
  | { readonly kind: 'old'; readonly interpreter: Interpreter; readonly version: string }
  | {
      readonly kind: 'mismatch';
      readonly interpreter: Interpreter;
      readonly fxls: string;
    };

/** The interpreter of a folder, and whether fxls can be started with it. */
export async function findPython(
  folder: vscode.Uri | undefined,
  wanted: string,
): Promise<Python> {
  const interpreter = await findInterpreter(folder);
  if (interpreter === undefined) return { kind: 'absent' };
  const answer = await ask(interpreter.path, PROBE, folder?.fsPath);
  if (typeof answer === 'string') {
    return { kind: 'broken', interpreter, message: answer };
  }
  const { version, fxls, torch, managed: isManaged } = answer;
  if (compare(version, OLDEST) < 0) return { kind: 'old', interpreter, version };
  if (fxls === null) return { kind: 'incomplete', interpreter, missing: 'fxls', isManaged };
  if (!torch) return { kind: 'incomplete', interpreter, missing: 'torch', isManaged };
  if (minor(fxls) !== minor(wanted)) return { kind: 'mismatch', interpreter, fxls };
  return { kind: 'ready', interpreter, fxls };
}

/** Why an interpreter cannot run the debug adapter, and what to install for it. */
export interface Lack {
  readonly message: string;
  readonly install?: 'fxls' | 'debugpy';
}

/** What an interpreter lacks to run the debug adapter; undefined when it can. */
export async function lackToDebug(python: string): Promise<Lack | undefined> {
  const answer = await ask(python, PROBE, undefined);
  if (typeof answer === 'string') return { message: answer };
  const lacks = answer.fxls === null ? 'fxls' : answer.debugpy ? undefined : 'debugpy';
  return lacks && { message: `it has no ${lacks}`, install: lacks };
}

/** The command that installs a package into an environment, with or without pip in it. */
export async function installer(
  python: string,
  what: string,
): Promise<readonly [string, ...string[]]> {
  const answer = await ask(python, PROBE, undefined);
  if (typeof answer === 'string' || answer.pip) {
    return [python, '-m', 'pip', 'install', what];
  }
  const uv = await onPath('uv');
  return uv === undefined
    ? [python, '-c', WITH_PIP, what]
    : [uv, 'pip', 'install', '--python', python, what];
}

/** Calls back when the Python extension is told to use another environment. */
export async function onInterpreterChange(changed: () => void): Promise<vscode.Disposable> {
  const environments = await pythonExtension();
  return (
    environments?.onDidChangeActiveEnvironmentPath(changed) ?? new vscode.Disposable(noop)
  );
}

const OLDEST = '3.11';

async function findInterpreter(
  folder: vscode.Uri | undefined,
): Promise<Interpreter | undefined> {
  const set = vscode.workspace
    .getConfiguration('fxls', folder)
    .get<string>('python', '')
    .trim();
  if (set !== '') return { path: absolute(set, folder), found: 'the setting fxls.python' };
  const environments = await pythonExtension();
  if (environments !== undefined) {
    const chosen = await environments.resolveEnvironment(
      environments.getActiveEnvironmentPath(folder),
    );
    const executable = chosen?.executable.uri?.fsPath;
    if (executable !== undefined) {
      return { path: executable, found: 'the Python extension' };
    }
  }
  for (const name of folder === undefined ? [] : ['.venv', 'venv']) {
    const inside = process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python';
    const candidate = path.join(folder?.fsPath ?? '', name, inside);
    if (await isExecutable(candidate)) return { path: candidate, found: name };
  }
  for (const name of process.platform === 'win32' ? ['python'] : ['python3', 'python']) {
    const candidate = await onPath(name);
    if (candidate !== undefined) return { path: candidate, found: 'the PATH' };
  }
  return undefined;
}

/** The part of the Python extension's interface that is used here. */
interface Environments {
  getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
  resolveEnvironment(environment: {
    readonly path: string;
  }): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
  onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
}

async function pythonExtension(): Promise<Environments | undefined> {
  const extension = vscode.extensions.getExtension<{ environments?: Environments }>(
    'ms-python.python',
  );
  if (extension === undefined) return undefined;
  const api = await extension.activate();
  return api.environments;
}

interface Answer {
  readonly version: string;
  readonly fxls: string | null;
  readonly torch: boolean;
  readonly debugpy: boolean;
  readonly pip: boolean;
  readonly managed: boolean;
}

/** Imports nothing of what it looks for: torch would take seconds. */
const PROBE = `
import json, os, sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
def has(name): return find_spec(name) is not None
def fxls():
    try: return version("fxls")
    except PackageNotFoundError: return None
managed = os.path.join(os.path.dirname(os.__file__), "EXTERNALLY-MANAGED")
print(json.dumps({"version": "%d.%d" % sys.version_info[:2], "fxls": fxls(),
    "torch": has("torch"), "debugpy": has("debugpy"), "pip": has("pip"),
    "managed": sys.prefix == sys.base_prefix and os.path.exists(managed)}))
`;

/** An environment that uv has made has no pip. */
const WITH_PIP = `
import ensurepip, subprocess, sys
ensurepip.bootstrap()
sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", *sys.argv[1:]]))
`;

/** What the interpreter answers, or what went wrong. */
function ask(
  python: string,
  program: string,
  cwd: string | undefined,
): Promise<Answer | string> {
  return new Promise((resolve) => {
    const options = { cwd, timeout: 60_000, windowsHide: true };
    execFile(python, ['-c', program], options, (error, stdout, stderr) => {
      const answer = error === null ? parsed(stdout) : undefined;
      const last = stderr.trim().split('\n').at(-1) ?? '';
      resolve(answer ?? (last === '' ? (error?.message ?? 'it says nothing') : last));
    });
  });
}

function parsed(text: string): Answer | undefined {
  const line = text.trim().split('\n').at(-1) ?? '';
  try {
    const value: unknown = JSON.parse(line);
    return isAnswer(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isAnswer(value: unknown): value is Answer {
  return (
    typeof value === 'object' && value !== null && 'version' in value && 'fxls' in value
  );
}

function absolute(file: string, folder: vscode.Uri | undefined): string {
  // A bare name is looked up on the PATH by the system.
  if (folder === undefined || !/[\\/]/.test(file)) return file;
  const home = process.env['HOME'] ?? '';
  return path.resolve(folder.fsPath, file.replace(/^~(?=[\\/])/, home));
}

async function onPath(name: string): Promise<string | undefined> {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  for (const folder of (process.env['PATH'] ?? '').split(path.delimiter)) {
    const candidate = path.join(folder, name + suffix);
    if (folder !== '' && (await isExecutable(candidate))) return candidate;
  }
  return undefined;
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The part of a version in which two that go together are the same. */
function minor(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}

function compare(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}

function noop(): void {
  // An event that never comes.
}
