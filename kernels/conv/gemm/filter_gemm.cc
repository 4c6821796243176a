#include "kernels/conv/gemm/filter_gemm.h"

#include <algorithm>

#include "kernels/workspace/scratch.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::gemm {
namespace {

// The bytes of x and dy of a strip: they stay in the L2 cache while every block of the filter's
// gradient is summed over them, and those of a block in the L1 cache. Fewer pixels would not be
// worth loading and storing the sums of a block.
constexpr int64_t kStripBytes = 256 << 10;
constexpr int64_t kFewestPixels = 128;
constexpr int64_t kMostPixels = 256;
// A copy of dy pays where each of its vectors is used this many times as often as it has elements.
constexpr int64_t kUsesOfCopy = 2;

// A kernel of one tap on every pixel: each pixel is as good as an image.
bool IsPointwise(const Conv2dSpec& spec) {
  return spec.kernel == Pair(1) && spec.stride == Pair(1) && spec.padding == Pair(0);
}
Conv2dSpec PixelsAsImages(Conv2dSpec spec) {
  if (IsPointwise(spec)) {
    spec.batch *= spec.height * spec.width;
    spec.height = spec.width = 1;
  }
  return spec;
}

int64_t StripPixels(const Conv2dSpec& spec, int64_t element) {
  return std::clamp(kStripBytes / ((spec.channels + spec.filters) * element), kFewestPixels,
                    kMostPixels);
}

}  // namespace

template <typename T>
struct FilterGemm<T>::Job {
  const Images<const T>&x, &dy;
  int64_t images;
  bool start;
  const Gradient& gradient;
  std::byte* sums;
};

template <typename T>
FilterGemm<T>::FilterGemm(const Conv2dSpec& spec)
    : FilterGemm(PixelsAsImages(spec), IsPointwise(spec) ? spec.height * spec.width : 0) {}

template <typename T>
FilterGemm<T>::FilterGemm(const Conv2dSpec& spec, int64_t pointwise_pixels)
    : kernels_(CpuKernels<T>()),
      pointwise_pixels_(pointwise_pixels),
      channels_(spec.channels),
      filters_(spec.filters),
      vertical_(VerticalPhases(spec, Direction::kBackwardFilter).front()),
      horizontal_(HorizontalPhases(spec, Direction::kBackwardFilter).front()),
      row_ranges_(RangesOf(vertical_)),
      column_ranges_(RangesOf(horizontal_)),
      strip_images_(std::clamp<int64_t>(
          StripPixels(spec, sizeof(T)) / (vertical_.count * horizontal_.count), 1, spec.batch)),
      strip_rows_(std::clamp<int64_t>(StripPixels(spec, sizeof(T)) / horizontal_.count, 1,
                                      vertical_.count)),
      blocks_per_tap_(CeilDiv(
          channels_,
          kernels_.max_rows * (spec.filters <= kernels_.lanes ? kernels_.narrow_factor : 1))),
      block_channels_(CeilDiv(channels_, blocks_per_tap_)),
      sums_(spec, RoundUp(filters_, kernels_.lanes), kFewestBlocks * StripPixels(spec, sizeof(T))),
      threads_(NumThreads()) {
  // Strips of about equal size, and as many for each part.
  if (strip_images_ > 1) {
    strip_rows_ = vertical_.count;
    const int64_t strips = RoundUp(CeilDiv(spec.batch, strip_images_), sums_.parts());
    strip_images_ = CeilDiv(spec.batch, strips);
  }
  strip_rows_ = CeilDiv(vertical_.count, CeilDiv(vertical_.count, strip_rows_));
}

template <typename T>
typename FilterGemm<T>::Copies FilterGemm<T>::Divide(std::byte* memory) const {
  const int64_t pixels = strip_images_ * strip_rows_ * horizontal_.count;
  ScratchDivider divider(memory);
  Copies copies;
  copies.x = divider.Take<T>(CopiesInput() ? blocks_per_tap_ * InPanel(pixels) : 0);
  copies.dy = divider.Take<T>(CopiesGradient() ? pixels * padded_filters() : 0);
  copies.bytes = divider.bytes();
  return copies;
}

