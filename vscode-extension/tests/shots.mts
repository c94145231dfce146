// The pictures of the README, of docs/features.md and of the walkthrough: docs/pictures.
// FXLS_TEST_PARTS=shots ./test.sh makes them again; look at them before you commit them.

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import type { Locator, Page } from 'playwright-core';
import { PROJECT } from './browser.mts';
import { Tree } from './tree.mts';
import { command, fold, lens, linked, pageOf, row, stack, story, word } from './window.mts';

const PICTURES = process.env['FXLS_TEST_PICTURES'] ?? '.';
const SIZE = { viewport: { width: 1120, height: 680 }, deviceScaleFactor: 2 };

/** Which stories are told. */
const only = (process.env['FXLS_TEST_ONLY'] ?? '').split(' ');

/** Where the tabs end. */
const TABS = 40;

/** A model whose forward looks at a value. */
const BRANCH = `import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.linear(x))
        return x if y.sum() > 0 else y


# fxls: Gate(4)(torch.randn(2, 4))

`;

/** A function that torch.compile breaks, and compiles again for another size. */
const REMARKS = `import torch


@torch.compile
def attend(x: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    if keys.shape[1] == 8:
        keys = keys * 0.5
    weights = torch.softmax(x @ keys, -1)
    print("rows:", weights.shape[0])
    centred = weights - weights.mean(0)
    return centred / centred.sum(1, keepdim=True)


for rows in (2, 3, 5):
    attend(torch.rand(rows, 4), torch.rand(4, 8))
`;

/** A model whose lines take long and longer. */
const BLOCK = `import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.inner = nn.Linear(size, 4 * size)
        self.outer = nn.Linear(4 * size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = torch.softmax(x @ x.transpose(-1, -2), -1)
        hidden = torch.relu(self.inner(scores @ x))
        return self.outer(hidden) + x


if __name__ == "__main__":
    block = torch.compile(Block(256))
    for _ in range(9):
        block(torch.ones(8, 64, 256)).sum().backward()
`;

await scene(
  'resnet',
  'resnet.py',
  async (page, done) => {
    const groups = page.locator('.editor-group-container');
    const model = groups.nth(0);
    const listing = groups.nth(1);
    await row(page, 'class BasicBlock').click();
    await page.keyboard.press('Control+b');
    await page.keyboard.press('Control+End');
    await lens(page, 'Table (71 nodes)').waitFor();
    await row(page, 'x: f32[1, 64, 16, 16]').waitFor();
    await page.keyboard.press('ArrowUp');

    done('lenses, and shapes behind the code of the model');
    const forward = await place(row(model, 'def forward(self, images'));
    await picture(page, 'lenses', { x: 0, y: forward.y - 8, width: 760, height: 270 });

    done('the listing beside the model');
    await lens(page, 'Show generated code').click();
    await row(listing, 'add: f32').waitFor();
    await word(row(listing, '= stage1_0_norm2 + stem_3'), 'add').click();
    await linked(model).first().waitFor();
    await away(page);
    await picture(page, 'beside');

    done('a hover');
    await command(page, 'View: Join All Editor Groups');
    await page.locator('.tab', { hasText: 'ResNet18_' }).click();
    await word(row(page, '= stage1_0_norm2 + stem_3'), 'add').hover();
    const hover = page.locator('.monaco-hover:visible', { hasText: 'call_function' });
    await hover.waitFor();
    await picture(
      page,
      'hover',
      below(TABS, (await place(hover)).y + (await place(hover)).height + 70),
    );

    done('who reads a node');
    await away(page);
    await word(row(page, 'stem_3: f32'), 'stem_3').click();
    await page.keyboard.press('Shift+Alt+h');
    await page
      .locator('.sidebar .monaco-list-row', { hasText: 'stage1_0_conv1' })
      .waitFor();
    await away(page);
    await picture(page, 'readers', below(0, 420));
    await page.keyboard.press('Control+b');

    done('outline');
    await page.keyboard.press('Control+Shift+o');
    await page
      .locator('.quick-input-list .monaco-list-row', { hasText: 'stage1' })
      .first()
      .waitFor();
    await picture(page, 'outline', below(0, 420));
    await page.keyboard.press('Escape');

    done('the picture of the graph');
    await command(page, 'fxls: Show Graph Picture');
    const graph = pageOf(page, 0);
    await graph.locator('#legend', { hasText: 'call_module' }).waitFor();
    await graph.locator('#work').waitFor({ state: 'hidden' });
    await graph.locator('#search').fill('stage2 relu');
    await graph.locator('#search').press('Enter');
    await graph.locator('#chosen', { hasText: 'relu_4' }).waitFor();
    await graph.locator('#search').press('Escape');
    await away(page);
    await picture(page, 'picture');

    done('the table of the graph');
    await page.keyboard.press('Control+w');
    await row(page, 'relu_4: f32').waitFor();
    await command(page, 'fxls: Show Graph Table');
    const table = pageOf(page, 0);
    await table.locator('.row').first().waitFor();
    await table.locator('#columns button', { hasText: 'Bytes' }).click();
    await table.locator('#columns button', { hasText: 'Bytes' }).click();
    await table.locator('.row').first().filter({ hasText: '262,144' }).waitFor();
    await away(page);
    await picture(page, 'table');
  },
  SIZE,
);

