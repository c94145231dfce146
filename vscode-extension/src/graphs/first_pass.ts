// Passes in words: their names, and what can be asked of the first that did something.

export interface FirstPassQuestion {
  readonly label: string;
  /** The word of the protocol. */
  readonly asked: string;
  /** What has to be given with it. */
  readonly wants?: string;
}

const node = 'The name of the node, as it stands in the generated code';
const target = 'What is called; the end of its name is enough, as add.Tensor';

export const firstPassQuestions: readonly FirstPassQuestion[] = [
  { label: 'a node is gone', asked: 'gone', wants: node },
  { label: 'a node is made', asked: 'made', wants: node },
  { label: 'a node has another target or other arguments', asked: 'altered', wants: node },
  { label: 'a node stands elsewhere', asked: 'moved', wants: node },
  { label: 'something is called that was not', asked: 'with', wants: target },
  { label: 'something is not called any more', asked: 'without', wants: target },
  { label: 'a value has a new shape', asked: 'shape', wants: 'The shape, as 8x1024' },
  { label: 'the graph is broken: a node uses a later one', asked: 'broken' },
];

/** A pass, and which of those with its name it is where there are several. */
export function passName(name: string, ordinal = 1): string {
  return ordinal < 2 ? name : `${name} (${ordinal})`;
}
