// Predictions for many threads: gathers the samples of their requests into batches, since a network
// answers a batch in far less time than its samples one by one.
//
// One thread runs the predictor. It never waits while requests are queued, unless `max_delay` says
// so: what arrives while a batch is computed becomes the next one. A request may have any number
// of samples: large ones are cut into several batches, small ones share one. Answers are those of
// Predictor::Predict for the same samples alone, bit for bit. A request that is wrong is refused by
// Submit, before it shares a batch; NaN in one sample stay in its own outputs.

#ifndef DTNN_MODELS_SERVING_BATCHER_H_
#define DTNN_MODELS_SERVING_BATCHER_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/serving/predictor.h"
#include "tensor/tensor.h"

namespace dtnn {

struct BatcherOptions {
  int64_t max_batch = 32;  // samples; that of the predictor (PredictorOptions::batch)
  // How long the first sample of a batch may wait for others; 0: it waits for nothing.
  std::chrono::microseconds max_delay{0};
  int64_t max_queued = 1024;  // samples that wait, over all requests
  // Called after each batch with its samples.
  std::function<void(int64_t samples)> on_batch = {};
};

class Batcher {
 public:
  // Gets the outputs, (n, outputs), on the batcher's thread: it must not wait for other requests,
  // and must not destroy the batcher. Where it throws while it has them, it is called once more,
  // with a status that says so.
  using Done = std::function<void(absl::StatusOr<Tensor> outputs)>;

  Batcher(std::shared_ptr<Predictor> predictor, const BatcherOptions& options);
  // Answers what is queued, then returns.
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // `x`: (n, sample) as Predictor::Predict takes it, unchanged until `done` is called. On an
  // error `done` is not called: InvalidArgument for other tensors and for more than max_queued
  // samples, ResourceExhausted where the queue has no room for them now.
  absl::Status Submit(Tensor x, Done done);

  // Samples that wait.
  int64_t queued() const;

 private:
  struct Request {
    Tensor x;
    Done done;
    std::chrono::steady_clock::time_point arrived;
    int64_t begun = 0;    // samples that are in a batch, or were
    Tensor outputs = {};  // of those that were
    absl::Status status = {};
    int64_t samples() const { return x.shape()[0]; }
  };
  // Samples of a request that are in the same batch.
  struct Slice {
    std::shared_ptr<Request> request;
    int64_t begin, count;
  };

  void Work();
  bool AwaitBatch(std::unique_lock<std::mutex>& lock);
  std::vector<Slice> TakeBatch();
  void Answer(const std::vector<Slice>& batch);
  static absl::Status KeepOutputs(const Slice& slice, const Tensor& outputs, int64_t row);
  static void End(Request& request);
  absl::StatusOr<Tensor> Predict(const std::vector<Slice>& batch, int64_t samples);

  const std::shared_ptr<Predictor> predictor_;
  const BatcherOptions options_;
  Tensor gathered_;  // a batch of several requests

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Request>> queue_;  // with samples that are in no batch yet
  int64_t queued_ = 0;
  bool ending_ = false;

  std::thread worker_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_SERVING_BATCHER_H_
