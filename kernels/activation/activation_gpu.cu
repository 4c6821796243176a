#include <cmath>
#include <initializer_list>

#include "kernels/activation/activation_gpu.h"
#include "kernels/elementwise/grid_gpu.h"
#include "kernels/gpu/runner.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename W>
DTNN_HOST_DEVICE W HardSigmoid(W x) {
  return x < -3 ? W(0) : x > 3 ? W(1) : (x + 3) / 6;
}
template <typename W>
DTNN_HOST_DEVICE W NormalDistribution(W x) {
  return W(0.5) * std::erfc(x * W(-0.7071067811865476));
}

template <typename W>
DTNN_HOST_DEVICE W Softplus(W x) {
  return (x < 0 ? W(0) : x) + std::log1p(std::exp(-std::abs(x)));
}

template <typename T, int kVector>
struct ActivationForwardBody {
  using W = Wide<T>;
  static constexpr int kLanes = kVector, kAhead = 4;
  ActivationKind kind;
  ActivationNumbers numbers;
  gpu::VectorView<const T, kLanes> x;
  gpu::VectorView<T, kLanes> y;

  using Kept = gpu::NothingKept;
  using Loaded = gpu::Vector<T, kLanes>;

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    x.Declare(grid, accesses);
    y.Declare(grid, accesses);
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
        return value > 0 ? value : value * W(numbers.slope);
      case ActivationKind::kRelu6:
        return value < 0 ? W(0) : value > 6 ? W(6) : value;
      case ActivationKind::kArctanh:
        return std::atanh(value);
      case ActivationKind::kLog:
        return (value > 0 ? W(0) : value) - std::log1p(std::exp(-std::abs(value)));
      case ActivationKind::kHardSigmoid:
        return HardSigmoid(value);
      case ActivationKind::kSilu:
        return value / (1 + std::exp(-value));
      case ActivationKind::kGelu:
        return value * NormalDistribution(value);
      case ActivationKind::kHardSwish:
        return value * HardSigmoid(value);
      case ActivationKind::kElu:
        return value > 0 ? value : W(numbers.alpha) * std::expm1(value);
      case ActivationKind::kClip:
        return value < W(numbers.low)    ? W(numbers.low)
               : value > W(numbers.high) ? W(numbers.high)
                                         : value;
      case ActivationKind::kSoftplus:
        return Softplus(value);
      case ActivationKind::kMish:
        return value * std::tanh(Softplus(value));
    }
    return 0;
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell&) const { return {}; }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const { return x.Load(cell); }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, const Loaded& loaded,
                              const Kept&) const {
    gpu::Vector<T, kLanes> result;
    for (int i = 0; i < kLanes; ++i) result.Set(i, T(Result(W(loaded[i]))));
    y.Store(cell, result);
  }
};

template <typename T, int kVector>
struct ActivationBackwardBody {
  using W = Wide<T>;
  static constexpr int kLanes = kVector;
  static constexpr int kAhead = sizeof(T) < 8 ? 2 : 1;  // two of float64 would spill
  ActivationKind kind;
  ActivationNumbers numbers;
  bool accumulate;
  gpu::VectorView<const T, kLanes> point, dy;
  gpu::VectorView<T, kLanes> dx;

