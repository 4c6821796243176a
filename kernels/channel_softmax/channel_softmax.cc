#include "kernels/channel_softmax/channel_softmax.h"

#include <algorithm>

#include "kernels/channel_softmax/bodies.h"
#include "kernels/channel_softmax/channel_softmax_gpu.h"
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

class ChannelSoftmaxCpu : public ChannelSoftmax {
 public:
  explicit ChannelSoftmaxCpu(const ChannelSoftmaxSpec& spec) : spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckChannelSoftmax(spec_, Device::Cpu(), {&x}, {&y}));
    DispatchCpuFloating(spec_.dtype,
                        [&]<typename T>(T) { RunChannelSoftmax<T>(spec_, x, y, kForEachGroup); });
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& y, const Tensor& dy, const Tensor& dx,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckChannelSoftmax(spec_, Device::Cpu(), {&dx}, {&y, &dy}));
    DispatchCpuFloating(spec_.dtype, [&]<typename T>(T) {
      RunChannelSoftmaxBackward<T>(spec_, y, dy, dx, accumulate, kForEachGroup);
    });
    return absl::OkStatus();
  }

 private:
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
