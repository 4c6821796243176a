#include "comm/ranks/gradients/top_k_all_reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>

#include "comm/gather_values.h"
#include "comm/ranks/gradients/top_k_threshold.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr size_t kEntryBytes = sizeof(int32_t) + sizeof(float);

// Whether a threshold that selects `count` of the `k` that it should need not be computed anew. The
// lowest one selects all that is not 0.
bool Serves(uint32_t threshold, int64_t count, int64_t k) {
  return threshold > 0 && count <= 2 * k && (2 * count >= k || threshold == 1);
}

absl::StatusOr<Tensor> Message(int64_t entries) {
  return Tensor::Allocate(Device::Cpu(), DType::kUint8, Shape{entries * int64_t(kEntryBytes)});
}

// Sends every other rank its number of `mine`: what each rank has sent this one, and its own.
absl::StatusOr<std::vector<int64_t>> ExchangeCounts(Communicator& communicator,
                                                    std::span<const int64_t> mine) {
  const Shape shape = {communicator.size()};
  DTNN_ASSIGN_OR_RETURN(const Tensor sent, Tensor::Zeros(DType::kInt64, shape));
  DTNN_ASSIGN_OR_RETURN(const Tensor received, Tensor::Zeros(DType::kInt64, shape));
  std::ranges::copy(mine, sent.data<int64_t>());
  DTNN_RETURN_IF_ERROR(communicator.AllToAll(sent, received));
  const auto* const counts = received.data<int64_t>();
  return std::vector<int64_t>(counts, counts + mine.size());
}

}  // namespace

TopKAllReduce::TopKAllReduce(Communicator& communicator, const TopKOptions& options,
                             int64_t elements)
    : communicator_(&communicator),
      options_(options),
      elements_(elements),
      k_(std::max<int64_t>(1, std::llround(options.density * double(elements)))) {}

absl::StatusOr<TopKAllReduce> TopKAllReduce::Create(Communicator& communicator,
                                                    const TopKOptions& options, int64_t elements) {
  if (!(options.density > 0 && options.density <= 1) || options.tau < 1 || options.tau_prime < 1) {
    return InvalidArgument("a sparse sum of density ", options.density, ", tau ", options.tau,
                           " and tau' ", options.tau_prime,
                           "; expected a density above 0 and up to 1, and 1 step or more");
  }
  if (elements > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("a sparse sum of ", elements,
                           " gradients; places of 4 bytes reach up to 2^31 - 1");
  }
  return TopKAllReduce(communicator, options, elements);
}

void TopKAllReduce::List::Append(const List& other, size_t begin, size_t end) {
  places.insert(places.end(), other.places.begin() + int64_t(begin),
                other.places.begin() + int64_t(end));
  values.insert(values.end(), other.values.begin() + int64_t(begin),
                other.values.begin() + int64_t(end));
}

absl::Status TopKAllReduce::Run(const Tensor& gradients, const Tensor& residual, double scale,
                                int64_t step) {
  for (const Tensor& tensor : {gradients, residual}) {
    if (tensor.dtype() == DType::kFloat32 && tensor.shape() == Shape{elements_} && tensor.dense()) {
      continue;
    }
    return InvalidArgument("a tensor of shape ", tensor.shape().ToString(), " and type ",
                           Name(tensor.dtype()), " came to a sparse sum of ", elements_,
                           " dense float32");
  }
  const std::span<float> sums(gradients.data<float>(), size_t(elements_));
  const std::span<float> left(residual.data<float>(), size_t(elements_));
  const auto factor = float(scale);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = left[i] + factor * sums[i];

  volume_ = {};
  const bool due = (step - 1) % options_.tau_prime == 0 || global_threshold_ == 0;
  if (due || !Select(sums, local_threshold_, /*all=*/false)) {
    local_threshold_ = TopKThreshold(sums, k_);
    Select(sums, local_threshold_, /*all=*/true);
  }
  volume_.selected = int64_t(selected_.size());
  if ((step - 1) % options_.tau == 0 || regions_.empty()) DTNN_RETURN_IF_ERROR(CutRegions());
  DTNN_RETURN_IF_ERROR(Reduce());
  DTNN_RETURN_IF_ERROR(Gather(due));
  volume_.result = int64_t(result_.size());

  std::ranges::copy(sums, left.begin());
  std::ranges::fill(sums, 0.0f);
  size_t mine = 0;
  for (size_t i = 0; i < result_.size(); ++i) {
    const int32_t place = result_.places[i];
    while (mine < selected_.size() && selected_.places[mine] < place) ++mine;
    if (mine < selected_.size() && selected_.places[mine] == place) left[size_t(place)] = 0;
    sums[size_t(place)] = result_.values[i];
  }
  return absl::OkStatus();
}

