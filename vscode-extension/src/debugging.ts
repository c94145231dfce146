// The debug type `fxls`: debugpy of the user's environment, told about generated code.

import * as path from 'node:path';
import * as vscode from 'vscode';
import { Adapter } from './adapter.ts';
import { asEnvironment, rulesOf } from './break_on.ts';
import { CHOOSE } from './complaint.ts';
import { hasDebugpy } from './python.ts';
import type { Server } from './server.ts';
import { offer } from './status.ts';

/**
 * One step leads from the generated code into the `forward` of a module of torch's;
 * torch's machinery for calling modules is stepped over.
 */
export const RULES: readonly Rule[] = [
  { path: '**/torch/nn/modules/module.py', include: false },
  { path: '**/torch/nn/**', include: true },
];

/** Starts a session that stops on the first line of an entry's generated code. */
export async function debugEntry(
  file: vscode.Uri,
  expression: string,
  store: string | undefined,
): Promise<boolean> {
  const folder = vscode.workspace.getWorkspaceFolder(file);
  return vscode.debug.startDebugging(folder, {
    type: TYPE,
    request: 'launch',
    name: `Generated code of ${expression}`,
    // The console would take the room of what is debugged.
    internalConsoleOptions: 'neverOpen',
    entry: `${file.fsPath}:${expression}`,
    cwd: folder?.uri.fsPath ?? path.dirname(file.fsPath),
    env: store === undefined ? {} : { FXLS_STORE: store },
  });
}

/** Contributes the debug type. */
export function registerDebugging(server: Server): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, {
      createDebugAdapterDescriptor: ({ configuration }) => {
        const python = text(configuration, 'python') ?? 'python';
        return new vscode.DebugAdapterInlineImplementation(new Adapter(python));
      },
    }),
    vscode.debug.registerDebugConfigurationProvider(TYPE, {
      resolveDebugConfigurationWithSubstitutedVariables: (folder, configuration) =>
        resolved(server, folder, configuration),
      resolveDebugConfiguration: (_folder, configuration) =>
        isNamed(configuration) ? configuration : currentFile(),
    }),
    vscode.debug.registerDebugConfigurationProvider('debugpy', {
      resolveDebugConfiguration: (folder, configuration) => {
        const wanted = vscode.workspace
          .getConfiguration('fxls', folder)
          .get<boolean>('debugPythonSessions', true);
        if (!wanted) return configuration;
        const rules = asEnvironment(rulesOf(folder));
        // A program that runs already has its environment.
        const env =
          configuration.request === 'launch'
            ? { env: { ...rules, ...environment(configuration) } }
            : {};
        return { rules: RULES, ...configuration, ...env };
      },
    }),
  );
}

interface Rule {
  readonly path: string;
  readonly include: boolean;
}

const TYPE = 'fxls';

/** Whether it is one of launch.json; F5 without one gives an empty configuration. */
function isNamed(configuration: vscode.DebugConfiguration): boolean {
  return Object.hasOwn(configuration, 'type');
}

function currentFile(): vscode.DebugConfiguration {
  return {
    type: TYPE,
    request: 'launch',
    name: 'Current file with generated code',
    program: '${file}',
  };
}

async function resolved(
  server: Server,
  folder: vscode.WorkspaceFolder | undefined,
  given: vscode.DebugConfiguration,
): Promise<vscode.DebugConfiguration | undefined> {
  const python = text(given, 'python') ?? server.interpreter?.path;
  if (python === undefined) {
    void offer('There is no Python to debug with.', CHOOSE);
    return undefined;
  }
  const debugpy = await hasDebugpy(python);
  if (debugpy !== true) {
    const problem = debugpy === false ? 'it has no debugpy' : debugpy;
    void offer(`${python} cannot debug: ${problem}.`, {
      title: 'Install debugpy',
      command: 'fxls.install',
      arguments: ['debugpy'],
    });
    return undefined;
  }
  const entry = text(given, 'entry');
  const settings = vscode.workspace.getConfiguration('fxls', folder);
  const breakOn: unknown = given['breakOn'] ?? rulesOf(folder);
  const env: Record<string, unknown> = {
    ...(Array.isArray(breakOn) ? asEnvironment(breakOn.map(String)) : {}),
    ...environment(given),
  };
  const store = env['FXLS_STORE'] ?? settings.get<string>('store', '');
  const where = store === '' ? {} : { FXLS_STORE: store };
  const option = store === '' ? [] : ['--store', store];
  return {
    console: 'internalConsole',
    justMyCode: true,
    rules: RULES,
    ...(folder === undefined ? {} : { cwd: folder.uri.fsPath }),
    ...given,
    ...(entry === undefined
      ? {}
      : { module: 'fxls.debug_entry', args: ['--stop', ...option, entry] }),
    env: { ...env, ...where },
    python,
  };
}

function text(configuration: vscode.DebugConfiguration, name: string): string | undefined {
  const value: unknown = configuration[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function environment(configuration: vscode.DebugConfiguration): object {
  const value: unknown = configuration['env'];
  return typeof value === 'object' && value !== null ? value : {};
}
