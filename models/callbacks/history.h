// The loss and metrics of every epoch in a file that is complete after every epoch, so that a crash
// loses no finished epoch. The ending of its name decides the format:
//
//   none, .txt, .log, .dat
//            a line per epoch: its number from 0 in 3 columns, then every metric in 20 columns with
//            4 decimals, those of training before those of validation
//   .csv     a line of names, then a line per epoch
//   .jsonl   an object per line: {"epoch": 1, "learning_rate": 0.01, "loss": ..., "val_loss": ...}
//
// .csv and .jsonl have full names as keys (epoch, from 1; learning_rate; the loss's name; ...) and
// values in full precision; NaN and infinity are null in .jsonl. Results on the test data, after
// training, are columns and keys of the last epoch only ("test_" before their names; empty fields
// in other lines of a .csv), in columns of text a last line that begins with "#". A file that is
// not a history of this format is never overwritten.

#ifndef DTNN_MODELS_CALLBACKS_HISTORY_H_
#define DTNN_MODELS_CALLBACKS_HISTORY_H_

#include <cstdint>
#include <functional>
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
  // Checks that a history can be written to this path: the folder is writable, and the file does
  // not exist or is a history of any run. For a run to call before it loads data. `loss`: the name
  // of a loss that is not one of this library's.
  static absl::Status Check(std::string_view path, std::string_view loss = {});

  // For a run with these metrics; with `validates`, also those of the validation. A new file is
  // written after the first epoch. Of an existing file, the lines of the first `epochs_done` epochs
  // are kept: those of the run that this one continues. The trainer must outlive the history.
  // DataLoss if the file has fewer lines, FailedPrecondition if they have other columns; else as
  // Check. A file that cannot be written later (a full disk) is one warning, the file of the epoch
  // before stays, and the next epoch tries again; without `warn` it is an error that ends the run.
  using Warn = std::function<void(std::string_view line)>;
  static absl::StatusOr<std::unique_ptr<History>> Create(std::string_view path,
                                                         const Trainer& trainer,
                                                         const MetricSet& metric_set,
                                                         bool validates, int64_t epochs_done,
                                                         Warn warn = {});

  // A history that a run holds in memory, of which the lines of the first `epochs_done` epochs are
  // kept; one that `writes` is on the disk when this returns. For ranks of which any may have to
  // write it one day: nothing is missing in `text` of each.
  static absl::StatusOr<std::unique_ptr<History>> Continue(std::string_view path,
                                                           const Trainer& trainer,
                                                           std::string_view text,
                                                           int64_t epochs_done, bool writes,
                                                           Warn warn = {});

  // What the file holds, or would.
  const std::string& text() const { return text_; }
  void set_writes(bool writes) { writes_ = writes; }
  // Writes the file, where it `writes`.
  absl::Status Write();
  // Writes it in another rank's place, unless the file goes further: that rank may have ended an
  // epoch, and saved a checkpoint of it, before this one knew that it had ended.
  absl::Status WriteWhatIsMissing();

  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;
  // Adds results on the test data, named with "test_", after the last epoch; nothing without one.
  absl::Status AddTest(const NamedMetrics& metrics);

 private:
  static bool BeginsHistory(HistoryForm form, std::string_view line, std::string_view loss);
  absl::Status CheckColumns(const std::vector<std::string>& expected) const;

  History(std::string_view path, HistoryForm form, const Trainer& trainer)
      : path_(path), form_(form), trainer_(&trainer) {}
  std::string Line(const Pass& training, const Pass* validation) const;

  const std::string path_;
  const HistoryForm form_;
  const Trainer* trainer_;
  Warn warn_;
  bool writes_ = true, warned_ = false;
  std::string text_;  // of the whole file
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACKS_HISTORY_H_
