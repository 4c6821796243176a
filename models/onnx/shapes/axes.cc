#include "models/onnx/shapes/axes.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>

#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using Of = AxisFactor::Of;

// Appends a factor, or makes the last one larger.
void Append(Axis& axis, const AxisFactor& factor) {
  if (factor.extent == 1) return;
  if (!axis.empty() && factor.of != Of::kSamples && axis.back().of == factor.of &&
      axis.back().step == factor.extent * factor.step) {
    axis.back() = {factor.of, axis.back().extent * factor.extent, factor.step};
  } else {
    axis.push_back(factor);
  }
}

// Factors that axes are made of, from either end.
class Factors {
 public:
  explicit Factors(const Axes& axes) {
    Axis joined;
    for (const Axis& axis : axes) {
      for (const AxisFactor& factor : axis) Append(joined, factor);
    }
    left_.assign(joined.begin(), joined.end());
  }
  bool SamplesAreNext() const { return !left_.empty() && left_.front().of == Of::kSamples; }

  // An axis of the outermost or innermost of those that are left.
  std::optional<Axis> Take(int64_t extent, bool outermost) {
    std::vector<AxisFactor> taken;
    bool samples = IsOfBatch(extent);  // are still to be taken
    if (samples) extent = TimesOf(extent);
    while (extent > 1 || samples) {
      if (left_.empty()) return std::nullopt;
      AxisFactor& next = outermost ? left_.front() : left_.back();
      if (next.of == Of::kSamples) {
        if (!samples) return std::nullopt;
        samples = false;
        taken.push_back(next);
        Drop(outermost);
        continue;
      }
      if (extent == 1) return std::nullopt;
      if (extent % next.extent == 0) {
        extent /= next.extent;
        taken.push_back(next);
        Drop(outermost);
        continue;
      }
      if (next.extent % extent != 0) return std::nullopt;
      const int64_t rest = next.extent / extent;
      if (outermost) {
        taken.push_back({next.of, extent, next.step * rest});
        next.extent = rest;
      } else {
        taken.push_back({next.of, extent, next.step});
        next = {next.of, rest, next.step * extent};
      }
      extent = 1;
    }
    if (!outermost) std::ranges::reverse(taken);
    return Joined(taken);
  }
  Axis TakeAll() {
    const Axis axis = Joined({left_.begin(), left_.end()});
    left_.clear();
    return axis;
  }
  bool empty() const { return left_.empty(); }

 private:
  static Axis Joined(const std::vector<AxisFactor>& factors) {
    Axis axis;
    for (const AxisFactor& factor : factors) Append(axis, factor);
    return axis;
  }
  void Drop(bool outermost) { outermost ? left_.pop_front() : left_.pop_back(); }

  std::deque<AxisFactor> left_;
};

}  // namespace

Axis ChannelAxis(int64_t extent, int64_t step) {
  Axis axis;
  Append(axis, {Of::kChannels, extent, step});
  return axis;
}

Axes AxesOfImage(const Shape& image, bool channels_last) {
  const auto axis = [](Of of, int64_t extent, int64_t step) {
    Axis made;
    Append(made, {of, extent, step});
    return made;
  };
  const Axis samples = {AxisFactor()}, channels = axis(Of::kChannels, image[0], 1),
             rows = axis(Of::kPixels, image[1], image[2]), columns = axis(Of::kPixels, image[2], 1);
  if (channels_last) return {samples, rows, columns, channels};
  return {samples, channels, rows, columns};
}

std::optional<Axes> Reshaped(const Axes& axes, const std::vector<int64_t>& shape, int64_t batch) {
  if (shape.size() > kMostImageAxes) return std::nullopt;
  Factors factors(axes);
  Axes made(shape.size());
  const auto take = [&](size_t i, bool outermost) {
    int64_t extent = shape[i];
    if (i == 0 && extent == batch && factors.SamplesAreNext()) extent = kBatchExtent;
    if (extent < 1 && !IsOfBatch(extent)) return false;
    std::optional<Axis> axis = factors.Take(extent, outermost);
    if (!axis) return false;
    made[i] = *std::move(axis);
    return true;
  };
  const auto open = size_t(std::ranges::find(shape, -1) - shape.begin());
  for (size_t i = 0; i < open; ++i) {
    if (!take(i, /*outermost=*/true)) return std::nullopt;
  }
  for (size_t i = shape.size(); i > open + 1; --i) {
    if (!take(i - 1, /*outermost=*/false)) return std::nullopt;
  }
  if (open < shape.size()) made[open] = factors.TakeAll();
  if (!factors.empty()) return std::nullopt;
  return made;
}