template <typename T>
bool FilterGemm<T>::CopiesGradient() const {
  return padded_filters() != filters_ ||
         (filters_ > panel_width() && taps() * blocks_per_tap_ >= kUsesOfCopy * kernels_.lanes);
}

// Elements of a block's channels of a strip of x. After the last pixel is room for the rest of a
// vector.
template <typename T>
int64_t FilterGemm<T>::InPanel(int64_t pixels) const {
  return RoundUp(pixels * block_channels_, kernels_.lanes) + kernels_.lanes;
}

template <typename T>
bool FilterGemm<T>::WritesGradient(const Gradient& gradient) const {
  return sums_.parts() == 1 && gradient.dfilter.filter == 1 && padded_filters() == filters_;
}

template <typename T>
int64_t FilterGemm<T>::Strips(int64_t images) const {
  if (strip_images_ > 1) return CeilDiv(images, strip_images_);
  return images * CeilDiv(vertical_.count, strip_rows_);
}

template <typename T>
typename FilterGemm<T>::Strip FilterGemm<T>::StripAt(int64_t index, int64_t images) const {
  if (strip_images_ > 1) {
    const int64_t image = index * strip_images_;
    return {image, std::min(strip_images_, images - image), 0, vertical_.count};
  }
  const int64_t per_image = CeilDiv(vertical_.count, strip_rows_);
  const int64_t row = index % per_image * strip_rows_;
  return {index / per_image, 1, row, std::min(strip_rows_, vertical_.count - row)};
}

template <typename T>
void FilterGemm<T>::Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images,
                        bool first, const Gradient& gradient, std::byte* workspace) const {
  if (!pointwise()) return SumStrips({x, dy, images, first, gradient, workspace});
  Images<const T> x_pixels = x, dy_pixels = dy;
  x_pixels.image = x_pixels.row = x.pixel;
  dy_pixels.image = dy_pixels.row = dy.pixel;
  SumStrips({x_pixels, dy_pixels, images * pointwise_pixels_, first, gradient, workspace});
}

template <typename T>
void FilterGemm<T>::SumStrips(const Job& job) const {
  const int64_t blocks = taps() * blocks_per_tap_;
  // The thread that has a range of blocks copies the strips for it: a whole part where there are
  // enough parts, else half of the work of a thread.
  const int64_t items = sums_.parts() * blocks;
  const int64_t grain =
      sums_.parts() >= 4 * threads_ ? blocks : CeilDiv(items, 2 * int64_t{threads_});
  ParallelForWithScratch(items, grain, threads_, [&](int thread, int64_t begin, int64_t end) {
    const Copies copies = Divide(job.sums + sums_.bytes() + size_t(thread) * thread_bytes());
    for (int64_t item = begin; item < end;) {
      const int64_t block = item % blocks, last = std::min(blocks, block + (end - item));
      SumPart(job, item / blocks, block, last, copies);
      item += last - block;
    }
  });
}

// Blocks [first_block, last_block) of partial sum `part`, and its bias with the first of them.
template <typename T>
void FilterGemm<T>::SumPart(const Job& job, int64_t part, int64_t first_block, int64_t last_block,
                            const Copies& copies) const {
  T* const sums = sums_.filter(job.sums, part);
  T* const bias = sums_.bias(job.sums, part);
  if (first_block == 0 && job.start) std::fill_n(bias, padded_filters(), T(0));
  const int64_t strips = Strips(job.images);
  const int64_t begin = sums_.Begin(strips, part), end = sums_.Begin(strips, part + 1);
  if (begin == end && job.start) {  // fewer strips than parts: sums of nothing
    SumStrip(job, {}, {}, sums, true, first_block, last_block, copies);
  }
  for (int64_t i = begin; i < end; ++i) {
    const Strip strip = StripAt(i, job.images);
    if (first_block == 0 && job.gradient.dbias != nullptr) SumBias(job, strip, bias);
    if (CopiesGradient()) CopyGradient(job, strip, copies.dy);
    if (CopiesInput()) CopyInput(job, strip, first_block, last_block, copies.x);
    SumStrip(job, strip, i + 1 < end ? StripAt(i + 1, job.images) : Strip(), sums,
             job.start && i == begin, first_block, last_block, copies);
  }
}

