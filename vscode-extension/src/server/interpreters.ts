// The Pythons of a machine: the one that a folder uses, and those that it could use.

import { constants } from 'node:fs';
import { access, readdir, readFile, realpath } from 'node:fs/promises';
import * as os from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';

/** An interpreter, and in words where it was found. */
export interface Interpreter {
  readonly path: string;
  readonly found: string;
}

/** The interpreter that is used for a folder when nobody chooses another. */
export async function findInterpreter(
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
  const own = folder === undefined ? [] : ['.venv', 'venv'];
  const environmentOf = (name: string) => path.join(folder?.fsPath ?? '', name);
  for (const name of own) {
    const candidate = pythonOf(environmentOf(name));
    if (await isExecutable(candidate)) return { path: candidate, found: name };
  }
  for (const name of own) {
    // One whose own Python was removed is still what the folder means.
    if (await isThere(path.join(environmentOf(name), 'pyvenv.cfg'))) {
      return { path: pythonOf(environmentOf(name)), found: name };
    }
  }
  for (const name of ON_PATH) {
    const candidate = await onPath(name);
    if (candidate !== undefined) return { path: candidate, found: 'the PATH' };
  }
  return undefined;
}

/**
 * The interpreters that can be chosen for a folder, the nearest first: the environments
 * in it and in the other folders, those that the Python extension knows, conda's, pyenv's,
 * and those on the PATH. No two of them are the same interpreter.
 */
export async function findInterpreters(
  folder: vscode.Uri | undefined,
): Promise<readonly Interpreter[]> {
  const groups = await Promise.all([
    findInterpreter(folder).then((one) => (one === undefined ? [] : [one])),
    folder === undefined ? [] : environmentsIn(folder.fsPath, 'this folder'),
    environmentsBeside(folder),
    knownToExtension(),
    condaEnvironments(),
    environmentsIn(path.join(pyenvRoot(), 'versions'), 'pyenv'),
    fromPath(),
  ]);
  const found = new Map<string, Interpreter>();
  for (const one of groups.flat()) {
    if (!(await isExecutable(one.path))) continue;
    const key = await identityOf(one.path);
    if (!found.has(key)) found.set(key, one);
  }
  return [...found.values()];
}

/** Whether an interpreter that is named by its path is no longer there. */
export async function isGone(python: string): Promise<boolean> {
  return path.isAbsolute(python) && !(await isThere(python));
}

/** Calls back when the Python extension is told to use another environment. */
export async function onInterpreterChange(changed: () => void): Promise<vscode.Disposable> {
  const environments = await pythonExtension();
  return (
    environments?.onDidChangeActiveEnvironmentPath(changed) ?? new vscode.Disposable(noop)
  );
}

/** The program of a name that a shell would start. */
export async function onPath(name: string): Promise<string | undefined> {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  for (const folder of placesOfPath()) {
    const candidate = path.join(folder, name + suffix);
    if (await isExecutable(candidate)) return candidate;
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
  readonly known?: readonly { readonly executable: { readonly uri?: vscode.Uri } }[];
}

async function pythonExtension(): Promise<Environments | undefined> {
  const extension = vscode.extensions.getExtension<{ environments?: Environments }>(
    'ms-python.python',
  );
  if (extension === undefined) return undefined;
  const api = await extension.activate();
  return api.environments;
}

async function knownToExtension(): Promise<readonly Interpreter[]> {
  const known = (await pythonExtension())?.known ?? [];
  return known.flatMap(({ executable }) =>
    executable.uri === undefined
      ? []
      : [{ path: executable.uri.fsPath, found: 'the Python extension' }],
  );
}

/** The environments that are folders right below a folder. */
async function environmentsIn(
  folder: string,
  found: string,
): Promise<readonly Interpreter[]> {
  const names = await readdir(folder).catch(() => []);
  const candidates = names.sort().map((name) => pythonOf(path.join(folder, name)));
  const there = await Promise.all(candidates.map(isExecutable));
  return candidates.filter((_, index) => there[index]).map((one) => ({ path: one, found }));
}

/** The environments in the other folders of the window. */
async function environmentsBeside(
  folder: vscode.Uri | undefined,
): Promise<readonly Interpreter[]> {
  const others = (vscode.workspace.workspaceFolders ?? []).filter(
    ({ uri }) => uri.toString() !== folder?.toString(),
  );
  const groups = others.map(({ uri, name }) =>
    environmentsIn(uri.fsPath, `the folder ${name}`),
  );
  return (await Promise.all(groups)).flat();
}

/** Conda writes down where its environments are, one a line. */
async function condaEnvironments(): Promise<readonly Interpreter[]> {
  const list = path.join(os.homedir(), '.conda', 'environments.txt');
  const text = await readFile(list, 'utf8').catch(() => '');
  const folders = [process.env['CONDA_PREFIX'] ?? '', ...text.split(/\r?\n/)];
  return folders
    .map((folder) => folder.trim())
    .filter((folder) => folder !== '')
    .map((folder) => ({
      path:
        process.platform === 'win32' ? path.join(folder, 'python.exe') : pythonOf(folder),
      found: 'conda',
    }));
}

/** An environment is its folder, since its program is often a link to one it shares. */
async function identityOf(python: string): Promise<string> {
  const inside = path.dirname(python);
  const folder = path.basename(inside) === 'bin' ? path.dirname(inside) : inside;
  const isEnvironment = await isThere(path.join(folder, 'pyvenv.cfg'));
  return realpath(isEnvironment ? folder : python);
}

async function fromPath(): Promise<readonly Interpreter[]> {
  const found: Interpreter[] = [];
  for (const folder of placesOfPath()) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names.filter((one) => PYTHON.test(one)).sort()) {
      found.push({ path: path.join(folder, name), found: 'the PATH' });
    }
  }
  return found;
}

function placesOfPath(): readonly string[] {
  // A relative place would be a folder that somebody opened.
  return (process.env['PATH'] ?? '')
    .split(path.delimiter)
    .filter((place) => path.isAbsolute(place));
}

function pyenvRoot(): string {
  const set = process.env['PYENV_ROOT'] ?? '';
  return set === '' ? path.join(os.homedir(), '.pyenv') : set;
}

function pythonOf(environment: string): string {
  const inside = process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python';
  return path.join(environment, inside);
}

function absolute(file: string, folder: vscode.Uri | undefined): string {
  // A bare name is looked up on the PATH by the system.
  if (folder === undefined || !/[\\/]/.test(file)) return file;
  return path.resolve(folder.fsPath, file.replace(/^~(?=[\\/])/, os.homedir()));
}

function isExecutable(file: string): Promise<boolean> {
  return isThere(file, constants.X_OK);
}

async function isThere(file: string, mode: number = constants.F_OK): Promise<boolean> {
  try {
    await access(file, mode);
    return true;
  } catch {
    return false;
  }
}

const ON_PATH = process.platform === 'win32' ? ['python'] : ['python3', 'python'];

/** What a Python is called on the PATH; `python3-config` is none. */
const PYTHON = /^python(3(\.\d+)?)?(\.exe)?$/;

function noop(): void {
  // An event that never comes.
}
