// What a layer makes of a batch in evaluation, on the CPU: for tests against loops.

#ifndef DTNN_LAYERS_TESTING_EVALUATE_H_
#define DTNN_LAYERS_TESTING_EVALUATE_H_

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "layers/base/layer.h"
#include "tensor/buffer.h"
#include "tools/testing/tensors.h"

namespace dtnn::testing {

// The layer has one input and needs no workspace. `x` is a batch; the op is bound for one of a
// sample more. The parameters are given in the layer's order.
inline std::vector<double> Evaluated(const Layer& layer, const Tensor& x, TensorFormat format,
                                     const std::vector<Tensor>& parameters = {}) {
  const auto host = *DeviceContext::Create(Device::Cpu());
  const Shape sample = x.shape().DropFirst(),
              made = *layer.OutputShape(std::vector<Shape>{sample}, format);
  const auto op = *layer.Bind({.device = host.get(),
                               .batch = x.shape()[0] + 1,
                               .dtype = x.dtype(),
                               .format = format,
                               .inputs = {sample},
                               .output = made});
  if (const size_t kept = op->traits().kept_bytes; kept > 0) {
    EXPECT_EQ(op->Keep(*Buffer::Allocate(Device::Cpu(), kept)), absl::OkStatus());
  }
  std::vector<ParameterView> views;
  for (const Tensor& parameter : parameters) views.push_back({parameter, 1});
  const Tensor y = ZeroTensor(x.dtype(), made.Prepend(x.shape()[0]));
  EXPECT_EQ(op->Forward({.inputs = {&x, 1}, .output = y, .parameters = views}), absl::OkStatus());
  return Values(y, format);
}

}  // namespace dtnn::testing

#endif  // DTNN_LAYERS_TESTING_EVALUATE_H_
