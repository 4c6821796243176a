#include "models/run/options/option_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "models/run/options/option_range.h"
#include "models/run/options/option_value.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

std::string ToText(bool value) { return value ? "True" : "False"; }

std::string ToText(int64_t value) { return std::to_string(value); }

std::string ToText(double value) {
  char text[400];
  const double size = std::abs(value);
  const auto format = size == 0 || (size >= 1e-4 && size < 1e16) ? std::chars_format::fixed
                                                                 : std::chars_format::scientific;
  return std::string(text, std::to_chars(text, std::end(text), value, format).ptr);
}

std::string ToText(const std::string& value) { return value.empty() ? "None" : value; }

std::string ToText(const std::vector<std::string>& values) { return absl::StrJoin(values, ","); }

std::vector<std::string_view> SplitList(std::string_view list) {
  std::vector<std::string_view> items;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const absl::string_view item =
        absl::StripAsciiWhitespace(absl::string_view(list.data(), comma));
    if (!item.empty()) items.emplace_back(item.data(), item.size());
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return items;
}

namespace {

struct Formatter {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const auto& value) const { return ToText(value); }
  template <typename T>
  std::string operator()(const std::vector<T>& list) const {
    return absl::StrJoin(list, ",",
                         [this](std::string* out, const T& item) { out->append((*this)(item)); });
  }
};

}  // namespace

std::string OptionRange::ToText() const {
  std::string text;
  if (std::isfinite(low)) StrAppend(&text, low_open ? " > " : " >= ", dtnn::ToText(low));
  if (std::isfinite(high)) {
    StrAppend(&text, text.empty() ? "" : " and", high_open ? " < " : " <= ", dtnn::ToText(high));
  }
  if (hole > 0) StrAppend(&text, ", not within ", dtnn::ToText(hole), " of 0");
  return text;
}

std::string FormatValue(const OptionValue& value) { return std::visit(Formatter(), value); }

}  // namespace dtnn
