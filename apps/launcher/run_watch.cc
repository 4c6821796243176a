#include "apps/launcher/run_watch.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "apps/monitor/metrics_text.h"
#include "apps/monitor/process_metrics.h"
#include "apps/program/log.h"
#include "tensor/text/json_text.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr std::chrono::seconds kMeasureEvery(1);

// "val_" and "test_" go with the names.
std::string_view PrefixOf(const Pass& pass) {
  if (pass.kind == Pass::Kind::kValidation) return "val_";
  return pass.kind == Pass::Kind::kTest ? "test_" : "";
}

void Update(const NamedMetrics& values, NamedMetrics& metrics) {
  for (const auto& [name, value] : values) {
    const auto known = std::ranges::find(metrics, name, &NamedMetrics::value_type::first);
    if (known == metrics.end()) {
      metrics.emplace_back(name, value);
    } else {
      known->second = value;
    }
  }
}

}  // namespace

void RunWatch::OnRanks(int ranks) {
  const std::lock_guard lock(mutex_);
  ranks_ = ranks;
  ++generations_;
}

absl::Status RunWatch::OnRoundBegin(int64_t round, int64_t rounds, int64_t) {
  const std::lock_guard lock(mutex_);
  round_ = round;
  rounds_ = rounds;
  return absl::OkStatus();
}

absl::Status RunWatch::OnPassBegin(const Pass& pass) {
  const std::lock_guard lock(mutex_);
  const bool trains = pass.kind == Pass::Kind::kTraining;
  state_ = trains ? "trains" : pass.kind == Pass::Kind::kTest ? "tests" : "validates";
  if (trains) epochs_ = pass.epochs;
  pass_done_ = pass.done;
  pass_began_ = measured_ = Clock::now();
  measured_samples_ = pass.done;
  return absl::OkStatus();
}

absl::Status RunWatch::OnBatchEnd(const Pass& pass) {
  const std::lock_guard lock(mutex_);
  if (pass.kind != Pass::Kind::kTraining) return absl::OkStatus();
  ++steps_;
  samples_ += pass.done - std::exchange(pass_done_, pass.done);
  const double seconds = SecondsSince(measured_);
  if (seconds < std::chrono::duration<double>(kMeasureEvery).count()) return absl::OkStatus();
  samples_per_second_ = double(pass.done - std::exchange(measured_samples_, pass.done)) / seconds;
  measured_ = Clock::now();
  // On a GPU a step's results come with the next.
  if (pass.averages->samples() > 0) Update(pass.averages->Values(), metrics_);
  return absl::OkStatus();
}

absl::Status RunWatch::OnPassEnd(const Pass& pass) {
  const std::lock_guard lock(mutex_);
  const double seconds = SecondsSince(pass_began_);
  Update(pass.averages->Values(PrefixOf(pass)), metrics_);
  if (pass.kind != Pass::Kind::kTraining) {
    evaluation_.Add(seconds);
    return absl::OkStatus();
  }
  training_.Add(seconds);
  trained_ = seconds;
  return absl::OkStatus();
}

absl::Status RunWatch::OnEpochEnd(const Pass& training, const Pass* validation) {
  const std::lock_guard lock(mutex_);
  epochs_done_ = training.epoch + 1;
  if (last_epochs_.size() == kMostEpochs) last_epochs_.erase(last_epochs_.begin());
  last_epochs_.push_back({epochs_done_, trained_, MetricsOf(training, validation)});
  return absl::OkStatus();
}

std::string RunWatch::Metrics() const {
  MetricsText text;
  const std::lock_guard lock(mutex_);
  text.One("dtnn_run_epochs", "gauge", "Epochs that the run is to train, at most.", epochs_);
  text.One("dtnn_run_epochs_done_total", "counter",
           "Epochs that are done, with those before it was resumed.", epochs_done_);
  if (round_ > 0) {
    text.One("dtnn_run_round", "gauge", "Round of the federation, from 1.", round_);
    text.One("dtnn_run_rounds", "gauge", "Rounds that the federation is to do.", rounds_);
  }
  text.One("dtnn_run_steps_total", "counter", "Steps of training, in this process.", steps_);
  text.One("dtnn_run_samples_total", "counter",
           "Samples trained on, over all ranks, since this process began.", samples_);
  text.One("dtnn_run_samples_per_second", "gauge",
           "Speed of training over all ranks, measured once a second.", samples_per_second_);
  text.Family("dtnn_run_metric", "gauge",
              "Loss and metrics: of the pass that runs, else of the last one; val_..., test_....");
  for (const auto& [name, value] : metrics_) text.Add({{"metric", name}}, value);
  text.Family("dtnn_run_pass_seconds", "histogram",
              "How long passes over data took: epochs of training, and validations and tests.");
  text.Add({{"pass", "training"}}, training_);
  text.Add({{"pass", "evaluation"}}, evaluation_);
  text.One("dtnn_run_ranks", "gauge", "Ranks that train together now.", int64_t{ranks_});
  text.One("dtnn_run_generations_total", "counter",
           "Times that ranks have formed a job: 1, and one more for each change of elastic ranks.",
           generations_);
  AddProcess(text);
  return text.text();
}

std::string RunWatch::Status() const {
  const std::lock_guard lock(mutex_);
  std::string epochs;
  for (const Epoch& epoch : last_epochs_) {
    StrAppend(&epochs, epochs.empty() ? "" : ",\n  ", "{\"epoch\": ", epoch.epoch,
              ", \"seconds\": ", JsonNumber(epoch.seconds),
              ", \"metrics\": ", JsonOf(epoch.metrics), "}");
  }
  return StrCat("{\"state\": \"", state_, "\", \"epochs_done\": ", epochs_done_,
                ", \"epochs\": ", epochs_, ", \"round\": ", round_, ", \"rounds\": ", rounds_,
                ", \"steps\": ", steps_, ", \"samples\": ", samples_, ", \"ranks\": ", ranks_,
                ", \"generations\": ", generations_, ",\n \"metrics\": ", JsonOf(metrics_),
                ",\n \"last_epochs\": [", epochs, "]}\n");
}

}  // namespace dtnn
