#include "layers/base/attributes.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// For messages, however long the value is.
std::string Shown(const Attribute& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return StrCat(*integer);
  if (const auto* real = std::get_if<double>(&value)) return StrCat(*real);
  if (const auto* word = std::get_if<std::string>(&value)) return Quoted(*word);
  const auto& list = std::get<std::vector<int64_t>>(value);
  const std::vector<int64_t> begin(list.begin(), list.begin() + std::min(list.size(), size_t{8}));
  return StrCat("[", absl::StrJoin(begin, ", "), list.size() > 8 ? ", ..." : "", "]");
}

}  // namespace

Attribute PairAttribute(const Pair& pair) {
  return std::vector<int64_t>{pair.vertical, pair.horizontal};
}

AttributeReader::AttributeReader(const Attributes& attributes) : attributes_(attributes) {
  std::set<std::string_view> seen;
  for (const auto& [name, value] : attributes) {
    if (!seen.insert(name).second) Fail(name, "is given twice");
  }
}

const Attribute* AttributeReader::Find(std::string_view name) {
  known_.emplace(name);
  for (const auto& [key, value] : attributes_) {
    if (key == name) return &value;
  }
  Fail(name, "is missing");
  return nullptr;
}

bool AttributeReader::Has(std::string_view name) const {
  return std::ranges::any_of(attributes_, [&](const auto& one) { return one.first == name; });
}

int64_t AttributeReader::Int(std::string_view name) {
  const Attribute* value = Find(name);
  if (value == nullptr) return 0;
  if (const auto* integer = std::get_if<int64_t>(value)) return *integer;
  Refuse(name, *value, "a whole number");
  return 0;
}

double AttributeReader::Real(std::string_view name) {
  const Attribute* value = Find(name);
  if (value == nullptr) return 0;
  if (const auto* real = std::get_if<double>(value)) return *real;
  if (const auto* integer = std::get_if<int64_t>(value)) return double(*integer);
  Refuse(name, *value, "a number");
  return 0;
}

bool AttributeReader::Switch(std::string_view name) {
  const Attribute* value = Find(name);
  if (value == nullptr) return false;
  const auto* integer = std::get_if<int64_t>(value);
  if (integer == nullptr || *integer < 0 || *integer > 1) Refuse(name, *value, "0 or 1");
  return integer != nullptr && *integer == 1;
}

Pair AttributeReader::TwoInts(std::string_view name) {
  const Attribute* value = Find(name);
  if (value == nullptr) return 0;
  const auto* list = std::get_if<std::vector<int64_t>>(value);
  if (list != nullptr && list->size() == 2) return {(*list)[0], (*list)[1]};
  Refuse(name, *value, "two whole numbers, vertical and horizontal");
  return 0;
}

std::string AttributeReader::Text(std::string_view name) {
  const Attribute* value = Find(name);
  if (value == nullptr) return "";
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  Refuse(name, *value, "a text");
  return "";
}

void AttributeReader::RefuseWord(std::string_view name, std::string_view text) {
  Fail(name, StrCat("is ", Quoted(text), ", a word that this version does not know"));
}

void AttributeReader::Refuse(std::string_view name, const Attribute& value,
                             std::string_view expected) {
  Fail(name, StrCat("is ", Shown(value), "; expected ", expected));
}

void AttributeReader::Fail(std::string_view name, std::string_view mistake) {
  if (!status_.ok()) return;
  status_ = InvalidArgument("attribute ", Quoted(name), " ", mistake);
}

absl::Status AttributeReader::Done() {
  for (const auto& [name, value] : attributes_) {
    if (!known_.contains(name)) Fail(name, "is not one that this layer has");
  }
  return status_;
}

}  // namespace dtnn