bool TopKAllReduce::Select(std::span<const float> numbers, uint32_t threshold, bool all) {
  selected_.clear();
  if (threshold == 0) return false;
  const size_t most = all ? numbers.size() : size_t(2 * k_);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (Magnitude(numbers[i]) < threshold) continue;
    if (selected_.size() == most) return false;
    selected_.Add(int32_t(i), numbers[i]);
  }
  return all || Serves(threshold, int64_t(selected_.size()), k_);
}

// Where each rank would cut its own values into equal parts, on average over the ranks.
absl::Status TopKAllReduce::CutRegions() {
  const int64_t ranks = communicator_->size(), count = int64_t(selected_.size());
  std::vector<int64_t> mine = {0};
  for (int64_t i = 1; i < ranks; ++i) {
    mine.push_back(count < ranks ? elements_ * i / ranks
                                 : int64_t{selected_.places[size_t(count * i / ranks)]});
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all,
                        GatherValues<int64_t>(*communicator_, mine));
  regions_.assign(size_t(ranks) + 1, 0);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] < 0 || all[i] > elements_) {
      return InvalidArgument("rank ", i / size_t(ranks), " would cut ", elements_, " gradients at ",
                             all[i]);
    }
    regions_[i % size_t(ranks)] += all[i];
  }
  for (int64_t& begin : regions_) begin /= ranks;
  regions_.back() = elements_;
  if (regions_.front() == 0 && std::ranges::is_sorted(regions_)) return absl::OkStatus();
  return InvalidArgument("ranks would cut gradients at places that do not ascend from 0");
}

