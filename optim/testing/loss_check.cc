#include "optim/testing/loss_check.h"

#include <numeric>

#include "tools/testing/tensors.h"

namespace dtnn::testing {
namespace {

std::unique_ptr<LossOp> BindOnCpu(const Loss& loss, const Tensor& x, bool from_logits,
                                  TensorFormat format, DeviceContext& device) {
  LossContext context = {.device = &device,
                         .batch = x.shape()[0],
                         .outputs = x.shape()[1],
                         .dtype = x.dtype(),
                         .from_logits = from_logits,
                         .format = format};
  if (x.shape().rank() == 4) {
    context.image = ExtentsOf(x.shape().DropFirst(), format);
    context.outputs = context.image.channels;
  }
  return *loss.Bind(context);
}

Tensor CopyOf(const Tensor& x) { return TensorOf(x.dtype(), x.shape(), Values(x)); }

}  // namespace

LossResult RunLoss(const Loss& loss, const Tensor& x, const Tensor& targets, bool from_logits,
                   double gradient_scale, TensorFormat format) {
  const auto device = *DeviceContext::Create(Device::Cpu());
  const auto op = BindOnCpu(loss, x, from_logits, format, *device);
  const DType wide = WideOf(x.dtype());
  const Tensor losses = ZeroTensor(wide, Shape{x.shape()[0]});
  const Tensor y = ZeroTensor(wide, x.shape()), dx = ZeroTensor(x.dtype(), x.shape());
  LossResult result;
  result.status = op->CheckTargets(targets);
  if (result.status.ok()) result.status = op->Run(x, targets, y, losses, dx, gradient_scale);
  result.losses = Values(losses);
  result.probabilities = Values(y);
  result.gradient = Values(dx);
  return result;
}

::testing::AssertionResult CheckLossGradient(const Loss& loss, const Tensor& x,
                                             const Tensor& targets, bool from_logits,
                                             TensorFormat format) {
  constexpr double kScale = 0.25, kStep = 1e-6;
  const LossResult result = RunLoss(loss, x, targets, from_logits, kScale, format);
  if (!result.status.ok()) return ::testing::AssertionFailure() << result.status;
  const auto sum = [&] {
    const LossResult at = RunLoss(loss, x, targets, from_logits, kScale, format);
    return std::accumulate(at.losses.begin(), at.losses.end(), 0.0);
  };
  std::vector<double> numeric;
  double* values = x.data<double>();
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const double value = values[i];
    values[i] = value + kStep;
    const double above = sum();
    values[i] = value - kStep;
    const double below = sum();
    values[i] = value;
    numeric.push_back(kScale * (above - below) / (2 * kStep));
  }
  if (auto close = Close(result.gradient, numeric, 1e-8, 1e-7); !close) return close;

  const auto device = *DeviceContext::Create(Device::Cpu());
  const auto op = BindOnCpu(loss, x, from_logits, format, *device);
  const Tensor losses = ZeroTensor(x.dtype(), Shape{x.shape()[0]}), over = CopyOf(x);
  const Tensor y = ZeroTensor(x.dtype(), x.shape()), dx = ZeroTensor(x.dtype(), x.shape());
  if (!op->Run(over, targets, y, losses, over, kScale).ok() || Values(over) != result.gradient) {
    return ::testing::AssertionFailure() << "another gradient where dx is x";
  }
  const Tensor in_place = CopyOf(x);
  const Tensor& probabilities = from_logits ? in_place : y;
  if (!op->Run(in_place, targets, probabilities, losses, dx, kScale).ok() ||
      Values(dx) != result.gradient || Values(probabilities) != result.probabilities) {
    return ::testing::AssertionFailure() << "other results where the probabilities are x";
  }
  if (!op->Run(x, targets, y, losses, Tensor(), 0).ok() || Values(losses) != result.losses) {
    return ::testing::AssertionFailure() << "other losses without a gradient";
  }
  if (x.shape().rank() == 2) {  // columns of a wider matrix
    const Tensor some = Pitched(x, format), gradient = Pitched(dx, format);
    if (!op->Run(some, targets, y, losses, gradient, kScale).ok() ||
        Values(losses) != result.losses || Values(gradient) != result.gradient) {
      return ::testing::AssertionFailure() << "other results where rows are apart";
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace dtnn::testing
