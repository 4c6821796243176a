// The gradient of a step with differential privacy for each sample (DP-SGD: Abadi et al., "Deep
// learning with differential privacy", 2016):
//
//   (sum over the samples of the step of g * min(1, clip / |g|)  +  noise) / mean batch
//
// g is the gradient of one sample's loss over all trained parameters, |g| its Euclidean norm, and
// the noise normal, of deviation noise * clip in each parameter. A gradient that is NaN or infinite
// counts as 0, so that such a sample is hidden like others. The bound, epsilon, is for steps that
// take each sample independently with the same probability (data/loading/poisson_steps.h), so the
// mean size of batches divides, not that of the batch, which depends on the samples. It is for
// neighbours that differ by one sample, and against an observer who sees the parameters after each
// step.
//
// As in a federation (comm/federation/privacy/privacy.h), clipped gradients are rounded to
// multiples of 2^-20 of the noise's deviation, and added exactly: sums do not depend on the order
// of samples, and the last bits of floating-point numbers reveal nothing. Noise is of ChaCha20,
// seeded by the system.

#ifndef DTNN_MODELS_TRAINING_PRIVACY_PRIVATE_GRADIENTS_H_
#define DTNN_MODELS_TRAINING_PRIVACY_PRIVATE_GRADIENTS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/update/update.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "tensor/tensor.h"

namespace dtnn {

class ChaCha20Stream;  // comm/secrets/crypto, whose header needs that of OpenSSL

struct PrivateTraining {
  double clip = 0;      // longest gradient of a sample; 0: no differential privacy
  double noise = 0;     // deviation of the noise, over `clip`
  double delta = 1e-5;  // at which epsilon is reported
  // What noise and dropout come from; null: seeded by the system, as it must be for the bound.
  std::shared_ptr<ChaCha20Stream> random = {};

  bool enabled() const { return clip != 0 || noise != 0; }
};

class PrivateGradients {
 public:
  // InvalidArgument for numbers out of range.
  static absl::Status CheckNumbers(const PrivateTraining& options);
  // For those, and for networks that cannot be trained so: a batch normalisation mixes the samples
  // of a batch, and tracks statistics of them without noise.
  static absl::Status Check(const PrivateTraining& options, const Graph& graph);
  // For gradients laid out as those of `store`, on the host.
  static absl::StatusOr<std::unique_ptr<PrivateGradients>> Create(const PrivateTraining& options,
                                                                  const Graph& graph,
                                                                  const ParameterStore& store);

  // A step: sums begin empty, each perhaps of a thread of its own. Add adds the gradient of a
  // sample; Finish writes the gradient of the step, of all sums together, where batches have `mean`
  // samples on average.
  using Sum = std::vector<double>;  // in multiples of the grid: whole numbers below 2^53
  Sum NewSum() const { return Sum(size_t(parameters_)); }
  void Add(const Tensor& gradients, Sum& sum) const;
  void Finish(std::span<const Sum> sums, double mean, const Tensor& gradients);
  // Random words that nobody can guess.
  void Draw(std::span<uint64_t> words);

 private:
  PrivateGradients(const PrivateTraining& options, std::vector<ArenaRange> trained);

  PrivateTraining options_;
  std::shared_ptr<ChaCha20Stream> words_;
  std::vector<ArenaRange> trained_;  // parameters, without the gaps between them
  int64_t parameters_ = 0;
  double grid_ = 0;     // what rounded numbers are multiples of
  double longest_ = 0;  // gradient before it is rounded
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_PRIVACY_PRIVATE_GRADIENTS_H_
