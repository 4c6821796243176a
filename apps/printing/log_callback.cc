#include "apps/printing/log_callback.h"

#include <string>

#include "apps/printing/progress.h"
#include "models/training/trainer.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

std::vector<LogField> LogCallback::FieldsOf(const Pass& pass, double seconds,
                                            const NamedMetrics& metrics) const {
  std::vector<LogField> fields;
  if (pass.trainer != nullptr) {
    fields.push_back(LogFieldOf("step", pass.trainer->steps_done()));
  }
  fields.push_back(LogFieldOf("samples", pass.done));
  fields.push_back(LogFieldOf("seconds", seconds));
  if (!metrics.empty()) fields.push_back(LogFieldOf("loss", metrics[0].second));
  fields.push_back(LogFieldOf("metrics", metrics));
  return fields;
}

absl::Status LogCallback::OnRoundBegin(int64_t round, int64_t, int64_t epochs_done) {
  round_ = round;
  before_round_ = epochs_done;
  return absl::OkStatus();
}

absl::Status LogCallback::OnPassBegin(const Pass& pass) {
  if (pass.kind == Pass::Kind::kTraining) training_.emplace();
  if (pass.kind == Pass::Kind::kTest) test_.emplace();
  return absl::OkStatus();
}

absl::Status LogCallback::OnPassEnd(const Pass& pass) {
  if (pass.kind == Pass::Kind::kTraining && training_) trained_ = training_->seconds();
  if (pass.kind != Pass::Kind::kTest || !test_) return absl::OkStatus();
  WriteLog(out_, Severity::kInfo, "Testing\n",
           FieldsOf(pass, test_->seconds(), pass.averages->Values("test_")));
  out_ << pass.averages->Report("test_") << std::flush;
  return absl::OkStatus();
}

absl::Status LogCallback::OnEpochEnd(const Pass& training, const Pass* validation) {
  if (!epochs_) return absl::OkStatus();
  const int64_t epoch = training.epoch - before_round_ + 1;
  const int64_t epochs = training.epochs - before_round_;
  std::vector<LogField> fields;
  if (round_) fields.push_back(LogFieldOf("round", *round_));
  fields.push_back(LogFieldOf("epoch", epoch));
  fields.push_back(LogFieldOf("epochs", epochs));
  for (LogField& field : FieldsOf(training, trained_, MetricsOf(training, validation))) {
    fields.push_back(std::move(field));
  }
  WriteLog(out_, Severity::kInfo, StrCat(EpochDescription(epoch, epochs), "\n"), fields);
  return absl::OkStatus();
}

}  // namespace dtnn
