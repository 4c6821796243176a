#include "tensor/format.h"

#include <cassert>

#include "absl/strings/match.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

std::string_view Name(TensorFormat format) {
  return format == TensorFormat::kNHWC ? "NHWC" : "NCHW";
}

std::optional<TensorFormat> ParseTensorFormat(std::string_view name) {
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const std::string_view word = Name(format);
    if (absl::EqualsIgnoreCase({name.data(), name.size()}, {word.data(), word.size()})) {
      return format;
    }
  }
  return std::nullopt;
}

std::string ToString(const ImageExtents& e) {
  return StrCat(e.height, "x", e.width, "x", e.channels);
}

ImageExtents ExtentsOf(const Shape& sample, TensorFormat format) {
  assert(sample.rank() == 3);
  if (format == TensorFormat::kNHWC) return {sample[0], sample[1], sample[2]};
  return {sample[1], sample[2], sample[0]};
}

Shape SampleShape(const ImageExtents& e, TensorFormat format) {
  if (format == TensorFormat::kNHWC) return Shape{e.height, e.width, e.channels};
  return Shape{e.channels, e.height, e.width};
}

}  // namespace dtnn
