// One generation of a run whose ranks come and go (docs/elastic.md), as one of its ranks sees it:
// what it takes over from the generation before, which step it may end with, what it keeps, and
// how it continues with the next.

#ifndef DTNN_MODELS_RUN_GENERATION_H_
#define DTNN_MODELS_RUN_GENERATION_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/callbacks/checkpointer.h"
#include "models/callbacks/epoch_ends.h"
#include "models/callbacks/last_metrics.h"
#include "models/run/lasting_run.h"
#include "models/run/objects/run_log.h"
#include "models/run/prepare/prepared_run.h"

namespace dtnn {

class Generation {
 public:
  struct Options {
    LastingRun& lasting;
    const PreparedRun& run;
    RunLog& log;
    LastMetrics& last_metrics;
    const std::optional<EpochEnds>& ends;    // of a run that trains
    std::function<RunParts()> parts;         // of a run that trains
    std::function<std::string()> history;    // of the epochs that are done
    std::function<bool(std::string&)> save;  // writes a checkpoint of this rank's; the text says so
  };
  // What the options name outlives it.
  explicit Generation(Options options) : o_(std::move(options)) {}

  // With what the others, or this rank, have kept; returns the history.
  absl::StatusOr<std::string> TakeOver();
  // Waits for the next one. Whether the run continues, or has ended well; otherwise `status`, why
  // this one has ended, says why it does not.
  bool JoinNextAfter(absl::Status& status);
  // The same from the last whole step, where there is one, after ranks were lost. If the run does
  // not continue, it is as if ranks could not come and go.
  bool JoinNextAfterLoss(absl::Status& status);
  // More ranks wait, and the next one continues after this step.
  absl::Status JoinNextAfterPause();
  // Whether this is a step after which the run could continue with more ranks: each needs a sample
  // of what is left of the epoch.
  bool MayPause() const;

 private:
  bool Missed(const absl::Status& status) const;
  absl::StatusOr<bool> JoinNext(const std::vector<int>& lost);
  absl::Status Keep();

  Options o_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_GENERATION_H_
