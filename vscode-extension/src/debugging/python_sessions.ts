// Sessions of the Python extension: other people's, and left alone unless asked for.

import { readFile } from 'node:fs/promises';
import { delimiter } from 'node:path';
import * as vscode from 'vscode';
import { asEnvironment, rulesOf } from './break_on.ts';
import { importsTorch } from './imports_torch.ts';
import { probe } from '../server/probe.ts';

/** The setting by which sessions of type `debugpy` are as those of type `fxls`. */
export class PythonSessions {
  readonly #memory: vscode.Memento;
  /** What a person has just chosen, until it stands in the settings. */
  #written: Thenable<void> = Promise.resolve();

  constructor(memory: vscode.Memento) {
    this.#memory = memory;
  }

  async areWanted(folder: vscode.WorkspaceFolder | undefined): Promise<boolean> {
    await this.#written;
    return settings(folder).get<boolean>(SETTING, false);
  }

  /** Asks once, ever, when a program that imports torch starts in such a session. */
  async offerOnce(
    folder: vscode.WorkspaceFolder | undefined,
    configuration: vscode.DebugConfiguration,
  ): Promise<void> {
    const program: unknown = configuration['program'];
    if (typeof program !== 'string' || configuration.request !== 'launch') return;
    const said = settings(folder).inspect<boolean>(SETTING);
    const values = [said?.globalValue, said?.workspaceValue, said?.workspaceFolderValue];
    if (values.some((value) => value !== undefined)) return;
    if (this.#memory.get(OFFERED) === true) return;
    const source = await readFile(program, 'utf8').catch(() => '');
    if (!importsTorch(source)) return;
    await this.#memory.update(OFFERED, true);
    const chosen = await vscode.window.showInformationMessage(QUESTION, TURN_ON, LEAVE);
    if (chosen === TURN_ON) {
      const target = vscode.ConfigurationTarget.Global;
      this.#written = settings(folder).update(SETTING, true, target);
      await this.#written;
    }
  }
}

/**
 * A configuration with what those of type `fxls` have: the runtime in the program, which
 * need not name fxls, and the same rules for stepping and stopping. Where the Python of the
 * program has no fxls it is left as it is. `own` is the Python of the folder.
 */
export async function withRuntime(
  folder: vscode.WorkspaceFolder | undefined,
  given: vscode.DebugConfiguration,
  own: string | undefined,
): Promise<vscode.DebugConfiguration> {
  // A child process has what its parent was started with.
  if (given['subProcessId'] !== undefined) return given;
  const configuration = { rules: STEPPING, ...given };
  // A program that runs already has its environment.
  if (given.request !== 'launch') return configuration;
  const startup = await startupOf(interpreterIn(given) ?? own);
  if (startup === null) return given;
  const env = environmentOf(given);
  const path = env['PYTHONPATH'] ?? process.env['PYTHONPATH'] ?? '';
  const store = settings(folder).get<string>('store', '');
  return {
    ...configuration,
    env: {
      ...asEnvironment(rulesOf(folder)),
      ...(store === '' ? {} : { FXLS_STORE: store }),
      ...env,
      PYTHONPATH: path === '' ? startup : `${startup}${delimiter}${path}`,
    },
  };
}

/** The folder that starts the runtime in a program; null where there is no fxls. */
async function startupOf(python: string | undefined): Promise<string | null> {
  const answer = python === undefined ? undefined : await probe(python);
  return typeof answer === 'object' ? answer.startup : null;
}

/** The Python of the program, which may be a command with arguments. */
function interpreterIn(configuration: vscode.DebugConfiguration): string | undefined {
  const named: unknown = configuration['python'];
  const first: unknown = Array.isArray(named) ? named[0] : named;
  return typeof first === 'string' && first !== '' ? first : undefined;
}

function environmentOf(
  configuration: vscode.DebugConfiguration,
): Record<string, string | undefined> {
  const value: unknown = configuration['env'];
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function settings(
  folder: vscode.WorkspaceFolder | undefined,
): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration('fxls', folder);
}

/**
 * As the adapter of fxls says it: one step leads from the generated code into
 * the `forward` of a module of torch's, and over torch's machinery for calling modules.
 */
const STEPPING = [
  { path: '**/torch/nn/modules/module.py', include: false },
  { path: '**/torch/nn/**', include: true },
] as const;

const SETTING = 'debugPythonSessions';
const OFFERED = 'fxls.offeredPythonSessions';
const QUESTION =
  'This program imports torch. Should sessions of the Python debugger start fxls in ' +
  'their programs? Then breakpoints in generated code stop, and so do the rules of fxls.';
const TURN_ON = 'Turn On';
const LEAVE = 'Leave Them Alone';
