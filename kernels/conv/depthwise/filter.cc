#include "kernels/conv/depthwise/filter.h"

#include <algorithm>

#include "kernels/scratch.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::depthwise {
namespace {

// Blocks of channels are summed apart from each other, and where these are fewer, also parts of
// the tiles.
constexpr int64_t kTasks = 64;
constexpr int64_t kMostParts = 16;

template <typename T>
constexpr auto kOnes = [] {
  struct {
    alignas(64) T values[kBlock<T>];
  } ones;
  std::fill_n(ones.values, kBlock<T>, T(1));
  return ones;
}();

}  // namespace

template <typename T>
DepthwiseFilter<T>::DepthwiseFilter(const Conv2dSpec& spec)
    : kernels_(CpuKernels<T>()),
      rows_(VerticalPhases(spec, Direction::kBackwardFilter)),
      columns_(HorizontalPhases(spec, Direction::kBackwardFilter)),
      channels_(spec.channels),
      blocks_(CeilDiv(channels_, kBlock<T>)),
      taps_(spec.kernel.vertical * spec.kernel.horizontal),
      kernel_width_(spec.kernel.horizontal),
      copies_dy_(channels_ % kBlock<T> != 0),
      tiles_(rows_, columns_, spec.batch, channels_ * int64_t(sizeof(T)), 64),
      parts_(
          std::clamp<int64_t>(std::min(kTasks / blocks_, tiles_.Count(spec.batch)), 1, kMostParts)),
      threads_(NumThreads()) {}

template <typename T>
typename DepthwiseFilter<T>::Scratch DepthwiseFilter<T>::Divide(std::byte* memory) const {
  ScratchDivider divider(memory);
  Scratch scratch;
  scratch.x = divider.Take<T>(tiles_.in_pixels() * kBlock<T>);
  scratch.dy = divider.Take<T>(copies_dy_ ? tiles_.out_pixels() * kBlock<T> : 0);
  scratch.bytes = divider.bytes();
  return scratch;
}

template <typename T>
size_t DepthwiseFilter<T>::workspace_bytes() const {
  return SumsBytes() + size_t(threads_) * Divide(nullptr).bytes;
}

template <typename T>
void DepthwiseFilter<T>::Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images,
                             bool first, const Gradient& gradient, std::byte* workspace) const {
  T* const sums = reinterpret_cast<T*>(workspace);
  const int64_t tiles = tiles_.Count(images);
  ParallelForWithScratch(
      parts_ * blocks_, 1, threads_, [&](int thread, int64_t begin, int64_t end) {
        const Scratch mine =
            Divide(workspace + SumsBytes() + size_t(thread) * Divide(nullptr).bytes);
        Window<T> x_window(mine.x, tiles_.in_pixels()), dy_window(mine.dy, tiles_.out_pixels());
        if (first) std::fill(sums + begin * BlockSums(), sums + end * BlockSums(), T(0));
        while (begin < end) {
          const int64_t part = begin / blocks_, block = begin % blocks_;
          const int64_t last = std::min(blocks_, block + end - begin);
          for (int64_t t = tiles * part / parts_; t < tiles * (part + 1) / parts_; ++t) {
            const Tile tile = tiles_.At(t, images);
            for (int64_t b = block; b < last; ++b) {
              SumTile(x, dy, tile, b, gradient.dbias != nullptr, x_window, dy_window,
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
                                 Window<T>& x_window, Window<T>& dy_window, T* sums) const {
  const int64_t image = tile.images.begin;
  const int64_t channel = block * kBlock<T>, channels = std::min(kBlock<T>, channels_ - channel);
  Correlation<T> correlation;
  correlation.results = {tile.images.size(), tile.rows.size(), tile.columns.size()};
  correlation.dy = From(dy, image, tile.rows.begin, tile.columns.begin, channel);
  if (channels < kBlock<T>) {
    const Images<T> copy = dy_window.Dense(tile.rows.size(), tile.columns.size());
    CopyChannels(correlation.results, correlation.dy, channels, copy);
    correlation.dy = copy;
  }
  if (with_bias) {  // a tap that reads one everywhere
    correlation.in = {kOnes<T>.values, 0, 0, 0, 1};
    correlation.sums = sums + taps_ * kBlock<T>;
    kernels_.correlate[0][0](correlation);
  }
  const Phase& rows = rows_.phases().front();
  const Phase& columns = columns_.phases().front();
  if (rows.taps.empty() || columns.taps.empty()) return;  // all lie in the padding
  x_window.Fill(From(x, image, 0, 0, channel), tile.images.size(), rows_.inputs(),
                columns_.inputs(), rows_.Inputs(tile.rows), columns_.Inputs(tile.columns),
                channels);
  const Images<const T> in = x_window.filled();
  correlation.in = in;
  correlation.in.row *= rows_.in_step();
  correlation.in.pixel *= columns_.in_step();
  correlation.in_taps = {in.row * TapStep(rows).offset, in.pixel * TapStep(columns).offset};
  correlation.sums_taps = {kernel_width_ * kBlock<T>, kBlock<T>};
  sums += (rows.taps.front().tap * kernel_width_ + columns.taps.front().tap) * kBlock<T>;
  const auto use = [&](auto function, int64_t row, int64_t column, int64_t) {
    correlation.in.data =
        in.data + row * correlation.in_taps.row + column * correlation.in_taps.column;
    correlation.sums =
        sums + row * correlation.sums_taps.row + column * correlation.sums_taps.column;
    function(correlation);
  };
  ForEachBlockOfTaps(int64_t(rows.taps.size()), int64_t(columns.taps.size()), kernels_.correlate,
                     kernels_.correlate_more, use);
}

template <typename T>
void DepthwiseFilter<T>::Write(const Gradient& gradient, std::byte* workspace) const {
  const Filter<T>& dfilter = gradient.dfilter;
  const T* const sums = reinterpret_cast<const T*>(workspace);
  const auto add = [&](int64_t channel, int64_t tap, T* to) {
    const int64_t at = channel / kBlock<T> * BlockSums() + tap * kBlock<T> + channel % kBlock<T>;
    T total = gradient.accumulate ? *to : T(0);
    for (int64_t part = 0; part < parts_; ++part) total += sums[part * PartSums() + at];
    *to = total;
  };
  for (int64_t c = 0; c < channels_; ++c) {
    for (int64_t t = 0; t < taps_; ++t) {
      add(c, t, dfilter.data + t * dfilter.tap + c * dfilter.filter);
    }
    if (gradient.dbias != nullptr) add(c, taps_, gradient.dbias + c);
  }
}

template class DepthwiseFilter<float>;
template class DepthwiseFilter<double>;

}  // namespace dtnn::conv::depthwise
