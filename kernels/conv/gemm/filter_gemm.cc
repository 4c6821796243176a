#include "kernels/conv/gemm/filter_gemm.h"

#include <algorithm>
#include <utility>

#include "kernels/conv/scratch.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::gemm {
namespace {

constexpr int64_t kPixelBlock = 256;  // whose x and dy stay in the second cache

}  // namespace

template <typename T>
struct FilterGemm<T>::Job {
  const Images<const T>& x;
  Pixels<const T> dy;
  int64_t pixels;
  bool start;
  const Gradient& gradient;
  std::byte* sums;
};

template <typename T>
struct FilterGemm<T>::Scratch {
  const T** x;     // [pixel of the list]
  const T** dy;    // row of dy
  const T** tail;  // row of `tail_rows`
  T* tail_rows;    // the last filters of dy, padded to whole vectors
  T* patches;
  size_t bytes;
};

template <typename T>
FilterGemm<T>::FilterGemm(const Conv2dSpec& spec)
    : kernels_(CpuKernels<T>()),
      gather_(Gather::Forward(spec)),
      threads_(NumThreads()),
      copies_patches_(gather_.depth<kFewChannels && gather_.taps()> 1),
      tap_rows_(copies_patches_ ? gather_.patch() : gather_.depth),
      sums_(spec, (spec.filters + kernels_.lanes - 1) / kernels_.lanes * kernels_.lanes,
            kPixelBlock) {}

template <typename T>
typename FilterGemm<T>::Scratch FilterGemm<T>::Divide(std::byte* memory) const {
  ScratchDivider divider(memory);
  Scratch scratch;
  scratch.x = divider.Take<const T*>(kPixelBlock);
  scratch.dy = divider.Take<const T*>(kPixelBlock);
  scratch.tail = divider.Take<const T*>(kPixelBlock);
  scratch.tail_rows = divider.Take<T>(kPixelBlock * panel_width());
  scratch.patches = divider.Take<T>(copies_patches_ ? kPixelBlock * gather_.patch() : 0);
  scratch.bytes = divider.bytes();
  return scratch;
}

template <typename T>
bool FilterGemm<T>::WritesGradient(const Gradient& gradient) const {
  return sums_.parts() == 1 && gradient.dfilter.filter == 1 &&
         padded_columns() == gather_.columns && !copies_patches_;
}

template <typename T>
size_t FilterGemm<T>::workspace_bytes() const {
  return sums_.bytes() + size_t(threads_) * thread_bytes();
}

template <typename T>
size_t FilterGemm<T>::thread_bytes() const {
  return Divide(nullptr).bytes;
}

template <typename T>
void FilterGemm<T>::Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images,
                        bool first, const Gradient& gradient, std::byte* workspace) const {
  const Job job{x,        Pixels<const T>::Of(dy), images * gather_.out_pixels(), first, gradient,
                workspace};
  const int64_t items = sums_.parts() * rows();
  ParallelForWithScratch(items, 1, threads_, [&](int thread, int64_t begin, int64_t end) {
    const Scratch mine = Divide(workspace + sums_.bytes() + size_t(thread) * thread_bytes());
    for (int64_t item = begin; item < end;) {
      const int64_t row = item % rows(), last = std::min(rows(), row + (end - item));
      SumRows(job, item / rows(), row, last, mine);
      item += last - row;
    }
  });
}

// Blocks [first_row, last_row) of partial sum `part`, and its bias with the first of them.
template <typename T>
void FilterGemm<T>::SumRows(const Job& job, int64_t part, int64_t first_row, int64_t last_row,
                            const Scratch& scratch) const {
  const int64_t begin = sums_.Begin(job.pixels, part), end = sums_.Begin(job.pixels, part + 1);
  T* bias = sums_.bias(job.sums, part);
  if (first_row == 0 && job.start) std::fill_n(bias, padded_columns(), T(0));
  if (begin == end && job.start) {  // fewer pixels than parts
    SumPixels(job, part, begin, end, true, first_row, last_row, scratch);
  }
  for (int64_t at = begin; at < end; at += kPixelBlock) {
    const int64_t stop = std::min(end, at + kPixelBlock);
    SumPixels(job, part, at, stop, job.start && at == begin, first_row, last_row, scratch);
    if (first_row == 0 && job.gradient.dbias != nullptr) {
      kernels_.add_rows(job.dy.data + at * job.dy.pitch, stop - at, gather_.columns, job.dy.pitch,
                        bias);
    }
  }
}

