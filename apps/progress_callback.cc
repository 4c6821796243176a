#include "apps/progress_callback.h"

namespace dtnn {

void ProgressCallback::OnPassBegin(const Pass& pass) {
  if (pass.kind == Pass::Kind::kValidation) return;
  bar_.emplace(
      pass.kind == Pass::Kind::kTest ? "Testing" : EpochDescription(pass.epoch + 1, pass.epochs),
      pass.samples, display_, out_);
  shown_ = 0;
}

void ProgressCallback::OnBatchEnd(const Pass& pass) {
  if (pass.kind == Pass::Kind::kValidation) return;
  const char* prefix = pass.kind == Pass::Kind::kTest ? "test_" : "";
  bar_->Advance(pass.done - shown_,
                [&](std::string& line) { line += pass.averages->Format(prefix); });
  shown_ = pass.done;
}

void ProgressCallback::OnPassEnd(const Pass& pass) {
  if (pass.kind != Pass::Kind::kTest) return;
  bar_->Finish([&](std::string& line) { line += pass.averages->Format("test_"); });
  bar_.reset();
}

bool ProgressCallback::OnEpochEnd(const Pass& training, const Pass* validation) {
  bar_->Finish([&](std::string& line) {
    line += training.averages->Format("");
    if (validation != nullptr) line += ", " + validation->averages->Format("val_");
  });
  bar_.reset();
  return true;
}

}  // namespace dtnn
