// What a person can ask for: each command answers with what it shows, or says why not.

import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Location, Position } from 'vscode-languageclient/node';
import { choose, listingsOf } from './listings/choosing.ts';
import { debugEntry } from './debugging/configurations.ts';
import { isListing, showListing } from './listings/listings.ts';
import { DEBUG, SHOW_REFERENCES, TRACE, type TracedItem } from './server/protocol.ts';
import type { Panels } from './graphs/panels.ts';
import type { Server } from './server/server.ts';
import { offer } from './server/status.ts';

/** Registers them all. */
export function registerCommands(
  server: Server,
  log: vscode.LogOutputChannel,
  panels: Panels,
): vscode.Disposable {
  const table: Record<string, (...values: never[]) => unknown> = {
    'fxls.showGeneratedCode': () => showGeneratedCode(server, panels),
    'fxls.debugGeneratedCode': () => debugGeneratedCode(server, panels),
    'fxls.traceFile': () => traceFile(server),
    'fxls.restart': () => server.restart(),
    'fxls.showLog': () => {
      log.show(true);
    },
    'fxls.doctor': () => doctor(server),
    [DEBUG]: (uri: string, expression: string, listing: string | null) =>
      debugEntry(vscode.Uri.parse(uri), expression, storeOf(listing)),
    [SHOW_REFERENCES]: (uri: string, position: Position, places: Location[]) =>
      showReferences(uri, position, places),
  };
  return vscode.Disposable.from(
    ...Object.entries(table).map(([name, act]) =>
      vscode.commands.registerCommand(name, act),
    ),
  );
}

async function showGeneratedCode(server: Server, panels: Panels): Promise<void> {
  const page = panels.active?.listing;
  if (page !== undefined) {
    await showListing(page);
    return;
  }
  const source = activeSource();
  if (source === undefined) return;
  const found = await listingsOf(server, source);
  const chosen = found.length < 2 ? found[0] : await choose(found);
  if (chosen !== undefined) {
    await showListing(vscode.Uri.parse(chosen.uri));
    return;
  }
  if (found.length > 0) return;
  const uri = (await traced(server, source)).find((item) => item.uri !== undefined)?.uri;
  if (uri !== undefined) await showListing(vscode.Uri.parse(uri));
}

async function debugGeneratedCode(server: Server, panels: Panels): Promise<void> {
  const active = panels.active?.listing ?? vscode.window.activeTextEditor?.document.uri;
  if (active === undefined) return;
  if (isListing(active)) {
    await debugListing(server, active);
    return;
  }
  const items = (await traced(server, active)).filter((item) => item.uri !== undefined);
  const item = items.length < 2 ? items[0] : await chooseEntry(items);
  if (item !== undefined) {
    await debugEntry(active, item.expression, storeOf(item.uri ?? null));
  }
}

/** Debugs the entry that a listing was made from. */
async function debugListing(server: Server, listing: vscode.Uri): Promise<void> {
  for (const document of vscode.workspace.textDocuments) {
    if (document.languageId !== 'python' || isListing(document.uri)) continue;
    const found = await listingsOf(server, document.uri);
    const item = found.find(({ uri }) => vscode.Uri.parse(uri).path === listing.path);
    if (item?.entry !== undefined) {
      await debugEntry(document.uri, item.entry, path.dirname(item.path));
      return;
    }
  }
  void offer('Open the source of this listing to debug it.', {
    title: 'Go to Source',
    command: 'editor.action.revealDefinition',
  });
}

async function traceFile(server: Server): Promise<void> {
  const source = activeSource();
  if (source !== undefined) await traced(server, source);
}

/** Traces the entries of a source, and says what went wrong with the first that failed. */
async function traced(server: Server, source: vscode.Uri): Promise<readonly TracedItem[]> {
  const client = await server.client();
  if (client === undefined) return [];
  const items = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: 'fxls: tracing' },
    () =>
      client.sendRequest<TracedItem[] | null>('workspace/executeCommand', {
        command: TRACE,
        arguments: [client.code2ProtocolConverter.asUri(source)],
      }),
  );
  const all = items ?? [];
  const failed = all.find((item) => item.uri === undefined);
  if (failed !== undefined && all.every((item) => item.uri === undefined)) {
    void offer(`${failed.expression}: ${failed.message ?? ''}`, PROBLEMS);
  } else if (all.length === 0) {
    void offer(
      `${path.basename(source.fsPath)} has no entry: write \`# fxls: Net()(torch.randn(1, 3))\` under the model.`,
      { title: 'Show Log', command: 'fxls.showLog' },
    );
  }
  return all;
}

/** Shows in a terminal what of fxls works in the Python that it runs in. */
async function doctor(server: Server): Promise<void> {
  const file = vscode.window.activeTextEditor?.document.uri;
  const python = server.interpreterOf(file)?.path;
  if (python === undefined) {
    await vscode.commands.executeCommand('fxls.choosePython');
    return;
  }
  await vscode.tasks.executeTask(
    new vscode.Task(
      { type: 'process' },
      vscode.TaskScope.Workspace,
      'doctor',
      'fxls',
      new vscode.ProcessExecution(python, ['-P', '-m', 'fxls', 'doctor']),
    ),
  );
}

async function showReferences(
  uri: string,
  position: Position,
  places: readonly Location[],
): Promise<void> {
  await vscode.commands.executeCommand(
    'editor.action.showReferences',
    vscode.Uri.parse(uri),
    new vscode.Position(position.line, position.character),
    places.map(
      (place) =>
        new vscode.Location(
          vscode.Uri.parse(place.uri),
          new vscode.Range(
            place.range.start.line,
            place.range.start.character,
            place.range.end.line,
            place.range.end.character,
          ),
        ),
    ),
  );
}

function activeSource(): vscode.Uri | undefined {
  const document = vscode.window.activeTextEditor?.document;
  return document?.languageId === 'python' && !isListing(document.uri)
    ? document.uri
    : undefined;
}

async function chooseEntry(items: readonly TracedItem[]): Promise<TracedItem | undefined> {
  const picked = await vscode.window.showQuickPick(
    items.map((item) => ({ label: item.expression, item })),
    { title: 'Debug the generated code of' },
  );
  return picked?.item;
}

/** The store that a listing is in. */
function storeOf(listing: string | null): string | undefined {
  return listing === null ? undefined : path.dirname(vscode.Uri.parse(listing).fsPath);
}

const PROBLEMS = { title: 'Show Problems', command: 'workbench.actions.view.problems' };
