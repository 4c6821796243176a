#include "apps/printing/progress_callback.h"

namespace dtnn {

absl::Status ProgressCallback::OnPassBegin(const Pass& pass) {
  if (pass.kind == Pass::Kind::kValidation) return absl::OkStatus();
  bar_.emplace(
      pass.kind == Pass::Kind::kTest ? "Testing" : EpochDescription(pass.epoch + 1, pass.epochs),
      pass.samples, display_, out_);
  shown_ = 0;
  return absl::OkStatus();
}

absl::Status ProgressCallback::OnBatchEnd(const Pass& pass) {
  if (pass.kind == Pass::Kind::kValidation) return absl::OkStatus();
  const char* prefix = pass.kind == Pass::Kind::kTest ? "test_" : "";
  bar_->Advance(pass.done - shown_,
                [&](std::string& line) { line += pass.averages->Format(prefix); });
  shown_ = pass.done;
  return absl::OkStatus();
}

absl::Status ProgressCallback::OnPassEnd(const Pass& pass) {
  if (pass.kind != Pass::Kind::kTest) return absl::OkStatus();
  bar_->Finish([&](std::string& line) { line += pass.averages->Format("test_"); });
  bar_.reset();
  out_ << pass.averages->Report("test_") << std::flush;
  return absl::OkStatus();
}

absl::Status ProgressCallback::OnEpochEnd(const Pass& training, const Pass* validation) {
  bar_->Finish([&](std::string& line) {
    line += training.averages->Format("");
    if (validation != nullptr) line += ", " + validation->averages->Format("val_");
  });
  bar_.reset();
  out_ << training.averages->Report("");
  if (validation != nullptr) out_ << validation->averages->Report("val_");
  out_ << std::flush;
  return absl::OkStatus();
}

}  // namespace dtnn
