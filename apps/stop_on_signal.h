// Ends training in order after a Ctrl-C or SIGTERM: after the same step on all ranks, whichever of
// them the signal reached, with a checkpoint where there are any.
//
// With several ranks each step carries a message of four bytes that is on its way while the step is
// computed; a signal ends the run after the step in which it came or the one behind it.

#ifndef DTNN_APPS_STOP_ON_SIGNAL_H_
#define DTNN_APPS_STOP_ON_SIGNAL_H_

#include <memory>

#include "absl/status/status.h"
#include "apps/interrupt.h"
#include "comm/communicator.h"
#include "models/callback.h"
#include "models/checkpointer.h"
#include "models/trainer.h"
#include "tensor/tensor.h"

namespace dtnn {

class StopOnSignal : public Callback {
 public:
  // `checkpointer` and `communicator` may be null; everything must outlive this.
  StopOnSignal(const Interrupt& interrupt, Trainer& trainer, Checkpointer* checkpointer,
               Communicator* communicator)
      : interrupt_(interrupt),
        trainer_(trainer),
        checkpointer_(checkpointer),
        communicator_(communicator) {}

  absl::Status OnBatchBegin(const Pass& pass) override;
  absl::Status OnBatchEnd(const Pass& pass) override;

  // The signal that ended the run, of any rank; 0: none has.
  int signal() const { return signal_; }

 private:
  const Interrupt& interrupt_;
  Trainer& trainer_;
  Checkpointer* checkpointer_;
  Communicator* communicator_;
  Tensor seen_;  // the highest signal number among the ranks
  std::unique_ptr<Work> exchange_;
  int signal_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_APPS_STOP_ON_SIGNAL_H_
