#include "comm/model_sync.h"

#include <algorithm>
#include <cassert>

#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

// What a rank counts before all are divided by their sum.
double Unnormalised(RankWeighting weighting, double samples, double least, double most) {
  switch (weighting) {
    case RankWeighting::kEqual:
      return 1;
    case RankWeighting::kSamples:
      return samples;
    case RankWeighting::kInverseSamples:
      return least + most - samples;
  }
  return 1;
}

bool CanScale(const Tensor& tensor) {
  return !tensor.empty() && tensor.dense() && IsFloating(tensor.dtype()) &&
         tensor.buffer()->host_accessible();
}

void ScaleInto(double factor, const Tensor& from, const Tensor& to) {
  assert(CanScale(from) && CanScale(to));
  DispatchFloating(from.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* const x = from.data<T>();
    T* const y = to.data<T>();
    constexpr int64_t kGrain = 1 << 14;
    ParallelFor(0, from.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
      if (factor == 0) {
        std::fill(y + begin, y + end, T(0));
      } else {
        for (int64_t i = begin; i < end; ++i) y[i] = T(double(x[i]) * factor);
      }
    });
  });
}

}  // namespace

std::vector<double> RankWeights(RankWeighting weighting, std::span<const int64_t> samples,
                                const std::vector<bool>& takes_part) {
  assert(samples.size() == takes_part.size());
  std::vector<double> weights(samples.size(), 0.0);
  int64_t least = 0, most = 0, participants = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!takes_part[i]) continue;
    least = participants == 0 ? samples[i] : std::min(least, samples[i]);
    most = std::max(most, samples[i]);
    ++participants;
  }
  double sum = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!takes_part[i]) continue;
    weights[i] = Unnormalised(weighting, double(samples[i]), double(least), double(most));
    sum += weights[i];
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    if (takes_part[i]) weights[i] = sum > 0 ? weights[i] / sum : 1 / double(participants);
  }
  return weights;
}

SyncDecision DecideSync(const ModelSyncOptions& options, int64_t batch,
                        std::span<const int64_t> samples, const std::vector<bool>& has_data) {
  const int64_t available = std::count(has_data.begin(), has_data.end(), true);
  if (options.frequency < 0 || available < options.min_available || available == 0) return {};
  if (options.frequency > 0 && batch % options.frequency != 0) return {};
  SyncDecision decision{.gradients = true, .models = options.frequency > 0};
  decision.gradient_weights = RankWeights(options.weighting, samples, has_data);
  if (!decision.models) return decision;
  decision.model_weights =
      options.participation == Participation::kWithData
          ? decision.gradient_weights
          : RankWeights(options.weighting, samples, std::vector<bool>(samples.size(), true));
  return decision;
}

void Scale(double factor, const Tensor& x) { ScaleInto(factor, x, x); }

absl::Status WeightedSum(Communicator& communicator, double weight, const Tensor& tensor,
                         const Tensor& sum, const SumOverRanks& by) {
  if (!CanScale(tensor) || !CanScale(sum) || sum.dtype() != tensor.dtype() ||
      sum.num_elements() != tensor.num_elements()) {
    absl::Status status = absl::InvalidArgumentError(
        "a weighted sum over ranks takes dense tensors of float32 or float64 on the host");
    communicator.Abort(status);
    return status;
  }
  ScaleInto(weight, tensor, sum);
  return by ? by(sum) : communicator.AllReduce(sum);
}

}  // namespace dtnn
