// A communicator as layers see it.

#ifndef DTNN_MODELS_TRAINING_RANKS_COMMUNICATOR_EXCHANGE_H_
#define DTNN_MODELS_TRAINING_RANKS_COMMUNICATOR_EXCHANGE_H_

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "layers/base/rank_exchange.h"
#include "tensor/tensor.h"

namespace dtnn {

class CommunicatorExchange : public RankExchange {
 public:
  // The communicator must outlive it.
  explicit CommunicatorExchange(Communicator& communicator) : communicator_(&communicator) {}

  int rank() const override { return communicator_->rank(); }
  int ranks() const override { return communicator_->size(); }
  absl::Status Sum(const Tensor& tensor) override;
  absl::Status Gather(const Tensor& mine, const Tensor& all) override;

  // From now on the parts of other ranks are zeros, and nothing is exchanged: for a rank that
  // repeats a step that has failed on this rank only.
  void Leave() { left_ = true; }

 private:
  Communicator* communicator_;
  bool left_ = false;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_RANKS_COMMUNICATOR_EXCHANGE_H_
