// Two windows on one folder, and one on none.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { address, inBrowser, LIMIT, PROJECT, remote, SERVER, SHOTS } from './browser.mts';
import { Tree } from './tree.mts';
import { chosen, lens, row, traced, word } from './window.mts';

const end = promisify(execFile);

const LATER = `import torch


class Later(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


# fxls: Later()(torch.ones(2))
`;

await inBrowser(async (page) => {
  let step = 'two windows on one folder both show what is generated';
  const done = (next: string) => {
    console.log(`ok    ${step}`);
    step = next;
  };
  try {
    const other = await page.context().newPage();
    const net = address([['openFile', remote(`${PROJECT}/net.py`)]]);
    await Promise.all([page.goto(net), other.goto(net)]);
    for (const window of [page, other]) {
      await window.bringToFront();
      await traced(window);
      await lens(window, 'Show generated code').click();
      await row(window, '= torch.relu(linear)').waitFor();
    }

    done('what one made appears in the view Graphs of the other');
    await other.bringToFront();
    const seen = new Tree(other, 'Graphs');
    await seen.focus();
    await seen.rows.filter({ hasText: 'Net' }).first().waitFor();
    assert.equal(await seen.rows.filter({ hasText: 'Later' }).count(), 0);
    await page.bringToFront();
    await writeFile(join(PROJECT, 'later.py'), LATER);
    await opened(page, 'later.py');
    await traced(page);
    await other.bringToFront();
    await seen.rows.filter({ hasText: 'Later' }).first().waitFor();

    done('also where two folders share a store');
    const [first, second] = await Promise.all(['one', 'two'].map(sharing));
    assert.ok(first !== undefined && second !== undefined);
    await other.goto(at(second, 'net.py'));
    await traced(other);
    await seen.focus();
    await seen.rows.filter({ hasText: 'Net' }).first().waitFor();
    await writeFile(join(first, 'later.py'), LATER);
    await page.bringToFront();
    await page.goto(at(first, 'later.py'));
    await traced(page);
    await other.bringToFront();
    await seen.rows.filter({ hasText: 'Later' }).first().waitFor();
    await page.bringToFront();
    await page.goto(net);
    await traced(page);
    await lens(page, 'Show generated code').click();
    await row(page, '= torch.relu(linear)').waitFor();

    done('when one is closed, the other one goes on');
    await page.bringToFront();
    await other.close();
    await word(row(page, '= relu + x'), 'add').click();
    await page.keyboard.press('F12');
    await page
      .locator('.editor-group-container.active', { hasText: 'class Net' })
      .waitFor();

    done('nothing is left running when the last window is closed');
    const running = processes();
    assert.notEqual(running.length, 0);
    const last = await page.context().newPage();
    await page.close();
    // tail ends when the process does.
    const ends = running.map((pid) =>
      end('tail', ['--pid', pid, '-f', '/dev/null'], { timeout: LIMIT }),
    );
    await Promise.all(ends);

    done('a window without a folder works with the project of the file');
    const files = JSON.stringify([['openFile', remote(`${PROJECT}/net.py`)]]);
    await last.goto(`${SERVER}/?ew=true&payload=${encodeURIComponent(files)}`);
    await row(last, 'class Net').waitFor();
    await traced(last);
    await lens(last, 'Show generated code').click();
    await row(last, '= torch.relu(linear)').waitFor();
    await last.screenshot({ path: join(SHOTS, 'no-folder.png') });
    done('');
  } catch (error) {
    process.exitCode = 1;
    console.log(`FAIL  ${step}: ${String(error)}`);
    if (!page.isClosed()) {
      await page.screenshot({ path: join(SHOTS, 'failed-windows.png') });
    }
  }
});

/** A folder beside the project, whose store is that of others like it. */
async function sharing(name: string): Promise<string> {
  const folder = join(PROJECT, '..', name);
  await mkdir(join(folder, '.vscode'), { recursive: true });
  await copyFile(join(PROJECT, 'net.py'), join(folder, 'net.py'));
  await symlink(join(PROJECT, '.venv'), join(folder, '.venv'));
  const settings = JSON.stringify({ 'fxls.store': '../shared-store' });
  await writeFile(join(folder, '.vscode/settings.json'), settings);
  return folder;
}

/** The address of a window with a folder, and a file of it. */
function at(folder: string, file: string): string {
  const payload = JSON.stringify([['openFile', remote(join(folder, file))]]);
  return `${SERVER}/?${new URLSearchParams({ folder, payload }).toString()}`;
}

/** Opens a file of the folder by its name. */
async function opened(page: Page, name: string): Promise<void> {
  await page.keyboard.press('Control+P');
  await page.locator('.quick-input-widget input').fill(name);
  await chosen(page, '.quick-input-list', name).waitFor();
  await page.keyboard.press('Enter');
  await page.locator('.tab.active', { hasText: name }).waitFor();
}

/** The servers of this project, and what they have started. */
function processes(): string[] {
  const table = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' });
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/));
  const servers = rows
    .filter((row) => row.includes('serve') && row[2]?.startsWith(PROJECT))
    .map(([pid]) => pid);
  return rows
    .filter(([pid, parent]) => servers.includes(pid) || servers.includes(parent))
    .flatMap(([pid]) => pid ?? []);
}
