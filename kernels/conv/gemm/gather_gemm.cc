#include "kernels/conv/gemm/gather_gemm.h"

#include <algorithm>
#include <cstring>

#include "kernels/conv/geometry/cache_sets.h"
#include "kernels/conv/geometry/transpose.h"
#include "kernels/workspace/scratch.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::gemm {
namespace {

// The inputs of a block, which share the L2 cache with a panel of the filter.
constexpr int64_t kBlockBytes = 192 << 10;
// The inputs and outputs of a block whose sums have at most kShortSum terms.
constexpr int64_t kShortSumBytes = 256 << 10;
constexpr int64_t kShortSum = 512;
// Maps up to this width are computed across images, this many at a time: a multiple of the rows of
// a tile on every machine but the scalar one.
constexpr int64_t kSmallWidth = 6;
constexpr int64_t kImagesTogether = 14;
constexpr int64_t kFewestImages = 4;
constexpr int64_t kTileRows = 14;
// Images that are copied together are smaller than this, all of them.
constexpr int64_t kMostCopyBytes = 8 << 20;

// The first input that exists of those that results from `column` on read.
int64_t FirstInput(const Phase& horizontal, int64_t column) {
  const int64_t first = column * horizontal.in_step + horizontal.low;
  return std::min(std::max<int64_t>(0, first), horizontal.inputs);
}

}  // namespace

template <typename T>
GatherGemm<T>::GatherGemm(const Conv2dSpec& spec, Direction direction)
    : kernels_(CpuKernels<T>()),
      backward_(direction == Direction::kBackwardData),
      kernel_height_(spec.kernel.vertical),
      kernel_width_(spec.kernel.horizontal),
      depth_(backward_ ? spec.filters : spec.channels),
      out_channels_(backward_ ? spec.channels : spec.filters),
      batch_(spec.batch),
      padded_depth_(few_out_channels() ? RoundUp(depth_, kernels_.lanes) : depth_),
      vertical_(VerticalPhases(spec, direction)),
      horizontal_(HorizontalPhases(spec, direction)),
      pointwise_(spec.kernel == Pair(1) && spec.stride == Pair(1) && spec.padding == Pair(0)),
      across_images_(!pointwise_ && spec.batch >= kFewestImages &&
                     horizontal_.front().count <= kSmallWidth &&
                     vertical_.front().count <= 2 * kSmallWidth),
      sparse_(!across_images_ && (std::ranges::any_of(vertical_, &Phase::has_holes) ||
                                  std::ranges::any_of(horizontal_, &Phase::has_holes))),
      large_filter_(spec.kernel.vertical * spec.kernel.horizontal * out_channels_ >
                    spec.batch * vertical_.front().inputs * horizontal_.front().inputs),
      threads_(NumThreads()),
      untapped_(spec, direction) {
  if (pointwise_) {
    // One row of all pixels of the batch; a call may bring fewer.
    vertical_.front().count = vertical_.front().inputs = 1;
    horizontal_.front().count = horizontal_.front().inputs = spec.batch * spec.height * spec.width;
  }
  for (const Phase& vertical : vertical_) {
    for (const Phase& horizontal : horizontal_) {
      cuts_.push_back(CutPhases(vertical, horizontal));
      cuts_.back().first = blocks_;
      blocks_ += cuts_.back().blocks();
    }
  }
}

template <typename T>
int64_t GatherGemm<T>::BlockPixels() const {
  // The panels of short sums follow each other so quickly that a block's outputs must be near too.
  if (pointwise_ && depth_ < kShortSum) {
    const int64_t pixels = kShortSumBytes / ((depth_ + out_channels_) * int64_t(sizeof(T)));
    return std::max(kTileRows, pixels / kTileRows * kTileRows);
  }
  return kBlockBytes / (depth_ * int64_t(sizeof(T)));
}

template <typename T>
int64_t GatherGemm<T>::LineOf(const Phase& horizontal, int64_t results) const {
  const int64_t reach = horizontal.Reach(results);
  return sparse_ ? std::min(reach, horizontal.inputs) : reach;
}

template <typename T>
int64_t GatherGemm<T>::LinesOf(const Phase& vertical, int64_t rows) const {
  return sparse_ ? rows * int64_t(vertical.taps.size()) : vertical.Reach(rows);
}