await scene(
  'session',
  'resnet.py',
  async (page, done) => {
    await row(page, 'class BasicBlock').click();
    await page.keyboard.press('Control+b');
    await page.keyboard.press('Control+End');
    await lens(page, 'Show generated code').click();
    await row(page, 'stem_2: f32').waitFor();
    await command(page, 'View: Join All Editor Groups');

    done('a breakpoint in the listing');
    await page.locator('.tab', { hasText: 'ResNet18_' }).click();
    await word(row(page, 'stem_2: f32'), 'stem_2').click();
    await page.keyboard.press('F9');
    await page.locator('.codicon-debug-breakpoint').first().waitFor();
    await command(page, 'fxls: Debug Generated Code');
    await stack(page, /forward/).waitFor();
    await page.keyboard.press('F5');
    await stack(page, /forward.*8:/).waitFor();
    for (const name of ['Watch', 'Breakpoints']) {
      await page.locator('.pane-header', { hasText: name }).click();
    }
    await widened(page, 470);
    await page
      .locator('.debug-variables .monaco-list-row', { hasText: /stem_1.*float32/ })
      .waitFor();
    await away(page);
    await picture(page, 'debugging');
    await page.keyboard.press('Shift+F5');
    await page.locator('.debug-toolbar').waitFor({ state: 'hidden' });
  },
  SIZE,
);

// What a program made before and after a pass.
await promisify(execFile)(join(PROJECT, '.venv/bin/python'), ['rewritten.py'], {
  cwd: PROJECT,
});
await scene(
  'passes',
  'rewritten.py',
  async (page, done) => {
    await row(page, 'class Rewritten').click();
    await page.keyboard.press('Control+b');

    done('what a pass changed');
    await lens(page, 'generated code of Rewritten').click();
    const choices = page.locator('.quick-input-list .monaco-list-row');
    await row(page, '= self.linear(x)').waitFor();
    await command(page, 'fxls: Compare Generated Code with …');
    await choices.filter({ hasText: 'Rewritten_' }).first().click();
    const compared = page.locator('.monaco-diff-editor .modified');
    await row(compared.first(), 'return add').waitFor();
    await page.locator('.monaco-diff-editor .char-insert').first().waitFor();
    await command(page, 'View: Toggle Maximize Editor Group');
    await away(page);
    await picture(page, 'compare', below(0, 230));
  },
  SIZE,
);

await scene(
  'kernels',
  'staged.py',
  async (page, done) => {
    await ran('staged.py');
    await row(page, 'class Staged').click();
    await page.keyboard.press('Control+b');
    await lens(page, 'generated code of Staged').waitFor();

    done('from an expression of the model to its kernel');
    const groups = page.locator('.editor-group-container');
    await row(page, 'return hidden + x').click();
    await page.keyboard.press('End');
    // The cursor stands before the plus.
    for (let steps = 0; steps < 3; steps++) await page.keyboard.press('ArrowLeft');
    await command(page, 'fxls: Show Kernels of This Expression');
    await row(groups.nth(1), 'extern_kernels.addmm(').waitFor();
    await linked(groups.nth(0)).first().waitFor();
    await away(page);
    await picture(page, 'kernels');
  },
  SIZE,
);

if (isTold('times')) {
  await writeFile(join(PROJECT, 'block.py'), BLOCK);
  await ran('block.py', '--times');
}
await scene(
  'times',
  'block.py',
  async (page, done) => {
    await row(page, 'class Block').click();
    await page.keyboard.press('Control+b');

    done('how long the kernels of each line took');
    await row(page, ' kernels').waitFor();
    await away(page);
    await picture(page, 'times', below(TABS, 420));
  },
  SIZE,
);
await scene(
  'times of a graph',
  isTold('times of a graph') ? await lastGraph() : '',
  async (page, done) => {
    await row(page, 'def forward').waitFor();
    await page.keyboard.press('Control+b');
    await row(page, ' ms').waitFor();

    done('the nodes of a graph, the slowest first');
    await command(page, 'fxls: Show Graph Table');
    const table = pageOf(page, 0);
    await table.locator('.row').first().waitFor();
    const time = table.locator('#columns button', { hasText: 'Time' });
    await time.click();
    await time.click();
    await table.locator('.row').first().filter({ hasText: ' ms' }).waitFor();
    await away(page);
    await picture(page, 'times-table', below(0, 420));
  },
  SIZE,
);

