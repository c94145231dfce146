// What the server says beyond the protocol, as docs/protocol.md has it.

import { NotificationType, RequestType } from 'vscode-languageclient/node';

/** A listing of the store. */
export interface ListingItem {
  readonly uri: string;
  readonly path: string;
  readonly module: string;
  readonly qualname: string;
  readonly producer: string;
  readonly nodes: number;
  readonly stage?: string;
  readonly rank?: number;
  readonly entry?: string;
}

/** What became of an entry. With a `uri` and a `reason` the listing has no shapes. */
export interface TracedItem {
  readonly expression: string;
  readonly uri?: string;
  readonly path?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly advice?: string;
}

/** How the server is. */
export interface ServerStatus {
  readonly health: 'ok' | 'warning' | 'error';
  readonly quiescent: boolean;
  readonly message?: string;
}

/** Commands that the server answers; its lenses name them too. */
export const TRACE = 'fxls.trace';

/** Commands of ours that lenses of the server may name. */
export const DEBUG = 'fxls.debug';
export const SHOW_REFERENCES = 'fxls.showReferences';

export const listings = new RequestType<
  { textDocument: { uri: string } },
  ListingItem[] | null,
  void
>('fxls/listings');

export const serverStatus = new NotificationType<ServerStatus>('experimental/serverStatus');

/** What the server may expect of this client. */
export const EXPERIMENTAL = {
  commands: { commands: [DEBUG, SHOW_REFERENCES] },
  serverStatusNotification: true,
};
