#include "models/parameters/parameter_average.h"

#include <algorithm>

#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr int64_t kScratch = 1 << 18;  // elements, which stay in a core's cache

}  // namespace

absl::Status ParameterAverage::BeginStep(int64_t steps_done) {
  if (!store_->average_slot()) return absl::OkStatus();
  if (!shown_) return steps_done == 0 ? Begin() : absl::OkStatus();
  const bool same = shown_version_ == store_->version();
  DTNN_RETURN_IF_ERROR(same ? Exchange() : Begin());
  shown_ = false;
  return absl::OkStatus();
}

absl::Status ParameterAverage::Show(int64_t steps_done) {
  if (!store_->average_slot() || steps_done == 0) return absl::OkStatus();
  const bool same = shown_version_ == store_->version();
  if (shown_ && same) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(shown_ ? Begin() : Exchange());
  shown_ = true;
  shown_version_ = store_->version();
  return absl::OkStatus();
}

void ParameterAverage::Restored(int64_t steps_done) {
  shown_ = steps_done > 0;
  shown_version_ = store_->version();
}

absl::Status ParameterAverage::Begin() { return context_->Copy(store_->values(), Average()); }

absl::Status ParameterAverage::Exchange() {
  const Tensor values = store_->values(), average = Average();
  const int64_t elements = values.num_elements();
  if (scratch_.empty()) {
    DTNN_ASSIGN_OR_RETURN(scratch_, Tensor::Allocate(context_->device(), store_->dtype(),
                                                     Shape{std::min(kScratch, elements)}));
  }
  for (int64_t begin = 0; begin < elements; begin += kScratch) {
    const int64_t count = std::min(kScratch, elements - begin);
    const auto part = [&](const Tensor& arena, int64_t first) {
      return arena.Samples(first, count, TensorFormat::kNHWC);
    };
    DTNN_RETURN_IF_ERROR(context_->Copy(part(values, begin), part(scratch_, 0)));
    DTNN_RETURN_IF_ERROR(context_->Copy(part(average, begin), part(values, begin)));
    DTNN_RETURN_IF_ERROR(context_->Copy(part(scratch_, 0), part(average, begin)));
  }
  store_->MarkChanged();
  return absl::OkStatus();
}

}  // namespace dtnn
