#include "kernels/concat/concat_gpu.h"
#include "kernels/concat/moves.h"
#include "kernels/gpu/runner.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename T, int kVector>
struct ConcatMoveBody {
  static constexpr int kLanes = kVector, kAhead = 2;
  bool add;
  gpu::VectorView<const T, kLanes> from;
  gpu::VectorView<T, kLanes> to;

  using Kept = gpu::NothingKept;
  struct Loaded {
    gpu::Vector<T, kLanes> from, to;
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    from.Declare(grid, accesses);
    to.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell&) const { return {}; }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    Loaded loaded = {from.Load(cell), {}};
    if (add) loaded.to = gpu::LoadVector<kLanes, T>(to.At(cell));
    return loaded;
  }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, Loaded loaded, const Kept&) const {
    for (int i = 0; add && i < kLanes; ++i) {
      loaded.from.Set(i, T(Wide<T>(loaded.to[i]) + Wide<T>(loaded.from[i])));
    }
    to.Store(cell, loaded.from);
  }
};

class ConcatGpu : public Concat {
 public:
  ConcatGpu(const GpuRunner& runner, const ConcatSpec& spec) : runner_(runner), spec_(spec) {}

  absl::Status Forward(std::span<const Tensor> inputs, const Tensor& y) override {
    for (const Tensor& x : inputs) {
      DTNN_RETURN_IF_ERROR(CheckOperands("concat", runner_.device(), spec_.dtype, {&x}));
    }
    DTNN_ASSIGN_OR_RETURN(const ConcatMoves moves,
                          ConcatMoves::Of(spec_, runner_.device(), y, inputs));
    absl::Status status;
    moves.ForEachPart([&](const ConcatPart& part) {
      if (!part.IsWhereItBelongs()) status.Update(Move(part, part.part, part.whole, false));
    });
    return status;
  }

  absl::Status Backward(const Tensor& dy, std::span<const Tensor> dx,
                        std::span<const bool> accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckAccumulateFlags(dx.size(), accumulate.size()));
    DTNN_ASSIGN_OR_RETURN(const ConcatMoves moves,
                          ConcatMoves::Of(spec_, runner_.device(), dy, dx));
    absl::Status status;
    moves.ForEachPart([&](const ConcatPart& part) {
      const bool add = accumulate[part.index];
      if (add || !part.IsWhereItBelongs()) status.Update(Move(part, part.whole, part.part, add));
    });
    return status;
  }

 private:
  absl::Status Move(const ConcatPart& part, const Operand& from, const Operand& to, bool add) {
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      const bool full = part.columns % gpu::kFullVector<T> == 0 &&
                        gpu::AllowsFullVectors<T>(from.data, part.rows, from.pitch) &&
                        gpu::AllowsFullVectors<T>(to.data, part.rows, to.pitch);
      return full ? Launch<T, gpu::kFullVector<T>>(part, from, to, add)
                  : Launch<T, 1>(part, from, to, add);
    });
  }
  template <typename T, int kLanes>
  absl::Status Launch(const ConcatPart& part, const Operand& from, const Operand& to, bool add) {
    return runner_.ForEachVector(
        "concat", gpu::VectorExtents::Rows(part.rows, part.columns),
        ConcatMoveBody<T, kLanes>{add,
                                  {static_cast<const T*>(from.data), from.pitch},
                                  {static_cast<T*>(to.data), to.pitch}});
  }

  GpuRunner runner_;
  ConcatSpec spec_;
};

absl::StatusOr<std::unique_ptr<Concat>> CreateConcatGpu(DeviceContext& context,
                                                        const ConcatSpec& spec) {
  return std::make_unique<ConcatGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
