// The documented interface of the Python extension, over two environments of the folder,
// and the debug type of the extension that comes with it.

const path = require('node:path');
const vscode = require('vscode');

exports.activate = (context) => {
  const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const [chosen, own] = ['../chosen', '.venv'].map((name) => path.join(folder, name));
  const changed = new vscode.EventEmitter();
  let active = chosen;
  context.subscriptions.push(
    changed,
    vscode.debug.registerDebugAdapterDescriptorFactory('debugpy', {
      createDebugAdapterDescriptor: () =>
        new vscode.DebugAdapterExecutable(path.join(active, 'bin/python'), [
          '-m',
          'debugpy.adapter',
        ]),
    }),
    vscode.commands.registerCommand('python.useOwn', () => {
      active = own;
      changed.fire({ id: active, path: active, resource: undefined });
    }),
  );
  const environment = (id) => ({
    id,
    path: id,
    executable: { uri: vscode.Uri.file(path.join(id, 'bin/python')) },
  });
  return {
    environments: {
      known: [chosen, own].map(environment),
      getActiveEnvironmentPath: () => ({ id: active, path: active }),
      onDidChangeActiveEnvironmentPath: changed.event,
      resolveEnvironment: (one) => Promise.resolve(environment(one.path)),
    },
  };
};
