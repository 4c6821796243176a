#include "kernels/conv/winograd/fused_filter.h"

#include <algorithm>

#include "kernels/conv/winograd/layout.h"
#include "kernels/workspace/scratch.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::winograd {
namespace {

// Channels and filters of a block: its sums take 36 * 64 * 64 floats.
constexpr int64_t kMostChannels = 64;
// The transformed tiles of a block, which share the L2 cache with the sums.
constexpr int64_t kTileBytes = 300 << 10;
constexpr int64_t kMostTiles = 64;
// Pixels that a part sums at least, and the number of tasks that are enough to divide.
constexpr int64_t kPartPixels = 2048;
constexpr int64_t kTasks = 16;

int64_t PaddedFilters(const Conv2dSpec& spec, int64_t lanes) {
  return RoundUp(spec.filters, lanes);
}

// Pixels of each part: blocks of channels and filters are tasks of their own, so that many of them
// need few parts, which must be written and added.
int64_t PartPixels(const Conv2dSpec& spec) {
  const int64_t blocks =
      CeilDiv(spec.channels, kMostChannels) * CeilDiv(spec.filters, kMostChannels);
  const int64_t pixels = spec.batch * spec.out_height() * spec.out_width();
  return std::max(kPartPixels, pixels / CeilDiv(kTasks, blocks));
}

}  // namespace

// The memory of one thread.
template <typename T>
struct FusedFilter<T>::Scratch {
  InWindow<T>*x, *dy;
  Tiles<T> in, gradient;
  T* sums;  // [panel][element][channel][width]
  int64_t sums_element;
  size_t bytes;
};

template <typename T>
FusedFilter<T>::FusedFilter(const Conv2dSpec& spec, Form form)
    : form_(form),
      kernels_(CpuKernels<T>(form)),
      grid_(spec, Direction::kForward, form),
      threads_(NumThreads()),
      channels_(spec.channels),
      filters_(spec.filters),
      channel_block_(std::min(channels_, kMostChannels)),
      filter_block_(std::min(PaddedFilters(spec, kernels_.lanes), kMostChannels)),
      sums_(spec, PaddedFilters(spec, kernels_.lanes), PartPixels(spec)) {
  const int64_t row = RowPitch<T>(channel_block_) + RowPitch<T>(filter_block_);
  block_ =
      std::clamp<int64_t>(kTileBytes / (form.elements() * row * int64_t(sizeof(T))), 8, kMostTiles);
}

template <typename T>
typename FusedFilter<T>::Scratch FusedFilter<T>::Divide(std::byte* memory) const {
  ScratchDivider divider(memory);
  Scratch scratch;
  const auto take = [&](int64_t row) {
    const int64_t element = OddLines<T>(block_ * row);
    return Tiles<T>{divider.Take<T>(form_.elements() * element), element, row};
  };
  scratch.x = divider.Take<InWindow<T>>(block_);
  scratch.dy = divider.Take<InWindow<T>>(block_);
  scratch.in = take(RowPitch<T>(channel_block_));
  scratch.gradient = take(RowPitch<T>(filter_block_));
  const int64_t width = 2 * kernels_.lanes;
  scratch.sums_element = OddLines<T>(channel_block_ * width);
  scratch.sums =
      divider.Take<T>(CeilDiv(filter_block_, width) * form_.elements() * scratch.sums_element);
  scratch.bytes = divider.bytes();
  return scratch;
}

template <typename T>
size_t FusedFilter<T>::workspace_bytes() const {
  return sums_.bytes() + size_t(threads_) * Divide(nullptr).bytes;
}

template <typename T>
void FusedFilter<T>::Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images,
                         bool first, const Gradient&, std::byte* workspace) const {
  const size_t bytes = Divide(nullptr).bytes;
  const int64_t tiles = images * grid_.per_image();
  const int64_t channel_blocks = CeilDiv(channels_, channel_block_);
  const int64_t blocks = channel_blocks * CeilDiv(filters_, filter_block_);
  ParallelForWithScratch(
      sums_.parts() * blocks, 1, threads_, [&](int thread, int64_t begin, int64_t end) {
        const Scratch mine = Divide(workspace + sums_.bytes() + size_t(thread) * bytes);
        for (int64_t item = begin; item < end; ++item) {
          const int64_t block = item % blocks;
          SumPart(x, dy, tiles, item / blocks, block % channel_blocks * channel_block_,
                  block / channel_blocks * filter_block_, first, workspace, mine);
        }
      });
}

// The sums of a part of the tiles for a block of channels and of filters, which begin there.
template <typename T>
void FusedFilter<T>::SumPart(const Images<const T>& x, const Images<const T>& dy, int64_t tiles,
                             int64_t part, int64_t channel, int64_t filter, bool first,
                             std::byte* workspace, const Scratch& scratch) const {
  const int64_t channels = std::min(channel_block_, channels_ - channel);
  const int64_t filters = std::min(filter_block_, filters_ - filter);
  const int64_t padded = std::min(filter_block_, sums_.pitch() - filter);
  const int64_t begin = sums_.Begin(tiles, part), end = sums_.Begin(tiles, part + 1);
  const int64_t full_width = 2 * kernels_.lanes;
  T* const bias = sums_.bias(workspace, part) + filter;
  if (first && channel == 0) std::fill_n(bias, padded, T(0));
  for (int64_t at = begin; at < end || at == begin; at += block_) {
    const int64_t count = std::min(block_, end - at);
    grid_.ListInput(x, at, count, scratch.x);
    grid_.ListGradient(dy, at, count, scratch.dy);
    kernels_.in_to_tiles({.windows = scratch.x,
                          .count = count,
                          .row = x.row,
                          .pixel = x.pixel,
                          .channels = channels,
                          .first_channel = channel,
                          .tiles = scratch.in});
    kernels_.gradient_to_tiles({.windows = scratch.dy,
                                .count = count,
                                .row = dy.row,
                                .pixel = dy.pixel,
                                .channels = filters,
                                .first_channel = filter,
                                .tiles = scratch.gradient,
                                .sums = channel == 0 ? bias : nullptr});
    for (int64_t column = 0; column < padded; column += full_width) {
      kernels_.correlate(
          {.elements = form_.elements(),
           .tiles = count,
           .channels = channels,
           .width = std::min(full_width, padded - column),
           .in = {scratch.in.data, scratch.in.element, scratch.in.tile},
           .gradient = {scratch.gradient.data + column, scratch.gradient.element,
                        scratch.gradient.tile},
           .accumulate = at > begin,
           .out = scratch.sums + column / full_width * form_.elements() * scratch.sums_element,
           .out_element = scratch.sums_element});
    }
  }
  T* const sums = sums_.filter(workspace, part) + channel * sums_.pitch() + filter;
  for (int64_t column = 0; column < padded; column += full_width) {
    const int64_t width = std::min(full_width, padded - column);
    kernels_.sums_to_filter(
        {.from = scratch.sums + column / full_width * form_.elements() * scratch.sums_element,
         .from_step = scratch.sums_element,
         .from_row = width,
         .to = sums + column,
         .to_step = channels_ * sums_.pitch(),
         .to_row = sums_.pitch(),
         .count = channels,
         .columns = width,
         .accumulate = !first});
  }
}

template class FusedFilter<float>;
template class FusedFilter<double>;

}  // namespace dtnn::conv::winograd
