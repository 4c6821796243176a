// Shows a trainer's passes as progress lines: one per epoch, which ends with the validation
// metrics, and one per evaluation.

#ifndef DTNN_APPS_PRINTING_PROGRESS_CALLBACK_H_
#define DTNN_APPS_PRINTING_PROGRESS_CALLBACK_H_

#include <optional>
#include <ostream>

#include "apps/printing/progress.h"
#include "models/training/callback.h"

namespace dtnn {

class ProgressCallback : public Callback {
 public:
  ProgressCallback(const Display& display, std::ostream& out) : display_(display), out_(out) {}

  absl::Status OnPassBegin(const Pass& pass) override;
  absl::Status OnBatchEnd(const Pass& pass) override;
  absl::Status OnPassEnd(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;

 private:
  const Display display_;
  std::ostream& out_;
  std::optional<ProgressBar> bar_;
  int64_t shown_ = 0;  // samples that the bar knows of
};

}  // namespace dtnn

#endif  // DTNN_APPS_PRINTING_PROGRESS_CALLBACK_H_
