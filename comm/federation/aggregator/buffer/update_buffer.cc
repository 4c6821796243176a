#include "comm/federation/aggregator/buffer/update_buffer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/federation/aggregator/sums/plain_sum.h"
#include "comm/secrets/crypto/hash.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {
namespace {

constexpr int64_t kPerThread = 1 << 14;  // numbers

// p_k.
double WeightOfClient(const StrategyOptions& strategy, const Asked& client) {
  const double samples =
      WeightingOf(strategy.strategy) == RankWeighting::kEqual ? 1 : double(client.samples);
  return strategy.by_steps() ? samples / double(client.steps) : samples;
}

}  // namespace

std::optional<StalenessWeight> ParseStalenessWeight(std::string_view word) {
  if (word == "root") return StalenessWeight::kRoot;
  if (word == "constant") return StalenessWeight::kConstant;
  return std::nullopt;
}

double WeightOf(StalenessWeight weight, int64_t staleness) {
  return weight == StalenessWeight::kConstant ? 1 : 1 / std::sqrt(1 + double(staleness));
}

std::optional<BufferConflict> FindBufferConflict(const StrategyOptions& strategy,
                                                 const ProtectionOptions& protection,
                                                 bool keeps_parameters) {
  using enum BufferConflict::With;
  if (WeightingOf(strategy.strategy) == RankWeighting::kInverseSamples) {
    return BufferConflict{kStrategy,
                          "it weighs a client by the samples of all clients of a round, which are "
                          "not known before their updates are there"};
  }
  if (strategy.controls()) {
    return BufferConflict{kStrategy,
                          "its control variates are of rounds in which clients train from the same "
                          "parameters"};
  }
  if (protection.protection != Protection::kNone) {
    return BufferConflict{kEncryption,
                          "it hides an update in the sum of clients that agree on it before they "
                          "train, and the updates of a buffer come one by one"};
  }
  if (protection.privacy.on()) {
    return BufferConflict{
        kPrivacy,
        "the account of privacy counts rounds, in each of which a client is asked "
        "once, and a buffer asks fast clients more often than others"};
  }
  if (keeps_parameters) {
    return BufferConflict{kLocalParameters,
                          "they follow the rounds that have used a client's updates, and an update "
                          "of a buffer begins in one round and is used in another"};
  }
  return std::nullopt;
}

absl::Status CheckBuffer(const BufferOptions& options, const StrategyOptions& strategy,
                         const ProtectionOptions& protection, const ModelFacts& model) {
  if (!options.on()) return absl::OkStatus();
  if (options.max_staleness < 0) {
    return InvalidArgument("a staleness of at most ", options.max_staleness,
                           ": expected 0 or more");
  }
  const std::optional<BufferConflict> conflict =
      FindBufferConflict(strategy, protection, model.local != Hash{});
  if (!conflict) return absl::OkStatus();
  const std::string strategy_name = StrCat("strategy ", Name(strategy.strategy));
  const std::string_view with[] = {strategy_name, "encryption", "differential privacy",
                                   "parameters that stay with clients"};
  return InvalidArgument("a buffer of ", options.size, " updates: not with ",
                         with[size_t(conflict->with)], ": ", conflict->why);
}

UpdateBuffer::UpdateBuffer(const BufferOptions& options, const StrategyOptions& strategy,
                           const RobustOptions& robust, size_t values, size_t trainable)
    : options_(options),
      strategy_(strategy),
      robust_(robust),
      values_(values),
      trainable_(trainable),
      sum_(robust.on() ? 0 : values) {}

void UpdateBuffer::Add(std::vector<float> update, const Asked& client) {
  const double p = WeightOfClient(strategy_, client);
  const double stale = WeightOf(options_.weight, client.staleness);
  ++updates_;
  weight_ += p;
  stale_weight_ += p * stale;
  if (robust_.on()) {
    for (size_t i = 0; i < values_; ++i) {
      update[i] = float(p * (i < trainable_ ? stale : 1) * update[i]);
    }
    kept_.push_back(std::move(update));
    factors_.push_back(p);
    return;
  }
  ParallelFor(0, int64_t(values_), kPerThread, [&](int64_t begin, int64_t end) {
    for (auto i = size_t(begin); i < size_t(end); ++i) sum_[i] += p * stale * double(update[i]);
  });
}

std::vector<float> UpdateBuffer::NoChange(std::span<const float> parameters) const {
  std::vector<float> none(parameters.begin(), parameters.end());
  std::fill_n(none.begin(), trainable_, 0.0f);
  return none;
}

absl::Status UpdateBuffer::Check(std::span<const float> update, double max_norm) const {
  DTNN_RETURN_IF_ERROR(CheckUpdate(update, 1, {}, 0));
  if (max_norm <= 0) return absl::OkStatus();
  return CheckUpdate(update.first(trainable_), 1, std::vector<float>(trainable_), max_norm);
}

std::vector<float> UpdateBuffer::Mean(std::span<const float> parameters) const {
  std::vector<float> mean;
  if (robust_.on()) {
    std::vector<WeightedUpdate> updates;
    for (size_t i = 0; i < kept_.size(); ++i) {
      updates.push_back({.values = kept_[i], .factor = factors_[i]});
    }
    mean = RobustMean(robust_, updates, NoChange(parameters));
    for (size_t i = 0; i < trainable_; ++i) mean[i] = float(double(parameters[i]) + mean[i]);
    return mean;
  }
  mean.resize(values_);
  ParallelFor(0, int64_t(values_), kPerThread, [&](int64_t begin, int64_t end) {
    for (auto i = size_t(begin); i < size_t(end); ++i) {
      mean[i] = i < trainable_ ? float(double(parameters[i]) + sum_[i] / weight_)
                               : float(sum_[i] / stale_weight_);
    }
  });
  return mean;
}

void UpdateBuffer::Clear() {
  updates_ = 0;
  weight_ = stale_weight_ = 0;
  std::ranges::fill(sum_, 0.0);
  kept_.clear();
  factors_.clear();
}

}  // namespace dtnn::federation
