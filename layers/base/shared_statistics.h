// What batch normalisation exchanges between ranks so that a batch is normalised with the
// statistics of all its samples, on whichever rank they are.
//
// Forward, means and variances of the ranks are merged pair by pair, in the order of ranks, in
// float64 (Chan, Golub & LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances", 1979): ranks may have any number of elements, and a mean far larger than the
// deviation costs no digits. Backward, the sums over a channel's elements (dgamma, dbeta) are added
// up. Results have the same bits on all ranks.
//
// Cost per layer and step: an all-gather of 1 + 2 * channels float64 and an all-reduce of
// 2 * channels elements.

#ifndef DTNN_LAYERS_BASE_SHARED_STATISTICS_H_
#define DTNN_LAYERS_BASE_SHARED_STATISTICS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/device/context.h"
#include "kernels/transfers/transfers.h"
#include "layers/base/rank_exchange.h"
#include "tensor/tensor.h"

namespace dtnn {

class SharedStatistics {
 public:
  // For tensors of the context's device. `ranks` and the context must outlive it. Allocates all
  // that the calls need.
  static absl::StatusOr<std::unique_ptr<SharedStatistics>> Create(RankExchange& ranks,
                                                                  DeviceContext& context,
                                                                  int64_t channels, DType dtype);

  // Makes of the statistics of this rank's `count` elements per channel those of all ranks'. A rank
  // with count 0 adds nothing.
  absl::Status Combine(int64_t count, const BatchStatistics& statistics);
  // Elements per channel of all ranks, of the last Combine.
  int64_t count() const { return count_; }

  // The sums over all ranks, in memory that the next call reuses; `mine` stays as it is.
  absl::StatusOr<BatchNormGradients> Sum(const BatchNormGradients& mine);

 private:
  SharedStatistics(RankExchange& ranks, DeviceContext& context, int64_t channels)
      : ranks_(&ranks), context_(&context), channels_(channels) {}
  absl::Status Merge(int64_t count, double* means, double* variances);

  RankExchange* ranks_;
  DeviceContext* context_;
  int64_t channels_, count_ = 0;
  Tensor moments_;  // (ranks, 1 + 2 * channels) float64: count, means, variances
  Tensor sums_;     // dgamma, dbeta, on the host
  DeviceTwin device_sums_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_BASE_SHARED_STATISTICS_H_
