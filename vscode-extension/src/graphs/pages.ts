// The pages that show a graph: what they may load, and their HTML.

import * as vscode from 'vscode';

/** What a page shows. */
export type PageKind = 'picture' | 'table';

/** The HTML of a page; it loads what the package has, and nothing else. */
export function html(
  kind: PageKind,
  webview: vscode.Webview,
  extension: vscode.Uri,
): string {
  const part = (...path: string[]) =>
    webview.asWebviewUri(vscode.Uri.joinPath(extension, ...path)).toString();
  const here = webview.cspSource;
  const policy = [
    `default-src 'none'`,
    `script-src ${here}`,
    `style-src ${here}`,
    // A page starts its worker from a text that it has read.
    ...(kind === 'picture' ? [`connect-src ${here}`, 'worker-src blob:'] : []),
  ].join('; ');
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${part('media', 'page.css')}">
<title>${kind}</title>
</head>
<body class="${kind}" data-worker="${part('dist', 'elk-worker.js')}">
${kind === 'picture' ? PICTURE : TABLE}
<script type="module" src="${part('dist', `${kind}.js`)}"></script>
</body>
</html>`;
}

const PICTURE = `
<header role="toolbar" aria-label="Picture">
  <input id="search" type="search" placeholder="Search nodes" aria-label="Search nodes" spellcheck="false">
  <span id="found" role="status"></span>
  <select id="colours" title="What colours mean" aria-label="What colours mean">
    <option value="opcode">by opcode</option>
    <option value="dtype">by dtype</option>
    <option value="memory">by memory</option>
    <option value="time">by time</option>
    <option value="error">by error</option>
  </select>
  <span class="gap"></span>
  <button data-wish="open" title="Open every module">Expand</button>
  <button data-wish="close" title="Close every module">Collapse</button>
  <button data-wish="out" title="Zoom out (-)" aria-label="Zoom out">−</button>
  <button data-wish="in" title="Zoom in (+)" aria-label="Zoom in">+</button>
  <button data-wish="fit" title="Show all (0)">Fit</button>
  <button data-wish="export" title="Save the picture as SVG">SVG</button>
</header>
<main>
  <canvas id="picture" tabindex="0" role="application" aria-label="Graph. Arrow keys move, Enter opens, slash searches."></canvas>
  <p id="work" role="status" hidden></p>
</main>
<footer>
  <span id="paused" role="status" aria-live="polite"></span>
  <span id="chosen" role="status" aria-live="polite"></span>
  <span id="legend"></span>
</footer>`;

const TABLE = `
<header role="toolbar" aria-label="Table">
  <input id="search" type="search" placeholder="Filter nodes" aria-label="Filter nodes" spellcheck="false">
  <span id="found" role="status"></span>
</header>
<main id="rows" tabindex="0" role="grid" aria-label="Nodes">
  <div id="columns" role="row"></div>
  <div id="room"><div id="window"></div></div>
</main>
<p id="work" role="status" hidden></p>`;
