#include <memory>

#include "kernels/bias/bias_gpu.h"
#include "kernels/bias/check.h"
#include "kernels/gpu/channels.h"
#include "kernels/gpu/runner.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename T, int kVector>
struct BiasForwardBody {
  using W = Wide<T>;
  static constexpr int kLanes = kVector, kAhead = 4;
  bool planes;
  int64_t channels;
  const W* bias;
  gpu::VectorView<const T, kLanes> x;
  gpu::VectorView<T, kLanes> y;

  struct Kept {
    W bias[kLanes];
  };
  using Loaded = gpu::Vector<T, kLanes>;

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    accesses.Reads(bias, channels);
    x.Declare(grid, accesses);
    y.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell& cell) const {
    const VectorChannels<kLanes> at(planes, cell);
    Kept kept;
    for (int i = 0; i < kLanes; ++i) kept.bias[i] = bias[at.At(i)];
    return kept;
  }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const { return x.Load(cell); }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, const Loaded& loaded,
                              const Kept& kept) const {
    gpu::Vector<T, kLanes> result;
    for (int i = 0; i < kLanes; ++i) result.Set(i, T(W(loaded[i]) + kept.bias[i]));
    y.Store(cell, result);
  }
};

template <typename T, int kVector>
struct BiasSumBody {
  static constexpr int kLanes = kVector, kAhead = 4, kSums = 1;
  using Sum = Wide<T>;
  gpu::VectorView<const T, kLanes> dy;

  using Kept = gpu::NothingKept;
  using Loaded = gpu::Vector<T, kLanes>;

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) { dy.Declare(grid, accesses); }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell&) const { return {}; }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const { return dy.Load(cell); }
  DTNN_HOST_DEVICE void Add(const gpu::VectorCell&, const Loaded& loaded, const Kept&,
                            Sum (&sums)[kSums][kLanes]) const {
    for (int i = 0; i < kLanes; ++i) sums[0][i] += Sum(loaded[i]);
  }
};

template <typename W>
struct BiasFinish {
  bool accumulate;
  W* dbias;

  void Declare(int64_t channels, gpu::Accesses& accesses) { accesses.Writes(dbias, channels); }
  DTNN_HOST_DEVICE void operator()(int64_t channel, const double (&sums)[1]) const {
    dbias[channel] = W(accumulate ? double(dbias[channel]) + sums[0] : sums[0]);
  }
};

class BiasGpu : public Bias {
 public:
  BiasGpu(const GpuRunner& runner, const BiasSpec& spec) : runner_(runner), spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& bias, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckBias(spec_, runner_.device(), x, bias, y));
    const ChannelLayout layout = ChannelLayout::Of(x, spec_.channels, spec_.format);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return WithChannelVectors<T>(layout, {&x, &y}, [&]<int kLanes>() {
        return runner_.ForEachVector(
            "bias", layout.extents(),
            BiasForwardBody<T, kLanes>{layout.planes(), layout.channels, bias.data<Wide<T>>(),
                                       layout.ViewOf<const T, kLanes>(x),
                                       layout.ViewOf<T, kLanes>(y)});
      });
    });
  }

  absl::Status Backward(const Tensor& dy, const Tensor& dbias, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckBias(spec_, runner_.device(), dy, dbias, dy));
    const ChannelLayout layout = ChannelLayout::Of(dy, spec_.channels, spec_.format);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      DTNN_RETURN_IF_ERROR(Reserve<T>(layout));
      return WithChannelVectors<T>(layout, {&dy}, [&]<int kLanes>() {
        return runner_.ReduceChannels("bias gradient", layout.extents(),
                                      BiasSumBody<T, kLanes>{layout.ViewOf<const T, kLanes>(dy)},
                                      sums_.data<double>(), arrived_,
                                      BiasFinish<Wide<T>>{accumulate, dbias.data<Wide<T>>()});
      });
    });
  }

 private:
  // Memory for the sums of any batch: captured work continues to use it.
  template <typename T>
  absl::Status Reserve(const ChannelLayout& layout) {
    if (!sums_.empty()) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(arrived_, runner_.MakeArrived());
    gpu::VectorExtents largest = layout.extents();
    largest.rows = gpu::VectorGrid::MostRows(largest);
    DTNN_ASSIGN_OR_RETURN(
        sums_,
        Tensor::Allocate(runner_.device(), DType::kFloat64,
                         Shape{gpu::ReducedParts::MostDoubles(largest, 1, gpu::kFullVector<T>)}));
    return absl::OkStatus();
  }

  GpuRunner runner_;
  BiasSpec spec_;
  // From the first gradient on: of the parts of every channel, and the blocks that have come.
  Tensor sums_, arrived_;
};

absl::StatusOr<std::unique_ptr<Bias>> CreateBiasGpu(DeviceContext& context, const BiasSpec& spec) {
  return std::make_unique<BiasGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
