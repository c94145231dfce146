// What the tests print, which stands among the lines of VS Code.

export function say(text: string): void {
  // The lines of a text are printed one by one.
  for (const line of text.split('\n')) console.log(`[fxls] ${line}`);
}
