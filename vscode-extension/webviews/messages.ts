// What the extension and its pages say to each other. Types alone: both sides import it.

import type {
  GraphItem,
  KernelItem,
  RowsAnswer,
  RowsAsked,
} from '../src/server/protocol.ts';

/** What the extension tells a page. */
export type ToPage =
  | { readonly kind: 'graph'; readonly graph: GraphItem }
  /** Rows of the table, as they were asked for. */
  | { readonly kind: 'rows'; readonly asked: RowsAsked; readonly answer: RowsAnswer }
  /** The cursor of an editor is on these nodes; none of them when it is elsewhere. */
  | { readonly kind: 'selected'; readonly nodes: readonly number[] }
  /** A program is stopped at a node; null when none is stopped in this graph. */
  | { readonly kind: 'paused'; readonly node: number | null }
  /** The picture as SVG is wanted. */
  | { readonly kind: 'export' }
  /** How long each node takes; null when that cannot be measured. */
  | {
      readonly kind: 'times';
      readonly nanoseconds: readonly number[] | null;
      /** Where kernels were measured, and not nodes. */
      readonly kernels?: readonly KernelItem[];
    }
  /** There is no graph to show, for this reason. */
  | { readonly kind: 'failed'; readonly message: string };

/** What a page tells the extension. */
export type FromPage =
  /** It listens, and is so many pixels wide. */
  | { readonly kind: 'ready'; readonly width: number }
  /** A person chose a node. */
  | { readonly kind: 'chosen'; readonly node: number }
  /** A person wants the program to stop at a node, or no longer. */
  | { readonly kind: 'break'; readonly node: number }
  /** It wants rows of the table. */
  | { readonly kind: 'rows'; readonly asked: RowsAsked }
  /** A person wants to see how long each node takes. */
  | { readonly kind: 'times' }
  /** A person wants the picture as SVG. */
  | { readonly kind: 'export' }
  /** The picture as SVG. */
  | { readonly kind: 'svg'; readonly text: string };
