#include "kernels/update/gate.h"

#include <utility>

#include "kernels/elementwise/operands.h"
#include "kernels/operands/operand.h"
#include "kernels/update/gate_bodies.h"
#include "kernels/update/gate_gpu.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// One lane instead of a warp.
struct OneLane {
  int64_t lane() const { return 0; }
  int64_t size() const { return 1; }
  template <typename T>
  T Max(T x) const {
    return x;
  }
};

class UpdateGateCpu : public UpdateGate {
 public:
  UpdateGateCpu(DeviceContext& context, DType dtype, double limit)
      : UpdateGate(context, dtype, limit) {}

  absl::Status Watch(const Tensor& losses) override {
    DTNN_RETURN_IF_ERROR(CheckWatch(losses));
    DispatchFloating(dtype_, [&]<typename T>(T) {
      WatchBody<T>{losses.data<T>(), losses.num_elements(), gates_.closed.data<int32_t>()}(
          0, OneLane());
    });
    return absl::OkStatus();
  }
  absl::Status Clip(const Tensor& squares) override {
    DTNN_RETURN_IF_ERROR(CheckClip(squares));
    ClipBody{squares.data<double>(), scale_.tensor().data<double>(), limit_, norm_.data<double>(),
             gates_.factor.data<double>()}(0);
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<UpdateGate>> UpdateGate::Create(DeviceContext& context, DType dtype,
                                                               double limit) {
  DTNN_RETURN_IF_ERROR(CheckFloating("gate of updates", dtype));
  if (!(limit >= 0)) {
    return InvalidArgument("gate of updates: the limit of the norm is ", limit,
                           ", expected at least 0");
  }
  std::unique_ptr<UpdateGate> gate = context.device().is_cpu()
                                         ? std::make_unique<UpdateGateCpu>(context, dtype, limit)
                                         : CreateUpdateGateGpu(context, dtype, limit);
  const auto one = [&](DType type) -> absl::StatusOr<Tensor> {
    DTNN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(context.device(), type, Shape{1}));
    DTNN_RETURN_IF_ERROR(context.FillZero(tensor));
    return tensor;
  };
  DTNN_ASSIGN_OR_RETURN(gate->gates_.closed, one(DType::kInt32));
  if (limit == 0) return gate;
  DTNN_ASSIGN_OR_RETURN(gate->gates_.factor, one(DType::kFloat64));
  DTNN_ASSIGN_OR_RETURN(gate->norm_, one(DType::kFloat64));
  DTNN_ASSIGN_OR_RETURN(gate->scale_, DeviceNumbers::Create(context, DType::kFloat64, 1));
  return gate;
}

absl::Status UpdateGate::CheckWatch(const Tensor& losses) const {
  return CheckOperand("gate of updates", "the losses", losses, context_->device(), dtype_,
                      losses.shape(), Pitch::kNone);
}

absl::Status UpdateGate::CheckClip(const Tensor& squares) const {
  if (limit_ == 0) return FailedPrecondition("gate of updates: clipping without a limit");
  return CheckOperand("gate of updates", "the sum of squares", squares, context_->device(),
                      DType::kFloat64, Shape{1}, Pitch::kNone);
}

}  // namespace dtnn
