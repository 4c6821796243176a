#include "kernels/conv/winograd/sliced_filter.h"

#include <algorithm>

#include "kernels/conv/winograd/layout.h"
#include "kernels/workspace/scratch.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::winograd {
namespace {

// The transformed tiles of a slice, in the L3 cache, of which other processes use a part.
constexpr int64_t kSliceBytes = 4 << 20;
// Tiles of a slice: few cost less than transforming their sums back, and a panel of one element of
// them stays in the L1 cache.
constexpr int64_t kLeastTiles = 64, kMostTiles = 192;
// What a thread transforms at a time: channels, and tiles, whose pixels are one partial sum of the
// bias.
constexpr int64_t kRun = 64;
constexpr int64_t kBlock = 16;
// Channels of x that lie together, a line: with a panel of filters they cover few pages.
constexpr int64_t kInPanel = 16;
// Sums of a block of channels and a panel of filters, which share the L2 cache with the tiles that
// are multiplied.
constexpr int64_t kSumBytes = 300 << 10;
// Channels whose gradients are written together where filters do not lie side by side.
constexpr int64_t kWritten = 16;

}  // namespace

template <typename T>
struct SlicedFilter<T>::Memory {
  InWindow<T>*x, *dy;
  Tiles<T> in, gradient;  // [element][panel][tile][channel of the panel]
  T* block_bias;          // [block of tiles][filter]
  T* bias;
  T* sums;            // [thread][element][channel][width]
  int64_t sums_step;  // from thread to thread
  size_t bytes;
};

template <typename T>
SlicedFilter<T>::SlicedFilter(const Conv2dSpec& spec, Form form)
    : form_(form),
      kernels_(CpuKernels<T>(form)),
      grid_(spec, Direction::kForward, form),
      threads_(NumThreads()),
      channels_(spec.channels),
      filters_(spec.filters),
      padded_filters_(RoundUp(spec.filters, kernels_.lanes)) {
  const int64_t row = RoundUp(channels_, kInPanel) + RoundUp(filters_, panel_width());
  const int64_t fit = kSliceBytes / (form.elements() * row * int64_t(sizeof(T)));
  slice_ = std::min(std::clamp(fit / kBlock * kBlock, kLeastTiles, kMostTiles),
                    spec.batch * grid_.per_image());
  const int64_t sums = kSumBytes / (form.elements() * panel_width() * int64_t(sizeof(T)));
  // And enough blocks to divide them among the threads.
  const int64_t share = channels_ * panels() / (2 * threads_);
  block_ = std::min(std::max(std::min(sums, share) / kInPanel, int64_t{1}) * kInPanel, channels_);
  sums_element_ = OddLines<T>(block_ * panel_width());
}

template <typename T>
int64_t SlicedFilter<T>::width(int64_t panel) const {
  return std::min(panel_width(), padded_filters_ - panel * panel_width());
}

template <typename T>
typename SlicedFilter<T>::Memory SlicedFilter<T>::Divide(std::byte* workspace) const {
  ScratchDivider divider(workspace);
  Memory memory;
  const auto take = [&](int64_t channels, int64_t panel) {
    const int64_t element = OddLines<T>(CeilDiv(channels, panel) * panel * slice_);
    return Tiles<T>{divider.Take<T>(form_.elements() * element), element, panel};
  };
  memory.x = divider.Take<InWindow<T>>(slice_);
  memory.dy = divider.Take<InWindow<T>>(slice_);
  memory.in = take(channels_, kInPanel);
  memory.gradient = take(filters_, panel_width());
  memory.block_bias = divider.Take<T>(CeilDiv(slice_, kBlock) * padded_filters_);
  memory.bias = divider.Take<T>(padded_filters_);
  memory.sums_step = form_.elements() * sums_element_;
  memory.sums = divider.Take<T>(threads_ * memory.sums_step);
  memory.bytes = divider.bytes();
  return memory;
}

template <typename T>
size_t SlicedFilter<T>::workspace_bytes() const {
  return Divide(nullptr).bytes;
}

template <typename T>
void SlicedFilter<T>::Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images,
                          bool first, const Gradient& gradient, std::byte* workspace) const {
  const Memory memory = Divide(workspace);
  const int64_t tiles = images * grid_.per_image();
  if (first) std::fill_n(memory.bias, padded_filters_, T(0));
  const int64_t in_runs = CeilDiv(channels_, kRun), runs = in_runs + CeilDiv(filters_, kRun);
  for (int64_t at = 0; at < tiles || at == 0; at += slice_) {
    const int64_t count = std::min(slice_, tiles - at), blocks = CeilDiv(count, kBlock);
    grid_.ListInput(x, at, count, memory.x);
    grid_.ListGradient(dy, at, count, memory.dy);
    ParallelFor(0, runs * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t run = item / blocks, block = item % blocks;
        if (run < in_runs) {
          TransformInput(x, run, block * kBlock, std::min(count, (block + 1) * kBlock), memory);
        } else {
          TransformGradient(dy, run - in_runs, block, count, memory);
        }
      }
    });
    for (int64_t block = 0; block < blocks; ++block) {
      const T* const sums = memory.block_bias + block * padded_filters_;
      for (int64_t f = 0; f < filters_; ++f) memory.bias[f] += sums[f];
    }
    Gradient target = gradient;
    target.accumulate |= !first || at > 0;
    const int64_t parts = CeilDiv(channels_, block_);
    ParallelForWithScratch(panels() * parts, 1, threads_,
                           [&](int thread, int64_t begin, int64_t end) {
                             T* const sums = memory.sums + thread * memory.sums_step;
                             for (int64_t item = begin; item < end; ++item) {
                               const int64_t channel = item % parts * block_;
                               AddBlock(target, item / parts, channel,
                                        std::min(channels_, channel + block_), count, memory, sums);
                             }
                           });
  }
}

