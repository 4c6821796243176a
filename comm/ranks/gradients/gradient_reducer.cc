#include "comm/ranks/gradients/gradient_reducer.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "tensor/buffer.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"
#include "tensor/stopwatch.h"

namespace dtnn {
namespace {

GradientReducerOptions Settle(GradientReducerOptions options) {
  options.blocking |= bool(options.sum);
  return options;
}

}  // namespace

std::vector<GradientReducer::Bucket> GradientReducer::Cut(DType dtype, int64_t elements,
                                                          int64_t bucket_bytes) {
  const int64_t align = int64_t(Buffer::kAlignment / SizeOf(dtype));
  const int64_t most = std::max<int64_t>(1, bucket_bytes / int64_t(Buffer::kAlignment)) * align;
  std::vector<Bucket> buckets;
  for (int64_t end = elements, begin; end > 0; end = begin) {
    begin = end <= most ? 0 : RoundUp(end - most, align);
    buckets.push_back({begin, end});
  }
  return buckets;
}

absl::StatusOr<std::unique_ptr<ExchangeTwin>> GradientReducer::TwinFor(DeviceContext& context,
                                                                       DType dtype,
                                                                       int64_t elements,
                                                                       int64_t bucket_bytes) {
  std::vector<int64_t> sizes;
  for (const auto& [begin, end] : Cut(dtype, elements, bucket_bytes)) sizes.push_back(end - begin);
  return ExchangeTwin::Create(context, dtype, sizes);
}

GradientReducer::GradientReducer(Communicator& communicator, DType dtype, int64_t elements,
                                 const GradientReducerOptions& options,
                                 std::unique_ptr<ExchangeTwin> twin)
    : communicator_(communicator),
      dtype_(dtype),
      elements_(elements),
      options_(Settle(options)),
      buckets_(Cut(dtype, elements, options.bucket_bytes)),
      works_(buckets_.size()),
      on_device_(buckets_.size()),
      flows_(buckets_.size()),
      twin_(std::move(twin)) {}

absl::Status GradientReducer::Begin(const Tensor& gradients) {
  if (gradients.dtype() != dtype_ || gradients.shape() != Shape{elements_} || !gradients.dense()) {
    return InvalidArgument("gradients of shape ", gradients.shape().ToString(), " and type ",
                           Name(gradients.dtype()), " came to a reducer of ", elements_, " dense ",
                           Name(dtype_));
  }
  Drain();
  if (options_.wire) DTNN_RETURN_IF_ERROR(MakeHalves());
  gradients_ = gradients;
  return absl::OkStatus();
}

// Once: their memory is used again in every step.
absl::Status GradientReducer::MakeHalves() {
  while (halves_.size() < buckets_.size()) {
    const auto [begin, end] = buckets_[halves_.size()];
    DTNN_ASSIGN_OR_RETURN(halves_.emplace_back(),
                          HalfAllReduce::Create(communicator_, *options_.wire, end - begin));
  }
  return absl::OkStatus();
}

Event GradientReducer::EventOf(Activity activity, size_t bucket) const {
  const auto [begin, end] = buckets_[bucket];
  return {.activity = activity,
          .bytes = (end - begin) * int64_t(SizeOf(dtype_)),
          .first = begin,
          .last = end,
          .flow = flows_[bucket]};
}

Tensor GradientReducer::PartOf(size_t bucket) const {
  const auto [begin, end] = buckets_[bucket];
  return gradients_.Samples(begin, end - begin, TensorFormat::kNHWC);
}

// Other ranks, who may wait for this one elsewhere, learn of failures.
absl::Status GradientReducer::Told(const absl::Status& status) {
  if (!status.ok()) communicator_.Abort(status);
  return status;
}

absl::Status GradientReducer::Fetch(size_t bucket) {
  return twin_ == nullptr ? absl::OkStatus() : twin_->Fetch(bucket, PartOf(bucket));
}

absl::Status GradientReducer::Start(size_t bucket) {
  Tensor part = PartOf(bucket);
  if (twin_ != nullptr) {
    DTNN_ASSIGN_OR_RETURN(part, twin_->Await(bucket));
  }
  const AddTime time(exposed_seconds_);
  Observer* const observer = CurrentObserver();
  if (observer != nullptr) flows_[bucket] = NewFlow();
  const Span span(observer, EventOf(Activity::kExchange, bucket));
  if (options_.sum) return options_.sum(part);
  if (options_.wire) {
    DTNN_RETURN_IF_ERROR(halves_[bucket]->Begin(part));
    return bucket == 0 ? absl::OkStatus() : halves_[bucket - 1]->Add();
  }
  if (options_.collectives == nullptr) {
    works_[bucket] = communicator_.AllReduceAsync(part);
    return absl::OkStatus();
  }
  on_device_[bucket] = true;
  return Told(options_.collectives->AllReduce(bucket, part));
}

absl::Status GradientReducer::StartUntil(size_t bucket) {
  while (started_ < bucket) DTNN_RETURN_IF_ERROR(Start(started_++));
  return absl::OkStatus();
}

void GradientReducer::Ready(int64_t from) {
  assert(!gradients_.empty() || buckets_.empty());
  if (options_.blocking) return;
  while (final_ < buckets_.size() && buckets_[final_].begin >= from && status_.ok()) {
    status_ = Fetch(final_++);
    // A bucket that is still being copied is left until the next one is final.
    if (status_.ok()) status_ = StartUntil(twin_ == nullptr ? final_ : final_ - 1);
  }
}

absl::Status GradientReducer::AwaitSum(size_t bucket) {
  {
    const AddTime time(exposed_seconds_);
    const Span span(EventOf(Activity::kWaitForGradients, bucket));
    if (options_.collectives != nullptr) {
      on_device_[bucket] = false;
      return Told(options_.collectives->Await(bucket));
    }
    if (options_.wire) {
      DTNN_RETURN_IF_ERROR(halves_[bucket]->Finish());
    } else if (works_[bucket] != nullptr) {  // else options_.sum has done it
      DTNN_RETURN_IF_ERROR(works_[bucket]->Wait());
      works_[bucket].reset();
    }
  }
  return twin_ == nullptr ? absl::OkStatus() : twin_->Return(bucket);
}

absl::Status GradientReducer::Finish(absl::FunctionRef<absl::Status(size_t bucket)> reduced) {
  Ready(0);
  absl::Status status = status_;
  if (status.ok() && !options_.blocking) {
    status = StartUntil(buckets_.size());
    // Nothing comes after the last one that would begin its second step.
    if (status.ok() && !halves_.empty()) status = halves_.back()->Add();
  }
  for (size_t i = 0; i < buckets_.size() && status.ok(); ++i) {
    if (options_.blocking) status = Fetch(i);
    if (status.ok()) status = StartUntil(i + 1);
    if (status.ok()) status = AwaitSum(i);
    if (status.ok()) status = reduced(i);
  }
  Drain();
  if (status.ok()) ++steps_;
  return status;
}

void GradientReducer::Drain() {
  for (size_t i = 0; i < works_.size(); ++i) {
    works_[i].reset();
    if (i < halves_.size()) halves_[i]->Drop();
    if (on_device_[i]) (void)options_.collectives->Await(i);
    on_device_[i] = false;
  }
  if (twin_ != nullptr) (void)twin_->Release();
  final_ = started_ = 0;
  status_ = absl::OkStatus();
  gradients_ = Tensor();
}

}  // namespace dtnn
