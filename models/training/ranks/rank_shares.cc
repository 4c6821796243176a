#include "models/training/ranks/rank_shares.h"

#include <algorithm>
#include <array>

#include "comm/gather_values.h"
#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<RankShares> RankShares::Of(const Loader& loader, Communicator* communicator) {
  const int ranks = communicator == nullptr ? 1 : communicator->size();
  const int rank = communicator == nullptr ? 0 : communicator->rank();
  const LoaderOptions& options = loader.options();
  RankShares shares(ranks);
  if (options.ranks == ranks && options.rank == rank) {
    std::fill(shares.samples_.begin(), shares.samples_.end(), loader.samples());
    shares.parts_ = {
        {loader.samples(), loader.steps(), options.batch * ranks, loader.SamplesBefore(0)}};
    return shares;
  }
  if (options.ranks != 1) {
    return InvalidArgument("rank ", rank, " of ", ranks, " has a loader for rank ", options.rank,
                           " of ", options.ranks,
                           "; expected a loader for itself, or for a single rank");
  }
  shares.own_data_ = true;
  const std::array<int64_t, 4> mine = {loader.samples(), loader.steps(), options.batch,
                                       loader.SamplesBefore(0)};
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all, GatherValues<int64_t>(*communicator, mine));
  for (int i = 0; i < ranks; ++i) {
    const int64_t* theirs = all.data() + size_t(i) * mine.size();
    shares.parts_.push_back({theirs[0], theirs[1], theirs[2], theirs[3]});
    shares.samples_[size_t(i)] = theirs[0];
  }
  return shares;
}

int64_t RankShares::steps() const {
  int64_t steps = 0;
  for (const Part& part : parts_) steps = std::max(steps, part.steps);
  return steps;
}

int64_t RankShares::SamplesBefore(int64_t steps) const {
  int64_t samples = 0;
  for (const Part& part : parts_) {
    samples += steps < part.steps ? part.skipped + steps * part.batch : part.samples;
  }
  return samples;
}

std::vector<bool> RankShares::HasData(int64_t step) const {
  std::vector<bool> has(samples_.size(), true);
  if (!own_data_) return has;
  for (size_t rank = 0; rank < has.size(); ++rank) has[rank] = step < parts_[rank].steps;
  return has;
}

}  // namespace dtnn
