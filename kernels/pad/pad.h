// Images with more rows and columns around them.
//
//   forward   y[h, w] = x[h - top, w - left] inside, and around it, by mode:
//               constant   a value
//               reflect    the pixels beside the edge, mirrored at it: x[1] before x[0]
//               edge       the pixel at the edge
//   backward  dx = (accumulate ? dx : 0) + the sum of dy over all places where the pixel stands
//
// (n, height, width, channels), or with channels second in NCHW; x and y, or dy and dx, may be
// pitched and do not overlap. Sums of 16 bits are made in float32 and rounded once.

#ifndef DTNN_KERNELS_PAD_PAD_H_
#define DTNN_KERNELS_PAD_PAD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

enum class PadMode : uint8_t { kConstant, kReflect, kEdge };
// "constant", "reflect", "edge".
std::string_view Name(PadMode mode);
std::optional<PadMode> ParsePadMode(std::string_view name);

struct PadSpec {
  ImageExtents image;  // of x
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  PadMode mode = PadMode::kConstant;
  double value = 0;
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;

  ImageExtents output() const {
    return {image.height + top + bottom, image.width + left + right, image.channels};
  }
};

class Pad {
 public:
  virtual ~Pad() = default;
  virtual absl::Status Forward(const Tensor& x, const Tensor& y) = 0;
  virtual absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) = 0;
};

// InvalidArgument for images without elements, pads below 0 or above 2^24, mirrors that reach
// beyond the other edge, and types that the device does not compute with.
absl::Status CheckPad(const PadSpec& spec);
absl::StatusOr<std::unique_ptr<Pad>> CreatePad(DeviceContext& context, const PadSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_PAD_PAD_H_
