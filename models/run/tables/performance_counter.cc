#include "models/run/tables/performance_counter.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/str_format.h"
#include "tensor/stopwatch.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// The largest resident size so far.
double PeakMebibytes() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  return double(used.ru_maxrss) / 1024;
}

double EstimateFromLastHalf(const std::vector<double>& seconds) {
  const size_t first = seconds.size() / 2, half = seconds.size() - first;
  const double sum = std::accumulate(seconds.begin() + ptrdiff_t(first), seconds.end(), 0.0);
  return half == 0 ? 0 : sum * double(seconds.size()) / double(half);
}

double Rate(int64_t samples, double seconds) { return seconds > 0 ? double(samples) / seconds : 0; }

std::string Boxed(const std::string& title) {
  const std::string edge = "+" + std::string(title.size() + 2, '-') + "+\n";
  return StrCat(edge, "| ", title, " |\n", edge);
}

}  // namespace

PerformanceCounter::PerformanceCounter()
    : PerformanceCounter({.seconds = [watch = Stopwatch()] { return watch.seconds(); },
                          .mebibytes = PeakMebibytes}) {}

PerformanceCounter::PerformanceCounter(Meters meters) : meters_(std::move(meters)) {}

PerformanceCounter::Totals* PerformanceCounter::TotalsOf(const Pass& pass) {
  switch (pass.kind) {
    case Pass::Kind::kTraining:
      return &training_;
    case Pass::Kind::kTest:
      return &testing_;
    case Pass::Kind::kValidation:
      break;
  }
  return nullptr;
}

absl::Status PerformanceCounter::OnPassBegin(const Pass& pass) {
  seconds_.clear();
  done_ = pass.done;
  return absl::OkStatus();
}

absl::Status PerformanceCounter::OnBatchBegin(const Pass& /*pass*/) {
  begin_ = meters_.seconds();
  return absl::OkStatus();
}

absl::Status PerformanceCounter::OnBatchEnd(const Pass& pass) {
  Totals* const totals = TotalsOf(pass);
  if (totals == nullptr) return absl::OkStatus();
  end_ = meters_.seconds();
  seconds_.push_back(end_ - begin_);
  const double memory = meters_.mebibytes();
  ++totals->batches;
  totals->seconds += seconds_.back();
  totals->samples += pass.done - std::exchange(done_, pass.done);
  totals->memory_sum += memory;
  totals->most_memory = std::max(totals->most_memory, memory);
  return absl::OkStatus();
}

absl::Status PerformanceCounter::OnPassEnd(const Pass& pass) {
  Totals* const totals = TotalsOf(pass);
  if (totals == nullptr) return absl::OkStatus();
  ++totals->passes;
  totals->estimate += EstimateFromLastHalf(seconds_);
  if (pass.kind != Pass::Kind::kTest || seconds_.empty()) return absl::OkStatus();
  const double waited = meters_.seconds() - end_;
  totals->seconds += waited;
  totals->estimate += waited;
  return absl::OkStatus();
}

std::string PerformanceCounter::Report() const {
  std::string text;
  for (const bool training : {true, false}) {
    const Totals& totals = training ? training_ : testing_;
    if (totals.passes == 0 || totals.batches == 0) continue;
    const std::string what = training ? "Training" : "Testing";
    StrAppend(&text,
              Boxed(StrCat("Performance counter ", training ? "training" : "testing", " report")),
              absl::StrFormat("%s time (from model): %5.4f s\n", what, totals.seconds),
              absl::StrFormat("%s time per epoch (from model): %5.4f s\n", what,
                              totals.seconds / double(totals.passes)),
              absl::StrFormat("%s throughput (from model): %5.4f samples/s, steps only\n", what,
                              Rate(totals.samples, totals.seconds)),
              absl::StrFormat("%s time (estimated from the last half of each epoch): %5.4f s\n",
                              what, totals.estimate),
              absl::StrFormat(
                  "%s throughput (estimated from the last half of each epoch): %5.4f samples/s, "
                  "warmed up\n",
                  what, Rate(totals.samples, totals.estimate)),
              absl::StrFormat("%s maximum memory: %.2f MiB\n", what, totals.most_memory),
              absl::StrFormat("%s mean memory: %.2f MiB\n", what,
                              totals.memory_sum / double(totals.batches)));
  }
  return text;
}

}  // namespace dtnn
