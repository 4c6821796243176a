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
  facts_.ranks = ranks;
  ++facts_.generations;
}

absl::Status RunWatch::OnRoundBegin(int64_t round, int64_t rounds, int64_t epochs_done) {
  const std::lock_guard lock(mutex_);
  facts_.round = round;
  facts_.rounds = rounds;
  before_round_ = epochs_done;
  return absl::OkStatus();
}

absl::Status RunWatch::OnPassBegin(const Pass& pass) {
  const std::lock_guard lock(mutex_);
  const bool trains = pass.kind == Pass::Kind::kTraining;
  facts_.state = trains ? "trains" : pass.kind == Pass::Kind::kTest ? "tests" : "validates";
  pass_.emplace();
  pass_done_ = pass.done;
  if (!trains) return absl::OkStatus();
  facts_.epochs_done = pass.epoch - before_round_;
  facts_.epochs = pass.epochs - before_round_;
  return absl::OkStatus();
}

absl::Status RunWatch::OnBatchEnd(const Pass& pass) {
  if (pass.kind != Pass::Kind::kTraining) return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  ++facts_.steps;
  facts_.samples += pass.done - std::exchange(pass_done_, pass.done);
  return absl::OkStatus();
}

absl::Status RunWatch::OnPassEnd(const Pass& pass) {
  const NamedMetrics metrics = pass.averages->Values(PrefixOf(pass));
  const std::lock_guard lock(mutex_);
  const double seconds = pass_ ? pass_->seconds() : 0;
  if (!hides_metrics_) Update(metrics, facts_.metrics);
  if (pass.kind == Pass::Kind::kTraining) trained_ = seconds;
  (pass.kind == Pass::Kind::kTraining ? facts_.training : facts_.evaluation).Add(seconds);
  return absl::OkStatus();
}

absl::Status RunWatch::OnEpochEnd(const Pass& training, const Pass* validation) {
  const NamedMetrics metrics = hides_metrics_ ? NamedMetrics() : MetricsOf(training, validation);
  const std::lock_guard lock(mutex_);
  facts_.epochs_done = training.epoch + 1 - before_round_;
  if (epochs_.size() == kMostEpochs) epochs_.pop_front();
  epochs_.push_back(std::make_shared<const std::string>(
      StrCat("{\"round\": ", facts_.round, ", \"epoch\": ", facts_.epochs_done,
             ", \"seconds\": ", JsonNumber(trained_), ", \"metrics\": ", JsonOf(metrics), "}")));
  return absl::OkStatus();
}

RunWatch::Facts RunWatch::FactsNow() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

std::string RunWatch::Metrics() const {
  const Facts facts = FactsNow();
  MetricsText text;
  text.One("dtnn_run_epochs", "gauge",
           "Epochs to train, at most; of the round, where there is a federation.", facts.epochs);
  text.One("dtnn_run_epochs_done", "gauge",
           "Epochs that are done, with those before the run was resumed.", facts.epochs_done);
  if (facts.round > 0) {
    text.One("dtnn_run_round", "gauge", "Round of the federation, from 1.", facts.round);
    text.One("dtnn_run_rounds", "gauge", "Rounds that the federation is to do.", facts.rounds);
  }
  text.One("dtnn_run_steps_total", "counter", "Steps of training, in this process.", facts.steps);
  text.One("dtnn_run_samples_total", "counter",
           "Samples trained on, over all ranks, since this process began.", facts.samples);
  text.Family("dtnn_run_metric", "gauge",
              "Loss and metrics over all ranks of the last epoch, validation (val_...) and test "
              "(test_...).");
  for (const auto& [name, value] : facts.metrics) text.Add({{"metric", name}}, value);
  text.Family("dtnn_run_pass_seconds", "histogram",
              "How long passes over data took: epochs of training, and validations and tests.");
  text.Add({{"pass", "training"}}, facts.training);
  text.Add({{"pass", "evaluation"}}, facts.evaluation);
  text.One("dtnn_run_ranks", "gauge", "Ranks that train together now.", int64_t{facts.ranks});
  text.One("dtnn_run_generations_total", "counter",
           "Times that ranks have formed the job since this process began.", facts.generations);
  AddProcess(text);
  return text.text();
}

std::string RunWatch::Status() const {
  const Facts facts = FactsNow();
  const auto list = [this] {
    const std::lock_guard lock(mutex_);
    return epochs_;
  }();
  std::string epochs;
  for (const auto& epoch : list) StrAppend(&epochs, epochs.empty() ? "" : ",\n  ", *epoch);
  return StrCat(
      "{\"state\": \"", facts.state, "\", \"epochs_done\": ", facts.epochs_done,
      ", \"epochs\": ", facts.epochs, ", \"round\": ", facts.round, ", \"rounds\": ", facts.rounds,
      ", \"steps\": ", facts.steps, ", \"samples\": ", facts.samples, ", \"ranks\": ", facts.ranks,
      ", \"generations\": ", facts.generations, ",\n \"metrics\": ", JsonOf(facts.metrics),
      ",\n \"last_epochs\": [", epochs, "]}\n");
}

}  // namespace dtnn
