// The sum of several activations of one shape: y = x_0 + x_1 + ... (or y += with accumulate).
// One pass over memory, whatever the number of inputs. y may be any of the x. With one input and
// no accumulation it is a copy between pitched views.

#ifndef DTNN_KERNELS_ADD_ADD_H_
#define DTNN_KERNELS_ADD_ADD_H_

#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct AddSpec {
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;
};

class Add {
 public:
  virtual ~Add() = default;
  virtual absl::Status Run(std::span<const Tensor> inputs, const Tensor& y, bool accumulate) = 0;
};

absl::StatusOr<std::unique_ptr<Add>> CreateAdd(DeviceContext& context, const AddSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_ADD_ADD_H_
