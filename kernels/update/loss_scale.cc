#include "kernels/update/loss_scale.h"

#include "kernels/elementwise/operands.h"
#include "kernels/transfers/transfers.h"
#include "kernels/update/loss_scale_gpu.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

template <typename T>
absl::StatusOr<T> ReadOne(DeviceContext& context, const Tensor& tensor) {
  DTNN_ASSIGN_OR_RETURN(const Tensor host, ToHost(context, tensor));
  return *host.data<T>();
}

template <typename T>
absl::Status WriteOne(DeviceContext& context, const Tensor& tensor, T value) {
  DTNN_ASSIGN_OR_RETURN(const Tensor host, Tensor::Zeros(tensor.dtype(), tensor.shape()));
  *host.data<T>() = value;
  return context.Copy(host, tensor);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LossScale>> LossScale::Create(DeviceContext& context) {
  if (context.device().is_cpu()) return NoKernelFor("loss scaling", context.device());
  std::unique_ptr<LossScale> scale = CreateLossScaleGpu(context);
  const auto one = [&](DType dtype) { return Tensor::Allocate(context.device(), dtype, Shape{1}); };
  DTNN_ASSIGN_OR_RETURN(scale->scale_, one(DType::kFloat32));
  DTNN_ASSIGN_OR_RETURN(scale->good_steps_, one(DType::kInt64));
  DTNN_ASSIGN_OR_RETURN(scale->gates_.closed, one(DType::kInt32));
  DTNN_ASSIGN_OR_RETURN(scale->gates_.factor, one(DType::kFloat64));
  DTNN_ASSIGN_OR_RETURN(scale->gates_.skipped, one(DType::kInt64));
  DTNN_RETURN_IF_ERROR(scale->Write(State()));
  return scale;
}

absl::StatusOr<LossScale::State> LossScale::Read() {
  State state;
  DTNN_ASSIGN_OR_RETURN(state.scale, ReadOne<float>(*context_, scale_));
  DTNN_ASSIGN_OR_RETURN(state.good_steps, ReadOne<int64_t>(*context_, good_steps_));
  DTNN_ASSIGN_OR_RETURN(state.skipped_steps, ReadOne<int64_t>(*context_, gates_.skipped));
  return state;
}

absl::Status LossScale::Write(const State& state) {
  if (!state.possible()) {
    return InvalidArgument("loss scale: ", state.scale, " after ", state.good_steps, " good and ",
                           state.skipped_steps, " skipped steps, expected a power of two from ",
                           State::kLeast, " to ", State::kMost, ", less than ", State::kGoodSteps,
                           " good steps and counts that are not negative");
  }
  DTNN_RETURN_IF_ERROR(WriteOne(*context_, scale_, state.scale));
  DTNN_RETURN_IF_ERROR(WriteOne(*context_, good_steps_, state.good_steps));
  DTNN_RETURN_IF_ERROR(WriteOne(*context_, gates_.skipped, state.skipped_steps));
  DTNN_RETURN_IF_ERROR(WriteOne(*context_, gates_.closed, int32_t{0}));
  DTNN_RETURN_IF_ERROR(WriteOne(*context_, gates_.factor, 1.0 / double(state.scale)));
  return context_->Synchronize();
}

}  // namespace dtnn
