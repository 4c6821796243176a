#include "kernels/conv/depthwise/data.h"

#include <algorithm>

#include "kernels/conv/transpose.h"
#include "kernels/scratch.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::depthwise {
namespace {

template <typename T>
alignas(64) constexpr T kZeros[kBlock<T>] = {};

}  // namespace

template <typename T>
DepthwiseData<T>::DepthwiseData(const Conv2dSpec& spec, Direction direction)
    : kernels_(CpuKernels<T>()),
      rows_(VerticalPhases(spec, direction)),
      columns_(HorizontalPhases(spec, direction)),
      channels_(spec.channels),
      blocks_(CeilDiv(channels_, kBlock<T>)),
      taps_(spec.kernel.vertical * spec.kernel.horizontal),
      kernel_width_(spec.kernel.horizontal),
      copies_results_(spec.format == TensorFormat::kNCHW || channels_ % kBlock<T> != 0),
      tiles_(rows_, columns_, spec.batch, channels_ * int64_t(sizeof(T)), 64),
      threads_(NumThreads()) {}

template <typename T>
typename DepthwiseData<T>::Scratch DepthwiseData<T>::Divide(std::byte* memory) const {
  ScratchDivider divider(memory);
  Scratch scratch;
  scratch.in = divider.Take<T>(tiles_.in_pixels() * kBlock<T>);
  scratch.out = divider.Take<T>(copies_results_ ? tiles_.out_pixels() * kBlock<T> : 0);
  scratch.bytes = divider.bytes();
  return scratch;
}

template <typename T>
void DepthwiseData<T>::DeriveFilter(const Filter<const T>& filter, T* derived) const {
  for (int64_t c = 0; c < channels_; c += kBlock<T>, derived += taps_ * kBlock<T>) {
    const int64_t channels = std::min(kBlock<T>, channels_ - c);
    if (channels < kBlock<T>) std::fill_n(derived, taps_ * kBlock<T>, T(0));
    const T* from = filter.data + c * filter.filter;
    if (filter.filter == 1) {
      for (int64_t t = 0; t < taps_; ++t) {
        std::copy_n(from + t * filter.tap, channels, derived + t * kBlock<T>);
      }
    } else {
      Transpose(from, channels, taps_, filter.filter, derived, kBlock<T>);
    }
  }
}

template <typename T>
void DepthwiseData<T>::Run(const Call& call) const {
  const int64_t items = tiles_.Count(call.images) * blocks_;
  ParallelForWithScratch(items, 1, threads_, [&](int thread, int64_t begin, int64_t end) {
    const Scratch mine = Divide(call.workspace + size_t(thread) * Divide(nullptr).bytes);
    Window<T> in(mine.in, tiles_.in_pixels()), out(mine.out, tiles_.out_pixels());
    for (int64_t item = begin; item < end; ++item) {
      RunTile(call, tiles_.At(item / blocks_, call.images), item % blocks_, in, out);
    }
  });
}

template <typename T>
void DepthwiseData<T>::RunTile(const Call& call, const Tile& tile, int64_t block, Window<T>& in,
                               Window<T>& out) const {
  const WriteBack<T>& write_back = call.write_back;
  const int64_t image = tile.images.begin, images = tile.images.size();
  const int64_t channel = block * kBlock<T>, channels = std::min(kBlock<T>, channels_ - channel);
  in.Fill(From(call.in, image, 0, 0, channel), images, rows_.inputs(), columns_.inputs(),
          rows_.Inputs(tile.rows), columns_.Inputs(tile.columns), channels);

  const Range rows = rows_.Results(tile.rows);
  const Range columns = columns_.Results(tile.columns);
  Gather<T> gather;
  gather.filter = call.filter + block * taps_ * kBlock<T>;
  if (write_back.scale != nullptr) gather.scale = write_back.scale + channel;
  if (write_back.bias != nullptr) gather.bias = write_back.bias + channel;
  gather.addend = From(write_back.addend, image, rows.begin, columns.begin, channel);
  gather.relu = write_back.relu;
  gather.out = From(call.out, image, rows.begin, columns.begin, channel);
  const Counts pixels = {images, rows.size(), columns.size()};
  const Images<T> results = gather.out;
  const bool in_place = IsBlock(results, channels) && IsBlock(gather.addend, channels);
  if (!in_place) {
    gather.out = out.Dense(rows.size(), columns.size());
    if (gather.addend.data != nullptr) {
      CopyChannels(pixels, gather.addend, channels, gather.out);
      gather.addend = gather.out;
    }
  }
  for (const Phase& row : rows_.phases()) {
    for (const Phase& column : columns_.phases()) RunPhase(tile, row, column, in, gather);
  }
  if (!in_place) CopyChannels<T>(pixels, gather.out, channels, results);
}

template <typename T>
void DepthwiseData<T>::RunPhase(const Tile& tile, const Phase& rows, const Phase& columns,
                                const Window<T>& in, Gather<T> gather) const {
  gather.results = {tile.images.size(), std::min(tile.rows.end, rows.count) - tile.rows.begin,
                    std::min(tile.columns.end, columns.count) - tile.columns.begin};
  const auto advance = [&](auto& images) {
    images = From(images, 0, rows.first, columns.first, 0);
    images.row *= rows_.out_step();
    images.pixel *= columns_.out_step();
  };
  advance(gather.out);
  advance(gather.addend);
  if (rows.taps.empty() ||
      columns.taps.empty()) {  // all taps lie between the inputs, or in the padding
    gather.in = {kZeros<T>, 0, 0, 0, 1};
    gather.filter = kZeros<T>;
    return kernels_.gather[0][0](gather);
  }
  const Phase::Tap &row_tap = rows.taps.front(), &column_tap = columns.taps.front();
  const Phase::Tap row_step = TapStep(rows), column_step = TapStep(columns);
  gather.in =
      From(in.filled(), 0, row_tap.offset + tile.rows.begin * rows_.in_step() - in.rows().begin,
           column_tap.offset + tile.columns.begin * columns_.in_step() - in.columns().begin, 0);
  gather.in_taps = {gather.in.row * row_step.offset, gather.in.pixel * column_step.offset};
  gather.in.row *= rows_.in_step();
  gather.in.pixel *= columns_.in_step();
  gather.filter += (row_tap.tap * kernel_width_ + column_tap.tap) * kBlock<T>;
  gather.filter_taps = {row_step.tap * kernel_width_ * kBlock<T>, column_step.tap * kBlock<T>};
  int64_t taps = int64_t(rows.taps.size() * columns.taps.size());
  const auto use = [&](auto function, int64_t row, int64_t column, int64_t size) {
    Gather<T> block = gather;
    block.in.data += row * gather.in_taps.row + column * gather.in_taps.column;
    block.filter += row * gather.filter_taps.row + column * gather.filter_taps.column;
    taps -= size;
    block.relu = gather.relu && taps == 0;
    function(block);
    // What was added once is part of the results, to which other blocks add.
    gather.bias = nullptr;
    gather.addend = gather.out;
  };
  ForEachBlockOfTaps(int64_t(rows.taps.size()), int64_t(columns.taps.size()), kernels_.gather,
                     kernels_.gather_more, use);
}

template class DepthwiseData<float>;
template class DepthwiseData<double>;

}  // namespace dtnn::conv::depthwise