absl::Status TopKAllReduce::CheckPlaces(const List& list, int64_t begin, int64_t end) const {
  int64_t last = begin - 1;
  for (const int32_t place : list.places) {
    if (place <= last || place >= end) {
      return InvalidArgument("another rank sent a gradient for place ", place, " after ", last,
                             "; expected ascending places from ", begin, " to ", end - 1);
    }
    last = place;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TopKAllReduce::List>> TopKAllReduce::Exchange(
    const List& from, std::span<const Range> ranges, std::span<const int64_t> counts) {
  const int ranks = communicator_->size(), me = communicator_->rank();
  std::vector<List> lists(static_cast<size_t>(ranks));
  std::vector<Tensor> messages(static_cast<size_t>(ranks));  // received
  std::vector<std::unique_ptr<Work>> works;
  for (int i = 1; i < ranks; ++i) {
    const auto to = size_t((me + i) % ranks), source = size_t((me + ranks - i) % ranks);
    if (counts[source] > 0) {
      DTNN_ASSIGN_OR_RETURN(messages[source], Message(counts[source]));
      works.push_back(communicator_->ReceiveAsync(messages[source], int(source)));
    }
    const auto [begin, end] = ranges[to];
    if (begin == end) continue;
    const auto count = size_t(end - begin);
    DTNN_ASSIGN_OR_RETURN(const Tensor message, Message(end - begin));
    std::memcpy(message.raw_data(), &from.places[size_t(begin)], count * sizeof(int32_t));
    std::memcpy(message.raw_data() + count * sizeof(int32_t), &from.values[size_t(begin)],
                count * sizeof(float));
    volume_.bytes_sent += int64_t(count * kEntryBytes);
    works.push_back(communicator_->SendAsync(message, int(to)));
  }
  for (const std::unique_ptr<Work>& work : works) DTNN_RETURN_IF_ERROR(work->Wait());
  for (size_t rank = 0; rank < lists.size(); ++rank) {
    List& list = lists[rank];
    if (rank == size_t(me)) {
      list.Append(from, size_t(ranges[rank].first), size_t(ranges[rank].second));
    } else if (counts[rank] > 0) {
      const auto count = size_t(counts[rank]);
      list.places.resize(count);
      list.values.resize(count);
      std::memcpy(list.places.data(), messages[rank].raw_data(), count * sizeof(int32_t));
      std::memcpy(list.values.data(), messages[rank].raw_data() + count * sizeof(int32_t),
                  count * sizeof(float));
    }
  }
  return lists;
}

// The sums of this rank's region.
absl::Status TopKAllReduce::Reduce() {
  const auto ranks = size_t(communicator_->size()), me = size_t(communicator_->rank());
  std::vector<Range> parts;
  std::vector<int64_t> mine;
  for (size_t i = 0; i < ranks; ++i) {
    const auto place = [&](int64_t at) {
      return std::ranges::lower_bound(selected_.places, at) - selected_.places.begin();
    };
    parts.emplace_back(place(regions_[i]), place(regions_[i + 1]));
    mine.push_back(parts.back().second - parts.back().first);
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, ExchangeCounts(*communicator_, mine));
  const int64_t begin = regions_[me], end = regions_[me + 1];
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (counts[rank] < 0 || counts[rank] > end - begin) {
      return InvalidArgument("rank ", rank, " would send ", counts[rank],
                             " gradients of a region of ", end - begin);
    }
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<List> lists, Exchange(selected_, parts, counts));
  reduced_.clear();
  for (const List& list : lists) {
    DTNN_RETURN_IF_ERROR(CheckPlaces(list, begin, end));
    List merged;
    size_t a = 0, b = 0;
    while (a < reduced_.size() || b < list.size()) {
      constexpr int32_t kNone = std::numeric_limits<int32_t>::max();
      const int32_t left = a < reduced_.size() ? reduced_.places[a] : kNone;
      const int32_t right = b < list.size() ? list.places[b] : kNone;
      if (left == right) {
        merged.Add(left, reduced_.values[a++] + list.values[b++]);
      } else if (left < right) {
        merged.Add(left, reduced_.values[a++]);
      } else {
        merged.Add(right, list.values[b++]);
      }
    }
    reduced_ = std::move(merged);
  }
  return absl::OkStatus();
}

absl::StatusOr<TopKAllReduce::List> TopKAllReduce::GatherLists(const List& mine,
                                                               std::span<const int64_t> counts) {
  const auto ranks = int64_t(counts.size());
  const auto me = size_t(communicator_->rank());
  for (const int64_t count : counts) {
    if (count < 0 || count > elements_) {
      return InvalidArgument("another rank would send ", count, " sums of ", elements_,
                             " gradients");
    }
  }
  const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  if (total > elements_) {
    return InvalidArgument("ranks would send ", total, " sums of ", elements_, " gradients");
  }
  // Where one rank has most of them, they are divided evenly first: the busiest rank decides how
  // long it takes.
  const List* sent = &mine;
  List even;
  std::vector<int64_t> shares(counts.begin(), counts.end());
  if (*std::ranges::max_element(counts) * ranks > 4 * total) {
    std::vector<Range> parts;
    std::vector<int64_t> arriving(static_cast<size_t>(ranks));
    const int64_t my_begin = total * int64_t(me) / ranks, my_end = total * int64_t(me + 1) / ranks;
    const int64_t own_begin =
        std::accumulate(counts.begin(), counts.begin() + int64_t(me), int64_t{0});
    int64_t begin = 0;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const auto inside = [&](int64_t at) {
        return std::clamp<int64_t>(at - own_begin, 0, counts[me]);
      };
      parts.emplace_back(inside(total * rank / ranks), inside(total * (rank + 1) / ranks));
      const int64_t end = begin + counts[size_t(rank)];
      arriving[size_t(rank)] =
          std::max<int64_t>(0, std::min(end, my_end) - std::max(begin, my_begin));
      begin = end;
      shares[size_t(rank)] = total * (rank + 1) / ranks - total * rank / ranks;
    }
    DTNN_ASSIGN_OR_RETURN(const std::vector<List> lists, Exchange(mine, parts, arriving));
    for (const List& list : lists) even.Append(list, 0, list.size());
    sent = &even;
  }
  const std::vector<Range> whole(size_t(ranks), Range(0, int64_t(sent->size())));
  DTNN_ASSIGN_OR_RETURN(const std::vector<List> lists, Exchange(*sent, whole, shares));
  List all;
  for (const List& list : lists) all.Append(list, 0, list.size());
  DTNN_RETURN_IF_ERROR(CheckPlaces(all, 0, elements_));
  return all;
}