template <typename T>
typename GatherGemm<T>::Cut GatherGemm<T>::CutPhases(const Phase& vertical,
                                                     const Phase& horizontal) const {
  Cut cut{&vertical, &horizontal, vertical.count, horizontal.count, 1, 1};
  if (across_images_) return cut;
  const int64_t fit = BlockPixels();
  if (pointwise_) {
    // Blocks of equal size, as many for each thread. Few panels do not divide the work, so that
    // there must be more blocks.
    const int64_t tiles = CeilDiv(horizontal.count, kTileRows);
    cut.column_blocks = std::max(CeilDiv(horizontal.count, std::max(kTileRows, fit)),
                                 std::min(tiles, CeilDiv(2 * int64_t{threads_}, panels())));
    if (!large_filter_ && cut.column_blocks > threads_) {
      cut.column_blocks = RoundUp(cut.column_blocks, int64_t{threads_});
    }
    cut.columns = CeilDiv(horizontal.count, cut.column_blocks);
    cut.column_blocks = CeilDiv(horizontal.count, cut.columns);
    return cut;
  }
  // Whole rows where some of them fit, else parts of a row, in whole tiles.
  const int64_t line = LineOf(horizontal, horizontal.count);
  if (line * LinesOf(vertical, 1) > fit && !vertical.taps.empty()) {
    const int64_t pixels = fit / LinesOf(vertical, 1) / horizontal.in_step;
    cut.columns = std::min(cut.columns, std::max(kTileRows, pixels / kTileRows * kTileRows));
    cut.rows = 1;
  } else {
    while (cut.rows > 1 && line * LinesOf(vertical, cut.rows) > fit) {
      cut.rows = CeilDiv(cut.rows, 2);
    }
  }
  // Enough blocks to share, where one image is all there is.
  while (batch_ * CeilDiv(vertical.count, cut.rows) * CeilDiv(horizontal.count, cut.columns) <
             4 * threads_ &&
         (cut.rows > 1 || cut.columns >= 2 * kTileRows)) {
    (cut.rows > 1 ? cut.rows : cut.columns) = CeilDiv(cut.rows > 1 ? cut.rows : cut.columns, 2);
  }
  cut.row_blocks = CeilDiv(vertical.count, cut.rows);
  cut.column_blocks = CeilDiv(horizontal.count, cut.columns);
  return cut;
}

// For vectors of the depth: [tap][vector][out_channel][lane], padded with zeros.
template <typename T>
void GatherGemm<T>::DeriveFew(const Filter<const T>& filter, T* derived) const {
  const int64_t depth_step = backward_ ? filter.filter : filter.channel;
  const int64_t out_step = backward_ ? filter.channel : filter.filter;
  for (int64_t tap = 0; tap < kernel_height_ * kernel_width_; ++tap) {
    const T* const from = filter.data + tap * filter.tap;
    for (int64_t first = 0; first < padded_depth_; first += kernels_.lanes) {
      for (int64_t out_channel = 0; out_channel < out_channels_; ++out_channel) {
        for (int64_t k = first; k < first + kernels_.lanes; ++k) {
          *derived++ = k < depth_ ? from[k * depth_step + out_channel * out_step] : T(0);
        }
      }
    }
  }
}

template <typename T>
void GatherGemm<T>::DeriveFilter(const Filter<const T>& filter, T* derived, std::byte*) const {
  if (few_out_channels()) return DeriveFew(filter, derived);
  const int64_t depth_step = backward_ ? filter.filter : filter.channel;
  const int64_t out_step = backward_ ? filter.channel : filter.filter;
  constexpr int64_t kRun = 16;  // patch elements packed together, so that lines read are used up
  const int64_t depth = depth_, runs = CeilDiv(depth, kRun);
  const int64_t taps = kernel_height_ * kernel_width_;
  const int64_t all = panels() * taps * runs;
  ParallelFor(0, all, 1 + 4096 / (kRun * panel_width()), [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t panel = item / (taps * runs), tap = item / runs % taps;
      const int64_t first = item % runs * kRun, last = std::min(depth, first + kRun);
      const int64_t out_channel = panel * panel_width();
      const int64_t width = std::min(panel_width(), padded_out_channels() - out_channel);
      const int64_t out_channels = std::min(width, out_channels_ - out_channel);
      const T* from = filter.data + tap * filter.tap + out_channel * out_step;
      T* to = derived + out_channel * patch() + tap * depth * width;
      if (out_step == 1) {
        for (int64_t k = first; k < last; ++k) {
          std::copy_n(from + k * depth_step, out_channels, to + k * width);
          std::fill(to + k * width + out_channels, to + (k + 1) * width, T(0));
        }
        continue;
      }
      if (depth_step == 1) {
        Transpose(from + first, out_channels, last - first, out_step, to + first * width, width);
        for (int64_t k = first; k < last; ++k) {
          std::fill(to + k * width + out_channels, to + (k + 1) * width, T(0));
        }
        continue;
      }
      for (int64_t j = 0; j < width; ++j) {
        for (int64_t k = first; k < last; ++k) {
          to[k * width + j] = j < out_channels ? from[k * depth_step + j * out_step] : T(0);
        }
      }
    }
  });
}

