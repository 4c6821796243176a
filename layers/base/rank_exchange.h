// The calls by which a layer that couples the samples of a batch asks the other ranks of a
// data-parallel run, whose samples belong to the same batch. The plan passes them to layers, and
// the trainer, which knows the ranks, implements them: layers know no transport.
//
// Every rank makes the same calls in the same order. Tensors are dense and on the host.

#ifndef DTNN_LAYERS_BASE_RANK_EXCHANGE_H_
#define DTNN_LAYERS_BASE_RANK_EXCHANGE_H_

#include "absl/status/status.h"
#include "tensor/tensor.h"

namespace dtnn {

class RankExchange {
 public:
  virtual ~RankExchange() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  // Every rank's tensor becomes the sum of all ranks' tensors, with the same bits.
  virtual absl::Status Sum(const Tensor& tensor) = 0;
  // `all` becomes rank 0's `mine`, then rank 1's, ... `mine` may be this rank's part of it.
  virtual absl::Status Gather(const Tensor& mine, const Tensor& all) = 0;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_BASE_RANK_EXCHANGE_H_
