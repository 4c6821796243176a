#include "data/loading/sampler.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "data/loading/shuffle.h"
#include "tensor/errors.h"
#include "tensor/philox.h"
#include "tensor/rounding.h"

namespace dtnn {
namespace {

absl::Status CheckPoisson(std::vector<int64_t> indices, const SamplerOptions& options) {
  if (options.ranks > 1) {
    return InvalidArgument("Poisson sampling is for one rank, not for ", options.ranks);
  }
  std::ranges::sort(indices);
  const auto twice = std::ranges::adjacent_find(indices);
  if (twice == indices.end()) return absl::OkStatus();
  return InvalidArgument("Poisson sampling needs each sample once, but sample ", *twice,
                         " is there twice: what is added up of it would count twice, too");
}

absl::Status Check(int64_t samples, const SamplerOptions& options) {
  if (options.batch < 1) {
    return InvalidArgument("the batch size must be at least 1, not ", options.batch);
  }
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks) {
    return InvalidArgument("there is no rank ", options.rank, " among ", options.ranks);
  }
  if (options.steps_per_epoch < 0) {
    return InvalidArgument("the steps per epoch must be 0 (all samples) or more, not ",
                           options.steps_per_epoch);
  }
  int64_t step, epoch;
  if (__builtin_mul_overflow(options.batch, int64_t{options.ranks}, &step) ||
      __builtin_mul_overflow(step, options.steps_per_epoch, &epoch)) {
    return InvalidArgument("a batch size of ", options.batch, " is too large");
  }
  if (samples > int64_t{1} << 32) {
    return InvalidArgument("an epoch of ", samples, " samples is not supported: at most 2^32");
  }
  const std::vector<int64_t>& groups = options.groups;
  if (options.groups_at_once < 1 || groups.size() > size_t{1} << 24 ||
      (!groups.empty() && groups[0] != 0) || !std::is_sorted(groups.begin(), groups.end())) {
    return absl::InvalidArgumentError(
        "there must be at most 2^24 groups of samples, their first samples must ascend from 0, and "
        "at least one group must be read at a time");
  }
  if (samples > 0 && samples < options.ranks && options.steps_per_epoch == 0) {
    return InvalidArgument(samples, " samples cannot be divided over ", options.ranks,
                           " ranks: every rank needs one; use fewer ranks or more samples");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Sampler> Sampler::Create(std::vector<int64_t> indices,
                                        const SamplerOptions& options) {
  absl::Status status = Check(int64_t(indices.size()), options);
  if (status.ok() && options.poisson) status = CheckPoisson(indices, options);
  if (!status.ok()) return status;
  return Sampler(std::move(indices), options);
}

Sampler::Sampler(std::vector<int64_t> indices, const SamplerOptions& options)
    : options_(options),
      indices_(std::move(indices)),
      division_{
          .samples = int64_t(indices_.size()), .batch = options.batch, .ranks = options.ranks} {
  if (options.poisson) {
    options_.shuffle = false;
    if (!indices_.empty()) {
      poisson_.emplace(int64_t(indices_.size()), options.batch, options.poisson);
    }
  }
  if (options_.shuffle && !options.groups.empty()) FindGroups();
  if (options_.shuffle) order_ = indices_;
  if (division_.samples > 0 && options.steps_per_epoch > 0) {
    division_.samples = options.steps_per_epoch * division_.step_samples();
  }
  DivideIntoSteps();
}

void Sampler::DivideIntoSteps() {
  steps_ = division_.steps();
  if (steps_ == 0) return;
  const int64_t ranks = options_.ranks;
  const int64_t last = division_.samples - division_.SamplesBefore(steps_ - 1);
  max_batch_ = std::max(steps_ > 1 ? options_.batch : 0, CeilDiv(last, ranks));
  if (poisson_) max_batch_ = poisson_->most();
}

absl::Status Sampler::Skip(int64_t samples) {
  if (samples < 0 || samples > division_.samples || (samples > 0 && options_.steps_per_epoch > 0)) {
    return InvalidArgument(
        "cannot skip ", samples, " of the ", division_.samples, " samples of an epoch",
        options_.steps_per_epoch > 0 ? ", because the number of steps per epoch is given" : "");
  }
  EpochDivision division = division_;
  division.first = samples;
  if (!division.divides()) {
    return InvalidArgument("the ", division_.samples - samples,
                           " samples that are left of an epoch cannot be divided over ",
                           options_.ranks,
                           " ranks: every rank needs one; use fewer ranks to end it");
  }
  division_ = division;
  DivideIntoSteps();
  return absl::OkStatus();
}

void Sampler::FindGroups() {
  std::sort(indices_.begin(), indices_.end());
  const std::vector<int64_t>& groups = options_.groups;
  for (size_t group = 0, begin = 0; begin < indices_.size(); ++group) {
    const auto end = group + 1 < groups.size()
                         ? std::lower_bound(indices_.begin(), indices_.end(), groups[group + 1])
                         : indices_.end();
    const size_t size = size_t(end - indices_.begin());
    if (size > begin) runs_.push_back({int64_t(begin), int64_t(size)});
    begin = size;
  }
  run_order_.resize(runs_.size());
}

void Sampler::StartEpoch(int64_t epoch) {
  assert(epoch >= 0);
  if (poisson_) poisson_->Draw(steps_);
  if (!options_.shuffle) return;
  const auto random = [&](uint64_t window) {
    return Philox(options_.seed,
                  StreamId(RandomPurpose::kShuffle, uint64_t(epoch) | (window << 32)));
  };
  if (runs_.empty()) {
    std::copy(indices_.begin(), indices_.end(), order_.begin());
    Shuffle(random(0), order_);
    return;
  }
  std::iota(run_order_.begin(), run_order_.end(), 0);
  Shuffle(random(0), run_order_);
  auto to = order_.begin(), window = to;
  for (size_t i = 0; i < run_order_.size(); ++i) {
    const Run& run = runs_[size_t(run_order_[i])];
    to = std::copy(indices_.begin() + run.begin, indices_.begin() + run.end, to);
    const uint64_t read = i + 1, at_once = uint64_t(options_.groups_at_once);
    if (read % at_once != 0 && read != run_order_.size()) continue;
    Shuffle(random(CeilDiv(read, at_once)), {window, to});
    window = to;
  }
}

Sampler::Slice Sampler::StepSlice(int64_t step) const {
  assert(step >= 0 && step < steps_);
  if (poisson_) {
    const int64_t count = int64_t(poisson_->Step(step).size());
    return {poisson_->Begin(step), count, count};
  }
  const int64_t begin = SamplesBefore(step), count = SamplesBefore(step + 1) - begin;
  const int64_t each = count / options_.ranks;
  const int64_t more = count % options_.ranks;  // ranks below this take one more
  const int64_t rank = options_.rank;
  return {begin + rank * each + std::min(rank, more), each + (rank < more), count};
}

void Sampler::Indices(const Slice& slice, std::span<int64_t> out) const {
  assert(int64_t(out.size()) == slice.count);
  if (poisson_) {
    const auto drawn = std::span(poisson_->drawn()).subspan(size_t(slice.begin), out.size());
    std::ranges::transform(drawn, out.begin(), [&](int64_t i) { return indices_[size_t(i)]; });
    return;
  }
  const std::vector<int64_t>& order = options_.shuffle ? order_ : indices_;
  size_t place = size_t(slice.begin) % order.size();
  for (int64_t& index : out) {
    index = order[place];
    if (++place == order.size()) place = 0;
  }
}

}  // namespace dtnn
