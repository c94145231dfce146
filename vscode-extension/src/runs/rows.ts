// The rows of the view "Runs": what each stands for, and what stands below it.

import type {
  ChangeItem,
  CodeItem,
  CompilationItem,
  NodeItem,
  OverviewItem,
  PatternItem,
  PhaseItem,
  PlaceItem,
  RankItem,
  RemarkItem,
  RunItem,
} from '../server/protocol.ts';

interface Of<Kind extends string, Item> {
  readonly kind: Kind;
  readonly item: Item;
  /** Names the row among all of the view, also when it is asked for again. */
  readonly id: string;
}

/** Many recompilations of one function. */
type Again = Of<'again', readonly CompilationItem[]>;

type Compilation = Of<'compilation', CompilationItem>;

/** What a compilation needs so that it is used again. */
export interface GuardsItem {
  readonly count: number;
  readonly document: string;
}

/** A call of a kernel, in a listing. */
export interface CallItem {
  readonly uri: string;
  readonly node: NodeItem;
}

export type Row =
  | Of<'run', RunItem>
  | Of<'phases', readonly PhaseItem[]>
  | Of<'phase', PhaseItem>
  | Again
  | Compilation
  | Of<'remark', RemarkItem>
  | Of<'change', ChangeItem>
  | Of<'guards', GuardsItem>
  | Of<'patterns', readonly PatternItem[]>
  | Of<'pattern', PatternItem>
  | Of<'kernels', readonly CodeItem[]>
  | Of<'code', CodeItem>
  | Of<'call', CallItem>
  | Of<'ranks', readonly RankItem[]>
  | Of<'rank', RankItem>
  | Of<'source', PlaceItem>
  | Of<'more', number>;

/** What stands below a run. */
export function rowsOf(run: string, overview: OverviewItem): Row[] {
  const { rows, phases, remarks, code, patterns = [], leftOut = 0, ranks = [] } = overview;
  return [
    ...(ranks.length === 0 ? [] : [of('ranks', ranks, `${run} ranks`)]),
    ...rows.flatMap((row): readonly (Again | Compilation)[] => {
      const [first] = row;
      if (row.length > 1) return [{ kind: 'again', item: row, id: `${run} ${first?.id}+` }];
      return row.map((item) => compilation(run, item));
    }),
    ...(leftOut === 0 ? [] : [of('more', leftOut, `${run} more`)]),
    ...remarks.map((item, at) => of('remark', item, `${run} remark ${at}`)),
    ...(patterns.length === 0 ? [] : [of('patterns', patterns, `${run} patterns`)]),
    ...(code.length === 0 ? [] : [of('kernels', code, `${run} kernels`)]),
    ...(phases.length === 0 ? [] : [of('phases', phases, `${run} phases`)]),
  ];
}

/** What stands below any other row; undefined for code, whose listing has to be asked. */
export function below(row: Row): Row[] | undefined {
  const { kind, id } = row;
  switch (kind) {
    case 'again': {
      const [run = ''] = id.split(' ');
      return row.item.map((item) => compilation(run, item));
    }
    case 'compilation':
      return belowCompilation(id, row.item);
    case 'patterns':
      return row.item.map((item, at) => of('pattern', item, `${id} ${at}`));
    case 'kernels':
      return row.item.map((item) => of('code', item, `${id} ${item.uri}`));
    case 'phases':
      return row.item.map((item) => of('phase', item, `${id} ${item.name}`));
    case 'ranks':
      return row.item.map((item) => of('rank', item, `${id} ${item.rank}`));
    case 'rank': {
      const { place } = row.item;
      return place === undefined ? [] : [of('source', place, `${id} source`)];
    }
    case 'code':
      return undefined;
    default:
      return [];
  }
}

/** The calls of kernels in a listing, of the nodes that it has. */
export function callsOf(
  { id, item }: Of<'code', CodeItem>,
  nodes: readonly NodeItem[],
): Row[] {
  return nodes
    .filter(({ opcode }) => opcode === 'call_kernel')
    .map((node) => of('call', { uri: item.uri, node }, `${id} ${node.name}`));
}

function belowCompilation(id: string, item: CompilationItem): Row[] {
  const { remarks = [], changes = [], guards = 0, document, code = [] } = item;
  return [
    ...remarks.map((one, at) => of('remark', one, `${id} remark ${at}`)),
    ...changes.map((one, at) => of('change', one, `${id} change ${at}`)),
    ...(document === undefined
      ? []
      : [of('guards', { count: guards, document }, `${id} guards`)]),
    ...code.map((one) => of('code', one, `${id} ${one.uri}`)),
  ];
}

function compilation(run: string, item: CompilationItem): Compilation {
  return { kind: 'compilation', item, id: `${run} ${item.id}` };
}

function of<Kind extends string, Item>(kind: Kind, item: Item, id: string): Of<Kind, Item> {
  return { kind, item, id };
}
