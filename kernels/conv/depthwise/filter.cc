#include "kernels/conv/depthwise/filter.h"

#include <algorithm>
#include <utility>

#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::depthwise {
namespace {

// Blocks of channels are summed apart from each other, and where these are fewer, also parts of
// the tiles.
constexpr int64_t kTasks = 64;
constexpr int64_t kMostParts = 16;
// Results that are worth loading and storing the sums of a block. Where the inputs do not stay in
// registers, those of a tile should stay in the L1 cache.
constexpr int64_t kFewestSliding = 96;
constexpr int64_t kFewest = 32;

template <typename T>
const auto kOnes = [] {
  struct {
    alignas(64) T values[kBlock<T>];
  } ones;
  std::fill_n(ones.values, kBlock<T>, T(1));
  return ones;
}();

template <typename T>
std::optional<Sliding> SlidingOf(const Kernels<T>& kernels, const Axis& rows, const Axis& columns) {
  const Phase& vertical = rows.phases().front();
  const std::optional<Sliding> sliding = SlidingOf(columns);
  if (!sliding || kernels.slide[sliding->window][0] == nullptr || vertical.taps.empty() ||
      (vertical.taps.size() > 1 && TapStep(vertical).offset != 1)) {
    return std::nullopt;
  }
  return sliding;
}

Range Common(Range a, Range b) {
  const int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

}  // namespace

template <typename T>
DepthwiseFilter<T>::DepthwiseFilter(const Conv2dSpec& spec)
    : kernels_(CpuKernels<T>()),
      rows_(VerticalPhases(spec, Direction::kBackwardFilter), spec.out_height()),
      columns_(HorizontalPhases(spec, Direction::kBackwardFilter), spec.out_width()),
      row_stretches_(Stretches(rows_.phases().front())),
      column_stretches_(Stretches(columns_.phases().front())),
      channels_(spec.channels),
      blocks_(CeilDiv(channels_, kBlock<T>)),
      taps_(spec.kernel.vertical * spec.kernel.horizontal),
      kernel_width_(spec.kernel.horizontal),
      sliding_(SlidingOf(kernels_, rows_, columns_)),
      tiles_(rows_, columns_, spec.batch, channels_ * int64_t(sizeof(T)),
             sliding_.has_value() ? kFewestSliding : kFewest),
      parts_(std::clamp<int64_t>(std::min(kTasks / blocks_, tiles_.Count(spec.batch)), 1,
                                 kMostParts)) {}

template <typename T>
void DepthwiseFilter<T>::Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images,
                             bool first, const Gradient& gradient, std::byte* workspace) const {
  auto* const sums = reinterpret_cast<Wide<T>*>(workspace);
  const int64_t tiles = tiles_.Count(images);
  ParallelFor(0, parts_ * blocks_, 1, [&](int64_t begin, int64_t end) {
    if (first) std::fill(sums + begin * BlockSums(), sums + end * BlockSums(), Wide<T>(0));
    while (begin < end) {
      const int64_t part = begin / blocks_, block = begin % blocks_;
      const int64_t last = std::min(blocks_, block + end - begin);
      for (int64_t t = tiles * part / parts_; t < tiles * (part + 1) / parts_; ++t) {
        const Tile tile = tiles_.At(t, images);
        for (int64_t b = block; b < last; ++b) {
          SumTile(x, dy, tile, b, gradient.dbias != nullptr,
                  sums + part * PartSums() + b * BlockSums());
        }
      }
      begin += last - block;
    }
  });
}

