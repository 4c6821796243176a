#include "apps/serve/page.h"

#include <string_view>

#include "tensor/text/str_cat.h"
#include "tensor/text/version.h"

namespace dtnn {
namespace {

constexpr std::string_view kPage = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="DTNN">
<title>DTNN: classify an image</title>
<style>
*{box-sizing:border-box}
body{margin:0 auto;max-width:44rem;padding:1rem;font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;line-height:1.2}
#drop{display:block;margin:0;border:2px dashed GrayText;border-radius:.5rem;padding:2rem 1rem;text-align:center;
cursor:pointer}
#drop.over{border-style:solid}
#image{display:block;max-width:100%;max-height:20rem;margin:1rem auto}
label{margin-right:1rem}
table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
td{padding:.2rem .5rem}td.value{text-align:right}
progress{width:100%}
#error{white-space:pre-wrap;overflow-wrap:anywhere;color:#c00}
footer{margin-top:2rem;font-size:.9rem;color:GrayText}
</style>
</head>
<body>
<main>
<h1>Classify an image</h1>
<p><label>Model <select id="model"></select></label>
<label>Classes <input id="top" type="number" min="1" max="1000" value="5"></label>
<label id="secret" hidden>Token <input id="token" type="password" autocomplete="off"></label></p>
<label id="drop">Drop a JPEG or PNG image here, or choose one<br>
<input id="file" type="file" accept="image/jpeg,image/png"></label>
<img id="image" alt="" hidden>
<p id="error" role="alert"></p>
<table id="answer" aria-live="polite"></table>
</main>
<footer>The image is sent to this server only. <a href="metrics">Metrics</a>. DTNN @version@</footer>
<script>
'use strict';
const at = id => document.getElementById(id);
const headers = () => at('token').value ? {Authorization: 'Bearer ' + at('token').value} : {};
async function ask(path, request) {
  at('error').textContent = '';
  const answer = await fetch(path, request);
  const json = await answer.json();
  if (answer.status == 401) at('secret').hidden = false;
  if (!answer.ok) throw new Error(json.error);
  return json;
}
function fail(error) { at('error').textContent = error.message; }
async function list() {
  const models = (await ask('v2/models', {headers: headers()})).models;
  at('model').replaceChildren(...models.map(name => new Option(name)));
}
function cell(row, text, name) {
  const made = row.insertCell();
  made.textContent = text;
  made.className = name;
  return made;
}
async function classify(file) {
  at('answer').replaceChildren();
  URL.revokeObjectURL(at('image').src);
  at('image').src = URL.createObjectURL(file);
  at('image').hidden = false;
  const query = new URLSearchParams({model: at('model').value, top: at('top').value});
  const json = await ask('classify?' + query,
                         {method: 'POST', body: file, headers: headers()});
  for (const one of json.predictions) {
    const row = at('answer').insertRow();
    cell(row, one.class ?? one.name, 'name');
    const share = one.probability !== undefined;
    cell(row, share ? (100 * one.probability).toFixed(1) + ' %' : one.value.toPrecision(6),
         'value');
    if (!share) continue;
    const bar = document.createElement('progress');
    bar.value = one.probability;
    cell(row, '', 'bar').append(bar);
  }
}
at('file').addEventListener('change', () => {
  if (at('file').files.length) classify(at('file').files[0]).catch(fail);
});
at('token').addEventListener('change', () => list().catch(fail));
for (const name of ['dragover', 'dragleave', 'drop']) {
  at('drop').addEventListener(name, event => {
    event.preventDefault();
    at('drop').classList.toggle('over', name == 'dragover');
    if (name == 'drop' && event.dataTransfer.files.length) {
      classify(event.dataTransfer.files[0]).catch(fail);
    }
  });
}
list().catch(fail);
</script>
</body>
</html>
)html";

// Whatever stands in the page by mistake, a browser asks this server only.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self'; img-src blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

}  // namespace

HttpAnswer ServerPage() {
  constexpr std::string_view kVersion = "@version@";
  std::string page(kPage);
  page.replace(page.find(kVersion), kVersion.size(), Version());
  return {.body = std::move(page),
          .type = "text/html; charset=utf-8",
          .headers = {{"Content-Security-Policy", kPolicy}, {"Referrer-Policy", "no-referrer"}}};
}

}  // namespace dtnn