// Pitch of a copied pixel, whose neighbours of a tile are `in_step` pixels apart.
template <typename T>
int64_t GatherGemm<T>::CopyPitch(int64_t in_step) const {
  return depth_ + (ShareSets(in_step * depth_ * int64_t(sizeof(T))) ? kLineElements<T> : 0);
}

template <typename T>
int64_t GatherGemm<T>::CopyElements(const Block& block) const {
  if (across_images_) {
    const int64_t elements =
        block.vertical->inputs * block.horizontal->inputs * kImagesTogether * CopyPitch(1);
    return elements <= kMostCopyBytes / int64_t(sizeof(T)) ? elements : 0;
  }
  return LinesOf(*block.vertical, block.row_end - block.row) *
         LineOf(*block.horizontal, block.column_end - block.column) *
         CopyPitch(block.horizontal->in_step);
}

template <typename T>
typename GatherGemm<T>::Scratch GatherGemm<T>::Divide(std::byte* memory) const {
  int64_t most = 0;
  for (const Cut& cut : cuts_) {
    most = std::max(
        most, CopyElements({cut.vertical, cut.horizontal, 0, 1, 0, cut.rows, 0, cut.columns}));
  }
  ScratchDivider divider(memory);
  Scratch scratch;
  scratch.copy = divider.Take<T>(most);
  scratch.taps = divider.Take<TapOffset>(kernel_height_ * kernel_width_);
  scratch.bytes = divider.bytes();
  return scratch;
}

template <typename T>
void GatherGemm<T>::Run(const Call& call) const {
  const int threads = std::min(threads_, NumThreads());
  const int64_t groups = across_images_ ? CeilDiv(call.images, kImagesTogether)
                         : pointwise_   ? 1
                                        : call.images;
  const int64_t items = groups * blocks_;
  if (items == 0) return;
  // Few blocks, or few pixels for a large filter: divide the panels among threads too.
  const int64_t least = items >= 2 * threads ? 1 : CeilDiv(2 * threads, items);
  const int64_t shares =
      std::min<int64_t>(panels(), large_filter_ ? std::max<int64_t>(least, threads) : least);
  ParallelForWithScratch(items * shares, 1, threads, [&](int thread, int64_t begin, int64_t end) {
    const Scratch mine = Divide(call.workspace + size_t(thread) * thread_bytes());
    for (int64_t item = begin; item < end; ++item) {
      const int64_t share = item / items;
      RunBlock(call, BlockAt(item % items, call.images), panels() * share / shares,
               panels() * (share + 1) / shares, mine);
    }
  });
  untapped_.Write<T>(call, out_channels_);
}

// Block `index` of all blocks of a call with `images` images; it may have no results.
template <typename T>
typename GatherGemm<T>::Block GatherGemm<T>::BlockAt(int64_t index, int64_t images) const {
  const int64_t group = index / blocks_;
  int64_t at = index % blocks_;
  const auto cut = std::ranges::upper_bound(cuts_, at, {}, &Cut::first) - 1;
  at -= cut->first;
  Block block{cut->vertical, cut->horizontal, group, 1, 0, 0, 0, 0};
  if (across_images_) {
    block.image = group * kImagesTogether;
    block.images = std::min(kImagesTogether, images - block.image);
  }
  int64_t columns = cut->horizontal->count;
  if (pointwise_) columns = columns / batch_ * images;
  block.row = at / cut->column_blocks * cut->rows;
  block.row_end = std::min(cut->vertical->count, block.row + cut->rows);
  block.column = std::min(columns, at % cut->column_blocks * cut->columns);
  block.column_end = std::min(columns, block.column + cut->columns);
  return block;
}

template <typename T>
bool GatherGemm<T>::ReadsInPlace(const Block& block, const Images<const T>& in) const {
  if (block.vertical->taps.empty() || block.horizontal->taps.empty()) return true;
  const int64_t step = across_images_ ? in.image : block.horizontal->in_step * in.pixel;
  if (ShareSets(step * int64_t(sizeof(T)))) return CopyElements(block) == 0;
  return clips() || (block.vertical->inside() && block.horizontal->inside());
}

