// The loss and metrics of every epoch, in a file that is whole after every epoch: a crash loses
// none that ended. The ending of its name says in which form:
//
//   none, .txt, .log, .dat
//            a line per epoch: its number from 0 in 3 columns, then every metric in 20 columns with
//            4 decimals, those of training before those of validation
//   .csv     a line of names, then a line per epoch
//   .jsonl   an object per line: {"epoch": 1, "learning_rate": 0.01, "loss": ..., "val_loss": ...}
//
// .csv and .jsonl hold full names as keys (epoch, from 1; learning_rate; the loss's name; ...) and
// values in full precision; NaN and infinity are null in .jsonl. A file that holds anything else
// than a history of its form is never overwritten.

#ifndef DTNN_MODELS_CALLBACKS_HISTORY_H_
#define DTNN_MODELS_CALLBACKS_HISTORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/callbacks/history_form.h"
#include "models/training/callback.h"
#include "models/training/trainer.h"

namespace dtnn {

class History : public Callback {
 public:
  // Whether there can be a history of that name: the folder takes files, and what is there already
  // is nothing or a history, of any run. For a run to ask before it loads data.
  static absl::Status Check(std::string_view path);

  // Of a run with these metrics, `validates`: of the validation too. Begins a new file with the
  // first epoch that ends. The lines of the first `epochs_done` epochs of a file that is there are
  // kept: those of the run that this one continues. The trainer must outlive the history. DataLoss
  // where the file has fewer lines, FailedPrecondition where they have other columns; else as
  // Check.
  static absl::StatusOr<std::unique_ptr<History>> Create(std::string_view path,
                                                         const Trainer& trainer,
                                                         const MetricSet& metric_set,
                                                         bool validates, int64_t epochs_done);

  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;

 private:
  static bool BeginsHistory(HistoryForm form, std::string_view line);
  absl::Status CheckColumns(const std::vector<std::string>& expected) const;

  History(std::string_view path, HistoryForm form, const Trainer& trainer)
      : path_(path), form_(form), trainer_(&trainer) {}
  std::string Line(const Pass& training, const Pass* validation) const;

  const std::string path_;
  const HistoryForm form_;
  const Trainer* trainer_;
  std::string text_;  // of the whole file
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACKS_HISTORY_H_
