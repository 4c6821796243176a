#include "kernels/conv/gemm/gather_gemm.h"

#include <algorithm>
#include <utility>

#include "kernels/conv/scratch.h"
#include "kernels/conv/transpose.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::gemm {
namespace {

// Bytes of pointers and copied patches that a block of tiles may take: they share the second cache
// with a panel of the filter.
constexpr int64_t kBlockBytes = 96 << 10;
constexpr int64_t kMostTiles = 24;
// Maps of up to this many pixels have enough border for tiles across images to win.
constexpr int64_t kSmallMap = 64;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The pixels of dx by phase: those that lie at the same place between the strides follow each
// other, since they are reached by the same taps.
std::vector<int32_t> PhaseOrder(const Conv2dSpec& spec) {
  std::vector<int32_t> order;
  order.reserve(size_t(spec.height * spec.width));
  for (int64_t a = 0; a < spec.stride.vertical; ++a) {
    for (int64_t b = 0; b < spec.stride.horizontal; ++b) {
      for (int64_t h = a; h < spec.height; h += spec.stride.vertical) {
        for (int64_t w = b; w < spec.width; w += spec.stride.horizontal) {
          order.push_back(int32_t(h * spec.width + w));
        }
      }
    }
  }
  return order;
}

}  // namespace

template <typename T>
struct GatherGemm<T>::Job {
  const Images<const T>& in;
  Pixels<T> out;
  const T* packed;
  const WriteBack<T>& write_back;
  int64_t images;
  bool across_images;       // a tile is one pixel of several images; else pixels of one image
  int64_t inner;            // pixels that tiles divide: images, or pixels of an image
  int64_t tiles_per_outer;  // of each pixel, or of each image
  int64_t tiles;
};

template <typename T>
struct GatherGemm<T>::Scratch {
  Tile<T>* tiles;
  const T** pointers;
  int64_t* offsets;
  T* patches;
  size_t bytes;
};

template <typename T>
GatherGemm<T>::GatherGemm(const Conv2dSpec& spec, Direction direction)
    : kernels_(CpuKernels<T>()),
      gather_(Gather::Of(spec, direction)),
      backward_(direction == Direction::kBackwardData),
      threads_(NumThreads()),
      zeros_(size_t(gather_.depth)) {
  copies_patches_ = gather_.depth < kFewChannels && gather_.taps() > 1;
  if (backward_ && spec.stride != Pair(1)) order_ = PhaseOrder(spec);
  const int64_t per_tile = kMaxRows * (copies_patches_ ? gather_.patch() * int64_t(sizeof(T))
                                                       : gather_.taps() * int64_t(sizeof(T*)));
  block_ = std::clamp<int64_t>(kBlockBytes / per_tile, 1, kMostTiles);
}

template <typename T>
int64_t GatherGemm<T>::padded_columns() const {
  return CeilDiv(gather_.columns, kernels_.lanes) * kernels_.lanes;
}

template <typename T>
void GatherGemm<T>::DeriveFilter(const Filter<const T>& filter, T* derived) const {
  const int64_t depth_step = backward_ ? filter.filter : filter.channel;
  const int64_t column_step = backward_ ? filter.channel : filter.filter;
  constexpr int64_t kRun = 16;  // patch elements packed together, so that lines read are used up
  const int64_t depth = gather_.depth, runs = CeilDiv(depth, kRun);
  const int64_t all = panels() * gather_.taps() * runs;
  ParallelFor(0, all, 1 + 4096 / (kRun * panel_width()), [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t panel = item / (gather_.taps() * runs), tap = item / runs % gather_.taps();
      const int64_t first = item % runs * kRun, last = std::min(depth, first + kRun);
      const int64_t column = panel * panel_width();
      const int64_t width = std::min(panel_width(), padded_columns() - column);
      const int64_t columns = std::min(width, gather_.columns - column);
      const T* from = filter.data + tap * filter.tap + column * column_step;
      T* to = derived + column * gather_.patch() + tap * depth * width;
      if (column_step == 1) {
        for (int64_t k = first; k < last; ++k) {
          std::copy_n(from + k * depth_step, columns, to + k * width);
          std::fill(to + k * width + columns, to + (k + 1) * width, T(0));
        }
        continue;
      }
      if (depth_step == 1) {
        Transpose(from + first, columns, last - first, column_step, to + first * width, width);
        for (int64_t k = first; k < last; ++k) {
          std::fill(to + k * width + columns, to + (k + 1) * width, T(0));
        }
        continue;
      }
      for (int64_t j = 0; j < width; ++j) {
        for (int64_t k = first; k < last; ++k) {
          to[k * width + j] = j < columns ? from[k * depth_step + j * column_step] : T(0);
        }
      }
    }
  });
}

template <typename T>
typename GatherGemm<T>::Scratch GatherGemm<T>::Divide(std::byte* memory) const {
  ScratchDivider divider(memory);
  Scratch scratch;
  const int64_t pointers = copies_patches_ ? 1 : gather_.taps();
  scratch.tiles = divider.Take<Tile<T>>(block_);
  scratch.pointers = divider.Take<const T*>(block_ * pointers * kMaxRows);
  scratch.offsets = divider.Take<int64_t>(block_ * pointers);
  scratch.patches = divider.Take<T>(copies_patches_ ? block_ * kMaxRows * gather_.patch() : 0);
  scratch.bytes = divider.bytes();
  return scratch;
}

template <typename T>
size_t GatherGemm<T>::thread_bytes() const {
  return Divide(nullptr).bytes;
}

