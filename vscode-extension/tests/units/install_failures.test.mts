// What a real installer prints when it fails becomes a sentence with a way out.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { reasonOf } from '../../src/server/install_failures.ts';

const environment = mkdtempSync(path.join(tmpdir(), 'fxls-pip-'));
const python = path.join(environment, 'bin/python');

function ran(program: string, ...values: string[]): readonly [string, number | null] {
  // Nothing that this machine sets for pip may lead to an index.
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PIP_'));
  const env = { ...Object.fromEntries(kept), PIP_CONFIG_FILE: '/dev/null' };
  const { stdout, stderr, status } = spawnSync(program, values, { encoding: 'utf8', env });
  return [stdout + stderr, status];
}

void test('an index that cannot be reached', () => {
  assert.equal(ran('python3', '-m', 'venv', environment)[1], 0);
  const index = ['--retries', '1', '-i', 'http://127.0.0.1:9/simple'];
  const [output, code] = ran(python, '-m', 'pip', 'install', ...index, 'mixer');
  assert.equal(
    reasonOf(output, code),
    'the package index cannot be reached. Connect to a network, or tell pip of an index that you can reach (`pip config set global.index-url …`), and try again.',
  );
});

void test('an index that has no torch', () => {
  const [output, code] = ran(python, '-m', 'pip', 'install', '--no-index', 'torch');
  assert.equal(
    reasonOf(output, code),
    'the package index gives no torch for this Python and system. Choose a Python that PyTorch supports, or see whether the index can be reached.',
  );
});

void test('what is not known is quoted', () => {
  const [output, code] = ran(python, '-m', 'pip', 'install', '--no-index', './nowhere.whl');
  assert.equal(
    reasonOf(output, code),
    'ERROR: nowhere.whl is not a valid wheel filename. The terminal shows all of it.',
  );
});

void test('an environment that has no pip', () => {
  assert.equal(ran(python, '-m', 'pip', 'uninstall', '--yes', 'pip')[1], 0);
  const [output, code] = ran(python, '-m', 'pip', 'install', 'mixer');
  assert.equal(
    reasonOf(output, code),
    'it has neither pip nor what makes one (`ensurepip`). Install pip with the package manager that this Python came from, or choose another Python.',
  );
});

void test('what says nothing at all', () => {
  assert.equal(reasonOf('', 137), 'the installer ended with 137. The terminal shows why.');
  assert.equal(
    reasonOf('Collecting torch\n', null),
    'it was stopped. The terminal shows how far it came.',
  );
});
