// A view of the explorer as the keyboard and a screen reader have it.

import type { Locator, Page } from 'playwright-core';
import { chosen, command, plain } from './window.mts';

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

  /** Moves the keyboard to the view. */
  async focus(): Promise<void> {
    await command(this.#page, `Explorer: Focus on ${this.#name} View`);
    await this.#page.locator(`${this.#list}:focus`).waitFor();
  }

  /** Moves the keyboard to the first row that has a text. */
  async walk(text: string): Promise<void> {
    await this.#page.keyboard.press('Home');
    await this.rows.first().and(this.#page.locator('.focused')).waitFor();
    const at = (await this.rows.allInnerTexts()).findIndex((each) => each.includes(text));
    for (let steps = 0; steps < at; steps++) await this.#page.keyboard.press('ArrowDown');
    await chosen(this.#page, this.#list, text).waitFor();
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
