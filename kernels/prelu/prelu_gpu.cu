#include <cmath>
#include <memory>
#include <utility>

#include "kernels/gpu/channels.h"
#include "kernels/gpu/runner.h"
#include "kernels/prelu/check.h"
#include "kernels/prelu/prelu_gpu.h"
#include "tensor/status_macros.h"

namespace dtnn {

// The gradient, or, with x for dy, the function itself; or the terms of the slopes' gradient.
template <typename T, int kVector, bool kTerms>
struct PReluBody {
  using W = Wide<T>;
  static constexpr int kLanes = kVector, kAhead = 2;
  bool planes, accumulate;
  int64_t channels;
  const W* slopes;  // null: terms
  gpu::VectorView<const T, kLanes> x, dy;
  gpu::VectorView<T, kLanes> dx;

  struct Kept {
    W slopes[kLanes];
  };
  struct Loaded {
    gpu::Vector<T, kLanes> x, dy, dx;
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    if constexpr (!kTerms) accesses.Reads(slopes, channels);
    x.Declare(grid, accesses);
    dy.Declare(grid, accesses);
    dx.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell& cell) const {
    const VectorChannels<kLanes> at(planes, cell);
    Kept kept = {};
    if constexpr (!kTerms) {
      for (int i = 0; i < kLanes; ++i) kept.slopes[i] = slopes[at.At(i)];
    }
    return kept;
  }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    Loaded loaded = {x.Load(cell), dy.Load(cell), {}};
    if (accumulate) loaded.dx = gpu::LoadVector<kLanes, T>(dx.At(cell));
    return loaded;
  }
  DTNN_HOST_DEVICE W Result(W value, W dvalue, W slope) const {
    if (std::isnan(value)) return value;
    if constexpr (kTerms) return value > 0 && !std::isnan(dvalue) ? W(0) : value * dvalue;
    return value > 0 ? dvalue : slope * dvalue;
  }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, const Loaded& loaded,
                              const Kept& kept) const {
    gpu::Vector<T, kLanes> result;
    for (int i = 0; i < kLanes; ++i) {
      const W made = Result(W(loaded.x[i]), W(loaded.dy[i]), kept.slopes[i]);
      result.Set(i, T(accumulate ? W(loaded.dx[i]) + made : made));
    }
    dx.Store(cell, result);
  }
};

class PReluGpu : public PRelu {
 public:
  PReluGpu(const GpuRunner& runner, const PReluSpec& spec, std::unique_ptr<Bias> sums)
      : runner_(runner), spec_(spec), sums_(std::move(sums)) {}

  absl::Status Forward(const Tensor& x, const Tensor& slopes, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckPRelu(spec_, runner_.device(), {&x, &y}, slopes));
    return Run</*kTerms=*/false>("prelu", x, x, y, slopes, /*accumulate=*/false);
  }

  absl::Status Backward(const Tensor& x, const Tensor& slopes, const Tensor& dy, const Tensor& dx,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckPRelu(spec_, runner_.device(), {&x, &dy, &dx}, slopes));
    return Run</*kTerms=*/false>("prelu's gradient", x, dy, dx, slopes, accumulate);
  }

  absl::Status SlopeGradient(const Tensor& x, const Tensor& dy, const Tensor& dslopes) override {
    DTNN_RETURN_IF_ERROR(CheckPRelu(spec_, runner_.device(), {&x, &dy}, dslopes));
    DTNN_RETURN_IF_ERROR(Run</*kTerms=*/true>("terms of prelu's slopes", x, dy, dy, dslopes,
                                              /*accumulate=*/false));
    return sums_->Backward(RowsOfChannels(spec_, dy), dslopes, /*accumulate=*/false);
  }

 private:
  template <bool kTerms>
  absl::Status Run(std::string_view name, const Tensor& x, const Tensor& dy, const Tensor& dx,
                   const Tensor& slopes, bool accumulate) const {
    if (x.num_elements() == 0) return absl::OkStatus();
    const Tensor seen_x = OfChannels(spec_, x), seen_dy = OfChannels(spec_, dy),
                 seen_dx = OfChannels(spec_, dx);
    const ChannelLayout layout = ChannelLayout::Of(seen_x, spec_.channels, FormatOfChannels(spec_));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return WithChannelVectors<T>(layout, {&seen_x, &seen_dy, &seen_dx}, [&]<int kLanes>() {
        return runner_.ForEachVector(
            name, layout.extents(),
            PReluBody<T, kLanes, kTerms>{
                layout.planes(), accumulate, layout.channels,
                kTerms ? nullptr : slopes.data<Wide<T>>(), layout.ViewOf<const T, kLanes>(seen_x),
                layout.ViewOf<const T, kLanes>(seen_dy), layout.ViewOf<T, kLanes>(seen_dx)});
      });
    });
  }

  GpuRunner runner_;
  PReluSpec spec_;
  std::unique_ptr<Bias> sums_;
};

std::unique_ptr<PRelu> CreatePReluGpu(DeviceContext& context, const PReluSpec& spec,
                                      std::unique_ptr<Bias> sums) {
  return std::make_unique<PReluGpu>(GpuRunner(context), spec, std::move(sums));
}

}  // namespace dtnn
