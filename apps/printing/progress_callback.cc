#include "apps/printing/progress_callback.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "tensor/stopwatch.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

ProgressOptions WithClock(ProgressOptions options) {
  if (!options.clock) options.clock = [watch = Stopwatch()] { return watch.seconds(); };
  return options;
}

}  // namespace

ProgressCallback::ProgressCallback(ProgressOptions options, std::ostream& out)
    : options_(WithClock(std::move(options))), out_(out) {}

bool ProgressCallback::Shows(const Pass& pass) const {
  return pass.kind == Pass::Kind::kTest || (pass.kind == Pass::Kind::kTraining && options_.epochs);
}

// Negative where nothing is known yet, or nothing comes after this epoch.
double ProgressCallback::RunLeft(const Pass& pass) const {
  const int64_t epochs_left = pass.epochs - pass.epoch;
  if (pass.kind != Pass::Kind::kTraining || epochs_left < 2) return -1;
  const double now = options_.clock(), in_epoch = now - epoch_begin_;
  if (epochs_done_ > 0) {
    const double epoch = (epoch_begin_ - first_begin_) / double(epochs_done_);
    return std::max(epoch - in_epoch, 0.0) + epoch * double(epochs_left - 1);
  }
  const int64_t seen = pass.done - done_before_;
  if (seen <= 0) return -1;
  const double per_sample = in_epoch / double(seen);
  return per_sample *
         (double(pass.samples - pass.done) + double(pass.samples) * double(epochs_left - 1));
}

absl::Status ProgressCallback::OnRoundBegin(int64_t round, int64_t rounds, int64_t epochs_done) {
  round_ = EpochDescription(round, rounds, "Round");
  before_round_ = epochs_done;
  return absl::OkStatus();
}

std::string ProgressCallback::Describe(const Pass& pass) const {
  if (pass.kind == Pass::Kind::kTest) return "Testing";
  const int64_t epoch = pass.epoch - before_round_ + 1, epochs = pass.epochs - before_round_;
  if (round_.empty()) return EpochDescription(epoch, epochs);
  return StrCat(round_, ", ", EpochDescription(epoch, epochs, "epoch"));
}

absl::Status ProgressCallback::OnPassBegin(const Pass& pass) {
  if (!Shows(pass)) return absl::OkStatus();
  if (pass.kind == Pass::Kind::kTraining) {
    epoch_begin_ = options_.clock();
    if (first_begin_ < 0) first_begin_ = epoch_begin_;
    done_before_ = pass.done;
  }
  bar_.emplace(Describe(pass), pass.samples, options_.display, out_, options_.clock, pass.done);
  shown_ = pass.done;
  return absl::OkStatus();
}

absl::Status ProgressCallback::OnBatchEnd(const Pass& pass) {
  if (!Shows(pass)) return absl::OkStatus();
  const char* prefix = pass.kind == Pass::Kind::kTest ? "test_" : "";
  if (options_.display.live) bar_->set_run_left(RunLeft(pass));
  bar_->Advance(pass.done - shown_, [&](std::string& line) {
    // On a GPU a step's results come with the next.
    if (pass.averages->samples() > 0) line += pass.averages->Format(prefix);
  });
  shown_ = pass.done;
  return absl::OkStatus();
}

absl::Status ProgressCallback::OnPassEnd(const Pass& pass) {
  if (pass.kind != Pass::Kind::kTest) return absl::OkStatus();
  // Other ranks, which no step of a test waits for, are done only now.
  bar_->Advance(0, [](std::string&) {});
  bar_->Finish([&](std::string& line) { line += pass.averages->Format("test_"); });
  bar_.reset();
  out_ << pass.averages->Report("test_") << std::flush;
  return absl::OkStatus();
}

absl::Status ProgressCallback::OnEpochEnd(const Pass& training, const Pass* validation) {
  if (!Shows(training)) return absl::OkStatus();
  // The first epoch of a run that was interrupted in the middle says nothing of others.
  if (done_before_ == 0) {
    ++epochs_done_;
  } else {
    first_begin_ = -1;
  }
  bar_->Finish([&](std::string& line) {
    line += training.averages->Format("");
    if (validation != nullptr) line += ", " + validation->averages->Format("val_");
    if (training.epsilon) {
      // An upper bound, so it is rounded up.
      absl::StrAppendFormat(&line, ", %s: %.4f", kEpsilonName,
                            std::ceil(*training.epsilon * 1e4) / 1e4);
    }
  });
  bar_.reset();
  out_ << training.averages->Report("");
  if (validation != nullptr) out_ << validation->averages->Report("val_");
  out_ << std::flush;
  return absl::OkStatus();
}

}  // namespace dtnn
