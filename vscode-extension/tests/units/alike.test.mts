// Which node of one graph is which of another, through what passes do to names.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GraphItem } from '../../src/server/protocol.ts';
import { alike } from '../../src/listings/alike.ts';

const CAPTURED = graph('', 'weight@linear x linear@linear y@relu linear_1@linear y_1@relu');

void test('a node is what its expression became, whatever that is called', () => {
  const forward = graph(
    'graph 0, forward',
    'primals x t@linear addmm@linear relu@relu t_1@linear addmm_1@linear relu_1@relu',
  );
  assert.deepEqual(pairs(CAPTURED, forward), {
    x: 'x',
    linear: 't addmm',
    y: 'relu',
    linear_1: 't_1 addmm_1',
    y_1: 'relu_1',
  });
  assert.deepEqual(pairs(forward, CAPTURED), {
    x: 'x',
    t: 'linear',
    addmm: 'linear',
    relu: 'y',
    t_1: 'linear_1',
    addmm_1: 'linear_1',
    relu_1: 'y_1',
  });
});

void test('what computes gradients begins with what ran last', () => {
  const backward = graph(
    'graph 0, backward',
    'tangents threshold@relu mm@linear threshold_1@relu mm_1@linear',
    true,
  );
  assert.deepEqual(pairs(CAPTURED, backward), {
    linear: 'mm_1',
    y: 'threshold_1',
    linear_1: 'mm',
    y_1: 'threshold',
  });
});

void test('names tell where an expression did not run as often', () => {
  const [before, after] = [
    graph('', 'a@add b@mul a_1@add c@mul a_2@add'),
    graph('', 'b@mul a_1@add c@mul a_2@add'),
  ];
  assert.deepEqual(pairs(before, after), {
    a: 'a_1',
    b: 'b',
    a_1: 'a_1',
    c: 'c',
    a_2: 'a_2',
  });
});

void test('names tell where the source is another one', () => {
  const [before, after] = [graph('', 'x linear@old'), graph('', 'x linear@new tanh@new')];
  assert.deepEqual(pairs(before, after), { x: 'x', linear: 'linear' });
});

void test('a kernel is all that it computes, and a node each kernel that does', () => {
  const given = {
    ...graph('graph 0, post-grad', 'x addmm@linear relu@relu add@add le@relu'),
  };
  given.uri = 'file:///given.py';
  const code = {
    ...graph(
      'graph 0, kernels',
      'buf0@linear buf1@add addmm:1@linear fused:2@relu sum:3@add',
    ),
    parent: given.uri,
  };
  const computes = [['addmm'], ['add'], ['addmm'], ['relu', 'add', 'le'], ['add']];
  code.nodes = code.nodes.map((node, at) => ({
    ...node,
    opcode: at < 2 ? 'buffer' : 'call_kernel',
    computes: computes[at] ?? [],
  }));
  assert.deepEqual(pairs(code, given), {
    buf0: 'addmm',
    buf1: 'add',
    'addmm:1': 'addmm',
    'fused:2': 'relu add le',
    'sum:3': 'add',
  });
  assert.deepEqual(pairs(given, code), {
    addmm: 'addmm:1',
    relu: 'fused:2',
    add: 'fused:2 sum:3',
    le: 'fused:2',
  });
});

/** A graph of nodes like `name@expression`; those without one are inputs. */
function graph(stage: string, text: string, computesGradients = false): GraphItem {
  const words = text.split(' ').map((word) => word.split('@'));
  const made = [...new Set(words.flatMap(([, expression]) => expression ?? []))];
  return {
    ...{ uri: 'file:///Net_0.py', document: 'fxls:/net/forward.py', module: 'net' },
    ...{ qualname: 'Net', producer: 'torch.compile', scopes: [], stage },
    computesGradients,
    nodes: words.map(([name = '', expression], line) => ({
      ...{ name, target: name, line, character: 4, reads: [] },
      opcode:
        expression === undefined || name === 'weight' ? 'placeholder' : 'call_function',
      ...(expression === undefined ? {} : { origin: made.indexOf(expression) }),
    })),
    places: made.map((uri) => ({
      ...{ uri, line: 1, character: 0, endLine: 1, endCharacter: 9, function: 'forward' },
    })),
  };
}

/** For each node that has some, the nodes of the other graph that are it. */
function pairs(from: GraphItem, to: GraphItem): Record<string, string> {
  return Object.fromEntries(
    from.nodes.flatMap(({ name }, node) => {
      const found = alike(from, node, to).map((each) => to.nodes[each]?.name);
      return found.length === 0 ? [] : [[name, found.join(' ')]];
    }),
  );
}
