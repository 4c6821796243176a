// The sum of an attempt, and its mean.

#include <map>
#include <memory>
#include <utility>

#include "comm/federation/aggregator/attempt/attempt.h"
#include "comm/federation/aggregator/attempt_numbers.h"
#include "comm/federation/hidden_metrics.h"
#include "comm/federation/privacy/privacy.h"

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
  BeginSum();
  return absl::OkStatus();
}

void Attempt::BeginSum() {
  std::map<int, double> factors;
  for (const int position : survivors_) factors[position] = asked_[size_t(position)].factor;
  const auto work = std::make_shared<std::packaged_task<Made()>>(
      [protocol = protocol_.get(), sum = sum_, readable = protector_->readable(),
       factors = std::move(factors), begins = options_.sum_begins, stop = stop_.get_token()] {
        if (begins) begins(stop);
        Made made = {.finished = protocol->FinishReplies(stop)};
        if (!made.finished.ok()) return made;
        if (readable) {
          made.mean = sum->Mean(factors, stop);
        } else {
          made.encrypted = sum->Encrypted(stop);
        }
        return made;
      });
  made_ = work->get_future();
  silent_ = Silent();
  phase_ = Phase::kSum;
  until_ = Clock::time_point::max();
  Do([work] { (*work)(); });
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

// Once it is made.
absl::Status Attempt::EndSum() {
  if (made_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return absl::OkStatus();
  }
  Made made = made_.get();
  DTNN_RETURN_IF_ERROR(failure_);  // by Revoke
  if (!made.finished.ok()) LeaveOutSilent(silent_);
  if (absl::IsDataLoss(made.finished) || !made.mean.ok()) DoubtAll();
  NameLiars();
  DTNN_RETURN_IF_ERROR(made.finished);
  DTNN_ASSIGN_OR_RETURN(average_, std::move(made.mean));
  DTNN_ASSIGN_OR_RETURN(encrypted_, std::move(made.encrypted));
  phase_ = Phase::kDone;
  if (!protector_->readable()) return absl::OkStatus();
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
