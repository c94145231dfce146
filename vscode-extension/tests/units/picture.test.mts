// What a picture is made of: groups, edges, places, steps, words, and the file it becomes.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import type { ELK } from 'elkjs/lib/elk-api.js';
import { Camera } from '../../webviews/picture/camera.ts';
import { Layouts } from '../../webviews/picture/layout.ts';
import { Scene } from '../../webviews/picture/scene.ts';
import { Search } from '../../webviews/picture/search.ts';
import { stepped } from '../../webviews/picture/steps.ts';
import { SvgPen } from '../../webviews/picture/svg_pen.ts';
import { ancestors, type Group, treeOf, WIDEST } from '../../webviews/picture/tree.ts';
import { edgesOf, usersOf } from '../../webviews/picture/wiring.ts';
import { graphOf, written } from './pictures.ts';

const NET = graphOf(`
  x
  stem | conv < x
  stem | norm < conv
  block.0 | linear < norm
  block.0 | relu < linear
  block.1 | tanh < relu
  add < tanh norm
`);

void test('nodes stand in the modules that were being called', () => {
  assert.equal(
    written(groupsOf(NET)[0], NET),
    'Net(x stem(conv norm) block(0(linear relu) tanh) add)',
  );
});

void test('a module that is called twice is two groups', () => {
  const twice = graphOf(`
    x
    act | a < x
    act | b < a
    c < b
    act | d < c
    act | e < d
  `);
  assert.equal(written(groupsOf(twice)[0], twice), 'Net(x act(a b) c act(d e))');
});

void test('a node knows the groups around it, outermost first', () => {
  const tree = treeOf(NET);
  assert.deepEqual(
    ancestors(tree, 4).map(({ label }) => label),
    ['Net', 'block', '0'],
  );
});

void test('no group of a flat graph is wider than can be laid out', () => {
  const flat = flatGraph(10_000);
  const { groups } = treeOf(flat);
  assert.ok(groups.every(({ members }) => members.length <= WIDEST));
  const seen = groups.flatMap(({ members }) =>
    members.filter((m) => typeof m === 'number'),
  );
  assert.deepEqual(seen.length, 10_000);
  assert.match(groups[1]?.label ?? '', /^n0 … n\d+$/);
});

void test('an edge of a group joins members, or a member and the outside', () => {
  const [, stem, block] = groupsOf(NET);
  const users = usersOf(NET);
  assert.deepEqual(edgesOf(stem, NET, users), [
    { from: 'outside', to: 0 },
    { from: 0, to: 1 },
    { from: 1, to: 'outside' },
  ]);
  assert.deepEqual(edgesOf(block, NET, users), [
    { from: 'outside', to: 0 },
    { from: 0, to: 1 },
    { from: 1, to: 'outside' },
  ]);
});

void test('what is open has room for what is inside, and edges lead downwards', async () => {
  const { scene } = await drawn(NET, () => true);
  const stem = scene.blocks.find(({ member }) => isNamed(member, 'stem'));
  const conv = scene.blockOf(1);
  assert.ok(stem && conv);
  assert.ok(conv.x >= stem.x && conv.x + conv.width <= stem.x + stem.width);
  assert.ok(conv.y >= stem.y && conv.y + conv.height <= stem.y + stem.height);
  assert.ok(scene.lines.every(({ corners }) => (corners.at(-1) ?? 0) > (corners[1] ?? 0)));
});

void test('no two nodes stand on one place', async () => {
  const { scene } = await drawn(NET, () => true);
  const nodes = scene.blocks.filter(({ member }) => typeof member === 'number');
  for (const one of nodes) {
    const hit = scene.blockAt(one.x + one.width / 2, one.y + one.height / 2);
    assert.equal(hit, one);
  }
});

void test('a node in a closed group is shown by the group', async () => {
  const { scene } = await drawn(NET, () => false);
  const block = scene.blockWith(4);
  assert.ok(block && isNamed(block.member, 'block'));
});

void test('a group is laid out again only when something inside has another size', async () => {
  let asked = 0;
  const layouts = layoutsOf(NET, () => (asked += 1));
  const [root] = groupsOf(NET);
  await layouts.of(root, () => false);
  await layouts.of(root, ({ label }) => label === 'stem');
  await layouts.of(root, () => false);
  assert.equal(asked, 3);
});

void test('groups that are alike are laid out once, and each has its own nodes', async () => {
  let asked = 0;
  const deep = graphOf(`
    x
    layers.0 | a < x
    layers.0 | b < a
    layers.0 | c < b x
    layers.1 | d < c
    layers.1 | e < d
    layers.1 | f < e c
    layers.2 | g < f
    layers.2 | h < g f
    y < h
  `);
  const tree = treeOf(deep);
  const [root] = tree.groups;
  assert.ok(root);
  const layout = await layoutsOf(deep, () => (asked += 1)).of(root, () => true);
  // The whole, `layers`, two layers of three nodes, and one of two.
  assert.equal(asked, 4);
  const scene = new Scene(layout, tree);
  const blocks = deep.nodes.map((_node, index) => scene.blockOf(index));
  assert.ok(blocks.every((block) => block !== undefined));
  assert.equal(new Set(blocks.map((block) => `${block.x} ${block.y}`)).size, 10);
});

