// How long nodes take, by themselves and together.

export class Times {
  /** Nanoseconds of each node. */
  readonly each: readonly number[];
  /** For each node, how long those before it take together. */
  readonly #before: readonly number[];

  constructor(each: readonly number[]) {
    this.each = each;
    let sum = 0;
    this.#before = [0, ...each.map((time) => (sum += time))];
  }

  /** How long the nodes from one to another take together. */
  of(first: number, last: number): number {
    return (this.#before[last + 1] ?? 0) - (this.#before[first] ?? 0);
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
