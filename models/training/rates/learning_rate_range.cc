#include "models/training/rates/learning_rate_range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "absl/strings/str_format.h"
#include "comm/communicator.h"
#include "comm/gather_values.h"
#include "models/training/ranks/rank_shares.h"
#include "tensor/errors.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

using Point = LearningRateRange::Point;

constexpr double kMemory = 0.9;      // of the smoothed loss
constexpr double kTooLarge = 4;      // times the least loss
constexpr double kLeastFall = 0.99;  // of the first losses; less is noise
constexpr size_t kFirst = 10;        // updates before which nothing is known

double RateOf(int64_t update) {
  constexpr auto kLast = double(LearningRateRange::kUpdates - 1);
  return LearningRateRange::kFrom *
         std::pow(LearningRateRange::kTo / LearningRateRange::kFrom, double(update) / kLast);
}

// Updates one after the other, over as many epochs as they need.
class Updates {
 public:
  Updates(StepEngine& engine, Loader& loader, const RankShares& shares)
      : engine_(engine), loader_(loader), shares_(shares) {}

  // The mean loss of the samples of the next update, before it.
  absl::StatusOr<double> Next(double rate) {
    engine_.set_learning_rate(rate);
    std::array<double, 2> sums = {0, 0};  // of losses, of samples
    do {
      if (step_ == 0) {
        engine_.BeginPass(shares_, 0, epoch_ * shares_.steps());
        loader_.StartEpoch(epoch_);
      }
      DTNN_ASSIGN_OR_RETURN(const Batch* const batch, loader_.Next());
      ++step_;
      const bool last = step_ == shares_.steps();
      DTNN_RETURN_IF_ERROR(
          engine_.Step(batch == nullptr ? Batch() : *batch, /*averages=*/nullptr, last));
      if (last) {
        step_ = 0;
        ++epoch_;
      }
      if (batch == nullptr) continue;
      DTNN_ASSIGN_OR_RETURN(const double loss, engine_.LossSum());
      sums[0] += loss;
      sums[1] += double(batch->count);
    } while (!engine_.settled());
    return Combine(sums);
  }

 private:
  absl::StatusOr<double> Combine(std::array<double, 2> sums) const {
    Communicator* const communicator = engine_.options().communicator;
    if (communicator != nullptr) {
      DTNN_ASSIGN_OR_RETURN(const std::vector<double> all,
                            GatherValues<double>(*communicator, sums));
      sums = {0, 0};
      for (size_t i = 0; i < all.size(); ++i) sums[i % 2] += all[i];
    }
    return sums[0] / sums[1];
  }

  StepEngine& engine_;
  Loader& loader_;
  const RankShares& shares_;
  int64_t epoch_ = 0, step_ = 0;
};

// Nothing where the loss falls nowhere.
std::optional<double> Suggest(const std::vector<Point>& points) {
  if (points.size() <= kFirst) return std::nullopt;
  const auto least =
      std::ranges::min_element(points.begin() + kFirst, points.end(), {}, &Point::loss);
  if (!(least->loss < kLeastFall * points[kFirst - 1].loss)) return std::nullopt;
  // The number that a user writes with these two digits, to the last bit.
  return NumberIn<double>(absl::StrFormat("%.1e", least->rate / 10));
}

}  // namespace

absl::StatusOr<LearningRateRange> FindLearningRate(StepEngine& engine, Loader& training) {
  DTNN_ASSIGN_OR_RETURN(const RankShares shares,
                        RankShares::Of(training, engine.options().communicator));
  if (shares.steps() == 0) {
    return absl::FailedPreconditionError("there are no batches to find a learning rate with");
  }
  DTNN_RETURN_IF_ERROR(engine.PrepareForTraining(std::max<int64_t>(1, training.max_batch())));
  Updates updates(engine, training, shares);
  LearningRateRange range;
  double sum = 0, weight = 0, least = 0;
  for (int64_t update = 0; update < LearningRateRange::kUpdates; ++update) {
    const double rate = RateOf(update);
    DTNN_ASSIGN_OR_RETURN(const double loss, updates.Next(rate));
    sum = kMemory * sum + (1 - kMemory) * loss;
    weight = kMemory * weight + (1 - kMemory);
    const double smoothed = sum / weight;
    if (!std::isfinite(smoothed)) break;
    range.points.push_back({.rate = rate, .loss = smoothed});
    least = update == 0 ? smoothed : std::min(least, smoothed);
    if (smoothed > kTooLarge * least) break;
  }
  const std::optional<double> suggestion = Suggest(range.points);
  if (!suggestion) {
    return FailedPrecondition("the loss of ", range.points.size(), " updates fell at no rate from ",
                              LearningRateRange::kFrom, " to ", LearningRateRange::kTo);
  }
  range.suggestion = *suggestion;
  return range;
}

}  // namespace dtnn
