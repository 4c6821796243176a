#include "kernels/channel_softmax/channel_softmax.h"

#include <algorithm>

#include "kernels/channel_softmax/bodies.h"
#include "kernels/channel_softmax/channel_softmax_gpu.h"
#include "kernels/channel_softmax/planes.h"
#include "kernels/elementwise/operands.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

// A body for each group of channels.
constexpr auto kForEachGroup = [](const auto& body, const ChannelGroups& groups) {
  const int64_t grain = std::max<int64_t>(1, kMathGrain / groups.channels());
  ParallelFor(0, groups.size(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
};

// With fewer pixels, most lanes of a vector of them have nothing to do.
constexpr int64_t kLeastPixels = 5;

PlaneOperand PlanesOf(const Tensor& image) {
  return {image.raw_data(), image.ImagePitch(), image.shape()[2] * image.shape()[3]};
}

class ChannelSoftmaxCpu : public ChannelSoftmax {
 public:
  explicit ChannelSoftmaxCpu(const ChannelSoftmaxSpec& spec) : spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckChannelSoftmax(spec_, Device::Cpu(), {&x}, {&y}));
    if (ArePlanes(y)) {
      PlanesPass pass = Planes(y);
      pass.x = PlanesOf(x), pass.y = PlanesOf(y);
      Run(pass, RunPlanesForward);
      return absl::OkStatus();
    }
    DispatchCpuFloating(spec_.dtype,
                        [&]<typename T>(T) { RunChannelSoftmax<T>(spec_, x, y, kForEachGroup); });
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& y, const Tensor& dy, const Tensor& dx,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckChannelSoftmax(spec_, Device::Cpu(), {&dx}, {&y, &dy}));
    if (ArePlanes(y)) {
      PlanesPass pass = Planes(y);
      pass.y = PlanesOf(y), pass.dy = PlanesOf(dy), pass.dx = PlanesOf(dx);
      pass.accumulate = accumulate;
      Run(pass, RunPlanesBackward);
      return absl::OkStatus();
    }
    DispatchCpuFloating(spec_.dtype, [&]<typename T>(T) {
      RunChannelSoftmaxBackward<T>(spec_, y, dy, dx, accumulate, kForEachGroup);
    });
    return absl::OkStatus();
  }

 private:
  bool ArePlanes(const Tensor& image) const {
    const Shape& shape = image.shape();
    return spec_.format == TensorFormat::kNCHW && shape[2] * shape[3] >= kLeastPixels;
  }
  PlanesPass Planes(const Tensor& image) const {
    const Shape& shape = image.shape();
    return {.dtype = spec_.dtype,
            .narrow_result = spec_.narrow_result,
            .images = shape[0],
            .groups = spec_.groups,
            .channels = spec_.channels / spec_.groups,
            .pixels = shape[2] * shape[3]};
  }
  static void Run(const PlanesPass& pass, void (*run)(const PlanesPass&, int64_t, int64_t)) {
    const int64_t grain = std::max<int64_t>(1, kMathGrain / (pass.channels * pass.block()));
    ParallelFor(0, pass.blocks(), grain,
                [&](int64_t begin, int64_t end) { run(pass, begin, end); });
  }

  const ChannelSoftmaxSpec spec_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ChannelSoftmax>> CreateChannelSoftmax(
    DeviceContext& context, const ChannelSoftmaxSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("channel softmax", context.device(), spec.dtype));
  if (spec.channels < 1) {
    return InvalidArgument("channel softmax: ", spec.channels, " channels, expected at least one");
  }
  if (spec.groups < 1 || spec.channels % spec.groups != 0) {
    return InvalidArgument("channel softmax: ", spec.channels, " channels in ", spec.groups,
                           " groups, expected groups of as many channels each");
  }
  if (context.device().is_cpu()) return std::make_unique<ChannelSoftmaxCpu>(spec);
  return CreateChannelSoftmaxGpu(context, spec);
}

}  // namespace dtnn
