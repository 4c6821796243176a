// Inverted dropout (Srivastava et al., JMLR 15, 2014): each element is kept with probability
// 1 - rate and then multiplied by 1 / (1 - rate), or else is 0, but for a NaN, which stays one;
// decided per element of the batch.
//
// No mask is stored: element i of the call draws Philox number `offset + i` of the stream, so the
// backward pass draws the same again, on any number of threads. Elements are numbered densely in
// the order of NHWC, whatever the format: the same elements are dropped in both. rate 1 yields
// zeros.

#ifndef DTNN_KERNELS_DROPOUT_DROPOUT_H_
#define DTNN_KERNELS_DROPOUT_DROPOUT_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/format.h"
#include "tensor/philox.h"
#include "tensor/tensor.h"

namespace dtnn {

struct DropoutSpec {
  double rate = 0.5;  // 0 <= rate <= 1
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;
  // How many pixels the image, (c, h, w), has whose elements a row of a tensor of rank 2 in NCHW
  // holds.
  int64_t pixels = 1;
};

// Where a call's numbers begin in the stream: first + per_step * step, each a multiple of 4 (but
// for the step).
struct RandomOffset {
  RandomOffset(uint64_t first) : first(first) {}  // NOLINT: a number is an offset
  RandomOffset(uint64_t per_step, Tensor step) : per_step(per_step), step(std::move(step)) {}

  uint64_t first = 0, per_step = 0;
  Tensor step;  // one int64 of the device, read when the call's work runs; empty: 0
};

class Dropout {
 public:
  virtual ~Dropout() = default;
  // y = x * mask; y may be x. The gradient is the same call on dy with the same stream and offset.
  // accumulate: y += x * mask.
  virtual absl::Status Run(const Tensor& x, const Philox& stream, const RandomOffset& offset,
                           const Tensor& y, bool accumulate) = 0;
};

absl::StatusOr<std::unique_ptr<Dropout>> CreateDropout(DeviceContext& context,
                                                       const DropoutSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_DROPOUT_DROPOUT_H_
