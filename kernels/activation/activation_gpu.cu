#include <cmath>

#include "kernels/activation/activation_gpu.h"
#include "kernels/elementwise/grid_gpu.h"
#include "kernels/gpu_runner.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename T>
struct ActivationForwardBody {
  using W = Wide<T>;
  ActivationKind kind;
  GridIndex index;
  GridView<const T> x;
  GridView<T> y;

  void Declare(int64_t, gpu::Accesses& accesses) {
    x.Declare(index, accesses);
    y.Declare(index, accesses);
  }
  DTNN_HOST_DEVICE W Result(W value) const {
    switch (kind) {
      case ActivationKind::kRelu:
        return value < 0 ? W(0) : value;  // a NaN stays one
      case ActivationKind::kSigmoid:
        return 1 / (1 + std::exp(-value));
      case ActivationKind::kTanh:
        return std::tanh(value);
      case ActivationKind::kLeakyRelu:
        return value > 0 ? value : value * W(kLeakySlope);
      case ActivationKind::kRelu6:
        return value < 0 ? W(0) : value > 6 ? W(6) : value;
      case ActivationKind::kArctanh:
        return std::atanh(value);
      case ActivationKind::kLog:
        return (value > 0 ? W(0) : value) - std::log1p(std::exp(-std::abs(value)));
    }
    return 0;
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const GridCell cell = index(i);
    y[cell] = T(Result(W(x[cell])));
  }
};

template <typename T>
struct ActivationBackwardBody {
  using W = Wide<T>;
  ActivationKind kind;
  bool accumulate;
  GridIndex index;
  GridView<const T> y, dy;
  GridView<T> dx;

  void Declare(int64_t, gpu::Accesses& accesses) {
    y.Declare(index, accesses);
    dy.Declare(index, accesses);
    dx.Declare(index, accesses);
  }
  DTNN_HOST_DEVICE W Gradient(W value, W dvalue) const {
    if (std::isnan(value)) return value;
    switch (kind) {
      case ActivationKind::kRelu:
        return value > 0 || std::isnan(dvalue) ? dvalue : W(0);
      case ActivationKind::kSigmoid:
        return dvalue * (value * (1 - value));
      case ActivationKind::kTanh:
        return dvalue * (1 - value * value);
      case ActivationKind::kLeakyRelu:
        return value > 0 ? dvalue : dvalue * W(kLeakySlope);
      case ActivationKind::kRelu6:
        return (value > 0 && value < 6) || std::isnan(dvalue) ? dvalue : W(0);
      case ActivationKind::kArctanh: {
        const W e = std::exp(-2 * std::abs(value));
        return dvalue * ((1 + e) * (1 + e) / (4 * e));
      }
      case ActivationKind::kLog:
        return -dvalue * std::expm1(value);
    }
    return 0;
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const GridCell cell = index(i);
    const W gradient = Gradient(W(y[cell]), W(dy[cell]));
    dx[cell] = T(accumulate ? W(dx[cell]) + gradient : gradient);
  }
};

class ActivationGpu : public Activation {
 public:
  ActivationGpu(const GpuRunner& runner, const ActivationSpec& spec)
      : runner_(runner), spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckOperands(kName, runner_.device(), spec_.dtype, {&x, &y}));
    const RowGrid grid = GridOf(spec_.format, {&x, &y});
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEach(kName, grid.size(),
                             ActivationForwardBody<T>{spec_.kind, IndexOf(grid),
                                                      ViewIn<const T>(grid, x, spec_.format),
                                                      ViewIn<T>(grid, y, spec_.format)});
    });
  }

  absl::Status Backward(const Tensor& y, const Tensor& dy, const Tensor& dx,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckOperands(kName, runner_.device(), spec_.dtype, {&y, &dy, &dx}));
    const RowGrid grid = GridOf(spec_.format, {&y, &dy, &dx});
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEach(kName, grid.size(),
                             ActivationBackwardBody<T>{spec_.kind, accumulate, IndexOf(grid),
                                                       ViewIn<const T>(grid, y, spec_.format),
                                                       ViewIn<const T>(grid, dy, spec_.format),
                                                       ViewIn<T>(grid, dx, spec_.format)});
    });
  }

 private:
  static constexpr std::string_view kName = "activation";

  GpuRunner runner_;
  ActivationSpec spec_;
};

absl::StatusOr<std::unique_ptr<Activation>> CreateActivationGpu(DeviceContext& context,
                                                                const ActivationSpec& spec) {
  return std::make_unique<ActivationGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
