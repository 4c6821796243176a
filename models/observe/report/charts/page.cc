#include "models/observe/report/charts/page.h"

#include "models/observe/report/charts/html.h"
#include "tensor/text/str_cat.h"
#include "tensor/text/version.h"

namespace dtnn {
namespace {

constexpr std::string_view kStyle = R"(
*{box-sizing:border-box}
body{margin:0 auto;max-width:1320px;padding:1rem;background:var(--page);color:var(--text);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.25rem;margin:2rem 0 .5rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid var(--grid);padding:.6rem}
.grid-of{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,380px),1fr));gap:1rem}
figure{margin:0}figcaption{font-size:.9rem}.grid-of figcaption{font-weight:600}
svg{width:100%;height:auto;display:block}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;margin-bottom:1rem;
font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--faint)}th,td{padding:.15rem .6rem;text-align:right;
border-bottom:1px solid var(--grid)}th:first-child{text-align:left}
.matrix td{min-width:2.6rem;text-align:center}abbr{text-decoration:none}
.images{display:flex;flex-wrap:wrap;gap:1rem}.images figure{width:9rem}
.images img{image-rendering:pixelated}
summary{cursor:pointer}a{color:var(--c0)}footer,.note{color:var(--faint);font-size:.9rem}
@media print{body{max-width:none;padding:0}section,figure,tr{break-inside:avoid}
:root{--page:#fff;--text:#000;--faint:#444;--grid:#bbb;
--c0:#0067a3;--c1:#c04f00;--c2:#00795a;--c3:#a3327a;--c4:#6a5acd;--c5:#555}
td{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)";

// Whatever stands in a page by mistake, a browser loads nothing and runs nothing.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action "
    "'none'";

constexpr std::string_view kGenerator = "<meta name=\"generator\" content=\"DTNN\"/>\n";

}  // namespace

std::string FormatPage(std::string_view title, std::string_view contents, int reload_seconds) {
  std::string page = StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"",
      HtmlText(kPolicy),
      "\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n",
      kGenerator);
  if (reload_seconds > 0) {
    StrAppend(&page, "<meta http-equiv=\"refresh\" content=\"", reload_seconds, "\"/>\n");
  }
  StrAppend(&page, "<title>", HtmlText(title), "</title>\n<style>", SvgStyle(), kStyle,
            "</style>\n</head>\n<body>\n<main>\n", contents, "<footer>DTNN ", Version(),
            "</footer>\n</main>\n</body>\n</html>\n");
  return page;
}

bool IsPage(std::string_view start) { return start.find(kGenerator) != start.npos; }

std::string PageSection(std::string_view id, std::string_view heading, std::string_view contents) {
  if (contents.empty()) return "";
  return StrCat("<section aria-labelledby=\"", id, "\">\n<h2 id=\"", id, "\">", HtmlText(heading),
                "</h2>\n", contents, "</section>\n");
}

std::string PictureGrid(const std::vector<SvgPicture>& pictures) {
  if (pictures.empty()) return "";
  std::string html = "<div class=\"grid-of\">\n";
  for (const SvgPicture& picture : pictures) {
    StrAppend(&html, "<figure><figcaption>", HtmlText(picture.title), "</figcaption>\n",
              FormatSvg(picture), "</figure>\n");
  }
  return html + "</div>\n";
}

}  // namespace dtnn
