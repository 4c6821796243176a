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
      const ImageGrid grid = ImageGrid::Of(x.shape(), spec_.format);
      return runner_.ForEach("channel softmax", grid.images * grid.height * grid.width,
                             ChannelSoftmaxForward<T>{grid, ImageView<const T>::Of(x, spec_.format),
                                                      ImageView<Wide<T>>::Of(y, spec_.format)});
    });
  }

  absl::Status Backward(const Tensor& y, const Tensor& dy, const Tensor& dx,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckChannelSoftmax(spec_, runner_.device(), {&dx}, {&y, &dy}));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      const ImageGrid grid = ImageGrid::Of(y.shape(), spec_.format);
      return runner_.ForEach(
          "channel softmax's gradient", grid.images * grid.height * grid.width,
          ChannelSoftmaxBackward<T>{grid, accumulate, ImageView<const Wide<T>>::Of(y, spec_.format),
                                    ImageView<const Wide<T>>::Of(dy, spec_.format),
                                    ImageView<T>::Of(dx, spec_.format)});
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
