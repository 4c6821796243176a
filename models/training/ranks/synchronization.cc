#include "models/training/ranks/synchronization.h"

#include <utility>
#include <vector>

#include "kernels/transfers/transfers.h"
#include "tensor/errors.h"

namespace dtnn {

Synchronization::Synchronization(Communicator* communicator, DeviceContext& context,
                                 const SynchronizationOptions& options)
    : communicator_(communicator),
      context_(&context),
      options_(options),
      shares_(communicator == nullptr ? 1 : communicator->size()) {}

absl::Status Synchronization::Check() const {
  const int ranks = shares_.ranks();
  if (options_.models.min_available <= ranks) return absl::OkStatus();
  return InvalidArgument("models are averaged when at least ", options_.models.min_available,
                         " ranks have data, but there are only ", ranks, " ranks");
}

absl::Status Synchronization::BeginTraining(ParameterStore& store) {
  if (communicator_ == nullptr || !options_.at_start) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(ChangeOnHost(*context_, store.all_values(), [&](const Tensor& values) {
    if (!options_.sum) return communicator_->Broadcast(values, /*root=*/0);
    Scale(communicator_->rank() == 0 ? 1 : 0, values);
    return options_.sum(values);
  }));
  store.MarkChanged();
  return absl::OkStatus();
}

void Synchronization::BeginUpdate(int64_t update, int64_t step) {
  if (communicator_ == nullptr) return;
  means_of_ranks_ = options_.models.frequency != 0 || shares_.own_data();
  // While models are alike, their statistics are averaged by themselves.
  statistics_differ_ = options_.models.frequency == 0 && !options_.common_statistics;
  if (!means_of_ranks_) {
    exchanges_ = true;
    return;
  }
  decision_ = DecideSync(options_.models, update, shares_.samples(), shares_.HasData(step));
  exchanges_ = decision_.gradients;
  weight_ = exchanges_ ? decision_.gradient_weights[size_t(communicator_->rank())] : 1;
}

absl::Status Synchronization::EndUpdate(ParameterStore& store) {
  if (!std::exchange(decision_.models, false)) return absl::OkStatus();
  return AverageModels(store, decision_.model_weights[size_t(communicator_->rank())]);
}

absl::Status Synchronization::AverageStatistics(ParameterStore& store) {
  const Tensor statistics = store.statistics();
  if (!std::exchange(statistics_differ_, false) || statistics.empty()) return absl::OkStatus();
  const std::vector<bool> all(size_t(shares_.ranks()), true);
  DTNN_RETURN_IF_ERROR(Average(
      store, statistics,
      RankWeights(RankWeighting::kSamples, shares_.samples(), all)[size_t(communicator_->rank())]));
  store.MarkStatisticsChanged();
  return absl::OkStatus();
}

absl::Status Synchronization::EndTraining(ParameterStore& store) {
  DTNN_RETURN_IF_ERROR(AverageStatistics(store));
  if (communicator_ == nullptr || !options_.at_end) return absl::OkStatus();
  const bool alike =
      options_.at_start && options_.models.frequency == 0 && options_.models.min_available == 0;
  if (alike) return absl::OkStatus();
  const std::vector<bool> all(size_t(shares_.ranks()), true);
  return AverageModels(store, RankWeights(options_.models.weighting, shares_.samples(),
                                          all)[size_t(communicator_->rank())]);
}

absl::Status Synchronization::AverageModels(ParameterStore& store, double weight) {
  DTNN_RETURN_IF_ERROR(Average(store, store.unfrozen(), weight));
  store.MarkChanged();
  return absl::OkStatus();
}

// Gives a part of the parameters, on all ranks, the weighted sum of the ranks'.
absl::Status Synchronization::Average(ParameterStore& store, const Tensor& part, double weight) {
  if (sums_.empty()) {
    DTNN_ASSIGN_OR_RETURN(sums_,
                          Tensor::Allocate(Device::Cpu(), store.dtype(), store.unfrozen().shape()));
  }
  const Tensor sum = sums_.Samples(0, part.num_elements(), TensorFormat::kNHWC);
  DTNN_ASSIGN_OR_RETURN(const Tensor mine, ToHost(*context_, part));
  DTNN_RETURN_IF_ERROR(WeightedSum(*communicator_, weight, mine, sum, options_.sum));
  DTNN_RETURN_IF_ERROR(context_->Copy(sum, part));
  return context_->Synchronize();
}

}  // namespace dtnn
