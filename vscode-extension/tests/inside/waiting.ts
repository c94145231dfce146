// Waiting for what an editor says, never for time to pass.

import type * as vscode from 'vscode';

/** The first event that a test of it holds for. */
export function next<T>(
  event: vscode.Event<T>,
  is: (value: T) => boolean = () => true,
): Promise<T> {
  return new Promise((resolve) => {
    const listener = event((value) => {
      if (!is(value)) return;
      listener.dispose();
      resolve(value);
    });
  });
}

/** The first answer that is not undefined; it is asked again after each event. */
export async function until<T>(
  event: vscode.Event<unknown>,
  ask: () => T | undefined,
): Promise<T> {
  for (;;) {
    const changed = next(event);
    const answer = ask();
    if (answer !== undefined) return answer;
    await changed;
  }
}
