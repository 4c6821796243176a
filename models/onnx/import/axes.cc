#include "models/onnx/import/axes.h"

#include <algorithm>
#include <deque>

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
    if (extent == kBatchExtent) {
      const AxisFactor next = left_.empty() ? AxisFactor{Of::kPixels, 1, 1}
                              : outermost   ? left_.front()
                                            : left_.back();
      if (next.of != Of::kSamples) return std::nullopt;
      Drop(outermost);
      return Axis{next};
    }
    while (extent > 1) {
      if (left_.empty()) return std::nullopt;
      AxisFactor& next = outermost ? left_.front() : left_.back();
      if (next.of == Of::kSamples) return std::nullopt;
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

std::optional<Axes> Reshaped(const Axes& axes, const std::vector<int64_t>& shape) {
  if (shape.size() > kMostImageAxes) return std::nullopt;
  Factors factors(axes);
  Axes made(shape.size());
  const auto take = [&](size_t i, bool outermost) {
    int64_t extent = shape[i];
    if (i == 0 && extent >= 1 && factors.SamplesAreNext()) extent = kBatchExtent;
    if (extent < 1 && extent != kBatchExtent) return false;
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

std::optional<std::vector<int64_t>> ExtentsOf(const Axes& axes) {
  std::vector<int64_t> extents;
  for (const Axis& axis : axes) {
    int64_t extent = 1;
    for (const AxisFactor& factor : axis) {
      if (factor.of == Of::kSamples && axis.size() > 1) return std::nullopt;
      extent = factor.of == Of::kSamples ? kBatchExtent : extent * factor.extent;
    }
    extents.push_back(extent);
  }
  return extents;
}

std::string ToText(const Axes& axes) {
  std::string text;
  for (const Axis& axis : axes) {
    int64_t extent = 1;
    bool samples = false;
    for (const AxisFactor& factor : axis) {
      factor.of == Of::kSamples ? void(samples = true) : void(extent *= factor.extent);
    }
    StrAppend(&text, text.empty() ? "(" : ", ",
              !samples      ? StrCat(extent)
              : extent == 1 ? std::string("N")
                            : StrCat("N * ", extent));
  }
  return text + ")";
}

}  // namespace dtnn
