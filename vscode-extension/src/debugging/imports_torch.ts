// Whether a program imports torch, as far as its own text says.

/** Whether a line of a Python source imports torch, or a part of it. */
export function importsTorch(source: string): boolean {
  return /^[ \t]*(?:from[ \t]+torch\b|import[ \t]+(?:[\w.]+(?:[ \t]+as[ \t]+\w+)?[ \t]*,[ \t]*)*torch\b)/mu.test(
    source,
  );
}
