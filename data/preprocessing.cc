#include "data/preprocessing.h"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using nlohmann::json;
using Input = Preprocessing::Input;

struct Words {
  Input input;
  const char *x, *channels;
};
constexpr Words kWords[] = {{Input::kBytes, "byte / 255", "RGB"},
                            {Input::kBgr, "byte / 255", "BGR"},
                            {Input::kValues, "as in the data", ""}};

const Words& WordsOf(Input input) {
  for (const Words& words : kWords) {
    if (words.input == input) return words;
  }
  return kWords[0];
}

absl::Status Unknown(std::string_view text) {
  constexpr size_t kShown = 200;
  return absl::InvalidArgumentError(
      absl::StrCat("says of its preprocessing what this version does not understand: ",
                   std::string(text.substr(0, kShown))));
}

// False unless it is there and a list of numbers.
bool Read(const json& object, const char* key, std::vector<double>& numbers) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return false;
  for (const json& number : *found) {
    if (!number.is_number()) return false;
    numbers.push_back(number.get<double>());
  }
  return true;
}

bool IsText(const json& object, const char* key, const char* text) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() && *found == text;
}

double At(const std::vector<double>& values, int64_t channel, double none) {
  if (values.empty()) return none;
  return values.size() == 1 ? values[0] : values[size_t(channel)];
}

}  // namespace

std::string ToJson(const Preprocessing& preprocessing) {
  const Words& words = WordsOf(preprocessing.input);
  nlohmann::ordered_json object;
  object["x"] = words.x;
  object["channels"] = words.channels;
  object["offset"] = preprocessing.normalization.offset;
  object["scale"] = preprocessing.normalization.scale;
  return object.dump();
}

absl::StatusOr<Preprocessing> ParsePreprocessing(std::string_view text, int64_t channels) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return Unknown(text);
  for (const Words& words : kWords) {
    if (!IsText(object, "x", words.x) || !IsText(object, "channels", words.channels)) continue;
    Preprocessing preprocessing = {.input = words.input};
    Normalization& normalization = preprocessing.normalization;
    if (!Read(object, "offset", normalization.offset) ||
        !Read(object, "scale", normalization.scale)) {
      return Unknown(text);
    }
    DTNN_RETURN_IF_ERROR(CheckNormalization(normalization, channels));
    return preprocessing;
  }
  return Unknown(text);
}

bool SamePreprocessing(const Preprocessing& a, const Preprocessing& b, int64_t channels) {
  constexpr double kRounding = 1e-6;
  const auto close = [](double x, double y) {
    return std::abs(x - y) <= kRounding * std::max({1.0, std::abs(x), std::abs(y)});
  };
  for (int64_t c = 0; c < channels; ++c) {
    if (!close(At(a.normalization.offset, c, 0), At(b.normalization.offset, c, 0)) ||
        !close(At(a.normalization.scale, c, 1), At(b.normalization.scale, c, 1))) {
      return false;
    }
  }
  return a.input == b.input;
}

std::string Describe(const Preprocessing& preprocessing) {
  std::string text = WordsOf(preprocessing.input).x;
  if (preprocessing.input == Input::kBgr) absl::StrAppend(&text, " as blue, green, red");
  const Normalization& normalization = preprocessing.normalization;
  if (!normalization.any()) return text + ", not normalised";
  return absl::StrCat(text, ", offset ", absl::StrJoin(normalization.offset, "/"), ", scale ",
                      absl::StrJoin(normalization.scale, "/"));
}

}  // namespace dtnn
