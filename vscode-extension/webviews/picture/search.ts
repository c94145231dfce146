// Nodes that have all the words somebody typed, and the one that is shown of them.

import type { GraphItem } from '../../src/server/protocol.ts';

export class Search {
  readonly #texts: readonly string[];
  #found: readonly number[] = [];
  #at = -1;

  constructor({ nodes, scopes }: GraphItem) {
    this.#texts = nodes.map(({ name, opcode, target, value = '', scope }) =>
      [name, opcode, target, value, scopes[scope ?? -1]?.path ?? '']
        .join(' ')
        .toLowerCase(),
    );
  }

  /** Finds; no words find nothing. */
  set words(text: string) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.#found =
      words.length === 0
        ? []
        : [...this.#texts.keys()].filter((node) =>
            words.every((word) => this.#texts[node]?.includes(word)),
          );
    this.#at = -1;
  }

  /** In the order of the graph. */
  get found(): readonly number[] {
    return this.#found;
  }

  /** Which of them is shown, from one; 0 before any is. */
  get place(): number {
    return this.#at + 1;
  }

  /** Goes on to another; behind the last comes the first. */
  step(by: 1 | -1): number | undefined {
    const count = this.#found.length;
    if (count === 0) return undefined;
    this.#at = this.#at === -1 && by === -1 ? count - 1 : (this.#at + by + count) % count;
    return this.#found[this.#at];
  }
}
