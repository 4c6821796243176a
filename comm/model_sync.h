// Averages of the models of several ranks: their weights, which of them take part, and the weighted
// sum itself (McMahan et al., "Communication-efficient learning of deep networks from decentralized
// data", AISTATS 2017, where ranks count by their samples).
//
// Decisions are functions of what every rank knows from the start, how many samples and steps each
// has, so all ranks decide alike without asking each other.

#ifndef DTNN_COMM_MODEL_SYNC_H_
#define DTNN_COMM_MODEL_SYNC_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/sum_over_ranks.h"
#include "tensor/tensor.h"

namespace dtnn {

// With n samples of a rank and sums over the ranks that take part:
enum class RankWeighting : uint8_t {
  kEqual,           // 1 / ranks
  kSamples,         // n / sum(n)
  kInverseSamples,  // (min + max - n) / sum(min + max - n): most samples, least weight
};

// Whose models are averaged. Gradients come from ranks that have data either way.
enum class Participation : uint8_t {
  kAll,       // all ranks', also of those whose data have come to their end
  kWithData,  // those that still have data; the others only take the result over
};

struct ModelSyncOptions {
  // 0: the gradients of every batch are summed over the ranks. F > 0: those of the batches 0, F,
  // 2F, ..., then the models; in between, ranks train on their own. Below 0: always on their own.
  int64_t frequency = 0;
  RankWeighting weighting = RankWeighting::kEqual;
  Participation participation = Participation::kAll;
  // If fewer ranks have data, models are not averaged.
  int min_available = 0;
};

// The weights of the ranks, by their samples: 0 where a rank takes no part; the others add up to 1,
// and are equal where the formula gives nothing (no samples at all). Empty sums give zeros.
std::vector<double> RankWeights(RankWeighting weighting, std::span<const int64_t> samples,
                                const std::vector<bool>& takes_part);

// What happens with one batch of training.
struct SyncDecision {
  bool gradients = false;  // summed over the ranks; else each rank's model takes its own
  bool models = false;     // averaged after the step
  // By rank; empty where nothing is exchanged.
  std::vector<double> gradient_weights = {}, model_weights = {};
};

// For batch `batch` of the run, from 0; `samples` and `has_data` by rank.
SyncDecision DecideSync(const ModelSyncOptions& options, int64_t batch,
                        std::span<const int64_t> samples, const std::vector<bool>& has_data);

// x = factor * x, and zeros for factor 0 whatever x holds. Dense float32 or float64 on the host.
void Scale(double factor, const Tensor& x);

// `sum` becomes the sum over the ranks of weight * tensor, with the same bits on all; `weight` is
// this rank's. A rank of weight 0 adds nothing, whatever its tensor holds. Dense float32 or float64
// on the host, of one size; `sum` may be the tensor itself, which is else left alone: an exchange
// that fails then spoils nothing. Cost: one all-reduce, or `by`, the way to sum, where it is given.
absl::Status WeightedSum(Communicator& communicator, double weight, const Tensor& tensor,
                         const Tensor& sum, const SumOverRanks& by = {});

}  // namespace dtnn

#endif  // DTNN_COMM_MODEL_SYNC_H_
