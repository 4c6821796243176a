#include "models/training/ranks/bucket_choice.h"

#include <algorithm>

#include "comm/all_reduce_algorithm.h"
#include "comm/gather_values.h"
#include "comm/ranks/gradients/cost_model_measure.h"
#include "comm/ranks/gradients/gradient_reducer.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

// Two sizes of all-reduces tell what any costs.
constexpr int64_t kShortBytes = 64 << 10, kLongBytes = 1 << 20;

absl::StatusOr<LinkCost> MeasureCost(Communicator& communicator, int64_t most,
                                     std::optional<HalfType> wire) {
  const int64_t longer = std::clamp(most, 2 * kShortBytes, kLongBytes);
  DTNN_ASSIGN_OR_RETURN(const double a,
                        MeasureAllReduce(communicator, kShortBytes / int64_t(sizeof(float)), wire));
  DTNN_ASSIGN_OR_RETURN(const double b,
                        MeasureAllReduce(communicator, longer / int64_t(sizeof(float)), wire));
  LinkCost cost;
  cost.seconds_per_byte = std::max(0.0, b - a) / double(longer - kShortBytes);
  cost.latency = std::max(0.0, a - cost.seconds_per_byte * double(kShortBytes));
  return cost;
}

// Open MPI sums fewer elements than ranks in another way. Only the last bucket can be so short, and
// in buckets of no size is, unless in those of the smallest.
bool LastMayBeShort(DType dtype, int64_t elements, int ranks) {
  const GradientReducer::Bucket last = GradientReducer::Cut(dtype, elements, kShortBytes).back();
  return last.end - last.begin < ranks;
}

// The same on all ranks.
absl::StatusOr<bool> BitsDependOnSize(Communicator& communicator) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<int> hosts,
                        GatherValues(communicator, communicator.place().node));
  DTNN_ASSIGN_OR_RETURN(const std::vector<int> others,
                        GatherValues(communicator, int(OtherMpiAlgorithm())));
  return StagesPay(PlacementOf(hosts)) || std::ranges::count(others, 0) != communicator.size();
}

}  // namespace

void BucketChoice::Add(const std::vector<StepProfile::Event>& ready, double backward_seconds,
                       double update_seconds) {
  if (complete() || ++steps_ <= kWarmUp) return;
  backward_.push_back(backward_seconds);
  update_.push_back(update_seconds);
  if (from_.empty()) {
    for (const StepProfile::Event& event : ready) from_.push_back(event.from);
    ready_.resize(from_.size());
  }
  if (ready.size() != from_.size()) return;  // a rank may have no samples in a step
  for (size_t e = 0; e < ready.size(); ++e) ready_[e].push_back(ready[e].seconds);
}

absl::StatusOr<StepProfile> BucketChoice::Profile(Communicator& communicator) const {
  double events = double(from_.size());
  DTNN_RETURN_IF_ERROR(TakeLargest(communicator, {&events, 1}));
  // Times of the slowest rank, for which all wait. Where gradients end is the same on all.
  std::vector<double> values = {Median(backward_), Median(update_)};
  values.resize(2 + 2 * size_t(events));
  for (size_t e = 0; e < from_.size(); ++e) {
    values[2 + 2 * e] = double(from_[e]);
    values[3 + 2 * e] = Median(ready_[e]);
  }
  DTNN_RETURN_IF_ERROR(TakeLargest(communicator, values));
  StepProfile profile = {.backward_seconds = values[0],
                         .update_seconds = values[1],
                         .dtype = dtype_,
                         .elements = elements_};
  for (size_t e = 2; e < values.size(); e += 2) {
    profile.ready.push_back({int64_t(values[e]), values[e + 1]});
  }
  return profile;
}

absl::StatusOr<int64_t> BucketChoice::Choose(Communicator& communicator) const {
  const int64_t bytes = elements_ * int64_t(SizeOf(dtype_));
  if (communicator.size() == 1 || bytes < 2 * kShortBytes) return kFirstBytes;
  if (!wire_) {
    if (LastMayBeShort(dtype_, elements_, communicator.size())) return kFirstBytes;
    DTNN_ASSIGN_OR_RETURN(const bool fixed, BitsDependOnSize(communicator));
    if (fixed) return kFirstBytes;
  }
  DTNN_ASSIGN_OR_RETURN(const StepProfile profile, Profile(communicator));
  DTNN_ASSIGN_OR_RETURN(const LinkCost cost, MeasureCost(communicator, bytes, wire_));
  return BestBucketBytes(profile, blocking_, [&](double n) { return cost.Seconds(n); });
}

}  // namespace dtnn
