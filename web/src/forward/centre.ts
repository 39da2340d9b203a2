// A drawing brought to what MNIST's digits are: the ink in a box of 20 by 20, its centre of mass in the middle of 28 by 28.

/** Means of the areas that the pixels of a smaller picture cover. */
export function shrink(from: Float32Array, fromWidth: number, box: { x: number; y: number; width: number; height: number }, width: number, height: number): Float32Array {
  const to = new Float32Array(width * height);
  const [sx, sy] = [box.width / width, box.height / height];
  for (let r = 0; r < height; ++r)
    for (let c = 0; c < width; ++c) {
      const [y0, y1, x0, x1] = [box.y + r * sy, box.y + (r + 1) * sy, box.x + c * sx, box.x + (c + 1) * sx];
      let sum = 0;
      for (let y = Math.floor(y0); y < Math.ceil(y1 - 1e-9); ++y)
        for (let x = Math.floor(x0); x < Math.ceil(x1 - 1e-9); ++x) {
          const part = (Math.min(y + 1, y1) - Math.max(y, y0)) * (Math.min(x + 1, x1) - Math.max(x, x0));
          sum += part * (from[y * fromWidth + x] ?? 0);
        }
      to[r * width + c] = sum / (sx * sy);
    }
  return to;
}

/** The smallest box that has all ink, or nothing. */
function inkBox(ink: Float32Array, width: number, height: number): { x: number; y: number; width: number; height: number } | undefined {
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let y = 0; y < height; ++y)
    for (let x = 0; x < width; ++x)
      if (ink[y * width + x]! > 0.02) {
        left = Math.min(left, x);
        right = Math.max(right, x);
        top = Math.min(top, y);
        bottom = Math.max(bottom, y);
      }
  return right < 0 ? undefined : { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
}

/**
 * `ink`: width x height, 0 to 1. The answer is `columns` x `rows`, each a byte's 255th, as data sets have them. With `centred` as MNIST
 * does it (the box takes 20 of 28, and in proportion elsewhere); without it the drawing is only made smaller.
 */
export function digitOf(ink: Float32Array, width: number, height: number, columns: number, rows: number, centred: boolean): Float32Array {
  const quantised = (picture: Float32Array): Float32Array =>
    picture.map((v) => Math.round(Math.min(Math.max(v, 0), 1) * 255) / 255);
  if (!centred) return quantised(shrink(ink, width, { x: 0, y: 0, width, height }, columns, rows));
  const box = inkBox(ink, width, height);
  const picture = new Float32Array(columns * rows);
  if (!box) return picture;
  const inner = (20 / 28) * Math.min(columns, rows);
  const by = inner / Math.max(box.width, box.height);
  const [w, h] = [Math.max(Math.round(box.width * by), 1), Math.max(Math.round(box.height * by), 1)];
  const small = shrink(ink, width, box, w, h);
  let [mass, cx, cy] = [0, 0, 0];
  small.forEach((v, i) => {
    mass += v;
    cx += v * ((i % w) + 0.5);
    cy += v * (Math.floor(i / w) + 0.5);
  });
  const x0 = Math.round(columns / 2 - cx / mass);
  const y0 = Math.round(rows / 2 - cy / mass);
  for (let y = 0; y < h; ++y)
    for (let x = 0; x < w; ++x) {
      const [tx, ty] = [x0 + x, y0 + y];
      if (tx >= 0 && ty >= 0 && tx < columns && ty < rows) picture[ty * columns + tx] = small[y * w + x]!;
    }
  return quantised(picture);
}
