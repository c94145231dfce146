// The debug type `fxls`: which Python, which program; the adapter of fxls does the rest.

import * as path from 'node:path';
import * as vscode from 'vscode';
import { rulesOf } from './break_on.ts';
import { PythonSessions, withRuntime } from './python_sessions.ts';
import { CHOOSE } from '../server/complaint.ts';
import { lackToDebug } from '../server/python.ts';
import type { Server } from '../server/server.ts';
import { offer } from '../server/status.ts';

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
    ...(store === undefined ? {} : { store }),
  });
}

/** Contributes the debug type. */
export function registerDebugging(
  server: Server,
  memory: vscode.Memento,
): vscode.Disposable {
  const sessions = new PythonSessions(memory);
  return vscode.Disposable.from(
    vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, {
      createDebugAdapterDescriptor: ({ configuration }) => {
        const python = text(configuration, ADAPTER_PYTHON) ?? 'python';
        return new vscode.DebugAdapterExecutable(python, ['-P', '-m', 'fxls.adapter']);
      },
    }),
    vscode.debug.registerDebugConfigurationProvider(TYPE, {
      resolveDebugConfigurationWithSubstitutedVariables: (folder, configuration) =>
        resolved(server, folder, configuration),
      resolveDebugConfiguration: (_folder, configuration) =>
        isNamed(configuration) ? configuration : currentFile(),
    }),
    vscode.debug.registerDebugConfigurationProvider('debugpy', {
      resolveDebugConfigurationWithSubstitutedVariables: async (folder, configuration) => {
        if (await sessions.areWanted(folder)) {
          return withRuntime(
            folder,
            configuration,
            server.interpreterOf(folder?.uri)?.path,
          );
        }
        // The session does not wait for an answer.
        void sessions.offerOnce(folder, configuration);
        return configuration;
      },
    }),
  );
}

const TYPE = 'fxls';

/** As the Python extension calls the interpreter that runs the adapter. */
const ADAPTER_PYTHON = 'debugAdapterPython';

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
  // A child process has what its parent was started with.
  if (given['subProcessId'] !== undefined) return given;
  const own = server.interpreterOf(folder?.uri)?.path;
  const python: unknown = given['python'] ?? own;
  // The Python that is debugged need not be the one that has fxls.
  const adapter = text(given, ADAPTER_PYTHON) ?? own ?? text(given, 'python');
  if (adapter === undefined) {
    void offer('There is no Python to debug with.', CHOOSE);
    return undefined;
  }
  const lack = await lackToDebug(adapter);
  if (lack !== undefined) {
    void offer(`${adapter} cannot debug: ${lack.message}.`, {
      title: `Install ${lack.install ?? 'debugpy'}`,
      command: 'fxls.install',
      // Without an argument it is fxls of the version of the extension, with debugpy.
      arguments: [lack.install === 'fxls' ? undefined : 'debugpy', adapter],
    });
    return undefined;
  }
  const breakOn: unknown = given['breakOn'] ?? rulesOf(folder);
  const configuration = { ...given, breakOn, [ADAPTER_PYTHON]: adapter };
  if (given.request !== 'launch') return configuration;
  const store = vscode.workspace.getConfiguration('fxls', folder).get<string>('store', '');
  const isChosen = Object.hasOwn(environment(given), 'FXLS_STORE');
  return {
    ...(folder === undefined ? {} : { cwd: folder.uri.fsPath }),
    ...(store === '' || isChosen ? {} : { store }),
    ...configuration,
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
