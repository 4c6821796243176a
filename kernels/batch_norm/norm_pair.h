// Two batch normalisations of a training step and the sum of what they write, optionally followed
// by a relu, as at the end of a block whose both paths end with a normalisation:
//
//   y = norm_0(x_0) + norm_1(x_1)          relu: y = max(0, that)
//
// with the formulas of batch_norm.h and statistics of the batch, which no other rank has a part of.
// Neither norm_0(x_0) nor a gradient of the sum is written to memory. x, y, dy, dx: (n, ...) of one
// shape, n <= batch, a pitch allowed. A dx may be dy or y; else no two of them overlap.
// Bytes moved: Normalize reads both x twice and writes y; Backward reads both x and dy twice, and
// writes both dx; with a relu it reads y twice, or a sixteenth of it or less in signs.
// Results do not depend on the order in which threads run. On GPUs alone
// (DeviceTraits::pairs_normalizations): Unimplemented elsewhere.

#ifndef DTNN_KERNELS_BATCH_NORM_NORM_PAIR_H_
#define DTNN_KERNELS_BATCH_NORM_NORM_PAIR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/device/context.h"
#include "kernels/workspace/workspace.h"
#include "tensor/tensor.h"

namespace dtnn {

// One of the two normalisations.
struct NormPairTerm {
  Tensor x = {};
  BatchStatistics statistics = {};  // Normalize writes them, Backward reads them
  BatchNormParameters parameters = {};
  RunningStatistics running = {};     // Normalize moves them
  BatchNormGradients gradients = {};  // Backward writes these
  Tensor dx = {};
};
using NormPairTerms = std::array<NormPairTerm, 2>;

class NormPair {
 public:
  virtual ~NormPair() = default;

  // As BatchNorm::signs_bytes.
  virtual int64_t signs_bytes() const = 0;

  // Statistics of both, and y.
  virtual absl::Status Normalize(const NormPairTerms& terms, const BatchNormOutput& out,
                                 Workspace workspace) = 0;
  // Gradients of the batch that the last call of Normalize brought. `out` is read with a relu only;
  // dy stays as it is, unless a dx is there.
  virtual absl::Status Backward(const NormPairTerms& terms, const BatchNormOutput& out,
                                const Tensor& dy, Workspace workspace) = 0;

  virtual size_t workspace_bytes() const = 0;
};

// The specs of the two: alike but for epsilon and momentum; both add, and have the relu of the sum.
using NormPairSpec = std::array<BatchNormSpec, 2>;

absl::StatusOr<std::unique_ptr<NormPair>> CreateNormPair(DeviceContext& context,
                                                         const NormPairSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_BATCH_NORM_NORM_PAIR_H_
