// A view of the explorer as the keyboard and a screen reader have it.

import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { LIMIT } from './browser.mts';
import { appears, chosen, command, plain } from './window.mts';

export class Tree {
  readonly #page: Page;
  readonly #name: string;

  constructor(page: Page, name: string) {
    this.#page = page;
    this.#name = name;
  }

  get rows(): Locator {
    return this.#page.locator(`${this.#list} .monaco-list-row`);
  }

  /** Moves the keyboard to the view; again, where an editor has taken it at once. */
  async focus(): Promise<void> {
    const limit = Date.now() + LIMIT;
    while (Date.now() < limit) {
      await command(this.#page, `Explorer: Focus on ${this.#name} View`);
      if (await appears(this.#page.locator(`${this.#list}:focus`), 10_000)) return;
    }
    assert.fail(`the keyboard does not stay in the view ${this.#name}`);
  }

  /**
   * Moves the keyboard to the first row that has a text. As a person does, it looks where
   * it is after each key, and begins again where an editor that was opened late has taken
   * the keyboard, or where the view was filled again.
   */
  async walk(text: string): Promise<void> {
    await this.rows.filter({ hasText: text }).first().waitFor();
    const reached = chosen(this.#page, this.#list, text);
    const limit = Date.now() + LIMIT;
    while (Date.now() < limit) {
      if (!(await this.#hasKeyboard())) await this.focus();
      await this.#page.keyboard.press('Home');
      const rows = await this.rows.count();
      for (let steps = 0; steps < rows; steps++) {
        if (await appears(reached, 300)) return;
        await this.#page.keyboard.press('ArrowDown');
      }
    }
    assert.fail(`no key leads to the row "${text}": ${(await this.names()).join('; ')}`);
  }

  /**
   * An item of the menu that the mouse opens on the row with a text. As a person does, it
   * clicks again where the menu does not show the item, for example because the view is
   * filled meanwhile.
   */
  async menuItem(row: string, title: string): Promise<Locator> {
    const item = this.#page.locator('.monaco-menu .action-item', { hasText: title });
    const limit = Date.now() + LIMIT;
    while (Date.now() < limit) {
      await this.rows.filter({ hasText: row }).first().click({ button: 'right' });
      if (await appears(item, 3000)) return item;
      await this.#page.keyboard.press('Escape');
    }
    assert.fail(`no click shows "${title}" on the row "${row}"`);
  }

  /**
   * Chooses from the menu of the row that the keyboard is on, by keys; again, where the menu
   * was closed because the view was filled or an editor was opened meanwhile.
   */
  async menu(row: string, title: string): Promise<void> {
    const page = this.#page;
    const items = page.locator('.monaco-menu .action-item:not(.disabled)');
    const wanted = items.and(page.locator('.focused')).filter({ hasText: title });
    const limit = Date.now() + LIMIT;
    while (Date.now() < limit) {
      await this.walk(row);
      await page.keyboard.press('Shift+F10');
      if (!(await appears(items.first(), 10_000))) continue;
      const titles = (await items.allInnerTexts()).map((each) => plain(each).trim());
      for (let steps = 0; steps <= titles.indexOf(title); steps++) {
        await page.keyboard.press('ArrowDown');
      }
      if (await appears(wanted, 3000)) {
        await page.keyboard.press('Enter');
        return;
      }
      await page.keyboard.press('Escape');
    }
    assert.fail(`the menu of the row "${row}" has no "${title}"`);
  }

  async #hasKeyboard(): Promise<boolean> {
    return (await this.#page.locator(`${this.#list}:focus`).count()) > 0;
  }

  /** Opens a row by keys, and waits for a row below it. */
  async open(text: string, below: string): Promise<void> {
    await this.walk(text);
    await this.#page.keyboard.press('ArrowRight');
    await this.rows.filter({ hasText: below }).first().waitFor();
  }

  /** What a screen reader says of each row. */
  async names(): Promise<string[]> {
    const labels: string[] = [];
    for (const each of await this.rows.all()) {
      labels.push((await each.getAttribute('aria-label')) ?? '');
    }
    return labels.map(shown);
  }

  get #list(): string {
    return `.monaco-list[aria-label="${this.#name}"]`;
  }
}

/** A text of one line, whenever it was written. */
function shown(text: string): string {
  return plain(text)
    .replaceAll(/\d+:\d+(:\d+)?([ \u202f][AP]M)?/g, 'TIME')
    .replaceAll(/\d+\/\d+\/\d+, /g, 'DAY ')
    .replaceAll(/\d+\.\d\d s\b/g, 'SECONDS')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
