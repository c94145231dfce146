// What the server says beyond the protocol, as docs/protocol.md has it.

import { NotificationType, RequestType } from 'vscode-languageclient/node';

/** The version of the settings that are sent; a server that does not know it says so. */
export const SETTINGS_FORMAT = 1;

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
export const TABLE = 'fxls.table';

/** Commands of ours that lenses of the server may name. */
export const DEBUG = 'fxls.debug';
export const SHOW_REFERENCES = 'fxls.showReferences';

export const listings = new RequestType<
  { textDocument: { uri: string } },
  ListingItem[] | null,
  void
>('fxls/listings');

export const serverStatus = new NotificationType<ServerStatus>('experimental/serverStatus');

/** A node of a graph. */
export interface NodeItem {
  readonly name: string;
  readonly opcode: string;
  readonly target: string;
  readonly line: number;
  readonly character: number;
  /** The nodes that it reads, by their number. */
  readonly reads: readonly number[];
  /** The innermost call of a submodule that it is part of, of `scopes`. */
  readonly scope?: number;
  readonly value?: string;
  readonly dtype?: string;
  readonly device?: string;
  readonly bytes?: number;
  /** The place that made it, of `places`. */
  readonly origin?: number;
  readonly passes?: readonly string[];
  /** The last line of the text of a kernel. */
  readonly endLine?: number;
  /** Of code, the nodes of the graph before that are computed or held here. */
  readonly computes?: readonly string[];
  readonly error?: ErrorItem;
}

/** A call of a submodule: nodes that follow each other. */
export interface ScopeItem {
  readonly path: string;
  readonly type: string;
  readonly first: number;
  readonly last: number;
  /** The call around it, of the list. */
  readonly parent?: number;
  readonly parameters?: number;
}

/** An expression of the source. */
export interface PlaceItem {
  readonly uri: string;
  readonly line: number;
  readonly character: number;
  readonly endLine: number;
  readonly endCharacter: number;
  readonly function: string;
}

/** A whole graph. */
export interface GraphItem {
  readonly uri: string;
  readonly document: string;
  readonly module: string;
  readonly qualname: string;
  readonly producer: string;
  readonly nodes: readonly NodeItem[];
  readonly scopes: readonly ScopeItem[];
  readonly places: readonly PlaceItem[];
  readonly stage?: string;
  readonly rank?: number;
  readonly parameters?: number;
  readonly stale?: boolean;
  /** The listing of the graph that this one was made from. */
  readonly parent?: string;
  /** Whether it is the backward of another graph. */
  readonly computesGradients?: boolean;
}

/** A row of the table of a graph. */
export interface RowItem {
  readonly node: number;
  readonly name: string;
  readonly opcode: string;
  readonly target: string;
  readonly args: string;
  readonly kwargs: string;
  readonly users: number;
  readonly line: number;
  readonly character: number;
  readonly shape?: string;
  readonly dtype?: string;
  readonly device?: string;
  readonly bytes?: number;
  readonly module?: string;
  readonly moduleType?: string;
  readonly passes?: readonly string[];
  readonly origin?: PlaceItem;
  /** Of all kernels that compute it, or its own. */
  readonly nanoseconds?: number;
  /** Whether one of these kernels computes other nodes as well. */
  readonly shared?: boolean;
  readonly error?: ErrorItem;
}

/** How far a value is off, as `fxls compare` found. */
export interface ErrorItem {
  readonly off: number;
  /** What precision explains. */
  readonly explained: number;
  /** The same for people, with the step that made the value. */
  readonly text: string;
  readonly wrong?: boolean;
}

export type Column =
  | 'node'
  | 'name'
  | 'opcode'
  | 'target'
  | 'users'
  | 'shape'
  | 'dtype'
  | 'device'
  | 'bytes'
  | 'time'
  | 'error'
  | 'module'
  | 'source';

/** Which rows, and in which order. */
export interface RowsAsked {
  readonly sort: Column;
  readonly descending: boolean;
  readonly search: string;
  readonly first: number;
  readonly count: number;
}

export interface RowsAnswer {
  /** How many nodes the graph has. */
  readonly nodes: number;
  /** How many were searched for. */
  readonly found: number;
  readonly rows: readonly RowItem[];
  /** Whether `fxls compare` judged any node of the graph. */
  readonly compared?: boolean;
}

/** How long each node takes, in the order of the graph, or why nobody can say. */
export interface TimesItem {
  readonly nanoseconds?: readonly number[];
  readonly problem?: string;
  /** Where kernels were measured, and not nodes: each once. */
  readonly kernels?: readonly KernelItem[];
  /** How many calls of the code a run measured. */
  readonly calls?: number;
}

/** A call of a kernel, and the nodes that share its time. */
export interface KernelItem {
  readonly nanoseconds: number;
  readonly nodes: readonly number[];
  /** How many nodes it computes, also where the graph does not have them. */
  readonly sharedBy: number;
}

/** An identity of a store, and its newest revision. */
export interface IdentityItem {
  readonly document: string;
  readonly uri: string;
  readonly path: string;
  readonly module: string;
  readonly qualname: string;
  readonly producer: string;
  /** Seconds since 1970. */
  readonly time: number;
  readonly revisions: number;
  readonly sources: readonly string[];
  readonly stage?: string;
  readonly rank?: number;
  readonly nodes?: number;
  readonly entry?: string;
  readonly stale?: boolean;
}

