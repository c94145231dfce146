// The order of the view "Graphs".

/** What is listed: when it was made, and whether its source has changed since. */
interface Aged {
  readonly time: number;
  readonly stale?: boolean;
}

/**
 * What is found, by model: a model with something current before one that is stale, and the
 * latest first among these. In a model, too, what is current comes first; else its graphs
 * stay in the order in which they were found.
 */
export function byModel<T extends Aged>(
  found: readonly T[],
  nameOf: (item: T) => string,
): T[][] {
  const models = new Map<string, T[]>();
  for (const item of found) {
    const name = nameOf(item);
    models.set(name, [...(models.get(name) ?? []), item]);
  }
  return [...models.values()]
    .map((model) => model.sort((one, other) => age([one]) - age([other])))
    .sort((one, other) => age(one) - age(other) || latest(other) - latest(one));
}

/** Whether nothing of a model is what its source gives today. */
export function isStale(model: readonly Aged[]): boolean {
  return model.every(({ stale }) => stale === true);
}

function age(model: readonly Aged[]): number {
  return isStale(model) ? 1 : 0;
}

function latest(model: readonly Aged[]): number {
  return Math.max(...model.map(({ time }) => time));
}
