// The sum of an attempt, and its mean.

#include <map>
#include <memory>
#include <utility>

#include "comm/federation/aggregator/attempt/attempt.h"
#include "comm/federation/aggregator/attempt_numbers.h"
#include "comm/federation/hidden_metrics.h"
#include "comm/federation/privacy.h"

namespace dtnn::federation {

// All updates are there, and nothing hides their sum but encryption.
absl::Status Attempt::AddUp(Clock::time_point now) {
  if (asks_) {
    opened_ = true;
    for (size_t chunk = 0; chunk < chunks(); ++chunk) {
      DTNN_ASSIGN_OR_RETURN(Bytes question, sum_->Question(chunk));
      const SharedBytes body = std::make_shared<const Bytes>(std::move(question));
      for (int position = 0; position < int(asked_.size()); ++position) {
        send_(position, FrameKind::kQuestion, uint32_t(chunk), body);
      }
    }
    Enter(Phase::kAnswers, now, options_.deadline);
    return absl::OkStatus();
  }
  phase_ = Phase::kDone;
  if (protector_->readable()) return ReadMean();
  DTNN_ASSIGN_OR_RETURN(encrypted_, sum_->Encrypted());
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

absl::Status Attempt::ReadMean() {
  std::map<int, double> factors;
  for (const int position : survivors_) factors[position] = asked_[size_t(position)].factor;
  absl::StatusOr<std::vector<float>> mean = sum_->Mean(factors);
  if (!mean.ok()) DoubtAll();
  DTNN_ASSIGN_OR_RETURN(average_, std::move(mean));
  TakeBits();
  if (protector_->hides_in_sums()) TakeMetrics();
  return absl::OkStatus();
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
