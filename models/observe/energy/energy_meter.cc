#include "models/observe/energy/energy_meter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "comm/gather_values.h"
#include "tensor/status_macros.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

// Between two readings: often enough for two batches that take long; for a trace, to see power
// change, where that costs no more than a hundredth of the time.
constexpr double kUsualPause = EnergySource::kMostSecondsBetween / 6, kTracePause = 0.1;
constexpr double kPausePerReading = 100;

double PauseAfter(double reading_seconds) {
  if (CurrentObserver() == nullptr) return kUsualPause;
  return std::min(kUsualPause, std::max(kTracePause, kPausePerReading * reading_seconds));
}

}  // namespace

absl::StatusOr<bool> FirstOnItsHost(Communicator& communicator) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<int> hosts,
                        GatherValues(communicator, communicator.place().node));
  return std::ranges::find(hosts, hosts[size_t(communicator.rank())]) ==
         hosts.begin() + communicator.rank();
}

EnergyMeter::EnergyMeter(EnergyMeterOptions options) : options_(std::move(options)) {
  if (!options_.clock) options_.clock = [watch = Stopwatch()] { return watch.seconds(); };
}

std::optional<double> EnergyMeter::Read() {
  if (options_.source == nullptr) return std::nullopt;
  Event event = {.activity = Activity::kEnergy, .begin = TraceClock()};
  Observer* const observer = CurrentObserver();
  if (observer != nullptr) observer->Begin(event);
  const double before = options_.clock();
  const absl::StatusOr<double> joules = options_.source->Joules();
  read_ = options_.clock();
  pause_ = PauseAfter(read_ - before);
  if (observer != nullptr) {
    event.bytes = joules.ok() ? std::llround(1e6 * *joules) : 0;
    event.end = TraceClock();
    observer->End(event);
  }
  if (joules.ok()) return *joules;
  if (options_.warn) {
    options_.warn(StrCat("energy is not measured any more: ", joules.status().message(),
                         "; training continues"));
  }
  options_.source.reset();
  return std::nullopt;
}

absl::Status EnergyMeter::OnPassBegin(const Pass& pass) {
  if (pass.kind != Pass::Kind::kTraining) return absl::OkStatus();
  begin_ = Read();
  epoch_began_ = options_.clock();
  done_before_ = pass.done;
  return absl::OkStatus();
}

absl::Status EnergyMeter::OnBatchEnd(const Pass&) {
  if (options_.source != nullptr && options_.clock() - read_ > pause_) Read();
  return absl::OkStatus();
}

// `mine`: of this machine. Returns, on all ranks, the sum over all machines that were read.
absl::StatusOr<std::optional<double>> EnergyMeter::SumOverRanks(std::optional<double> mine) {
  if (options_.communicator == nullptr) return mine;
  constexpr double kNotExpected = 0, kRead = 1, kMissing = 2;
  const double state = mine ? kRead : options_.expected ? kMissing : kNotExpected;
  const double facts[] = {state, mine.value_or(0)};
  DTNN_ASSIGN_OR_RETURN(const std::vector<double> all,
                        GatherValues<double>(*options_.communicator, facts));
  std::optional<double> sum;
  std::vector<int> missing;
  machines_ = 0;
  for (size_t i = 0; i < all.size(); i += std::size(facts)) {
    if (all[i] == kMissing) missing.push_back(int(i / std::size(facts)));
    if (all[i] != kRead) continue;
    ++machines_;
    sum = sum.value_or(0) + all[i + 1];
  }
  if (sum && missing != std::exchange(missing_, missing) && !missing.empty() && options_.warn) {
    options_.warn(StrCat("energy lacks that of the machines of ",
                         missing.size() > 1 ? "ranks " : "rank ", absl::StrJoin(missing, ", "),
                         ", which do not tell theirs"));
  }
  return sum;
}

absl::Status EnergyMeter::OnEpochEnd(const Pass& training, const Pass*) {
  const std::optional<double> end = Read();
  DTNN_ASSIGN_OR_RETURN(epoch_joules_,
                        SumOverRanks(begin_ && end ? std::optional(*end - *begin_) : std::nullopt));
  if (!epoch_joules_) return absl::OkStatus();
  joules_ += *epoch_joules_;
  seconds_ += options_.clock() - epoch_began_;
  ++epochs_;
  samples_ += training.done - done_before_;
  return absl::OkStatus();
}

std::optional<double> EnergyMeter::watts() const {
  return seconds_ > 0 ? std::optional(joules_ / seconds_) : std::nullopt;
}

std::string EnergyMeter::Report() const {
  if (epochs_ == 0) return "";
  std::string text =
      absl::StrFormat("**** Energy: %.4g J in %s", joules_, Counted(epochs_, "epoch"));
  std::vector<std::string> of;
  if (options_.source != nullptr) of.push_back(options_.source->Describe());
  if (machines_ > 1) of.push_back(Counted(machines_, "machine"));
  if (!of.empty()) StrAppend(&text, " (", absl::StrJoin(of, "; "), ")");
  if (samples_ > 0) {
    absl::StrAppendFormat(&text, ", %.4g J per training sample", joules_ / double(samples_));
  }
  return text + "\n";
}

}  // namespace dtnn
