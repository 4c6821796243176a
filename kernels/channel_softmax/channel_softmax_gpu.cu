#include "kernels/channel_softmax/bodies.h"
#include "kernels/channel_softmax/channel_softmax_gpu.h"
#include "kernels/gpu/runner.h"
#include "tensor/status_macros.h"

namespace dtnn {

class ChannelSoftmaxGpu : public ChannelSoftmax {
 public:
  ChannelSoftmaxGpu(const GpuRunner& runner, const ChannelSoftmaxSpec& spec)
      : runner_(runner), spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckChannelSoftmax(spec_, runner_.device(), {&x}, {&y}));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return RunChannelSoftmax<T>(spec_, x, y, [&](const auto& body, const ChannelGroups& groups) {
        return runner_.ForEach("channel softmax", groups.size(), body);
      });
    });
  }

  absl::Status Backward(const Tensor& y, const Tensor& dy, const Tensor& dx,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckChannelSoftmax(spec_, runner_.device(), {&dx}, {&y, &dy}));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return RunChannelSoftmaxBackward<T>(
          spec_, y, dy, dx, accumulate, [&](const auto& body, const ChannelGroups& groups) {
            return runner_.ForEach("channel softmax's gradient", groups.size(), body);
          });
    });
  }

 private:
  GpuRunner runner_;
  const ChannelSoftmaxSpec spec_;
};

absl::StatusOr<std::unique_ptr<ChannelSoftmax>> CreateChannelSoftmaxGpu(
    DeviceContext& context, const ChannelSoftmaxSpec& spec) {
  return std::make_unique<ChannelSoftmaxGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
