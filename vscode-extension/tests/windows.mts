// Two windows on one folder, and one on none.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { address, inBrowser, LIMIT, PROJECT, remote, SERVER, SHOTS } from './browser.mts';
import { lens, row, traced, word } from './window.mts';

const end = promisify(execFile);

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
