// Commands that show a graph as a picture or a table.

import * as vscode from 'vscode';
import { type About, isAbout, listingOf } from '../listings/choosing.ts';
import { saveSvg } from './export.ts';
import type { PageKind } from './pages.ts';
import type { Panels } from './panels.ts';
import type { Server } from '../server/server.ts';

export function registerPageCommands(server: Server, panels: Panels): vscode.Disposable {
  const show = (kind: PageKind) => async (about?: About) => {
    const listing = await listingOf(
      server,
      isAbout(about) ? about : undefined,
      panels.active?.listing,
    );
    if (listing !== undefined) await panels.show(kind, listing);
  };
  return vscode.Disposable.from(
    vscode.commands.registerCommand('fxls.showPicture', show('picture')),
    vscode.commands.registerCommand('fxls.showTable', show('table')),
    vscode.commands.registerCommand('fxls.exportPicture', async (where?: vscode.Uri) => {
      const panel = panels.active;
      if (panel?.kind !== 'picture') return undefined;
      const given = where instanceof vscode.Uri ? where : undefined;
      return saveSvg(await panel.svg(), panel.name, given);
    }),
  );
}
