#include "kernels/channel_pick/channel_pick_gpu.h"
#include "kernels/channel_pick/deal.h"
#include "kernels/elementwise/operands.h"
#include "kernels/gpu/images.h"
#include "kernels/gpu/runner.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename T>
struct ChannelPickBody {
  using W = Wide<T>;
  bool accumulate;
  ChannelDeal deal;
  ImageGrid in, out;
  ImageView<const T> from;
  ImageView<T> to;

  void Declare(int64_t, gpu::Accesses& accesses) {
    from.Declare(in, accesses);
    to.Declare(out, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const ImageCell cell = out(i);
    const int64_t source = deal.SourceOf(cell.channel);
    T& result = to[cell];
    if (source < 0) {
      if (!accumulate) result = T(W(0));
      return;
    }
    const T value = from.At(cell.image, cell.row, cell.column, source);
    result = accumulate ? T(W(result) + W(value)) : value;
  }
};

class ChannelPickGpu : public ChannelPick {
 public:
  ChannelPickGpu(const GpuRunner& runner, const ChannelPickSpec& spec)
      : runner_(runner), spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckPickedImages(spec_, runner_.device(), "x", x, "y", y));
    return Run("channel pick", ChannelDeal::Forward(spec_), x, y, /*accumulate=*/false);
  }
  absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckPickedImages(spec_, runner_.device(), "dx", dx, "dy", dy));
    return Run("channel pick's gradient", ChannelDeal::Backward(spec_), dy, dx, accumulate);
  }

 private:
  absl::Status Run(std::string_view name, const ChannelDeal& deal, const Tensor& from,
                   const Tensor& to, bool accumulate) const {
    const ImageGrid out = ImageGrid::Of(to.shape(), spec_.format);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEach(
          name, out.size(),
          ChannelPickBody<T>{accumulate, deal, ImageGrid::Of(from.shape(), spec_.format), out,
                             ImageView<const T>::Of(from, spec_.format),
                             ImageView<T>::Of(to, spec_.format)});
    });
  }

  GpuRunner runner_;
  const ChannelPickSpec spec_;
};

absl::StatusOr<std::unique_ptr<ChannelPick>> CreateChannelPickGpu(DeviceContext& context,
                                                                  const ChannelPickSpec& spec) {
  return std::make_unique<ChannelPickGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
