// Why an installer failed, in words that say what to do.

/** The reason, from what pip, uv or ensurepip printed and how it ended. */
export function reasonOf(output: string, code: number | null): string {
  const known = REASONS.find(([sign]) => sign.test(output));
  if (known !== undefined) return known[1];
  const errors = output.split(/\r?\n/).filter((line) => /^\s*(error|ERROR)\b/.test(line));
  const last = errors.at(-1)?.trim();
  if (last !== undefined)
    return `${last.replace(/\.$/, '')}. The terminal shows all of it.`;
  return code === null
    ? 'it was stopped. The terminal shows how far it came.'
    : `the installer ended with ${code}. The terminal shows why.`;
}

/** The first that fits counts: what fails without a network often names a package too. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [
    /Name or service not known|name resolution|getaddrinfo|Network is unreachable|Connection refused|ConnectTimeout|NewConnectionError|Failed to establish a new connection|dns error|error sending request|tcp connect error|Could not connect/i,
    'the package index cannot be reached. Connect to a network, or tell pip of an index that you can reach (`pip config set global.index-url …`), and try again.',
  ],
  [
    /No space left on device|not enough space/i,
    'the disk is full. torch needs about one gigabyte, and several with CUDA.',
  ],
  [
    /externally[- ]managed/i,
    'the system lets nobody install anything there. Make an environment (`python3 -m venv .venv`) and choose its Python.',
  ],
  [
    /Permission denied|Read-only file system|Access is denied/i,
    'you may not write there. Make an environment of your own (`python3 -m venv .venv`) and choose its Python.',
  ],
  [
    /No module named '?(ensurepip|pip)/i,
    'it has neither pip nor what makes one (`ensurepip`). Install pip with the package manager that this Python came from, or choose another Python.',
  ],
  [
    /No matching distribution found for torch|torch[^\n]* has no wheels|no version of torch/i,
    'the package index gives no torch for this Python and system. Choose a Python that PyTorch supports, or see whether the index can be reached.',
  ],
];
