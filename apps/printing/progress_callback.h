// Shows a trainer's passes as progress lines: one per epoch, which ends with the validation
// metrics, and one per evaluation.
//
// In a federation the lines name the round, and epochs count within it: "Round 2/10, epoch 1/2".
//
// What the whole run will take yet follows from the epochs that are done, with all that happened
// between them; in the first one, from its own progress.

#ifndef DTNN_APPS_PRINTING_PROGRESS_CALLBACK_H_
#define DTNN_APPS_PRINTING_PROGRESS_CALLBACK_H_

#include <optional>
#include <ostream>
#include <string>

#include "apps/printing/progress.h"
#include "models/training/callback.h"

namespace dtnn {

struct ProgressOptions {
  Display display = {};
  bool epochs = true;             // else only evaluations are shown
  ProgressBar::Clock clock = {};  // none: the real one
};

class ProgressCallback : public Callback {
 public:
  ProgressCallback(ProgressOptions options, std::ostream& out);

  absl::Status OnPassBegin(const Pass& pass) override;
  absl::Status OnBatchEnd(const Pass& pass) override;
  absl::Status OnPassEnd(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;
  absl::Status OnRoundBegin(int64_t round, int64_t rounds, int64_t epochs_done) override;

 private:
  bool Shows(const Pass& pass) const;
  double RunLeft(const Pass& pass) const;
  std::string Describe(const Pass& pass) const;

  const ProgressOptions options_;
  std::ostream& out_;
  std::string round_;         // "Round 2/10"; empty: not in a federation
  int64_t before_round_ = 0;  // epochs
  std::optional<ProgressBar> bar_;
  int64_t shown_ = 0;        // samples that the bar knows of
  int64_t done_before_ = 0;  // samples of the epoch that an interrupted run had done
  // Times of the whole epochs of this run.
  double first_begin_ = -1, epoch_begin_ = 0;
  int64_t epochs_done_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_APPS_PRINTING_PROGRESS_CALLBACK_H_