std::optional<Axes> Transposed(const Axes& axes, const std::vector<int64_t>& order) {
  std::vector<int64_t> sorted = order;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != int64_t(i)) return std::nullopt;
  }
  if (order.size() != axes.size()) return std::nullopt;
  Axes made;
  for (const int64_t axis : order) made.push_back(axes[size_t(axis)]);
  return made;
}

std::optional<Axes> Gathered(const Axis& axis, const std::vector<int64_t>& extents,
                             const std::vector<int64_t>& places) {
  const size_t rank = extents.size();
  int64_t count = 1;
  std::vector<int64_t> steps(rank), of_places(rank);  // from a place of an axis to the next
  for (size_t i = rank; i > 0; --i) {
    of_places[i - 1] = count;
    count *= extents[i - 1];
    if (count > int64_t(places.size()) || count < 1) return std::nullopt;
  }
  const auto stands = [&](int64_t place) { return place >= 0 && place < count; };
  if (count != int64_t(places.size()) || !std::ranges::all_of(places, stands)) return std::nullopt;
  for (size_t i = 0; i < rank; ++i) {
    if (extents[i] > 1) steps[i] = places[size_t(of_places[i])];
  }
  for (int64_t place = 0; place < count; ++place) {
    int64_t at = 0;
    for (size_t i = 0; i < rank; ++i) at += place / of_places[i] % extents[i] * steps[i];
    if (at != places[size_t(place)]) return std::nullopt;
  }
  std::vector<int64_t> order(rank), back(rank), divided(rank);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](int64_t i) { return steps[size_t(i)]; });
  int64_t step = 1;
  for (size_t i = rank; i > 0; --i) {
    const auto of = size_t(order[i - 1]);
    if (extents[of] > 1 && steps[of] != step) return std::nullopt;
    step *= extents[of];
    divided[i - 1] = extents[of];
    back[of] = int64_t(i) - 1;
  }
  const auto axes = Reshaped({axis}, divided);
  return axes ? Transposed(*axes, back) : std::nullopt;
}

std::optional<std::vector<int64_t>> ExtentsOf(const Axes& axes) {
  std::vector<int64_t> extents;
  for (const Axis& axis : axes) {
    int64_t extent = 1;
    bool samples = false;
    for (const AxisFactor& factor : axis) {
      factor.of == Of::kSamples ? void(samples = true) : void(extent *= factor.extent);
    }
    if (samples && extent > kMostTimes) return std::nullopt;
    extents.push_back(samples ? BatchExtent(extent) : extent);
  }
  return extents;
}

std::string TextOfExtent(int64_t extent) {
  if (!IsOfBatch(extent)) return StrCat(extent);
  return extent == kBatchExtent ? "N" : StrCat("N * ", TimesOf(extent));
}

std::string TextOf(const std::vector<int64_t>& extents) {
  std::string text;
  for (size_t i = 0; i < extents.size() && i <= kMostImageAxes; ++i) {
    StrAppend(&text, text.empty() ? "(" : ", ",
              i < kMostImageAxes ? TextOfExtent(extents[i]) : std::string("..."));
  }
  return text.empty() ? "()" : text + ")";
}

std::string ToText(const Axes& axes) {
  std::string text;
  for (const Axis& axis : axes) {
    const auto extents = ExtentsOf({axis});
    StrAppend(&text, text.empty() ? "(" : ", ", extents ? TextOfExtent((*extents)[0]) : "N * ...");
  }
  return text + ")";
}

}  // namespace dtnn
