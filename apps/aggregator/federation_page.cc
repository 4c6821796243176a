#include "apps/aggregator/federation_page.h"

#include <string_view>

#include "models/observe/report/charts/svg.h"
#include "tensor/text/str_cat.h"
#include "tensor/text/version.h"

namespace dtnn {
namespace {

constexpr std::string_view kHead = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="DTNN">
<title>DTNN: a federation</title>
<style>)html";

// As the page of a run has it.
constexpr std::string_view kStyle = R"(
*{box-sizing:border-box}
body{margin:0 auto;max-width:1320px;padding:1rem;background:var(--page);color:var(--text);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.25rem;margin:2rem 0 .5rem}
svg{width:100%;max-width:720px;height:auto;display:block}
.scroll{overflow:auto;max-height:28rem}table{border-collapse:collapse;font-size:.9rem;
font-variant-numeric:tabular-nums}
th,td{padding:.15rem .6rem;text-align:right;border-bottom:1px solid var(--grid)}
th:first-child,td:first-child,td.text{text-align:left;overflow-wrap:anywhere}
#error{color:var(--c1);white-space:pre-wrap}a{color:var(--c0)}footer,.note{color:var(--faint);font-size:.9rem}
)";

constexpr std::string_view kBody = R"html(</style>
</head>
<body>
<main>
<h1 id="title">A federation</h1>
<p id="state" aria-live="polite"></p>
<p id="error" role="alert"></p>
<p id="secret" hidden><label>Token <input id="token" type="password" autocomplete="off"></label></p>
<h2>Rounds</h2>
<p><label>Curve of <select id="metric"></select></label></p>
<svg id="curve" viewBox="0 0 720 220" role="img" aria-label="the metric over rounds"></svg>
<div class="scroll"><table><thead id="round-names"></thead><tbody id="rounds"></tbody></table></div>
<h2>Clients</h2>
<p class="note" id="more"></p>
<div class="scroll"><table><thead><tr><th scope="col">name</th><th scope="col">state</th>
<th scope="col">samples</th><th scope="col">accepted</th><th scope="col">left out</th>
<th scope="col">late</th><th scope="col">the last reason</th></tr></thead>
<tbody id="clients"></tbody></table></div>
</main>
<footer><a href="metrics">Metrics</a>, <a href="status.json">status</a>. DTNN @version@</footer>
<script>
'use strict';
const at = id => document.getElementById(id);
const number = value => value === null || value === undefined ? '-' : String(+value.toPrecision(5));
const megabytes = bytes => (bytes / 1e6).toFixed(2);

function row(cells, kind = 'td') {
  const line = document.createElement('tr');
  for (const text of cells) {
    const cell = document.createElement(kind);
    cell.textContent = text;
    if (kind == 'th') cell.scope = 'col';
    line.append(cell);
  }
  return line;
}

function shape(kind, attributes, text) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Gaps where a round has no value.
function draw(rounds, metric) {
  const points = rounds.map(round => [round.round, round.metrics[metric]]).filter(point => Number.isFinite(point[1]));
  at('curve').replaceChildren();
  if (!points.length) return;
  const range = values => {
    const low = Math.min(...values), high = Math.max(...values);
    return low < high ? [low, high] : [low - 0.5, high + 0.5];
  };
  const [x0, x1] = range(points.map(point => point[0])), [y0, y1] = range(points.map(point => point[1]));
  const x = value => (70 + 630 * (value - x0) / (x1 - x0)).toFixed(2);
  const y = value => (185 - 165 * (value - y0) / (y1 - y0)).toFixed(2);
  for (const value of [y0, (y0 + y1) / 2, y1]) {
    at('curve').append(shape('path', {class: 'grid', d: `M70 ${y(value)}H700`}),
                       shape('text', {x: 64, y: +y(value) + 4, 'text-anchor': 'end'}, number(value)));
  }
  for (const value of new Set([points[0][0], points.at(-1)[0]])) {
    at('curve').append(shape('text', {x: x(value), y: 205, 'text-anchor': 'middle'}, value));
  }
  at('curve').append(shape('polyline', {class: 'line c0', points: points.map(point => `${x(point[0])},${y(point[1])}`).join(' ')}));
  for (const point of points.length < 60 ? points : []) {
    at('curve').append(shape('circle', {class: 'f0', cx: x(point[0]), cy: y(point[1]), r: 3}));
  }
}

function show(status) {
  const rounds = status.last_rounds, last = rounds.at(-1);
  at('title').textContent = `A federation of ${status.network}`;
  at('state').textContent = `${status.rounds_done} of ${status.rounds} rounds are done; now: ${status.state}. ` +
      `${status.clients_there} clients are there, ${status.refused} callers were refused.`;
  const names = last ? Object.keys(last.metrics) : [];
  const chosen = at('metric').value;
  if (names.join() != [...at('metric').options].map(option => option.value).join()) {
    at('metric').replaceChildren(...names.map(name => new Option(name)));
    if (names.includes(chosen)) at('metric').value = chosen;
  }
  draw(rounds, at('metric').value);
  const clips = last?.clip !== undefined;
  at('round-names').replaceChildren(row(['round', 'clients', 'attempts', 'seconds', 'MB sent', 'MB received',
                                         ...(clips ? ['clip', 'below'] : []), ...names], 'th'));
  at('rounds').replaceChildren(...rounds.slice(-200).reverse().map(round => row([
      round.round, `${round.accepted} of ${round.asked}`, round.attempts, round.seconds.toFixed(2),
      megabytes(round.bytes_sent), megabytes(round.bytes_received),
      ...(clips ? [number(round.clip), number(round.below_clip)] : []), ...names.map(name => number(round.metrics[name]))])));
  at('clients').replaceChildren(...status.clients.map(client => {
    const line = row([client.name, !client.there ? 'left' : client.asked ? 'asked' : 'there', client.samples,
                      client.accepted ?? '-', client.left_out ?? '-', client.late ?? '-', client.why ?? '-']);
    line.lastChild.className = 'text';
    return line;
  }));
  const listed = status.clients.filter(client => client.there).length;
  at('more').textContent = listed < status.clients_there ? `The first ${listed} of those that are there.` : '';
}

let shown = null;
async function refresh() {
  try {
    const headers = at('token').value ? {Authorization: 'Bearer ' + at('token').value} : {};
    const answer = await fetch('status.json', {headers, cache: 'no-store'});
    if (answer.status == 401) at('secret').hidden = false;
    const json = await answer.json();
    if (!answer.ok) throw new Error(json.error);
    show(shown = json);
    at('error').textContent = '';
  } catch (error) {
    at('error').textContent = error.message;
  }
}
async function repeat() {
  await refresh();
  setTimeout(repeat, 2000);
}
at('token').addEventListener('change', refresh);
at('metric').addEventListener('change', () => draw(shown.last_rounds, at('metric').value));
repeat();
</script>
</body>
</html>
)html";

constexpr std::string_view kVersion = "@version@";

}  // namespace

std::string FederationPage() {
  std::string body(kBody);
  body.replace(body.find(kVersion), kVersion.size(), Version());
  return StrCat(kHead, SvgStyle(), kStyle, body);
}

}  // namespace dtnn
