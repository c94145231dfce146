// Runs in the extension host of a real VS Code, with the packaged extension installed.

import * as vscode from 'vscode';
import { debugging } from './debugging.ts';
import { faults } from './faults.ts';
import { firstEntry } from './first_entry.ts';
import { graphs } from './graphs.ts';
import { say } from './saying.ts';
import { story } from './story.ts';

export async function run(): Promise<void> {
  const failed: string[] = [];
  let count = 0;
  for (const [name, test] of [
    ...story,
    ...firstEntry,
    ...debugging,
    ...graphs,
    ...faults,
  ]) {
    if (!ONLY.some((text) => name.includes(text))) continue;
    count += 1;
    const began = performance.now();
    try {
      await within(LIMIT, test());
      say(`ok    ${name} (${Math.round(performance.now() - began)} ms)`);
    } catch (error) {
      failed.push(name);
      say(`FAIL  ${name}: ${error instanceof Error ? (error.stack ?? '') : String(error)}`);
    }
  }
  say(`${count - failed.length} of ${count} passed in VS Code ${vscode.version}`);
  if (failed.length > 0) throw new Error(failed.join(', '));
}

/** The tests wait for events; one that does not come fails the test. */
async function within(limit: number, test: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`nothing came in ${limit / 1000} s`));
    }, limit);
  });
  try {
    await Promise.race([test, late]);
  } finally {
    clearTimeout(timer);
  }
}

const LIMIT = 600_000;

/** Tests whose name has one of these run. */
const ONLY = (process.env['FXLS_TEST_ONLY'] ?? '').split('|');