template <typename T>
void SlicedFilter<T>::TransformInput(const Images<const T>& x, int64_t run, int64_t first,
                                     int64_t last, const Memory& memory) const {
  const int64_t channel = run * kRun;
  kernels_.in_to_tiles(
      {.windows = memory.x + first,
       .count = last - first,
       .row = x.row,
       .pixel = x.pixel,
       .channels = std::min(kRun, channels_ - channel),
       .first_channel = channel,
       .tiles = {memory.in.data + channel * slice_ + first * kInPanel, memory.in.element, kInPanel},
       .panel = kInPanel,
       .panel_step = kInPanel * slice_});
}

template <typename T>
void SlicedFilter<T>::TransformGradient(const Images<const T>& dy, int64_t run, int64_t block,
                                        int64_t count, const Memory& memory) const {
  const int64_t filter = run * kRun, first = block * kBlock;
  T* const bias = memory.block_bias + block * padded_filters_ + filter;
  std::fill_n(bias, std::min(kRun, padded_filters_ - filter), T(0));
  kernels_.gradient_to_tiles(
      {.windows = memory.dy + first,
       .count = std::min(count - first, kBlock),
       .row = dy.row,
       .pixel = dy.pixel,
       .channels = std::min(kRun, filters_ - filter),
       .first_channel = filter,
       .tiles = {memory.gradient.data + filter * slice_ + first * panel_width(),
                 memory.gradient.element, panel_width()},
       .panel = panel_width(),
       .panel_step = panel_width() * slice_,
       .sums = bias});
}

// Adds the products of a slice to the gradients of channels [first, last) for the filters of a
// panel.
template <typename T>
void SlicedFilter<T>::AddBlock(const Gradient& gradient, int64_t panel, int64_t first, int64_t last,
                               int64_t count, const Memory& memory, T* sums) const {
  const Tiles<T>&in = memory.in, &dy = memory.gradient;
  for (int64_t element = 0; element < form_.elements(); ++element) {
    for (int64_t channel = first; channel < last; channel += kInPanel) {
      kernels_.correlate(
          {.elements = 1,
           .tiles = count,
           .channels = std::min(kInPanel, last - channel),
           .width = width(panel),
           .in = {in.data + element * in.element + channel * slice_, in.element, in.tile},
           .gradient = {dy.data + element * dy.element + panel * panel_width() * slice_, dy.element,
                        dy.tile},
           .out = sums + element * sums_element_ + (channel - first) * width(panel),
           .out_element = sums_element_});
    }
  }
  WriteBlock(gradient, panel, first, last, sums);
}

template <typename T>
void SlicedFilter<T>::WriteBlock(const Gradient& gradient, int64_t panel, int64_t first,
                                 int64_t last, const T* sums) const {
  const Filter<T>& dfilter = gradient.dfilter;
  const int64_t filter = panel * panel_width(), columns = width(panel);
  FilterTransform<T> job = {.from = sums,
                            .from_step = sums_element_,
                            .from_row = columns,
                            .to = dfilter.data + first * dfilter.channel + filter,
                            .to_step = dfilter.tap,
                            .to_row = dfilter.channel,
                            .count = last - first,
                            .columns = columns,
                            .accumulate = gradient.accumulate};
  if (dfilter.filter == 1 && filter + columns <= filters_) return kernels_.sums_to_filter(job);
  constexpr int64_t kMostWidth = 2 * 64 / sizeof(T);
  T taps[kMostTaps * kMostTaps * kWritten * kMostWidth];  // [tap][channel][column]
  job.to = taps;
  job.to_row = columns;
  job.accumulate = false;
  for (int64_t begin = first; begin < last; begin += kWritten) {
    job.from = sums + (begin - first) * columns;
    job.count = std::min(kWritten, last - begin);
    job.to_step = job.count * columns;
    kernels_.sums_to_filter(job);
    for (int64_t tap = 0; tap < int64_t(form_.taps) * form_.taps; ++tap) {
      for (int64_t c = 0; c < job.count; ++c) {
        const T* from = taps + tap * job.to_step + c * columns;
        T* to = dfilter.data + tap * dfilter.tap + (begin + c) * dfilter.channel +
                filter * dfilter.filter;
        for (int64_t f = 0; f < std::min(columns, filters_ - filter); ++f) {
          T& at = to[f * dfilter.filter];
          at = (gradient.accumulate ? at : T(0)) + from[f];
        }
      }
    }
  }
}

// Gradients of filters are complete.
template <typename T>
void SlicedFilter<T>::Write(const Gradient& gradient, std::byte* workspace) const {
  const Memory memory = Divide(workspace);
  for (int64_t f = 0; gradient.dbias != nullptr && f < filters_; ++f) {
    gradient.dbias[f] = (gradient.accumulate ? gradient.dbias[f] : T(0)) + memory.bias[f];
  }
}

template class SlicedFilter<float>;
template class SlicedFilter<double>;

}  // namespace dtnn::conv::winograd