  using Kept = gpu::NothingKept;
  struct Loaded {
    gpu::Vector<T, kLanes> point, dy, dx;
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    point.Declare(grid, accesses);
    dy.Declare(grid, accesses);
    dx.Declare(grid, accesses);
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
        return value > 0 ? dvalue : dvalue * W(numbers.slope);
      case ActivationKind::kRelu6:
        return (value > 0 && value < 6) || std::isnan(dvalue) ? dvalue : W(0);
      case ActivationKind::kArctanh: {
        const W e = std::exp(-2 * std::abs(value));
        return dvalue * ((1 + e) * (1 + e) / (4 * e));
      }
      case ActivationKind::kLog:
        return -dvalue * std::expm1(value);
      case ActivationKind::kHardSigmoid:
        return (value > 0 && value < 1) || std::isnan(dvalue) ? dvalue * W(1.0 / 6) : W(0);
      case ActivationKind::kSilu: {
        const W s = 1 / (1 + std::exp(-value)), rest = 1 / (1 + std::exp(value));
        return dvalue * (s * (1 + value * rest));
      }
      case ActivationKind::kGelu: {
        const W density = std::exp(W(-0.5) * value * value) * W(0.3989422804014327);
        return dvalue * (NormalDistribution(value) + value * density);
      }
      case ActivationKind::kHardSwish:
        return dvalue * (value <= -3 ? W(0) : value >= 3 ? W(1) : (2 * value + 3) * W(1.0 / 6));
      case ActivationKind::kElu:
        return value > 0 ? dvalue : dvalue * (value + W(numbers.alpha));
      case ActivationKind::kClip: {
        const bool inside = value > W(numbers.low) && value < W(numbers.high);
        return inside || std::isnan(dvalue) ? dvalue : W(0);
      }
      case ActivationKind::kSoftplus:
        return -dvalue * std::expm1(-value);
      case ActivationKind::kMish: {
        // 1 - t^2 as a quotient: the difference has no digits left where t is almost 1.
        const W e = std::exp(-std::abs(value)), above = 1 + 2 * e;
        const W w = value > 0 ? above + 2 * e * e : e * (e + 2) + 2;
        const W t = (value > 0 ? above : e * (e + 2)) / w;
        const W slope = 4 * (e + e * e) / (w * w) * (value > 0 ? e : W(1));
        return dvalue * (t + value * slope);
      }
    }
    return 0;
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell&) const { return {}; }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    Loaded loaded = {point.Load(cell), dy.Load(cell), {}};
    if (accumulate) loaded.dx = gpu::LoadVector<kLanes, T>(dx.At(cell));
    return loaded;
  }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, const Loaded& loaded,
                              const Kept&) const {
    gpu::Vector<T, kLanes> result;
    for (int i = 0; i < kLanes; ++i) {
      const W gradient = Gradient(W(loaded.point[i]), W(loaded.dy[i]));
      result.Set(i, T(accumulate ? W(loaded.dx[i]) + gradient : gradient));
    }
    dx.Store(cell, result);
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
      return WithGridVectors<T>(grid, spec_.format, Tensors{&x, &y}, [&]<int kLanes>() {
        return runner_.ForEachVector(
            kName, ExtentsOf(grid),
            ActivationForwardBody<T, kLanes>{spec_.kind, spec_.numbers,
                                             VectorsIn<const T, kLanes>(grid, x, spec_.format),
                                             VectorsIn<T, kLanes>(grid, y, spec_.format)});
      });
    });
  }

  absl::Status Backward(const Tensor& point, const Tensor& dy, const Tensor& dx,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckOperands(kName, runner_.device(), spec_.dtype, {&point, &dy, &dx}));
    const RowGrid grid = GridOf(spec_.format, {&point, &dy, &dx});
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return WithGridVectors<T>(grid, spec_.format, Tensors{&point, &dy, &dx}, [&]<int kLanes>() {
        return runner_.ForEachVector(
            kName, ExtentsOf(grid),
            ActivationBackwardBody<T, kLanes>{spec_.kind, spec_.numbers, accumulate,
                                              VectorsIn<const T, kLanes>(grid, point, spec_.format),
                                              VectorsIn<const T, kLanes>(grid, dy, spec_.format),
                                              VectorsIn<T, kLanes>(grid, dx, spec_.format)});
      });
    });
  }

 private:
  static constexpr std::string_view kName = "activation";
  using Tensors = std::initializer_list<const Tensor*>;

  GpuRunner runner_;
  ActivationSpec spec_;
};

absl::StatusOr<std::unique_ptr<Activation>> CreateActivationGpu(DeviceContext& context,
                                                                const ActivationSpec& spec) {
  return std::make_unique<ActivationGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
