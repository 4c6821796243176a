// Writes the page of a run (run_report.h) after each epoch of a trainer, as a whole or not at all,
// so that it can be watched in a browser.
//
//   ReportWriter report({.path = "run.html", .facts = ..., .warn = ...}, *trainer, graph, *store);
//   trainer->Train(training, &validation, epochs, {&report});
//   report.Finish(status);
//
// A page that cannot be written (a full disk) is one warning; training continues, the page of the
// epoch before stays, and the next epoch tries again. For one rank: images are among its samples,
// and counts of the validation are of them unless `confusion` has those of all. Costs what a look
// at each validation prediction costs, and some milliseconds per epoch.

#ifndef DTNN_MODELS_OBSERVE_REPORT_REPORT_WRITER_H_
#define DTNN_MODELS_OBSERVE_REPORT_REPORT_WRITER_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "models/graph/graph.h"
#include "models/observe/report/epochs.h"
#include "models/observe/report/mistakes/confusion_counter.h"
#include "models/observe/report/mistakes/wrong_images.h"
#include "models/observe/report/mistakes/wrong_values.h"
#include "models/observe/report/run_report.h"
#include "models/observe/trace/profile.h"
#include "models/parameters/parameter_store.h"
#include "models/training/callback.h"
#include "models/training/pass_speed.h"
#include "models/training/rates/learning_rate_range.h"
#include "models/training/trainer.h"

namespace dtnn {

struct ReportWriterOptions {
  std::string path = {};
  ReportFacts facts = {};
  LearningRateRange rates = {};                 // of a range test before training
  double parameter_bytes = 0;                   // with gradients and optimizer state
  std::vector<ReportEpoch> earlier = {};        // epochs of the run that this one continues
  const Profile* profile = nullptr;             // that watches the training; null: no times
  const RankWaits* ranks = nullptr;             // that was called before; null: there is one rank
  const ConfusionCounter* confusion = nullptr;  // likewise; null: of this rank's samples
  // Of the epoch that has just ended; none, or nothing: not known.
  std::function<std::optional<double>()> joules = {};
  // Mean power of the training so far, likewise.
  std::function<std::optional<double>()> watts = {};
  std::function<void(std::string_view line)> warn = {};
};

class ReportWriter : public Callback {
 public:
  // All of them must outlive it, but for Finish.
  ReportWriter(ReportWriterOptions options, const Trainer& trainer, const Graph& graph,
               const ParameterStore& store);

  absl::Status OnPassBegin(const Pass& pass) override;
  absl::Status OnBatchEnd(const Pass& pass) override;
  absl::Status OnPassEnd(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;
  // What an evaluation on the test data has given, after training; for Finish.
  void SetTest(NamedMetrics metrics) { report_.test = Curves(std::move(metrics)); }
  // Writes the page once more, with how it ended.
  void Finish(const absl::Status& status);

  const RunReport& report() const { return report_; }

 private:
  // Those that are a number, and so have a curve.
  NamedMetrics Curves(NamedMetrics metrics) const;
  void Write();
  void AddProfile();
  void AddMemory();

  const ReportWriterOptions options_;
  const Trainer& trainer_;
  const Graph& graph_;
  const ParameterStore& store_;
  RunReport report_;
  ConfusionCounter counter_;
  WrongImages wrong_images_;
  WrongValuesFinder wrong_values_;
  PassSpeed speed_;    // of the training
  ReportEpoch epoch_;  // in progress
  bool warned_ = false;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_REPORT_WRITER_H_
