// How long each rank can do nothing but wait for the others: what is left of the communication when
// it overlaps computation as far as it can.

#ifndef DTNN_MODELS_OBSERVE_REPORT_RANK_WAITS_H_
#define DTNN_MODELS_OBSERVE_REPORT_RANK_WAITS_H_

#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "models/training/callback.h"
#include "models/training/trainer.h"

namespace dtnn {

// Seconds of training passes so far.
struct RankWait {
  double waited = 0, seconds = 0;
};

// A callback that asks all ranks at the end of each epoch; all of them call it together.
class RankWaits : public Callback {
 public:
  // Both must outlive it.
  RankWaits(const Trainer& trainer, Communicator& communicator)
      : trainer_(trainer), communicator_(communicator) {}

  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;

  // By rank, of the epochs that have ended.
  const std::vector<RankWait>& ranks() const { return ranks_; }

 private:
  const Trainer& trainer_;
  Communicator& communicator_;
  std::vector<RankWait> ranks_;
};

// HTML: a bar per rank, of many ranks the 40 that wait longest, and a table.
std::string FormatRankWaits(std::span<const RankWait> ranks);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_RANK_WAITS_H_
