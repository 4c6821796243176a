// A communicator as layers see it.

#ifndef DTNN_MODELS_TRAINING_COMMUNICATOR_EXCHANGE_H_
#define DTNN_MODELS_TRAINING_COMMUNICATOR_EXCHANGE_H_

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

  // From now on the others' parts are zeros, and nobody is asked: for a rank that looks once more
  // at a step that has failed on it alone.
  void Leave() { left_ = true; }

 private:
  Communicator* communicator_;
  bool left_ = false;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_COMMUNICATOR_EXCHANGE_H_
