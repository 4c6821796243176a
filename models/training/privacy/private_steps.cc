#include "models/training/privacy/private_steps.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "kernels/device/device_traits.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<PrivateSteps>> PrivateSteps::Create(
    const PrivateTraining& options, const Graph& graph, ParameterStore& store,
    DeviceContext& context, Plan& plan, int64_t most, const CompilePlan& compile) {
  if (!TraitsOf(context.device()).in_host_memory) {
    return absl::UnimplementedError(
        "differential privacy of samples: gradients are clipped on CPUs, not on GPUs");
  }
  std::unique_ptr<PrivateSteps> steps(new PrivateSteps());
  steps->store_ = &store;
  steps->context_ = &context;
  steps->most_ = most;
  DTNN_ASSIGN_OR_RETURN(steps->gradients_, PrivateGradients::Create(options, graph, store));
  steps->workers_.resize(1);
  steps->workers_[0].store = &store;
  steps->workers_[0].plan = &plan;
  const int64_t threads = std::clamp<int64_t>(NumThreads(), 1, std::max<int64_t>(1, most));
  while (int64_t(steps->workers_.size()) < threads) {
    DTNN_ASSIGN_OR_RETURN(Worker worker, steps->MakeWorker(graph, compile));
    steps->workers_.push_back(std::move(worker));
  }
  steps->losses_.resize(size_t(most));
  DTNN_ASSIGN_OR_RETURN(steps->predictions_, Tensor::Allocate(Device::Cpu(), store.dtype(),
                                                              graph.output_shape().Prepend(most)));
  return steps;
}

absl::StatusOr<PrivateSteps::Worker> PrivateSteps::MakeWorker(const Graph& graph,
                                                              const CompilePlan& compile) const {
  Worker worker;
  DTNN_ASSIGN_OR_RETURN(worker.own_context, DeviceContext::Create(context_->device()));
  DTNN_RETURN_IF_ERROR(worker.own_context->SetMathMode(context_->math_mode()));
  DTNN_ASSIGN_OR_RETURN(worker.own_store, ParameterStore::Create(graph, *worker.own_context,
                                                                 store_->dtype(), /*seed=*/0));
  DTNN_RETURN_IF_ERROR(worker.own_store->AllocateForTraining(*worker.own_context, /*slots=*/0));
  DTNN_ASSIGN_OR_RETURN(worker.own_plan, compile(*worker.own_store, *worker.own_context));
  worker.store = worker.own_store.get();
  worker.plan = worker.own_plan.get();
  return worker;
}

absl::Status PrivateSteps::CheckBatch(const Batch& batch) const {
  const bool holds = batch.count == 0 ||
                     (batch.x.shape()[0] == batch.count && batch.targets.shape()[0] == batch.count);
  if (batch.count < 0 || batch.count > most_ || !holds) {
    return InvalidArgument("a batch of ", batch.count,
                           " samples: expected as many rows of values and of targets, and at most ",
                           most_, ", for which training was prepared");
  }
  if (batch.mixed_targets.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "differential privacy of samples: not with mixup, whose samples are made of two each");
}

absl::Status PrivateSteps::RunSample(Worker& worker, const Batch& batch, int64_t sample) {
  // Batches are dense, so the format does not matter.
  constexpr TensorFormat kAny = TensorFormat::kNHWC;
  DTNN_RETURN_IF_ERROR(worker.plan->ForwardBackward(
      batch.x.Samples(sample, 1, kAny), batch.targets.Samples(sample, 1, kAny),
      /*gradient_scale=*/1, int64_t(words_[size_t(sample)] >> 24)));
  losses_[size_t(sample)] = worker.plan->LossSum();
  const Tensor& predictions = worker.plan->predictions();
  const size_t bytes = size_t(predictions.num_elements()) * SizeOf(predictions.dtype());
  std::memcpy(predictions_.raw_data() + size_t(sample) * bytes, predictions.raw_data(), bytes);
  gradients_->Add(worker.store->gradients(), worker.sum);
  return absl::OkStatus();
}

absl::Status PrivateSteps::Run(const Batch& batch, double mean) {
  DTNN_RETURN_IF_ERROR(CheckBatch(batch));
  count_ = batch.count;
  words_.resize(size_t(count_));
  gradients_->Draw(words_);
  const size_t threads = std::min(size_t(count_), workers_.size());
  for (size_t i = 0; i < threads; ++i) {
    Worker& worker = workers_[i];
    worker.sum = gradients_->NewSum();
    worker.status = absl::OkStatus();
    if (worker.own_store == nullptr) continue;
    DTNN_RETURN_IF_ERROR(context_->Copy(store_->all_values(), worker.own_store->all_values()));
    worker.own_store->MarkChanged();
  }
  std::atomic<int64_t> next = 0;
  ParallelThreads(int(threads), [&](int part) {
    Worker& worker = workers_[size_t(part)];
    for (int64_t i = next++; i < count_ && worker.status.ok(); i = next++) {
      worker.status = RunSample(worker, batch, i);
    }
  });
  std::vector<PrivateGradients::Sum> sums;
  for (size_t i = 0; i < threads; ++i) {
    DTNN_RETURN_IF_ERROR(workers_[i].status);
    sums.push_back(std::move(workers_[i].sum));
  }
  gradients_->Finish(sums, mean, store_->gradients());
  return absl::OkStatus();
}

double PrivateSteps::LossSum() const {
  double sum = 0;
  for (int64_t i = 0; i < count_; ++i) sum += losses_[size_t(i)];
  return sum;
}

Tensor PrivateSteps::predictions() const {
  return predictions_.Samples(0, count_, TensorFormat::kNHWC);
}

}  // namespace dtnn
