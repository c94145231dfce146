// What is missing in a Python is said once, with the one action that helps.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { complaint } from '../../src/server/complaint.ts';

const interpreter = { path: '/env/bin/python', found: '.venv' };
const CHOOSE = { title: 'Choose a Python', command: 'fxls.choosePython' };

void test('no Python at all', () => {
  assert.deepEqual(complaint({ kind: 'absent' }, '0.1.0'), {
    kind: 'problem',
    text: 'fxls: no Python',
    detail:
      'fxls found no Python: no environment of the Python extension, no .venv in the folder, none on the PATH.',
    action: CHOOSE,
  });
});

void test('an environment whose Python was removed', () => {
  assert.deepEqual(complaint({ kind: 'gone', interpreter }, '0.1.0'), {
    kind: 'problem',
    text: 'fxls: Python gone',
    detail:
      '/env/bin/python (from .venv) is gone. Choose another Python, or make this one again.',
    action: CHOOSE,
  });
});

void test('a Python of a setting that was removed', () => {
  const set = { path: '/gone/python', found: 'the setting fxls.python' };
  assert.deepEqual(complaint({ kind: 'gone', interpreter: set }, '0.1.0'), {
    kind: 'problem',
    text: 'fxls: Python gone',
    detail:
      '/gone/python (from the setting fxls.python) is gone. Choose another Python, or make this one again.',
    action: CHOOSE,
  });
});

void test('a Python without torch', () => {
  const python = { kind: 'incomplete', interpreter, missing: 'torch' } as const;
  assert.deepEqual(complaint({ ...python, isManaged: false }, '0.1.0'), {
    kind: 'problem',
    text: 'fxls: no torch',
    detail: '/env/bin/python (from .venv) has no torch.',
    action: { title: 'Install torch', command: 'fxls.install', arguments: ['torch'] },
  });
});

void test('a Python of the system, which nothing can be installed into', () => {
  const system = { path: '/usr/bin/python3', found: 'the PATH' };
  const python = {
    kind: 'incomplete',
    interpreter: system,
    missing: 'fxls',
    isManaged: true,
  } as const;
  assert.deepEqual(complaint(python, '0.1.0'), {
    kind: 'problem',
    text: 'fxls: no fxls',
    detail:
      '/usr/bin/python3 (from the PATH) has no fxls, and the system lets nobody install it there. Make an environment: `python3 -m venv .venv`.',
    action: CHOOSE,
  });
});

void test('a Python that is too old', () => {
  const python = { kind: 'old', interpreter, version: '3.9' } as const;
  assert.deepEqual(complaint(python, '0.1.0'), {
    kind: 'problem',
    text: 'fxls: Python 3.9',
    detail: '/env/bin/python is Python 3.9; fxls needs 3.11 or newer.',
    action: CHOOSE,
  });
});

void test('an fxls that the extension is not made for', () => {
  const python = { kind: 'mismatch', interpreter, fxls: '0.3.1' } as const;
  assert.deepEqual(complaint(python, '0.1.0'), {
    kind: 'problem',
    text: 'fxls: other version',
    detail: '/env/bin/python has fxls 0.3.1; this extension is made for 0.1.0.',
    action: { title: 'Install fxls 0.1.0', command: 'fxls.install' },
  });
});
