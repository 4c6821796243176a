#include "models/energy/energy_meter.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

EnergyMeter::EnergyMeter(std::unique_ptr<EnergySource> source, Warn warn, Clock clock)
    : source_(std::move(source)),
      warn_(std::move(warn)),
      clock_(clock ? std::move(clock) : [watch = Stopwatch()] { return watch.seconds(); }) {}

std::optional<double> EnergyMeter::Read() {
  if (source_ == nullptr) return std::nullopt;
  read_ = clock_();
  const absl::StatusOr<double> joules = source_->Joules();
  if (joules.ok()) return *joules;
  if (warn_) {
    warn_(StrCat("energy is not measured any more: ", joules.status().message(),
                 "; training goes on"));
  }
  source_.reset();
  return std::nullopt;
}

absl::Status EnergyMeter::OnPassBegin(const Pass& pass) {
  if (pass.kind != Pass::Kind::kTraining) return absl::OkStatus();
  begin_ = Read();
  done_before_ = pass.done;
  return absl::OkStatus();
}

absl::Status EnergyMeter::OnBatchEnd(const Pass&) {
  // Often enough for two batches that take long.
  if (source_ != nullptr && clock_() - read_ > EnergySource::kMostSecondsBetween / 6) Read();
  return absl::OkStatus();
}

absl::Status EnergyMeter::OnEpochEnd(const Pass& training, const Pass*) {
  const std::optional<double> end = Read();
  epoch_joules_ = begin_ && end ? std::optional(*end - *begin_) : std::nullopt;
  if (!epoch_joules_) return absl::OkStatus();
  joules_ += *epoch_joules_;
  ++epochs_;
  samples_ += training.done - done_before_;
  return absl::OkStatus();
}

std::string EnergyMeter::Report() const {
  if (epochs_ == 0) return "";
  std::string text =
      absl::StrFormat("**** Energy: %.4g J in %s", joules_, Counted(epochs_, "epoch"));
  if (source_ != nullptr) StrAppend(&text, " (", source_->Describe(), ")");
  if (samples_ > 0) {
    absl::StrAppendFormat(&text, ", %.4g J per training sample", joules_ / double(samples_));
  }
  return text + "\n";
}

}  // namespace dtnn
