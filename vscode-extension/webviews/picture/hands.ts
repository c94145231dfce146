// Mouse, wheel and keys on the picture.

import { tell } from '../host.ts';
import { page } from './page.ts';
import type { Picture } from './picture.ts';
import { isArrow } from './steps.ts';
import type { Member } from './tree.ts';

/** Calls what hands do with the picture that is shown. */
export function listenToHands(shown: () => Picture | undefined): void {
  const { canvas } = page;
  let drag: { x: number; y: number; isFar: boolean } | undefined;
  canvas.addEventListener('pointerdown', ({ pointerId, offsetX, offsetY, button }) => {
    if (button !== 0) return;
    canvas.setPointerCapture(pointerId);
    drag = { x: offsetX, y: offsetY, isFar: false };
  });
  canvas.addEventListener('pointermove', ({ offsetX, offsetY }) => {
    const picture = shown();
    if (picture === undefined) return;
    if (drag === undefined) {
      canvas.style.cursor = picture.at(offsetX, offsetY) === undefined ? '' : 'pointer';
      return;
    }
    const [across, down] = [offsetX - drag.x, offsetY - drag.y];
    if (!drag.isFar && Math.hypot(across, down) < FAR) return;
    drag = { x: offsetX, y: offsetY, isFar: true };
    picture.camera.drag(across, down);
    picture.redraw();
  });
  canvas.addEventListener('pointerup', ({ offsetX, offsetY }) => {
    const wasDrag = drag?.isFar === true;
    drag = undefined;
    const picture = shown();
    const hit = picture?.at(offsetX, offsetY);
    if (wasDrag || picture === undefined || hit === undefined) return;
    const { member } = hit.block;
    if (hit.isHandle && typeof member !== 'number') void picture.toggle(member);
    else choose(picture, member);
  });
  canvas.addEventListener('pointercancel', () => {
    drag = undefined;
  });
  canvas.addEventListener('dblclick', ({ offsetX, offsetY }) => {
    const picture = shown();
    const hit = picture?.at(offsetX, offsetY);
    if (picture === undefined || hit === undefined || hit.isHandle) return;
    const { member } = hit.block;
    if (typeof member !== 'number') void picture.toggle(member);
  });
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    const picture = shown();
    if (picture === undefined) return;
    const { deltaX, deltaY, offsetX, offsetY } = event;
    // A pinch of a touch pad comes as a wheel with this key.
    if (event.ctrlKey || event.metaKey) {
      picture.camera.zoom(Math.exp(-deltaY / 200), offsetX, offsetY);
    } else {
      picture.camera.drag(-deltaX, -deltaY);
    }
    picture.redraw();
  });
  canvas.addEventListener('keydown', (event) => {
    const picture = shown();
    if (picture === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (press(picture, event)) event.preventDefault();
  });
}

/** Chooses; the editors go to a node. */
export function choose(picture: Picture, member: Member): void {
  picture.choose(member);
  if (typeof member === 'number') tell({ kind: 'chosen', node: member });
}

/** Pixels that a click may move. */
const FAR = 4;
/** How far keys move and zoom. */
const STEP = 60;
const ZOOM = 1.25;

/** Whether a key means something here. */
function press(picture: Picture, { key, shiftKey }: KeyboardEvent): boolean {
  const { camera, current } = picture;
  if (isArrow(key) && shiftKey) {
    camera.drag(
      key === 'ArrowLeft' ? STEP : key === 'ArrowRight' ? -STEP : 0,
      key === 'ArrowUp' ? STEP : key === 'ArrowDown' ? -STEP : 0,
    );
    picture.redraw();
    return true;
  }
  if (isArrow(key)) {
    picture.step(key);
    return true;
  }
  switch (key) {
    case 'Enter':
    case ' ':
      if (typeof current === 'number') tell({ kind: 'chosen', node: current });
      else if (current !== undefined) void picture.toggle(current);
      return true;
    case 'b':
      if (typeof current === 'number') tell({ kind: 'break', node: current });
      return true;
    case '+':
    case '=':
      camera.zoom(ZOOM);
      break;
    case '-':
      camera.zoom(1 / ZOOM);
      break;
    case '0':
      picture.fit();
      return true;
    case '/':
      page.search.select();
      return true;
    default:
      return false;
  }
  picture.redraw();
  return true;
}
