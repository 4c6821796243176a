#include "models/plan/pixel_targets.h"

#include <algorithm>

#include "optim/losses/loss.h"
#include "tensor/errors.h"

namespace dtnn {

absl::Status CheckPixelTargets(const Tensor& targets, int64_t n, const ImageExtents& output) {
  const Shape expected{n, output.height, output.width};
  if (targets.dtype() != DType::kInt32 || targets.shape() != expected) {
    return InvalidArgument("a batch of ", n, " samples came with targets of shape ",
                           targets.shape().ToString(), " and type ", Name(targets.dtype()),
                           "; the network classifies pixels and needs ", expected.ToString(),
                           " of int32");
  }
  const int32_t* const labels = targets.data<int32_t>();
  const int32_t* const end = labels + targets.num_elements();
  const int32_t* const bad = std::find_if(labels, end, [&](int32_t label) {
    return label != kIgnoredPixel && (label < 0 || label >= output.channels);
  });
  if (bad == end) return absl::OkStatus();
  const int64_t pixels = output.height * output.width, pixel = (bad - labels) % pixels;
  return InvalidArgument("the pixel in row ", pixel / output.width, " and column ",
                         pixel % output.width, " of sample ", (bad - labels) / pixels,
                         " of the batch has label ", *bad, ", but the network has ",
                         output.channels, " classes (", kIgnoredPixel, ": ignored)");
}

}  // namespace dtnn
