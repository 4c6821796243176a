#include "models/observe/report/mistakes/confusion_counter.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
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
  const int64_t mine = confusion_.pixels ? -confusion_.classes : confusion_.classes;
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all, GatherValues(*communicator_, mine));
  const auto known = std::ranges::find_if(all, [](int64_t classes) { return classes != 0; });
  if (known == all.end()) return absl::OkStatus();
  if (mine == 0) {
    const int64_t classes = std::abs(*known);
    confusion_ = {.pixels = *known < 0, .classes = classes};
    confusion_.counts.assign(size_t(classes * classes), 0);
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
