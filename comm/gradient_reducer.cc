#include "comm/gradient_reducer.h"

#include <algorithm>
#include <cassert>

#include "tensor/buffer.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"
#include "tensor/stopwatch.h"

namespace dtnn {

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

GradientReducer::GradientReducer(Communicator& communicator, DType dtype, int64_t elements,
                                 const GradientReducerOptions& options)
    : communicator_(communicator),
      dtype_(dtype),
      elements_(elements),
      options_(options),
      buckets_(Cut(dtype, elements, options.bucket_bytes)),
      works_(buckets_.size()),
      flows_(buckets_.size()) {}

absl::Status GradientReducer::Begin(const Tensor& gradients) {
  if (gradients.dtype() != dtype_ || gradients.shape() != Shape{elements_} || !gradients.dense()) {
    return InvalidArgument("gradients of shape ", gradients.shape().ToString(), " and type ",
                           Name(gradients.dtype()), " came to a reducer of ", elements_, " dense ",
                           Name(dtype_));
  }
  Drain();
  gradients_ = gradients;
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

void GradientReducer::Start(size_t bucket) {
  Observer* const observer = CurrentObserver();
  if (observer != nullptr) flows_[bucket] = NewFlow();
  const Span span(observer, EventOf(Activity::kExchange, bucket));
  const auto [begin, end] = buckets_[bucket];
  works_[bucket] =
      communicator_.AllReduceAsync(gradients_.Samples(begin, end - begin, TensorFormat::kNHWC));
}

void GradientReducer::Ready(int64_t from) {
  assert(!gradients_.empty() || buckets_.empty());
  if (options_.blocking || started_ == buckets_.size() || buckets_[started_].begin < from) return;
  const AddTime time(exposed_seconds_);
  while (started_ < buckets_.size() && buckets_[started_].begin >= from) Start(started_++);
}

absl::Status GradientReducer::Finish(absl::FunctionRef<absl::Status(size_t bucket)> reduced) {
  Ready(0);
  absl::Status status;
  for (size_t i = 0; i < buckets_.size() && status.ok(); ++i) {
    {
      const AddTime time(exposed_seconds_);
      if (options_.blocking) Start(i);
      const Span span(EventOf(Activity::kWaitForGradients, i));
      status = works_[i]->Wait();
      works_[i].reset();
    }
    if (status.ok()) status = reduced(i);
  }
  Drain();
  if (status.ok()) ++steps_;
  return status;
}

void GradientReducer::Drain() {
  for (std::unique_ptr<Work>& work : works_) work.reset();
  started_ = 0;
  gradients_ = Tensor();
}

}  // namespace dtnn
