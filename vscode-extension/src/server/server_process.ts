// The process of the server: begun before it is known whether that Python has fxls.

import { type ChildProcess, spawn } from 'node:child_process';

/**
 * The first process begins at once, so that it imports while Python is asked what is
 * installed; whatever is missing, it ends by itself or with `end`.
 */
export class ServerProcess {
  readonly python: string;
  readonly #arguments: readonly string[];
  readonly #folder: string | undefined;
  #begun: ChildProcess | undefined;
  #used: ChildProcess | undefined;

  /** `isWarm`: the server is to import torch at once. */
  constructor(python: string, folder: string | undefined, isWarm: boolean) {
    this.python = python;
    this.#folder = folder;
    // Without -P, a file fxls.py of the folder would be what runs.
    this.#arguments = ['-P', '-m', 'fxls', 'serve', ...(isWarm ? ['--warm'] : [])];
    this.#begun = this.#begin();
  }

  /** The process that has begun; for who asks again, another one. */
  take(): Promise<ChildProcess> {
    const taken = this.#begun ?? this.#begin();
    this.#begun = undefined;
    this.#used = taken;
    return taken.pid === undefined
      ? Promise.reject(new Error(`${this.python} does not start`))
      : Promise.resolve(taken);
  }

  /** Ends what nobody took, and what was told to end and still runs after a while. */
  end(): void {
    this.#begun?.kill('SIGKILL');
    this.#begun = undefined;
    const used = this.#used;
    this.#used = undefined;
    // To end one that has ended is to do nothing.
    AbortSignal.timeout(PATIENCE).onabort = () => used?.kill('SIGKILL');
  }

  #begin(): ChildProcess {
    const options = this.#folder === undefined ? {} : { cwd: this.#folder };
    const process = spawn(this.python, this.#arguments, options);
    // Who takes it learns of it by the missing number.
    process.on('error', () => undefined);
    return process;
  }
}

/** Milliseconds that a server has to end its worker and itself. */
const PATIENCE = 2000;