template <typename T>
void DepthwiseFilter<T>::SumTile(const Images<const T>& x, const Images<const T>& dy,
                                 const Tile& tile, int64_t block, bool with_bias,
                                 Wide<T>* sums) const {
  const Phase &vertical = rows_.phases().front(), &horizontal = columns_.phases().front();
  const int64_t channel = block * kBlock<T>;
  const Images<const T> in = x.From(tile.images.begin, channel);
  const Images<const T> gradient = dy.From(tile.images.begin, channel);
  Correlation<T> correlation;
  correlation.channels = std::min(kBlock<T>, channels_ - channel);
  // From a result to the next.
  const auto sum = [&](Counts results, Images<const T> from, Images<const T> by, auto function) {
    // The innermost loop is the longest.
    if (results.images > results.columns) {
      std::swap(results.images, results.columns);
      std::swap(from.image, from.pixel);
      std::swap(by.image, by.pixel);
    }
    correlation.results = results, correlation.in = from, correlation.dy = by;
    function(correlation);
  };
  if (with_bias) {  // a tap that reads one everywhere
    correlation.sums = sums + taps_ * kBlock<T>;
    Images<const T> by = gradient;
    by.data = gradient.At(0, tile.rows.begin) + tile.columns.begin * gradient.pixel;
    sum({tile.images.size(), tile.rows.size(), tile.columns.size()}, {kOnes<T>.values, 0, 0, 0, 1},
        by, kernels_.correlate[0][0]);
  }
  const Phase::Tap row_step = TapStep(vertical), column_step = TapStep(horizontal);
  correlation.in_taps = {row_step.offset * in.row, column_step.offset * in.pixel};
  correlation.sums_taps = {row_step.tap * kernel_width_ * kBlock<T>, column_step.tap * kBlock<T>};
  if (sliding_.has_value() && correlation.channels == kBlock<T>) {
    correlation.results = {tile.images.size(), tile.rows.size(), tile.columns.size()};
    correlation.in = in, correlation.dy = gradient;
    correlation.dy.data = gradient.At(0, tile.rows.begin) + tile.columns.begin * gradient.pixel;
    correlation.sums_taps.column = sliding_->tap_step * kBlock<T>;
    const auto& slide = kernels_.slide[sliding_->window];
    const auto taps = int64_t(vertical.taps.size());
    const auto most = int64_t(std::ranges::find(slide, nullptr) - std::begin(slide));
    for (int64_t r = 0; r < taps; r += most) {
      const Phase::Tap& tap = vertical.taps[size_t(r)];
      correlation.sums = sums + (tap.tap * kernel_width_ + sliding_->tap) * kBlock<T>;
      slide[std::min(most, taps - r) - 1](
          {correlation, vertical.in_step, tile.rows.begin * vertical.in_step + tap.offset,
           tile.columns.begin * horizontal.in_step + sliding_->first, vertical.inputs,
           horizontal.inputs});
    }
    return;
  }
  for (const Stretch& down : row_stretches_) {
    const Range rows = Common(down.steps, tile.rows);
    for (const Stretch& right : column_stretches_) {
      const Range columns = Common(right.steps, tile.columns);
      if (rows.size() == 0 || columns.size() == 0) continue;
      for (int64_t r = 0; r < down.taps.size(); r += kTaps) {
        for (int64_t k = 0; k < right.taps.size(); k += kTaps) {
          const Phase::Tap& a = vertical.taps[size_t(down.taps.begin + r)];
          const Phase::Tap& b = horizontal.taps[size_t(right.taps.begin + k)];
          Images<const T> from = in, by = gradient;
          from.data = in.At(0, rows.begin * vertical.in_step + a.offset) +
                      (columns.begin * horizontal.in_step + b.offset) * in.pixel;
          from.row *= vertical.in_step;
          from.pixel *= horizontal.in_step;
          by.data = gradient.At(0, rows.begin) + columns.begin * gradient.pixel;
          correlation.sums = sums + (a.tap * kernel_width_ + b.tap) * kBlock<T>;
          sum({tile.images.size(), rows.size(), columns.size()}, from, by,
              kernels_.correlate[std::min(kTaps, down.taps.size() - r) - 1]
                                [std::min(kTaps, right.taps.size() - k) - 1]);
        }
      }
    }
  }
}

template <typename T>
void DepthwiseFilter<T>::Write(const Gradient& gradient, std::byte* workspace) const {
  const Filter<Wide<T>>& dfilter = gradient.dfilter;
  const auto* const sums = reinterpret_cast<const Wide<T>*>(workspace);
  for (int64_t block = 0; block < blocks_; ++block) {
    const int64_t channel = block * kBlock<T>, count = std::min(kBlock<T>, channels_ - channel);
    const auto add = [&](int64_t tap, Wide<T>* to, int64_t step) {
      const Wide<T>* const from = sums + block * BlockSums() + tap * kBlock<T>;
      for (int64_t c = 0; c < count; ++c) {
        Wide<T> total = gradient.accumulate ? to[c * step] : Wide<T>(0);
        for (int64_t part = 0; part < parts_; ++part) total += from[part * PartSums() + c];
        to[c * step] = total;
      }
    };
    for (int64_t t = 0; t < taps_; ++t) {
      add(t, dfilter.data + t * dfilter.tap + channel * dfilter.filter, dfilter.filter);
    }
    if (gradient.dbias != nullptr) add(taps_, gradient.dbias + channel, 1);
  }
}

template class DepthwiseFilter<float>;
template class DepthwiseFilter<double>;
template class DepthwiseFilter<Bfloat16>;

}  // namespace dtnn::conv::depthwise
