#include "optim/metrics/label_names.h"

#include <algorithm>

#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

constexpr size_t kLongest = 40;  // bytes

// Characters of UTF-8.
size_t Columns(const std::string& text) {
  return size_t(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::vector<std::string> LabelNames(int64_t labels, std::span<const std::string> class_names) {
  const bool named = int64_t(class_names.size()) == labels;
  std::vector<std::string> names;
  for (int64_t i = 0; i < labels; ++i) {
    names.push_back(named ? OneLine(class_names[size_t(i)], kLongest) : std::to_string(i));
  }
  return names;
}

void AlignRight(std::vector<std::string>& texts, size_t width) {
  for (const std::string& text : texts) width = std::max(width, Columns(text));
  for (std::string& text : texts) text.insert(0, width - Columns(text), ' ');
}

}  // namespace dtnn
