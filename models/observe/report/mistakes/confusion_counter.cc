#include "models/observe/report/mistakes/confusion_counter.h"

#include <algorithm>
#include <cstdint>

#include "tensor/status_macros.h"
#include "tensor/tensor.h"

namespace dtnn {

absl::Status ConfusionCounter::OnPassBegin(const Pass& pass) {
  if (pass.kind == Pass::Kind::kValidation) confusion_ = {};
  return absl::OkStatus();
}

absl::Status ConfusionCounter::OnBatchEnd(const Pass& pass) {
  if (pass.kind != Pass::Kind::kValidation || pass.batch == nullptr) return absl::OkStatus();
  if (pass.predictions->shape().rank() == 4) {
    CountPixels(*pass.predictions, pass.batch->targets, format_, confusion_);
  } else if (pass.predictions->shape().rank() == 2) {
    Count(*pass.predictions, pass.batch->targets, confusion_);
  }
  return absl::OkStatus();
}

absl::Status ConfusionCounter::OnEpochEnd(const Pass&, const Pass* validation) {
  // Every rank has samples of a validation, so all of them know its classes.
  if (communicator_ == nullptr || validation == nullptr || confusion_.classes == 0) {
    return absl::OkStatus();
  }
  const int64_t size = int64_t(confusion_.counts.size());
  // Doubles, which all transports add up; counts are far from where these are not exact.
  DTNN_ASSIGN_OR_RETURN(const Tensor sums, Tensor::Zeros(DType::kFloat64, Shape{size}));
  std::ranges::copy(confusion_.counts, sums.data<double>());
  DTNN_RETURN_IF_ERROR(communicator_->AllReduce(sums));
  std::copy_n(sums.data<double>(), size, confusion_.counts.begin());
  return absl::OkStatus();
}

}  // namespace dtnn