template <typename T>
void FilterGemm<T>::SumPixels(const Job& job, int64_t part, int64_t begin, int64_t end, bool start,
                              int64_t first_row, int64_t last_row, const Scratch& scratch) const {
  const int64_t tail = gather_.columns / panel_width() * panel_width();
  const int64_t tail_width = padded_columns() - tail, tail_columns = gather_.columns - tail;
  if (tail_width > 0) {
    for (int64_t p = begin; p < end; ++p) {
      T* row = scratch.tail_rows + (p - begin) * tail_width;
      const T* from = job.dy.data + p * job.dy.pitch + tail;
      for (int64_t j = 0; j < tail_width; ++j) row[j] = j < tail_columns ? from[j] : T(0);
    }
  }
  if (copies_patches_) ListPatches(job, begin, end, scratch);
  // Steps from tap to tap and from channel to channel of where the sums are.
  T* sums = sums_.filter(job.sums, part);
  int64_t tap_step = tap_rows_ * padded_columns(), channel_step = padded_columns();
  const bool writes_gradient = WritesGradient(job.gradient);
  if (writes_gradient) {
    const Filter<T>& dfilter = job.gradient.dfilter;
    sums = dfilter.data;
    tap_step = dfilter.tap, channel_step = dfilter.channel;
  }
  for (int64_t row = first_row; row < last_row;) {
    const int64_t tap = row / rows_per_tap();
    const int64_t stop = std::min(last_row, (tap + 1) * rows_per_tap());
    FilterBlock<T> block;
    block.x = scratch.x;
    block.pixels = copies_patches_ ? end - begin : ListTap(job, tap, begin, end, scratch);
    block.pitch = channel_step;
    block.accumulate = !start || (writes_gradient && job.gradient.accumulate);
    for (int64_t column = 0; column < padded_columns(); column += panel_width()) {
      block.dy = column < tail ? scratch.dy : scratch.tail;
      block.dy_offset = column < tail ? column : 0;
      block.width = std::min(panel_width(), padded_columns() - column);
      for (int64_t r = row; r < stop; ++r) {
        // Blocks of about equal size: one of few rows would wait for its sums.
        const int64_t index = r - tap * rows_per_tap();
        block.x_offset = tap_rows_ * index / rows_per_tap();
        block.rows = int(tap_rows_ * (index + 1) / rows_per_tap() - block.x_offset);
        block.out = sums + tap * tap_step + block.x_offset * channel_step + column;
        kernels_.filter_block(block);
      }
    }
    row = stop;
  }
}

// Lists the pixels of [begin, end) whose `tap` is inside the input; returns how many.
template <typename T>
int64_t FilterGemm<T>::ListTap(const Job& job, int64_t tap, int64_t begin, int64_t end,
                               const Scratch& scratch) const {
  const int64_t a = tap / gather_.horizontal.taps(), b = tap % gather_.horizontal.taps();
  const int64_t tail = gather_.columns / panel_width() * panel_width();
  const int64_t tail_width = padded_columns() - tail;
  const int64_t image = begin / gather_.out_pixels(), pixel = begin % gather_.out_pixels();
  int64_t row = pixel / gather_.out_width, column = pixel % gather_.out_width;
  const T* x = job.x.At(image, 0);
  int64_t count = 0;
  for (int64_t p = begin; p < end; ++p) {
    const int64_t h = gather_.vertical.of(row)[a], w = gather_.horizontal.of(column)[b];
    if ((h | w) >= 0) {
      scratch.x[count] = x + h * job.x.row + w * job.x.pixel;
      scratch.dy[count] = job.dy.data + p * job.dy.pitch;
      scratch.tail[count] = scratch.tail_rows + (p - begin) * tail_width;
      ++count;
    }
    if (++column < gather_.out_width) continue;
    column = 0;
    if (++row < gather_.out_height) continue;
    row = 0;
    x += job.x.image;
  }
  return count;
}

// Copies the patches of all pixels of [begin, end) and lists them.
template <typename T>
void FilterGemm<T>::ListPatches(const Job& job, int64_t begin, int64_t end,
                                const Scratch& scratch) const {
  const int64_t tail = gather_.columns / panel_width() * panel_width();
  const int64_t tail_width = padded_columns() - tail;
  for (int64_t p = begin; p < end; ++p) {
    const int64_t image = p / gather_.out_pixels(), pixel = p % gather_.out_pixels();
    T* patch = scratch.patches + (p - begin) * gather_.patch();
    CopyPatch<T>(gather_, job.x, image, pixel / gather_.out_width, pixel % gather_.out_width,
                 patch);
    scratch.x[p - begin] = patch;
    scratch.dy[p - begin] = job.dy.data + p * job.dy.pitch;
    scratch.tail[p - begin] = scratch.tail_rows + (p - begin) * tail_width;
  }
}

template <typename T>
void FilterGemm<T>::Write(const Gradient& gradient, std::byte* workspace) const {
  if (WritesGradient(gradient)) return sums_.WriteBias(gradient, workspace);
  sums_.Write(gradient, workspace);
}

template class FilterGemm<float>;
template class FilterGemm<double>;

}  // namespace dtnn::conv::gemm
