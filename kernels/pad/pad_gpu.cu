#include "kernels/gpu/images.h"
#include "kernels/gpu/runner.h"
#include "kernels/pad/pad_gpu.h"
#include "kernels/pad/places.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename T>
struct PadForwardBody {
  ImageGrid grid, padded;
  PadAxis rows, columns;
  T value;
  ImageView<const T> x;
  ImageView<T> y;

  void Declare(int64_t, gpu::Accesses& accesses) {
    x.Declare(grid, accesses);
    y.Declare(padded, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const ImageCell cell = padded(i);
    const int64_t row = rows.From(cell.row), column = columns.From(cell.column);
    y[cell] = row < 0 || column < 0 ? value : x.At(cell.image, row, column, cell.channel);
  }
};

template <typename T>
struct PadBackwardBody {
  ImageGrid grid, padded;
  PadAxis rows, columns;
  bool accumulate;
  ImageView<const T> dy;
  ImageView<T> dx;

  void Declare(int64_t, gpu::Accesses& accesses) {
    dy.Declare(padded, accesses);
    dx.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const ImageCell cell = grid(i);
    Wide<T> sum = accumulate ? Wide<T>(dx[cell]) : Wide<T>(0);
    for (int j = 0; j < PadAxis::kRanges; ++j) {
      const PadRange of_rows = rows.To(cell.row, j);
      for (int64_t row = of_rows.begin; row < of_rows.end; ++row) {
        for (int k = 0; k < PadAxis::kRanges; ++k) {
          const PadRange of_columns = columns.To(cell.column, k);
          for (int64_t column = of_columns.begin; column < of_columns.end; ++column) {
            sum += Wide<T>(dy.At(cell.image, row, column, cell.channel));
          }
        }
      }
    }
    dx[cell] = T(sum);
  }
};

class PadGpu : public Pad {
 public:
  PadGpu(const GpuRunner& runner, const PadSpec& spec) : runner_(runner), spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckPadCall(spec_, runner_.device(), x, y));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      const ImageGrid padded = ImageGrid::Of(y.shape(), spec_.format);
      return runner_.ForEach("pad", padded.size(),
                             PadForwardBody<T>{ImageGrid::Of(x.shape(), spec_.format), padded,
                                               RowsOf(spec_), ColumnsOf(spec_), T(spec_.value),
                                               ImageView<const T>::Of(x, spec_.format),
                                               ImageView<T>::Of(y, spec_.format)});
    });
  }

  absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckPadCall(spec_, runner_.device(), dx, dy));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      const ImageGrid grid = ImageGrid::Of(dx.shape(), spec_.format);
      return runner_.ForEach(
          "pad's gradient", grid.size(),
          PadBackwardBody<T>{grid, ImageGrid::Of(dy.shape(), spec_.format), RowsOf(spec_),
                             ColumnsOf(spec_), accumulate, ImageView<const T>::Of(dy, spec_.format),
                             ImageView<T>::Of(dx, spec_.format)});
    });
  }

 private:
  GpuRunner runner_;
  const PadSpec spec_;
};

absl::StatusOr<std::unique_ptr<Pad>> CreatePadGpu(DeviceContext& context, const PadSpec& spec) {
  return std::make_unique<PadGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
