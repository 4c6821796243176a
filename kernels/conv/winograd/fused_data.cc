#include "kernels/conv/winograd/fused_data.h"

#include <algorithm>

#include "kernels/conv/winograd/layout.h"
#include "kernels/workspace/scratch.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::winograd {
namespace {

// The transformed tiles of a block and their products with a panel, which share the L2 cache
// with the filter that streams by.
constexpr int64_t kBlockBytes = 300 << 10;

}  // namespace

template <typename T>
struct FusedData<T>::Memory {
  InWindow<T>* in;
  OutWindow<T>* out;
  Tiles<T> tiles, products;
  size_t bytes;
};

template <typename T>
FusedData<T>::FusedData(const Conv2dSpec& spec, Direction direction, Form form)
    : side_(spec, direction, form), threads_(NumThreads()) {
  const FilterPanels<T>& panels = side_.panels();
  const int64_t rows = side_.kernels().rows;
  const int64_t channels = RowPitch<T>(panels.depth()) + panels.full_width();
  const int64_t fit = kBlockBytes / (form.elements() * channels * int64_t(sizeof(T)));
  block_ = std::min(std::max(rows, fit / rows * rows), spec.batch * side_.grid().per_image());
}

template <typename T>
int64_t FusedData<T>::FilterElement(int64_t panel) const {
  return OddLines<T>(side_.panels().depth() * side_.panels().width(panel));
}

template <typename T>
int64_t FusedData<T>::derived_elements() const {
  const int64_t last = side_.panels().count() - 1;
  return last * PanelStep() + side_.form().elements() * FilterElement(last);
}

template <typename T>
void FusedData<T>::DeriveFilter(const Filter<const T>& filter, T* derived, std::byte*) const {
  const FilterPanels<T>& panels = side_.panels();
  constexpr int64_t kRun = 16;
  const int64_t runs = CeilDiv(panels.depth(), kRun);
  ParallelFor(0, panels.count() * runs, 4, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t panel = item / runs, first = item % runs * kRun;
      panels.Transform(filter, panel, first, std::min(panels.depth(), first + kRun),
                       derived + panel * PanelStep() + first * panels.width(panel),
                       FilterElement(panel));
    }
  });
}

template <typename T>
typename FusedData<T>::Memory FusedData<T>::Divide(std::byte* block) const {
  ScratchDivider divider(block);
  Memory memory;
  const auto take = [&](int64_t row) {
    const int64_t element = OddLines<T>(block_ * row);
    return Tiles<T>{divider.Take<T>(side_.form().elements() * element), element, row};
  };
  memory.in = divider.Take<InWindow<T>>(block_);
  memory.out = divider.Take<OutWindow<T>>(block_);
  memory.tiles = take(RowPitch<T>(side_.panels().depth()));
  memory.products = take(side_.panels().full_width());
  memory.bytes = divider.bytes();
  return memory;
}

template <typename T>
size_t FusedData<T>::workspace_bytes() const {
  return size_t(threads_) * Divide(nullptr).bytes;
}

template <typename T>
void FusedData<T>::Run(const Call& call) const {
  const int threads = std::min(threads_, NumThreads());
  const int64_t tiles = call.images * side_.grid().per_image();
  const int64_t block = std::min(block_, CeilDiv(tiles, threads));
  const size_t bytes = Divide(nullptr).bytes;
  ParallelForWithScratch(CeilDiv(tiles, block), 1, threads,
                         [&](int thread, int64_t begin, int64_t end) {
                           const Memory memory = Divide(call.workspace + size_t(thread) * bytes);
                           for (int64_t i = begin; i < end; ++i) {
                             RunBlock(call, i * block, std::min(block, tiles - i * block), memory);
                           }
                         });
}

template <typename T>
void FusedData<T>::RunBlock(const Call& call, int64_t first, int64_t count,
                            const Memory& memory) const {
  const Kernels<T>& kernels = side_.kernels();
  const FilterPanels<T>& panels = side_.panels();
  side_.grid().ListInput(call.in, first, count, memory.in);
  side_.grid().ListOutput(call.out, call.write_back.addend, first, count, memory.out);
  kernels.in_to_tiles({.windows = memory.in,
                       .count = count,
                       .row = call.in.row,
                       .pixel = call.in.pixel,
                       .channels = panels.depth(),
                       .tiles = memory.tiles});
  for (int64_t panel = 0; panel < panels.count(); ++panel) {
    kernels.multiply({.elements = side_.form().elements(),
                      .tiles = count,
                      .channels = panels.depth(),
                      .in = {memory.tiles.data, memory.tiles.element, memory.tiles.tile},
                      .filter = call.filter + panel * PanelStep(),
                      .width = panels.width(panel),
                      .filter_element = FilterElement(panel),
                      .out = memory.products});
    side_.Write(call, memory.out, count, panel, memory.products);
  }
}

template class FusedData<float>;
template class FusedData<double>;

}  // namespace dtnn::conv::winograd
