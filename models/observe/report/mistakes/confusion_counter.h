// Counts which classes the last validation took for which (confusion.h), of the samples, or of the
// labelled pixels, of all ranks.

#ifndef DTNN_MODELS_OBSERVE_REPORT_MISTAKES_CONFUSION_COUNTER_H_
#define DTNN_MODELS_OBSERVE_REPORT_MISTAKES_CONFUSION_COUNTER_H_

#include "comm/communicator.h"
#include "models/observe/report/mistakes/confusion.h"
#include "models/training/callback.h"
#include "tensor/format.h"

namespace dtnn {

// A callback. All ranks call it together; at the end of an epoch they add up their counts, 8 MB at
// most.
class ConfusionCounter : public Callback {
 public:
  // `communicator`: null for one rank; must outlive it. `format`: of the network, whose output may
  // be an image.
  ConfusionCounter(Communicator* communicator, TensorFormat format)
      : communicator_(communicator), format_(format) {}

  absl::Status OnPassBegin(const Pass& pass) override;
  absl::Status OnBatchEnd(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;

  // Counts of the last epoch's validation; on all ranks the same.
  const Confusion& confusion() const { return confusion_; }

 private:
  Communicator* const communicator_;
  const TensorFormat format_;
  Confusion confusion_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_MISTAKES_CONFUSION_COUNTER_H_
