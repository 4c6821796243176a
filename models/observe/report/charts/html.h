// Pieces of HTML that are XML too: every tag is closed, every attribute quoted, so that programs
// can check a page.

#ifndef DTNN_MODELS_OBSERVE_REPORT_CHARTS_HTML_H_
#define DTNN_MODELS_OBSERVE_REPORT_CHARTS_HTML_H_

#include <string>
#include <string_view>
#include <vector>

namespace dtnn {

// Text of any origin, for contents and attributes: < & > and quotes are written as entities,
// control characters and broken UTF-8 as escapes.
std::string HtmlText(std::string_view text);

// `value` rounded for people, and in full as data: "<data value="0.12345678">0.1235</data>". "-"
// for NaN, which stands for no value.
std::string HtmlNumber(double value);
// The same without the full one: "0.1235", "12.3k"; at most four digits.
std::string RoundNumber(double value);
// "1.25 s", "3 ms", "2 h 5 min".
std::string RoundSeconds(double seconds);

struct HtmlTable {
  std::string caption = {};               // text
  std::vector<std::string> columns = {};  // texts
  // HTML; the first cell of a row is its name.
  std::vector<std::vector<std::string>> rows = {};
};
std::string FormatHtmlTable(const HtmlTable& table);
// The table behind a line to open it by.
std::string FoldedTable(std::string_view summary, const HtmlTable& table);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_CHARTS_HTML_H_