template <typename T>
std::vector<typename FilterGemm<T>::Range> FilterGemm<T>::RangesOf(const Phase& phase) {
  std::vector<Range> ranges;
  for (const Phase::Tap& tap : phase.taps) {
    const int64_t begin = tap.offset >= 0 ? 0 : CeilDiv(-tap.offset, phase.in_step);
    const int64_t last = phase.inputs - 1 - tap.offset;
    const int64_t end = last < 0 ? 0 : std::min(phase.count, last / phase.in_step + 1);
    ranges.push_back({begin, std::max(begin, end)});
  }
  return ranges;
}

// From its first to its last row, whatever else lies between them.
template <typename T>
typename FilterGemm<T>::Prefetch FilterGemm<T>::PrefetchOf(const Job& job,
                                                           const Strip& strip) const {
  if (strip.images == 0) return {nullptr, nullptr, 0, 0};
  const int64_t first =
      std::clamp<int64_t>(strip.row * vertical_.in_step + vertical_.low, 0, vertical_.inputs - 1);
  const int64_t rows = std::min(strip.rows * vertical_.in_step, vertical_.inputs - first);
  const int64_t images = strip.images - 1;
  return {job.x.At(strip.image, first), job.dy.At(strip.image, strip.row),
          images * job.x.image + rows * job.x.row, images * job.dy.image + strip.rows * job.dy.row};
}

template <typename T>
void FilterGemm<T>::SumStrip(const Job& job, const Strip& strip, const Strip& next, T* sums,
                             bool start, int64_t first_block, int64_t last_block,
                             const Copies& copies) const {
  const Prefetch prefetch = PrefetchOf(job, next);
  const int64_t all = CeilDiv(padded_filters(), panel_width()) * (last_block - first_block);
  int64_t done = 0;
  // Steps from tap to tap and from channel to channel of where the sums are.
  int64_t tap_step = channels_ * padded_filters(), channel_step = padded_filters();
  const bool writes_gradient = WritesGradient(job.gradient);
  if (writes_gradient) {
    const Filter<T>& dfilter = job.gradient.dfilter;
    sums = dfilter.data;
    tap_step = dfilter.tap, channel_step = dfilter.channel;
  }
  const int64_t kernel_width = int64_t(horizontal_.taps.size());
  FilterBlock<T> block;
  block.images = strip.images;
  const bool copied = CopiesInput();
  block.x_pixel = copied ? block_channels_ : horizontal_.in_step * job.x.pixel;
  block.x_row = copied ? horizontal_.count * block_channels_ : vertical_.in_step * job.x.row;
  block.x_image = copied ? strip.rows * block.x_row : job.x.image;
  const int64_t strip_pixels = strip.images * strip.rows * horizontal_.count;
  block.pitch = channel_step;
  block.accumulate = !start || (writes_gradient && job.gradient.accumulate);
  if (next.images > 0) block.prefetch_step = CeilDiv(prefetch.elements(), all * strip_pixels);
  for (int64_t b = first_block; b < last_block; ++b) {
    const int64_t tap = b / blocks_per_tap_, index = b % blocks_per_tap_;
    const int64_t down = vertical_.taps[size_t(tap / kernel_width)].offset;
    const int64_t right = horizontal_.taps[size_t(tap % kernel_width)].offset;
    const Range all_rows = row_ranges_[size_t(tap / kernel_width)];
    const Range columns = column_ranges_[size_t(tap % kernel_width)];
    const int64_t row = std::max(all_rows.begin, strip.row);
    block.rows = std::max<int64_t>(0, std::min(all_rows.end, strip.row + strip.rows) - row);
    block.pixels = columns.end - columns.begin;
    if (block.pixels == 0) block.rows = 0;
    // Blocks have about equal sizes where they can: one of few channels would wait for
    // its sums.
    const auto first_channel = [&](int64_t i) {
      return copied ? std::min(channels_, i * block_channels_) : channels_ * i / blocks_per_tap_;
    };
    const int64_t channel = first_channel(index);
    block.channels = int(first_channel(index + 1) - channel);
    const int64_t pixel = (row - strip.row) * horizontal_.count + columns.begin;  // of the strip
    if (copied) {
      block.x = copies.x + index * InPanel(strip_pixels) + pixel * block_channels_;
    } else if (block.rows > 0) {
      block.x = job.x.At(strip.image, row * vertical_.in_step + down) +
                (columns.begin * horizontal_.in_step + right) * job.x.pixel + channel;
    }
    for (int64_t f = 0; f < padded_filters(); f += block.width) {
      block.width = std::min(panel_width(), padded_filters() - f);
      if (CopiesGradient()) {
        block.dy_pixel = block.width;
        block.dy_row = horizontal_.count * block.dy_pixel;
        block.dy_image = strip.rows * block.dy_row;
        block.dy = copies.dy + f * strip_pixels + pixel * block.width;
      } else {
        block.dy = job.dy.At(strip.image, row) + columns.begin * job.dy.pixel + f;
        block.dy_image = job.dy.image, block.dy_row = job.dy.row, block.dy_pixel = job.dy.pixel;
      }
      block.out = sums + tap * tap_step + channel * channel_step + f;
      block.prefetch = prefetch.At(prefetch.elements() * done++ / all);
      kernels_.filter_block(block);
    }
  }
}