template <typename T>
void GatherGemm<T>::Run(const Call& call) const {
  const int64_t images = call.images;
  Job job{call.in, Pixels<T>::Of(call.out), call.filter, call.write_back, images, false, 0, 0, 0};
  const int64_t pixels = gather_.out_pixels();
  job.across_images = images > 1 && pixels <= kSmallMap;
  job.inner = job.across_images ? images : pixels;
  job.tiles_per_outer = CeilDiv(job.inner, kernels_.max_rows);
  job.tiles = job.tiles_per_outer * (job.across_images ? pixels : images);
  // Few pixels: divide the columns among threads too.
  const int threads = std::min(threads_, NumThreads());
  const int64_t groups =
      job.tiles >= 2 * threads ? 1 : std::min<int64_t>(panels(), CeilDiv(2 * threads, job.tiles));
  const int64_t items = groups * job.tiles;
  const int64_t grain = std::clamp<int64_t>(items / threads, 1, block_);
  ParallelForWithScratch(items, grain, threads, [&](int thread, int64_t begin, int64_t end) {
    const Scratch mine = Divide(call.workspace + size_t(thread) * thread_bytes());
    for (int64_t item = begin; item < end;) {
      const int64_t group = item / job.tiles, first = item % job.tiles;
      const int64_t last = std::min(job.tiles, first + (end - item));
      RunTiles(job, first, last, panels() * group / groups, panels() * (group + 1) / groups, mine);
      item += last - first;
    }
  });
}

template <typename T>
void GatherGemm<T>::RunTiles(const Job& job, int64_t first_tile, int64_t last_tile,
                             int64_t first_panel, int64_t last_panel,
                             const Scratch& scratch) const {
  const WriteBack<T>& write_back = job.write_back;
  for (int64_t begin = first_tile; begin < last_tile; begin += block_) {
    const int64_t count = std::min(block_, last_tile - begin);
    for (int64_t i = 0; i < count; ++i) Prepare(job, begin + i, scratch, i);
    for (int64_t p = first_panel; p < last_panel; ++p) {
      Panel<T> panel;
      panel.column = p * panel_width();
      panel.width = std::min(panel_width(), padded_columns() - panel.column);
      panel.columns = std::min(panel.width, gather_.columns - panel.column);
      panel.filter = job.packed + panel.column * gather_.patch();
      panel.depth = copies_patches_ ? gather_.patch() : gather_.depth;
      if (write_back.scale != nullptr) panel.scale = write_back.scale + panel.column;
      if (write_back.bias != nullptr) panel.bias = write_back.bias + panel.column;
      panel.relu = write_back.relu;
      kernels_.tiles(scratch.tiles, count, panel);
    }
  }
}

// Fills slot `slot` of the scratch with tile `index` of the call.
template <typename T>
void GatherGemm<T>::Prepare(const Job& job, int64_t index, const Scratch& scratch,
                            int64_t slot) const {
  Tile<T>& tile = scratch.tiles[slot];
  const int64_t outer = index / job.tiles_per_outer;
  const int64_t first = index % job.tiles_per_outer * kernels_.max_rows;
  const auto addend = Pixels<const T>::Of(job.write_back.addend);
  tile.rows = int(std::min<int64_t>(kernels_.max_rows, job.inner - first));
  const T* images[kMaxRows];
  const int32_t *rows[kMaxRows], *columns[kMaxRows];
  for (int i = 0; i < tile.rows; ++i) {
    const int64_t image = job.across_images ? first + i : outer;
    const int64_t pixel = PixelAt(job.across_images ? outer : first + i);
    const int64_t row = pixel / gather_.out_width, column = pixel % gather_.out_width;
    const int64_t at = image * gather_.out_pixels() + pixel;
    tile.out[i] = job.out.data + at * job.out.pitch;
    tile.addend[i] = addend.data != nullptr ? addend.data + at * addend.pitch : nullptr;
    images[i] = job.in.At(image, 0);
    rows[i] = gather_.vertical.of(row);
    columns[i] = gather_.horizontal.of(column);
    if (copies_patches_) {
      T* patch = scratch.patches + (slot * kMaxRows + i) * gather_.patch();
      CopyPatch<T>(gather_, job.in, image, row, column, patch);
      images[i] = patch;
    }
  }
  if (copies_patches_) {
    tile.pointers = scratch.pointers + slot * kMaxRows;
    tile.offsets = scratch.offsets + slot;
    tile.segments = 1;
    tile.offsets[0] = 0;
    std::copy_n(images, tile.rows, tile.pointers);
    return;
  }
  tile.pointers = scratch.pointers + slot * gather_.taps() * kMaxRows;
  tile.offsets = scratch.offsets + slot * gather_.taps();
  PointToTaps(images, rows, columns, job.in, tile);
}

template <typename T>
void GatherGemm<T>::PointToTaps(const T* const* images, const int32_t* const* rows,
                                const int32_t* const* columns, const Images<const T>& in,
                                Tile<T>& tile) const {
  const int64_t kh = gather_.vertical.taps(), kw = gather_.horizontal.taps();
  const T** pointers = tile.pointers;
  tile.segments = 0;
  for (int64_t a = 0; a < kh; ++a) {
    for (int64_t b = 0; b < kw; ++b) {
      bool any = false;
      for (int i = 0; i < tile.rows; ++i) {
        const int64_t row = rows[i][a], column = columns[i][b];
        const bool inside = (row | column) >= 0;
        any |= inside;
        pointers[i] = inside ? images[i] + row * in.row + column * in.pixel : zeros_.data();
      }
      if (!any) continue;
      tile.offsets[tile.segments++] = (a * kw + b) * gather_.depth;
      pointers += kMaxRows;
    }
  }
}

template class GatherGemm<float>;
template class GatherGemm<double>;

}  // namespace dtnn::conv::gemm
