#include "models/checkpointer.h"

#include <utility>
#include <vector>

#include "tensor/status_macros.h"

namespace dtnn {

void Checkpointer::Say(const std::vector<std::string>& warnings) const {
  if (!options_.say) return;
  for (const std::string& warning : warnings) options_.say(warning);
}

absl::StatusOr<std::string> Checkpointer::Resume() {
  DTNN_RETURN_IF_ERROR(Prepare(/*resume=*/true));
  absl::StatusOr<CheckpointFolder::Latest> latest =
      folder_.Newest(*run_.graph, *run_.store, *run_.context, run_.optimizer);
  if (absl::IsNotFound(latest.status())) return "";
  if (!latest.ok()) return latest.status();
  Say(latest->warnings);
  Say(latest->checkpoint.warnings());
  const RunState& state = latest->checkpoint.run();
  // All that may refuse comes before the first change.
  DTNN_RETURN_IF_ERROR(run_.trainer->CheckState(state.training));
  DTNN_RETURN_IF_ERROR(run_.schedule->Restore(state.training, state.kept));
  DTNN_RETURN_IF_ERROR(run_.trainer->Restore(state.training));
  DTNN_RETURN_IF_ERROR(latest->checkpoint.Apply(*run_.store, *run_.context));
  return newest_ = latest->path;
}

absl::Status Checkpointer::Save() {
  DTNN_ASSIGN_OR_RETURN(TrainingState training, run_.trainer->State());
  return options_.writes ? Write(std::move(training)) : absl::OkStatus();
}

absl::Status Checkpointer::SaveAlone() {
  DTNN_ASSIGN_OR_RETURN(TrainingState training, run_.trainer->StateAlone());
  return Write(std::move(training));
}

absl::Status Checkpointer::Write(TrainingState training) {
  RunState state{.optimizer = run_.optimizer, .training = std::move(training)};
  run_.schedule->AddTo(state.training);
  state.kept = run_.schedule->kept();
  DTNN_ASSIGN_OR_RETURN(const CheckpointFolder::Saved saved,
                        folder_.Save(*run_.graph, *run_.store, *run_.context, state));
  Say(saved.warnings);
  newest_ = saved.path;
  return absl::OkStatus();
}

absl::Status Checkpointer::OnBatchEnd(const Pass& pass) {
  if (pass.kind != Pass::Kind::kTraining || options_.every_steps == 0) return absl::OkStatus();
  // The end of an epoch has its own turn.
  due_ |= pass.step % options_.every_steps == 0;
  if (pass.step == pass.steps) due_ = false;
  if (!due_ || !run_.trainer->settled()) return absl::OkStatus();
  due_ = false;
  return Save();
}

absl::Status Checkpointer::OnEpochEnd(const Pass& training, const Pass* /*validation*/) {
  const int64_t done = training.epoch + 1;
  const bool last = done == training.epochs || run_.trainer->stopped();
  if (done % options_.every_epochs != 0 && !last) return absl::OkStatus();
  return Save();
}

}  // namespace dtnn
