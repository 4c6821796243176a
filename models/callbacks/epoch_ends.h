// Where a run is, for code that saves it or hands it over after something failed.
//
// The end of an epoch has parts that may fail: callbacks write files and meet other ranks. While
// not all of them have done theirs, the run is where its pass of training ended, with the
// schedulers as they were then; from there the end of the epoch is done again as a whole. Otherwise
// a history would lack the epoch's line, or a scheduler would see the epoch twice or never. But
// where schedulers have brought an earlier epoch's parameters back, all have seen this one, and it
// has ended.

#ifndef DTNN_MODELS_CALLBACKS_EPOCH_ENDS_H_
#define DTNN_MODELS_CALLBACKS_EPOCH_ENDS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/callbacks/schedule.h"
#include "models/checkpoint/training_state.h"
#include "models/training/callback.h"
#include "models/training/trainer.h"

namespace dtnn {

// The first of a run's callbacks.
class EpochEnds : public Callback {
 public:
  // Both must outlive it.
  EpochEnds(Trainer& trainer, const Schedule& schedule) : trainer_(trainer), schedule_(schedule) {}

  absl::Status OnPassBegin(const Pass& pass) override;
  absl::Status OnPassEnd(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;
  // Training has ended: so has the last epoch.
  void Finish() { ending_ = false; }

  // The pass of training that was begun last.
  const Pass* pass() const { return pass_; }

  // The state of the run as this rank knows it without the others (Trainer::StateAlone), with the
  // schedulers'.
  absl::StatusOr<TrainingState> State() const;

 private:
  absl::StatusOr<TrainingState> Now() const;

  Trainer& trainer_;
  const Schedule& schedule_;
  bool ending_ = false;
  TrainingState before_end_;
  const Pass* pass_ = nullptr;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACKS_EPOCH_ENDS_H_
