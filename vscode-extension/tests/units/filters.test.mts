// What an editor and a debug adapter hear of each other through the filters of rules.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Message, RuleFilters, RULES } from '../../src/rule_filters.ts';

void test('the rules are filters behind those of the adapter', () => {
  const { filters, editor } = between();
  const body = { supportsX: true, exceptionBreakpointFilters: [{ filter: 'uncaught' }] };
  filters.fromAdapter({ seq: 1, type: 'response', command: 'initialize', body });
  const [answer] = editor;
  const able = answer?.body as {
    supportsX: boolean;
    exceptionBreakpointFilters: { filter: string }[];
  };
  assert.equal(able.supportsX, true);
  assert.deepEqual(
    able.exceptionBreakpointFilters.map(({ filter }) => filter),
    ['uncaught', ...RULES.map(({ rule }) => `fxls.${rule}`)],
  );
});

void test('a program is launched with the rules that are chosen', () => {
  const { filters, editor, adapter } = between();
  filters.fromEditor(request('launch', { program: 'a.py', env: { A: '1' } }));
  assert.deepEqual([editor.map(({ event }) => event), adapter], [['initialized'], []]);
  filters.fromEditor(request('setBreakpoints', { lines: [3] }));
  filters.fromEditor(choice('fxls.nan', 'uncaught', 'fxls.inf'));
  filters.fromEditor(request('configurationDone', {}));
  assert.deepEqual(said(adapter), [
    ['launch', { program: 'a.py', env: { A: '1', FXLS_BREAK_ON: 'nan,inf' } }],
  ]);
  filters.fromAdapter({ seq: 2, type: 'event', event: 'initialized' });
  assert.deepEqual(said(adapter).slice(1), [
    ['setBreakpoints', { lines: [3] }],
    ['setExceptionBreakpoints', { filters: ['uncaught'] }],
    ['configurationDone', {}],
  ]);
  assert.equal(editor.length, 1);
});

void test('rules of the configuration hold beside those that are chosen', () => {
  const { filters, adapter } = between();
  filters.fromEditor(request('launch', { env: { FXLS_BREAK_ON: 'shape,nan' } }));
  filters.fromEditor(choice('fxls.nan', 'fxls.inf'));
  assert.deepEqual(said(adapter), [
    ['launch', { env: { FXLS_BREAK_ON: 'shape,nan,inf' } }],
  ]);
});

void test('without a rule a program is launched as it was asked for', () => {
  const { filters, adapter } = between();
  filters.fromEditor(request('launch', { program: 'a.py' }));
  filters.fromEditor(request('configurationDone', {}));
  assert.deepEqual(said(adapter), [['launch', { program: 'a.py' }]]);
});

void test('a rule that is chosen while the program is stopped is told at once', () => {
  const { filters, editor, adapter } = between();
  filters.fromAdapter(stack(7));
  filters.fromEditor(choice('fxls.nan', 'raised'));
  filters.fromEditor(choice('fxls.nan'));
  assert.deepEqual(said(adapter), [
    ['evaluate', asked('"nan"', 7)],
    ['setExceptionBreakpoints', { filters: ['raised'] }],
    ['setExceptionBreakpoints', { filters: [] }],
  ]);
  const [{ seq } = { seq: 0 }] = adapter;
  filters.fromAdapter({ seq: 9, type: 'response', command: 'evaluate', request_seq: seq });
  assert.deepEqual(
    editor.map(({ command }) => command),
    ['stackTrace'],
  );
});

void test('one that is chosen while it runs is told when it stops', () => {
  const { filters, adapter } = between();
  filters.fromAdapter(stack(7));
  filters.fromAdapter({ seq: 3, type: 'event', event: 'continued' });
  filters.fromEditor(choice('fxls.inf', 'fxls.nan'));
  filters.fromAdapter({ seq: 4, type: 'event', event: 'stopped' });
  assert.equal(adapter.length, 1);
  filters.fromAdapter(stack(8));
  assert.deepEqual(said(adapter).slice(1), [['evaluate', asked('"nan", "inf"', 8)]]);
});

void test('a session that is ended before it began is ended', () => {
  const { filters, adapter } = between();
  filters.fromEditor(request('launch', {}));
  filters.fromEditor(request('disconnect', {}));
  assert.deepEqual(said(adapter), [['disconnect', {}]]);
});

void test('answers of the editor reach the adapter at once', () => {
  const { filters, adapter } = between();
  filters.fromEditor(request('launch', {}));
  const answer = { seq: 5, type: 'response', command: 'runInTerminal', success: true };
  filters.fromEditor(answer);
  assert.deepEqual(adapter, [answer]);
});

/** Filters, and what the two sides hear. */
function between() {
  const editor: Message[] = [];
  const adapter: Message[] = [];
  const filters = new RuleFilters(
    (message) => editor.push(message),
    (message) => adapter.push(message),
  );
  return { filters, editor, adapter };
}

function request(command: string, given: object): Message {
  return { seq: 1, type: 'request', command, arguments: given };
}

function choice(...filters: string[]): Message {
  return request('setExceptionBreakpoints', { filters });
}

function stack(frame: number): Message {
  const body = { stackFrames: [{ id: frame }, { id: 1 }] };
  return { seq: 2, type: 'response', command: 'stackTrace', body };
}

function asked(rules: string, frameId: number): object {
  return {
    ...{ expression: `__import__("fxls").break_on(${rules})`, frameId, context: 'repl' },
  };
}

function said(messages: readonly Message[]): unknown[] {
  return messages.map(({ command, arguments: given }) => [command, given]);
}
