#pragma once

namespace minnow::training::detail {

/// The style of training::report()'s page.
inline constexpr const char* kReportStyle = R"css(
:root{color-scheme:light dark;--page:#f6f6f3;--card:#fff;--ink:#16161a;--soft:#5c5c62;--line:#e0e0da;--hit:31 111 196;
--miss:208 84 40;--c0:#2a78d6;--c1:#e2622c;--c2:#149a68;--c3:#c58a00;--c4:#6a4fc4;--c5:#d03b4a;--c6:#c64d8c;
--c7:#3f7d20}
@media screen and (prefers-color-scheme:dark){:root{--page:#121214;--card:#1c1c1f;--ink:#f0f0f2;--soft:#a4a4ac;
--line:#38383e;--hit:62 134 214;--miss:224 108 62;--c0:#5a9df0;--c1:#f0834f;--c2:#3cbf8c;--c3:#dba73a;--c4:#a08cf0;
--c5:#f0707c;--c6:#e27fb2;--c7:#7fb85c}}
@media print{:root{color-scheme:light;--page:#fff}body{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.chart,figure,tr{break-inside:avoid}h2{break-after:avoid}label{display:none}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.45 system-ui,sans-serif}
main{max-width:1160px;margin:auto;padding:24px 20px}
h1{font-size:26px;margin:0;overflow-wrap:anywhere}h2{font-size:17px;margin:0 0 12px}h3{font-size:15px;margin:0;flex:1}
p{margin:4px 0;color:var(--soft)}
section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:16px;margin-top:16px}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,380px),1fr));gap:20px}
.chart{min-width:0}.head{display:flex;gap:12px;align-items:baseline}
.plot{height:230px;position:relative;touch-action:pan-y}.plot svg{width:100%;height:100%;display:block}
svg text{fill:var(--soft);font:11px system-ui,sans-serif}.grid{stroke:var(--line)}
.curve{fill:none;stroke-width:1.5;stroke-linecap:round}
.tip{position:absolute;top:8px;background:var(--card);border:1px solid var(--line);border-radius:6px;padding:4px 8px;
pointer-events:none;font-size:13px;max-width:50%;box-shadow:0 2px 8px #0003}
.key{display:flex;flex-wrap:wrap;gap:2px 16px;font-size:13px;color:var(--soft)}
.key i,.tip i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px}
th{font-weight:500;color:var(--soft);text-align:left}th,td{padding:3px 10px 3px 0;vertical-align:top}
td.n,th.n{text-align:right}.facts{width:100%}.facts td{overflow-wrap:anywhere}.facts th{white-space:nowrap;width:1%}
.matrix td,.matrix th{padding:4px 7px;text-align:right;white-space:nowrap;font-size:13px}
.matrix thead th{vertical-align:bottom}.matrix .tall span{writing-mode:vertical-rl;transform:rotate(180deg)}
.matrix .hit{background:rgb(var(--hit)/var(--a))}.matrix .miss{background:rgb(var(--miss)/var(--a))}
.matrix .full{color:#fff}
.pictures{display:flex;flex-wrap:wrap;gap:14px}figure{margin:0;width:112px;font-size:13px;overflow-wrap:anywhere}
figure img{width:112px;display:block;border:1px solid var(--line);border-radius:4px}.small{image-rendering:pixelated}
figcaption b{display:block;font-weight:600;color:var(--ink)}figcaption{color:var(--soft);margin-top:3px}
.bar{height:10px;background:var(--c0);border-radius:2px;min-width:1px}
.times{width:100%}.times td:last-child{width:60%;padding:8px 0}
pre{margin:0;font-size:12.5px;line-height:1.4}summary{cursor:pointer;color:var(--soft);margin-top:12px}
@media(max-width:520px){main{padding:14px 8px}section{padding:12px}.pictures{gap:10px}figure,figure img{width:98px}
.matrix td,.matrix th{padding:3px 4px;font-size:12px}.times td:last-child{width:30%}}
)css";

/// Draws the curves.  Texts come into the page by textContent alone.
inline constexpr const char* kReportScript = R"js(
'use strict';
const SVG = ['svg', 'path', 'line', 'circle', 'text', 'g'];
function make(tag, attributes, parent, text) {
  const space = SVG.includes(tag) ? 'http://www.w3.org/2000/svg' : 'http://www.w3.org/1999/xhtml';
  const node = document.createElementNS(space, tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}
function shown(v) {
  if (v === null) return 'NaN';
  if (!Number.isFinite(v)) return v > 0 ? '∞' : '−∞';
  const size = Math.abs(v);
  const small = size !== 0 && (size >= 1e6 || size < 1e-3);
  return small ? v.toExponential(2).replace(/\.?0+e/, 'e').replace('+', '') : String(+v.toPrecision(5));
}
function ticks(low, high, count) {
  const raw = (high - low) / count, unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * [1, 2, 5, 10].find(m => m * unit >= raw * 0.999), list = [];
  const first = Math.ceil(low / step - 1e-9), more = Math.floor(high / step - first + 1e-9);
  for (let i = 0; i <= more; ++i) list.push((first + i) * step || 0);  // first + i may be first: above 2^53
  return list;
}
function logTicks(low, high) {
  const list = [], apart = Math.max(1, Math.ceil((high - low) / 6));
  for (let d = Math.floor(low); d <= high; ++d)
    for (const m of high - low > 2 ? [1] : [1, 2, 5]) {
      const at = d + Math.log10(m);
      if (at >= low && at <= high && d % apart === 0) list.push(10 ** d * m);
    }
  return list.length > 1 ? list : ticks(10 ** low, 10 ** high, 4);
}
function nearest(steps, at) {
  let from = 0, to = steps.length - 1;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (steps[middle] < at) from = middle + 1; else to = middle;
  }
  return from > 0 && at - steps[from - 1] < steps[from] - at ? from - 1 : from;
}
function draw(chart) {
  const {plot, curves} = chart, log = chart.log.checked;
  const W = Math.max(plot.clientWidth, 240), H = 230, left = 54, right = W - 12, top = 12, bottom = H - 24;
  const scaled = v => log ? Math.log10(v) : v;
  const usable = v => v !== null && Math.abs(v) < 1e300 && (!log || v > 0);
  let low = Infinity, high = -Infinity, first = Infinity, last = -Infinity;
  for (const c of curves) {
    first = Math.min(first, c.steps[0]), last = Math.max(last, c.steps.at(-1));
    for (const v of c.values) if (usable(v)) low = Math.min(low, scaled(v)), high = Math.max(high, scaled(v));
  }
  if (low > high) low = 0, high = 1;
  const room = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
  low -= room, high += room;
  if (first === last) --first, ++last;
  const x = s => left + (s - first) / (last - first) * (right - left);
  const y = v => bottom - (scaled(v) - low) / (high - low) * (bottom - top);
  plot.replaceChildren();
  const svg = make('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': chart.name}, plot);
  for (const v of log ? logTicks(low, high) : ticks(low, high, 5)) {
    make('line', {class: 'grid', x1: left, x2: right, y1: y(v), y2: y(v)}, svg);
    make('text', {x: left - 6, y: y(v) + 4, 'text-anchor': 'end'}, svg, shown(v));
  }
  for (const s of ticks(first, last, Math.max(3, W / 80)).filter(Number.isInteger))
    make('text', {x: x(s), y: H - 7, 'text-anchor': x(s) > right - 16 ? 'end' : 'middle'}, svg,
         s.toLocaleString('en'));
  for (const c of curves) {
    let path = '', pen = false;
    c.values.forEach((v, i) => {
      const at = x(c.steps[i]);
      if (usable(v)) {
        path += (pen ? 'L' : 'M') + at.toFixed(1) + ' ' + y(v).toFixed(1) + (pen ? '' : 'h0');
        if (c.values.length <= 60) make('circle', {cx: at, cy: y(v), r: 2.5, style: `fill:${c.color}`}, svg);
      } else if (v === null || !Number.isFinite(v)) {
        make('text', {x: at, y: v > 0 ? top + 6 : bottom - 2, 'text-anchor': 'middle', style: `fill:${c.color}`}, svg,
             v === null ? '×' : v > 0 ? '▲' : '▼');
      }
      pen = usable(v);
    });
    make('path', {d: path, class: 'curve', style: `stroke:${c.color};stroke-dasharray:${c.dashes}`}, svg);
  }
  const cursor = make('g', {}, svg), tip = make('div', {class: 'tip', hidden: ''}, plot);
  const leave = () => { cursor.replaceChildren(); tip.hidden = true; };
  plot.onpointermove = event => {
    leave();
    const area = plot.getBoundingClientRect(), pixel = (event.clientX - area.left) / area.width * W;
    const at = first + (pixel - left) / (right - left) * (last - first);
    const points = curves.map(c => ({c, i: nearest(c.steps, at)}));
    const best = points.reduce((a, b) => Math.abs(b.c.steps[b.i] - at) < Math.abs(a.c.steps[a.i] - at) ? b : a);
    const step = best.c.steps[best.i];
    make('line', {class: 'grid', x1: x(step), x2: x(step), y1: top, y2: bottom}, cursor);
    tip.replaceChildren();
    make('div', {}, tip, `step ${step.toLocaleString('en')}, epoch ${best.c.epochs[best.i]}`);
    for (const {c, i} of points) {
      const v = c.values[i], row = make('div', {}, tip);
      make('i', {style: `background:${c.color}`}, row);
      row.append(`${c.name} ${shown(v)}` + (c.steps[i] === step ? '' : ` (step ${c.steps[i].toLocaleString('en')})`));
      if (usable(v)) make('circle', {cx: x(c.steps[i]), cy: y(v), r: 3.5, style: `fill:${c.color}`}, cursor);
    }
    tip.style = x(step) < W / 2 ? `left:${x(step) + 12}px` : `right:${W - x(step) + 12}px`;
    tip.hidden = false;
  };
  plot.onpointerleave = leave;
}
const charts = new Map(), place = document.querySelector('.charts');
for (const c of JSON.parse(document.getElementById('curves').textContent)) {
  const name = c.name.split('/').at(-1) || c.name;
  if (!charts.has(name)) charts.set(name, {name, curves: []});
  const {curves} = charts.get(name);
  curves.push({...c, color: `var(--c${curves.length % 8})`, dashes: curves.length < 8 ? 'none' : '5 3'});
}
for (const chart of charts.values()) {
  const box = make('div', {class: 'chart'}, place), head = make('div', {class: 'head'}, box);
  make('h3', {}, head, chart.name);
  const label = make('label', {}, head);
  chart.log = make('input', {type: 'checkbox'}, label);
  label.append(' log scale');
  chart.plot = make('div', {class: 'plot'}, box);
  const key = make('div', {class: 'key'}, box);
  for (const c of chart.curves) {
    const entry = make('span', {}, key);
    make('i', {style: `background:${c.color}`}, entry);
    entry.append(`${c.name}: ${shown(c.values.at(-1))}`);
    if (c.strange) entry.append(`; ${c.strange} of ${c.count} are NaN or infinite, from step ${c.from} on`);
  }
  chart.log.onchange = () => draw(chart);
}
for (const chart of charts.values()) {  // when all have their places
  draw(chart);
  let width = chart.plot.clientWidth;
  new ResizeObserver(() => {
    if (chart.plot.clientWidth !== width) width = chart.plot.clientWidth, draw(chart);
  }).observe(chart.plot);
}
document.documentElement.dataset.drawn = charts.size;
)js";

}  // namespace minnow::training::detail
