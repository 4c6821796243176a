#include "apps/monitor/metrics_text.h"

#include <cmath>

#include "tensor/text/json_text.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : OneLine(text, MetricsText::kMostLabel)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return JsonNumber(value);
}

}  // namespace

void MetricsText::Family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  StrAppend(&text_, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

void MetricsText::Line(std::string_view suffix, Labels labels, std::string_view bound,
                       std::string_view value) {
  std::string list;
  for (const auto& [label, text] : labels) {
    StrAppend(&list, list.empty() ? "" : ",", label, "=", Quoted(text));
  }
  if (!bound.empty()) StrAppend(&list, list.empty() ? "" : ",", "le=\"", bound, "\"");
  StrAppend(&text_, name_, suffix);
  if (!list.empty()) StrAppend(&text_, "{", list, "}");
  StrAppend(&text_, " ", value, "\n");
}

void MetricsText::Add(Labels labels, int64_t value) { Line("", labels, "", StrCat(value)); }

void MetricsText::Add(Labels labels, double value) { Line("", labels, "", Number(value)); }

void MetricsText::Add(Labels labels, const Histogram& histogram) {
  int64_t count = 0;
  for (size_t i = 0; i < histogram.counts().size(); ++i) {
    count += histogram.counts()[i];
    const bool last = i == histogram.bounds().size();
    Line("_bucket", labels, last ? "+Inf" : Number(histogram.bounds()[i]), StrCat(count));
  }
  Line("_sum", labels, "", Number(histogram.sum()));
  Line("_count", labels, "", StrCat(count));
}

}  // namespace dtnn
