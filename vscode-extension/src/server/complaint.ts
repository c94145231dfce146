// What is missing in a Python, in words, with the one action that helps.

import type { Python } from './python.ts';
import type { Action, State } from './status.ts';

/** What is said of a Python that fxls `version` cannot be started with. */
export function complaint(
  python: Exclude<Python, { kind: 'ready' }>,
  version: string,
): State {
  const problem = (text: string, detail: string, action: Action): State => ({
    kind: 'problem',
    text: `fxls: ${text}`,
    detail,
    action,
  });
  switch (python.kind) {
    case 'absent':
      return problem(
        'no Python',
        'fxls found no Python: no environment of the Python extension, no .venv in the folder, none on the PATH.',
        CHOOSE,
      );
    case 'gone':
      return problem(
        'Python gone',
        `${python.interpreter.path} (from ${python.interpreter.found}) is gone. Choose another Python, or make this one again.`,
        CHOOSE,
      );
    case 'broken':
      return problem(
        'Python fails',
        `${python.interpreter.path} (from ${python.interpreter.found}) cannot be used: ${python.message}`,
        CHOOSE,
      );
    case 'old':
      return problem(
        `Python ${python.version}`,
        `${python.interpreter.path} is Python ${python.version}; fxls needs 3.11 or newer.`,
        CHOOSE,
      );
    case 'incomplete': {
      const { interpreter, missing, isManaged } = python;
      const lack = `${interpreter.path} (from ${interpreter.found}) has no ${missing}`;
      if (isManaged) {
        return problem(
          `no ${missing}`,
          `${lack}, and the system lets nobody install it there. Make an environment: \`python3 -m venv .venv\`.`,
          CHOOSE,
        );
      }
      return problem(`no ${missing}`, `${lack}.`, {
        title: `Install ${missing}`,
        command: 'fxls.install',
        ...(missing === 'torch' ? { arguments: ['torch'] } : {}),
      });
    }
    case 'mismatch':
      return problem(
        'other version',
        `${python.interpreter.path} has fxls ${python.fxls}; this extension is made for ${version}.`,
        { title: `Install fxls ${version}`, command: 'fxls.install' },
      );
  }
}

/** Lets a person choose another one. */
export const CHOOSE: Action = {
  title: 'Choose a Python',
  command: 'fxls.choosePython',
};