template <typename T>
void FilterGemm<T>::CopyGradient(const Job& job, const Strip& strip, T* copy) const {
  const int64_t rows = RowsOf(strip), row_pixels = PixelsOfRow(strip);
  const int64_t strip_pixels = rows * row_pixels;
  for (int64_t i = 0; i < rows; ++i) {
    kernels_.copy_panels(
        {.from = job.dy.At(strip.image + i / strip.rows, strip.row + i % strip.rows),
         .from_pixel = job.dy.pixel,
         .pixels = row_pixels,
         .channels = filters_,
         .width = panel_width(),
         .last_width = (padded_filters() - 1) % panel_width() + 1,
         .to = copy,
         .first = i * row_pixels,
         .panel = strip_pixels * panel_width()});
  }
}

// The pixels of x that the only tap of a kernel reads, of the channels of some blocks.
template <typename T>
void FilterGemm<T>::CopyInput(const Job& job, const Strip& strip, int64_t first_block,
                              int64_t last_block, T* copy) const {
  const int64_t channel = first_block * block_channels_;
  const int64_t channels = std::min(channels_, last_block * block_channels_) - channel;
  const int64_t panel = InPanel(strip.images * strip.rows * horizontal_.count);
  const int64_t down = vertical_.taps[0].offset, right = horizontal_.taps[0].offset;
  const Range rows = row_ranges_[0], columns = column_ranges_[0];
  for (int64_t i = 0; i < RowsOf(strip); ++i) {
    const int64_t row = strip.row + i % strip.rows;
    if (row < rows.begin || row >= rows.end) continue;
    const int64_t h = row * vertical_.in_step + down;
    const int64_t w = columns.begin * horizontal_.in_step + right;
    kernels_.copy_panels(
        {.from = job.x.At(strip.image + i / strip.rows, h) + w * job.x.pixel + channel,
         .from_pixel = horizontal_.in_step * job.x.pixel,
         .pixels = pointwise() ? PixelsOfRow(strip) : columns.end - columns.begin,
         .channels = channels,
         .width = block_channels_,
         .last_width = block_channels_,
         .to = copy + first_block * panel,
         .first = i * horizontal_.count + columns.begin,
         .panel = panel});
  }
}

template <typename T>
void FilterGemm<T>::SumBias(const Job& job, const Strip& strip, T* bias) const {
  for (int64_t i = 0; i < RowsOf(strip); ++i) {
    kernels_.add_rows(job.dy.At(strip.image + i / strip.rows, strip.row + i % strip.rows),
                      PixelsOfRow(strip), filters_, job.dy.pixel, bias);
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
