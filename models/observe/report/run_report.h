// A run as a page: what it is, how it went, where its time and its memory went, what it gets wrong.
//
//   RunReport report = {.network = "simplecnn", .data = "mnist", ...};
//   report.epochs.push_back(...);
//   WriteFileAtomically("run.html", FormatRunReport(report));
//
// report_writer.h fills it from a trainer after each epoch. What is not known is left out.

#ifndef DTNN_MODELS_OBSERVE_REPORT_RUN_REPORT_H_
#define DTNN_MODELS_OBSERVE_REPORT_RUN_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/observe/report/epochs.h"
#include "models/observe/report/memory_picture.h"
#include "models/observe/report/mistakes/confusion.h"
#include "models/observe/report/mistakes/wrong_images.h"
#include "models/observe/report/mistakes/wrong_values.h"
#include "models/observe/report/rank_waits.h"
#include "models/observe/report/time_section.h"
#include "models/observe/trace/profile_report.h"
#include "models/plan/plan_layout.h"
#include "models/training/rates/learning_rate_range.h"
#include "models/training/step/metric_averages.h"

namespace dtnn {

// Texts that a program knows and a trainer does not.
struct ReportFacts {
  std::string network = {};   // "simplecnn"
  std::string sentence = {};  // "simplecnn (1.2 M parameters) learns mnist, 48000 samples ..."
  std::string machine = {};
  std::string command = {};  // that repeats the run; in several lines or one
  std::vector<std::string> class_names = {};
};

enum class ReportState : uint8_t { kRunning, kDone, kFailed };

struct RunReport {
  ReportFacts facts;
  LearningRateRange rates = {};  // of a range test before training
  ReportState state = ReportState::kRunning;
  std::string end = {};  // why it failed
  int64_t epochs_wanted = 0;
  std::vector<ReportEpoch> epochs = {};
  BetterOfMetrics better = {};
  NamedMetrics test = {};  // on the test data, after training
  // Of a profile.
  std::optional<ProfileReport> profile = {};
  ActivitySeconds activities = {}, last_epoch = {};
  std::vector<RankWait> ranks = {};  // where there are several
  // Of the plan.
  std::vector<MemoryBuffer> buffers = {};
  int moments = 0;
  PlanMemory memory = {};
  double parameter_bytes = 0;  // with gradients and optimizer state
  // What metrics that are more than a number print, of the last validation, or of the training
  // where there is none; lines with their ends.
  std::string tables = {};
  // Counts of the last validation; images of the samples of this rank.
  Confusion confusion = {};
  std::vector<WrongImage> wrong_images = {};
  // Where targets are values, so many outputs that are labels or quantities.
  std::vector<WrongValues> wrong_values = {};
  bool labels = false;
  int64_t outputs = 0;
};

std::string FormatRunReport(const RunReport& report);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_RUN_REPORT_H_
