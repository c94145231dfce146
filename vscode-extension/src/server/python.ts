// Which Python is used, and whether it has what is needed.

import type * as vscode from 'vscode';
import { findInterpreter, type Interpreter, isGone } from './interpreters.ts';
import { probe } from './probe.ts';

/** What was found out about the Python of a folder. */
export type Python =
  | { readonly kind: 'ready'; readonly interpreter: Interpreter; readonly fxls: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'gone'; readonly interpreter: Interpreter }
  | {
      readonly kind: 'broken';
      readonly interpreter: Interpreter;
      readonly message: string;
    }
  | {
      readonly kind: 'incomplete';
      readonly interpreter: Interpreter;
      readonly missing: 'fxls' | 'torch';
      /** Whether the system forbids to install anything there. */
      readonly isManaged: boolean;
    }
  | { readonly kind: 'old'; readonly interpreter: Interpreter; readonly version: string }
  | {
      readonly kind: 'mismatch';
      readonly interpreter: Interpreter;
      readonly fxls: string;
    };

/**
 * The interpreter of a folder, and whether fxls can be started with it; `onFound` is told
 * of it before it is asked what is installed.
 */
export async function findPython(
  folder: vscode.Uri | undefined,
  wanted: string,
  onFound: (interpreter: Interpreter) => void,
): Promise<Python> {
  const interpreter = await findInterpreter(folder);
  if (interpreter === undefined) return { kind: 'absent' };
  if (await isGone(interpreter.path)) return { kind: 'gone', interpreter };
  onFound(interpreter);
  const answer = await probe(interpreter.path);
  if (typeof answer === 'string') {
    return { kind: 'broken', interpreter, message: answer };
  }
  const { version, fxls, torch, managed: isManaged } = answer;
  if (compare(version, OLDEST) < 0) return { kind: 'old', interpreter, version };
  if (fxls === null) return { kind: 'incomplete', interpreter, missing: 'fxls', isManaged };
  if (torch === null) {
    return { kind: 'incomplete', interpreter, missing: 'torch', isManaged };
  }
  if (minor(fxls) !== minor(wanted)) return { kind: 'mismatch', interpreter, fxls };
  return { kind: 'ready', interpreter, fxls };
}

/** Why an interpreter cannot run the debug adapter, and what to install for it. */
export interface Lack {
  readonly message: string;
  readonly install?: 'fxls' | 'debugpy';
}

/** What an interpreter lacks to run the debug adapter; undefined when it can. */
export async function lackToDebug(python: string): Promise<Lack | undefined> {
  const answer = await probe(python);
  if (typeof answer === 'string') return { message: answer };
  const lacks = answer.fxls === null ? 'fxls' : answer.debugpy ? undefined : 'debugpy';
  return lacks && { message: `it has no ${lacks}`, install: lacks };
}

/** The oldest Python that fxls runs on. */
export const OLDEST = '3.11';

/** The part of a version in which two that go together are the same. */
function minor(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}

/** Less than zero when the first version is older. */
export function compare(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}
