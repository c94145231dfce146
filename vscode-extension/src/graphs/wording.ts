// How views say what they list: short, and whole to who cannot see it.

import type * as vscode from 'vscode';

/** What a screen reader says of an item; without it, that would be the tip. */
export function spoken({ label, description }: vscode.TreeItem, more?: string): string {
  const said = typeof label === 'string' ? label : (label?.label ?? '');
  const rest = typeof description === 'string' ? description : undefined;
  return joined([said, rest, more]).replaceAll(' · ', ', ');
}

/** The time of day for what was made today, else the day. */
export function when(seconds: number): string {
  const time = new Date(seconds * 1000);
  return time.toDateString() === new Date().toDateString()
    ? time.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
    : time.toLocaleDateString();
}

export function joined(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join(' · ');
}
