// The sum of the updates of an attempt.

#include <algorithm>
#include <memory>
#include <utility>

#include "comm/federation/aggregator/attempt/attempt.h"
#include "comm/federation/aggregator/attempt_numbers.h"
#include "comm/federation/aggregator/sums/plain_sum.h"
#include "comm/federation/hidden_metrics.h"
#include "comm/federation/privacy.h"

namespace dtnn::federation {

void Attempt::AverageOfPlain() {
  if (options_.robust.on()) {
    std::vector<WeightedUpdate> updates;
    for (const int position : survivors_) {
      updates.push_back(
          {.values = places_[size_t(position)].values, .factor = asked_[size_t(position)].factor});
    }
    average_ = RobustMean(options_.robust, updates, parameters_);
    return;
  }
  average_ = plain_->Mean(divisor());
  TakeBits();
}

// All updates are there, and nothing hides their sum but encryption.
absl::Status Attempt::AddUp(Clock::time_point now) {
  phase_ = Phase::kDone;
  if (protector_->protection() == Protection::kNone) {
    AverageOfPlain();
    return absl::OkStatus();
  }
  for (size_t chunk = 0; chunk < chunks(); ++chunk) {
    DTNN_ASSIGN_OR_RETURN(codec::UpdateSum sum, codec_->NewSum(IdOf(chunk), shape().size(chunk)));
    for (const int position : survivors_) {
      Bytes& message = places_[size_t(position)].chunks[chunk];
      DTNN_RETURN_IF_ERROR(sum.Add(position, message));
      Free(message);
    }
    sums_.push_back(std::move(sum));
  }
  if (codec_->asks()) {
    opened_ = true;
    for (size_t chunk = 0; chunk < chunks(); ++chunk) {
      DTNN_ASSIGN_OR_RETURN(Bytes question, sums_[chunk].Question());
      const SharedBytes body = std::make_shared<const Bytes>(std::move(question));
      for (int position = 0; position < int(asked_.size()); ++position) {
        send_(position, FrameKind::kQuestion, uint32_t(chunk), body);
      }
    }
    Enter(Phase::kAnswers, now, options_.deadline);
    return absl::OkStatus();
  }
  if (protector_->readable()) return ReadSums();
  for (codec::UpdateSum& sum : sums_) {
    DTNN_ASSIGN_OR_RETURN(Bytes result, sum.Result());
    encrypted_.push_back(std::move(result));
  }
  return absl::OkStatus();
}

// The last number of the mean, where the clip adapts.
void Attempt::TakeBits() {
  if (!protector_->privacy().adapts()) return;
  below_ = ShareBelow(protector_->privacy(), average_[values_]);
  average_.resize(values_);
}

// From the last numbers of the mean.
void Attempt::TakeMetrics() {
  std::vector<const Metrics*> names;
  for (const int position : survivors_) {
    names.push_back(&asked_[size_t(position)].report.metrics);
  }
  metrics_ = MetricsOfSum(names, std::span(average_).subspan(values_));
  for (Asked& asked : asked_) asked.report.metrics.clear();
  average_.resize(values_);
}

absl::Status Attempt::ReadSums() {
  average_.resize(sum_values_);
  for (size_t chunk = 0; chunk < chunks(); ++chunk) {
    const absl::Status read = sums_[chunk].Read(ChunkOf(average_, chunk));
    if (!read.ok()) DoubtAll();
    DTNN_RETURN_IF_ERROR(read);
  }
  const double divisor = this->divisor();
  for (float& x : average_) x = float(x / divisor);
  const bool good = AreNumbersOfNetworks(average_, 1);
  TakeBits();
  TakeMetrics();
  if (good) return absl::OkStatus();
  return absl::DataLossError("the mean is not that of a network");
}

void Attempt::Forget() {
  Free(average_);
  Free(encrypted_);
}

double Attempt::divisor() const {
  double sum = 0;
  for (const int position : survivors_) sum += asked_[size_t(position)].factor;
  return sum;
}

}  // namespace dtnn::federation
