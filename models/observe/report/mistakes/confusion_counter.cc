#include "models/observe/report/mistakes/confusion_counter.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "comm/gather_values.h"
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
  if (communicator_ == nullptr || validation == nullptr) return absl::OkStatus();
  // A rank with data of its own may have no samples of a validation, and does not know its classes.
  const int64_t mine[] = {confusion_.classes, confusion_.pixels};
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all,
                        GatherValues<int64_t>(*communicator_, mine));
  for (size_t rank = 0; rank < all.size() / 2 && confusion_.classes == 0; ++rank) {
    confusion_ = {.pixels = all[2 * rank + 1] != 0, .classes = all[2 * rank]};
    confusion_.counts.assign(size_t(confusion_.classes * confusion_.classes), 0);
  }
  if (confusion_.classes == 0) return absl::OkStatus();
  const int64_t size = int64_t(confusion_.counts.size());
  // Doubles, which all transports add up; counts are far from where these are not exact.
  DTNN_ASSIGN_OR_RETURN(const Tensor sums, Tensor::Zeros(DType::kFloat64, Shape{size}));
  std::ranges::copy(confusion_.counts, sums.data<double>());
  DTNN_RETURN_IF_ERROR(communicator_->AllReduce(sums));
  std::copy_n(sums.data<double>(), size, confusion_.counts.begin());
  return absl::OkStatus();
}

}  // namespace dtnn
