#include <algorithm>

#include "kernels/cast/cast_gpu.h"
#include "kernels/gpu/runner.h"
#include "kernels/operands/operand.h"
#include "tensor/status_macros.h"

namespace dtnn {

// y = x, by way of float32.
template <typename From, typename To, int kVector>
struct CastVectorsBody {
  static constexpr int kLanes = kVector, kAhead = 2;
  gpu::VectorView<const From, kLanes> x;
  gpu::VectorView<To, kLanes> y;

  using Kept = gpu::NothingKept;
  using Loaded = gpu::Vector<From, kLanes>;

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    x.Declare(grid, accesses);
    y.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell&) const { return {}; }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const { return x.Load(cell); }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, const Loaded& loaded,
                              const Kept&) const {
    gpu::Vector<To, kLanes> result;
    for (int i = 0; i < kLanes; ++i) result.Set(i, To(float(loaded[i])));
    y.Store(cell, result);
  }
};

class CastGpu : public Cast {
 public:
  CastGpu(const GpuRunner& runner, DType from, DType to) : runner_(runner), from_(from), to_(to) {}

  absl::Status Run(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(
        CheckOperand("cast", "x", x, runner_.device(), from_, x.shape(), Pitch::kNone));
    DTNN_RETURN_IF_ERROR(
        CheckOperand("cast", "y", y, runner_.device(), to_, x.shape(), Pitch::kNone));
    const auto run = [&]<typename From, typename To>(From, To) {
      // Vectors of one of the two types have 16 bytes.
      constexpr int kFull = std::max(gpu::kFullVector<From>, gpu::kFullVector<To>);
      const bool full = x.num_elements() % kFull == 0 &&
                        gpu::AllowsFullVectors<From>(x.raw_data(), 1, 0) &&
                        gpu::AllowsFullVectors<To>(y.raw_data(), 1, 0);
      return full ? Launch<From, To, kFull>(x, y) : Launch<From, To, 1>(x, y);
    };
    if (from_ == DType::kFloat16) return run(Float16(), float());
    if (from_ == DType::kBfloat16) return run(Bfloat16(), float());
    return to_ == DType::kFloat16 ? run(float(), Float16()) : run(float(), Bfloat16());
  }

 private:
  template <typename From, typename To, int kLanes>
  absl::Status Launch(const Tensor& x, const Tensor& y) const {
    return runner_.ForEachVector(
        "cast", gpu::VectorExtents::Flat(x.num_elements()),
        CastVectorsBody<From, To, kLanes>{gpu::VectorView<const From, kLanes>::Flat(x.data<From>()),
                                          gpu::VectorView<To, kLanes>::Flat(y.data<To>())});
  }

  GpuRunner runner_;
  DType from_, to_;
};

absl::StatusOr<std::unique_ptr<Cast>> CreateCastGpu(DeviceContext& context, DType from, DType to) {
  return std::make_unique<CastGpu>(GpuRunner(context), from, to);
}

}  // namespace dtnn
