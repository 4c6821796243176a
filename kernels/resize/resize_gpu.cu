#include <cstring>
#include <utility>

#include "kernels/elementwise/operands.h"
#include "kernels/gpu/images.h"
#include "kernels/gpu/runner.h"
#include "kernels/resize/resize_gpu.h"
#include "kernels/resize/taps.h"
#include "kernels/transfers/transfers.h"
#include "tensor/status_macros.h"

namespace dtnn {

// An axis on the device.
template <typename W>
struct TapsView {
  const resize::Taps* taps;
  const W* factors;
  int64_t to, number_of_factors;

  void Declare(gpu::Accesses& accesses) {
    accesses.Reads(taps, to);
    accesses.Reads(factors, number_of_factors);
  }
};

template <typename T>
struct ResizeBody {
  using W = Wide<T>;
  bool accumulate;
  TapsView<W> rows, columns;
  ImageGrid in, out;
  ImageView<const T> from;
  ImageView<T> to;

  void Declare(int64_t, gpu::Accesses& accesses) {
    rows.Declare(accesses);
    columns.Declare(accesses);
    from.Declare(in, accesses);
    to.Declare(out, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const ImageCell cell = out(i);
    const resize::Taps row = rows.taps[cell.row], column = columns.taps[cell.column];
    W sum = 0;
    for (int64_t a = 0; a < row.count; ++a) {
      W of_row = 0;
      for (int64_t b = 0; b < column.count; ++b) {
        of_row += W(from.At(cell.image, row.first + a, column.first + b, cell.channel)) *
                  columns.factors[column.factor + b];
      }
      sum += of_row * rows.factors[row.factor + a];
    }
    T& result = to[cell];
    result = T(accumulate ? W(result) + sum : sum);
  }
};

class ResizeGpu : public Resize {
 public:
  static absl::StatusOr<std::unique_ptr<Resize>> Create(DeviceContext& context,
                                                        const ResizeSpec& spec) {
    auto resize = std::unique_ptr<ResizeGpu>(new ResizeGpu(context, spec));
    DTNN_ASSIGN_OR_RETURN(resize->forward_,
                          Upload(context, spec.dtype, resize::Pass::Forward(spec)));
    DTNN_ASSIGN_OR_RETURN(resize->backward_,
                          Upload(context, spec.dtype, resize::Pass::Backward(spec)));
    return resize;
  }

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(resize::CheckImages(spec_, runner_.device(), "x", x, "y", y));
    return Run("resize", forward_, x, y, /*accumulate=*/false);
  }
  absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(resize::CheckImages(spec_, runner_.device(), "dx", dx, "dy", dy));
    return Run("resize's gradient", backward_, dy, dx, accumulate);
  }

 private:
  struct UploadedAxis {
    Tensor taps, factors;  // the first as int64
    int64_t to = 0;
  };
  struct UploadedPass {
    UploadedAxis rows, columns;
  };

  ResizeGpu(DeviceContext& context, const ResizeSpec& spec) : runner_(context), spec_(spec) {}

  static absl::StatusOr<UploadedAxis> Upload(DeviceContext& context, DType dtype,
                                             const resize::Axis& axis) {
    static_assert(sizeof(resize::Taps) == 3 * sizeof(int64_t));
    UploadedAxis uploaded;
    uploaded.to = axis.to();
    DTNN_ASSIGN_OR_RETURN(const Tensor taps,
                          Tensor::Allocate(Device::Cpu(), DType::kInt64, Shape{3 * axis.to()}));
    std::memcpy(taps.raw_data(), axis.taps.data(), axis.taps.size() * sizeof(resize::Taps));
    const DType wide = WideOf(dtype);
    DTNN_ASSIGN_OR_RETURN(
        const Tensor factors,
        Tensor::Allocate(Device::Cpu(), wide, Shape{int64_t(axis.factors.size())}));
    std::memcpy(factors.raw_data(),
                wide == DType::kFloat64 ? static_cast<const void*>(axis.factors.data())
                                        : axis.short_factors.data(),
                axis.factors.size() * SizeOf(wide));
    DTNN_ASSIGN_OR_RETURN(uploaded.taps, ToDevice(context, taps));
    DTNN_ASSIGN_OR_RETURN(uploaded.factors, ToDevice(context, factors));
    return uploaded;
  }
  static absl::StatusOr<UploadedPass> Upload(DeviceContext& context, DType dtype,
                                             const resize::Pass& pass) {
    UploadedPass uploaded;
    DTNN_ASSIGN_OR_RETURN(uploaded.rows, Upload(context, dtype, pass.rows));
    DTNN_ASSIGN_OR_RETURN(uploaded.columns, Upload(context, dtype, pass.columns));
    return uploaded;
  }
  template <typename W>
  static TapsView<W> ViewOf(const UploadedAxis& axis) {
    return {reinterpret_cast<const resize::Taps*>(axis.taps.raw_data()), axis.factors.data<W>(),
            axis.to, axis.factors.num_elements()};
  }

  absl::Status Run(std::string_view name, const UploadedPass& pass, const Tensor& from,
                   const Tensor& to, bool accumulate) const {
    const ImageGrid out = ImageGrid::Of(to.shape(), spec_.format);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEach(
          name, out.size(),
          ResizeBody<T>{accumulate, ViewOf<Wide<T>>(pass.rows), ViewOf<Wide<T>>(pass.columns),
                        ImageGrid::Of(from.shape(), spec_.format), out,
                        ImageView<const T>::Of(from, spec_.format),
                        ImageView<T>::Of(to, spec_.format)});
    });
  }

  GpuRunner runner_;
  const ResizeSpec spec_;
  UploadedPass forward_, backward_;
};

absl::StatusOr<std::unique_ptr<Resize>> CreateResizeGpu(DeviceContext& context,
                                                        const ResizeSpec& spec) {
  return ResizeGpu::Create(context, spec);
}

}  // namespace dtnn
