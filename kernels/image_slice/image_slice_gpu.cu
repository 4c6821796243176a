#include "kernels/gpu/images.h"
#include "kernels/gpu/runner.h"
#include "kernels/image_slice/image_slice_gpu.h"
#include "kernels/image_slice/places.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename T>
struct SliceForwardBody {
  ImageGrid grid, sliced;
  SliceAxis rows, columns;
  ImageView<const T> x;
  ImageView<T> y;

  void Declare(int64_t, gpu::Accesses& accesses) {
    x.Declare(grid, accesses);
    y.Declare(sliced, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const ImageCell cell = sliced(i);
    y[cell] = x.At(cell.image, rows.From(cell.row), columns.From(cell.column), cell.channel);
  }
};

template <typename T>
struct SliceBackwardBody {
  using W = Wide<T>;
  ImageGrid grid, sliced;
  SliceAxis rows, columns;
  bool accumulate;
  ImageView<const T> dy;
  ImageView<T> dx;

  void Declare(int64_t, gpu::Accesses& accesses) {
    dy.Declare(sliced, accesses);
    dx.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const ImageCell cell = grid(i);
    const int64_t row = rows.To(cell.row), column = columns.To(cell.column);
    T& result = dx[cell];
    if (row < 0 || column < 0) {
      if (!accumulate) result = T(W(0));
      return;
    }
    const T value = dy.At(cell.image, row, column, cell.channel);
    result = accumulate ? T(W(result) + W(value)) : value;
  }
};

class SliceGpu : public ImageSlice {
 public:
  SliceGpu(const GpuRunner& runner, const ImageSliceSpec& spec) : runner_(runner), spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckSliceCall(spec_, runner_.device(), x, y));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      const ImageGrid sliced = ImageGrid::Of(y.shape(), spec_.format);
      return runner_.ForEach(
          "slice", sliced.size(),
          SliceForwardBody<T>{ImageGrid::Of(x.shape(), spec_.format), sliced, RowsOf(spec_),
                              ColumnsOf(spec_), ImageView<const T>::Of(x, spec_.format),
                              ImageView<T>::Of(y, spec_.format)});
    });
  }

  absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckSliceCall(spec_, runner_.device(), dx, dy));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      const ImageGrid grid = ImageGrid::Of(dx.shape(), spec_.format);
      return runner_.ForEach("slice's gradient", grid.size(),
                             SliceBackwardBody<T>{grid, ImageGrid::Of(dy.shape(), spec_.format),
                                                  RowsOf(spec_), ColumnsOf(spec_), accumulate,
                                                  ImageView<const T>::Of(dy, spec_.format),
                                                  ImageView<T>::Of(dx, spec_.format)});
    });
  }

 private:
  GpuRunner runner_;
  const ImageSliceSpec spec_;
};

absl::StatusOr<std::unique_ptr<ImageSlice>> CreateImageSliceGpu(DeviceContext& context,
                                                                const ImageSliceSpec& spec) {
  return std::make_unique<SliceGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
