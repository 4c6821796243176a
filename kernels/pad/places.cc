#include "kernels/pad/places.h"

#include <algorithm>
#include <cmath>

#include "kernels/operands/operand.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr int64_t kMostPad = int64_t{1} << 24;
constexpr std::string_view kNames[] = {"constant", "reflect", "edge"};

}  // namespace

std::string_view Name(PadMode mode) { return kNames[size_t(mode)]; }

std::optional<PadMode> ParsePadMode(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return PadMode(found - std::begin(kNames));
}

absl::Status CheckPad(const PadSpec& spec) {
  const ImageExtents& image = spec.image;
  if (image.height < 1 || image.width < 1 || image.channels < 1) {
    return InvalidArgument("pad: an image of ", ToString(image), ", expected elements");
  }
  for (const int64_t pad : {spec.top, spec.bottom, spec.left, spec.right}) {
    if (pad >= 0 && pad <= kMostPad) continue;
    return InvalidArgument("pad: ", pad, " rows or columns, expected 0 to 2^24");
  }
  if (!std::isfinite(spec.value)) {
    return InvalidArgument("pad: value ", spec.value, ", expected a finite number");
  }
  if (spec.mode == PadMode::kReflect && (std::max(spec.top, spec.bottom) >= image.height ||
                                         std::max(spec.left, spec.right) >= image.width)) {
    return InvalidArgument("pad: ", spec.top, ", ", spec.bottom, ", ", spec.left, " and ",
                           spec.right,
                           " mirrored rows and columns at the top, bottom, left and "
                           "right, expected fewer than an image of ",
                           ToString(image), " has");
  }
  return absl::OkStatus();
}

absl::Status CheckPadCall(const PadSpec& spec, Device device, const Tensor& small,
                          const Tensor& large) {
  const int64_t samples = small.shape().rank() > 0 ? small.shape()[0] : 0;
  const auto check = [&](std::string_view name, const Tensor& image, const ImageExtents& extents) {
    return CheckOperand("pad", name, image, device, spec.dtype,
                        SampleShape(extents, spec.format).Prepend(samples), Pitch::kAllowed);
  };
  const absl::Status status = check("the image", small, spec.image);
  return status.ok() ? check("the padded image", large, spec.output()) : status;
}

}  // namespace dtnn