// The inputs of a block, of which the first is that of its first result at the lowest offsets.
template <typename T>
Images<const T> GatherGemm<T>::Copy(const Block& block, const Images<const T>& in, T* copy) const {
  const Phase &vertical = *block.vertical, &horizontal = *block.horizontal;
  const int64_t pitch = CopyPitch(horizontal.in_step);
  const int64_t rows = vertical.Reach(block.row_end - block.row);
  const int64_t columns = horizontal.Reach(block.column_end - block.column);
  const int64_t top = block.row * vertical.in_step + vertical.low;
  const int64_t left = block.column * horizontal.in_step + horizontal.low;
  const int64_t begin = std::clamp<int64_t>(-left, 0, columns);
  const int64_t end = std::clamp<int64_t>(horizontal.inputs - left, begin, columns);
  for (int64_t r = 0; r < rows; ++r) {
    T* const to = copy + r * columns * pitch;
    const int64_t h = top + r;
    if (h < 0 || h >= vertical.inputs) {
      std::memset(to, 0, size_t(columns * pitch) * sizeof(T));
      continue;
    }
    std::memset(to, 0, size_t(begin * pitch) * sizeof(T));
    const T* const from = in.At(block.image, h) + (left + begin) * in.pixel;
    if (in.pixel == depth_ && pitch == depth_) {
      std::memcpy(to + begin * pitch, from, size_t((end - begin) * pitch) * sizeof(T));
    } else {
      for (int64_t w = begin; w < end; ++w) {
        std::memcpy(to + w * pitch, from + (w - begin) * in.pixel, size_t(depth_) * sizeof(T));
      }
    }
    std::memset(to + end * pitch, 0, size_t((columns - end) * pitch) * sizeof(T));
  }
  return {copy, 0, columns * pitch, pitch, 1};
}

// For each row of results the rows of its taps, of the columns that the block reads.
template <typename T>
Images<const T> GatherGemm<T>::CopyTapRows(const Block& block, const Images<const T>& in,
                                           T* copy) const {
  const Phase &vertical = *block.vertical, &horizontal = *block.horizontal;
  const int64_t pitch = CopyPitch(horizontal.in_step);
  const int64_t first = FirstInput(horizontal, block.column);
  const int64_t last = (block.column_end - 1) * horizontal.in_step + horizontal.high;
  const int64_t columns = std::min(horizontal.inputs, last + 1) - first;
  const int64_t row = LineOf(horizontal, block.column_end - block.column) * pitch;
  T* to = copy;
  for (int64_t i = block.row; i < block.row_end; ++i) {
    for (const Phase::Tap& tap : vertical.taps) {
      const int64_t h = i * vertical.in_step + tap.offset;
      if (h >= 0 && h < vertical.inputs) {
        const T* const from = in.At(block.image, h) + first * in.pixel;
        for (int64_t w = 0; w < columns; ++w) {
          std::memcpy(to + w * pitch, from + w * in.pixel, size_t(depth_) * sizeof(T));
        }
      }
      to += row;
    }
  }
  return {copy, 0, row, pitch, 1};
}

// All pixels of the block's images, each pixel's images side by side.
template <typename T>
Images<const T> GatherGemm<T>::CopyAcrossImages(const Block& block, const Images<const T>& in,
                                                T* copy) const {
  const int64_t height = block.vertical->inputs, width = block.horizontal->inputs;
  const int64_t pitch = CopyPitch(1), pixel = kImagesTogether * pitch;
  for (int64_t n = 0; n < block.images; ++n) {
    for (int64_t h = 0; h < height; ++h) {
      const T* const from = in.At(block.image + n, h);
      for (int64_t w = 0; w < width; ++w) {
        std::memcpy(copy + (h * width + w) * pixel + n * pitch, from + w * in.pixel,
                    size_t(depth_) * sizeof(T));
      }
    }
  }
  return {copy, pitch, width * pixel, pixel, 1};
}

template <typename T>
void GatherGemm<T>::RunBlock(const Call& call, const Block& block, int64_t first_panel,
                             int64_t last_panel, const Scratch& scratch) const {
  if (block.column == block.column_end) return;
  Images<const T> in;
  if (across_images_) {
    in = ReadsInPlace(block, call.in) ? call.in.From(block.image, 0)
                                      : CopyAcrossImages(block, call.in, scratch.copy);
  } else if (sparse_) {
    in = ReadsInPlace(block, call.in) ? call.in.From(block.image, 0)
                                      : CopyTapRows(block, call.in, scratch.copy);
  } else if (ReadsInPlace(block, call.in)) {
    in = call.in;
    in.data = call.in.At(block.image, block.row * block.vertical->in_step + block.vertical->low) +
              (block.column * block.horizontal->in_step + block.horizontal->low) * in.pixel;
  } else {
    in = Copy(block, call.in, scratch.copy);
  }
  for (int64_t p = first_panel; p < last_panel; ++p) {
    RunPanel(call, block, in, PanelAt(call, p), scratch);
  }
}

