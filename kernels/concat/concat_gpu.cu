#include "kernels/concat/concat_gpu.h"
#include "kernels/concat/moves.h"
#include "kernels/elementwise/grid_gpu.h"
#include "kernels/gpu_runner.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename T>
struct ConcatMoveBody {
  bool add;
  GridIndex index;
  GridView<const T> from;
  GridView<T> to;

  void Declare(int64_t, gpu::Accesses& accesses) {
    from.Declare(index, accesses);
    to.Declare(index, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const GridCell cell = index(i);
    to[cell] = add ? T(Wide<T>(to[cell]) + Wide<T>(from[cell])) : from[cell];
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
      return runner_.ForEach("concat", part.rows * part.columns,
                             ConcatMoveBody<T>{add,
                                               {part.rows, part.columns},
                                               {static_cast<const T*>(from.data), from.pitch},
                                               {static_cast<T*>(to.data), to.pitch}});
    });
  }

  GpuRunner runner_;
  ConcatSpec spec_;
};

absl::StatusOr<std::unique_ptr<Concat>> CreateConcatGpu(DeviceContext& context,
                                                        const ConcatSpec& spec) {
  return std::make_unique<ConcatGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
