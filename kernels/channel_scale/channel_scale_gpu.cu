#include "kernels/channel_scale/channel_scale_gpu.h"
#include "kernels/channel_scale/check.h"
#include "kernels/elementwise/operands.h"
#include "kernels/gpu/images.h"
#include "kernels/gpu/runner.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename T>
struct MultiplyBody {
  ImageGrid grid;
  bool accumulate;
  ImageView<const T> x, factors;
  ImageView<T> y;

  void Declare(int64_t, gpu::Accesses& accesses) {
    x.Declare(grid, accesses);
    factors.Declare({grid.images, 1, 1, grid.channels, grid.channels_last}, accesses);
    y.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const ImageCell cell = grid(i);
    const Wide<T> product = Wide<T>(x[cell]) * Wide<T>(factors.At(cell.image, 0, 0, cell.channel));
    y[cell] = T(accumulate ? Wide<T>(y[cell]) + product : product);
  }
};

template <typename T>
struct ReduceBody {
  ImageGrid grid;
  bool accumulate;
  ImageView<const T> x, dy;
  ImageView<T> ds;

  void Declare(int64_t, gpu::Accesses& accesses) {
    x.Declare(grid, accesses);
    dy.Declare(grid, accesses);
    ds.Declare({grid.images, 1, 1, grid.channels, grid.channels_last}, accesses);
  }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t row, Group group) const {
    ImageCell cell = {row / grid.channels, 0, 0, row % grid.channels};
    Wide<T> sum = 0;
    for (int64_t i = group.lane(); i < grid.height * grid.width; i += group.size()) {
      cell.row = i / grid.width;
      cell.column = i % grid.width;
      sum += Wide<T>(x[cell]) * Wide<T>(dy[cell]);
    }
    sum = group.Sum(sum);
    if (group.lane() != 0) return;
    T& result = ds.At(cell.image, 0, 0, cell.channel);
    result = T(accumulate ? Wide<T>(result) + sum : sum);
  }
};

class ChannelScaleGpu : public ChannelScale {
 public:
  ChannelScaleGpu(const GpuRunner& runner, const ChannelScaleSpec& spec)
      : runner_(runner), spec_(spec) {}

  absl::Status Multiply(const Tensor& x, const Tensor& s, const Tensor& y,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckChannelScale(spec_, runner_.device(), x, y, s));
    const ImageGrid grid = ImageGrid::Of(x.shape(), spec_.format);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEach(
          "channel scale", grid.size(),
          MultiplyBody<T>{grid, accumulate, ImageView<const T>::Of(x, spec_.format),
                          ImageView<const T>::Of(s, spec_.format),
                          ImageView<T>::Of(y, spec_.format)});
    });
  }

  absl::Status Reduce(const Tensor& x, const Tensor& dy, const Tensor& ds,
                      bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckChannelScale(spec_, runner_.device(), x, dy, ds));
    const ImageGrid grid = ImageGrid::Of(x.shape(), spec_.format);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEachRow(
          "channel scale's gradient", grid.images * grid.channels,
          ReduceBody<T>{grid, accumulate, ImageView<const T>::Of(x, spec_.format),
                        ImageView<const T>::Of(dy, spec_.format),
                        ImageView<T>::Of(ds, spec_.format)});
    });
  }

 private:
  GpuRunner runner_;
  ChannelScaleSpec spec_;
};

absl::StatusOr<std::unique_ptr<ChannelScale>> CreateChannelScaleGpu(DeviceContext& context,
                                                                    const ChannelScaleSpec& spec) {
  return std::make_unique<ChannelScaleGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
