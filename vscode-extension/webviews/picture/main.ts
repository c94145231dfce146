// The page of the graph picture.

import ELK from 'elkjs/lib/elk-api.js';
import { listen, takeKeys, tell } from '../host.ts';
import type { ToPage } from '../messages.ts';
import type { Way } from './colouring.ts';
import { choose, listenToHands } from './hands.ts';
import {
  onWay,
  onWish,
  page,
  showChosen,
  showFound,
  showLegend,
  showPaused,
  showWay,
  showWork,
  way,
  type Wish,
} from './page.ts';
import { Picture } from './picture.ts';
import { onThemeChange } from './theme.ts';
import { Times } from './times.ts';

let shown: Picture | undefined;
const elk = await layouter();

const watcher = {
  changed: (picture: Picture) => {
    describe(picture);
  },
  working: (isWorking: boolean) => {
    showWork(isWorking ? 'Laying out …' : '');
  },
};

listenToHands(() => shown);
takeKeys(page.canvas);
onThemeChange(() => {
  shown?.restyle();
  if (shown !== undefined) showLegend(shown.colouring);
});
new ResizeObserver(() => shown?.redraw()).observe(page.canvas);
onWay((wanted) => {
  if (shown !== undefined) colour(shown, wanted);
});
onWish((wish) => {
  if (shown !== undefined) void grant(shown, wish);
});
page.search.addEventListener('input', () => {
  if (shown === undefined) return;
  shown.search.words = page.search.value;
  showSearch(shown);
  shown.redraw();
});
page.search.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && shown !== undefined) {
    void findNext(shown, event.shiftKey ? -1 : 1);
  } else if (event.key === 'Escape') {
    // The words stay, and what they found stays marked.
    event.preventDefault();
    page.canvas.focus();
  }
});
listen((message) => {
  void hear(message);
});

async function hear(message: ToPage): Promise<void> {
  switch (message.kind) {
    case 'graph':
      shown = new Picture(page.canvas, message.graph, elk, watcher);
      page.search.value = '';
      showSearch(shown);
      describe(shown);
      colour(shown, way());
      await shown.begin();
      break;
    case 'selected':
      if (shown !== undefined) shown.selected = message.nodes;
      break;
    case 'paused':
      if (shown === undefined) return;
      showPaused(message.node, shown.graph);
      await shown.pause(message.node);
      break;
    case 'export':
      if (shown !== undefined) tell({ kind: 'svg', text: shown.svg() });
      break;
    case 'times':
      if (shown === undefined) return;
      showWork('');
      if (message.nanoseconds === null) {
        showWay(shown.way);
        return;
      }
      shown.times = new Times(message.nanoseconds, message.kernels);
      colour(shown, way());
      describe(shown);
      break;
    case 'rows':
      break;
    case 'failed':
      showWork(message.message);
      break;
  }
}

/** Colours a picture, which for times waits until they are measured. */
function colour(picture: Picture, wanted: Way): void {
  if (wanted === 'time' && picture.times === undefined) {
    showWork('Measuring …');
    showLegend(picture.colouring);
    tell({ kind: 'times' });
    return;
  }
  picture.way = wanted;
  showLegend(picture.colouring);
}

function describe(picture: Picture): void {
  const { current, graph, times } = picture;
  const isOpen = current !== undefined && picture.isOpen(current);
  showChosen(current, graph, isOpen, times);
}

async function grant(picture: Picture, wish: Wish): Promise<void> {
  switch (wish) {
    case 'in':
      picture.camera.zoom(1.25);
      break;
    case 'out':
      picture.camera.zoom(0.8);
      break;
    case 'fit':
      picture.fit();
      break;
    case 'open':
      await picture.openAll();
      break;
    case 'close':
      await picture.closeAll();
      break;
    case 'export':
      tell({ kind: 'export' });
      break;
  }
  picture.redraw();
}

async function findNext(picture: Picture, by: 1 | -1): Promise<void> {
  const node = picture.search.step(by);
  showSearch(picture);
  if (node === undefined) return;
  await picture.find(node);
  choose(picture, node);
}

function showSearch({ search }: Picture): void {
  showFound(search.place, search.found.length, page.search.value.trim() !== '');
}

/** The layout runs in a worker; pages of VS Code start one from what was read alone. */
async function layouter() {
  const source = document.body.dataset['worker'] ?? '';
  const script = await (await fetch(source)).blob();
  const url = URL.createObjectURL(script);
  return new ELK({ workerUrl: url, workerFactory: (from = url) => new Worker(from) });
}
