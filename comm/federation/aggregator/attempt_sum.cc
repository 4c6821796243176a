// The sum of the updates of an attempt.

#include <algorithm>
#include <memory>
#include <utility>

#include "comm/federation/aggregator/attempt.h"
#include "comm/federation/aggregator/attempt_numbers.h"
#include "comm/federation/hidden_metrics.h"

namespace dtnn::federation {

absl::Status Attempt::AverageOfPlain() {
  std::vector<double> total(values_);
  for (const int position : survivors_) {
    const std::vector<float>& values = places_[size_t(position)].values;
    for (size_t i = 0; i < values_; ++i) total[i] += values[i];
  }
  average_.resize(values_);
  const double all = divisor();
  for (size_t i = 0; i < values_; ++i) average_[i] = float(total[i] / all);
  return absl::OkStatus();
}

// All updates are there, and nothing hides their sum but encryption.
absl::Status Attempt::AddUp(Clock::time_point now) {
  phase_ = Phase::kDone;
  if (protector_->protection() == Protection::kNone) return AverageOfPlain();
  for (size_t chunk = 0; chunk < chunks(); ++chunk) {
    DTNN_ASSIGN_OR_RETURN(codec::UpdateSum sum, codec_->NewSum(IdOf(chunk), ChunkSize(chunk)));
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

// From the last numbers of the mean. Clients that name other metrics than the first one have made
// numbers whose mean nobody can read.
void Attempt::TakeMetrics() {
  const std::span<const float> mean = std::span(average_).subspan(values_);
  const Metrics* names = nullptr;
  bool alike = true;
  for (const int position : survivors_) {
    const Metrics& own = asked_[size_t(position)].report.metrics;
    if (names == nullptr) names = &own;
    alike = alike && std::ranges::equal(own, *names, {}, &Metrics::value_type::first,
                                        &Metrics::value_type::first);
  }
  if (names != nullptr && alike && !mean.empty()) metrics_ = MetricsOfMean(*names, mean);
  for (Asked& asked : asked_) asked.report.metrics.clear();
  average_.resize(values_);
}

absl::Status Attempt::ReadSums() {
  average_.resize(sum_values_);
  for (size_t chunk = 0; chunk < chunks(); ++chunk) {
    const absl::Status read = sums_[chunk].Read(ChunkOf(average_, chunk));
    // Which part of a decryption is wrong cannot be known: a client that is among them again and
    // again is asked last.
    for (Asked& asked : asked_) asked.disputed |= !read.ok();
    DTNN_RETURN_IF_ERROR(read);
  }
  const double divisor = this->divisor();
  for (float& x : average_) x = float(x / divisor);
  TakeMetrics();
  if (AreNumbersOfNetworks(average_, 1)) return absl::OkStatus();
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
