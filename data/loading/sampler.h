// The order of an epoch and its division into steps and over ranks.
//
// Step b takes the next `batch` * `ranks` samples of the epoch's order and rank r their r-th slice,
// so that a step does not depend on which rank computes what. Nothing is dropped and no rank is
// left without work: the last step divides what is left as evenly as possible, lower ranks getting
// one more; fewer samples than ranks join the step before, whose batches grow by at most one
// sample. Example: 48000 samples, 64 per rank, 12 ranks: 62 steps of 768 and one of 384, 32 per
// rank.
//
// With steps_per_epoch an epoch is exactly that many full steps: the first samples of the order
// when there are more (a different selection every epoch when shuffled), the order again and again
// when there are fewer.
//
// Where samples come in groups that are cheap to read together (dataset.h), a shuffled epoch visits
// the groups in random order, `groups_at_once` of them at a time, and the samples of those in
// random order: all samples still come once, each group is read once, and the order is as much a
// function of (seed, epoch) as without groups.
//
// With `poisson` each step takes each sample independently (poisson_steps.h), with the probability
// that makes steps of `batch` samples on average. Steps and SamplesBefore are those of an epoch in
// which each sample comes once: the number of samples that steps have on average. What an epoch has
// is then a function of the random words, and drawn anew each time; nothing is shuffled, and groups
// do not count.

#ifndef DTNN_DATA_LOADING_SAMPLER_H_
#define DTNN_DATA_LOADING_SAMPLER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "data/loading/epoch_division.h"
#include "data/loading/poisson_steps.h"

namespace dtnn {

struct SamplerOptions {
  int64_t batch = 64;  // samples per rank in a full step
  int rank = 0;
  int ranks = 1;
  bool shuffle = true;
  uint64_t seed = 0;
  int64_t steps_per_epoch = 0;  // 0: as many as the samples give
  // First sample of each group, ascending from 0; empty: no groups.
  std::vector<int64_t> groups = {};
  int64_t groups_at_once = 1;
  // Poisson sampling by these words, of one rank; null: each epoch has each sample once.
  RandomWords poisson = {};
};

class Sampler {
 public:
  // A rank's part of a step: places [begin, begin + count) of the epoch's order.
  struct Slice {
    int64_t begin = 0;
    int64_t count = 0;         // at least 1, or with Poisson sampling 0
    int64_t global_count = 0;  // of all ranks
  };

  // InvalidArgument for options out of range and for fewer indices than ranks (but for none at all:
  // then there are no steps).
  static absl::StatusOr<Sampler> Create(std::vector<int64_t> indices,
                                        const SamplerOptions& options);

  // Leaves out the first `samples` places of every epoch's order from now on; steps are those of
  // the rest. For an epoch that continues with other batches or ranks than it began with.
  // InvalidArgument where the rest cannot be divided over the ranks, and with steps_per_epoch.
  absl::Status Skip(int64_t samples);

  // Puts the indices into the order of `epoch`, a function of (seed, epoch) alone: the same on all
  // ranks, whatever epochs came before. Allocates nothing.
  void StartEpoch(int64_t epoch);

  // 0 <= step < steps().
  Slice StepSlice(int64_t step) const;
  // The sample indices at the slice's places; out.size() == slice.count.
  void Indices(const Slice& slice, std::span<int64_t> out) const;

  int64_t steps() const { return steps_; }
  // Samples of an epoch over all ranks, skipped ones included.
  int64_t samples() const { return division_.samples; }
  // Samples of an epoch before a step (at most steps()), over all ranks, skipped ones included.
  int64_t SamplesBefore(int64_t step) const { return division_.SamplesBefore(step); }
  // The largest Slice::count of any rank and step.
  int64_t max_batch() const { return max_batch_; }
  // For random changes to the sample at a place of the order: the place, or, with Poisson sampling,
  // a random number, since a place would depend on which others are drawn.
  int64_t Key(int64_t place) const { return poisson_ ? poisson_->keys()[size_t(place)] : place; }
  // The probability with which a step of Poisson sampling takes a sample; 0: there is none.
  double probability() const { return poisson_ ? poisson_->probability() : 0; }

 private:
  Sampler(std::vector<int64_t> indices, const SamplerOptions& options);

  void FindGroups();
  void DivideIntoSteps();

  // A part of indices_ that lies in one group.
  struct Run {
    int64_t begin, end;
  };

  SamplerOptions options_;
  std::vector<int64_t> indices_;
  std::vector<Run> runs_;  // empty unless shuffled by groups; indices_ are ascending then
  std::vector<int64_t> run_order_;
  std::vector<int64_t> order_;  // empty unless shuffled
  EpochDivision division_;
  std::optional<PoissonSteps> poisson_;
  int64_t steps_ = 0;
  int64_t max_batch_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_SAMPLER_H_
