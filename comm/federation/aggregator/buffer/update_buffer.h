// Updates that are added as they come, until there are enough of them for the next parameters
// (Nguyen et al., "Federated learning with buffered asynchronous aggregation", 2022: FedBuff).
//
// A client k trains from the parameters w_k that were current when it was asked, to x_k. When its
// update comes, others may have moved the parameters s_k times since: its staleness. Of K updates,
// and parameters w that are current then, the mean that a strategy (../strategy.h) continues with
// is
//
//   w + (sum of p_k a(s_k) (x_k - w_k)) / sum of p_k     for what is trained
//   (sum of p_k a(s_k) x_k) / sum of p_k a(s_k)          for running statistics
//
// with p_k the weight of the client, as the strategy says, and a(s) = 1 / sqrt(1 + s), or 1. So a
// stale update moves less, and without staleness this is the mean of x_k that a round has. Running
// statistics are not moved by differences: variances could become negative.
//
// A robust mean (../robust_mean.h) takes the place of both: of a(s_k) (x_k - w_k), and of x_k.
// Memory: 8 bytes per number; with a robust mean all updates of the buffer. Sums are of float64 in
// the order of the calls, the same on any number of threads.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_BUFFER_UPDATE_BUFFER_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_BUFFER_UPDATE_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "comm/federation/aggregator/asked.h"
#include "comm/federation/aggregator/strategy.h"
#include "comm/federation/aggregator/sums/robust_mean.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"

namespace dtnn::federation {

enum class StalenessWeight : uint8_t { kRoot, kConstant };

struct BufferOptions {
  int size = 0;  // K; 0: no buffer, rounds wait for all clients that they ask
  StalenessWeight weight = StalenessWeight::kRoot;
  int64_t max_staleness = 20;  // updates that are staler are not used

  bool on() const { return size > 0; }
};

// "root", "constant"; nothing for other words.
std::optional<StalenessWeight> ParseStalenessWeight(std::string_view word);

// a(s).
double WeightOf(StalenessWeight weight, int64_t staleness);

// What does not go with a buffer, whose updates are added one by one, and why.
struct BufferConflict {
  enum class With : uint8_t { kStrategy, kEncryption, kPrivacy, kLocalParameters };
  With with;
  std::string_view why;
};
// The first one; nothing where there is none. `keeps_parameters`: some parameters stay with
// clients.
std::optional<BufferConflict> FindBufferConflict(const StrategyOptions& strategy,
                                                 const ProtectionOptions& protection,
                                                 bool keeps_parameters);

// InvalidArgument for such a conflict, and for numbers out of range. Nothing where there is no
// buffer.
absl::Status CheckBuffer(const BufferOptions& options, const StrategyOptions& strategy,
                         const ProtectionOptions& protection, const ModelFacts& model);

class UpdateBuffer {
 public:
  // For updates of so many numbers, the first of which are trained.
  UpdateBuffer(const BufferOptions& options, const StrategyOptions& strategy,
               const RobustOptions& robust, size_t values, size_t trainable);

  // x_k - w_k, then x_k of the running statistics; of this client, with its staleness. Not where it
  // is full.
  void Add(std::vector<float> update, const Asked& client);
  int updates() const { return updates_; }
  bool full() const { return updates_ >= options_.size; }
  // OutOfRange for an update that may not be added (CheckUpdate of ../plain_sum.h). The norm is
  // that of what is trained: where running statistics began is not known here.
  absl::Status Check(std::span<const float> update, double max_norm) const;
  // The mean, of one update or more.
  std::vector<float> Mean(std::span<const float> parameters) const;
  void Clear();

 private:
  // Zeros, then running statistics: an update that changes nothing.
  std::vector<float> NoChange(std::span<const float> parameters) const;

  const BufferOptions options_;
  const StrategyOptions strategy_;
  const RobustOptions robust_;
  const size_t values_, trainable_;
  int updates_ = 0;
  double weight_ = 0, stale_weight_ = 0;  // the sums of p_k, and of p_k a(s_k)
  std::vector<double> sum_;
  std::vector<std::vector<float>> kept_;  // for robust_, times factors_
  std::vector<double> factors_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_BUFFER_UPDATE_BUFFER_H_