await scene(
  'runs',
  'recompiled.py',
  async (page, done) => {
    await ran('recompiled.py');
    await row(page, 'def scaled').click();
    const runs = new Tree(page, 'Runs');
    // The view is there when the server is.
    await page.locator('.pane-header', { hasText: 'Runs' }).waitFor();
    await fold(page);

    done('what a run did, and the line that a row leads to');
    await runs.focus();
    await widened(page, 600);
    await runs.open('recompiled.py', 'Time by phase');
    await runs.open('1/0 halved', 'graph break GB');
    await runs.open('3/0 shown', 'graph 0');
    await runs.open('graph 0, forward, kernels', 'cpp_fused');
    await runs.open('0/1 to 0/3', '0/2 scaled');
    await page.keyboard.press('Enter');
    await page.locator('.statusbar-item', { hasText: 'Ln 7' }).waitFor();
    await away(page);
    await picture(page, 'runs', below(0, 490));
  },
  SIZE,
);

await writeFile(join(PROJECT, 'attend.py'), REMARKS);
await scene(
  'remarks',
  'attend.py',
  async (page, done) => {
    await ran('attend.py');
    await row(page, 'def attend').click();
    await page.keyboard.press('Control+b');

    done('a graph break with its repairs, and the sizes of the inputs');
    await row(page, 'size 0 dynamic').waitFor();
    await page.locator('.squiggly-hint').first().waitFor();
    await row(page, 'print("rows:"').click();
    await page.keyboard.press('Home');
    await page.keyboard.press('Control+.');
    await page.locator('.action-widget .monaco-list-row').first().waitFor();
    await away(page);
    await picture(page, 'remarks', below(TABS, 320));
  },
  SIZE,
);

await writeFile(join(PROJECT, 'branch.py'), BRANCH);
await scene(
  'faults',
  'branch.py',
  async (page, done) => {
    await row(page, 'class Gate').click();
    await page.keyboard.press('Control+b');

    done('what cannot be traced, and what repairs it');
    await page.locator('.squiggly-error').first().waitFor();
    await row(page, 'return x if').click();
    await command(page, 'Go to Next Problem in Files (Error, Warning, Info)');
    await page.locator('.marker-widget, .zone-widget').first().waitFor();
    await away(page);
    await picture(page, 'problem', below(TABS, 490));
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+.');
    await page.locator('.action-widget .monaco-list-row').first().waitFor();
    await picture(page, 'repairs', below(TABS, 370));
    await page.keyboard.press('Escape');

    done('an entry that is completed');
    await page.keyboard.press('Control+End');
    await page.keyboard.type('# f');
    await page.locator('.suggest-widget .monaco-list-row').first().waitFor();
    await picture(page, 'completion', below(TABS, 410));
  },
  SIZE,
);

/** Runs a program under fxls; what torch has in its cache, it does not make again. */
async function ran(program: string, ...options: string[]): Promise<void> {
  const env = { ...process.env, TORCHINDUCTOR_FORCE_DISABLE_CACHES: '1' };
  const command = ['-m', 'fxls', 'run', ...options, program];
  await promisify(execFile)(join(PROJECT, '.venv/bin/python'), command, {
    cwd: PROJECT,
    env,
  });
}

/** The file of the last graph that block.py was, from the project. */
async function lastGraph(): Promise<string> {
  const python = join(PROJECT, '.venv/bin/python');
  const list = ['-m', 'fxls', 'list', '--json', 'Block', 'forward', 'post-grad'];
  const { stdout } = await promisify(execFile)(python, list, { cwd: PROJECT });
  const { listings } = JSON.parse(stdout) as { listings: { path: string }[] };
  return relative(PROJECT, listings[0]?.path ?? '');
}

/** A story, unless only others are asked for. */
async function scene(name: string, ...more: Tail<Parameters<typeof story>>): Promise<void> {
  if (isTold(name)) await story(name, ...more);
}

function isTold(name: string): boolean {
  return only.some((each) => name.includes(each));
}

type Tail<T extends unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;

/** The whole width, between two heights. */
function below(top: number, bottom: number): Box {
  return { x: 0, y: top, width: SIZE.viewport.width, height: bottom - top };
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

async function place(found: Locator): Promise<Box> {
  const box = await found.boundingBox();
  if (box === null) throw new Error('it is not on the screen');
  return box;
}

/** Moves the edge of the side bar. */
async function widened(page: Page, width: number): Promise<void> {
  const bar = await place(page.locator('.part.sidebar'));
  await page.mouse.move(bar.x + bar.width, 300);
  await page.mouse.down();
  await page.mouse.move(width, 300, { steps: 4 });
  await page.mouse.up();
  await away(page);
  await page.locator('.monaco-sash.hover').waitFor({ state: 'detached' });
}

/** Where the pointer rests, a tip would stand in the picture. */
async function away(page: Page): Promise<void> {
  await page.mouse.move(SIZE.viewport.width - 4, SIZE.viewport.height - 4);
}

async function picture(page: Page, name: string, clip?: Box): Promise<void> {
  await page.screenshot({
    path: join(PICTURES, `${name}.png`),
    ...(clip === undefined ? {} : { clip }),
  });
}
