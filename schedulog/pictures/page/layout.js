"use strict";
// Places for boxes whose rows and order are given: the same algorithm as placement.py, for boxes opened and closed here.

const BEND = 12;

/** Neighbours of boxes and bends in the rows above and below, from the edges between shown boxes. */
function neighbours(count, pairs, bends) {
  const above = Array.from({length: count}, () => []), below = Array.from({length: count}, () => []);
  for (const [a, b] of pairs) {
    const stops = [a, ...(bends.get(a + ">" + b) || []), b];
    for (let i = 1; i < stops.length; i++) { above[stops[i]].push(stops[i - 1]); below[stops[i - 1]].push(stops[i]); }
  }
  return {above, below};
}

/** Move boxes of a row apart, each as little as possible (pool adjacent violators); light boxes give way to others. */
function settle(row, centers, widths, weights, gap) {
  const blocks = [], offsets = [];
  let offset = 0;
  row.forEach((box, at) => {
    if (at) offset += (widths[row[at - 1]] + widths[box]) / 2 + gap;
    offsets.push(offset);
    let mean = centers[box] - offset, weight = weights[box], count = 1;
    while (blocks.length && blocks[blocks.length - 1][0] > mean) {
      const [m, w, c] = blocks.pop();
      mean = (m * w + mean * weight) / (w + weight); weight += w; count += c;
    }
    blocks.push([mean, weight, count]);
  });
  let at = 0;
  for (const [mean, , count] of blocks) for (let i = 0; i < count; i++, at++) centers[row[at]] = mean + offsets[at];
}

function middle(values) {
  values.sort((a, b) => a - b);
  const half = values.length >> 1;
  return values.length % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/** Centers of boxes and bends, and the upper border and height of each row. `shown` says which of them are drawn. */
function place(rows, start, sizes, weights, shown, links, gaps) {
  const [across, down] = gaps;
  const widths = start.map((_, n) => sizes[n] ? sizes[n][0] : BEND);
  const drawn = rows.map(row => row.filter(n => shown[n]));
  const centers = [...start];
  drawn.forEach(row => settle(row, centers, widths, weights, across));
  for (let sweep = 0; sweep < 8; sweep++) {
    const side = sweep % 2 ? links.below : links.above;
    for (const row of sweep % 2 ? [...drawn].reverse() : drawn) {
      for (const n of row) {
        const near = side[n].filter(m => shown[m]);
        if (near.length) centers[n] = middle(near.map(m => centers[m]));
      }
      settle(row, centers, widths, weights, across);
    }
  }
  const tops = [], heights = [];
  let bottom = 0;
  for (const row of drawn) {
    const height = Math.max(0, ...row.map(n => sizes[n] ? sizes[n][1] : 0));
    tops.push(bottom); heights.push(height);
    bottom += height ? height + down : 0;
  }
  return {centers, tops, heights};
}
