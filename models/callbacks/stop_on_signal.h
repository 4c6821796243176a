// Ends training cleanly after a signal (interrupt.h): after the same step on all ranks, whichever
// of them received the signal, and with a checkpoint if the run has any. Likewise, but without a
// checkpoint, ranks pause when one of them finds a reason, such as others that want to take part.
//
// Several ranks exchange one message of four bytes per `every` steps, while they compute. So a
// signal ends the run within twice as many steps, and ranks wait for one that is `every` steps
// late.

#ifndef DTNN_MODELS_CALLBACKS_STOP_ON_SIGNAL_H_
#define DTNN_MODELS_CALLBACKS_STOP_ON_SIGNAL_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/ranks/job/interrupt.h"
#include "models/callbacks/checkpointer.h"
#include "models/training/callback.h"
#include "models/training/trainer.h"
#include "tensor/tensor.h"

namespace dtnn {

class StopOnSignal : public Callback {
 public:
  // `checkpointer` and `communicator` may be null; everything must outlive this.
  // `every`: how often ranks meet anyway, in steps. `pause`: whether this rank has a reason to; no
  // function: never.
  StopOnSignal(const Interrupt& interrupt, Trainer& trainer, Checkpointer* checkpointer,
               Communicator* communicator, int64_t every = 1, std::function<bool()> pause = {})
      : interrupt_(interrupt),
        trainer_(trainer),
        checkpointer_(checkpointer),
        communicator_(communicator),
        every_(every),
        pause_(std::move(pause)) {}

  absl::Status OnBatchBegin(const Pass& pass) override;
  absl::Status OnBatchEnd(const Pass& pass) override;
  // After training has ended on all ranks: they agree on signals that arrived since.
  absl::Status Finish();

  // The signal that ended the run, on any rank; 0: none did.
  int signal() const { return signal_; }
  // Training was stopped for a reason of some rank's to pause, and not by a signal.
  bool paused() const { return paused_; }

 private:
  absl::Status StartExchange();
  absl::Status FinishExchange();

  const Interrupt& interrupt_;
  Trainer& trainer_;
  Checkpointer* checkpointer_;
  Communicator* communicator_;
  const int64_t every_;
  const std::function<bool()> pause_;
  int64_t steps_ = 0;  // of training, here
  Tensor seen_;        // the most among the ranks: twice a signal's number, and 1 to pause
  std::unique_ptr<Work> exchange_;
  int signal_ = 0;
  bool pauses_ = false, paused_ = false;  // some rank wants to; and all have stopped for it
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACKS_STOP_ON_SIGNAL_H_