// The largest of all sums, on all ranks. `anew`: with a threshold computed from all of them.
absl::Status TopKAllReduce::Gather(bool anew) {
  const auto keep = [](const List& from, uint32_t threshold) {
    if (threshold == 1) return from;  // also sums that are 0: then nothing is left over of them
    List kept;
    for (size_t i = 0; i < from.size(); ++i) {
      if (Magnitude(from.values[i]) >= threshold) kept.Add(from.places[i], from.values[i]);
    }
    return kept;
  };
  if (!anew) {
    const List kept = keep(reduced_, global_threshold_);
    DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> counts,
                          GatherValues(*communicator_, int64_t(kept.size())));
    const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    if (Serves(global_threshold_, total, k_)) {
      DTNN_ASSIGN_OR_RETURN(result_, GatherLists(kept, counts));
      return absl::OkStatus();
    }
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> counts,
                        GatherValues(*communicator_, int64_t(reduced_.size())));
  DTNN_ASSIGN_OR_RETURN(const List all, GatherLists(reduced_, counts));
  global_threshold_ = TopKThreshold(all.values, k_);
  result_ = keep(all, global_threshold_);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> TopKAllReduce::GatherState() {
  if (global_threshold_ == 0) return std::vector<double>();
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> thresholds,
                        GatherValues(*communicator_, int64_t{local_threshold_}));
  std::vector<double> state = {double(communicator_->size()), double(global_threshold_)};
  state.insert(state.end(), thresholds.begin(), thresholds.end());
  state.insert(state.end(), regions_.begin(), regions_.end());
  return state;
}

absl::Status TopKAllReduce::SetState(std::span<const double> state) {
  local_threshold_ = global_threshold_ = 0;
  regions_.clear();
  const auto ranks = size_t(communicator_->size());
  if (state.empty() || state[0] != double(ranks)) return absl::OkStatus();
  const auto is_threshold = [](double x) { return x >= 1 && x < 0x1p31 && x == std::floor(x); };
  bool good = state.size() == 3 + 2 * ranks;
  for (size_t i = 1; good && i < 2 + ranks; ++i) good = is_threshold(state[i]);
  const std::span<const double> regions = good ? state.subspan(2 + ranks) : state.first(0);
  for (size_t i = 0; good && i <= ranks; ++i) {
    const double least = i == 0 ? 0 : regions[i - 1];
    good = regions[i] >= least && regions[i] <= double(elements_) &&
           regions[i] == std::floor(regions[i]);
  }
  if (!good || regions.front() != 0 || regions.back() != double(elements_)) {
    return InvalidArgument("what is said of the exchange of gradients among ", ranks,
                           " ranks cannot be: ", state.size(), " numbers");
  }
  global_threshold_ = uint32_t(state[1]);
  local_threshold_ = uint32_t(state[2 + size_t(communicator_->rank())]);
  regions_.assign(regions.begin(), regions.end());
  return absl::OkStatus();
}

}  // namespace dtnn
