#include "data/transforms/transform_list.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "data/transforms/color_jitter.h"
#include "data/transforms/crop.h"
#include "data/transforms/cutout.h"
#include "data/transforms/flip.h"
#include "data/transforms/pad_crop.h"
#include "data/transforms/resized_crop.h"
#include "data/transforms/rotate.h"
#include "tensor/errors.h"
#include "tensor/text/nearest.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

absl::StatusOr<const TransformKind*> FindKind(const std::string& name) {
  std::vector<std::string_view> names;
  for (const TransformKind* kind : TransformKinds()) {
    if (kind->name == name) return kind;
    names.push_back(kind->name);
  }
  return InvalidArgument("unknown transform ", Quoted(name), "; must be one of: ",
                         absl::StrJoin(std::vector<std::string>(names.begin(), names.end()), ", "),
                         DidYouMean(name, names));
}

absl::StatusOr<double> ParseParameter(const TransformKind& kind,
                                      const TransformParameter& parameter,
                                      const std::string& text) {
  const auto refused = [&](std::string_view expected) {
    return InvalidArgument(kind.name, ": the ", parameter.name, " must be ", expected, ", not ",
                           Quoted(text));
  };
  if (!parameter.words.empty()) {
    const std::vector<std::string> words = absl::StrSplit(std::string(parameter.words), ',');
    const auto found = std::ranges::find(words, text);
    if (found == words.end()) return refused(absl::StrJoin(words, " or "));
    return double(found - words.begin());
  }
  const std::optional<double> value = NumberIn<double>(text);
  if (!value) return refused("a number");
  return *value;
}

absl::StatusOr<std::shared_ptr<const Transform>> ParseTransform(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ':');
  DTNN_ASSIGN_OR_RETURN(const TransformKind* kind, FindKind(words[0]));
  const size_t most = kind->parameters.size();
  if (words.size() - 1 > most) {
    return InvalidArgument(kind->name, ": takes up to ", most,
                           most == 1 ? " parameter" : " parameters", ", but \"", text.substr(0, 80),
                           "\" gives ", words.size() - 1);
  }
  std::vector<double> values;
  for (size_t i = 0; i < most; ++i) {
    const TransformParameter& parameter = kind->parameters[i];
    values.push_back(parameter.standard);
    if (i + 1 >= words.size()) continue;
    DTNN_ASSIGN_OR_RETURN(values.back(), ParseParameter(*kind, parameter, words[i + 1]));
  }
  DTNN_RETURN_IF_ERROR(CheckParameters(*kind, values));
  return kind->make(values);
}

}  // namespace

std::span<const TransformKind* const> TransformKinds() {
  static const TransformKind* const kinds[] = {
      &FlipKind(),        &VerticalFlipKind(), &CropKind(),        &PadCropKind(),
      &ResizedCropKind(), &RotateKind(),       &ColorJitterKind(), &CutoutKind()};
  return kinds;
}

absl::StatusOr<TransformList> ParseTransforms(std::string_view text) {
  TransformList list;
  const std::vector<std::string> items =
      absl::StrSplit(std::string(text), ',', absl::SkipWhitespace());
  for (const std::string& item : items) {
    DTNN_ASSIGN_OR_RETURN(list.emplace_back(),
                          ParseTransform(std::string(absl::StripAsciiWhitespace(item))));
  }
  return list;
}

}  // namespace dtnn
