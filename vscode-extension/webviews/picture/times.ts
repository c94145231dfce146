// How long nodes take, by themselves and together.

import type { KernelItem } from '../../src/server/protocol.ts';

export class Times {
  /** Nanoseconds of each node; of one that shares kernels, of all that compute it. */
  readonly each: readonly number[];
  /** For each node, how long those before it take together. */
  readonly #before: readonly number[];
  /** Where kernels were measured: no time may count twice. */
  readonly #kernels: readonly KernelItem[] | undefined;

  constructor(each: readonly number[], kernels?: readonly KernelItem[]) {
    this.each = each;
    let sum = 0;
    this.#before = [0, ...each.map((time) => (sum += time))];
    this.#kernels = kernels;
  }

  /** How long the nodes from one to another take together; each kernel counts once. */
  of(first: number, last: number): number {
    if (this.#kernels === undefined) {
      return (this.#before[last + 1] ?? 0) - (this.#before[first] ?? 0);
    }
    return this.#computing(first, last).reduce((sum, one) => sum + one.nanoseconds, 0);
  }

  /** The same for people, who are told what is not of these nodes alone. */
  text(first: number, last: number): string {
    const time = timeText(this.of(first, last));
    const kernels = this.#computing(first, last);
    const within = (node: number) => first <= node && node <= last;
    const shared = kernels.filter(
      ({ nodes, sharedBy }) => nodes.filter(within).length < sharedBy,
    );
    if (shared.length === 0) return time;
    const [kernel] = kernels;
    if (first === last && kernels.length === 1 && kernel !== undefined) {
      return `${time}, shared by ${kernel.sharedBy} nodes`;
    }
    return `${time}, partly shared with other nodes`;
  }

  #computing(first: number, last: number): readonly KernelItem[] {
    return (this.#kernels ?? []).filter(({ nodes }) =>
      nodes.some((node) => first <= node && node <= last),
    );
  }
}

/** `1234567` nanoseconds as `1.2 ms`. */
export function timeText(nanoseconds: number): string {
  const step = Math.min(
    Math.floor(Math.log10(Math.max(nanoseconds, 1)) / 3),
    UNITS.length - 1,
  );
  const value = nanoseconds / 1000 ** step;
  return `${step === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} ${UNITS[step] ?? ''}`;
}

const UNITS = ['ns', 'µs', 'ms', 's'];