/** A revision of an identity. */
export interface RevisionItem {
  readonly uri: string;
  readonly path: string;
  readonly document: string;
  readonly time: number;
  readonly nodes?: number;
  readonly entry?: string;
  readonly madeBy?: string;
  readonly ordinal?: number;
  readonly change?: string;
  readonly compilation?: string;
}

/** A run of a program. */
export interface RunItem {
  readonly id: string;
  readonly state: 'running' | 'ended' | 'raised' | 'killed' | 'unknown';
  /** Seconds since 1970. */
  readonly start: number;
  readonly seconds?: number;
  readonly program?: string;
  readonly arguments?: readonly string[];
  readonly rank?: number;
  readonly raised?: string;
  readonly compilations?: number;
  readonly recompilations?: number;
  readonly breaks?: number;
  readonly skipped?: number;
  readonly limits?: number;
  readonly errors?: number;
}

/** What a run did. */
export interface OverviewItem {
  /** In torch's order; many recompilations of one function are one row. */
  readonly rows: readonly (readonly CompilationItem[])[];
  readonly phases: readonly PhaseItem[];
  /** Those of no compilation. */
  readonly remarks: readonly RemarkItem[];
  /** That of no compilation. */
  readonly code: readonly CodeItem[];
  readonly patterns?: readonly PatternItem[];
  readonly leftOut?: number;
  /** All of the launch, the lowest first. */
  readonly ranks?: readonly RankItem[];
}

/** A rank, and where it first differs from the lowest one. */
export interface RankItem {
  readonly rank: number;
  readonly run: RunItem;
  readonly graph?: string;
  readonly summary?: string;
  readonly node?: string;
  /** The listing with that node. */
  readonly uri?: string;
  readonly line?: number;
  /** What made the node. */
  readonly place?: PlaceItem;
}

/** A pattern of the program, and how often it was looked for. */
export interface PatternItem {
  readonly name: string;
  readonly ran: number;
  readonly matched: number;
  /** The pass that looks for it, where that has another name. */
  readonly of?: string;
  readonly place?: PlaceItem;
}

/** One attempt of torch.compile at a function. */
export interface CompilationItem {
  readonly id: string;
  readonly function: string;
  readonly outcome: string;
  readonly cause: string;
  readonly attempts?: number;
  readonly seconds?: number;
  readonly nodes?: number;
  readonly cached?: readonly string[];
  readonly place?: PlaceItem;
  readonly remarks?: readonly RemarkItem[];
  readonly changes?: readonly ChangeItem[];
  readonly guards?: number;
  /** The document of the guards. */
  readonly document?: string;
  readonly code?: readonly CodeItem[];
}

/** What torch.compile could not do. */
export interface RemarkItem {
  readonly subject: string;
  readonly title: string;
  readonly reason: string;
  readonly number?: string;
  readonly hints?: readonly string[];
  readonly place?: PlaceItem;
}

/** A pass that changed a graph. */
export interface ChangeItem {
  readonly name: string;
  readonly stage: string;
  readonly ordinal?: number;
  readonly change?: string;
  readonly raised?: string;
  readonly uri?: string;
}

/** How long a phase took. */
export interface PhaseItem {
  readonly name: string;
  readonly seconds: number;
}

/** A listing of code with kernels. */
export interface CodeItem {
  readonly uri: string;
  readonly qualname: string;
  readonly stage: string;
}

/** The first pass that did what was asked, as far as the extension needs it. */
export interface FirstPassItem {
  readonly before: string;
  readonly after: string;
  readonly said: string;
}

/** What was deleted. */
export interface DeletedItem {
  readonly deleted: readonly string[];
  readonly problem?: string;
}

/** An identity has a newer revision. */
export interface Revised {
  readonly old: string;
  readonly new: string;
  /** The line of each node that both have, in the old and in the new listing. */
  readonly lines: readonly (readonly [number, number])[];
}

export const graph = new RequestType<{ uri: string }, GraphItem | null, void>('fxls/graph');

export const rows = new RequestType<{ uri: string } & RowsAsked, RowsAnswer | null, void>(
  'fxls/table',
);

export const times = new RequestType<{ uri: string }, TimesItem | null, void>('fxls/times');

export const identities = new RequestType<object, IdentityItem[] | null, void>(
  'fxls/identities',
);

export const revisions = new RequestType<{ uri: string }, RevisionItem[] | null, void>(
  'fxls/revisions',
);

export const normalized = new RequestType<
  { uri: string; like?: string },
  { text: string } | null,
  void
>('fxls/normalized');

export const deleted = new RequestType<{ uri: string }, DeletedItem | null, void>(
  'fxls/delete',
);

export const runs = new RequestType<object, RunItem[] | null, void>('fxls/runs');

export const run = new RequestType<{ run: string }, OverviewItem | null, void>('fxls/run');

export const runsChanged = new NotificationType<{ runs: string[] }>('fxls/runsChanged');

export const changed = new NotificationType<{ documents: string[] }>('fxls/changed');

export const revised = new NotificationType<Revised>('fxls/revised');

/** What the server may expect of this client. */
export const EXPERIMENTAL = {
  commands: { commands: [DEBUG, SHOW_REFERENCES] },
  commandLinks: true,
  serverStatusNotification: true,
  fxlsRevisions: true,
  fxlsChanges: true,
  fxlsRuns: true,
};