void test('arrow keys follow edges down and up, and the order sideways', async () => {
  const { scene, tree } = await drawn(NET, ({ label }) => label === 'stem');
  const users = usersOf(NET);
  const from = (start: number, ...keys: ('Up' | 'Down' | 'Left' | 'Right')[]) => {
    let at = scene.blockWith(start)?.member;
    for (const key of keys) {
      at = at === undefined ? at : stepped(at, `Arrow${key}`, NET, users, scene, tree);
    }
    return typeof at === 'number' ? NET.nodes[at]?.name : at?.label;
  };
  assert.equal(from(0, 'Down'), 'conv');
  assert.equal(from(0, 'Down', 'Down', 'Down'), 'block');
  assert.equal(from(6, 'Up'), 'block');
  assert.equal(from(6, 'Up', 'Up'), 'norm');
  assert.equal(from(1, 'Right'), 'norm');
  assert.equal(from(1, 'Left'), 'stem');
});

void test('a search finds nodes that have every word, and goes around', () => {
  const search = new Search(NET);
  search.words = 'BLOCK torch';
  assert.deepEqual(
    search.found.map((node) => NET.nodes[node]?.name),
    ['linear', 'relu', 'tanh'],
  );
  assert.deepEqual([search.step(1), search.step(1), search.step(1)], [3, 4, 5]);
  assert.deepEqual([search.step(1), search.step(-1)], [3, 5]);
  search.words = '  ';
  assert.deepEqual([search.found, search.step(1)], [[], undefined]);
});

void test('what is zoomed at stays in place, and the picture stays in sight', () => {
  const camera = Object.assign(new Camera(), { width: 400, height: 300 });
  const before = camera.pointAt(100, 50);
  camera.zoom(2, 100, 50);
  assert.deepEqual(camera.pointAt(100, 50), before);
  camera.drag(1e6, -1e6);
  const area = { x: 0, y: 0, width: 200, height: 200 };
  camera.keep(area);
  const seen = camera.area;
  assert.ok(seen.x < area.width && seen.x + seen.width > 0);
  assert.ok(seen.y < area.height && seen.y + seen.height > 0);
});

void test('a file of a picture has every sign written as XML wants it', () => {
  const pen = new SvgPen('"Segoe UI"', () => 0);
  pen.box({ x: 1, y: 2, width: 3.04, height: 4 }, { fill: '#abcdef', opacity: 0.5 });
  pen.text('a<b> & "c"', 1, 2, { colour: 'rgb(1, 2, 3)', size: 12, isBold: true });
  pen.lines([[0, 0, 0, 10]], { colour: '#000000', thickness: 1 });
  assert.equal(
    pen.file({ x: 0, y: 0, width: 10, height: 20 }, '#ffffff'),
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 20" width="10" height="20" font-family="&quot;Segoe UI&quot;">
<rect x="0" y="0" width="10" height="20" fill="#ffffff"/>
<rect x="1" y="2" width="3" height="4" fill="#abcdef" fill-opacity="0.5"/>
<text x="1" y="2" fill="rgb(1, 2, 3)" font-size="12" font-weight="600">a&lt;b&gt; &amp; &quot;c&quot;</text>
<path d="M0 0L0 10" fill="none" stroke="#000000" stroke-width="1"/>
</svg>
`,
  );
});

type Groups = [Group, Group, Group, ...Group[]];

/** The groups, of which there are three at least. */
function groupsOf(graph: typeof NET): Groups {
  const [one, two, three, ...more] = treeOf(graph).groups;
  assert.ok(one && two && three);
  return [one, two, three, ...more];
}

function flatGraph(count: number): typeof NET {
  const lines = Array.from({ length: count }, (_value, index) =>
    index === 0 ? 'n0' : `n${index} < n${index - 1}`,
  );
  return graphOf(lines.join('\n'));
}

function layoutsOf(graph: typeof NET, asked: () => void): Layouts {
  const engine = new Engine();
  const elk = {
    layout: (drawn: Parameters<ELK['layout']>[0]) => {
      asked();
      return engine.layout(drawn);
    },
  } as Pick<ELK, 'layout'> as ELK;
  const users = usersOf(graph);
  const size = { width: 100, height: 38 };
  return new Layouts(
    elk,
    (group) => edgesOf(group, graph, users),
    () => size,
  );
}

async function drawn(graph: typeof NET, isOpen: (group: Group) => boolean) {
  const tree = treeOf(graph);
  const [root] = tree.groups;
  assert.ok(root);
  const layout = await layoutsOf(graph, () => undefined).of(root, isOpen);
  return { tree, scene: new Scene(layout, tree) };
}

function isNamed(member: number | Group, label: string): boolean {
  return typeof member !== 'number' && member.label === label;
}

/** The layout of the page, without a worker around it. */
const Engine = createRequire(import.meta.url)('elkjs/lib/elk.bundled.js') as new () => ELK;
