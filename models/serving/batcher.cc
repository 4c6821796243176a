#include "models/serving/batcher.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {
namespace {

// The status of `work`, or of what it throws.
template <typename Work>
absl::Status StatusOf(Work work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("no memory is left for this request; try again later");
  } catch (const std::exception& defect) {
    return absl::InternalError(StrCat("the request ended by an exception: ", defect.what()));
  }
}

}  // namespace

Batcher::Batcher(std::shared_ptr<Predictor> predictor, const BatcherOptions& options)
    : predictor_(std::move(predictor)), options_(options), worker_([this] { Work(); }) {}

Batcher::~Batcher() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

absl::Status Batcher::Submit(Tensor x, Done done) {
  DTNN_RETURN_IF_ERROR(predictor_->CheckSamples(x));
  if (!x.dense()) return InvalidArgument("samples with gaps between them; expected a dense tensor");
  const int64_t samples = x.shape()[0];
  if (samples > options_.max_queued) {
    return InvalidArgument("a request of ", samples, " samples; at most ", options_.max_queued,
                           " are queued, so send it in pieces");
  }
  auto request = std::make_shared<Request>();
  request->x = std::move(x);
  request->done = std::move(done);
  request->arrived = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (queued_ + samples > options_.max_queued) {
      return ResourceExhausted(queued_, " samples wait already, of at most ", options_.max_queued,
                               "; try again later");
    }
    queue_.push_back(std::move(request));
    queued_ += samples;  // what throws has changed nothing
  }
  changed_.notify_one();
  return absl::OkStatus();
}

int64_t Batcher::queued() const {
  const std::lock_guard lock(mutex_);
  return queued_;
}

void Batcher::Work() {
  for (std::unique_lock lock(mutex_); AwaitBatch(lock); lock.lock()) {
    const std::vector<Slice> batch = TakeBatch();
    lock.unlock();
    Answer(batch);
  }
}

// False where none will come.
bool Batcher::AwaitBatch(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [this] { return queued_ > 0 || ending_; });
  if (queued_ == 0) return false;
  if (options_.max_delay.count() > 0) {
    changed_.wait_until(lock, queue_.front()->arrived + options_.max_delay,
                        [this] { return queued_ >= options_.max_batch || ending_; });
  }
  return true;
}

std::vector<Batcher::Slice> Batcher::TakeBatch() {
  std::vector<Slice> batch;
  for (int64_t room = options_.max_batch; room > 0 && !queue_.empty();) {
    const std::shared_ptr<Request>& first = queue_.front();
    const int64_t count = std::min(room, first->samples() - first->begun);
    batch.push_back({first, first->begun, count});
    first->begun += count;
    queued_ -= count;
    room -= count;
    if (first->begun == first->samples()) queue_.pop_front();
  }
  return batch;
}

absl::StatusOr<Tensor> Batcher::Predict(const std::vector<Slice>& batch, int64_t samples) {
  const TensorFormat format = predictor_->model().graph.format();
  if (batch.size() == 1) {
    return predictor_->Predict(batch[0].request->x.Samples(batch[0].begin, samples, format));
  }
  if (gathered_.empty()) {
    DTNN_ASSIGN_OR_RETURN(gathered_, predictor_->NewSamples(options_.max_batch));
  }
  int64_t row = 0;
  for (const Slice& slice : batch) {
    const Tensor from = slice.request->x.Samples(slice.begin, slice.count, format);
    std::memcpy(gathered_.Samples(row, slice.count, format).raw_data(), from.raw_data(),
                size_t(from.num_elements()) * SizeOf(from.dtype()));
    row += slice.count;
  }
  return predictor_->Predict(gathered_.Samples(0, samples, format));
}

absl::Status Batcher::KeepOutputs(const Slice& slice, const Tensor& outputs, int64_t row) {
  Request& request = *slice.request;
  if (request.outputs.empty()) {
    DTNN_ASSIGN_OR_RETURN(request.outputs,
                          Tensor::Allocate(Device::Cpu(), outputs.dtype(),
                                           outputs.shape().DropFirst().Prepend(request.samples())));
  }
  const size_t bytes =
      size_t(outputs.num_elements() / outputs.shape()[0]) * SizeOf(outputs.dtype());
  std::memcpy(request.outputs.raw_data() + size_t(slice.begin) * bytes,
              outputs.raw_data() + size_t(row) * bytes, size_t(slice.count) * bytes);
  return absl::OkStatus();
}

void Batcher::End(Request& request) {
  if (request.status.ok()) {
    request.status = StatusOf([&] {
      request.done(std::move(request.outputs));
      return absl::OkStatus();
    });
    if (request.status.ok()) return;
  }
  // Where this throws, too, nothing can be said: the request ends with its `done`.
  (void)StatusOf([&] {
    request.done(request.status);
    return absl::OkStatus();
  });
}

void Batcher::Answer(const std::vector<Slice>& batch) {
  int64_t samples = 0;
  for (const Slice& slice : batch) samples += slice.count;
  Tensor outputs;
  const absl::Status computed = StatusOf([&] {
    absl::StatusOr<Tensor> result = Predict(batch, samples);
    if (options_.on_batch) options_.on_batch(samples);
    if (result.ok()) outputs = *std::move(result);
    return result.status();
  });
  int64_t row = 0;
  for (const Slice& slice : batch) {
    Request& request = *slice.request;
    if (request.status.ok()) request.status = computed;
    if (request.status.ok()) {
      request.status = StatusOf([&] { return KeepOutputs(slice, outputs, row); });
    }
    row += slice.count;
    if (slice.begin + slice.count == request.samples()) End(request);
  }
}

}  // namespace dtnn
