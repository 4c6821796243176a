#include "models/observe/report/charts/html.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "tensor/text/json_text.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

std::string HtmlText(std::string_view text) {
  std::string html;
  for (const char c : OneLine(text, std::numeric_limits<size_t>::max())) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string RoundNumber(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "-" : value > 0 ? "inf" : "-inf";
  const double size = std::abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return absl::StrFormat("%.2e", value);
  for (const auto& [unit, name] : {std::pair(1e12, "T"), {1e9, "G"}, {1e6, "M"}, {1e4, "k"}}) {
    const double scale = unit == 1e4 ? 1e3 : unit;
    if (size >= unit) return absl::StrFormat("%.4g%s", value / scale, name);
  }
  return absl::StrFormat("%.4g", value);
}

std::string HtmlNumber(double value) {
  if (!std::isfinite(value)) return RoundNumber(value);
  return StrCat("<data value=\"", JsonNumber(value), "\">", RoundNumber(value), "</data>");
}

std::string RoundSeconds(double seconds) {
  if (!(seconds >= 0)) return "-";
  if (seconds >= 3600) {
    const double minutes = std::round(seconds / 60);
    return absl::StrFormat("%.0f h %.0f min", std::floor(minutes / 60), std::fmod(minutes, 60));
  }
  if (seconds >= 120) return absl::StrFormat("%.1f min", seconds / 60);
  if (seconds >= 1) return absl::StrFormat("%.3g s", seconds);
  if (seconds >= 1e-3) return absl::StrFormat("%.3g ms", seconds * 1e3);
  return absl::StrFormat("%.3g us", seconds * 1e6);
}

std::string FormatHtmlTable(const HtmlTable& table) {
  std::string html = "<div class=\"scroll\"><table>";
  if (!table.caption.empty()) {
    StrAppend(&html, "<caption>", HtmlText(table.caption), "</caption>");
  }
  html += "\n<thead><tr>";
  for (const std::string& column : table.columns) {
    StrAppend(&html, "<th scope=\"col\">", HtmlText(column), "</th>");
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      StrAppend(&html, i == 0 ? "<th scope=\"row\">" : "<td>", row[i], i == 0 ? "</th>" : "</td>");
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string FoldedTable(std::string_view summary, const HtmlTable& table) {
  return StrCat("<details><summary>", HtmlText(summary), "</summary>\n", FormatHtmlTable(table),
                "</details>\n");
}

}  // namespace dtnn
