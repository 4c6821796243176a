#include "kernels/conv/winograd/sliced_data.h"

#include <algorithm>
#include <type_traits>

#include "kernels/conv/winograd/layout.h"
#include "kernels/workspace/scratch.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::winograd {
namespace {

// Depths that are summed in registers; their transformed filters share the L2 cache with the
// products of a slice.
constexpr int64_t kRun = 64;
constexpr int64_t kProductBytes = 330 << 10;
// The transformed input of a slice, in the L3 cache.
constexpr int64_t kSliceBytes = 8 << 20;

}  // namespace

// The memory of a slice, which all threads read.
template <typename T>
struct SlicedData<T>::Shared {
  InWindow<T>* in;
  OutWindow<T>* out;
  T* tiles;  // [run][element][tile][depth of the run]
  size_t bytes;
};

template <typename T>
struct SlicedData<T>::Scratch {
  T* filter;  // of a panel and a run
  int64_t filter_element;
  Tiles<T> products;
  size_t bytes;
};

template <typename T>
SlicedData<T>::SlicedData(const Conv2dSpec& spec, Direction direction, Form form)
    : side_(spec, direction, form), threads_(NumThreads()) {
  const FilterPanels<T>& panels = side_.panels();
  const int64_t element = form.elements() * int64_t(sizeof(T)), rows = side_.kernels().rows;
  const int64_t fit = std::min(kProductBytes / (element * panels.full_width()),
                               kSliceBytes / (element * runs() * kRun));
  slice_ = std::min(std::max(rows, fit / rows * rows), spec.batch * side_.grid().per_image());
  tiles_element_ = OddLines<T>(slice_ * kRun);
}

template <typename T>
int64_t SlicedData<T>::runs() const {
  return CeilDiv(side_.panels().depth(), kRun);
}

template <typename T>
typename SlicedData<T>::Shared SlicedData<T>::DivideShared(std::byte* block) const {
  ScratchDivider divider(block);
  Shared shared;
  shared.in = divider.Take<InWindow<T>>(slice_);
  shared.out = divider.Take<OutWindow<T>>(slice_);
  shared.tiles = divider.Take<T>(runs() * RunStep());
  shared.bytes = divider.bytes();
  return shared;
}

template <typename T>
typename SlicedData<T>::Scratch SlicedData<T>::Divide(std::byte* block) const {
  ScratchDivider divider(block);
  Scratch scratch;
  const int64_t elements = side_.form().elements(), width = side_.panels().full_width();
  scratch.filter_element = OddLines<T>(kRun * width);
  scratch.filter = divider.Take<T>(elements * scratch.filter_element);
  const int64_t element = OddLines<T>(slice_ * width);
  scratch.products = {divider.Take<T>(elements * element), element, width};
  scratch.bytes = divider.bytes();
  return scratch;
}

template <typename T>
size_t SlicedData<T>::workspace_bytes() const {
  return DivideShared(nullptr).bytes + size_t(threads_) * Divide(nullptr).bytes;
}

template <typename T>
void SlicedData<T>::Run(const Call& call) const {
  const Shared shared = DivideShared(call.workspace);
  const size_t bytes = Divide(nullptr).bytes;
  const int threads = std::min(threads_, NumThreads());
  const int64_t tiles = call.images * side_.grid().per_image();
  for (int64_t first = 0; first < tiles; first += slice_) {
    const int64_t count = std::min(slice_, tiles - first);
    side_.grid().ListInput(call.in, first, count, shared.in);
    side_.grid().ListOutput(call.out, call.write_back.addend, first, count, shared.out);
    ParallelFor(0, runs() * count, 8, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end;) {
        const int64_t tile = at % count, last = std::min(count, tile + (end - at));
        TransformInput(call, at / count, tile, last, shared);
        at += last - tile;
      }
    });
    ParallelForWithScratch(
        side_.panels().count(), 1, threads, [&](int thread, int64_t begin, int64_t end) {
          const Scratch mine = Divide(call.workspace + shared.bytes + size_t(thread) * bytes);
          for (int64_t panel = begin; panel < end; ++panel) {
            RunPanel(call, panel, count, shared, mine);
          }
        });
  }
}

// A run of depths of tiles [first, last) of the slice.
template <typename T>
void SlicedData<T>::TransformInput(const Call& call, int64_t run, int64_t first, int64_t last,
                                   const Shared& shared) const {
  side_.kernels().in_to_tiles(
      {.windows = shared.in + first,
       .count = last - first,
       .row = call.in.row,
       .pixel = call.in.pixel,
       .channels = std::min(kRun, side_.panels().depth() - run * kRun),
       .first_channel = run * kRun,
       .tiles = {shared.tiles + run * RunStep() + first * kRun, tiles_element_, kRun}});
}

template <typename T>
void SlicedData<T>::TransformFilter(const Call& call, int64_t panel, int64_t first, int64_t last,
                                    const Scratch& scratch) const {
  const auto transform = [&](const auto& filter) {
    side_.panels().Transform(filter, panel, first, last, scratch.filter, scratch.filter_element);
  };
  if constexpr (std::is_same_v<T, float>) {
    if (call.weights16.data != nullptr) return transform(call.weights16);
  }
  transform(call.weights);
}

template <typename T>
void SlicedData<T>::RunPanel(const Call& call, int64_t panel, int64_t tiles, const Shared& shared,
                             const Scratch& scratch) const {
  const FilterPanels<T>& panels = side_.panels();
  for (int64_t run = 0; run < runs(); ++run) {
    const int64_t first = run * kRun, last = std::min(panels.depth(), first + kRun);
    TransformFilter(call, panel, first, last, scratch);
    side_.kernels().multiply({.elements = side_.form().elements(),
                              .tiles = tiles,
                              .channels = last - first,
                              .in = {shared.tiles + run * RunStep(), tiles_element_, kRun},
                              .filter = scratch.filter,
                              .width = panels.width(panel),
                              .filter_element = scratch.filter_element,
                              .accumulate = run > 0,
                              .out = scratch.products});
  }
  side_.Write(call, shared.out, tiles, panel, scratch.products);
}

template class SlicedData<float>;
template class SlicedData<double>;

}  // namespace dtnn::conv::winograd