// Lists the taps of a result that lie inside the input, or, where the padding was copied, all.
template <typename T>
int64_t GatherGemm<T>::ListTaps(const Block& block, const Images<const T>& in, int64_t row,
                                int64_t column, const Scratch& scratch) const {
  const Phase &vertical = *block.vertical, &horizontal = *block.horizontal;
  const bool copied_rows = sparse_ && in.data == scratch.copy;  // as CopyTapRows leaves them
  const int64_t left = copied_rows ? FirstInput(horizontal, block.column) : 0;
  int64_t copied = (row - block.row) * int64_t(vertical.taps.size());
  int64_t count = 0;
  for (const Phase::Tap& a : vertical.taps) {
    int64_t h = a.offset - vertical.low;
    if (clips()) {
      h = row * vertical.in_step + a.offset;
      const bool inside = h >= 0 && h < vertical.inputs;
      if (copied_rows) h = copied++;
      if (!inside) continue;
    }
    for (const Phase::Tap& b : horizontal.taps) {
      int64_t w = b.offset - horizontal.low;
      if (clips()) {
        w = column * horizontal.in_step + b.offset;
        if (w < 0 || w >= horizontal.inputs) continue;
        w -= left;
      }
      scratch.taps[count++] = {h * in.row + w * in.pixel,
                               (a.tap * kernel_width_ + b.tap) * padded_depth_};
    }
  }
  return count;
}

template <typename T>
Panel<T> GatherGemm<T>::PanelAt(const Call& call, int64_t index) const {
  const WriteBack<T>& write_back = call.write_back;
  Panel<T> panel;
  panel.out_channel = index * panel_width();
  panel.width = std::min(panel_width(), padded_out_channels() - panel.out_channel);
  panel.out_channels = std::min(panel.width, out_channels_ - panel.out_channel);
  panel.filter = call.filter + panel.out_channel * patch();
  panel.depth = depth_;
  if (write_back.scale != nullptr) panel.scale = write_back.scale + panel.out_channel;
  if (write_back.bias != nullptr) panel.bias = write_back.bias + panel.out_channel;
  panel.relu = write_back.relu;
  return panel;
}

// `in`: the inputs of the block as RunBlock found or copied them.
template <typename T>
void GatherGemm<T>::RunPanel(const Call& call, const Block& block, const Images<const T>& in,
                             const Panel<T>& panel, const Scratch& scratch) const {
  const Phase &vertical = *block.vertical, &horizontal = *block.horizontal;
  const Images<const T>& addend = call.write_back.addend;
  const auto multiply = few_out_channels() ? kernels_.multiply_few : kernels_.multiply;
  RowOfPixels<T> row;
  row.taps = scratch.taps;
  row.prefetch = panel.out_channel == 0 && ReadsInPlace(block, call.in);
  if (!clips()) row.tap_count = ListTaps(block, in, 0, 0, scratch);
  for (int64_t i = block.row; i < block.row_end; ++i) {
    const int64_t h = vertical.first + i * vertical.step;
    if (across_images_) {
      row.in = in.data;
      row.count = block.images;
      row.in_step = in.image;
      row.out_step = call.out.image;
      row.addend_step = addend.image;
      for (int64_t j = block.column; j < block.column_end; ++j) {
        const int64_t w = horizontal.first + j * horizontal.step;
        row.tap_count = ListTaps(block, in, i, j, scratch);
        row.out = call.out.At(block.image, h) + w * call.out.pixel;
        if (addend.data != nullptr) row.addend = addend.At(block.image, h) + w * addend.pixel;
        multiply(row, panel);
      }
      continue;
    }
    row.in_step = horizontal.in_step * in.pixel;
    row.out_step = horizontal.step * call.out.pixel;
    row.addend_step = horizontal.step * addend.pixel;
    for (int64_t j = block.column; j < block.column_end; j += row.count) {
      row.in = in.data;
      row.count = block.column_end - j;
      if (sparse_) {
        row.count = horizontal.EndOfStretch(j, block.column_end) - j;
        row.tap_count = ListTaps(block, in, i, j, scratch);
      } else {
        row.in += (i - block.row) * vertical.in_step * in.row;
      }
      const int64_t w = horizontal.first + j * horizontal.step;
      row.out = call.out.At(block.image, h) + w * call.out.pixel;
      if (addend.data != nullptr) row.addend = addend.At(block.image, h) + w * addend.pixel;
      multiply(row, panel);
    }
  }
}

template class GatherGemm<float>;
template class GatherGemm<double>;

}  // namespace dtnn::conv::gemm
