// The share of every rank in a pass over the data, known to all of them: either slices of shared
// steps, or its own data (a client of federated learning), more or less than others have. A pass
// lasts until no rank has data; ranks without further data take empty steps.

#ifndef DTNN_MODELS_TRAINING_RANKS_RANK_SHARES_H_
#define DTNN_MODELS_TRAINING_RANKS_RANK_SHARES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "data/loading/loader.h"

namespace dtnn {

class RankShares {
 public:
  // One rank, or several whose slices are alike.
  explicit RankShares(int ranks = 1) : samples_(size_t(ranks), 1) {}
  // A loader made for as many ranks as the communicator has gives common steps, one made for a
  // single rank data of its own, of which the ranks then tell each other: all call it together.
  // InvalidArgument for anything else. `communicator`: null for one rank.
  static absl::StatusOr<RankShares> Of(const Loader& loader, Communicator* communicator);

  // Whether each rank has data of its own.
  bool own_data() const { return own_data_; }
  int ranks() const { return int(samples_.size()); }

  // Steps of the pass: the most of any rank.
  int64_t steps() const;
  // Samples of the pass's first `steps` steps, and of all, over all ranks.
  int64_t SamplesBefore(int64_t steps) const;
  int64_t total() const { return SamplesBefore(steps()); }

  // How many samples each rank counts for: its own, or, of common ones, all of them on every rank.
  const std::vector<int64_t>& samples() const { return samples_; }
  // By rank: whether it has data in a step of the pass.
  std::vector<bool> HasData(int64_t step) const;

 private:
  struct Part {
    int64_t samples = 0, steps = 0;
    int64_t batch = 0;    // samples of a full step
    int64_t skipped = 0;  // before the first step
  };

  bool own_data_ = false;
  std::vector<int64_t> samples_;
  std::vector<Part> parts_;  // one per rank, or one for all
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_RANKS_RANK_SHARES_H_
